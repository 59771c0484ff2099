"""Lower bounds for min-max bin covering: what the fullest bin weighs at least, whatever the packing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.grouping.base import GroupingBound
from shoal.grouping.labels.bin_covering_kernel import first_sum, pairs_that_cover

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bound_with_bins", "cover_bound", "most_bins", "sharpened"]

_LARGEST_TABLE = 1 << 26
"""Operations of a table of subset sums."""


def most_bins(sizes: NDArray[np.int64], k: int) -> int:
    """Return a number of bins that no packing exceeds.

    Three arguments, the smallest counts: what an item has beyond k helps no other bin; a bin without an item of size k
    needs two items; and one without a pair that reaches k needs three.

    Parameters
    ----------
    sizes : array of int64
        In decreasing order.
    k : int
        The least level of a bin.

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
    """Return what the fullest of so many bins (or of fewer) weighs at least.

    Beside the average: among the j * bins + 1 largest items some bin holds j + 1.

    Parameters
    ----------
    sizes : array of int64
        In decreasing order.
    bins : int
        The number of bins.
    """
    total = int(sizes.sum())
    best = GroupingBound(value=-(-total // bins), why=f"there cannot be more than {bins} classes")
    sums = np.concatenate([[0], np.cumsum(sizes)])
    # The smallest j + 1 of the j * bins + 1 largest items.
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
    """Return the best lower bound that costs no more than sorting.

    Parameters
    ----------
    sizes : array of int64
        In decreasing order; their total is at least k.
    k : int
        The least level of a bin.
    """
    simple = [
        GroupingBound(value=k, why="every class has at least k records"),
        GroupingBound(value=int(sizes[0]), why="the most frequent value cannot be divided"),
        bound_with_bins(sizes, most_bins(sizes, k)),
    ]
    return max(simple, key=lambda bound: bound.value)


def sharpened(sizes: NDArray[np.int64], k: int, bound: GroupingBound) -> GroupingBound:
    """Return a bound that asks for sums that some of the items can have, where the tables are not too large.

    No bin has a level between k and the first sum of items from k on, so that sum may stand in place of k; and no bin
    has a level that is no sum of items.
    """
    for _ in range(8):
        if (bound.value + int(sizes[0])) * len(sizes) > _LARGEST_TABLE:
            return bound
        # A greedy bin ends below k plus the largest item, so there is a sum in that range.
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
