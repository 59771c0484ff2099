"""l-diversity that also holds for an adversary who knows the algorithm, all quasi-identifiers and the release.

The frequencies of the sensitive values decide their colors, and which rows are grouped by chance. The other rows are
grouped so that each group has all colors. Each step looks at the place of a row on a curve through the
quasi-identifiers and, of its color, only at which neighbors differ in it, so that exchanging the values within a group
changes nothing of the search. See `docs/transparent.md` for the theorem.

References
----------
X. Xiao, Y. Tao and N. Koudas: Transparent anonymization: thwarting adversaries who know the algorithm. ACM TODS 35(2),
2010, for the question. The algorithm and its proof are ours: `docs/transparent.md`.
X. Xiao and Y. Tao: Anatomy: simple and effective privacy preservation. VLDB 2006, for the groups drawn by chance.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.hilbert.hilbert import curve_ranks
from shoal.errors import InternalError
from shoal.models.requirement import Requirement


def group_colors(
    items: NDArray[np.int64], points: NDArray[np.int64], colors: NDArray[np.int64], bits: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Group items so that each group has one item of each color.

    Parameters
    ----------
    items : int64 array of shape (n, s)
        The rows of each item, numbered along the curve.
    points : int64 array
        Point of each row on the curve, ascending: rows of one point have equal quasi-identifiers.
    colors : int64 array of shape (n,)
        Color of each item, 0 <= color < 2**bits. Each color has equally many items.
    bits : int
    rng : Generator
        Deals pairs of the same colors out.

    Returns
    -------
    int64 array of shape (n / 2**bits, s * 2**bits)
        The rows of each group.
    """
    if bits == 0:
        return items
    # Pair items that differ in the first bit.
    half = 1 << (bits - 1)
    lower, upper = pair_colors(items, points, colors >= half)
    pairs = np.hstack((items[lower], items[upper]))
    pairs.sort(axis=1)
    if bits == 1:
        return pairs
    # The pairs of each permutation of the remaining bits form groups of their own.
    left, right = colors[lower], colors[upper] - half
    dealt = _deal_out(left, right, half, rng)
    return np.vstack([group_colors(pairs[chosen], points, left[chosen], bits - 1, rng) for chosen in dealt])


