"""The cheapest cover by pairs of rows with different values, where there are two values only: an assignment problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal._core.facts import Fact
from shoal.algorithms.matching.cover_problem import FORBIDDEN, Cover
from shoal.algorithms.matching.group_prices_kernel import pair_costs, potentials
from shoal.errors import InternalError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.matching.cover_problem import CoverProblem

__all__ = ["cheapest_pairs"]

MOST_PAIRS = 6_000
"""Rows of one value that are assigned; the matrix of costs has the square of that many entries."""
_PROOF = Fact("bipartite")


def cheapest_pairs(problem: CoverProblem) -> Cover | None:
    """Find the cheapest cover of rows with two values, each of which half of the rows have.

    Parameters
    ----------
    problem : CoverProblem
        With `values`, of which there are two.

    Returns
    -------
    Cover or None
        None where more than `MOST_PAIRS` rows of each value need another one than their equals.

    Notes
    -----
    Every group of such a cover is a pair of both values. Rows that agree in everything but the value are paired first.
    That loses nothing: where x and its equal y are in the pairs {x, u} and {y, v}, the pairs {x, y} and {v, u} are
    allowed too, since v has the value of x and u that of y. They cost no more, because u and v differ in those
    attributes only in which u differs from x or v from y, and prices of stars add up.
    """
    from scipy.optimize import linear_sum_assignment

    assert problem.values is not None
    one, other = np.unique(problem.values)
    left = problem.counts.copy()
    first, second = np.flatnonzero(problem.values == one), np.flatnonzero(problem.values == other)
    if left[first].sum() != left[second].sum():
        raise InternalError("rows of two values can only be paired when both have as many")
    pairs = [_equal_pairs(problem, first, second, left)]
    rows, columns = np.repeat(first, left[first]), np.repeat(second, left[second])
    if len(rows) > MOST_PAIRS:
        return None
    total = 0
    if len(rows):
        costs = pair_costs(problem.codes, problem.prices.table, rows, columns)
        at, to = linear_sum_assignment(costs)
        chosen = np.empty(len(rows), dtype=np.int64)
        chosen[at] = to
        total = int(costs[at, to].sum())
        if total >= FORBIDDEN:
            return None
        if not potentials(costs, chosen):
            raise InternalError("an assignment is not the cheapest")
        pairs.append(np.column_stack((rows, columns[chosen])))
    ends = np.sort(np.concatenate(pairs), axis=1)
    groups = np.full((len(ends), 3), -1, dtype=np.int64)
    groups[:, :2] = ends
    return Cover(groups=groups, cost=total, bound=total, proof=_PROOF, complete=True)


def _equal_pairs(
    problem: CoverProblem, first: NDArray[np.intp], second: NDArray[np.intp], left: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Pair rows that differ in the value only, and take them off the rows that are `left`."""
    _, place = np.unique(problem.codes, axis=0, return_inverse=True)
    partner = np.full(int(place.max()) + 1, -1, dtype=np.int64)
    partner[place[second]] = second
    met = first[partner[place[first]] >= 0]
    equal = partner[place[met]]
    times = np.minimum(left[met], left[equal])
    left[met] -= times
    left[equal] -= times
    return np.column_stack((np.repeat(met, times), np.repeat(equal, times)))
