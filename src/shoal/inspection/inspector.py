"""`inspect`: a table before anything is asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal._messages import Phrase, Suggestion
from shoal._progress import Progress, silent
from shoal._validation import Boolean, Integer, validate
from shoal.disclosure_risk import (
    count_frequencies,
    detect_identifiers,
    prosecutor_risk,
    rank_combinations,
    sample_uniques,
    small_classes,
)
from shoal.errors import DataError
from shoal.inspection.columns import InspectedColumn
from shoal.inspection.counting import CountedColumn, counted
from shoal.inspection.kinds import kind_of
from shoal.inspection.proposals import QUASI, SENSITIVE, propose
from shoal.inspection.result import Inspection
from shoal.io import Understood, understand
from shoal.io.forms import DateForm, format_of
from shoal.io.numbers import SIGNS, NumberForm
from shoal.opening import open_data
from shoal.report.sentences import listed, percent
from shoal.table.text import dictionary_text
from shoal.warnings import Remark, is_one_each, repeated_person
from shoal.warnings.catalogue import MOST_QUASI, OWN_VALUE

if TYPE_CHECKING:
    from shoal.disclosure_risk import Combination, PossibleIdentifier

__all__ = ["inspect"]

_WORK = 5_000_000
"""Pairs of columns times rows that are looked at; of more, a sample ranks the pairs."""
_SHOWN_VALUES = 5
_RECODED = r"^(?:\*+|[\[(\]]-?[0-9][^\[\]()]*[,;][^\[\]()]*[\])\[]|[0-9A-Za-z]+\*+|\{.+,.+\})$"
"""A star, an interval, a code whose end is masked, a set: as shoal, ARX and sdcMicro write them."""
_MANY_RECODED = 0.05
"""Share of the rows with such cells from which on a column is taken for anonymized."""


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
    progress: Progress | None = None,
) -> Inspection:
    """Look at a table, and propose what to do with it: no role is needed.

    Parameters
    ----------
    data : frame or path
        As for `shoal.anonymize`.
    k : int
        Rows in groups of fewer are told in the risk.
    show_values : bool
        Whether the most frequent values of each column are in the result. By default no cell is.
    dates, decimal, delimiter, encoding, sheet
        As for `shoal.anonymize`.
    progress : callable, optional
        Called with (step, done, total) now and then.

    Returns
    -------
    Inspection
        Facts on each column, a role with its reason and a coarsening that fits, how well columns tell people apart
        alone and in pairs, the risk as it is now, and a spec file. All proposals are guesses on the safe side: only the
        publisher knows what others know of the people in the table.

    Raises
    ------
    UsageError
        The call or the data is wrong.

    References
    ----------
    R. Motwani and Y. Xu, "Efficient algorithms for masking and finding quasi-identifiers", VLDB 2007.
    45 CFR 164.514(b)(2) (the Safe Harbor rule of HIPAA).
    """
    validate("inspect", {"k": k, "show_values": show_values}, {"k": Integer(low=1), "show_values": Boolean()})
    told = progress or silent
    told("read", 0, 1)
    opened = open_data(data, delimiter=delimiter, encoding=encoding, sheet=sheet)
    frame = opened.frame
    if frame.height == 0 or frame.width == 0:
        raise DataError("The table has no rows, or no columns: there is nothing to inspect.")
    meant = understand(frame, frame.columns, dates=dates, decimal=decimal)
    columns: list[CountedColumn] = []
    found: dict[str, PossibleIdentifier | None] = {}
    with ThreadPoolExecutor(max_workers=2) as pool:  # hashing text is slow enough to be worth a second core
        for place, column in enumerate(pool.map(counted, meant.frame.get_columns())):
            told("columns", place, frame.width)
            columns.append(column)
            found[column.name] = _looks_like(column)
    inspected = [_inspected(column, found[column.name], meant, show_values=show_values) for column in columns]
    quasi = [one for one, facts in zip(columns, inspected, strict=True) if facts.role == QUASI]
    told("combinations", 0, 1)
    return Inspection(
        rows=frame.height,
        columns=tuple(inspected),
        combinations=_combinations(columns, inspected, told),
        risk=_risk(quasi, k),
        warnings=tuple(_warnings(inspected, columns, meant)),
        encoding=opened.encoding,
        delimiter=opened.delimiter,
        sheet=opened.sheet,
        decimal="," if any(_is_decimal_comma(form) for form in meant.forms.values()) else None,
        source=str(data) if isinstance(data, str | PathLike) and str(data) != "-" and "://" not in str(data) else None,
    )


def _has_recoded_cells(column: CountedColumn) -> bool:
    """Return whether most of the values of a column of text, or one that many have, look like published cells."""
    values = column.dictionary
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum) or not len(values):
        return False
    recoded = values.cast(pl.String).str.contains(_RECODED).fill_null(value=False)
    rows = pl.Series(column.counts[: len(values)]).filter(recoded).sum()
    return bool(rows >= _MANY_RECODED * column.rows)


def _is_decimal_comma(form: object) -> bool:
    return isinstance(form, NumberForm) and form.decimal == ","


def _looks_like(column: CountedColumn) -> PossibleIdentifier | None:
    """Return what a column looks like, names of people before categories that can be coarsened."""
    try:
        found = detect_identifiers(pl.DataFrame([column.dictionary.alias(column.name)]))
    except pl.exceptions.PolarsError:  # values that have no form
        return None
    naming = [one for one in found if one.kind not in ("address", "zip", "date", "age over 89")]
    return next(iter([*naming, *found]), None)


def _inspected(
    column: CountedColumn, found: PossibleIdentifier | None, meant: Understood, *, show_values: bool
) -> InspectedColumn:
    form = meant.forms.get(column.name)
    meanings = meant.ambiguous.get(column.name)
    ambiguous_dates = meanings is not None and not set(meanings) <= set(SIGNS)
    unread = None
    if meanings is not None:
        what = "dates" if ambiguous_dates else "numbers"
        unread = f"its {what} can be read in two ways ({' or '.join(meanings)})"
    dated = column.dictionary.dtype in (pl.Date, pl.Datetime) or ambiguous_dates or column.name in meant.unread
    kind = kind_of(column, found, dated=dated)
    proposal = propose(column, kind, found, unread=unread)
    return InspectedColumn(
        name=column.name,
        kind=kind.name,
        date_format=form.pattern if isinstance(form, DateForm) else None,
        distinct=column.distinct,
        missing=column.missing,
        uniqueness=column.uniqueness,
        distinction=column.distinction,
        separation=column.separation,
        role=proposal.role,
        why=proposal.why,
        coarsen=proposal.coarsen,
        looks_like=None if found is None else found.kind,
        safe_harbor=None if found is None else found.category,
        values=_most_frequent(column) if show_values else None,
    )


def _most_frequent(column: CountedColumn) -> tuple[tuple[str, int], ...]:
    counts = pl.Series(column.counts[: column.distinct])
    places = counts.arg_sort(descending=True).head(_SHOWN_VALUES)
    texts = dictionary_text(column.dictionary.gather(places)).cast(pl.String)
    return tuple(zip(texts.to_list(), counts.gather(places).to_list(), strict=True))


def _combinations(
    columns: Sequence[CountedColumn], inspected: Sequence[InspectedColumn], progress: Progress
) -> tuple[Combination, ...]:
    """Rank the columns that may be published alone and in pairs: with what names people, everything tells all apart."""
    able = [
        column.encoded
        for column, facts in zip(columns, inspected, strict=True)
        if facts.role in (QUASI, SENSITIVE) and len(column.counts) > 1
    ]
    return rank_combinations(able, size=2, work=_WORK, progress=progress) if able else ()


def _risk(quasi: Sequence[CountedColumn], k: int) -> dict[str, Any]:
    """Return the risk of re-identification by some columns as they are."""
    names = [column.name for column in quasi]
    if not quasi:
        return {"quasi_identifiers": names, "classes": 1, "smallest_class": None}
    frequencies = count_frequencies([column.encoded for column in quasi])
    prosecutor = prosecutor_risk(frequencies.sample, frequencies.rows_of, Fraction(1, max(k, 1)))
    return {
        "quasi_identifiers": names,
        "k": k,
        "classes": frequencies.classes,
        "smallest_class": int(frequencies.rows_of.min()),
        "sample_uniques": sample_uniques(frequencies.sample, frequencies.rows_of),
        "below_k": small_classes(frequencies.sample, frequencies.rows_of, [k])[k],
        "highest": prosecutor.highest,
        "average": prosecutor.average,
    }


def _warnings(
    inspected: Sequence[InspectedColumn], columns: Sequence[CountedColumn], meant: Understood
) -> Iterator[Remark]:
    for name, sentence in meant.unread.items():
        yield Remark(code="unread_dates", column=name, found=sentence)
    for name, meanings in meant.ambiguous.items():
        numbers = set(meanings) <= set(SIGNS)
        say = [Suggestion("decimal", one) if numbers else format_of(name, one) for one in meanings[:2]]
        yield Remark(
            code="ambiguous_numbers" if numbers else "ambiguous_dates",
            column=name,
            found=f"The column '{name}' can be read in two ways.",
            advice=Phrase("Say which: ", say[0], " or ", say[1], "."),
        )
    recoded = [f"'{column.name}'" for column in columns if _has_recoded_cells(column)]
    if recoded:
        yield Remark(
            code="recoded_cells",
            column=None,
            found=f"Cells of {listed(recoded)} look as if they were anonymized before: stars, intervals, sets, or "
            "codes whose end is masked.",
            advice="If the table is a release, audit it to see what it protects; to anonymize it, go back to the table "
            "that it was made of.",
        )
    for facts, column in zip(inspected, columns, strict=True):
        if is_one_each(facts.looks_like):
            yield from repeated_person(facts.name, column.rows - column.missing - column.distinct)
    for facts in inspected:
        if facts.role == SENSITIVE and facts.uniqueness >= OWN_VALUE:
            yield Remark(
                code="near_unique_sensitive",
                column=facts.name,
                found=f"{percent(facts.uniqueness)} of the records have a value of '{facts.name}' of their own: "
                "whoever knows it of a person finds the record in any release that shows it.",
                advice="Round it first, or drop it.",
            )
    if not any(facts.role == SENSITIVE for facts in inspected):
        yield Remark(
            code="no_sensitive",
            column=None,
            found="No column looks sensitive.",
            advice="If one must not be linked to a person, name it as sensitive.",
        )
    many = [facts.name for facts in inspected if facts.role == QUASI]
    if len(many) > MOST_QUASI:
        yield Remark(
            code="many_quasi_identifiers",
            column=None,
            found=f"{len(many)} columns are taken for quasi-identifiers, to be on the safe side. A release with so "
            "many says little.",
            advice="Call those sensitive that nobody can know of a person, and leave out what nobody needs.",
        )
