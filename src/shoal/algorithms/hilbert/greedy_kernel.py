# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""A sweep along a curve that closes a group as soon as a monotone predicate accepts it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, inlined, kernel, kernel_step
from shoal.algorithms.common.histogram_kernel import clear, count_row
from shoal.algorithms.common.predicate_kernel import acceptable
from shoal.algorithms.common.whole_kernel import ZERO

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


__all__ = ["sweep_predicate"]

PATIENCE = 4
"""A group that was not acceptable is tested again after growing by one row in 2**PATIENCE."""


@inlined
def _count_rows(codes, first, last, touched, distinct, counts):
    """Add rows `first` to `last - 1` to a histogram; return the number of distinct codes."""
    for row in range(first, last):
        distinct = count_row(row, codes, touched, distinct, counts)
    return distinct


@inlined
def _count_group(codes, begins, g, joined, following, touched, distinct, counts):
    """Add a group and the rows that joined it to a histogram; return its size, and the number of distinct codes."""
    # The group is a range, followed by a linked list of joined rows.
    distinct = _count_rows(codes, begins[g], begins[g + 1], touched, distinct, counts)
    size = begins[g + 1] - begins[g]
    row = joined[g]
    while row >= 0:
        distinct = count_row(row, codes, touched, distinct, counts)
        size += 1
        row = following[row]
    return size, distinct


@kernel_step
def _close_groups(codes, ranks, starts, rules, bounds, smallest, begins, touched, counts):
    """Close groups along the curve; return their number. Group g is `begins[g] <= row < begins[g + 1]`."""
    n = codes.shape[0]
    count = 0
    distinct = ZERO
    ask = smallest
    begins[0] = 0
    # Add row by row to the group in progress.
    for i in range(n):
        distinct = count_row(i, codes, touched, distinct, counts)
        begin = begins[count]
        size = i + 1 - begin
        closes = False
        # Test rarely while a large group fails: the tests stay linear in the rows.
        if size >= ask:
            closes = acceptable(size, touched, distinct, counts, starts, rules, bounds)
            ask = size + max(1, size >> PATIENCE)
        leaves_point = i + 1 == n or ranks[i + 1] != ranks[i]
        if leaves_point and not closes and count > 0 and ranks[begins[count - 1]] == ranks[i]:
            # The group before lies at this point only: the rows since may join it without a star.
            before = begins[count - 1]
            distinct = _count_rows(codes, before, begin, touched, distinct, counts)
            if acceptable(i + 1 - before, touched, distinct, counts, starts, rules, bounds):
                count -= 1
                closes = True
            # Not acceptable together: restore the histogram of the rows since.
            else:
                distinct = clear(touched, distinct, counts)
                distinct = _count_rows(codes, begin, i + 1, touched, distinct, counts)
        # Close the group, and start the next.
        if closes:
            distinct = clear(touched, distinct, counts)
            count += 1
            begins[count] = i + 1
            ask = smallest
    clear(touched, distinct, counts)
    return count


@allocating_step
def _place_tail(codes, tail, begins, count, joined, following, touched, counts, starts, rules, bounds):
    """Let each row of the tail join the nearest group that stays acceptable; return the number of rows left.

    The rows left are moved to the front of `tail`. `joined[g]` is a row that joined group g, `following` the next one.
    """
    # Rows with one value continue where the last of them was placed: earlier groups refused that value already.
    reach = np.full(starts[1], count - 1, dtype=np.int32)
    # The budget keeps the search linear; rows beyond it are merged.
    budget = 8 * codes.shape[0] + 1024
    homeless = 0
    for row in tail:
        v = codes[row, 0]
        home = -1
        # Walk back from the end of the curve.
        while home < 0 and reach[v] >= 0 and budget > 0:
            g = reach[v]
            distinct = count_row(row, codes, touched, ZERO, counts)
            size, distinct = _count_group(codes, begins, g, joined, following, touched, distinct, counts)
            if acceptable(size + 1, touched, distinct, counts, starts, rules, bounds):
                home = g
            else:
                reach[v] -= 1
            clear(touched, distinct, counts)
            budget -= size
        # Prepend the row to the group's list.
        if home >= 0:
            following[row] = joined[home]
            joined[home] = row
        else:
            tail[homeless] = row
            homeless += 1
    return homeless


@kernel_step
def _merge_tail(codes, tail, begins, count, joined, following, touched, counts, starts, rules, bounds):
    """Merge a tail with the last groups until it is acceptable, with all groups if needed; return the first of them."""
    # Histogram of the tail.
    distinct = ZERO
    for row in tail:
        distinct = count_row(row, codes, touched, distinct, counts)
    size = tail.size
    ask = size
    first = count
    # Add the last groups one by one, testing rarely.
    while first > 0:
        if size >= ask:
            if acceptable(size, touched, distinct, counts, starts, rules, bounds):
                break
            ask = size + (size >> PATIENCE)
        first -= 1
        more, distinct = _count_group(codes, begins, first, joined, following, touched, distinct, counts)
        size += more
    return first


@kernel
def sweep_predicate(
    codes: Codes, ranks: Codes, starts: Counts, rules: Counts, bounds: Counts, smallest: int, groups: Codes
) -> tuple[int, int]:
    """Partition rows into groups for a monotone predicate, closing each group as soon as it is acceptable.

    If rows without a group are the last of their point, and the group before lies at that point only, they join it if
    it stays acceptable (they cost no star there). Rows left at the end of the curve join the nearest group that stays
    acceptable with them, one by one; rows that no group takes are merged with the last groups.

    Parameters
    ----------
    codes : int32[n, q]
        Sensitive codes of the rows, along the curve; numbered as in
        `shoal.algorithms.common.predicate_kernel.acceptable`.
    ranks : int32[n]
        Point of each row on the curve, ascending.
    starts, rules, bounds : int64 arrays
        The predicate. All rows together satisfy it.
    smallest : int
        A lower bound on the rows of an acceptable group.
    groups : int32[n]
        Receives the group of each row.

    Returns
    -------
    count : int
        Number of groups.
    left : int
        Number of rows that were left at the end of the curve.
    """
    n = codes.shape[0]
    counts = np.zeros(starts[starts.size - 1], dtype=np.int64)
    touched = np.empty(counts.size, dtype=np.int32)
    begins = np.empty(n + 1, dtype=np.int32)
    # First pass: groups along the curve; the rest is the tail.
    count = _close_groups(codes, ranks, starts, rules, bounds, smallest, begins, touched, counts)
    tail = np.arange(begins[count], n).astype(np.int32)
    left = tail.size
    joined = np.full(count, -1, dtype=np.int32)
    following = np.full(n if left > 0 else 0, -1, dtype=np.int32)
    first = count
    # Second pass: place the tail row by row, then merge the remaining rows.
    if left > 0:
        homeless = _place_tail(codes, tail, begins, count, joined, following, touched, counts, starts, rules, bounds)
        tail = tail[:homeless]
        if homeless > 0:
            first = _merge_tail(codes, tail, begins, count, joined, following, touched, counts, starts, rules, bounds)
    # Write the result; merged groups share the number `first`.
    for g in range(count):
        number = min(g, first)
        for i in range(begins[g], begins[g + 1]):
            groups[i] = number
        row = joined[g]
        while row >= 0:
            groups[row] = number
            row = following[row]
    for row in tail:
        groups[row] = first
    return first + (1 if tail.size > 0 else 0), left
