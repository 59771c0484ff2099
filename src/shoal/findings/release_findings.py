"""Warnings about a published table, which derive from its cells and the request alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.quoting import assigned, quote_for_shell
from shoal._messages import Suggestion
from shoal.disclosure_risk.identifiers import holds_names
from shoal.findings.finding_kinds import (
    DOMINANT,
    LEAST_GROUP,
    MANY_MEMBERS,
    MANY_SHOWN,
    MOSTLY,
    OWN_VALUE,
    SHOWN_IN,
    Remark,
)
from shoal.io import FORMULA
from shoal.metrics import published_star_counts
from shoal.models.base import GroupCounts
from shoal.models.feasible import SensitiveCounts, advise_diversity, drop_columns
from shoal.models.naming import places_of
from shoal.models.requirement import Requirement
from shoal.table import Schema, count_alike, find_separator, split_lists
from shoal.table.counts import multiplicities
from shoal.table.lists import SET_OR_INTERVAL
from shoal.verification import MeasuredTable
from shoal.verification.cell_syntax import SET, read_cell
from shoal.verification.linked_rows import Bundles

_NUMBER = r"^[+-]?(\d[\d.,' ]*|[.,]\d+)([eE][+-]?\d+)?%?$"
"""A number with a sign, which is not a formula."""
_AT_LIMIT, _FAR_FROM_LIMIT = 0.9, 0.5
"""Shares of a requested t: the smallest that is at the limit, and the largest that is far from it."""
_PAIRS = 40
"""Largest number of pairs of insensitive columns that are checked, those with most combinations first."""


def published_warnings(
    table: MeasuredTable,
    schema: Schema,
    *,
    star: str,
    coarse: Collection[str],
    coarser: Callable[[str], Suggestion | Fact],
) -> Iterator[Remark]:
    """Yield the warnings about a published table.

    Parameters
    ----------
    table : MeasuredTable
        The published table. The advice does not repeat its models.
    schema : Schema
        The roles of its columns.
    star : str
        The symbol of a suppressed cell.
    coarse : collection of str
        Coarsened quasi-identifiers, whose sets show no exact values.
    coarser : callable
        Function that suggests how to coarsen a quasi-identifier or a sensitive column, for the advice, which readers do
        not see.

    Yields
    ------
    Remark
        Without cells; except for the advice, it derives from the request and the published table.
    """
    frame, times, requested = table.frame, table.times, table.requirement.to_list()
    achieved, separators = table.achieved.to_dict(), table.requirement.counting.separators
    # Rows may be distinct rows with multiplicities; records are counted.
    each = pl.Series(multiplicities(frame.height, times))
    rows = int(each.sum())
    # Whole release first, then quasi-identifiers, sensitive columns, and all published text.
    yield from _no_quasi_identifiers(schema)
    yield from _small_groups(table, schema, achieved, rows)
    # Pseudonyms are random numbers.
    plain = [name for name in schema.insensitive if name != table.pseudonym]
    yield from _as_they_came(
        frame, schema.sensitive, plain, each, lambda name: None if name in coarse else coarser(name)
    )
    limiting = _find_limiting(achieved, requested)
    stars, _ = published_star_counts(frame, schema.quasi_identifiers, star, times)
    for name in schema.quasi_identifiers:
        if stars[name] >= MOSTLY * rows:
            yield Remark(
                code="mostly_stars",
                column=name,
                found=Fact("stars", share=stars[name] / rows, column=name),
                advice=limiting
                if limiting is not None
                else Fact("coarsen_more", drop=drop_columns([name]))
                if name in coarse
                else Fact("coarsen_first", coarser=coarser(name)),
            )
        elif name not in coarse:
            yield from _large_sets(frame.get_column(name), coarser, each)
    names = [name for name in (*schema.quasi_identifiers, *schema.sensitive, *plain) if name not in coarse]
    yield from _names_and_lists(frame, names, declared=separators, grouped=schema.quasi_identifiers)
    yield from _dominant(frame, schema.sensitive, each, table.requirement)
    for name in dict.fromkeys(schema.quasi_identifiers + schema.sensitive):
        yield from alike_warnings(frame.get_column(name), each, separator=separators.get(name))
    for name in schema.published:
        yield from _formulas(frame.get_column(name), each)


def predicted_warnings(
    frame: pl.DataFrame,
    schema: Schema,
    requirement: Requirement,
    *,
    coarse: Collection[str],
    distinct: Mapping[str, pl.Series],
) -> Iterator[Remark]:
    """Yield the warnings about a release that follow from its request and its rows before any search.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows that may be published, with coarser sensitive and insensitive columns.
    schema : Schema
        The roles of its columns.
    requirement : Requirement
        The requirement for the release.
    coarse : collection of str
        Coarsened columns. Other values of coarsened quasi-identifiers are published.
    distinct : mapping of column to polars.Series
        The distinct values of each column before it was coarsened.

    Yields
    ------
    Remark
        Those of `published_warnings`, except what the published groups, stars and sets show.
    """
    each = pl.repeat(1, frame.height, dtype=pl.Int64, eager=True)
    separators = requirement.counting.separators
    grouped, sensitive, others = (
        [name for name in role if name in frame.columns]
        for role in (schema.quasi_identifiers, schema.sensitive, schema.insensitive)
    )
    yield from _no_quasi_identifiers(schema)
    exact = [name for name in grouped if name not in coarse]
    yield from column_warnings(frame, others, quasi_identifiers=exact, sensitive=sensitive, declared=separators)
    yield from _dominant(frame, sensitive, each, requirement)
    for name in (*exact, *sensitive, *others):
        # Records are counted only if a value is conspicuous.
        column = frame.get_column(name)
        known = separators.get(name) is None and name not in coarse
        values, times = (distinct[name], distinct[name].is_not_null().cast(pl.Int64)) if known else (column, each)
        if name not in others and next(alike_warnings(values, times, separator=separators.get(name)), None):
            yield from alike_warnings(column, each, separator=separators.get(name))
        if next(_formulas(values, times), None):
            yield from _formulas(column, each)


def _no_quasi_identifiers(schema: Schema) -> Iterator[Remark]:
    """Yield the warning that no column is a quasi-identifier."""
    if not schema.quasi_identifiers:
        yield Remark(
            code="no_quasi_identifiers",
            column=None,
            found=Fact("no_quasi_identifiers"),
            advice=Fact("name_quasi_identifiers", asked=Suggestion("quasi_identifiers")),
        )


def uncounted_persons(requested: Sequence[Mapping[str, Any]]) -> Iterator[Remark]:
    """Yield the warning that persons are named, and no model counts them.

    Parameters
    ----------
    requested : sequence of mapping
        The models, as a certificate describes them.
    """
    # A model of sensitive values counts records, unless it is declared to count persons. A k of 1 protects none.
    about = [(model.get("of"), model.get("k")) for model in requested]
    if any(of in ("persons", "records") for of, _ in about) and ("persons" not in {of for of, k in about if k != 1}):
        yield Remark(
            code="uncounted_persons",
            column=None,
            found=Fact("uncounted_persons"),
            advice=Fact("ask_for_k", asked=Suggestion("k", 5, python="k=5")),
        )


def alike_warnings(
    column: pl.Series, times: pl.Series | None = None, *, separator: str | None = None
) -> Iterator[Remark]:
    """Yield the warning about values of a column that differ in spelling only.

    Parameters
    ----------
    column : polars.Series
        A published quasi-identifier or sensitive column.
    times : polars.Series, optional
        Multiplicity of each row; 1 by default.
    separator : str, optional
        The separator of the values of a cell, if cells are lists.
    """
    # Spelling variants are found among the distinct values.
    rows, values = (None, column) if separator is None else split_lists(column, separator)
    # Sets and intervals are no spellings of other values.
    of_text, different = values.dtype in (pl.String, pl.Categorical, pl.Enum), values.unique()
    pairs, alike = count_alike(
        different.filter(~different.cast(pl.String).str.contains(SET_OR_INTERVAL)) if of_text else different
    )
    if pairs:
        shown = values.is_in(alike.implode())
        if rows is not None:  # a record shows one of them if its list does
            shown = pl.Series(np.isin(np.arange(len(column)), rows[shown.fill_null(value=False).to_numpy()]))
        yield Remark(
            code="values_read_alike",
            column=column.name,
            found=Fact("read_alike", pairs=int(pairs), column=column.name, records=_records(shown, times)),
            advice=Fact("write_alike", asked=Suggestion("normalize", True)),
        )


def _formulas(column: pl.Series, times: pl.Series) -> Iterator[Remark]:
    """Yield the warning about cells that a spreadsheet would evaluate as formulas."""
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return
    text = column.unique().drop_nulls()
    plain = text.cast(pl.String)
    # Numbers with a sign look like formulas, but evaluate to themselves.
    running = text.filter(plain.str.contains(FORMULA) & ~plain.str.contains(_NUMBER))
    if len(running):
        records = _records(column.is_in(running.implode()), times)
        yield Remark(
            code="formula_cells",
            column=column.name,
            found=Fact("formulas", records=records, column=column.name),
            advice=Fact(
                "for_spreadsheets",
                asked=Suggestion("spreadsheet_safe", True, python="release.save(..., spreadsheet_safe=True)"),
            ),
        )


def _records(shown: pl.Series, times: pl.Series | None) -> int:
    """Count the records of flagged rows."""
    return int((shown if times is None else times.filter(shown.fill_null(value=False))).sum())


def _small_groups(table: MeasuredTable, schema: Schema, achieved: Mapping[str, Any], rows: int) -> Iterator[Remark]:
    # Sets of quasi-identifiers are judged by their own groups.
    achieved = achieved.get("sets", achieved)
    if schema.quasi_identifiers and achieved["k"] < LEAST_GROUP:
        most = min(5, rows)
        yield Remark(
            code="small_k",
            column=None,
            found=Fact("smallest_group", count=achieved["k"], least=LEAST_GROUP),
            advice=Fact("ask_for_k", asked=Suggestion("k", most, python=f"shoal.KAnonymity({most})"))
            if most > achieved["k"]
            else None,
        )
    if table.bundles is not None:
        yield from _shared_by_all(table.bundles)
    # Some group has a single sensitive value: count the records that this affects.
    elif (achieved.get("l") or {}).get("distinct") == 1:
        # Several columns share one warning.
        alone = {
            name: int(counts.sizes[_share_a_value(counts, table.requirement.harmless)].sum())
            for name, counts in zip(table.sensitive, table.counts, strict=True)
        }
        known = {name: records / rows for name, records in alone.items() if records}
        if known:
            (name, share), *others = known.items()
            yield Remark(
                code="small_l",
                column=None if others else name,
                found=_of_columns("shared_values", known, rows=rows)
                if others
                else Fact("shared_value", share=share, records=alone[name], rows=rows, column=name),
                advice=advise_diversity(
                    SensitiveCounts.of(table.sensitive, (counts.population for counts in table.counts))
                ),
            )


def _share_a_value(counts: GroupCounts, harmless: Collection[str]) -> NDArray[np.bool_]:
    """Flag the groups whose records all have one value, unless it needs no protection."""
    alone: NDArray[np.bool_] = counts.distinct == 1
    labels = counts.population.domain.labels
    if harmless and labels is not None:
        first = counts.values[counts.starts[:-1]]
        alone &= (places_of(labels, [*harmless]) < 0)[first]
    return alone


def _shared_by_all(bundles: Bundles) -> Iterator[Remark]:
    """Yield the warning that all persons who publish the same rows have a value, in whichever row, or among others."""
    known = [name for name in bundles.shares if bundles.largest_share(name) == 1]
    if known:
        yield Remark(
            code="small_l",
            column=None if known[1:] else known[0],
            found=Fact(f"shared_by_{bundles.of}", columns=tuple(known)),
            advice=Fact("ask_for_l_of_persons", asked=Suggestion("l", 2, python="l=2")),
        )


def _as_they_came(
    frame: pl.DataFrame,
    sensitive: Sequence[str],
    insensitive: Sequence[str],
    each: pl.Series,
    coarser: Callable[[str], Suggestion | Fact | None],
) -> Iterator[Remark]:
    """Yield the warnings about unchanged columns that identify persons."""
    # Sensitive columns together, insensitive columns one by one, because their remedies differ.
    yield from _sensitive_warnings(frame, sensitive, each, coarser)
    yield from _identifying_warnings(frame, insensitive, each, sensitive=sensitive)


def _sensitive_warnings(
    frame: pl.DataFrame,
    names: Sequence[str],
    times: pl.Series,
    coarser: Callable[[str], Suggestion | Fact | None] = lambda _: None,
) -> Iterator[Remark]:
    """Yield the warning about sensitive columns with values that a record shares with no other.

    Parameters
    ----------
    frame : polars.DataFrame
        The published table.
    names : sequence of str
        Its sensitive columns.
    times : polars.Series
        Multiplicity of each row.
    coarser : callable
        Function that suggests how to coarsen a column, for the advice, which readers do not see.
    """
    rows = max(int(times.sum()), 1)
    own = {name: _count_own(_plain(frame.get_column(name)).to_frame(), times)[0] / rows for name in names}
    own = {name: share for name, share in own.items() if share >= SHOWN_IN}
    if own:
        (name, share), *others = own.items()
        # The first column whose values some coarsening fits is the example; hierarchies are for quasi-identifiers.
        fitting = (one for one in map(coarser, own) if isinstance(one, Suggestion) and one.parameter == "coarsen")
        first, drop = next(fitting, None), drop_columns([*own])
        yield Remark(
            code="near_unique_sensitive",
            column=None if others else name,
            found=_of_columns("own_values_of_several", own) if others else Fact("own_values", share=share, column=name),
            advice=Fact("drop_sensitive", drop=drop)
            if first is None
            else Fact("coarsen_or_drop", coarser=first, drop=drop),
        )


def _identifying_warnings(
    frame: pl.DataFrame, names: Sequence[str], times: pl.Series, *, sensitive: Sequence[str] = ()
) -> Iterator[Remark]:
    """Yield the warnings about columns outside the protection that identify persons.

    Columns are judged one by one, in pairs, and all together.

    Parameters
    ----------
    frame : polars.DataFrame
        The published table, or a part of its columns, in any order of the rows.
    names : sequence of str
        The columns outside the protection.
    times : polars.Series
        Multiplicity of each row.
    sensitive : sequence of str
        The sensitive columns, which are published as they are, too: all together are judged with them.
    """
    rows = int(times.sum())

    @cache
    def counted(*some: str) -> tuple[int, int]:
        # Columns are renamed to numbers, because names may be patterns for Polars.
        cells = [_plain(frame.get_column(name)).alias(str(at)) for at, name in enumerate(some)]
        return _count_own(pl.DataFrame(cells), times)

    # One by one: the remedy of such a column is its own.
    most = 0
    others = []
    for name in names:
        own = counted(name)[0]
        if own < OWN_VALUE * max(rows, 1):
            others.append(name)
            continue
        most = max(most, own)
        yield Remark(
            code="near_unique_insensitive",
            column=name,
            found=Fact("own_values", share=own / rows, column=name),
            advice=Fact("drop_or_quasi", drop=drop_columns([name])),
        )
    # Pairs of the others; each column is in one warning at most.
    for own, pair in _pairs(others, rows, counted):
        most = max(most, own)
        yield Remark(
            code="near_unique_insensitive",
            column=pair[0],
            found=Fact("own_pairs", share=own / rows, column=pair[0], other=pair[1]),
            advice=Fact("quasi_or_drop"),
        )
    # All together, if they make more records unique than the warnings before state.
    own, together = counted(*names)[0] if names else 0, names
    if sensitive and len(exact := [*names, *sensitive]) > 1 and (by_all := counted(*exact)[0]) >= SHOWN_IN * rows:
        most = max(most, *(counted(name)[0] for name in sensitive))
        own, together = (by_all, exact) if by_all > max(own, most) else (own, together)
    if own > most:
        together = [name for name in together if _plain(frame.get_column(name)).n_unique() > 1]
        # Those without any protection are dropped first, of these those that make records unique or have many values,
        # until nothing is left to warn of.
        order = sorted(names, key=counted, reverse=True) + sorted(sensitive, key=counted, reverse=True)

        def is_enough(dropped: int) -> bool:
            left, plain = order[dropped:], order[dropped : len(names)]
            few = len(left) == len(plain) or len(left) < 2 or counted(*left)[0] < SHOWN_IN * rows
            return few and not (plain and counted(*plain)[0])

        dropped = bisect_left(range(len(order)), True, key=is_enough)
        drop, left = order[:dropped], order[dropped:]
        yield Remark(
            code="near_unique_insensitive",
            column=None,
            found=Fact("own_together", records=own, columns=tuple(f"'{name}'" for name in together)),
            advice=Fact(
                "drop_together",
                columns=tuple(drop),
                drop=drop_columns(drop),
                records=counted(*left)[0] if left else 0,
            ),
        )


def insensitive_warnings(values: pl.DataFrame, sensitive: Sequence[pl.Series]) -> Iterator[Remark]:
    """Yield the warnings about insensitive columns that are published with a table of many rows.

    Parameters
    ----------
    values : polars.DataFrame
        The columns, in any order of the rows.
    sensitive : sequence of polars.Series
        The sensitive columns, in the same order.

    Yields
    ------
    Remark
        The warnings that `published_warnings` raises for these columns.
    """
    names, frame = values.columns, values.hstack(list(sensitive))
    # Here every row is a record.
    each = pl.repeat(1, values.height, dtype=pl.Int64, eager=True)
    yield from _identifying_warnings(frame, names, each, sensitive=[one.name for one in sensitive])
    yield from _names_and_lists(frame, names)
    for name in names:
        yield from _formulas(values.get_column(name), each)


def column_warnings(
    frame: pl.DataFrame,
    names: Sequence[str] = (),
    *,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    times: pl.Series | None = None,
    declared: Collection[str] = (),
) -> Iterator[Remark]:
    """Yield the warnings about columns of any table that is published: what finds records, names persons, or is a list.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    names : sequence of str
        The columns outside the protection.
    quasi_identifiers, sensitive : sequence of str
        The other published columns.
    times : polars.Series, optional
        Multiplicity of each row; 1 by default.
    declared : collection of str
        The columns whose cells are declared to be lists.
    """
    each = pl.repeat(1, frame.height, dtype=pl.Int64, eager=True) if times is None else times
    yield from _sensitive_warnings(frame, sensitive, each)
    yield from _identifying_warnings(frame, names, each, sensitive=sensitive)
    yield from _names_and_lists(
        frame, [*quasi_identifiers, *sensitive, *names], declared=declared, grouped=quasi_identifiers
    )


def _names_and_lists(
    frame: pl.DataFrame, names: Collection[str], *, declared: Collection[str] = (), grouped: Collection[str] = ()
) -> Iterator[Remark]:
    """Yield the warnings about published names of persons, and about cells that seem to be lists.

    Parameters
    ----------
    frame : polars.DataFrame
        The published table.
    names : collection of str
        The columns that may hold names or lists.
    declared : collection of str
        The columns whose cells are declared to be lists.
    grouped : collection of str
        The quasi-identifiers, whose lists cannot be declared.
    """
    for name in names:
        column = frame.get_column(name)
        if holds_names(column):
            yield Remark(
                code="published_names",
                column=name,
                found=Fact("published_names", column=name),
                advice=Fact("drop_names", drop=drop_columns([name])),
            )
        elif name not in declared:
            yield from list_warnings(column, grouped=name in grouped)


def list_warnings(column: pl.Series, *, grouped: bool = False) -> Iterator[Remark]:
    """Yield the warning that the cells of a column seem to be lists of values, which count as one value each.

    Parameters
    ----------
    column : polars.Series
        Its published sets and intervals are no lists.
    grouped : bool
        Whether it is a quasi-identifier, whose lists cannot be declared.
    """
    name, separator = column.name, find_separator(column)
    if separator is not None:
        words = quote_for_shell(assigned([name], separator))
        declared = Suggestion("lists", words, python=f"lists={ {name: separator}!r}")
        yield Remark(
            code="lists_in_cells",
            column=name,
            found=Fact("lists_in_groups" if grouped else "lists_in_cells", column=name, separator=repr(separator)),
            advice=Fact("split_lists") if grouped else Fact("declare_lists", asked=declared),
        )


def _pairs(
    names: Sequence[str], rows: int, counted: Callable[..., tuple[int, int]]
) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield pairs of columns that identify persons, with their unique records; each column is in one pair at most."""
    values = {name: counted(name)[1] for name in names} if len(names) > 1 else {}
    # A pair with too few combinations cannot have enough unique ones.
    many = [pair for pair in combinations(values, 2) if values[pair[0]] * values[pair[1]] >= OWN_VALUE * rows]
    many.sort(key=lambda pair: -values[pair[0]] * values[pair[1]])
    # The pair with the most unique records represents both of its columns.
    found = [(counted(*pair)[0], pair) for pair in many[:_PAIRS]]
    named: set[str] = set()
    for own, pair in sorted(found, key=lambda one: -one[0]):
        if own >= OWN_VALUE * rows and not named & {*pair}:
            named |= {*pair}
            yield own, pair


