"""Warnings about the table that a release is made of, for the publisher only."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.quoting import assigned, listed_names, quote_for_shell
from shoal._messages import Suggestion
from shoal.disclosure_risk import (
    PersonEvidence,
    detect_identifiers,
    detect_persons,
    evidence_by_name,
    merge_evidence,
    repeated_combinations,
)
from shoal.findings.finding_kinds import OWN_VALUE, Remark
from shoal.hierarchy.fitting import suggest_coarsening
from shoal.models.feasible import drop_columns
from shoal.models.promises import find_refusal
from shoal.models.requirement import Requirement
from shoal.table import Schema, count_alike, normalize_columns
from shoal.table.counts import multiplicities
from shoal.verification import MeasuredTable

_ONE_EACH = frozenset(("unique number", "medical record", "social security", "health plan", "email", "account"))
"""Kinds of identifiers of which a person has one each, as `detect_identifiers` names them."""

_NUMBER = r"^\s*[+-]?\d[\d.,' ]*$"
"""The text of a number, in any written form."""
_NUMERIC = 0.8
"""Share of the values that are numbers if the others are exceptions."""
_ROUNDING = 1e-12
"""Largest error of a probability that is compared with a limit."""
_NEARLY_ANY = 3.0
"""Standard deviations by which the records with a value may exceed their expected number."""
_FIRST = "shoal anonymize "
"""The command with the options of advice that another command gives."""
_LOOKED_AT = 20_000
"""Number of rows from which the kind of a column is detected."""


def warn_of_reading(below: int, derived: Mapping[str, Fact]) -> Iterator[Remark]:
    """Yield the warnings of an opened table: rows below it that were left out, derived columns with missing values.

    Parameters
    ----------
    below : int
        Number of rows that were left out.
    derived : mapping of column to Fact
        The facts count the missing values.
    """
    if below:
        found = Fact("rows_below", rows=below)
        yield Remark(code="rows_below", column=None, found=found, advice=Fact("join_rows_below"))
    for name, found in derived.items():
        yield Remark(code="derived_missing", column=name, found=found)


def original_warnings(
    persons: Sequence[PersonEvidence],
    unread: Mapping[str, Fact],
    schema: Schema,
) -> Iterator[Remark]:
    """Yield the warnings that depend on unpublished data.

    Parameters
    ----------
    persons : sequence of PersonEvidence
        Evidence of persons with several records each; see `unprotected_persons`.
    unread : mapping of column to Fact
        Columns that look like dates but were not parsed, with the reason.
    schema : Schema
        The roles of the columns.
    """
    # The reason is a fact of its own, which names no cell.
    for name, why in unread.items():
        yield Remark(code="unread_dates", column=name, found=why)
    if schema.kinds:  # columns that are published are here although the persons are protected
        yield from repeated_person([evidence for evidence in persons if not _is_unchanged(evidence, schema)])
    else:
        yield from repeated_person(persons)
    yield from published_persons(persons, schema)


def published_persons(persons: Sequence[PersonEvidence], schema: Schema) -> Iterator[Remark]:
    """Yield the warning about each column that is published unchanged although it identifies persons."""
    for evidence in (one for one in persons if _is_unchanged(one, schema)):
        column = str(evidence.column)
        yield Remark(
            code="published_person",
            column=column,
            found=Fact("published_person", column=column, evidence=evidence.as_fact),
            advice=Fact("drop_or_quasi", drop=drop_columns([column])),
        )


def _is_unchanged(evidence: PersonEvidence, schema: Schema) -> bool:
    """Check whether a column that identifies persons is published unchanged; the engines may leave its role out."""
    return evidence.column not in (None, *schema.quasi_identifiers, *schema.private)


def unprotected_persons(
    persons: Sequence[PersonEvidence], frame_of: Callable[[str | None], pl.DataFrame], schema: Schema
) -> tuple[PersonEvidence, ...]:
    """Select the evidence of persons whose records no protected owner holds together.

    The owner that is named may be a visit, or persons may be spelled in several ways: then it has one record of a
    person where another column shows five.

    Parameters
    ----------
    persons : sequence of PersonEvidence
    frame_of : callable
        Function that returns rows with a column that identifies persons (or with the quasi-identifiers, for None) and
        the columns that identify owners.
    schema : Schema
        The roles of the columns. Without owners, all evidence is kept, and that of unchanged columns always is.
    """

    def is_kept(evidence: PersonEvidence) -> bool:
        frame, column = frame_of(evidence.column), evidence.column
        names = schema.quasi_identifiers if column is None else (column,)
        # One protected owner that holds the records of each person together is enough. Namesakes are several persons: a
        # name that does not vary within numbers of persons is no better evidence than these.
        return not any(
            _are_together(frame, names, unit)
            or (column is not None and _names_namesakes(frame[column]) and _are_together(frame, unit, names))
            for unit in schema.kinds
        )

    return tuple(one for one in persons if not schema.kinds or _is_unchanged(one, schema) or is_kept(one))


def _names_namesakes(column: pl.Series) -> bool:
    """Check whether a column holds names of people, which several persons may have."""
    return _looks_like(column, lambda kind: kind == "name")


def columns_of_owners(frame: pl.DataFrame, schema: Schema) -> Iterator[PersonEvidence]:
    """Yield the unchanged columns that find named owners: most rows share a value with rows of their owner alone.

    Parameters
    ----------
    frame : polars.DataFrame
        All columns of the table.
    schema : Schema
        The roles of the columns.
    """
    unchanged = schema.sensitive + schema.insensitive
    for name in (name for name in unchanged if name in frame.columns):  # pseudonyms are no column of the table
        column = frame[name].alias("value")
        if column.dtype.is_nested() or column.dtype == pl.Object:
            continue
        for unit in schema.kinds:
            several = _unit_keys(frame, unit).with_columns(column).drop_nulls("value").group_by("value")
            counted = several.agg(pl.len().alias("rows"), pl.struct(pl.exclude("value")).n_unique().alias("n"))
            own = counted.filter((pl.col("rows") > 1) & (pl.col("n") == 1))["rows"].sum()
            if own and own >= OWN_VALUE * frame.height:
                rows, most = int(counted["rows"].sum()), int(counted["rows"].to_numpy().max())
                yield PersonEvidence(column=name, records=rows, persons=counted.height, most=most, by="values")
                break


def _are_together(frame: pl.DataFrame, names: Sequence[str], unit: Sequence[str]) -> bool:
    """Check whether the rows of most repeated values belong to one owner each."""
    # By number, because Polars takes the name "*" for all columns.
    values = [f"v{at}" for at in range(len(names))]
    columns = _unit_keys(frame, unit).with_columns(
        frame[name].alias(key) for name, key in zip(names, values, strict=True)
    )
    counted = columns.group_by(values).agg(pl.len().alias("rows"), pl.struct(pl.exclude(values)).n_unique().alias("n"))
    # A few values may belong to several owners, such as namesakes.
    repeated = counted.filter(pl.col("rows") > 1)
    return 2 * int((repeated["n"] > 1).sum()) <= repeated.height


def _unit_keys(frame: pl.DataFrame, unit: Sequence[str]) -> pl.DataFrame:
    """Return columns that are equal for rows of one owner; a row that misses its owner is alone."""
    keys = pl.DataFrame([frame[name].alias(f"u{at}") for at, name in enumerate(unit)])
    keys = normalize_columns(keys.lazy(), keys.columns).collect().fill_nan(None)
    missing = pl.any_horizontal(pl.all().is_null())
    return keys.with_columns(pl.when(missing).then(pl.int_range(pl.len())).alias("alone"))


def sure_of_persons(
    figures: Sequence[Mapping[str, Any]], table: MeasuredTable, features: Collection[str] | None = None
) -> Iterator[Remark]:
    """Yield the warnings about values that all records of a person together tell.

    Parameters
    ----------
    figures : sequence of mapping
        The "persons" of a certificate.
    table : MeasuredTable
        The published table.
    features : collection of str, optional
        What is asked for, by the names of `shoal.models.promises`; None if it is not known.
    """
    for place, kind in enumerate(figures):
        known = {name: one for name, one in kind["confidence"].items() if one.get("units_above")}
        # Households may have several records of persons with one each.
        advice, whose = None, "units" if place or "of" in kind else "persons"
        if known and whose == "persons" and table.owners is not None:
            owners = table.owners.to_series(0).alias("owner").to_frame()
            values = pl.DataFrame([table.frame.get_column(name) for name in table.sensitive])
            advice = _advise_one_each(owners, values, table.requirement, features, times=table.times)
        for column, one in known.items():
            figure = {"above": one["units_above"], "limit": one["limit"], "largest": one["largest"]}
            found = Fact(f"sure_of_{whose}", columns=kind["unit"], units=kind["units"], column=column, **figure)
            yield Remark(code="sure_of_persons", column=column, found=found, advice=advice)


def advise_fewer_records(features: Collection[str] | None) -> Fact:
    """Advise one record of each person or, if that goes with what is asked for, linked ones.

    A model of values bounds what all published records of a person reveal with either.

    Parameters
    ----------
    features : collection of str, optional
        What is asked for, by the names of `shoal.models.promises`; None if it is not known.
    """
    one = Suggestion("rows_per_person", 1, command=f"{_FIRST}--rows-per-person 1")
    if features is None or find_refusal({*features, "link"} - {"person"}) is not None:
        return Fact("fewer_records_each", one=one)
    link = Suggestion("link", True, command=f"{_FIRST}--link")
    return Fact("fewer_or_linked", one=one, link=link)


def _advise_one_each(
    owners: pl.DataFrame,
    sensitive: pl.DataFrame,
    requirement: Requirement,
    features: Collection[str] | None,
    *,
    times: NDArray[np.int64] | None = None,
) -> Fact:
    """Advise one record of each person, with a model of values, because one record each bounds no value by itself.

    Parameters
    ----------
    owners : polars.DataFrame
        The columns that identify the person of each row.
    sensitive : polars.DataFrame
        The sensitive columns.
    requirement : Requirement
        The requirement, which may have a model of values already.
    features : collection of str, optional
        See `advise_fewer_records`.
    times : int64 array, optional
        Multiplicity of each row; 1 by default.
    """
    if requirement.value_share is not None:
        return advise_fewer_records(features)
    keys, most = owners.columns, math.inf
    rows = owners.with_columns(times=pl.Series(multiplicities(owners.height, times)))
    persons = owners.n_unique()
    for column in sensitive:
        # A person's record has a value with the value's share of the person's records.
        counted = (
            rows.with_columns(value=column.cast(pl.String, strict=False))
            .group_by(*keys, "value")
            .agg(pl.col("times").sum())
        )
        share = pl.col("times") / pl.col("times").sum().over(keys)
        drawn = (
            counted.with_columns(share=share)
            .group_by("value")
            .agg(mean=pl.col("share").sum(), spread=(pl.col("share") * (1 - pl.col("share"))).sum().sqrt())
        )
        most = min(most, persons / float((drawn["mean"] + _NEARLY_ANY * drawn["spread"]).max()))  # type: ignore[arg-type]
    # Every table is like itself, so that closeness is feasible for any records.
    other = (
        Fact("l_of_one_each", asked=Suggestion("l", 2, python="l=2"), most=int(most))
        if most >= 2
        else Fact("t_of_one_each", asked=Suggestion("t", 0.2, python="t=0.2"))
    )
    return Fact("one_after_other", one=advise_fewer_records(None), other=other)


def sure_of_all_records(
    frame: pl.DataFrame,
    unit: Sequence[str],
    sensitive: Sequence[str],
    requirement: Requirement,
    features: Collection[str],
) -> Iterator[Remark]:
    """Yield the warning that no model limits what all records of a person tell together, before any search.

    The figure is that of one group of all records: a person with r of g records, c of which have a value, has the value
    in some record with probability 1 - C(g - c, r) / C(g, r).

    Parameters
    ----------
    frame : polars.DataFrame
        The rows that may be published.
    unit : sequence of str
        The columns that identify a person.
    sensitive : sequence of str
        The sensitive columns.
    requirement : Requirement
        The requirement, with its largest share of a value in a group, or 1/2.
    features : collection of str
        What is asked for, by the names of `shoal.models.promises`.
    """
    keys = _unit_keys(frame, unit)
    records = keys.group_by(pl.all()).len()["len"].to_numpy()
    most, limit = int(records.max()), requirement.value_share or Fraction(1, 2)
    if most == 1 or not sensitive:
        return
    above = dict[str, tuple[bool, int]]()
    for name in sensitive:
        values = frame[name].alias("value").cast(pl.String, strict=False).drop_nulls().value_counts()
        values = values.filter(~pl.col("value").is_in([*requirement.harmless]))
        count = int(values["count"].max() or 0)  # type: ignore[arg-type]
        doubt = np.cumprod(np.maximum(frame.height - count - np.arange(most), 0) / (frame.height - np.arange(most)))
        enough = np.flatnonzero(1 - doubt > float(limit) + _ROUNDING)
        # A value that most records have is known without any record of the person.
        least = max(int(enough[0]), 1) if len(enough) else most
        above[name] = (bool(len(enough)) and enough[0] > 0, int((records > least).sum()))
    column = max(above, key=lambda name: above[name])
    persons = above[column][1]
    yield Remark(
        code="sure_of_persons",
        column=column,
        found=Fact(
            "sure_of_all_records" if persons else "several_records_each",
            columns=", ".join(unit),
            several=int((records > 1).sum()),
            units=len(records),
            most=most,
            column=column,
            above=persons,
            limit=str(limit),
        ),
        advice=_advise_one_each(keys, pl.DataFrame([frame[name] for name in sensitive]), requirement, features),
    )


def exact_ends(records: int, rows: int) -> Iterator[Remark]:
    """Yield the warning about records that an end of an interval, or a member of a set, singles out."""
    if records:
        yield Remark(
            code="exact_ends",
            column=None,
            found=Fact("singled_out", records=records, rows=rows),
            advice=Fact("without_exact_ends", asked=Suggestion("exact_ends", True)),
        )


def respelled_persons(frame: pl.DataFrame, schema: Schema) -> Iterator[Remark]:
    """Yield the warning about each column of persons whose values read alike, so that one person may count as several.

    Parameters
    ----------
    frame : polars.DataFrame
        The table with the columns that identify owners.
    schema : Schema
        The roles of the columns.
    """
    for name in schema.owner_columns:
        # Blanks at the ends and forms of Unicode do not separate persons.
        column = normalize_columns(pl.DataFrame([frame[name].alias("unit")]).lazy(), ["unit"]).collect()["unit"]
        values = len(count_alike(column.drop_nulls())[1])
        if values:
            yield Remark(
                code="respelled_persons",
                column=name,
                found=Fact("respelled_persons", values=values, column=name),
                advice=Fact("spell_persons_alike"),
            )


def repeated_person(persons: Sequence[PersonEvidence]) -> Iterator[Remark]:
    """Yield the warning that persons have several records, with all columns that may identify them, the best first."""
    for evidence in persons[:1]:
        # The strongest evidence is reported; the others are named.
        others = tuple(dict.fromkeys(f"'{one.column}'" for one in persons[1:] if one.column is not None))
        advice = _count_persons(evidence.column)
        named = {} if evidence.column is None else {"column": evidence.column}
        yield Remark(
            code="repeated_person",
            column=evidence.column,
            found=Fact(f"persons_by_{evidence.by}", **named, evidence=evidence.as_fact),
            advice=Fact("count_one_of", first=advice, columns=others) if others else advice,
        )


def _count_persons(column: str | None) -> Fact:
    """Advise on persons with several records, who are named by a column or by none."""
    if column is None:
        return Fact("one_record_each")
    # A plan is applied to rows as it is: only the release that it comes from can name persons.
    quoted = quote_for_shell(listed_names(column))
    named = Suggestion("person", quoted, python=f"person={column!r}", command=f"{_FIRST}--person {quoted}")
    return Fact("count_persons", person=named)


def persons_of(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    counted: tuple[pl.DataFrame, NDArray[np.int64]] | None = None,
) -> tuple[PersonEvidence, ...]:
    """Collect the evidence that persons have several records in a table in memory, the strongest first.

    Parameters
    ----------
    frame : polars.DataFrame
        All columns of any role, restricted to the published rows.
    quasi_identifiers : sequence of str
        Columns whose combinations are evidence if no column identifies persons.
    counted : frame and int64 array, optional
        The distinct rows of the quasi-identifiers (and perhaps of other columns) with their numbers, if known.
    """
    distinct = None if counted is None else counted[0]
    found = merge_evidence(detect_persons(frame, distinct=distinct), _persons_by_name(frame, quasi_identifiers))
    if not found:
        rows, times = (frame, None) if counted is None else counted
        repeated = repeated_combinations(rows[list(quasi_identifiers)], times)
        found = () if repeated is None else (repeated,)
    return found


def persons_beside(frame: pl.DataFrame, columns: Collection[str]) -> tuple[PersonEvidence, ...]:
    """Collect the evidence for persons in the columns of a table without a role, the strongest first.

    The table may be a release, in which all rows of a group share their quasi-identifiers, like those of a person.

    Parameters
    ----------
    frame : polars.DataFrame
        All columns of any role.
    columns : collection of str
        The columns with a role.
    """
    found = tuple(one for one in detect_persons(frame) if one.column not in columns)
    return merge_evidence(found, _persons_by_name(frame, columns))


def _persons_by_name(frame: pl.DataFrame, without: Collection[str]) -> tuple[PersonEvidence, ...]:
    """Collect the evidence in names and forms of values, from all columns except the given ones."""
    others = (name for name in frame.columns if name not in without)
    named = (evidence_by_name(frame, name) for name in others if looks_one_each(frame[name]))
    return tuple(one for one in named if one is not None)


def is_one_each(kind: str | None) -> bool:
    """Check whether persons have one identifier of this kind each, as `detect_identifiers` names it."""
    return kind in _ONE_EACH


def looks_one_each(column: pl.Series) -> bool:
    """Check whether a column looks like an identifier of which persons have one each, by name or first values."""
    return _looks_like(column, is_one_each)


def _looks_like(column: pl.Series, wanted: Callable[[str], bool]) -> bool:
    """Check whether a column looks like an identifier of a wanted kind, by name or first values."""
    try:
        # A few distinct values suffice to recognize a kind of identifier. Polars interprets some names as patterns.
        values = column.alias(column.name.strip("^$")).head(_LOOKED_AT).drop_nulls().unique()
        return any(wanted(found.kind) for found in detect_identifiers(pl.DataFrame([values])))
    except pl.exceptions.PolarsError:  # values that cannot be compared
        return False


def how_to_coarsen(values: pl.Series, name: str, *, recoding: str) -> Suggestion | Fact:
    """Suggest how to coarsen a column: a coarsening that fits its values, or a hierarchy.

    Parameters
    ----------
    values : polars.Series
        Its distinct values, none of them missing.
    name : str
        Its name.
    recoding : str
        How the release was recoded: hierarchies need generalization.
    """
    # Published numbers may have their decimals behind a comma.
    if values.dtype == pl.String:
        values = values.str.replace(r"^(-?[0-9]+),([0-9]+)$", "$1.$2")
    fits = suggest_coarsening(values, name)
    if fits is not None:
        words = quote_for_shell(assigned([name], fits.words, listed=True))
        return Suggestion("coarsen", words, python=f"coarsen={{{name!r}: {fits.python}}}")
    # A few texts, such as a code for missing values, keep a column of numbers from being one.
    if values.dtype == pl.String and len(values) and _NUMERIC <= (values.str.contains(_NUMBER).mean() or 0) < 1:  # type: ignore[operator]
        asked = Suggestion(
            "replace_values",
            quote_for_shell(assigned([name], "TEXT:")),
            python=f"replace_values={{{name!r}: {{'TEXT': None}}}}",
        )
        return Fact("replace_text", asked=asked)
    # Without a fitting coarsening only a hierarchy helps, which needs generalization.
    file = quote_for_shell(assigned([name], "FILE"))
    tree = Suggestion("hierarchies", file, python=f"hierarchies={{{name!r}: 'FILE'}}")
    if recoding == "generalization":
        return tree
    return Fact("with", one=tree, other=Suggestion("recoding", "generalization"))
