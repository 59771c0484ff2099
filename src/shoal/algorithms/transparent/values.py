"""What the frequencies of the sensitive values decide: their colors, and which rows are grouped by chance instead."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray


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
