"""Detection of persons with several rows in a table that is not read as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.disclosure_risk import (
    PEEKED_ROWS,
    PersonEvidence,
    detect_persons_in_sample,
    evidence_by_name,
    look_for_persons,
    may_be_persons,
    merge_evidence,
    repeated_combinations,
)
from shoal.engines.sources import CountedTable
from shoal.errors import DataError
from shoal.findings import looks_one_each, unprotected_persons
from shoal.pipeline.input import OpenedData
from shoal.pipeline.memory_budget import MemoryBudget
from shoal.pipeline.source import PublishedRuns
from shoal.table import Schema
from shoal.table.names import suggests_person_number

_SAMPLED_ROWS = 25_000
"""Number of rows to sample for each candidate column; all of them are in memory at the same time."""
_TIMES = "times"
"""Name of the column of counts, which is dropped."""
_SKEWED = 2
"""Maximum number of sampled rows as a multiple of the target, which skewed columns exceed."""


def fewest_in_group(groups: NDArray[np.integer] | pl.Series, persons: pl.Series) -> int:
    """Count the different persons in the group that has the fewest; a row without a person is one of its own."""
    rows = pl.DataFrame([pl.Series("group", groups), persons.alias("person")])
    person = pl.col("person")
    counted = rows.group_by("group").agg(person.drop_nulls().n_unique() + person.null_count())["person"]
    return int(counted.min())  # type: ignore[arg-type]


def fewest_in_pieces(
    source: CountedTable, runs: PublishedRuns, column: str, quasi_identifiers: Sequence[str], budget: MemoryBudget
) -> int | None:
    """Count the persons in the group that has the fewest of them, at most, by one more pass over the table.

    The rows of equal quasi-identifiers may be in several groups: each then counts all persons of these rows.

    Parameters
    ----------
    source : CountedTable
    runs : PublishedRuns
    column : str
        The column of the persons.
    quasi_identifiers : sequence of str
    budget : MemoryBudget

    Returns
    -------
    int or None
        None if the combinations do not fit into the memory.
    """
    try:
        pairs = source.histogram([*quasi_identifiers, column], _TIMES, budget).drop(_TIMES)
    except DataError:
        return None
    # By number, because Polars takes the name "*" for all columns.
    keys = [str(at) for at in range(len(quasi_identifiers))]
    pairs.columns = [*keys, "person"]
    cells = runs.cells.raw_frame[list(quasi_identifiers)]
    cells.columns = keys
    groups = cells[runs.cell_of_run].with_columns(pl.Series("group", runs.group_of_run)).unique()
    several = groups.join(pairs.group_by(keys).len("n"), on=keys, nulls_equal=True)
    if int(several["n"].sum()) > budget.max_cells:
        return None
    joined = groups.join(pairs, on=keys, nulls_equal=True).select("group", "person").unique()
    return fewest_in_group(joined["group"], joined["person"])


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
    likely, informants = look_for_persons(peek, rows)
    candidates = list(dict.fromkeys([*likely, *named]))
    found: tuple[PersonEvidence, ...] = ()
    rows_of: Mapping[str, pl.DataFrame] = {}
    # Sample whole values, because a person is recognized by all rows of a value.
    if candidates:
        parts = max(1, rows // _SAMPLED_ROWS)
        names = list(dict.fromkeys([*candidates, *informants, *schema.owner_columns]))
        most = _SKEWED * _SAMPLED_ROWS * len(candidates)
        rows_of = source.rows_of_values(candidates, names, parts=parts, most=most)
        by_name = (evidence_by_name(rows_of[name], name, parts=parts) for name in named)
        found = merge_evidence(detect_persons_in_sample(rows_of, sampled=parts > 1), by_name)
    # Without candidates, frequent combinations of quasi-identifiers are weaker evidence.
    if not found:
        repeated = repeated_combinations(opened.raw_frame[list(schema.quasi_identifiers)], opened.counts)
        found = () if repeated is None else (repeated,)
    return unprotected_persons(found, lambda name: opened.raw_frame if name is None else rows_of[name], schema)
