# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""A Lagrangian bound for pattern-guided k-anonymity, from prices of row types and the value of each output type.

Every row type pays a price for each of its rows; an output type takes the rows whose price exceeds its cost, and must
take k rows if it takes any. For any prices, the payments of the types and the earnings of the output types add up to a
lower bound on every solution. All of it is computed in whole numbers, so that the bound holds without a tolerance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import kernel, kernel_step

__all__ = ["Relaxed", "fix_by_price", "lagrangian"]

# More than any cost: the value of an output type that cannot have k rows.
_TAKEN = np.int64(1 << 62)


class Relaxed(NamedTuple):
    """The program without the constraint that every row is served exactly once."""

    starts: NDArray[np.int64]
    """Start of the row types of each output type in `members`; one more than there are output types."""
    members: NDArray[np.int32]
    """Row types that are compatible with each output type; together they hold at least k rows."""
    sizes: NDArray[np.int64]
    """Rows of each row type."""
    serving: NDArray[np.int64]
    """Cost of a row of each entry of `members` in that output type, in the unit of the prices."""
    k: int


@kernel_step
def _value(relaxed, j, prices, extra, filler, stop_early):
    """Compute the smallest cost of an output type in use, less the payments of its rows, and how it reaches k rows.

    Row types that pay more than the cost are taken whole. If these are too few, the cheapest others fill up: their
    positions go into `filler`, and the number of rows of each into `extra`. Returns the value (it may stop early once
    the value is not negative), the number of fillers, and the most expensive filler.
    """
    # Rows with negative reduced cost are taken in any optimum of the subproblem.
    first, last, k = relaxed.starts[j], relaxed.starts[j + 1], relaxed.k
    value = np.int64(0)
    rows = np.int64(0)
    for q in range(first, last):
        i = relaxed.members[q]
        more = relaxed.serving[q] - prices[i]
        if more < 0:
            value += more * relaxed.sizes[i]
            rows += relaxed.sizes[i]
    # Done if the type has k rows, or if it cannot become negative.
    if (value >= 0 and stop_early) or rows >= k:
        return value, 0, np.int64(0)
    # Fill up to k rows with the smallest reduced costs.
    fillers = 0
    dearest = np.int64(0)
    floor = np.int64(-1)
    floor_at = -1
    # The loop runs at most k times, so that a sort of all entries would cost more.
    while rows < k:
        # The cheapest filler that was not used yet, by (extra cost, position).
        best = -1
        least = _TAKEN
        for q in range(first, last):
            more = relaxed.serving[q] - prices[relaxed.members[q]]
            if more >= 0 and (more > floor or (more == floor and q > floor_at)) and more < least:
                best = q
                least = more
        # All row types together hold fewer than k rows.
        if best < 0:
            return _TAKEN, 0, np.int64(0)
        # The last filler may be taken in part.
        amount = min(relaxed.sizes[relaxed.members[best]], k - rows)
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
def lagrangian(relaxed, prices, slack, values):
    """Compute the bound of given prices, and the subgradient: rows of each type less the rows taken.

    Parameters
    ----------
    relaxed : Relaxed
    prices : int64[t]
        Price of a row of each type.
    slack : int64[t]
        Receives rows of the type less the rows that output types take: the subgradient.
    values : int64[o]
        Receives the value of each output type; negative if it is used.

    Returns
    -------
    bound : int64
    """
    # The payments of all rows; output types of negative value lower them.
    bound = np.int64(0)
    for i in range(relaxed.sizes.size):
        bound += prices[i] * relaxed.sizes[i]
        slack[i] = relaxed.sizes[i]
    extra = np.empty(relaxed.k + 1, dtype=np.int64)
    filler = np.empty(relaxed.k + 1, dtype=np.int64)
    # The subproblems are independent of each other, because only the prices connect them.
    for j in range(relaxed.starts.size - 1):
        value, fillers, _ = _value(relaxed, j, prices, extra, filler, np.bool_(True))
        values[j] = value
        # Only output types that earn something are opened.
        if value < 0:
            bound += value
            for q in range(relaxed.starts[j], relaxed.starts[j + 1]):
                i = relaxed.members[q]
                if relaxed.serving[q] < prices[i]:
                    slack[i] -= relaxed.sizes[i]
            for f in range(fillers):
                slack[relaxed.members[filler[f]]] -= extra[f]
    return bound


@kernel
def fix_by_price(relaxed, prices, bound, limit, keep):
    """Mark the pairs of row type and output type that a solution cheaper than `limit` may use.

    A pair is excluded if serving one row with it would raise the bound to `limit` or more. `keep` (bool, one per entry
    of `members`) is filled; returns the number of kept pairs.
    """
    # The whole value is needed here, hence no early stop.
    kept = 0
    extra = np.empty(relaxed.k + 1, dtype=np.int64)
    filler = np.empty(relaxed.k + 1, dtype=np.int64)
    for j in range(relaxed.starts.size - 1):
        value, _, dearest = _value(relaxed, j, prices, extra, filler, np.bool_(False))
        # Opening an unused type costs its value; a used type is already in the bound.
        rise = max(value, np.int64(0))
        for q in range(relaxed.starts[j], relaxed.starts[j + 1]):
            # A row may take the place of the most expensive filler.
            more = relaxed.serving[q] - prices[relaxed.members[q]]
            keep[q] = value < _TAKEN and bound + rise + max(more - dearest, np.int64(0)) < limit
            if keep[q]:
                kept += 1
    return kept
