"""Lagrangian relaxation of the pattern-guided program: prices of rows, and the pairs that they exclude.

The constraint that every row is served exactly once is replaced by a price for each row of a type. The relaxation
proves a lower bound. It also excludes pairs of input and output types that no solution better than the best known can
use.

References
----------
M. L. Fisher, "The Lagrangian relaxation method for solving integer programming problems", Management Science 27(1),
1981. doi:10.1287/mnsc.27.1.1
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.algorithms.common.lagrange_kernel import Relaxed, fix_by_price, lagrangian
from shoal.algorithms.patterns.program import OutputTypes

UNIT = 1 << 20
"""Prices are integers, in units of 1 / UNIT of the smallest cost."""
_PATIENCE = 30
"""Number of rounds without a better bound after which the step is halved."""
_MIN_STEP = 1 / 4096
"""Smallest step of the subgradient method; below it the method ends."""
_MAX_ROUNDS = 20_000
"""Largest number of rounds of the subgradient method."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Prices:
    """Prices of the input row types, and the bound that they prove."""

    relaxed: Relaxed
    """The relaxed program."""
    values: NDArray[np.int64]
    """Price of a row of each type, in units of 1 / UNIT of the smallest cost."""
    exact: int
    """The bound, in the same unit."""

    @property
    def bound(self) -> int:
        """Lower bound on the cost of any solution, rounded up to an integer."""
        return -(-self.exact // UNIT)


def price_rows(
    outputs: OutputTypes,
    sizes: NDArray[np.int64],
    k: int,
    *,
    upper: int,
    seconds: float,
    progress: Progress = silent,
) -> Prices:
    """Find prices that prove a good bound, by a subgradient method.

    Parameters
    ----------
    outputs : OutputTypes
    sizes : int64 array
        Number of rows of each input type.
    k : int
        Smallest size of a group.
    upper : int
        Cost of the best known solution.
    seconds : float
        Time limit; without it the number of rounds ends the search.
    progress : callable
        Called with ("prices", rounds done, largest number of rounds).
    """
    began = time.perf_counter()
    costs = outputs.costs * UNIT
    # Start from the cost of the cheapest output type of each row type.
    prices = np.zeros(len(sizes), dtype=np.int64)
    for j in range(len(outputs) - 1, -1, -1):
        prices[outputs.members[outputs.starts[j] : outputs.starts[j + 1]]] = costs[j]
    relaxed = Relaxed(outputs.starts, outputs.members, sizes, costs[outputs.output_of_pairs()], k)
    slack, values = np.empty(len(sizes), dtype=np.int64), np.empty(len(outputs), dtype=np.int64)
    best, best_prices = -1, prices.copy()
    step, worse = 1.0, 0
    for round_ in range(_MAX_ROUNDS):
        bound = int(lagrangian(relaxed, prices, slack, values))
        if bound > best:
            best, best_prices, worse = bound, prices.copy(), 0
        else:
            worse += 1
        if round_ % 50 == 0:
            progress("prices", round_, _MAX_ROUNDS)
        if -(-best // UNIT) >= upper or not slack.any():
            break
        # Halve the step and return to the best prices if the bound stalls.
        if worse > _PATIENCE:
            step, worse, prices = step / 2, 0, best_prices.copy()
            lagrangian(relaxed, prices, slack, values)
        if step < _MIN_STEP or time.perf_counter() - began > seconds:
            break
        # Polyak's step along the subgradient, scaled by the sizes of the types.
        norm = float((slack.astype(np.float64) ** 2 / sizes).sum())
        length = step * max(upper * UNIT - best, UNIT) / norm if norm else 0.0
        prices = np.clip(prices + np.rint(length * slack / sizes).astype(np.int64), 0, int(costs.max(initial=0)))
    return Prices(relaxed=relaxed, values=best_prices, exact=best)


def usable_pairs(prices: Prices, *, upper: int, within: int = 0) -> NDArray[np.bool_]:
    """Mark the pairs of input and output types that a solution cheaper than `upper` may use.

    Parameters
    ----------
    prices : Prices
    upper : int
        A cost.
    within : int, optional
        If given, mark instead the pairs whose use raises the bound by less than this, in units of 1 / UNIT of the
        smallest cost.

    Returns
    -------
    bool array
        One entry per entry of `OutputTypes.members`.
    """
    keep = np.empty(len(prices.relaxed.members), dtype=np.bool_)
    limit = prices.exact + within if within else (upper - 1) * UNIT + 1
    fix_by_price(prices.relaxed, prices.values, prices.exact, limit, keep)
    return keep
