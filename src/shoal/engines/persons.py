"""Detection of persons with several rows in a table that is not read as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.disclosure_risk import (
    PEEKED_ROWS,
    detect_persons_in_sample,
    evidence_by_name,
    informative_columns,
    may_be_persons,
    merge_evidence,
    person_candidates,
    repeated_combinations,
)
from shoal.findings import looks_one_each, unprotected_persons
from shoal.table.names import suggests_person_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from shoal.disclosure_risk import PersonEvidence
    from shoal.engines.sources import CountedTable
    from shoal.pipeline.input import OpenedData
    from shoal.table import Schema

__all__ = ["persons_in_pieces"]

_SAMPLED_ROWS = 25_000
"""Number of rows to sample for each candidate column; all of them are in memory at the same time."""
_SKEWED = 2
"""Maximum number of sampled rows as a multiple of the target, which skewed columns exceed."""


def persons_in_pieces(source: CountedTable, opened: OpenedData, schema: Schema) -> tuple[PersonEvidence, ...]:
    """Find evidence that persons have several rows, the strongest first; the table is read at most once more.

    Parameters
    ----------
    source : CountedTable
    opened : OpenedData
        The counted cells of the table.
    schema : Schema
        The roles of the columns; all of them are searched.
    """
    # Candidates: columns of the first rows that look like identifiers, by their values or by their names.
    rows = opened.rows
    peek = source.peek(PEEKED_ROWS)
    named = [
        name
        for name in peek.columns
        if name not in schema.quasi_identifiers
        and (suggests_person_number(name) or may_be_persons(peek[name].n_unique(), peek.height))
        and looks_one_each(peek[name])
    ]
    candidates = list(dict.fromkeys([*person_candidates(peek, rows), *named]))
    found: tuple[PersonEvidence, ...] = ()
    rows_of: Mapping[str, pl.DataFrame] = {}
    # Sample whole values, because a person is recognized by all rows of a value.
    if candidates:
        parts = max(1, rows // _SAMPLED_ROWS)
        names = list(dict.fromkeys([*candidates, *informative_columns(peek), *schema.unit_columns]))
        most = _SKEWED * _SAMPLED_ROWS * len(candidates)
        rows_of = source.rows_of_values(candidates, names, parts=parts, most=most)
        by_name = (evidence_by_name(rows_of[name][name], parts=parts) for name in named)
        found = merge_evidence(detect_persons_in_sample(rows_of, sampled=parts > 1), by_name)
    # Without candidates, frequent combinations of quasi-identifiers are weaker evidence.
    if not found:
        repeated = repeated_combinations(opened.raw_frame[list(schema.quasi_identifiers)], opened.counts)
        found = () if repeated is None else (repeated,)
    return unprotected_persons(found, lambda name: opened.raw_frame if name is None else rows_of[name], schema)
