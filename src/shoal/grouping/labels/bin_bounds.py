"""Lower bounds for min-max bin covering, on the level of the fullest bin of any packing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.base import GroupingBound
from shoal.grouping.labels.bin_covering_kernel import first_sum, pairs_that_cover

_MAX_TABLE = 1 << 26
"""Largest number of operations for a table of subset sums."""


def most_bins(sizes: NDArray[np.int64], k: int) -> int:
    """Compute an upper bound on the number of bins of a packing.

    The bound is the smallest of three: the part of an item beyond k helps no other bin; a bin without an item of size k
    needs two items; and a bin without a pair that reaches k needs three items.

    Parameters
    ----------
    sizes : array of int64
        Sizes of the items in decreasing order.
    k : int
        Smallest level of a bin.

    Examples
    --------
    >>> most_bins(np.array([9, 6, 6, 6, 6, 6]), 9)
    3
    """
    by_level = int(np.minimum(sizes, k).sum()) // k
    alone = int(np.count_nonzero(sizes >= k))
    rest = sizes[alone:]
    pairs = int(pairs_that_cover(rest, k))
    return max(1, min(by_level, alone + pairs + (len(rest) - 2 * pairs) // 3))


def bound_with_bins(sizes: NDArray[np.int64], bins: int) -> GroupingBound:
    """Compute a lower bound on the fullest bin of any packing into at most `bins` bins.

    The bound is the average level, or follows from the pigeonhole principle: some bin holds j + 1 of the j * bins + 1
    largest items.

    Parameters
    ----------
    sizes : array of int64
        Sizes of the items in decreasing order.
    bins : int
        Largest number of bins.
    """
    total = int(sizes.sum())
    best = GroupingBound(value=-(-total // bins), why=f"there cannot be more than {bins} classes")
    sums = np.concatenate([[0], np.cumsum(sizes)])
    # At least the smallest j + 1 of the j * bins + 1 largest items are together.
    j = np.arange(1, (len(sizes) - 1) // bins + 1)
    ends = j * bins + 1
    if len(j):
        crowded = sums[ends] - sums[ends - j - 1]
        at = int(np.argmax(crowded))
        if int(crowded[at]) > best.value:
            why = f"with {bins} classes, one holds {at + 2} of the {int(ends[at])} most frequent values"
            best = GroupingBound(value=int(crowded[at]), why=why)
    return best


def cover_bound(sizes: NDArray[np.int64], k: int) -> GroupingBound:
    """Compute the best lower bound that takes no longer than sorting.

    Parameters
    ----------
    sizes : array of int64
        Sizes of the items in decreasing order; their total is at least k.
    k : int
        Smallest level of a bin.
    """
    simple = [
        GroupingBound(value=k, why="every class has at least k records"),
        GroupingBound(value=int(sizes[0]), why="the most frequent value cannot be divided"),
        bound_with_bins(sizes, most_bins(sizes, k)),
    ]
    return max(simple, key=lambda bound: bound.value)


def sharpen_bound(sizes: NDArray[np.int64], k: int, bound: GroupingBound) -> GroupingBound:
    """Sharpen a bound by the possible sums of items, if the tables are not too large.

    No bin has a level between k and the smallest sum of items that is at least k, so this sum can replace k. Likewise,
    the largest level must be a sum of items.
    """
    for _ in range(8):
        if (bound.value + int(sizes[0])) * len(sizes) > _MAX_TABLE:
            return bound
        # A greedy bin ends below k plus the largest item, so this range contains a sum.
        least = int(first_sum(sizes, k, k + int(sizes[0])))
        better = max(bound, cover_bound(sizes, least), key=lambda one: one.value) if least > k else bound
        reached = int(first_sum(sizes, better.value, better.value + int(sizes[0])))
        if reached > better.value:
            better = GroupingBound(
                value=reached, why=f"{better.why}, and no values have {better.value} records together"
            )
        if better.value == bound.value:
            return bound
        bound, k = better, max(k, least)
    return bound
