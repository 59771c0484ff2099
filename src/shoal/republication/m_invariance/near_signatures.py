"""Signatures of values that lie near each other: new rows are shared out by a linear program on counts.

Which rows have which value is not looked at: what decides is how many new rows have each value, and the order of the
values, which anybody knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.republication.m_invariance.invariance_kernel import find_largest_alpha

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.republication.m_invariance.balancing import Steps

    Counts = NDArray[np.int64]

__all__ = ["plan_near_assignments"]

_MIN_ROWS_PER_VALUE = 20
"""With fewer rows for each value, signatures would be too many for what they gain: each is a bucket that will lack
something at every later release (`benchmarks/republish.py`)."""
_MAX_ROUNDS = 30
"""Rounds of column generation; tables with fifty values were done after twelve."""
_MAX_REACH = 3
"""Signatures of m values may reach over so many times m values; wider ones are left to the paper's assignment."""
_LEFTOVER_COST = 1000.0
"""What a row costs that no signature takes: more than any signature can."""
_MIN_GAIN = 1e-7


def plan_near_assignments(rest: Counts, m: int) -> Steps:
    """Return steps that assign rows to buckets of m values that lie near each other.

    A linear program shares all rows out so that the mean reach of a signature (its last value less its first one) is
    the least; sets of m values are generated as they are needed. Its solution is rounded down. After each step the
    rows that are left are m-eligible, so that the paper's assignment can always follow.

    Parameters
    ----------
    rest : array
        How many rows have each value, in the order of the values; they are m-eligible.
    m : int
        The m of m-invariance.

    Returns
    -------
    list of (int, array)
        As `shoal.republication.m_invariance.balancing.plan_assignments`.
    """
    present = np.flatnonzero(rest)
    if len(present) <= m or int(rest.sum()) < _MIN_ROWS_PER_VALUE * len(present):
        return []
    sets, heights = _solve_program(rest[present], m)
    left = rest.copy()
    steps: Steps = []
    for place in np.argsort(-heights, kind="stable").tolist():
        chosen = present[list(sets[place])].astype(np.int32)
        order = np.argsort(-left, kind="stable")
        alpha = min(int(heights[place] + _MIN_GAIN), int(find_largest_alpha(left, order, chosen, m)))
        if alpha > 0:
            left[chosen] -= alpha
            steps.append((alpha, chosen))
    return steps


def _solve_program(counts: Counts, m: int) -> tuple[list[tuple[int, ...]], NDArray[np.float64]]:
    """Return sets of m values, and how many rows of each value each takes in the linear program's solution."""
    from scipy.optimize import linprog

    values = len(counts)
    reach: dict[tuple[int, ...], float] = {}
    _add_sets(reach, counts.astype(np.float64), m, price=None)
    for _ in range(_MAX_ROUNDS):
        sets = list(reach)
        takes = np.zeros((values, len(sets) + values))
        for place, chosen in enumerate(sets):
            takes[list(chosen), place] = 1
        takes[:, len(sets) :] = np.eye(values)
        cost = np.array([*(reach[one] for one in sets), *[_LEFTOVER_COST] * values])
        found = linprog(cost, A_eq=takes, b_eq=counts, method="highs")
        if found.x is None:
            return [], np.zeros(0)
        if not _add_sets(reach, found.eqlin.marginals, m, price=_MIN_GAIN):
            break
    return sets, found.x[: len(sets)]


def _add_sets(reach: dict[tuple[int, ...], float], worth: NDArray[np.float64], m: int, price: float | None) -> bool:
    """Add the set of the m most valuable values within each window, if it is worth more than its reach and `price`."""
    before = len(reach)
    for first in range(len(worth) - m + 1):
        for last in range(first + m, min(first + _MAX_REACH * m, len(worth)) + 1):
            window = np.arange(first, last)
            chosen = np.sort(window[np.argsort(-worth[window], kind="stable")[:m]])
            width = float(chosen[-1] - chosen[0])
            if price is None or worth[chosen].sum() > width + price:
                reach.setdefault(tuple(chosen.tolist()), width)
    return len(reach) > before
