# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Dynamic programming over all groups that rows of a few types can form (Liang and Yuan 2013, Theorem 8).

Type `i` has `counts[i]` interchangeable rows. A set of rows is therefore a vector of digits up to these counts, and a
state is its number in this mixed radix; type 0 is the least significant digit. A state consists of a low part and a
high part, `state = high * lows + low`. Properties of all low parts and of all high parts are tabulated, and the inner
loops combine two table entries.
"""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import kernel
from shoal.algorithms.common.emd_kernel import within_metric
from shoal.algorithms.common.whole_kernel import ZERO

__all__ = ["NEVER", "cheapest_covers", "cheapest_first_group", "close_vectors", "price_groups"]

NEVER = np.int32(1 << 29)
"""Price of a group that is not acceptable; the sum of two such prices fits into 32 bits."""


@kernel
def close_vectors(numbers, radices, totals, a, b, c, bounds):
    """Test whether groups are close to the table under a metric, given the numbers of their vectors of counts.

    Parameters
    ----------
    numbers : int64 array
        The count of value `v` is `number // radices[v] % (totals[v] + 1)`.
    radices, totals : int64 arrays
        By value of one attribute.
    a, b, c, bounds : int, int, int, int64 array
        The clause, in the form of `shoal.algorithms.common.emd_kernel.within_metric`.
    """
    m = totals.size
    counts = np.zeros(m, dtype=np.int64)
    touched = np.zeros(m, dtype=np.int32)
    accepted = np.zeros(numbers.size, dtype=np.bool_)
    # Decode the counts of each group from its number.
    for i in range(numbers.size):
        size = ZERO
        distinct = ZERO
        for v in range(m):
            counts[v] = numbers[i] // radices[v] % (totals[v] + 1)
            if counts[v] > 0:
                touched[distinct] = v
                distinct += 1
                size += counts[v]
        accepted[i] = within_metric(size, touched, distinct, counts, ZERO, m, a, b, c, bounds, ZERO)
    return accepted


@kernel
def price_groups(low_shared, high_shared, low_sums, high_sums, offsets, acceptable, prices):
    """Compute the price of every state as one group: its stars, NEVER if it is not acceptable or empty.

    Parameters
    ----------
    low_shared, high_shared : int32 arrays of shape (states, d)
        By state of each part: the code that all its rows share, -1 if they differ, -2 if there is no row.
    low_sums, high_sums : int64 arrays of shape (states, 1 + q)
        By state of each part: its rows, then its contribution to the number of the vector of sensitive counts, for each
        attribute in use.
    offsets : int64 array of shape (q,)
        Start of each attribute's vectors in `acceptable`.
    acceptable : bool array
        Whether a group with this vector of counts is acceptable.
    prices : int32 array
        One entry per state; receives the prices.
    """
    lows = low_sums.shape[0]
    # A state is a high and a low part: its facts combine those of both.
    for high in range(high_sums.shape[0]):
        for low in range(lows):
            state = high * lows + low
            rows = high_sums[high, 0] + low_sums[low, 0]
            fine = rows > 0
            # Every attribute in use must have acceptable counts.
            for j in range(offsets.size):
                fine = fine and acceptable[offsets[j] + high_sums[high, j + 1] + low_sums[low, j + 1]]
            if not fine:
                prices[state] = NEVER
                continue
            stars = 0
            # An attribute is starred if the rows of both parts do not share one code.
            for j in range(low_shared.shape[1]):
                one = high_shared[high, j]
                other = low_shared[low, j]
                if -1 in (one, other) or (one != other and -2 not in (one, other)):
                    stars += 1
            prices[state] = stars * rows


@kernel
def cheapest_covers(low_parts, high_parts, prices, best, first, last):
    """Compute `best[first:last]`: the least cost of a partition of each state into acceptable groups.

    OPT(S) = min over T in S that holds a row of S's most significant type of prices[T] + OPT(S - T).

    Parameters
    ----------
    low_parts, high_parts : tuples (starts, items, firsts)
        For each state of the low and of the high digits, the states that are not larger in any digit:
        `items[starts[s]]` to `items[starts[s + 1]]` in ascending order; from `firsts[s]` on they have a row of the most
        significant type in use.
    prices, best : int32 arrays
        By state; `best` is known below `first`.
    first, last : int
        The states to compute, in ascending order.
    """
    low_starts, low_items, low_firsts = low_parts
    high_starts, high_items, high_firsts = high_parts
    lows = low_firsts.size
    # Ascending order: all smaller states are known.
    for state in range(first, last):
        if state == 0:
            best[0] = 0
            continue
        # Restricting T to groups with the most significant type avoids permutations of the same partition.
        high = state // lows
        low = state - high * lows
        least = NEVER
        start = low_starts[low] if high else low_firsts[low]
        end = low_starts[low + 1]
        # All groups T inside the state, by high and low part.
        for p in range(high_firsts[high], high_starts[high + 1]):
            inside = high_items[p] * lows
            left = state - inside
            for q in range(start, end):
                part = low_items[q]
                cost = prices[inside + part] + best[left - part]
                least = min(least, cost)
        best[state] = least


@kernel
def cheapest_first_group(low_parts, high_parts, prices, best, state):
    """Find the first group of a cheapest partition of a state: a group with a row of its most significant type."""
    # Repeat the search of `cheapest_covers` for the group that attains the minimum.
    low_starts, low_items, low_firsts = low_parts
    high_starts, high_items, high_firsts = high_parts
    lows = low_firsts.size
    high = state // lows
    low = state - high * lows
    start = low_starts[low] if high else low_firsts[low]
    for p in range(high_firsts[high], high_starts[high + 1]):
        inside = high_items[p] * lows
        for q in range(start, low_starts[low + 1]):
            group = inside + low_items[q]
            if prices[group] + best[state - group] == best[state]:
                return group
    return -1
