"""Warnings about a published table: what they find depends on its cells and on the request alone."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal._messages import Part, Phrase, Suggestion
from shoal._words import number, percent
from shoal.metrics import published_star_counts
from shoal.verification.cells import SET, read_cell
from shoal.warnings.catalogue import (
    DOMINANT,
    LEAST_GROUP,
    MANY_MEMBERS,
    MANY_SHOWN,
    MOSTLY,
    OWN_VALUE,
    SHOWN_IN,
    Remark,
)
from shoal.warnings.original import original_warnings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.table import Schema

__all__ = ["insensitive_warnings", "published_warnings"]

_PAIRS = 40
"""Pairs of insensitive columns that are looked at, those with the most combinations of values first."""


def published_warnings(
    frame: pl.DataFrame,
    schema: Schema,
    *,
    achieved: Mapping[str, Any],
    star: str,
    coarse: Collection[str],
    coarser: Callable[[str], Part],
    times: NDArray[np.int64] | None = None,
) -> Iterator[Remark]:
    """Yield the warnings about a published table.

    Parameters
    ----------
    frame : polars.DataFrame
        The published table.
    schema : Schema
        The roles of its columns.
    achieved : mapping
        What was measured on the published cells: "achieved" of a certificate.
    star : str
        The symbol of a suppressed cell.
    coarse : collection of str
        Quasi-identifiers that were coarsened: sets of them show no exact values.
    coarser : callable
        Given a quasi-identifier, says how to make it coarser: part of the advice, which readers are not told.
    times : int64 array, optional
        How often each row stands in the table, where that is not once.

    Yields
    ------
    Remark
        No cell is in it, and but for its advice nothing that the request and the published table do not tell.
    """
    each = pl.repeat(1, frame.height, dtype=pl.Int64, eager=True) if times is None else pl.Series(times)
    rows = int(each.sum())
    yield from _small_groups(frame, schema, achieved, each)
    yield from _as_they_came(frame, schema, each)
    stars, _ = published_star_counts(frame, schema.quasi_identifiers, star, times)
    for name in schema.quasi_identifiers:
        if stars[name] >= MOSTLY * rows:
            yield Remark(
                code="mostly_stars",
                column=name,
                found=f"{percent(stars[name] / rows)} of the records show a star for '{name}'.",
                advice=Phrase("Make it coarser still, or drop it (", _dropped(name), ").")
                if name in coarse
                else Phrase("Make it coarser first, and more of it can stay: ", coarser(name), "."),
            )
        elif name not in coarse:
            yield from _large_sets(frame.get_column(name), coarser, each)
    for name in schema.sensitive:
        yield from _dominant(frame.get_column(name), each)


def _small_groups(
    frame: pl.DataFrame, schema: Schema, achieved: Mapping[str, Any], each: pl.Series
) -> Iterator[Remark]:
    if schema.quasi_identifiers and achieved["k"] < LEAST_GROUP:
        size = "1 record" if achieved["k"] == 1 else f"{number(achieved['k'])} records"
        yield Remark(
            code="small_k",
            column=None,
            found=f"The smallest group has {size}. Tables about people are hardly ever published with groups of fewer "
            f"than {LEAST_GROUP}.",
            advice=Phrase("Ask for more as well: ", Suggestion("k", 5, python="shoal.KAnonymity(5)"), "."),
        )
    if (achieved.get("l") or {}).get("distinct") == 1:
        for name, share in _known(frame, schema, each).items():
            yield Remark(
                code="small_l",
                column=name,
                found=f"{percent(share)} of the records are in groups in which all share one value of '{name}': it is "
                "known of everybody there.",
                advice=Phrase("Ask for ", Suggestion("l", 2, python="shoal.LDiversity(2)"), " or more as well."),
            )


def _known(frame: pl.DataFrame, schema: Schema, each: pl.Series) -> dict[str, float]:
    """Return for each sensitive column the share of the records in groups that share a value, where there are some."""
    columns = [*schema.quasi_identifiers, *schema.sensitive]
    cells = pl.DataFrame([_plain(frame.get_column(name)).alias(str(at)) for at, name in enumerate(columns)])
    groups, told = cells.columns[: len(schema.quasi_identifiers)], cells.columns[len(schema.quasi_identifiers) :]
    measured = [pl.col("rows").sum(), *(pl.col(one).n_unique() for one in told)]
    cells = cells.with_columns(each.alias("rows"))
    counted = cells.group_by(groups).agg(measured) if groups else cells.select(measured)
    shares = {
        name: int(counted.filter(pl.col(one) == 1)["rows"].sum()) / int(each.sum())
        for name, one in zip(schema.sensitive, told, strict=True)
    }
    return {name: share for name, share in shares.items() if share}


def _as_they_came(frame: pl.DataFrame, schema: Schema, each: pl.Series) -> Iterator[Remark]:
    """Yield what columns give away that are published as they came."""
    for name in schema.sensitive:
        share = _own(frame, [name], each)
        if share >= OWN_VALUE:
            yield Remark(
                code="near_unique_sensitive",
                column=name,
                found=f"{percent(share)} of the records have a value of '{name}' of their own, and it is published as "
                "it is: whoever knows it of a person finds the record.",
                advice=Phrase(
                    "Round it in the input, or take it from the sensitive columns and drop it (", _dropped(name), ")."
                ),
            )
    yield from _beside(
        schema.insensitive,
        int(each.sum()),
        own=lambda names: _own(frame, names, each),
        distinct=lambda name: _plain(frame.get_column(name)).n_unique(),
    )


def insensitive_warnings(values: pl.DataFrame) -> Iterator[Remark]:
    """Yield the warnings about insensitive columns that are published beside a table, of many rows.

    Parameters
    ----------
    values : polars.DataFrame
        The columns, in any order of the rows.

    Yields
    ------
    Remark
        Those that `published_warnings` has of them, where they are in its table.
    """

    @cache
    def counted(names: tuple[str, ...]) -> tuple[int, int]:
        """Return how many rows have values of their own, and how many different values there are."""
        # Numbers of 64 bits take less memory to sort than values do to group.
        plain = pl.DataFrame([_plain(values.get_column(name)).alias(str(at)) for at, name in enumerate(names)])
        missing = plain.select(pl.all_horizontal(pl.all().is_null())).to_series()
        hashes = plain.hash_rows(0)
        empty = int(missing.sum())
        found = (hashes.filter(~missing) if empty else hashes).sort().to_numpy()
        new = np.ones(len(found) + 1, dtype=np.bool_)
        new[1:-1] = found[1:] != found[:-1]
        return int((new[:-1] & new[1:]).sum()), int(new[:-1].sum()) + bool(empty)

    rows = values.height
    yield from _beside(
        values.columns,
        rows,
        own=lambda names: counted(tuple(names))[0] / max(rows, 1),
        distinct=lambda name: counted((name,))[1],
    )

    def repeated(column: pl.Series) -> int:
        present = rows - column.null_count()
        return present - counted((column.name,))[1] + (present < rows)

    yield from original_warnings({name: values.get_column(name) for name in values.columns}, {}, repeated)


def _beside(
    names: Sequence[str], rows: int, *, own: Callable[[Sequence[str]], float], distinct: Callable[[str], int]
) -> Iterator[Remark]:
    """Yield what insensitive columns give away.

    Parameters
    ----------
    names : sequence of str
    rows : int
    own : callable
        Given one column or two, returns the share of the rows with values of their own.
    distinct : callable
        Given a column, returns how many different values it has.
    """
    told = {name: own([name]) for name in names}
    for name, share in told.items():
        if share >= OWN_VALUE:
            yield Remark(
                code="near_unique_insensitive",
                column=name,
                found=f"{percent(share)} of the records have a value of '{name}' of their own, and it is published as "
                "it is: whoever knows it of a person finds the record.",
                advice=Phrase("Drop it (", _dropped(name), "), or make it a quasi-identifier."),
            )
    yield from _pairs([name for name, share in told.items() if share < OWN_VALUE], rows, own, distinct)


def _dropped(name: str) -> Suggestion:
    return Suggestion("direct_identifiers", shlex.quote(name), python=f"direct_identifiers=[{name!r}]")


def _pairs(
    names: Sequence[str], rows: int, own: Callable[[Sequence[str]], float], distinct: Callable[[str], int]
) -> Iterator[Remark]:
    """Yield columns that find people together with another one, each once, with the one with which it tells most."""
    values = {name: distinct(name) for name in names} if len(names) > 1 else {}
    many = [pair for pair in combinations(values, 2) if values[pair[0]] * values[pair[1]] >= OWN_VALUE * rows]
    many.sort(key=lambda pair: -values[pair[0]] * values[pair[1]])
    found = [(own(pair), pair) for pair in many[:_PAIRS]]
    named: set[str] = set()
    for share, (one, other) in sorted(found, key=lambda told: -told[0]):
        if share < OWN_VALUE or {one, other} & named:
            continue
        named |= {one, other}
        yield Remark(
            code="near_unique_insensitive",
            column=one,
            found=f"{percent(share)} of the records have a pair of values of '{one}' and '{other}' of their own, and "
            "both are published as they are: whoever knows them of a person finds the record.",
            advice="Make one of them a quasi-identifier, or drop it.",
        )


def _own(frame: pl.DataFrame, names: Iterable[str], each: pl.Series) -> float:
    """Return the share of the records whose values of some columns nobody shares; a missing one is nobody's own."""
    cells = pl.DataFrame([_plain(frame.get_column(name)).alias(str(at)) for at, name in enumerate(names)])
    present = ~cells.select(pl.all_horizontal(pl.all().is_null())).to_series()
    return int((cells.is_unique() & present & (each == 1)).sum()) / max(int(each.sum()), 1)


