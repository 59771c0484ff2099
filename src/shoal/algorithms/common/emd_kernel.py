# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The earth mover's distance between the distributions of a group and of the table, in whole numbers.

`c(v)` is the group's count of a value, `T(v)` the table's, `|G|` and `n` the numbers of rows. Costs are in multiples of
1 / (unit * |G| * n). A clause bounds a cost by `a |G| + b |G| // c`, which fits into 63 bits: see
`shoal.models.ground_distance.compile_limit`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, inlined

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


__all__ = ["within_equal", "within_hierarchical", "within_metric", "within_ordered"]

_FAR = 2**62
"""More than the length of any path."""


@inlined
def within_equal(size, touched, distinct, counts, first, last, a, b, c, bounds, offset):
    """Decide the equal distance; bounds = n, then T by code."""
    # The distance is the sum of the positive excesses c(v) / |G| - T(v) / n.
    rows = bounds[offset]
    limit = a * size + b * size // c
    cost = 0
    # Values outside the group have no excess.
    for i in range(distinct):
        v = touched[i]
        if first <= v < last:
            cost += max(counts[v] * rows - bounds[offset + 1 + v - first] * size, 0)
    return cost <= limit


@allocating_step
def within_ordered(size, touched, distinct, counts, first, last, a, b, c, bounds, offset):
    """Decide the ordered distance; bounds = n, s, m, then T by rank, then the rank of each code."""
    # A running sum over the ranks: the flow between neighbours is the excess of the prefix.
    rows = bounds[offset]
    shift = bounds[offset + 1]
    values = bounds[offset + 2]
    limit = a * size + b * size // c
    # Counts by rank.
    here = np.zeros(values, np.int64)
    for i in range(distinct):
        v = touched[i]
        if first <= v < last:
            here[bounds[offset + 3 + values + v - first]] = counts[v]
    # Costs are rounded up after the shift, so that the predicate is never laxer than the model.
    rounding = (1 << shift) - 1
    cost = 0
    prefix = 0
    # The last prefix is 0: all excess is balanced there.
    for i in range(values - 1):
        prefix += here[i] * rows - bounds[offset + 3 + i] * size
        cost += (abs(prefix) + rounding) >> shift
        if cost > limit:
            return False
    return True


@allocating_step
def within_hierarchical(size, touched, distinct, counts, first, last, a, b, c, bounds, offset):
    """Decide the hierarchical distance; bounds = n, s, levels, w, T of w nodes by level, each code's node by level."""
    # Each level moves the excess of its nodes up by one step.
    rows = bounds[offset]
    shift = bounds[offset + 1]
    levels = bounds[offset + 2]
    width = bounds[offset + 3]
    limit = a * size + b * size // c
    rounding = (1 << shift) - 1
    here = np.zeros(width, np.int64)
    cost = 0
    for level in range(levels):
        totals = offset + 4 + level * width
        nodes = offset + 4 + levels * width + level * (last - first) - first
        # Sum the counts below each node of the level.
        for i in range(distinct):
            v = touched[i]
            if first <= v < last:
                here[bounds[nodes + v]] += counts[v]
        # Add the excess of each node that occurs, once.
        for i in range(distinct):
            v = touched[i]
            if first <= v < last:
                node = bounds[nodes + v]
                # The entry is 0 from the second value below a node on, because its excess was counted.
                cost += (max(here[node] * rows - bounds[totals + node] * size, 0) + rounding) >> shift
                here[node] = 0
        if cost > limit:
            return False
    return True


@allocating_step
def within_metric(size, touched, distinct, counts, first, last, a, b, c, bounds, offset):
    """Decide a metric; bounds = n, the largest whole distance, T by code, then the whole distances of every two codes.

    Successive shortest paths over the values: excess of one value goes to a value with a deficit along the cheapest
    residual path, by Dijkstra's algorithm with prices (Ahuja, Magnanti, Orlin, *Network Flows*, Section 9.7).
    """
    m = last - first
    limit = a * size + b * size // c
    apart = offset + 2 + m
    # One array, because each of several takes long to compile; the flow from u to v is flow[m * u + v].
    scratch = np.zeros(m * m + 5 * m, np.int64)
    flow, excess, price, length, before, settled = 0, m * m, m * m + m, m * m + 2 * m, m * m + 3 * m, m * m + 4 * m
    # Supplies are positive excesses, demands negative ones; together they cancel out.
    for i in range(distinct):
        v = touched[i]
        if first <= v < last:
            scratch[excess + v - first] = counts[v] * bounds[offset]
    remaining = 0
    for v in range(m):
        scratch[excess + v] -= bounds[offset + 2 + v] * size
        remaining += max(scratch[excess + v], 0)
    cost = 0
    # Paths never become shorter, and none exceeds the largest distance: the loop often ends early.
    while cost + remaining * bounds[offset + 1] > limit:
        # Dijkstra from all values with an excess, until a value with a deficit is settled.
        for v in range(m):
            scratch[before + v] = -1
            scratch[settled + v] = 0
            scratch[length + v] = 0 if scratch[excess + v] > 0 else _FAR
        here = -1
        while here < 0 or scratch[excess + here] >= 0:
            # Settle the nearest open value; m is small, so that a scan is cheaper than a heap.
            here = -1
            for v in range(m):
                nearer = here < 0 or scratch[length + v] < scratch[length + here]
                if scratch[settled + v] == 0 and nearer:
                    here = v
            scratch[settled + here] = 1
            # Relax the arcs from the settled value.
            for v in range(m):
                step = scratch[length + here]
                if scratch[flow + m * v + here] == 0:  # arcs back along a flow cost nothing at these prices
                    step += bounds[apart + m * here + v] + scratch[price + here] - scratch[price + v]
                if step < scratch[length + v]:
                    scratch[length + v] = step
                    scratch[before + v] = here
        # Update the prices, so that reduced costs stay nonnegative.
        for v in range(m):
            scratch[price + v] += min(scratch[length + v], scratch[length + here])
        # The price is 0 at every value with an excess: the price of the end is the length of the path.
        if cost + remaining * scratch[price + here] > limit:
            return False
        # The amount is limited by both ends, and by flows that the path reverses.
        amount = -scratch[excess + here]
        v = here
        while scratch[before + v] >= 0:
            back = scratch[flow + m * v + scratch[before + v]]
            if back > 0:
                amount = min(amount, back)
            v = scratch[before + v]
        amount = min(amount, scratch[excess + v])
        # Augment along the path.
        scratch[excess + v] -= amount
        scratch[excess + here] += amount
        remaining -= amount
        cost += amount * scratch[price + here]
        # A step against a flow cancels it, any other step adds to the flow.
        v = here
        while scratch[before + v] >= 0:
            u = scratch[before + v]
            if scratch[flow + m * v + u] > 0:
                scratch[flow + m * v + u] -= amount
            else:
                scratch[flow + m * u + v] += amount
            v = u
    return True
