# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Deal rows out to groups so that each gets its share of every sensitive value, and divide groups the same way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import kernel_step, linear_kernel
from shoal.algorithms.common.histogram_kernel import clear, count_row
from shoal.algorithms.common.predicate_kernel import acceptable
from shoal.algorithms.common.whole_kernel import ZERO

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


__all__ = ["count_failures", "deal", "deal_in_two", "free_failing", "join_failing"]

ATTEMPTS = 6
"""Number of ways to divide a group in two that are tried."""


@linear_kernel
def deal(rows, begins, count, labels):
    """Deal the rows of each bucket out to groups, so that every group gets its share of each bucket.

    Each group in turn takes rows of every bucket according to its share, rounded up or down so as to compensate earlier
    rounding, in this bucket and in this group. So the first groups together have their share of every bucket, for any
    number of groups, and each group has its share of the first buckets together: a deficit in one bucket is made up in
    the next.

    Parameters
    ----------
    rows : int32[n]
        The rows, bucket after bucket, within a bucket in an order in which similar rows are near.
    begins : int64[b + 1]
        Start of each bucket in `rows`.
    count : int
        Number of groups, from 1 to n.
    labels : int32[n]
        Receives the group of each row; some groups may stay empty.
    """
    # `given` counts the rows dealt from each bucket, `carried` the rounding within the group.
    buckets = begins.size - 1
    given = np.zeros(buckets, dtype=np.int64)
    for g in range(count):
        carried = 0
        for b in range(buckets):
            # Shares are in multiples of 1 / count, so that the arithmetic is exact.
            share = (g + 1) * (begins[b + 1] - begins[b]) - given[b] * count
            least = share // count
            take = least
            # Round up if the remainders so far make up half a row.
            if share > least * count and 2 * (share - least * count + carried) >= count:
                take += 1
            carried += share - take * count
            for i in range(begins[b] + given[b], begins[b] + given[b] + take):
                labels[rows[i]] = g
            given[b] += take


@kernel_step
def _fails(order, begin, end, predicate, touched, counts):
    """Test whether the group of these rows is not acceptable. The counts are 0 before and afterwards."""
    distinct = ZERO
    for i in range(begin, end):
        distinct = count_row(np.int64(order[i]), predicate.sensitive, touched, distinct, counts)
    fails = not acceptable(end - begin, touched, distinct, counts, predicate.starts, predicate.rules, predicate.bounds)
    clear(touched, distinct, counts)
    return fails


@linear_kernel
def count_failures(order, begins, predicate, enough):
    """Count the groups that are not acceptable.

    Parameters
    ----------
    order : int32[n]
        The rows, group after group.
    begins : int64[count + 1]
        Start of each group in `order`.
    predicate : Predicate
        The predicate.
    enough : int
        The count stops beyond this number.
    """
    counts = np.zeros(predicate.starts[predicate.starts.size - 1], dtype=np.int64)
    touched = np.empty(counts.size, dtype=np.int32)
    failures = 0
    for g in range(begins.size - 1):
        if _fails(order, begins[g], begins[g + 1], predicate, touched, counts):
            failures += 1
        # The caller only needs to know that there are too many.
        if failures > enough:
            break
    return failures


@linear_kernel
def free_failing(order, begins, predicate, labels):
    """Free the rows of groups that are not acceptable.

    Parameters
    ----------
    order, begins, predicate
        See `count_failures`.
    labels : int32[n]
        Group of each row; -1 afterwards for rows of such groups.
    """
    counts = np.zeros(predicate.starts[predicate.starts.size - 1], dtype=np.int64)
    touched = np.empty(counts.size, dtype=np.int32)
    for g in range(begins.size - 1):
        if _fails(order, begins[g], begins[g + 1], predicate, touched, counts):
            for i in range(begins[g], begins[g + 1]):
                labels[order[i]] = -1


