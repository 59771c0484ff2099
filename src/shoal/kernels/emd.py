"""The earth mover's distance of a group's distribution from the table's, in whole numbers.

`c(v)` is the group's count of a value, `T(v)` the table's, `|G|` and `n` the rows. Costs are in units of
1 / (unit * |G| * n). A clause says that a cost is at most `a |G| + b |G| // c`, which fits into 63 bits: see
`shoal.models.ground_distance.limit_of`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int32]
    Counts = NDArray[np.int64]

__all__ = ["equal_costs", "ordered_costs", "within_equal", "within_ordered"]


@njit(cache=True)
def within_equal(
    size: int,
    touched: Codes,
    distinct: int,
    counts: Counts,
    first: int,
    last: int,
    a: int,
    b: int,
    c: int,
    bounds: Counts,
    offset: int,
) -> bool:
    """Decide the equal distance; bounds = n, then T by code."""
    rows = bounds[offset]
    limit = a * size + b * size // c
    cost = 0
    for i in range(distinct):
        v = touched[i]
        if first <= v < last:
            cost += max(counts[v] * rows - bounds[offset + 1 + v - first] * size, 0)
    return cost <= limit


@njit(cache=True)
def within_ordered(
    size: int,
    touched: Codes,
    distinct: int,
    counts: Counts,
    first: int,
    last: int,
    a: int,
    b: int,
    c: int,
    bounds: Counts,
    offset: int,
) -> bool:
    """Decide the ordered distance; bounds = n, s, m, then T by rank, then the rank of each code."""
    rows = bounds[offset]
    shift = bounds[offset + 1]
    values = bounds[offset + 2]
    limit = a * size + b * size // c
    here = np.zeros(values, np.int64)
    for i in range(distinct):
        v = touched[i]
        if first <= v < last:
            here[bounds[offset + 3 + values + v - first]] = counts[v]
    rounding = (1 << shift) - 1
    cost = 0
    prefix = 0
    for i in range(values - 1):
        prefix += here[i] * rows - bounds[offset + 3 + i] * size
        cost += (abs(prefix) + rounding) >> shift
        if cost > limit:
            return False
    return True


@njit(cache=True)
def equal_costs(sizes: Counts, starts: Counts, values: Counts, counts: Counts, totals: Counts, costs: Counts) -> None:
    """Fill in the cost of every group under the equal distance (unit 1).

    Parameters
    ----------
    sizes, starts, values, counts, totals : int64 arrays
        Counted groups, see `shoal.models.GroupCounts`; fewer than 2**31 rows.
    costs : int64[groups]
        Receives the costs.
    """
    rows = totals.sum()
    for g in range(sizes.size):
        cost = 0
        for j in range(starts[g], starts[g + 1]):
            cost += max(counts[j] * rows - totals[values[j]] * sizes[g], 0)
        costs[g] = cost


@njit(cache=True)
def ordered_costs(sizes: Counts, starts: Counts, values: Counts, counts: Counts, totals: Counts, costs: Counts) -> None:
    """Fill in the cost of every group under the ordered distance (unit m - 1), codes being ranks.

    Parameters
    ----------
    sizes, starts, values, counts, totals : int64 arrays
        Counted groups, see `shoal.models.GroupCounts`; rows**2 * m is below 2**63.
    costs : int64[groups]
        Receives the costs.
    """
    rows = totals.sum()
    here = np.zeros(totals.size, np.int64)
    for g in range(sizes.size):
        for j in range(starts[g], starts[g + 1]):
            here[values[j]] = counts[j] * rows
        cost = 0
        prefix = 0
        for v in range(totals.size):
            prefix += here[v] - totals[v] * sizes[g]
            cost += abs(prefix)
            here[v] = 0
        costs[g] = cost
