"""Signatures whose values lie near each other, found by a linear program on counts.

The program uses only the number of new rows of each value and the order of the values, which is public. It never uses
which row has which value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal._core.optional import require
from shoal.republication.m_invariance.balancing import Steps
from shoal.republication.m_invariance.invariance_kernel import find_largest_alpha

Counts = NDArray[np.int64]


_MIN_ROWS_PER_VALUE = 20
"""Fewest rows per value for which the program is used. With fewer rows there would be too many signatures for the
gain, because each one is a bucket that later releases must balance (`benchmarks/republish.py`)."""
_MAX_ROUNDS = 30
"""Largest number of rounds of column generation; tables with fifty values needed twelve."""
_MAX_REACH = 3
"""Largest reach of a signature of m values, as a multiple of m; wider ones are left to the paper's assignment."""
_LEFTOVER_COST = 1000.0
"""Cost of a row that no signature takes: higher than that of any signature."""
_MIN_GAIN = 1e-7
"""Smallest reduced cost that counts as a gain."""


def plan_near_assignments(rest: Counts, m: int) -> Steps:
    """Plan the assignment of rows to buckets of m values that lie near each other.

    A linear program with column generation shares out all rows so that the mean reach of a signature (its last value
    minus its first) is minimal. Its solution is rounded down. After each step the remaining rows are m-eligible, so
    that the paper's assignment can always follow.

    Parameters
    ----------
    rest : array
        Number of rows of each value, in the order of the values; they are m-eligible.
    m : int
        The m of m-invariance.

    Returns
    -------
    list of (int, array)
        See `shoal.republication.m_invariance.balancing.plan_assignments`.
    """
    # Values without new rows take no part.
    present = np.flatnonzero(rest)
    if len(present) <= m or int(rest.sum()) < _MIN_ROWS_PER_VALUE * len(present):
        return []
    sets, heights = _solve_program(rest[present], m)
    # Take the buckets by height, as far as the remaining rows stay m-eligible.
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
    """Solve the linear program.

    Returns
    -------
    sets : list of tuples
        Sets of m values.
    heights : array
        Number of rows of each value that each set takes.
    """
    linprog = require("scipy.optimize", extra="ledger", purpose="Publishing again and again").linprog
    values = len(counts)
    reach: dict[tuple[int, ...], float] = {}
    _add_sets(reach, counts.astype(np.float64), m, price=None)
    for _ in range(_MAX_ROUNDS):
        sets = list(reach)
        # One column for each set, and one for each value's leftover rows.
        takes = np.zeros((values, len(sets) + values))
        for place, chosen in enumerate(sets):
            takes[list(chosen), place] = 1
        takes[:, len(sets) :] = np.eye(values)
        # Minimize the total reach; leftover rows are expensive.
        cost = np.array([*(reach[one] for one in sets), *[_LEFTOVER_COST] * values])
        found = linprog(cost, A_eq=takes, b_eq=counts, method="highs")
        if found.x is None:
            return [], np.zeros(0)
        # Column generation ends if no set has a negative reduced cost.
        if not _add_sets(reach, found.eqlin.marginals, m, price=_MIN_GAIN):
            break
    return sets, found.x[: len(sets)]


def _add_sets(reach: dict[tuple[int, ...], float], worth: NDArray[np.float64], m: int, price: float | None) -> bool:
    """Add the m most valuable values within each window if their value exceeds their reach plus `price`."""
    before = len(reach)
    for first in range(len(worth) - m + 1):
        for last in range(first + m, min(first + _MAX_REACH * m, len(worth)) + 1):
            window = np.arange(first, last)
            chosen = np.sort(window[np.argsort(-worth[window], kind="stable")[:m]])
            width = float(chosen[-1] - chosen[0])
            if price is None or worth[chosen].sum() > width + price:
                reach.setdefault(tuple(chosen.tolist()), width)
    return len(reach) > before
