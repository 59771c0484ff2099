"""Entry point `inspect`: describe a table and propose a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from shoal._core.facts import Fact
from shoal._core.progress import Progress, silent
from shoal._core.validation import Boolean, Integer, validate
from shoal._messages import Suggestion
from shoal.disclosure_risk import (
    Combination,
    PersonEvidence,
    count_frequencies,
    prosecutor_risk,
    rank_combinations,
    sample_uniques,
    small_classes,
)
from shoal.disclosure_risk.frequencies import EachRow, PersonRows
from shoal.findings import Remark, list_warnings, repeated_person, warn_of_derived
from shoal.findings.finding_kinds import MOST_QUASI, OWN_VALUE
from shoal.io import ParsedTable
from shoal.io.forms import format_of
from shoal.io.number_forms import SIGNS, NumberForm
from shoal.pipeline.input import open_data
from shoal.request.texts import column_and_words, derivation_in, replacement_text, with_formats
from shoal.verbs.evaluate.counting import CountedColumn
from shoal.verbs.evaluate.missing_codes import find_bound
from shoal.verbs.evaluate.proposals import PERSON, QUASI, SENSITIVE
from shoal.verbs.evaluate.survey import InspectedColumn, survey_table
from shoal.verbs.inspect.inspection import Inspection

_MOST_IN_PAIRS = 400
"""Largest number of columns that are combined in pairs."""
_WORK = 5_000_000
"""Pairs of columns times rows to examine at most; above this size a sample ranks the pairs."""
_RECODED = r"^(?:\*+|[\[(\]]-?[0-9][^\[\]()]*[,;][^\[\]()]*[\])\[]|[0-9A-Za-z]+\*+|\{.+,.+\})$"
"""Matches a star, an interval, a masked code or a set, as written by shoal, ARX and sdcMicro."""
_MANY_RECODED = 0.05
"""Share of the rows with such cells above which a column is considered anonymized."""


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
    reading: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "header_row": header_row}
    opened = open_data(data, **reading, replace_values=replace_values, derive=with_formats(derive, dates))
    survey = survey_table(
        opened.frame,
        dates=dates,
        decimal=decimal,
        in_place={derivation_in(words)[1] for words in (derive or {}).values() if words.startswith("years")},
        show_values=show_values,
        progress=told,
    )
    columns, inspected, meant, persons = survey.counted, survey.columns, survey.parsed, survey.persons
    told("combinations", 0, 1)
    return Inspection(
        rows=opened.frame.height,
        columns=inspected,
        combinations=_combinations(columns, inspected, told),
        risk=_risk(survey.quasi_identifiers, k, _person_in(columns, inspected)),
        warnings=(*warn_of_derived(opened.derived), *_warnings(inspected, columns, meant, persons)),
        persons=persons,
        encoding=opened.encoding,
        delimiter=opened.delimiter,
        sheet=opened.sheet,
        header_row=header_row,
        replaced=dict(replace_values or {}),
        derived=dict(derive or {}),
        decimal=","
        if any(isinstance(one, NumberForm) and one.decimal == "," for one in meant.forms.values())
        else None,
        source=str(data) if isinstance(data, str | PathLike) and str(data) != "-" and "://" not in str(data) else None,
    )


def _has_recoded_cells(column: CountedColumn) -> bool:
    """Return True if at least a twentieth of the cells of a text column look like published cells."""
    # Only text can contain stars, intervals or sets.
    values = column.dictionary
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum) or not len(values):
        return False
    recoded = values.cast(pl.String).str.contains(_RECODED).fill_null(value=False)
    rows = pl.Series(column.counts[: len(values)]).filter(recoded).sum()
    return bool(rows >= _MANY_RECODED * column.rows)


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


def _warn_of_bound(name: str, bound: str, at: int, end: str) -> Remark:
    """Warn of a bound among numbers, with the replacement and the coarsening that keep its meaning."""
    text = column_and_words(name, replacement_text({bound: str(at)}))
    kind = "TopCode" if end == "top" else "BottomCode"
    return Remark(
        code="bounds_among_numbers",
        column=name,
        found=Fact("bound_among_values", column=name, bound=repr(bound)),
        advice=Fact(
            "replace_bound",
            asked=Suggestion("replace_values", text, python=f"replace_values={ {name: {bound: str(at)}}!r}"),
            coarsen=Suggestion(
                "coarsen", column_and_words(name, f"{end}:{at}"), python=f"coarsen={{{name!r}: shoal.{kind}({at})}}"
            ),
        ),
    )


def _warnings(
    inspected: Sequence[InspectedColumn],
    columns: Sequence[CountedColumn],
    meant: ParsedTable,
    persons: Sequence[PersonEvidence],
) -> Iterator[Remark]:
    # Persons with several rows change the meaning of every group, so they come first.
    yield from repeated_person(persons)
    # Values that could not be parsed.
    for name, why in meant.unread.items():
        yield Remark(code="unread_dates", column=name, found=why)
    for name, meanings in meant.ambiguous.items():
        numbers = set(meanings) <= set(SIGNS)
        say = [Suggestion("decimal", one) if numbers else format_of(name, one) for one in meanings[:2]]
        yield Remark(
            code="ambiguous_numbers" if numbers else "ambiguous_dates",
            column=name,
            found=Fact("two_ways", column=name),
            advice=Fact("say_which", one=say[0], other=say[1]),
        )
    for facts in inspected:
        if facts.missing_codes:
            asked = {facts.name: dict.fromkeys(facts.missing_codes)}
            text = column_and_words(facts.name, replacement_text(asked[facts.name]))
            yield Remark(
                code="missing_codes",
                column=facts.name,
                found=Fact("codes_among_values", column=facts.name, codes=tuple(map(repr, facts.missing_codes))),
                advice=Fact(
                    "make_missing", asked=Suggestion("replace_values", text, python=f"replace_values={asked!r}")
                ),
            )
    for one in columns:
        bounded = find_bound(one)
        if bounded is not None:
            yield _warn_of_bound(one.name, *bounded)
    # Columns that were anonymized before.
    recoded = tuple(f"'{column.name}'" for column in columns if _has_recoded_cells(column))
    if recoded:
        yield Remark(
            code="recoded_cells",
            column=None,
            found=Fact("cells_look_recoded", columns=recoded),
            advice=Fact("audit_or_go_back"),
        )
    for one, facts in zip(columns, inspected, strict=True):
        if facts.role in (QUASI, SENSITIVE):
            yield from list_warnings(one.series)
    # Sensitive columns: nearly unique values, or none at all.
    for facts in inspected:
        if facts.role == SENSITIVE and facts.uniqueness >= OWN_VALUE:
            yield Remark(
                code="near_unique_sensitive",
                column=facts.name,
                found=Fact("own_values_in_input", share=facts.uniqueness, column=facts.name),
                advice=Fact("coarsen_or_drop_first"),
            )
    if not any(facts.role == SENSITIVE for facts in inspected):
        yield Remark(
            code="no_sensitive",
            column=None,
            found=Fact("none_sensitive"),
            advice=Fact("name_sensitive"),
        )
    # Too many quasi-identifiers.
    many = [facts.name for facts in inspected if facts.role == QUASI]
    if len(many) > MOST_QUASI:
        yield Remark(
            code="many_quasi_identifiers",
            column=None,
            found=Fact("many_quasi", count=len(many)),
            advice=Fact("fewer_quasi"),
        )
