"""Groups of rows of all colors, found so that exchanging the values within a group changes nothing of the search.

Every step here looks at the place of a row on a curve through the quasi-identifiers and, of its color, only at which
neighbors differ in it. See `docs/transparent.md` for the theorem.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


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
        partner = _match(counts > 0)
        times = int(counts[np.arange(half), partner].min())
        parts = []
        for x, y in enumerate(partner):
            parts.append(waiting[x, int(y)][:times])
            waiting[x, int(y)] = waiting[x, int(y)][times:]
            counts[x, y] -= times
        yield np.concatenate(parts)


def _match(allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Match each row of a square matrix with a column of its own that is allowed; such a matching exists."""
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(~allowed)[1], dtype=np.int64)
