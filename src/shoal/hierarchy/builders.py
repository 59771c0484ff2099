"""Hierarchies made from the values of a column: of intervals, prefixes, dates, frequencies and co-occurrence.

Each takes the column (a Polars series or a sequence), leaves missing values out, and depends on nothing of the order
of its rows. What comes out of quantiles, frequencies and co-occurrence tells something of the table that it was made
from, as every release that uses it does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal._core.validation import Finite, Integer, RationalIn, exact_fraction, validate
from shoal.errors import DataError, ParameterError
from shoal.hierarchy.dates import dates_of
from shoal.hierarchy.distinct_values import encoded, number_text, numbers_of
from shoal.hierarchy.numeric import bin_names, checked_cuts, step_cuts
from shoal.hierarchy.postal import codes_as_text
from shoal.hierarchy.tree import Hierarchy
from shoal.table.text import dictionary_text, quoted

if TYPE_CHECKING:
    from numbers import Real

    from numpy.typing import NDArray

    from shoal.table import Column

__all__ = [
    "automatic_hierarchy",
    "co_occurrence_hierarchy",
    "cut_hierarchy",
    "date_hierarchy",
    "frequency_hierarchy",
    "interval_hierarchy",
    "prefix_hierarchy",
    "quantile_hierarchy",
]

_ROOT = "*"
_NAMED_MEMBERS = 32
"""A node of more values than this has a number for a name."""
_LARGEST_MATRIX = 1024
"""Nodes beyond this number are paired by frequency first: all pairs of them would take long."""

Values = pl.Series | Sequence[Any]


def interval_hierarchy(values: Values, width: Real | float, *, start: Real | float = 0, factor: int = 2) -> Hierarchy:
    """Return half-open intervals of a width, on the next level of `factor` times that width, and so on to the root.

    Parameters
    ----------
    values : series or sequence of number
    width : number
        Of the intervals of the first level, one of which begins at `start`.
    start : number
        Where an interval of every level begins.
    factor : int
        How many intervals make one of the next level.

    Examples
    --------
    >>> interval_hierarchy([3, 7, 12, 19], 5).rows()
    [('3', '[0, 5)', '[0, 10)', '*'), ('7', '[5, 10)', '[0, 10)', '*'), ('12', '[10, 15)', '[10, 20)', '*'), \
('19', '[15, 20)', '[10, 20)', '*')]
    """
    validate(
        "interval_hierarchy",
        {"width": width, "start": start, "factor": factor},
        {"width": RationalIn(low=Fraction(0), low_included=False), "start": Finite(), "factor": Integer(low=2)},
    )
    column = _column("interval_hierarchy", values)
    numbers = numbers_of("interval_hierarchy", column)
    origin, step = exact_fraction(start), exact_fraction(width)
    levels: list[list[str]] = []
    while True:
        lows = [origin + (number - origin) // step * step for number in numbers]
        # Left and right of the start the intervals never become one.
        if len(set(lows)) == 1 or set(lows) == {origin - step, origin}:
            return _tree(column, levels)
        levels.append([f"[{number_text(low)}, {number_text(low + step)})" for low in lows])
        step *= factor


def cut_hierarchy(values: Values, *levels: Sequence[Real | float]) -> Hierarchy:
    """Return the intervals between cuts, level by level; the cuts of a level are among those of the level before.

    Examples
    --------
    >>> cut_hierarchy([10, 20, 40, 70], [18, 30, 65], [30]).rows()[0]
    ('10', '<18', '<30', '*')
    """
    if not levels:
        raise ParameterError.refusing("cut_hierarchy", "levels", "the cuts of one level or more")
    exact = [[exact_fraction(cut) for cut in checked_cuts("cut_hierarchy", cuts)] for cuts in levels]
    for number, (fine, coarse) in enumerate(pairwise(exact), start=2):
        if not set(coarse) < set(fine):
            raise ParameterError(
                f"The cuts of level {number} of cut_hierarchy must be some of those of the level before, and fewer."
            )
    column = _column("cut_hierarchy", values)
    return _tree(column, _cut_levels(numbers_of("cut_hierarchy", column), exact))


def quantile_hierarchy(values: Values, bins: int = 16) -> Hierarchy:
    """Return intervals of about equally many records, joined in pairs from level to level.

    Examples
    --------
    >>> quantile_hierarchy([1, 2, 3, 4], 4).rows()[1:3]
    [('2', '[2, 3)', '<3', '*'), ('3', '[3, 4)', '>=3', '*')]
    """
    validate("quantile_hierarchy", {"bins": bins}, {"bins": Integer(low=2)})
    column = _column("quantile_hierarchy", values)
    numbers = numbers_of("quantile_hierarchy", column)
    cuts = step_cuts(column, numbers, bins)
    levels = []
    while cuts:
        levels.append(cuts)
        cuts = cuts[1::2]
    return _tree(column, _cut_levels(numbers, levels))


def _cut_levels(numbers: Sequence[Fraction], levels: Sequence[list[Fraction]]) -> list[list[str]]:
    named = []
    for cuts in levels:
        names = bin_names(cuts)
        named.append([names[bisect_right(cuts, number)] for number in numbers])
    return named


def prefix_hierarchy(values: Values) -> Hierarchy:
    """Return codes that lose one character after the other from the right, each replaced by a star.

    Examples
    --------
    >>> prefix_hierarchy(["021", "023", "1"]).rows()
    [('021', '02*', '0**', '*'), ('023', '02*', '0**', '*'), ('1', '1**', '1**', '*')]
    """
    column = _column("prefix_hierarchy", values)
    texts = codes_as_text("prefix_hierarchy", column, None).to_list()
    longest = max(map(len, texts))
    levels = [[text[:kept].ljust(kept, "*") for text in texts] for kept in range(longest - 1, 0, -1)]
    return _tree(column, [[text.ljust(longest, "*") for text in level] for level in levels])


def date_hierarchy(values: Values, *, format: str | None = None) -> Hierarchy:  # noqa: A002 - as DatePart
    """Return the months, quarters and years of dates.

    Examples
    --------
    >>> date_hierarchy(["2020-01-31", "2020-02-01"]).rows()[1]
    ('2020-02-01', '2020-02', '2020-Q1', '2020', '*')
    """
    column = _column("date_hierarchy", values)
    dates = dates_of("date_hierarchy", column, format)
    years, parts = dates.dt.year(), zip(dates.dt.year(), dates.dt.month(), dates.dt.quarter(), strict=True)
    months, quarters = zip(*((f"{y:04}-{m:02}", f"{y:04}-Q{q}") for y, m, q in parts), strict=True)
    return _tree(column, [list(months), list(quarters), [f"{year:04}" for year in years]])


def frequency_hierarchy(values: Values) -> Hierarchy:
    """Return nodes that are joined in pairs from level to level, the rarest with the next rarest.

    Rare values, which no group can keep, become coarse together, and no node has far more records than its neighbours.

    Examples
    --------
    >>> frequency_hierarchy(["a"] * 3 + ["b"] * 5 + ["c", "d"]).rows()[0]
    ('a', '{a, b}', '*')
    """
    column = _column("frequency_hierarchy", values)
    return _joined(column, _counts(column)[:, None], _by_frequency)


def co_occurrence_hierarchy(values: Values, sensitive: Values) -> Hierarchy:
    """Return nodes that are joined in pairs from level to level, those first that say the same of the sensitive one.

    Joining two nodes loses what the attribute says of the sensitive one: the records in both, times the Jensen-Shannon
    divergence of their sensitive distributions. The cheapest pairs of a level are joined, one after the other.

    References
    ----------
    N. Slonim and N. Tishby, "Agglomerative information bottleneck", NIPS 1999.

    Examples
    --------
    >>> co_occurrence_hierarchy(["a", "b", "c", "d"] * 2, ["x", "y", "x", "y", "x", "y", "x", "y"]).rows()[0]
    ('a', '{a, c}', '*')
    """
    series = _series(values)
    other = _series(sensitive).alias("sensitive")
    if len(other) != len(series):
        raise ParameterError(f"The 'sensitive' parameter must have as many values ({len(series)}). Got {len(other)}.")
    column = _column("co_occurrence_hierarchy", series)
    said = encoded(other)
    if said is None:
        raise DataError("co_occurrence_hierarchy needs sensitive values: all are missing.")
    present = column.codes < column.size - column.has_missing
    keys = column.codes[present].astype(np.int64) * said.size + said.codes[present]
    size = column.size - column.has_missing
    counts = np.bincount(keys, minlength=size * said.size).reshape(size, said.size)
    return _joined(column, counts, _by_distribution)


def automatic_hierarchy(values: Values, sensitive: Values | None = None) -> Hierarchy:
    """Return a hierarchy as fits the values: quantiles of numbers, parts of dates, else co-occurrence or frequency.

    Parameters
    ----------
    values : series or sequence
    sensitive : series or sequence, optional
        The sensitive attribute, row by row, for values that are neither numbers nor dates.
    """
    column = _column("automatic_hierarchy", values)
    if column.numbers is not None:
        return quantile_hierarchy(values)
    if column.ordered and isinstance(column.dictionary.dtype, pl.Date | pl.Datetime | pl.String):
        return date_hierarchy(values)
    return frequency_hierarchy(values) if sensitive is None else co_occurrence_hierarchy(values, sensitive)


def _series(values: Values) -> pl.Series:
    return values if isinstance(values, pl.Series) else pl.Series("values", list(values))


def _column(owner: str, values: Values) -> Column:
    column = encoded(_series(values))
    if column is None:
        raise DataError(f"{owner} needs a column with a value: this one has none.")
    return column


def _texts(column: Column) -> list[str]:
    return dictionary_text(column.dictionary.drop_nulls()).to_list()


def _tree(column: Column, levels: Sequence[Sequence[str]]) -> Hierarchy:
    """Return the tree of the values, the named levels above them and a root, which is named like no value."""
    texts = _texts(column)
    root = _ROOT
    while root in texts:
        root += _ROOT
    return Hierarchy.from_rows(zip(texts, *levels, [root] * len(texts), strict=True))


def _counts(column: Column) -> NDArray[np.int64]:
    return np.bincount(column.codes, minlength=column.size)[: column.size - column.has_missing].astype(np.int64)


Pairing = Callable[["NDArray[np.int64]"], list[tuple[int, ...]]]
"""Says which nodes are joined, given the counts of each."""


def _joined(column: Column, counts: NDArray[np.int64], pairing: Pairing) -> Hierarchy:
    """Return the tree of nodes that are joined level by level, until two are left."""
    texts, quotes = _texts(column), quoted(dictionary_text(column.dictionary.drop_nulls())).to_list()
    taken = set(texts)
    members: list[list[int]] = [[code] for code in range(len(texts))]
    levels: list[list[str]] = []
    while len(members) > 2:
        joined = pairing(counts) if len(members) <= _LARGEST_MATRIX else _by_frequency(counts)
        joined.sort(key=lambda nodes: min(min(members[node]) for node in nodes))
        members = [sorted(code for node in nodes for code in members[node]) for nodes in joined]
        counts = np.array([counts[list(nodes)].sum(axis=0) for nodes in joined])
        names = [""] * len(texts)
        for number, codes in enumerate(members, start=1):
            if len(codes) == 1:
                name = texts[codes[0]]
            elif len(codes) <= _NAMED_MEMBERS:
                name = "{" + ", ".join(quotes[code] for code in codes) + "}"
            else:
                name = f"level {len(levels) + 1}, node {number}"
            while len(codes) > 1 and name in taken:  # of a value that reads like a node
                name = f"node {name}"
            for code in codes:
                names[code] = name
        levels.append(names)
    return _tree(column, levels)


def _by_frequency(counts: NDArray[np.int64]) -> list[tuple[int, ...]]:
    order = np.argsort(counts.sum(axis=1), kind="stable").tolist()
    return [tuple(order[place : place + 2]) for place in range(0, len(order), 2)]


def _by_distribution(counts: NDArray[np.int64]) -> list[tuple[int, ...]]:
    """Return the cheapest disjoint pairs, taken one after the other; one node stays alone where their number is odd."""
    first, second = np.triu_indices(len(counts), 1)
    own = _information(counts)
    joined = np.concatenate([_information(counts[node] + counts[node + 1 :]) for node in range(len(counts) - 1)])
    costs = np.round(joined - own[first] - own[second], 9)  # what rounding decides, the order of the values decides
    free = np.ones(len(counts), dtype=np.bool_)
    pairs: list[tuple[int, ...]] = []
    for at in np.argsort(costs, kind="stable").tolist():
        low, high = int(first[at]), int(second[at])
        if free[low] and free[high]:
            free[low] = free[high] = False
            pairs.append((low, high))
            if 2 * len(pairs) + 1 >= len(counts):
                break
    return pairs + [(int(node),) for node in np.flatnonzero(free)]


def _information(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entropy of each row of counts, in bits, times its records."""
    total = counts.sum(axis=1)
    logs = np.log2(np.maximum(counts, 1))
    return np.asarray(total * np.log2(np.maximum(total, 1)) - (counts * logs).sum(axis=1))
