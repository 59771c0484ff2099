"""The cheapest cover by pairs of rows with different values, if there are only two values: an assignment problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal.algorithms.matching.cover_problem import FORBIDDEN, Cover, CoverProblem
from shoal.algorithms.matching.group_prices_kernel import is_cheapest_assignment, pair_costs
from shoal.errors import InternalError

MAX_PAIRS = 6_000
"""Largest number of rows of one value to assign; the cost matrix has the square of this many entries."""
_PROOF = Fact("bipartite")


def cheapest_pairs(problem: CoverProblem) -> Cover | None:
    """Find the cheapest cover of rows with two values, if half of the rows have each value.

    Parameters
    ----------
    problem : CoverProblem
        A problem whose `values` are two different numbers.

    Returns
    -------
    Cover or None
        None if more than `MAX_PAIRS` rows of each value are left after equal rows are paired, or if no cover is
        allowed.

    Notes
    -----
    Every group of such a cover is a pair of both values. Rows that differ in nothing but the value are paired first,
    which keeps the optimum: if x and its equal y are in the pairs {x, u} and {y, v}, the pairs {x, y} and {v, u} are
    allowed too, because v has the value of x and u has the value of y. They cost no more, because u and v differ only
    in attributes in which u differs from x or v differs from y, and prices of stars are additive.
    """
    from scipy.optimize import linear_sum_assignment

    assert problem.values is not None
    one, other = np.unique(problem.values)
    # Pair equal rows first.
    left = problem.counts.copy()
    first, second = np.flatnonzero(problem.values == one), np.flatnonzero(problem.values == other)
    if left[first].sum() != left[second].sum():
        raise InternalError("rows of two values can only be paired if both have the same number")
    pairs = [_equal_pairs(problem, first, second, left)]
    rows, columns = np.repeat(first, left[first]), np.repeat(second, left[second])
    if len(rows) > MAX_PAIRS:
        return None
    # Assign the other rows, and prove the assignment optimal in integers.
    total = 0
    if len(rows):
        costs = pair_costs(problem.codes, problem.prices.table, rows, columns)
        at, to = linear_sum_assignment(costs)
        chosen = np.empty(len(rows), dtype=np.int64)
        chosen[at] = to
        total = int(costs[at, to].sum())
        if total >= FORBIDDEN:
            return None
        if not is_cheapest_assignment(costs, chosen):
            raise InternalError("an assignment is not the cheapest")
        pairs.append(np.column_stack((rows, columns[chosen])))
    ends = np.sort(np.concatenate(pairs), axis=1)
    groups = np.full((len(ends), 3), -1, dtype=np.int64)
    groups[:, :2] = ends
    return Cover(groups=groups, cost=total, bound=total, proof=_PROOF, complete=True)


def _equal_pairs(
    problem: CoverProblem, first: NDArray[np.intp], second: NDArray[np.intp], left: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Pair rows that differ only in the value, and subtract them from the counts `left`."""
    _, place = np.unique(problem.codes, axis=0, return_inverse=True)
    partner = np.full(int(place.max()) + 1, -1, dtype=np.int64)
    partner[place[second]] = second
    met = first[partner[place[first]] >= 0]
    equal = partner[place[met]]
    times = np.minimum(left[met], left[equal])
    left[met] -= times
    left[equal] -= times
    return np.column_stack((np.repeat(met, times), np.repeat(equal, times)))
