# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Partition of consecutive values into intervals of at least k rows, with the smallest largest interval."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import inlined, kernel

__all__ = ["cut_points", "reachable", "smallest_bound"]


@inlined
def reachable(sums, k, bound, reached):
    """Test whether intervals with weights in [k, bound] cover everything; `reached` is scratch.

    `sums[j]` is the weight of the first j values. The values before j can be covered if some i < j is covered and the
    weight between is in [k, bound]: such i form a window that only moves forward.
    """
    n = sums.size - 1
    # Prefix counts: reached[j + 1] positions up to j can be covered.
    reached[0] = 0
    reached[1] = 1
    first, last = 0, 0  # the window is first <= i < last
    for j in range(1, n + 1):
        # Move both ends of the window.
        while last < j and sums[last] <= sums[j] - k:
            last += 1
        while sums[first] < sums[j] - bound:
            first += 1
        # Some start in the window is covered.
        covered = first < last and reached[last] > reached[first]
        reached[j + 1] = reached[j] + (1 if covered else 0)
    return reached[n + 1] > reached[n]


@kernel
def smallest_bound(sums, k, low, high):
    """Find by bisection the smallest bound with a cover, given that there is one for `high`."""
    reached = np.empty(sums.size + 1, dtype=np.int64)
    # Feasibility is monotone in the bound.
    while low < high:
        middle = (low + high) // 2
        if reachable(sums, k, middle, reached):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def cut_points(sums, k, bound):
    """Find the ends of intervals with weights in [k, bound], as many intervals as possible.

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
        # New starts enter the queue; a start with fewer intervals than a later one is useless.
        while last < j and sums[last] <= sums[j] - k:
            if intervals[last] >= 0:
                while back > front and intervals[queue[back - 1]] < intervals[last]:
                    back -= 1
                queue[back] = last
                back += 1
            last += 1
        # Starts that are too far away leave.
        while front < back and sums[queue[front]] < sums[j] - bound:
            front += 1
        if front < back:
            start_of[j] = queue[front]
            intervals[j] = intervals[queue[front]] + 1
    # Follow the starts back from the end.
    ends = np.empty(intervals[n], dtype=np.int64)
    j = n
    for at in range(intervals[n] - 1, -1, -1):
        ends[at] = j
        j = start_of[j]
    return ends
