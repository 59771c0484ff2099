"""Entry point `inspect`: describe a table and propose a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from shoal._core.progress import Progress, silent
from shoal._core.validation import Boolean, Integer, validate
from shoal.disclosure_risk import (
    Combination,
    count_frequencies,
    prosecutor_risk,
    rank_combinations,
    sample_uniques,
    small_classes,
)
from shoal.disclosure_risk.frequencies import EachRow, PersonRows
from shoal.pipeline.input import open_data
from shoal.request.request import Request
from shoal.verbs.evaluate.counting import CountedColumn
from shoal.verbs.evaluate.evaluation import evaluate_survey, name_in_proposal, survey_opened
from shoal.verbs.evaluate.proposals import PERSON, QUASI, SENSITIVE
from shoal.verbs.evaluate.survey import InspectedColumn
from shoal.verbs.inspect.inspection import Inspection

_MOST_IN_PAIRS = 400
"""Largest number of columns that are combined in pairs."""
_WORK = 5_000_000
"""Pairs of columns times rows to examine at most; above this size a sample ranks the pairs."""


def inspect(
    data: Any,
    *,
    k: int = 5,
    show_values: bool = False,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    replace_values: Mapping[str, Mapping[str, str | None]] | None = None,
    derive: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Inspection:
    """Inspect a table, and propose roles and coarsenings for its columns.

    Parameters
    ----------
    data : frame or path
        As for `shoal.anonymize`.
    k : int
        The risk counts the rows in groups of fewer than k.
    show_values : bool
        If True, the result contains the most frequent values of each column. By default it contains no cell.
    dates, decimal, delimiter, encoding, sheet, header_row, replace_values, derive
        As for `shoal.anonymize`.
    progress : callable, optional
        Called regularly with (step, done, total).

    Returns
    -------
    Inspection
        Facts about each column, a role with its reason, a suitable coarsening, how well columns distinguish people
        alone and in pairs, the current risk, and a spec file. All proposals err on the side of caution: only the
        publisher knows what is known about the people in the table.

    Raises
    ------
    UsageError
        The call or the data is invalid.

    References
    ----------
    R. Motwani and Y. Xu, "Efficient algorithms for masking and finding quasi-identifiers", VLDB 2007.
    45 CFR 164.514(b)(2) (the Safe Harbor rule of HIPAA).

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.census(500, quasi_identifiers=["age", "gender"], seed=1)
    >>> [(column.name, column.role) for column in shoal.inspect(table).columns][:2]
    [('age', 'quasi_identifier'), ('gender', 'quasi_identifier')]
    """
    validate("inspect", {"k": k, "show_values": show_values}, {"k": Integer(low=1), "show_values": Boolean()})
    told = progress or silent
    told("read", 0, 1)
    given = Request(
        quasi_identifiers=(),
        dates=dates,
        decimal=decimal,
        delimiter=delimiter,
        encoding=encoding,
        sheet=sheet,
        header_row=header_row,
        replace_values=replace_values,
        derive=derive,
    )
    opened = open_data(data, **given.reading)
    survey = survey_opened(opened, given, show_values=show_values, progress=told)
    evaluation = evaluate_survey(survey, opened, given, k=k)
    columns, inspected = survey.counted, survey.columns
    told("combinations", 0, 1)
    return Inspection(
        rows=opened.frame.height,
        columns=inspected,
        combinations=_combinations(columns, inspected, told),
        risk=_risk(survey.quasi_identifiers, k, _person_in(columns, inspected)),
        warnings=tuple(name_in_proposal(evaluation.warnings, evaluation.request.person)),
        goals=evaluation.goals,
        star=evaluation.request.star,
        persons=survey.persons,
        encoding=opened.encoding,
        delimiter=opened.delimiter,
        sheet=opened.sheet,
        header_row=header_row,
        replaced=dict(replace_values or {}),
        derived=dict(derive or {}),
        decimal=survey.decimal,
        source=str(data) if isinstance(data, str | PathLike) and str(data) != "-" and "://" not in str(data) else None,
    )


def _combinations(
    columns: Sequence[CountedColumn], inspected: Sequence[InspectedColumn], progress: Progress
) -> tuple[Combination, ...]:
    """Rank the columns that may be published, alone and in pairs; with direct identifiers every row would be unique."""
    # Direct identifiers and constant columns are left out.
    able = [
        column.encoded
        for column, facts in zip(columns, inspected, strict=True)
        if facts.role in (QUASI, SENSITIVE) and len(column.counts) > 1
    ]
    size = 2 if len(able) <= _MOST_IN_PAIRS else 1
    return rank_combinations(able, size=size, work=_WORK, progress=progress) if able else ()


def _person_in(columns: Sequence[CountedColumn], inspected: Sequence[InspectedColumn]) -> CountedColumn | None:
    """Return the column that is proposed to identify persons with several rows, if there is one."""
    found = [column for column, facts in zip(columns, inspected, strict=True) if facts.role == PERSON]
    return found[0] if len(found) == 1 else None


def _risk(quasi: Sequence[CountedColumn], k: int, person: CountedColumn | None) -> dict[str, Any]:
    """Compute the risk of re-identification by some columns in their original form.

    If a column identifies persons, shares are of the persons, who have the highest risk of any of their rows, and a
    class has the size of its different persons.
    """
    names = [column.name for column in quasi]
    if not quasi:
        return {"quasi_identifiers": names, "classes": 1, "smallest_class": None}
    # The prosecutor knows all proposed quasi-identifiers.
    encoded = [column.encoded for column in quasi]
    counted_by: dict[str, Any] = {}
    rows: EachRow | PersonRows = EachRow(len(encoded[0].codes))
    if person is not None:
        # A row without a person is one of its own.
        owners = person.encoded.codes.astype(np.int64)
        if person.encoded.has_missing:
            owners = np.where(owners == person.encoded.size - 1, -1 - np.arange(len(owners)), owners)
        rows = PersonRows.of(encoded, pl.Series(owners))
        counted_by = {"unit": person.name, "units": rows.persons}
    frequencies = count_frequencies([column.gather(rows.first_rows) for column in encoded])
    frequencies = rows.at_risk(frequencies, frequencies.sample)
    prosecutor = prosecutor_risk(frequencies.sample, frequencies.rows_of, Fraction(1, max(k, 1)))
    return {
        "quasi_identifiers": names,
        **counted_by,
        "k": k,
        "classes": frequencies.classes,
        "smallest_class": int(frequencies.sample.min()),
        "sample_uniques": sample_uniques(frequencies.sample, frequencies.rows_of),
        "below_k": small_classes(frequencies.sample, frequencies.rows_of, [k])[k],
        "highest": prosecutor.highest,
        "average": prosecutor.average,
    }
