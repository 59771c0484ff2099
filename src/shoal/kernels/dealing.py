"""Dealing rows out to groups so that each gets its share of every sensitive value, and cutting groups the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from shoal.kernels.predicate import acceptable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int32]
    Counts = NDArray[np.int64]

__all__ = ["deal_in_two", "dealt_failures", "join_failing"]


@njit(cache=True)
def _count(row, sensitive, touched, distinct, counts):
    """Add a row to a histogram; return how many codes occur in it now."""
    for j in range(sensitive.shape[1]):
        v = sensitive[row, j]
        if counts[v] == 0:
            touched[distinct] = v
            distinct += 1
        counts[v] += 1
    return distinct


@njit(cache=True)
def _clear(touched, distinct, counts):
    """Empty a histogram; return 0."""
    for i in range(distinct):
        counts[touched[i]] = 0
    return 0


@njit(cache=True)
def dealt_failures(dealt, sensitive, count, starts, rules, bounds, enough):
    """Return how many groups are not acceptable when rows are dealt out in turn: `dealt[i]` to group `i % count`.

    Parameters
    ----------
    dealt : int32[n]
        The rows in the order in which they are dealt.
    sensitive : int32[n, q]
        Sensitive codes of each row, see `acceptable`.
    count : int
        Number of groups, from 1 to n.
    starts, rules, bounds : arrays
        The predicate.
    enough : int
        Counting stops beyond so many.
    """
    counts = np.zeros(starts[starts.size - 1], dtype=np.int64)
    touched = np.empty(counts.size, dtype=np.int32)
    failures = 0
    for g in range(count):
        distinct = 0
        size = 0
        for i in range(g, dealt.size, count):
            distinct = _count(dealt[i], sensitive, touched, distinct, counts)
            size += 1
        if not acceptable(size, touched, distinct, counts, starts, rules, bounds):
            failures += 1
        distinct = _clear(touched, distinct, counts)
        if failures > enough:
            break
    return failures


@njit(cache=True)
def join_failing(order, begins, sensitive, starts, rules, bounds, joined):
    """Join groups that are not acceptable with those that follow, until they are.

    Parameters
    ----------
    order : int32[n]
        The rows, group after group. Together they are acceptable.
    begins : int64[count + 1]
        Where each group starts in `order`.
    sensitive : int32[n, q]
        Sensitive codes of each row, see `acceptable`.
    starts, rules, bounds : arrays
        The predicate.
    joined : int32[count]
        Receives the new number of each group.

    Returns
    -------
    int
        How many groups are left.
    """
    count = begins.size - 1
    counts = np.zeros(starts[starts.size - 1], dtype=np.int64)
    touched = np.empty(counts.size, dtype=np.int32)
    distinct = 0
    size = 0
    left = 0
    for g in range(count):
        joined[g] = left
        size += begins[g + 1] - begins[g]
        for i in range(begins[g], begins[g + 1]):
            distinct = _count(order[i], sensitive, touched, distinct, counts)
        if acceptable(size, touched, distinct, counts, starts, rules, bounds):
            left += 1
            size = 0
            distinct = _clear(touched, distinct, counts)
    if size == 0:
        return left
    # What is left at the end joins the groups before it, as many as it needs.
    g = count - 1
    while joined[g] == left and g > 0:
        g -= 1
    while left > 0:
        left -= 1
        while g >= 0 and joined[g] == left:
            size += begins[g + 1] - begins[g]
            for i in range(begins[g], begins[g + 1]):
                distinct = _count(order[i], sensitive, touched, distinct, counts)
            g -= 1
        if acceptable(size, touched, distinct, counts, starts, rules, bounds):
            break
    for h in range(g + 1, count):
        joined[h] = left
    return left + 1


@njit(cache=True)
def deal_in_two(members, groups, kinds, standing, sensitive, starts, rules, bounds, smallest, labels):
    """Deal every group in two halves; keep what is acceptable on both sides.

    Of each kind the half that stands first in an order goes to one side; odd rows go to the sides in turn.

    Parameters
    ----------
    members, groups : int32 array, int64[count, 3]
        The state of the search, see `shoal.kernels.exchange`.
    kinds : int32[n]
        Rows of one kind agree on everything that the predicate looks at; kinds that are alike have near numbers.
    standing : int32[n]
        Place of each row in the order.
    sensitive : int32[n, q]
        Sensitive codes of each row, see `acceptable`.
    starts, rules, bounds : arrays
        The predicate.
    smallest : int
        Fewest rows of an acceptable group.
    labels : int32[n]
        Receives the group of each row.

    Returns
    -------
    int
        How many groups there are now.
    """
    counts = np.zeros(starts[starts.size - 1], dtype=np.int64)
    touched = np.empty(counts.size, dtype=np.int32)
    count = groups.shape[0]
    for g in range(groups.shape[0]):
        begin = groups[g, 0]
        size = groups[g, 1]
        keys = np.empty(size, dtype=np.int64)
        for i in range(size):
            row = members[begin + i]
            labels[row] = g
            keys[i] = (np.int64(kinds[row]) << 32) | standing[row]
        if size < 2 * smallest:
            continue
        order = np.argsort(keys)
        second = np.zeros(size, dtype=np.bool_)
        extra = 1
        first = 0
        while first < size:
            last = first
            while last < size and keys[order[last]] >> 32 == keys[order[first]] >> 32:
                last += 1
            half = (last - first) // 2
            if (last - first) % 2 == 1:
                half += extra
                extra = 1 - extra
            for i in range(first + half, last):
                second[order[i]] = True
            first = last
        both = True
        for side in range(2):
            distinct = 0
            rows = 0
            for i in range(size):
                if second[i] == (side == 1):
                    rows += 1
                    distinct = _count(members[begin + i], sensitive, touched, distinct, counts)
            both = both and acceptable(rows, touched, distinct, counts, starts, rules, bounds)
            distinct = _clear(touched, distinct, counts)
            if not both:
                break
        if both:
            for i in range(size):
                if second[i]:
                    labels[members[begin + i]] = count
            count += 1
    return count
