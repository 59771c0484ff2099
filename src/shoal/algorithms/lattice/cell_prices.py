"""Prices for rows that fit cells: a Lagrangian relaxation, the bound that it proves, and the cells of good groups.

Every row pays its price, and the constraint that it follows exactly one cell is relaxed. Rows of a cell that is not
listed lose more there than any price: such cells change nothing. `shoal.algorithms.patterns.pattern_prices` does the
same for patterns.

References
----------
M. L. Fisher, "The Lagrangian relaxation method for solving integer programming problems", Management Science 27(1),
1981. doi:10.1287/mnsc.27.1.1
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.algorithms.common.lagrange_kernel import Relaxed, fix_by_price, lagrangian
from shoal.algorithms.lattice.lattice_cells import COST_UNIT, LatticeCells

FINE = 1 << 14
"""Prices count in units of 1 / FINE of a cost."""
_WORK = 200_000_000
"""Pairs of a class and a cell to visit, over all rounds: on Adult two seconds."""
_MOST_ROUNDS = 150
_AHEAD = 0.1
"""Steps aim at a bound higher than the best so far by this share; that much is gained soon on Adult."""
_MOMENTUM = 0.6
"""Share of the previous direction added to each: half as many rounds prove the same bound on Adult."""
_PATIENCE = 4
"""Rounds without a better bound before the step is halved; chosen on Adult."""
_FINEST_STEP = 1 / 1024
_ROUNDING = 1e-9
"""Relative margin for rounding: sums and divisions of floating-point numbers are off by far less."""


def round_bound_down(bound: float) -> float:
    """Lower a bound by the margin for rounding, so that it holds despite floating-point errors."""
    return bound * (1 - _ROUNDING)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PricedCells:
    """Cells, and the prices of the rows that prove the best bound."""

    relaxed: Relaxed
    values: NDArray[np.int64]
    exact: int
    """Lower bound on the loss of all rows, in units of 1 / (COST_UNIT * FINE)."""

    @property
    def bound(self) -> float:
        """Lower bound on the loss of all rows, in cells of the table that become stars."""
        return max(self.exact, 0) / (COST_UNIT * FINE)

    def near(self, within: float) -> NDArray[np.bool_]:
        """Select the pairs of class and cell whose use lifts the bound by less than this many stars."""
        keep = np.empty(len(self.relaxed.members), dtype=np.bool_)
        fix_by_price(self.relaxed, self.values, self.exact, self.exact + int(within * COST_UNIT * FINE), keep)
        return keep


def price(cells: LatticeCells, *, work: int = _WORK, progress: Progress = silent) -> PricedCells:
    """Find prices that prove a good bound on the loss of all rows, by a subgradient method with momentum.

    Parameters
    ----------
    cells : LatticeCells
    work : int
        Number of pairs to visit, over all rounds.
    progress : callable
        Called with ("prices", rounds done, rounds at most).
    """
    # Each row starts with the cost of its cheapest cell, the largest price that no single cell undercuts.
    sizes, costs = cells.sizes, cells.costs * FINE
    largest = cells.dearest * FINE
    prices = np.full(len(sizes), largest, dtype=np.int64)
    np.minimum.at(prices, cells.members, costs[cells.of_pairs])
    relaxed = Relaxed(cells.starts, cells.members, sizes, costs[cells.of_pairs], cells.k)
    slack, gains = np.empty(len(sizes), dtype=np.int64), np.empty(len(cells), dtype=np.int64)
    best, best_prices, step, worse = -1, prices, 1.0, 0
    direction = np.zeros(len(sizes))
    rounds = min(max(work // max(len(cells.members), 1), 1), _MOST_ROUNDS)
    # Each round evaluates the bound and moves the prices along the subgradient.
    for round_ in range(rounds):
        progress("prices", round_, rounds)
        bound = int(lagrangian(relaxed, prices, slack, gains))
        if bound > best:
            best, best_prices, worse = bound, prices, 0
        else:
            worse += 1
        # A zero subgradient proves that the prices are optimal.
        if not slack.any():
            break
        # No progress: halve the step, and restart from the best prices.
        if worse > _PATIENCE:
            step, worse, prices = step / 2, 0, best_prices
            lagrangian(relaxed, prices, slack, gains)
            direction[:] = 0.0
        # Momentum; classes count in proportion to their rows.
        direction = slack / sizes + _MOMENTUM * direction
        norm = float(np.dot(direction * direction, sizes))
        if step < _FINEST_STEP or norm == 0:
            break
        length = step * max(_AHEAD * best, 1.0) / norm
        prices = np.clip(prices + np.rint(length * direction).astype(np.int64), 0, largest)
    progress("prices", rounds, rounds)
    return PricedCells(relaxed=relaxed, values=best_prices, exact=best)