def _count_own(plain: pl.DataFrame, times: pl.Series | None) -> tuple[int, int]:
    """Count the records with unique values, and the distinct values.

    Missing values are not unique values, but count as one distinct value.
    """
    # Hashes of 64 bits are sorted, because that needs less memory than grouping the values.
    missing = plain.select(pl.all_horizontal(pl.all().is_null())).to_series()
    hashes = plain.hash_rows(0)
    empty = bool(missing.any())
    # A row with a multiplicity above 1 is not unique: it counts as two.
    twice = hashes.filter(~missing & (times > 1)) if times is not None and times.max() != 1 else None
    found = hashes.filter(~missing) if empty else hashes
    ordered = (found if twice is None else found.append(twice)).sort().to_numpy()
    new = np.ones(len(ordered) + 1, dtype=np.bool_)
    new[1:-1] = ordered[1:] != ordered[:-1]
    return int((new[:-1] & new[1:]).sum()), int(new[:-1].sum()) + empty


def _of_columns(code: str, shares: Mapping[str, float], **more: int) -> Fact:
    """Make a fact about several columns with their shares of the records."""
    return Fact(code, count=len(shares), columns=tuple(shares.items()), **more)


def _plain(column: pl.Series) -> pl.Series:
    """Convert a column so that its values can be compared."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return pl.Series(column.name, [None if value is None else repr(value) for value in column], dtype=pl.String)
    return column.fill_nan(None) if column.dtype.is_float() else column


def _large_sets(column: pl.Series, coarser: Callable[[str], Suggestion | Fact], each: pl.Series) -> Iterator[Remark]:
    """Yield the warning about sets that show many exact values."""
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return
    # A quick look at the labels rules out most columns.
    labels = column.dtype.categories if isinstance(column.dtype, pl.Enum) else column.cast(pl.String)
    if not labels.str.starts_with("{").any():
        return
    # Each distinct cell is parsed once.
    cells = pl.DataFrame({"cell": column.cast(pl.String), "rows": each}).group_by("cell").agg(pl.col("rows").sum())
    sets = cells.filter(pl.col("cell").str.starts_with("{"))
    if not sets.height:
        return
    members = _members(sets)
    listing = members.filter(pl.col("members").list.len() >= MANY_MEMBERS)
    share = int(listing["rows"].sum()) / int(each.sum())
    shown = members["members"].explode().n_unique()
    if share >= SHOWN_IN and shown > MANY_SHOWN:
        name = column.name
        yield Remark(
            code="large_sets",
            column=name,
            found=Fact("sets", share=share, members=MANY_MEMBERS, column=name, shown=shown),
            advice=Fact("coarsen_sets", coarser=coarser(name), smaller=Suggestion("largest_set", MANY_MEMBERS - 1)),
        )


def _members(sets: pl.DataFrame) -> pl.DataFrame:
    """Parse the members of published sets; sets of intervals or bracketed nodes are excluded."""
    # Sets without quotes are split by Polars, the others are parsed one by one.
    plain = sets.filter(pl.col("cell").str.contains(SET)).with_columns(
        pl.col("cell").str.strip_chars("{}").str.split(",").list.eval(pl.element().str.strip_chars()).alias("members")
    )
    quoted = sets.filter(~pl.col("cell").str.contains(SET))
    cells = map(read_cell, quoted["cell"])
    read = [[atom or "" for atom in cell.atoms] if cell.kind == "set" else [] for cell in cells]
    rest = quoted.with_columns(pl.Series("members", read, dtype=pl.List(pl.String)))
    return pl.concat([plain, rest.filter(pl.col("members").list.len() > 0)])


def _find_limiting(achieved: Mapping[str, Any], requested: Sequence[Mapping[str, Any]]) -> Fact | None:
    """Advise on the sensitive column that alone is at the limit of t; None if others are near it, too."""
    # Other distances than the equal one are not measured for each column.
    limits = [Fraction(str(one["t"])) for one in requested if one.get("model") == "t-closeness"]
    measured = sorted((achieved.get("t") or {}).items(), key=lambda one: -one[1])
    if not limits or len(measured) < 2:
        return None
    limit = float(min(limits))
    (name, most), (_other, next_most) = measured[:2]
    if not _AT_LIMIT * limit <= most <= limit or next_most > _FAR_FROM_LIMIT * limit:
        return None
    return Fact("limited_by", column=name, t=most, limit=limit, others=next_most)


def _dominant(frame: pl.DataFrame, names: Sequence[str], each: pl.Series, requirement: Requirement) -> Iterator[Remark]:
    """Yield the warning about sensitive columns most of whose records have one value that needs protection."""
    harmless, shares = requirement.harmless, {}
    like_table = any(model.name == "t-closeness" for model in requirement.models)
    for name in names:
        counts = pl.DataFrame({"value": _plain(frame.get_column(name)), "rows": each})
        counts = counts.group_by("value").agg(pl.col("rows").sum())
        protected = counts.filter(pl.col("value").is_not_null())
        if harmless:
            protected = protected.filter(~pl.col("value").cast(pl.String).is_in([*harmless]))
        most = int(protected["rows"].max() or 0)  # type: ignore[arg-type]
        if counts.height > 1 and most >= DOMINANT * max(int(each.sum()), 1):
            shares[name] = most / max(int(each.sum()), 1)
    if shares:
        (name, share), *others = shares.items()
        yield Remark(
            code="dominant_value",
            column=None if others else name,
            found=_of_columns("dominant_in_several", shares) if others else Fact("dominant", share=share, column=name),
            # Groups that are like the table already need no advice.
            advice=None
            if like_table
            else Fact("ask_for_t", asked=Suggestion("t", 0.2, python="shoal.TCloseness(0.2)")),
        )
