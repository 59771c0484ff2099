# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""A Lagrangian bound for pattern-guided k-anonymity: prices for row types, and what each output type makes of them.

Every row type pays a price for each of its rows; an output type takes the rows whose price exceeds its cost, and must
take k rows when it takes any. Whatever the prices are, what the types pay and the output types earn is a lower bound
on every solution. All of it is computed in whole numbers, so that the bound holds without a tolerance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal._compiling import kernel, kernel_step

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Relaxed", "fix_by_price", "lagrangian"]

_TAKEN = np.int64(1 << 62)


class Relaxed(NamedTuple):
    """The program without the rule that every row is served exactly once."""

    starts: NDArray[np.int64]
    """Where the row types of each output type start in `members`; one more than there are output types."""
    members: NDArray[np.int32]
    """Row types that are compatible with each output type; together they hold at least k rows."""
    sizes: NDArray[np.int64]
    """Rows of each row type."""
    serving: NDArray[np.int64]
    """What a row of each entry of `members` costs in that output type, in the unit of the prices."""
    opening: NDArray[np.int64]
    """What each output type costs when it is used, in the same unit; at least 0."""
    k: int


@kernel_step
def _value(relaxed, j, prices, extra, filler, stop_early):
    """Return what an output type costs at least when it is used, less what its rows pay, and how it gets k rows.

    Row types that pay more than the cost are taken whole. Where these are too few, the cheapest others fill up: their
    positions go into `filler`, and how many rows of each into `extra`. Returns the value (it may stop early once it is
    not negative), the number of fillers, and the dearest filler.
    """
    first, last, k = relaxed.starts[j], relaxed.starts[j + 1], relaxed.k
    value = relaxed.opening[j]
    rows = np.int64(0)
    for q in range(first, last):
        i = relaxed.members[q]
        more = relaxed.serving[q] - prices[i]
        if more < 0:
            value += more * relaxed.sizes[i]
            rows += relaxed.sizes[i]
    if (value >= 0 and stop_early) or rows >= k:
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
            more = relaxed.serving[q] - prices[relaxed.members[q]]
            if more >= 0 and (more > floor or (more == floor and q > floor_at)) and more < least:
                best = q
                least = more
        if best < 0:
            return _TAKEN, 0, np.int64(0)
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
    """Return the bound that prices prove, and how far each row type is from being served exactly once.

    Parameters
    ----------
    relaxed : Relaxed
    prices : int64[t]
        What a row of each type pays.
    slack : int64[t]
        Filled with rows of the type less the rows that output types take: the subgradient.
    values : int64[o]
        Filled with the value of each output type; negative where it is used.

    Returns
    -------
    bound : int64
    """
    bound = np.int64(0)
    for i in range(relaxed.sizes.size):
        bound += prices[i] * relaxed.sizes[i]
        slack[i] = relaxed.sizes[i]
    extra = np.empty(relaxed.k + 1, dtype=np.int64)
    filler = np.empty(relaxed.k + 1, dtype=np.int64)
    for j in range(relaxed.opening.size):
        value, fillers, _ = _value(relaxed, j, prices, extra, filler, np.bool_(True))
        values[j] = value
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

    A pair is out when serving one row that way would lift the bound to `limit` or more. `keep` (bool, one per entry of
    `members`) is filled; returns how many are kept.
    """
    kept = 0
    extra = np.empty(relaxed.k + 1, dtype=np.int64)
    filler = np.empty(relaxed.k + 1, dtype=np.int64)
    for j in range(relaxed.opening.size):
        value, _, dearest = _value(relaxed, j, prices, extra, filler, np.bool_(False))
        rise = max(value, np.int64(0))
        for q in range(relaxed.starts[j], relaxed.starts[j + 1]):
            more = relaxed.serving[q] - prices[relaxed.members[q]]
            keep[q] = value < _TAKEN and bound + rise + max(more - dearest, np.int64(0)) < limit
            if keep[q]:
                kept += 1
    return kept