def _plain(column: pl.Series) -> pl.Series:
    """Return a column whose values can be compared."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return pl.Series(column.name, [None if value is None else repr(value) for value in column], dtype=pl.String)
    return column.fill_nan(None) if column.dtype.is_float() else column


def _large_sets(column: pl.Series, coarser: Callable[[str], Part], each: pl.Series) -> Iterator[Remark]:
    """Yield whether a quasi-identifier shows sets of many exact values."""
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return
    labels = column.dtype.categories if isinstance(column.dtype, pl.Enum) else column.cast(pl.String)
    if not labels.str.starts_with("{").any():
        return
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
            found=f"{percent(share)} of the records show a set of {MANY_MEMBERS} or more exact values of '{name}', "
            f"{number(shown)} different ones in all sets: whoever knows somebody's sees whether it is there.",
            advice=Phrase(
                *("Make it coarser first: ", coarser(name), "; or allow smaller sets only: "),
                *(Suggestion("largest_set", MANY_MEMBERS - 1), "."),
            ),
        )


def _members(sets: pl.DataFrame) -> pl.DataFrame:
    """Return the members of published sets; those whose members are intervals or nodes in brackets are none."""
    plain = sets.filter(pl.col("cell").str.contains(SET)).with_columns(
        pl.col("cell").str.strip_chars("{}").str.split(",").list.eval(pl.element().str.strip_chars()).alias("members")
    )
    quoted = sets.filter(~pl.col("cell").str.contains(SET))
    cells = map(read_cell, quoted["cell"])
    read = [[atom or "" for atom in cell.atoms] if cell.kind == "set" else [] for cell in cells]
    rest = quoted.with_columns(pl.Series("members", read, dtype=pl.List(pl.String)))
    return pl.concat([plain, rest.filter(pl.col("members").list.len() > 0)])


def _dominant(column: pl.Series, each: pl.Series) -> Iterator[Remark]:
    counts = pl.DataFrame({"value": _plain(column), "rows": each}).group_by("value").agg(pl.col("rows").sum())
    most = int(counts.filter(pl.col("value").is_not_null())["rows"].max() or 0)  # type: ignore[arg-type]
    share = most / max(int(each.sum()), 1)
    if share >= DOMINANT and counts.height > 1:
        yield Remark(
            code="dominant_value",
            column=column.name,
            found=f"{percent(share)} of the records have the same value of '{column.name}': who guesses it is nearly "
            "always right, and what the others have stands out.",
            advice=Phrase(
                "Ask for groups that are like the table: ",
                Suggestion("t", 0.2, python="shoal.TCloseness(0.2)"),
                "; or group the rare values before.",
            ),
        )
