"""Build hierarchies from the values of a column: intervals, prefixes, dates, frequencies and co-occurrence.

Each function takes the column (a Polars series or a sequence) and ignores missing values and the order of the rows.
Hierarchies based on quantiles, frequencies or co-occurrence disclose properties of the table, as does every release
that uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.validation import Finite, Integer, RationalIn, exact_fraction, validate
from shoal.errors import DataError, ParameterError
from shoal.hierarchy.dates import label_bands, parse_dates
from shoal.hierarchy.distinct_values import encode_values, number_text, require_numbers
from shoal.hierarchy.numeric import labels_of_bins, quantile_cuts, validate_cuts
from shoal.hierarchy.postal import codes_as_text
from shoal.hierarchy.tree import Hierarchy
from shoal.io.forms import read_column
from shoal.table import Column
from shoal.table.counts import rows_by_code
from shoal.table.text import dictionary_text, quote_text

_ROOT = "*"
_NAMED_MEMBERS = 32
"""Largest number of values that are listed in the name of a node; larger nodes are numbered."""
_LARGEST_MATRIX = 1024
"""Largest number of nodes whose pairs are all compared; if there are more, nodes are paired by frequency, because
comparing all pairs would take long."""

Values = pl.Series | Sequence[Any]


def interval_hierarchy(values: Values, width: Real | float, *, start: Real | float = 0, factor: int = 2) -> Hierarchy:
    """Build half-open intervals of equal width; each level multiplies the width by `factor`, up to the root.

    Parameters
    ----------
    values : series or sequence of number
        The column.
    width : number
        Width of the intervals on the first level.
    start : number
        A point at which an interval of every level begins.
    factor : int
        Number of intervals that are merged into one on the next level.

    Returns
    -------
    Hierarchy

    Examples
    --------
    >>> interval_hierarchy([3, 7, 12, 19], 5).rows()
    [('3', '[0, 5)', '[0, 10)', '*'), ('7', '[5, 10)', '[0, 10)', '*'), ('12', '[10, 15)', '[10, 20)', '*'), ('19',
    '[15, 20)', '[10, 20)', '*')]
    """
    validate(
        "interval_hierarchy",
        {"width": width, "start": start, "factor": factor},
        {"width": RationalIn(low=Fraction(0), low_included=False), "start": Finite(), "factor": Integer(low=2)},
    )
    column = _column("interval_hierarchy", values, read=True)
    numbers = require_numbers("interval_hierarchy", column)
    origin, step = exact_fraction(start), exact_fraction(width)
    levels: list[list[str]] = []
    while True:
        # The lower end of each number's interval, by exact floor division.
        lows = [origin + (number - origin) // step * step for number in numbers]
        # Intervals on both sides of the start are never merged, so two of them end the loop as well.
        if len(set(lows)) == 1 or set(lows) == {origin - step, origin}:
            return _tree(column, levels)
        levels.append([f"[{number_text(low)}, {number_text(low + step)})" for low in lows])
        step *= factor


def cut_hierarchy(values: Values, *levels: Sequence[Real | float]) -> Hierarchy:
    """Build the intervals between cuts, level by level; the cuts of each level are a subset of those below.

    Parameters
    ----------
    values : series or sequence of number
        The column.
    *levels : sequence of number
        Ascending cuts of each level.

    Returns
    -------
    Hierarchy

    Examples
    --------
    >>> cut_hierarchy([10, 20, 40, 70], [18, 30, 65], [30]).rows()[0]
    ('10', '<18', '<30', '*')
    """
    if not levels:
        raise ParameterError.refusing("cut_hierarchy", "levels", "the cuts of one level or more")
    exact = [[exact_fraction(cut) for cut in validate_cuts("cut_hierarchy", cuts)] for cuts in levels]
    # A level with the same cuts as the level below would add nothing.
    for number, (fine, coarse) in enumerate(pairwise(exact), start=2):
        if not set(coarse) < set(fine):
            raise ParameterError(
                f"The cuts of level {number} of cut_hierarchy must be a proper subset of the cuts of the level before."
            )
    column = _column("cut_hierarchy", values, read=True)
    numbers = require_numbers("cut_hierarchy", column)
    return _tree(column, [labels_of_bins(numbers, cuts) for cuts in exact])


def quantile_hierarchy(values: Values, bins: int = 16) -> Hierarchy:
    """Build intervals with about equally many records, and merge pairs of neighbours from level to level.

    Parameters
    ----------
    values : series or sequence of number
        The column.
    bins : int
        Number of intervals on the first level.

    Returns
    -------
    Hierarchy

    Examples
    --------
    >>> quantile_hierarchy([1, 2, 3, 4], 4).rows()[1:3]
    [('2', '[2, 3)', '<3', '*'), ('3', '[3, 4)', '>=3', '*')]
    """
    validate("quantile_hierarchy", {"bins": bins}, {"bins": Integer(low=2)})
    column = _column("quantile_hierarchy", values, read=True)
    numbers = require_numbers("quantile_hierarchy", column)
    cuts = quantile_cuts(column, numbers, bins)
    levels = []
    # Dropping every other cut merges neighbours in pairs.
    while cuts:
        levels.append(cuts)
        cuts = cuts[1::2]
    return _tree(column, [labels_of_bins(numbers, cuts) for cuts in levels])


def prefix_hierarchy(values: Values) -> Hierarchy:
    """Replace the characters of codes by stars, one more from the right on each level.

    Examples
    --------
    >>> prefix_hierarchy(["021", "023", "1"]).rows()
    [('021', '02*', '0**', '*'), ('023', '02*', '0**', '*'), ('1', '1**', '1**', '*')]
    """
    column = _column("prefix_hierarchy", values)
    texts = codes_as_text("prefix_hierarchy", column, None).to_list()
    longest = max(map(len, texts))
    # Short codes are padded with stars, so that all names have the same length.
    levels = [[text[:kept].ljust(kept, "*") for text in texts] for kept in range(longest - 1, 0, -1)]
    return _tree(column, [[text.ljust(longest, "*") for text in level] for level in levels])


def date_hierarchy(values: Values, *, format: str | None = None) -> Hierarchy:  # noqa: A002 - as DatePart
    """Generalize dates to months, quarters and years, and to bands of 5 and 10 years if they merge years.

    Parameters
    ----------
    values : series or sequence
        Dates, or text.
    format : str, optional
        Format of text as in `strptime`; detected by default.

    Returns
    -------
    Hierarchy

    Examples
    --------
    >>> date_hierarchy(["2020-01-31", "2020-02-01"]).rows()[1]
    ('2020-02-01', '2020-02', '2020-Q1', '2020', '*')
    """
    column = _column("date_hierarchy", values, read=format is None)
    dates = parse_dates("date_hierarchy", column, format)
    # Each level is a function of the date, so that the levels nest.
    years, parts = dates.dt.year(), zip(dates.dt.year(), dates.dt.month(), dates.dt.quarter(), strict=True)
    months, quarters = zip(*((f"{y:04}-{m:02}", f"{y:04}-Q{q}") for y, m, q in parts), strict=True)
    levels = [list(months), list(quarters), [f"{year:04}" for year in years]]
    # A band of years is a level only if it merges years, but not all of them.
    for width in (5, 10):
        bands = label_bands(years, width)
        if 1 < len(set(bands)) < len(set(levels[-1])):
            levels.append(bands)
    return _tree(column, levels)


def flat_hierarchy(values: Values) -> Hierarchy:
    """Create a hierarchy with all values directly below the root, as a starting point for manual grouping.

    Parameters
    ----------
    values : series or sequence
        The column; missing values are ignored.

    Returns
    -------
    Hierarchy

    Raises
    ------
    DataError
        If the column has no value.

    Examples
    --------
    >>> flat_hierarchy(["b", "a", "b"]).rows()
    [('a', '*'), ('b', '*')]
    """
    return _tree(_column("flat_hierarchy", values), [])


def frequency_hierarchy(values: Values, *, lone: bool = True, largest: int | None = None) -> Hierarchy:
    """Merge nodes in pairs from level to level, the rarest node with the second rarest, and so on.

    Rare values, which a group can hardly preserve, are generalized together, and the nodes of a level have similar
    frequencies. Of an odd number of nodes the last stays alone; if it is a value and `lone` is False, it joins the
    smallest pair. Nodes that would have more than `largest` values are not merged, so that the root is above them.

    Examples
    --------
    >>> frequency_hierarchy(["a"] * 3 + ["b"] * 5 + ["c", "d"]).rows()[0]
    ('a', '{a, b}', '*')
    """
    # Frequencies as a one-column matrix, so that both methods share the same loop.
    column = _column("frequency_hierarchy", values)
    counts = rows_by_code(column.codes, column.size, None)[: column.size - column.has_missing]
    return _merge_nodes(column, counts[:, None], _by_frequency, lone=lone, largest=largest)


def co_occurrence_hierarchy(
    values: Values, sensitive: Values, *, lone: bool = True, largest: int | None = None
) -> Hierarchy:
    """Merge nodes in pairs from level to level, starting with those that predict the sensitive attribute alike.

    Merging two nodes loses information about the sensitive attribute: the number of their records times the
    Jensen-Shannon divergence of their sensitive distributions. The cheapest pairs of a level are merged greedily.

    Parameters
    ----------
    values : series or sequence
        The column.
    sensitive : series or sequence
        The sensitive attribute, row by row.
    lone, largest
        See `frequency_hierarchy`.

    Returns
    -------
    Hierarchy

    References
    ----------
    N. Slonim and N. Tishby, "Agglomerative information bottleneck", NIPS 1999.

    Examples
    --------
    >>> co_occurrence_hierarchy(["a", "b", "c", "d"] * 2, ["x", "y", "x", "y", "x", "y", "x", "y"]).rows()[0]
    ('a', '{a, c}', '*')
    """
    # Both columns must describe the same rows.
    series = _series(values)
    other = _series(sensitive).alias("sensitive")
    if len(other) != len(series):
        raise ParameterError(f"The 'sensitive' parameter must have as many values ({len(series)}). Got {len(other)}.")
    column = _column("co_occurrence_hierarchy", series)
    other_column = encode_values(other)
    if other_column is None:
        raise DataError("co_occurrence_hierarchy needs sensitive values: all are missing.")
    # Contingency table of the present values and the sensitive values.
    present = column.codes < column.size - column.has_missing
    keys = column.codes[present].astype(np.int64) * other_column.size + other_column.codes[present]
    size = column.size - column.has_missing
    counts = np.bincount(keys, minlength=size * other_column.size).reshape(size, other_column.size)
    return _merge_nodes(column, counts, _by_distribution, lone=lone, largest=largest)


def automatic_hierarchy(
    values: Values, sensitive: Values | None = None, *, lone: bool = True, largest: int | None = None
) -> Hierarchy:
    """Choose a hierarchy by the type of the values: quantiles, date parts, co-occurrence or frequency.

    Parameters
    ----------
    values : series or sequence
        The column. Numbers use quantiles, and dates use months, quarters, years and bands of years.
    sensitive : series or sequence, optional
        The sensitive attribute, row by row. If it is given, other values are merged by co-occurrence, otherwise by
        frequency.
    lone, largest
        See `frequency_hierarchy`; for values that are merged.

    Returns
    -------
    Hierarchy

    Examples
    --------
    >>> automatic_hierarchy([18, 25, 33, 41]).height
    3
    """
    values = read_column(_series(values))  # once: the builders below find nothing left to read
    column = _column("automatic_hierarchy", values)
    if column.numbers is not None:
        return quantile_hierarchy(values)
    # Text that is ordered consists of ISO dates, because numbers are handled above.
    if column.ordered and isinstance(column.dictionary.dtype, pl.Date | pl.Datetime | pl.String):
        return date_hierarchy(values)
    if sensitive is None:
        return frequency_hierarchy(values, lone=lone, largest=largest)
    return co_occurrence_hierarchy(values, sensitive, lone=lone, largest=largest)


def _series(values: Values) -> pl.Series:
    return values if isinstance(values, pl.Series) else pl.Series("values", list(values))


def _column(owner: str, values: Values, *, read: bool = False) -> Column:
    given = _series(values)
    column = encode_values(read_column(given) if read else given)
    if column is None:
        raise DataError(f"{owner} needs a column with a value: this one has none.")
    return column


def _tree(column: Column, levels: Sequence[Sequence[str]]) -> Hierarchy:
    """Build the tree from the values, the named levels above them, and a root whose name is not a value."""
    texts = dictionary_text(column.dictionary.drop_nulls()).to_list()
    # Stars are appended until the name is unique.
    root = _ROOT
    while root in texts:
        root += _ROOT
    return Hierarchy.from_rows(zip(texts, *levels, [root] * len(texts), strict=True))


Pairing = Callable[["NDArray[np.int64]"], list[tuple[int, ...]]]
"""A function that decides which nodes to merge, given the counts of each node."""


def _merge_nodes(
    column: Column, counts: NDArray[np.int64], pairing: Pairing, *, lone: bool, largest: int | None = None
) -> Hierarchy:
    """Merge nodes level by level until at most two are left, or no pair fits; see `frequency_hierarchy`."""
    texts = dictionary_text(column.dictionary.drop_nulls())
    quotes = quote_text(texts).to_list()
    taken = set(texts)
    members: list[list[int]] = [[code] for code in range(len(texts))]
    most = len(texts) if largest is None else largest
    levels: list[list[str]] = []
    while len(members) > 2:
        # Choose the pairs that fit, and order the new nodes by their first value.
        chosen = pairing(counts) if len(members) <= _LARGEST_MATRIX else _by_frequency(counts)
        joined: list[tuple[int, ...]] = []
        for nodes in chosen:
            joined += [nodes] if sum(len(members[node]) for node in nodes) <= most else [(node,) for node in nodes]
        if len(joined) == len(members):
            break
        single = next((nodes for nodes in joined if len(nodes) == 1 and len(members[nodes[0]]) == 1), None)
        room = [nodes for nodes in joined if nodes != single and sum(len(members[node]) for node in nodes) < most]
        if single is not None and room and not lone:
            joined.remove(single)
            smallest = min(room, key=lambda nodes: int(counts[list(nodes)].sum()))
            joined[joined.index(smallest)] = smallest + single
        joined.sort(key=lambda nodes: min(min(members[node]) for node in nodes))
        members = [sorted(code for node in nodes for code in members[node]) for nodes in joined]
        counts = np.array([counts[list(nodes)].sum(axis=0) for nodes in joined])
        # Name each node after its values, or by a number if it has many.
        names = [""] * len(texts)
        for number, codes in enumerate(members, start=1):
            # A node with one value keeps its name.
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
    # A stable sort keeps ties in the order of the values.
    order = np.argsort(counts.sum(axis=1), kind="stable").tolist()
    return [tuple(order[place : place + 2]) for place in range(0, len(order), 2)]


def _by_distribution(counts: NDArray[np.int64]) -> list[tuple[int, ...]]:
    """Select the cheapest disjoint pairs greedily; if the number of nodes is odd, one of them stays alone."""
    first, second = np.triu_indices(len(counts), 1)
    # The cost of a pair is the increase of entropy, weighted by records.
    own = _information(counts)
    joined = np.concatenate([_information(counts[node] + counts[node + 1 :]) for node in range(len(counts) - 1)])
    costs = np.round(joined - own[first] - own[second], 9)  # what rounding decides, the order of the values decides
    # A node belongs to at most one pair.
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
    """Compute the entropy in bits of each row of counts, times its number of records."""
    total = counts.sum(axis=1)
    # A count of 0 contributes 0 log 0 = 0.
    logs = np.log2(np.maximum(counts, 1))
    return np.asarray(total * np.log2(np.maximum(total, 1)) - (counts * logs).sum(axis=1))
