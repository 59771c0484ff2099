"""A survey of a table: what each column holds, who its persons are, and the role that is proposed for each column."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from shoal._core.progress import Progress, silent
from shoal._core.threads import map_in_threads
from shoal._core.words import listed
from shoal.disclosure_risk import (
    PersonEvidence,
    PossibleIdentifier,
    detect_identifiers,
    detect_persons,
    evidence_by_name,
    may_be_code,
    merge_evidence,
    repeated_combinations,
)
from shoal.errors import DataError
from shoal.findings import is_one_each
from shoal.hierarchy.fitting import NUMBER
from shoal.io import ParsedTable, understand
from shoal.io.forms import DateForm
from shoal.io.number_forms import SIGNS, NumberForm
from shoal.table import replace_values
from shoal.table.names import suggests_person_number
from shoal.table.text import dictionary_text
from shoal.verbs.evaluate.counting import CountedColumn, counted
from shoal.verbs.evaluate.kinds import kind_of
from shoal.verbs.evaluate.missing_codes import find_bound, find_missing_codes
from shoal.verbs.evaluate.proposals import QUASI, SENSITIVE, propose

_SHOWN_VALUES = 5


@dataclass(frozen=True, kw_only=True)
class InspectedColumn:
    """One inspected column: its contents, its distinguishing power, and the proposed role."""

    name: str
    """Name of the column."""
    kind: str
    """"number", "date", "category", "text" or "identifier"."""
    date_format: str | None
    """The format of its dates, in the notation of `strptime`; None if it has no dates, or typed ones."""
    distinct: int
    """Number of distinct values, excluding the missing value."""
    missing: int
    """Rows without a value."""
    uniqueness: float
    """Share of the rows whose value is unique."""
    distinction: float
    """Number of distinct values per row."""
    separation: float | None
    """Share of the pairs of rows with different values; None if there is only one row."""
    role: str
    """The proposed role: "person" (identifies the person of each record; at most one column), "direct_identifier",
    "quasi_identifier", "sensitive" or "insensitive"."""
    why: str
    """The reason for the role, in plain words."""
    coarsen: str | None
    """A suitable coarsening in the syntax of --coarsen; None if none is suitable or needed."""
    looks_like: str | None = None
    """The identifier that its name or its values resemble, such as "email" or "zip"; None if they resemble none."""
    safe_harbor: str | None = None
    """The letter of this identifier in the Safe Harbor rule of HIPAA."""
    missing_codes: tuple[str, ...] = ()
    """Words among numbers or dates that may mean missing, or known numbers and dates far from all others."""
    replace_first: bool = False
    """Whether the proposal replaces them: words among numbers prevent the coarsening, and a number far from all others
    stretches the range of a quasi-identifier."""
    person: PersonEvidence | None = None
    """Evidence that its values identify persons with several rows; None if there is none."""
    values: tuple[tuple[str, int], ...] | None = field(default=None, repr=False)
    """The most frequent values and their numbers of rows; None if not requested."""

    def to_dict(self) -> dict[str, Any]:
        """Return the column as a dictionary; `values` is present only if requested."""
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "values"}
        facts["person"] = None if self.person is None else self.person.to_dict()
        return facts if self.values is None else {**facts, "values": [list(pair) for pair in self.values]}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Survey:
    """What a table shows by itself, before anything is requested of it."""

    parsed: ParsedTable
    """The table with its dates and numbers."""
    counted: tuple[CountedColumn, ...]
    """Its columns as counts."""
    columns: tuple[InspectedColumn, ...]
    """The same columns with their proposals."""
    persons: tuple[PersonEvidence, ...]
    """Evidence that persons have several rows, the strongest first."""

    @property
    def decimal(self) -> str | None:
        """The decimal sign of its numbers, if that is a comma."""
        forms = self.parsed.forms.values()
        return "," if any(isinstance(one, NumberForm) and one.decimal == "," for one in forms) else None

    def column(self, name: str) -> InspectedColumn:
        """Return a column with its proposal."""
        return next(one for one in self.columns if one.name == name)

    @property
    def quasi_identifiers(self) -> list[CountedColumn]:
        """The columns that are proposed as quasi-identifiers."""
        return [one for one, facts in zip(self.counted, self.columns, strict=True) if facts.role == QUASI]


def survey_table(
    frame: pl.DataFrame,
    *,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
    in_place: Collection[str] = (),
    l: int = 2,
    show_values: bool = False,
    progress: Progress = silent,
) -> Survey:
    """Survey a table, and propose a role and a coarsening for each column.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    dates, decimal
        See `shoal.anonymize`.
    in_place : collection of str
        Columns of dates that an age replaces.
    l : int
        The l of l-diversity that steps of sensitive numbers allow.
    show_values : bool
        Whether to list the most frequent values of each column.
    progress : callable
        Called with (step, done, total).

    Raises
    ------
    DataError
        If the table has no rows or no columns.
    """
    if frame.height == 0 or frame.width == 0:
        raise DataError("The table has no rows, or no columns: there is nothing to inspect.")
    # Parse dates and numbers of all columns, with the detected formats.
    parsed = understand(frame, frame.columns, dates=dates, decimal=decimal)
    # Count the values of each column.
    columns = map_in_threads(
        counted, parsed.frame.get_columns(), finished=lambda done: progress("columns", done, frame.width)
    )
    # The proposals are those of the table without its codes of missing values: to replace them changes no role.
    codes = find_missing_codes(columns, parsed.forms, decimal=decimal)
    without, plain = parsed, {column.name: column for column in columns}
    if codes:
        given: dict[str, dict[str, str | None]] = {name: dict.fromkeys(words) for name, words in codes.items()}
        replaced = replace_values(pl.DataFrame([frame[name] for name in codes]).lazy(), given).collect()
        formats = {name: form for name, form in (dates or {}).items() if name in codes}
        again = understand(replaced, replaced.columns, dates=formats, decimal=decimal)
        without = ParsedTable(
            frame=parsed.frame.with_columns(again.frame.get_columns()),
            forms={**parsed.forms, **again.forms},
            ambiguous={name: one for name, one in parsed.ambiguous.items() if name not in codes} | {**again.ambiguous},
            unread={name: one for name, one in parsed.unread.items() if name not in codes} | {**again.unread},
        )
        plain |= {column.name: counted(column) for column in again.frame.get_columns()}
    found = {name: _looks_like(column) for name, column in plain.items()}
    progress("persons", 0, 1)
    # Persons are detected before roles, because their column gets a role of its own.
    persons = _find_persons(without.frame, list(plain.values()), found)
    evidence = {one.column: one for one in reversed(persons)}
    inspected = tuple(
        _inspected(
            column,
            plain[name],
            found[name],
            without,
            evidence.get(name),
            first=evidence.get(name) in persons[:1],
            codes=codes.get(name, ()),
            in_place=name in in_place,
            show_values=show_values,
            l=l,
        )
        for name, column in ((column.name, column) for column in columns)
    )
    survey = Survey(parsed=parsed, counted=tuple(columns), columns=inspected, persons=persons)
    if not persons:  # without a column that names persons combinations may show that they repeat
        repeated = repeated_combinations(without.frame[[column.name for column in survey.quasi_identifiers]])
        return survey if repeated is None else replace(survey, persons=(repeated,))
    return survey


def _looks_like(column: CountedColumn) -> PossibleIdentifier | None:
    """Return the identifier that a column resembles; names of people take precedence over categories to coarsen.

    A code with few values does not number persons, even if it is called "admission_type_id".
    """
    # Some types have no text form, and such columns cannot be matched.
    try:
        found = detect_identifiers(pl.DataFrame([column.dictionary.alias(column.name)]))
    except pl.exceptions.PolarsError:  # values of a type without text
        return None
    # Names such as "id" are misleading for columns with few values.
    if may_be_code(column.distinct, column.rows) and not suggests_person_number(column.name):
        found = tuple(one for one in found if one.by != "name" or not is_one_each(one.kind))
    naming = [one for one in found if one.kind not in ("address", "zip", "date", "age over 89")]
    return next(iter([*naming, *found]), None)


def _find_persons(
    frame: pl.DataFrame, columns: Sequence[CountedColumn], found: Mapping[str, PossibleIdentifier | None]
) -> tuple[PersonEvidence, ...]:
    """Return the columns that identify persons with several rows, judged by other columns, else by their names."""
    looks = {name: one.kind for name, one in found.items() if one is not None}
    named = (evidence_by_name(frame, one.name) for one in columns if is_one_each(looks.get(one.name)))
    # Two persons may share a name or initials, so a number beats them.
    return tuple(
        sorted(merge_evidence(detect_persons(frame), named), key=lambda one: looks.get(str(one.column)) == "name")
    )


def _inspected(
    column: CountedColumn,
    plain: CountedColumn,
    found: PossibleIdentifier | None,
    parsed: ParsedTable,
    person: PersonEvidence | None,
    *,
    first: bool,
    codes: tuple[str, ...],
    in_place: bool,
    show_values: bool,
    l: int,
) -> InspectedColumn:
    """Propose a role for a column by its values without codes that mean missing (`plain`, of the table `parsed`)."""
    # Dates or numbers that can be read in two ways are proposed to be left out.
    form = parsed.forms.get(column.name)
    meanings = parsed.ambiguous.get(column.name)
    ambiguous_dates = meanings is not None and not set(meanings) <= set(SIGNS)
    unread = None
    if meanings is not None:
        what = "dates" if ambiguous_dates else "numbers"
        unread = f"its {what} can be read in two ways ({listed(meanings, 'or')})"
    # Columns with unreadable dates count as dates, so that they are not published as categories.
    dated = plain.dictionary.dtype in (pl.Date, pl.Datetime) or ambiguous_dates or column.name in parsed.unread
    kind = kind_of(plain, found, dated=dated)
    if column.name in parsed.unread:
        unread = "its dates are not all written in one way"
    if in_place:
        unread = "its age is published in its place"
    proposal = propose(plain, kind, found, unread=unread, person=person, first=first, l=l)
    # A column of text that holds numbers or dates but for the codes is one only without them.
    text = column.dictionary.dtype == pl.String and not column.dictionary.str.contains(NUMBER).all()
    ordered = kind.name in ("number", "date")
    far = proposal.role == QUASI and ordered
    numbers = ordered or find_bound(column) is not None
    words = text and (proposal.coarsen is not None or (proposal.role in (QUASI, SENSITIVE) and numbers))
    replaced = bool(codes) and (far or words)
    means = f"; {listed(codes)} {'means' if len(codes) == 1 else 'mean'} missing" if replaced else ""
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
        why=proposal.why + means,
        coarsen=proposal.coarsen,
        looks_like=None if found is None else found.kind,
        safe_harbor=None if found is None else found.category,
        missing_codes=codes,
        replace_first=replaced,
        person=person,
        values=_most_frequent(column) if show_values else None,
    )


def _most_frequent(column: CountedColumn) -> tuple[tuple[str, int], ...]:
    # Ties keep the order of first occurrence.
    counts = pl.Series(column.counts[: column.distinct])
    places = counts.arg_sort(descending=True).head(_SHOWN_VALUES)
    texts = dictionary_text(column.dictionary.gather(places)).cast(pl.String)
    return tuple(zip(texts.to_list(), counts.gather(places).to_list(), strict=True))
