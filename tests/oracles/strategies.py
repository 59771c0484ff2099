"""Strategies for `hypothesis`: small tables, including skewed and degenerate tables, and requirements for them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from tests.oracles.oracles import predicate_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.models import PrivacyModel
    from shoal.models.ground_distance import GroundDistance

__all__ = [
    "CodeTable",
    "FrameTable",
    "code_tables",
    "dense",
    "frame_tables",
    "ground_distances",
    "group_counts",
    "hierarchy_rows",
    "models",
    "requirements",
]


@dataclass(frozen=True, kw_only=True)
class CodeTable:
    """A table of codes; in every column, all codes from 0 to the largest occur."""

    quasi_identifiers: NDArray[np.int32]
    """Codes by (row, column)."""
    sensitive: NDArray[np.int32]
    """One code per row."""

    @property
    def rows(self) -> list[tuple[int, ...]]:
        """Quasi-identifiers in the form that the oracles use."""
        return [tuple(row) for row in self.quasi_identifiers.tolist()]

    @property
    def values(self) -> list[int]:
        """Sensitive values in the form that the oracles use."""
        values: list[int] = self.sensitive.tolist()
        return values

    @property
    def largest_l(self) -> int:
        """Largest integer l for which the table is l-eligible."""
        return len(self.values) // max(Counter(self.values).values())


@dataclass(frozen=True, kw_only=True)
class FrameTable:
    """A table both as a frame of mixed types and as codes."""

    frame: pl.DataFrame
    """Columns q0, q1, ... and s, in any order."""
    quasi_identifiers: tuple[str, ...]
    """Names of the quasi-identifiers."""
    sensitive: str
    """Name of the sensitive attribute."""
    codes: CodeTable
    """Codes of the same rows: equal codes are equal values, in the same order of size where the type has one."""


def dense(codes: Sequence[int]) -> list[int]:
    """Renumber codes from 0 without gaps, in the same order."""
    number = {code: position for position, code in enumerate(sorted(set(codes)))}
    return [number[code] for code in codes]


# Strategies that are drawn from inside others are made once: hypothesis looks at every new one before its first draw,
# which takes far longer than the draw.


@cache
def _whole(least: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, most)


@cache
def _codes(n: int, domain: int, *, skewed: bool) -> st.SearchStrategy[list[int]]:
    """Return a strategy for `n` codes; if skewed, each is the smaller of two."""
    smaller = sorted(min(one, other) for one in range(domain) for other in range(domain))
    return st.lists(st.sampled_from(smaller) if skewed else _whole(0, domain - 1), min_size=n, max_size=n)


_SHAPES = st.sampled_from(["uniform", "uniform", "skewed", "constant", "different"])
_YES_OR_NO = st.booleans()


def _column(draw: st.DrawFn, n: int, domain: int) -> list[int]:
    """Draw one column: uniform, skewed towards 0, constant, or all different."""
    shape = draw(_SHAPES)
    if shape == "constant":
        return [0] * n
    if shape == "different" and domain >= n:
        return draw(st.permutations(range(n)))
    return dense(draw(_codes(n, domain, skewed=shape == "skewed")))


def _eligible(values: list[int], l: int, m: int) -> list[int]:
    """Change values as little as necessary so that none has more than one row in l."""
    most = len(values) // l
    m = max(m, -(-len(values) // most))
    counts = Counter(values)
    changed = list(values)
    for row, value in enumerate(values):
        if counts[value] > most:
            rarest = min(range(m), key=lambda other: (counts[other], other))
            counts[value] -= 1
            counts[rarest] += 1
            changed[row] = rarest
    return changed


@st.composite
def code_tables(
    draw: st.DrawFn,
    *,
    min_rows: int = 1,
    max_rows: int = 12,
    min_columns: int = 1,
    max_columns: int = 4,
    max_domain: int = 4,
    max_values: int = 5,
    l: int = 1,
) -> CodeTable:
    """Draw a table of codes.

    Parameters
    ----------
    min_rows, max_rows, min_columns, max_columns : int
        Limits on its size; `max_rows` is raised to `l` if it is smaller.
    max_domain, max_values : int
        Largest numbers of distinct values of a quasi-identifier and of the sensitive attribute (more sensitive values
        if `l` needs them).
    l : int, default 1
        The table is l-eligible.
    """
    n = draw(_whole(max(min_rows, l), max(max_rows, l)))
    d = draw(_whole(min_columns, max_columns))
    columns: list[list[int]] = []
    for _ in range(d):
        if columns and draw(_whole(0, 7)) == 0:
            columns.append(list(draw(st.sampled_from(columns))))
        else:
            columns.append(_column(draw, n, draw(_whole(1, max_domain))))
    m = draw(_whole(min(l, max_values), max_values))
    values = dense(_eligible(_column(draw, n, m), l, m))
    return CodeTable(
        quasi_identifiers=np.array(columns, dtype=np.int32).reshape(d, n).T.copy(),
        sensitive=np.array(values, dtype=np.int32),
    )


@cache
def _groups(m: int, max_count: int, max_groups: int) -> st.SearchStrategy[list[list[int]]]:
    group = _codes(m, max_count + 1, skewed=True).filter(any)
    return st.lists(group, min_size=1, max_size=max_groups)


@st.composite
def group_counts(
    draw: st.DrawFn,
    *,
    l: int,
    max_groups: int = 6,
    max_values: int = 6,
    max_count: int = 5,
) -> list[list[int]]:
    """Draw h(Q, v) of groups that are l-eligible together: the input of the three-phase algorithm."""
    m = draw(_whole(l, max(l, max_values)))
    groups = draw(_groups(m, max_count, max_groups))
    totals = [sum(column) for column in zip(*groups, strict=True)]
    # Rows of the rarest value join, one group after the other, until the whole is l-eligible.
    position = 0
    while l * max(totals) > sum(totals):
        rarest = totals.index(min(totals))
        groups[position % len(groups)][rarest] += 1
        totals[rarest] += 1
        position += 1
    return groups


_EPOCH = date(1999, 12, 30)


def _as_type(codes: Sequence[int | None], kind: str) -> pl.Series:
    """Convert codes to a column of a type whose natural order is that of the codes; None is a missing value."""
    import polars as pl

    largest = max((code for code in codes if code is not None), default=-1)
    values: dict[str, Callable[[int], Any]] = {
        "int": lambda code: 3 * code - 2,
        "float": lambda code: code / 4 - 0.5,
        "text": lambda code: f"v{code:03}",
        "category": lambda code: f"v{code:03}",
        "enum": lambda code: f"v{code:03}",
        "boolean": lambda code: code == 1,
        "date": lambda code: _EPOCH + timedelta(days=code),
        "decimal": lambda code: Decimal(code) / 10 - 1,
    }
    types: dict[str, Any] = {
        "int": pl.Int64(),
        "float": pl.Float64(),
        "text": pl.String(),
        "category": pl.Categorical(),
        "enum": pl.Enum([f"v{code:03}" for code in range(largest + 1)]),
        "boolean": pl.Boolean(),
        "date": pl.Date(),
        "decimal": pl.Decimal(10, 1),
    }
    return pl.Series([None if code is None else values[kind](code) for code in codes], dtype=types[kind])


_KINDS = ("int", "float", "text", "category", "enum", "date", "decimal", "boolean")
_ANY_KIND, _ANY_BUT_BOOLEAN = st.sampled_from(_KINDS), st.sampled_from(_KINDS[:-1])


@st.composite
def frame_tables(
    draw: st.DrawFn, tables: st.SearchStrategy[CodeTable] | None = None, *, missing: bool = True
) -> FrameTable:
    """Draw a frame of mixed types (numbers, text, categories, booleans, dates, decimals), some cells missing.

    Parameters
    ----------
    tables : strategy of CodeTable, optional
        The tables to convert; any `code_tables()` by default.
    missing : bool, default True
        If True, a quasi-identifier may have missing cells, as its largest code; the sensitive attribute has none.
    """
    import polars as pl

    codes = draw(code_tables() if tables is None else tables)
    names = tuple(f"q{column}" for column in range(codes.quasi_identifiers.shape[1]))
    columns: list[pl.Series] = []
    for name, column in zip(names, codes.quasi_identifiers.T.tolist(), strict=True):
        absent = max(column) if missing and max(column) > 0 and draw(_YES_OR_NO) else None
        present = [None if code == absent else code for code in column]
        fits = _ANY_KIND if max(code for code in present if code is not None) < 2 else _ANY_BUT_BOOLEAN
        columns.append(_as_type(present, draw(fits)).alias(name))
    kind = draw(_ANY_KIND if max(codes.values) < 2 else _ANY_BUT_BOOLEAN)
    columns.append(_as_type(codes.values, kind).alias("s"))
    return FrameTable(
        frame=pl.DataFrame(draw(st.permutations(columns))), quasi_identifiers=names, sensitive="s", codes=codes
    )


@st.composite
def hierarchy_rows(draw: st.DrawFn, values: Sequence[str], max_height: int = 4) -> list[list[str]]:
    """Draw a hierarchy: a row for each value, from the value to the root; some branches are short.

    Parameters
    ----------
    values : sequence of str
        Distinct values, except names such as "node 1/2" or "root".
    max_height : int
        Largest number of steps from a value to the root.
    """
    height = draw(_whole(1, max_height))
    rows = [[value] for value in draw(st.permutations(values))]
    nodes = list(range(len(rows)))
    for level in range(1, height + 1):
        merged = draw(_codes(max(len(rows), 4), 4, skewed=False))
        below, nodes = nodes, [0 if level == height else merged[node] for node in nodes]
        repeats = draw(_YES_OR_NO)
        for row, node in zip(rows, nodes, strict=True):
            alone = len({other for other, up in zip(below, nodes, strict=True) if up == node}) == 1
            name = row[-1] if repeats and alone else f"node {level}/{node}"
            row.append(name if level < height else "root")
    return rows


_DISTANCES = st.sampled_from(["equal", "ordered", "given order", "hierarchical", "points", "ways"])
_LENGTHS = st.sampled_from([Fraction(1, 3), 0.1, 0.25, 1, 2, Fraction(7, 3)])


@cache
def _places(m: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    return st.lists(st.tuples(_whole(0, 9), _whole(0, 9)), min_size=m, max_size=m, unique=True)


@st.composite
def ground_distances(draw: st.DrawFn, values: Sequence[Any]) -> GroundDistance:
    """Draw any kind of ground distance between values; it may be defined for other values as well."""
    from shoal.hierarchy.tree import Hierarchy
    from shoal.models.ground_distance import EqualDistance, OrderedDistance
    from shoal.models.hierarchical_distance import HierarchicalDistance
    from shoal.models.metric_distance import MetricDistance

    kind = draw(_DISTANCES)
    known = draw(st.permutations([*values, "nowhere"])) if draw(_YES_OR_NO) else list(values)
    if kind == "equal" or len(values) < 2:
        return EqualDistance()
    if kind == "ordered":
        return OrderedDistance()
    if kind == "given order":
        return OrderedDistance(known)
    m = len(known)
    if kind == "hierarchical":
        rows = [[str(value)] for value in known]
        for level in range(draw(_whole(0, 2))):
            nodes = dict.fromkeys(row[-1] for row in rows)
            parent = {node: f"level {level}, {draw(_whole(0, 2))}" for node in nodes}
            rows = [[*row, parent[row[-1]]] for row in rows]
        return HierarchicalDistance(Hierarchy.from_rows([[*row, "*"] for row in rows]))
    if kind == "points":
        places = draw(_places(m))
        return MetricDistance(known, [[abs(a - c) + abs(b - d) for c, d in places] for a, b in places])
    drawn = {(i, j): Fraction(str(draw(_LENGTHS))) for i in range(m) for j in range(i)}
    short = [[Fraction(0) if i == j else drawn[max(i, j), min(i, j)] for j in range(m)] for i in range(m)]
    for k in range(m):
        short = [[min(short[i][j], short[i][k] + short[k][j]) for j in range(m)] for i in range(m)]
    return MetricDistance(known, short)


def models(*, monotone: bool | None = None, numeric: bool = False) -> st.SearchStrategy[PrivacyModel]:
    """Return a strategy for one privacy model with small parameters.

    Parameters
    ----------
    monotone : bool, optional
        True for monotone models only, False for other models only.
    numeric : bool, default False
        If True, include models that need sensitive numbers.
    """
    return _models(monotone, numeric)


@cache
def _models(monotone: bool | None, numeric: bool) -> st.SearchStrategy[PrivacyModel]:
    from shoal.models import (
        AlphaKAnonymity,
        BetaLikeness,
        DeltaDisclosure,
        KAnonymity,
        KEAnonymity,
        LDiversity,
        MUniqueness,
        TCloseness,
    )

    small = st.integers(1, 4)
    share = st.sampled_from([Fraction(1, 4), 0.3, Fraction(1, 3), 0.5, Fraction(2, 3), 1])
    positive = st.sampled_from([0.1, Fraction(1, 3), 0.5, 1, 2, Fraction(7, 2)])
    monotone_ones: list[st.SearchStrategy[Any]] = [
        st.builds(KAnonymity, small),
        st.builds(LDiversity, small),
        st.builds(LDiversity, small, variant=st.just("distinct")),
        st.builds(LDiversity, st.sampled_from([1, 1.5, 2, Fraction(5, 2), 3]), variant=st.just("entropy")),
        st.builds(LDiversity, small, variant=st.just("recursive"), c=positive),
        st.builds(AlphaKAnonymity, share, small),
        st.builds(BetaLikeness, positive, variant=st.sampled_from(["basic", "enhanced"])),
        st.builds(DeltaDisclosure, positive),
        st.builds(TCloseness, st.sampled_from([0, 0.2, Fraction(1, 3), 0.5, 1])),
    ]
    if numeric:
        monotone_ones.append(st.builds(TCloseness, share, distance=st.just("ordered")))
        monotone_ones.append(st.builds(KEAnonymity, small, st.integers(0, 4)))
    others: list[st.SearchStrategy[Any]] = [st.builds(MUniqueness, small)]
    if monotone is None:
        return st.one_of(*monotone_ones, *others)
    return st.one_of(*(monotone_ones if monotone else others))


@cache
def _some_models(most: int, monotone: bool | None) -> st.SearchStrategy[list[PrivacyModel]]:
    return st.lists(models(monotone=monotone), min_size=1, max_size=most)


@st.composite
def requirements(
    draw: st.DrawFn, table: CodeTable, *, max_models: int = 3, monotone: bool | None = True
) -> list[PrivacyModel]:
    """Draw a conjunction of models that the whole table satisfies as one group; at least k-anonymity with k = 1."""
    from shoal.models import KAnonymity

    drawn = draw(_some_models(max_models, monotone))
    met = [model for model in drawn if predicate_of(model, table.values)(table.values)]
    return met or [KAnonymity(1)]