def pair_colors(
    items: NDArray[np.int64], points: NDArray[np.int64], color: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair items of two colors: neighbors if they differ, else pairs of one color with such pairs, and so on.

    Parameters
    ----------
    items : int64 array of shape (n, s)
        The rows of each item, ascending.
    points : int64 array
        Point of each row on the curve, ascending.
    color : bool array of shape (n,)
        Color of each item; equally many are True and False.

    Returns
    -------
    int64 arrays of shape (n / 2,)
        For each pair the item whose color is False, and the one whose color is True.

    Examples
    --------
    >>> colors = np.array([False, True, False, False, True, True])
    >>> lower, upper = pair_colors(np.arange(6)[:, None], np.arange(6), colors)
    >>> lower.tolist(), upper.tolist()
    ([0, 2, 3], [1, 4, 5])
    """
    blocks = np.argsort(items[:, 0], kind="stable")[:, None]
    first_point, last_point = points[items[:, 0]], points[items[:, -1]]
    lower, upper = [], []
    while len(blocks):
        # Blocks of one point are neighbors first, then what is left along the curve.
        blocks = blocks[_order_by_point(first_point[blocks].min(axis=1), last_point[blocks].max(axis=1))]
        first, second = blocks[::2], blocks[1::2]
        swap = color[first[:, 0]]
        differ = swap != color[second[:, 0]]
        # Two blocks of different colors: their items are paired in order.
        lower.append(np.where(swap[differ, None], second[differ], first[differ]).ravel())
        upper.append(np.where(swap[differ, None], first[differ], second[differ]).ravel())
        # Two blocks of one color become one, at the place of its first item.
        joined = np.hstack((first[~differ], second[~differ]))
        blocks = joined[np.argsort(items[joined, 0].min(axis=1), kind="stable")]
    return np.concatenate(lower), np.concatenate(upper)


def _order_by_point(first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order blocks along the curve so that blocks within one point stand in pairs before all others."""
    count = len(first)
    # The number of each block in its run of blocks of one point; blocks of several points are runs of their own.
    begins = np.ones(count, dtype=np.bool_)
    begins[1:] = (first[1:] != first[:-1]) | (first[1:] != last[1:]) | (first[:-1] != last[:-1])
    runs = np.cumsum(begins) - 1
    starts = np.flatnonzero(begins)
    number = np.arange(count) - starts[runs]
    sizes = np.diff(np.append(starts, count))[runs]
    single = (number == sizes - 1) & (sizes % 2 == 1)
    return np.concatenate((np.flatnonzero(~single), np.flatnonzero(single)))


def _deal_out(
    left: NDArray[np.int64], right: NDArray[np.int64], half: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Deal pairs of colors out, so that each part has equally many pairs of each color and of one partner color."""
    counts = np.zeros((half, half), dtype=np.int64)
    np.add.at(counts, (left, right), 1)
    # Pairs of the same two colors in random order: their places must not decide.
    waiting = {
        (x, y): rng.permutation(np.flatnonzero((left == x) & (right == y))) for x in range(half) for y in range(half)
    }
    # Rows and columns have equal sums: the matrix is a sum of permutations (Birkhoff).
    while counts.any():
        # A permutation of colors that all have rows left.
        partner = _match_colors(counts > 0)
        times = int(counts[np.arange(half), partner].min())
        parts = []
        for x, y in enumerate(partner):
            parts.append(waiting[x, y][:times])
            waiting[x, y] = waiting[x, y][times:]
            counts[x, y] -= times
        yield np.concatenate(parts)


def _match_colors(allowed: NDArray[np.bool_]) -> list[int]:
    """Give each row a column of its own among those that are allowed; there is such a matching."""
    taken: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        """Give the row a column, if need be that of another row, which moves."""
        for column in np.flatnonzero(allowed[row]).tolist():
            if column not in seen:
                seen.add(column)
                if column not in taken or place(taken[column], seen):
                    taken[column] = row
                    return True
        return False

    for row in range(len(allowed)):
        if not place(row, set()):
            raise InternalError("a matrix of equal sums has no permutation")
    return [column for _, column in sorted((row, column) for column, row in taken.items())]


def choose_colors(counts: NDArray[np.int64], colors: int) -> NDArray[np.int64]:
    """Assign a color to each value so that the colors have about equally many rows.

    Parameters
    ----------
    counts : int64 array
        Number of rows of each value.
    colors : int
        Number of colors, at least 1.

    Examples
    --------
    >>> choose_colors(np.array([5, 3, 2, 2]), 2).tolist()
    [0, 1, 1, 0]
    """
    sums = [(0, color) for color in range(colors)]
    found = np.zeros(len(counts), dtype=np.int64)
    # The most frequent value first, to the color with the fewest rows.
    for value in np.argsort(-counts, kind="stable").tolist():
        rows, color = heapq.heappop(sums)
        found[value] = color
        heapq.heappush(sums, (rows + int(counts[value]), color))
    return found


def split_counts(counts: NDArray[np.int64], colors: NDArray[np.int64], number: int, l: int) -> NDArray[np.int64]:
    """Choose how many rows of each value are grouped by chance, so that the colors of the others have equal sums.

    Parameters
    ----------
    counts, colors : int64 array
        Number of rows and color of each value. At most one in `l` rows has any one value.
    number : int
        Number of colors.
    l : int
        The rows that are grouped by chance must allow groups of `l` different values.

    Returns
    -------
    int64 array
        Number of rows of each value; all of them if there is no other way.
    """
    # As many groups as the smallest color has rows.
    sums = np.bincount(colors, weights=counts, minlength=number).astype(np.int64)
    groups, fewer = int(sums.min()), 0
    # Fewer groups of all colors leave more rows to chance, until these can be grouped.
    while groups - fewer > 0:
        left = np.zeros_like(counts)
        for color in range(number):
            own = colors == color
            left[own] = _level(counts[own], int(sums[color]) - groups + fewer)
        if int(left.max()) * l <= int(left.sum()):
            return left
        fewer = 2 * fewer + 1
    return counts.copy()


def _level(counts: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Take a total of rows from some values, as evenly as their numbers allow."""
    # The least frequent value first: what it cannot give, the others do.
    order = np.argsort(counts, kind="stable")
    taken = np.zeros_like(counts)
    for place, value in enumerate(order):
        taken[value] = min(int(counts[value]), total // (len(order) - place))
        total -= int(taken[value])
    return taken


def chance_groups(counts: NDArray[np.int64], l: int) -> list[list[int]]:
    """List the values of groups of at least `l` different values, one entry for each row.

    Parameters
    ----------
    counts : int64 array
        Number of rows of each value. At most one in `l` rows has any one value.
    l : int
        At least 1.

    Examples
    --------
    >>> chance_groups(np.array([3, 2, 2]), 2)
    [[0, 1, 2], [0, 2], [0, 1]]
    """
    waiting = [(-int(count), value) for value, count in enumerate(counts) if count]
    heapq.heapify(waiting)
    groups = []
    # A row of each of the l most frequent values (Xiao and Tao 2006, Anatomize).
    while len(waiting) >= l:
        taken = [heapq.heappop(waiting) for _ in range(l)]
        groups.append([value for _, value in taken])
        for left, value in taken:
            if left + 1:
                heapq.heappush(waiting, (left + 1, value))
    # Fewer than l values are left, each of which joins the smallest group without it.
    for _, value in waiting:
        min((group for group in groups if value not in group), key=len).append(value)
    return groups


@dataclass(frozen=True)
class Transparent(Algorithm):
    """Group rows so that exchanging sensitive values within a group would have led to the same groups.

    An adversary who knows this algorithm, the quasi-identifiers of all rows and the release, but not the random
    numbers, believes in no sensitive value of a row with more than 1/l: every way to distribute the values of a group
    over its rows that the proof pairs up is equally likely.

    Notes
    -----
    * The frequencies of the values decide their colors: a power of two of them, at least l, with equally many rows.
      Rows that do not fit are drawn by chance, and grouped by chance.
    * Rows of different colors that are neighbors on a Hilbert curve are paired. Pairs of one color are paired again as
      wholes, until all are paired; whose pairs differ is all that this reveals, and an exchange within a pair of
      blocks changes nothing of it. Pairs are combined to groups of all colors in the same way.
    * Values must not depend on the quasi-identifiers in the adversary's mind beforehand; see the page for what else
      is not promised.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(
    ...     people, quasi_identifiers=["age", "gender"], sensitive="income", l=2,
    ...     algorithm=shoal.algorithms.Transparent()
    ... )
    >>> release.certificate.achieved["l"]["frequency"] >= 2
    True
    """

    capabilities: ClassVar[Capabilities] = Capabilities(resists_minimality=True)
    """Capabilities of the algorithm."""
    name: ClassVar[str] = "transparent"
    """Name of the algorithm in requests and certificates."""

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why the algorithm cannot serve a requirement; see `Algorithm.unsupported`."""
        form = requirement.frequency_form()
        return None if form is not None else "it serves k-anonymity and l-diversity by frequency on one attribute"

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        problem.progress(self.name, 0, 2)
        table, form = problem.table, problem.frequency_form
        # Rows along the curve; rows of one point in random order, since only their values differ.
        places, points = _order_along_curve(problem)
        problem.progress(self.name, 1, 2)
        if form.l > 1:
            values = table.sensitive[form.sensitive or 0].codes[places].astype(np.int64)
            groups = _group_values(values, points, ceil(form.l), form.k, problem.rng)
        else:  # without values to protect: rows along the curve
            groups = list(np.arange(table.rows)[:, None])
        # Groups of too few rows are joined with the next ones along the curve.
        of_place = _number_groups(groups, form.k, table.rows)
        labels = np.empty(table.rows, dtype=np.int32)
        labels[places] = of_place
        problem.progress(self.name, 2, 2)
        return Partition.of(labels, Guarantee(promise=Fact("transparent", l=ceil(form.l))))


def _order_along_curve(problem: Problem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order all rows along the Hilbert curve through the quasi-identifiers, ties by chance; return their points."""
    # A row of each class stands for it on the curve.
    classes = problem.table.classes
    firsts = classes.order[classes.cell_starts[classes.class_starts[:-1]]]
    ranks = curve_ranks(problem.table, firsts, True, problem.levels if problem.hierarchies else ())
    of_rows = ranks[classes.of_rows].astype(np.int64)
    order = np.lexsort((problem.rng.permutation(problem.table.rows), of_rows))
    return order, of_rows[order]


def _group_values(
    values: NDArray[np.int64],
    points: NDArray[np.int64],
    l: int,
    k: int,
    rng: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """Group rows, numbered along the curve, by their sensitive values and points."""
    rows, counts = len(values), np.bincount(values)
    if int(counts.max()) * l > rows:
        return [np.arange(rows)]  # only with a fraction l: all rows are one group
    # The number of colors is the least power of two that allows groups of k rows, else of l.
    number = next((n for n in (_power_of_two(max(l, k)), _power_of_two(l)) if int(counts.max()) * n <= rows), 0)
    left = counts if not number else split_counts(counts, (colors := choose_colors(counts, number)), number, l)
    by_chance = _draw(values, left, rng)
    groups = _deal_by_chance(values, by_chance, l)
    # All others are grouped by colors.
    others = np.setdiff1d(np.arange(rows), by_chance)
    if len(others):
        groups += list(group_colors(others[:, None], points, colors[values[others]], number.bit_length() - 1, rng))
    return groups


def _power_of_two(number: int) -> int:
    """Return the least power of two that is at least a number."""
    return 1 << (number - 1).bit_length()


def _draw(values: NDArray[np.int64], times: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a number of rows of each value, in random order within a value."""
    in_order = np.argsort(values, kind="stable")
    starts = np.searchsorted(values[in_order], np.arange(len(times) + 1))
    drawn = [
        rng.permutation(in_order[starts[value] : starts[value + 1]])[: times[value]] for value in np.flatnonzero(times)
    ]
    return np.concatenate(drawn) if drawn else np.empty(0, dtype=np.int64)


def _deal_by_chance(values: NDArray[np.int64], rows: NDArray[np.int64], l: int) -> list[NDArray[np.int64]]:
    """Group rows in random order: their values decide the form of the groups, and the order which rows fill it."""
    if not len(rows):
        return []
    of_value = {int(value): iter(rows[values[rows] == value].tolist()) for value in np.unique(values[rows])}
    forms = chance_groups(np.bincount(values[rows]), l)
    return [np.array([next(of_value[value]) for value in form]) for form in forms]


def _number_groups(groups: list[NDArray[np.int64]], k: int, rows: int) -> NDArray[np.int32]:
    """Give groups their numbers along the curve; each takes the next ones until it has k rows."""
    of_row, number, size = np.empty(rows, dtype=np.int32), 0, 0
    for group in sorted(groups, key=lambda one: int(one.min())):
        # The last group is never too small: its rows join the group before.
        if size >= k:
            number, size = number + 1, 0
        of_row[group] = number
        size += len(group)
    if size < k and number:
        of_row[of_row == number] = number - 1
    return of_row