@linear_kernel
def join_failing(order, begins, predicate, joined):
    """Join groups that are not acceptable with the following groups, until they are.

    Parameters
    ----------
    order : int32[n]
        The rows, group after group. Together they are acceptable.
    begins : int64[count + 1]
        Start of each group in `order`.
    predicate : Predicate
        The predicate.
    joined : int32[count]
        Receives the new number of each group.

    Returns
    -------
    int
        Number of groups left.
    """
    count = begins.size - 1
    counts = np.zeros(predicate.starts[predicate.starts.size - 1], dtype=np.int64)
    touched = np.empty(counts.size, dtype=np.int32)
    distinct = ZERO
    size = ZERO
    left = ZERO
    # Forward pass: collect groups until their union is acceptable.
    for g in range(count):
        joined[g] = left
        size += begins[g + 1] - begins[g]
        for i in range(begins[g], begins[g + 1]):
            distinct = count_row(np.int64(order[i]), predicate.sensitive, touched, distinct, counts)
        if acceptable(size, touched, distinct, counts, predicate.starts, predicate.rules, predicate.bounds):
            left += 1
            size = ZERO
            distinct = clear(touched, distinct, counts)
    if size == 0:
        return left
    # Rows left at the end join as many of the groups before as they need.
    g = count - 1
    while joined[g] == left and g > 0:
        g -= 1
    # Backward pass: take whole joined groups until the union is acceptable.
    while left > 0:
        left -= 1
        while g >= 0 and joined[g] == left:
            size += begins[g + 1] - begins[g]
            for i in range(begins[g], begins[g + 1]):
                distinct = count_row(np.int64(order[i]), predicate.sensitive, touched, distinct, counts)
            g -= 1
        if acceptable(size, touched, distinct, counts, predicate.starts, predicate.rules, predicate.bounds):
            break
    # The union is one group.
    for h in range(g + 1, count):
        joined[h] = left
    return left + 1


@kernel_step
def _deal_odd_rows(order, begin, end, kinds, attempt, second):
    """Divide every kind of a group between two sides: `second` receives 0 or 1 for each row.

    The first two attempts give odd rows to the sides in turn, the other attempts by the bits of a scrambled number.
    """
    # Multiply by 2**64 over the golden ratio, so that the attempts have unrelated bits.
    turn = attempt & 1
    bits = np.uint64(attempt) * np.uint64(0x9E3779B97F4A7C15)
    first = begin
    # A kind is a run of the order.
    while first < end:
        last = first
        while last < end and kinds[order[last]] == kinds[order[first]]:
            last += 1
        half = (last - first) // 2
        # The odd row goes to the side of this turn.
        if (last - first) % 2 == 1:
            half += turn
            if attempt < 2:
                turn = 1 - turn
            else:
                bits ^= bits >> np.uint64(12)
                bits ^= bits << np.uint64(25)
                bits ^= bits >> np.uint64(27)
                turn = np.int64(bits >> np.uint64(40)) & 1
        # The first half of the run is the first side.
        for i in range(first, last):
            second[i] = 0 if i < first + half else 1
        first = last


@linear_kernel
def deal_in_two(order, begins, kinds, predicate, smallest, labels):
    """Divide every group in two halves; keep the division if both sides are acceptable.

    Of each kind the first half in an order goes to one side; odd rows go to one side or the other, in several attempts.

    Parameters
    ----------
    order : int32[n]
        The rows, group after group, within a group kind after kind, within a kind in the order.
    begins : int64[count + 1]
        Start of each group in `order`.
    kinds : int32[n]
        Rows of one kind agree on everything that the predicate uses; similar kinds have near numbers.
    predicate : Predicate
        The predicate.
    smallest : int
        Fewest rows of an acceptable group.
    labels : int32[n]
        Receives the group of each row.

    Returns
    -------
    int
        New number of groups.
    """
    counts = np.zeros(predicate.starts[predicate.starts.size - 1], dtype=np.int64)
    touched = np.empty(counts.size, dtype=np.int32)
    second = np.empty(order.size, dtype=np.int32)
    count = begins.size - 1
    # Every group keeps its number; a second half gets a new number.
    for g in range(begins.size - 1):
        begin, end = begins[g], begins[g + 1]
        for i in range(begin, end):
            labels[order[i]] = g
        # Too small for two groups.
        if end - begin < 2 * smallest:
            continue
        for attempt in range(ATTEMPTS):
            _deal_odd_rows(order, begin, end, kinds, attempt, second)
            both = True
            # Count each side and test it; the second side only if the first is acceptable.
            for side in range(2):
                distinct = ZERO
                rows = ZERO
                for i in range(begin, end):
                    if second[i] == side:
                        rows += 1
                        distinct = count_row(np.int64(order[i]), predicate.sensitive, touched, distinct, counts)
                both = acceptable(rows, touched, distinct, counts, predicate.starts, predicate.rules, predicate.bounds)
                distinct = clear(touched, distinct, counts)
                if not both:
                    break
            # The first attempt that succeeds is taken.
            if both:
                for i in range(begin, end):
                    if second[i] == 1:
                        labels[order[i]] = count
                count += 1
                break
    return count
