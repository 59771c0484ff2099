# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""A Lagrangian bound for pattern-guided k-anonymity: prices for row types, and what each output type makes of them.

Every row type pays a price for each of its rows; an output type takes the rows whose price exceeds its cost, and must
take k rows when it takes any. Whatever the prices are, what the types pay and the output types earn is a lower bound
on every solution. All of it is computed in whole numbers, so that the bound holds without a tolerance.
"""

from __future__ import annotations

import numpy as np

from shoal._compiling import kernel, kernel_step

__all__ = ["fix_by_price", "lagrangian"]

_TAKEN = np.int64(1 << 62)


@kernel_step
def _value(first, last, cost, members, prices, sizes, k, extra, filler, stop_early):
    """Return what an output type costs at least when it is used, less what its rows pay, and how it gets k rows.

    Row types that pay more than the cost are taken whole. Where these are too few, the cheapest others fill up: their
    positions go into `filler`, and how many rows of each into `extra`. Returns the value (it may stop early once it is
    not negative), the number of fillers, and the dearest filler.
    """
    value = np.int64(0)
    rows = np.int64(0)
    for q in range(first, last):
        i = members[q]
        if prices[i] > cost:
            value += (cost - prices[i]) * sizes[i]
            rows += sizes[i]
    if (value == 0 and stop_early) or rows >= k:
        return value, 0, np.int64(0)
    fillers = 0
    dearest = np.int64(0)
    floor = np.int64(-1)
    floor_at = -1
    while rows < k:
        # The cheapest filler that was not used yet, by (extra cost, position).
        best = -1
        least = _TAKEN
        for q in range(first, last):
            more = cost - prices[members[q]]
            if more >= 0 and (more > floor or (more == floor and q > floor_at)) and more < least:
                best = q
                least = more
        if best < 0:
            return _TAKEN, 0, np.int64(0)
        amount = min(sizes[members[best]], k - rows)
        value += amount * least
        rows += amount
        dearest = least
        floor = least
        floor_at = best
        filler[fillers] = best
        extra[fillers] = amount
        fillers += 1
        if stop_early and value >= 0:
            return value, 0, dearest
    return value, fillers, dearest


@kernel
def lagrangian(prices, output_costs, starts, members, sizes, k, slack, values):
    """Return the bound that prices prove, and how far each row type is from being served exactly once.

    Parameters
    ----------
    prices : int64[t]
        What a row of each type pays.
    output_costs : int64[o]
        What a row costs in each output type, in the unit of the prices.
    starts, members : int64[o + 1], int32[:]
        Row types that are compatible with each output type; together they hold at least k rows.
    sizes : int64[t]
    k : int64
    slack : int64[t]
        Filled with rows of the type less the rows that output types take: the subgradient.
    values : int64[o]
        Filled with the value of each output type; negative where it is used.

    Returns
    -------
    bound : int64
    """
    bound = np.int64(0)
    for i in range(sizes.size):
        bound += prices[i] * sizes[i]
        slack[i] = sizes[i]
    extra = np.empty(k + 1, dtype=np.int64)
    filler = np.empty(k + 1, dtype=np.int64)
    for j in range(output_costs.size):
        value, fillers, _ = _value(
            starts[j], starts[j + 1], output_costs[j], members, prices, sizes, k, extra, filler, np.bool_(True)
        )
        values[j] = value
        if value < 0:
            bound += value
            for q in range(starts[j], starts[j + 1]):
                i = members[q]
                if prices[i] > output_costs[j]:
                    slack[i] -= sizes[i]
            for f in range(fillers):
                slack[members[filler[f]]] -= extra[f]
    return bound


@kernel
def fix_by_price(prices, output_costs, starts, members, sizes, k, bound, limit, keep):
    """Mark the pairs of row type and output type that a solution cheaper than `limit` may use.

    A pair is out when serving one row that way would lift the bound to `limit` or more. `keep` (bool, one per entry of
    `members`) is filled; returns how many are kept.
    """
    kept = 0
    extra = np.empty(k + 1, dtype=np.int64)
    filler = np.empty(k + 1, dtype=np.int64)
    for j in range(output_costs.size):
        first = starts[j]
        last = starts[j + 1]
        value, _, dearest = _value(
            first, last, output_costs[j], members, prices, sizes, k, extra, filler, np.bool_(False)
        )
        rise = max(value, np.int64(0))
        for q in range(first, last):
            more = output_costs[j] - prices[members[q]]
            keep[q] = value < _TAKEN and bound + rise + max(more - dearest, np.int64(0)) < limit
            if keep[q]:
                kept += 1
    return kept
