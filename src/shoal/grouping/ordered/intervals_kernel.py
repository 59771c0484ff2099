# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Consecutive values in intervals of at least k records, the largest as small as possible."""

from __future__ import annotations

import numpy as np

from shoal._compiling import inlined, kernel

__all__ = ["cut_points", "reachable", "smallest_bound"]


@inlined
def reachable(sums, k, bound, reached):
    """Tell whether intervals with weights in [k, bound] cover everything; `reached` is room for the answers.

    `sums[j]` is the weight of the first j values. The values before j can be covered where some i < j is covered and
    the weight between is in [k, bound]: such i form a window that only moves on.
    """
    n = sums.size - 1
    # Prefix counts: reached[j + 1] positions up to j can be covered.
    reached[0] = 0
    reached[1] = 1
    first, last = 0, 0  # the window is first <= i < last
    for j in range(1, n + 1):
        while last < j and sums[last] <= sums[j] - k:
            last += 1
        while sums[first] < sums[j] - bound:
            first += 1
        covered = first < last and reached[last] > reached[first]
        reached[j + 1] = reached[j] + (1 if covered else 0)
    return reached[n + 1] > reached[n]


@kernel
def smallest_bound(sums, k, low, high):
    """Return the smallest bound for which intervals exist, given that they do for `high`, by bisection."""
    reached = np.empty(sums.size + 1, dtype=np.int64)
    while low < high:
        middle = (low + high) // 2
        if reachable(sums, k, middle, reached):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def cut_points(sums, k, bound):
    """Return where the intervals end that have weights in [k, bound], as many of them as there can be.

    The best start for each end is the front of a queue of starts, kept in decreasing order of their number of
    intervals (the earlier start first among equals).
    """
    n = sums.size - 1
    intervals = np.full(n + 1, -1, dtype=np.int64)
    start_of = np.zeros(n + 1, dtype=np.int64)
    intervals[0] = 0
    queue = np.empty(n + 1, dtype=np.int64)
    front, back, last = 0, 0, 0
    for j in range(1, n + 1):
        while last < j and sums[last] <= sums[j] - k:
            if intervals[last] >= 0:
                while back > front and intervals[queue[back - 1]] < intervals[last]:
                    back -= 1
                queue[back] = last
                back += 1
            last += 1
        while front < back and sums[queue[front]] < sums[j] - bound:
            front += 1
        if front < back:
            start_of[j] = queue[front]
            intervals[j] = intervals[queue[front]] + 1
    ends = np.empty(intervals[n], dtype=np.int64)
    j = n
    for at in range(intervals[n] - 1, -1, -1):
        ends[at] = j
        j = start_of[j]
    return ends
