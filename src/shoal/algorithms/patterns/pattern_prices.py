"""Prices for rows: a Lagrangian relaxation of the pattern-guided program, and what it rules out.

Every row type pays a price for each of its rows, and no rule says any more that it is served exactly once. That proves
a bound of its own, and rules out every pair of input and output type that no solution better than the best known can
use.

References
----------
M. L. Fisher, "The Lagrangian relaxation method for solving integer programming problems", Management Science 27(1),
1981. doi:10.1287/mnsc.27.1.1
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.algorithms.common.lagrange_kernel import Relaxed, fix_by_price, lagrangian

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.algorithms.patterns.program import OutputTypes, Rounding

__all__ = ["UNIT", "Prices", "price_rows", "remaining"]

UNIT = 1 << 20
"""Prices count in units of 1 / UNIT of the smallest cost."""
_PATIENCE = 30
"""Rounds without a better bound until the step is halved."""
_FINEST_STEP = 1 / 4096
_MOST_ROUNDS = 20_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Prices:
    """Prices of the input row types, and the bound that they prove."""

    relaxed: Relaxed
    """The program that they relax; what rounding inequalities charge is added to its costs."""
    values: NDArray[np.int64]
    """Price of a row of each type, in units of 1 / UNIT of the smallest cost."""
    exact: int
    """The bound in that unit."""
    roundings: tuple[Rounding, ...] = ()
    """The inequalities that are charged, and others worth telling the solver."""

    @property
    def bound(self) -> int:
        """What every solution costs at least: a whole number."""
        return -(-self.exact // UNIT)

    @classmethod
    def of(
        cls,
        outputs: OutputTypes,
        sizes: NDArray[np.int64],
        k: int,
        *,
        values: NDArray[np.int64],
        roundings: tuple[Rounding, ...] = (),
        charges: Sequence[int] = (),
    ) -> Prices:
        """Return what prices of the row types, and charges of rounding inequalities, prove.

        Parameters
        ----------
        outputs : OutputTypes
        sizes : int64 array
            Rows of each input row type.
        k : int
        values : int64 array
            Any prices.
        roundings : sequence of Rounding
        charges : sequence of int
            What each inequality charges an output type for each row that it misses, >= 0 (any are allowed): k - f
            times that for opening an output type, of which every row from outside gives back one part.
        """
        serving = (outputs.costs * UNIT)[outputs.of_pairs()]
        opening = np.zeros(len(outputs), dtype=np.int64)
        constant = 0
        for cut, charge in zip(roundings, charges, strict=True):
            opening[cut.outputs] += charge * cut.missing
            serving[cut.outside] -= charge
            constant += charge * cut.missing * cut.most
        relaxed = Relaxed(outputs.starts, outputs.members, sizes, serving, opening, k)
        slack, gains = np.empty(len(sizes), dtype=np.int64), np.empty(len(outputs), dtype=np.int64)
        exact = int(lagrangian(relaxed, values, slack, gains)) - constant
        return cls(relaxed=relaxed, values=values, exact=exact, roundings=roundings)


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
        Rows of each input type.
    k : int
    upper : int
        Cost of the best solution known.
    seconds : float
        When to stop at the latest; otherwise rounds are counted.
    progress : callable
        Called with ("prices", rounds done, rounds at most).
    """
    began = time.perf_counter()
    costs = outputs.costs * UNIT
    prices = np.zeros(len(sizes), dtype=np.int64)
    for j in range(len(outputs) - 1, -1, -1):  # the cheapest output type that holds it
        prices[outputs.members[outputs.starts[j] : outputs.starts[j + 1]]] = costs[j]
    relaxed = Relaxed(
        outputs.starts, outputs.members, sizes, costs[outputs.of_pairs()], np.zeros(len(outputs), dtype=np.int64), k
    )
    slack, values = np.empty(len(sizes), dtype=np.int64), np.empty(len(outputs), dtype=np.int64)
    best, best_prices = -1, prices.copy()
    step, worse = 1.0, 0
    for round_ in range(_MOST_ROUNDS):
        bound = int(lagrangian(relaxed, prices, slack, values))
        if bound > best:
            best, best_prices, worse = bound, prices.copy(), 0
        else:
            worse += 1
        if round_ % 50 == 0:
            progress("prices", round_, _MOST_ROUNDS)
        if -(-best // UNIT) >= upper or not slack.any():
            break
        if worse > _PATIENCE:
            step, worse, prices = step / 2, 0, best_prices.copy()
            lagrangian(relaxed, prices, slack, values)
        if step < _FINEST_STEP or time.perf_counter() - began > seconds:
            break
        norm = float((slack.astype(np.float64) ** 2 / sizes).sum())
        length = step * max(upper * UNIT - best, UNIT) / norm if norm else 0.0
        prices = np.clip(prices + np.rint(length * slack / sizes).astype(np.int64), 0, int(costs.max(initial=0)))
    return Prices(relaxed=relaxed, values=best_prices, exact=best)


def remaining(prices: Prices, *, upper: int, within: int = 0) -> NDArray[np.bool_]:
    """Return which pairs of input and output type a solution cheaper than `upper` may use (one per member).

    Parameters
    ----------
    prices : Prices
    upper : int
        A cost.
    within : int, optional
        Rather than those, return the pairs whose use lifts the bound by less than so much, in units of 1 / UNIT of
        the smallest cost.
    """
    keep = np.empty(len(prices.relaxed.members), dtype=np.bool_)
    limit = prices.exact + within if within else (upper - 1) * UNIT + 1
    fix_by_price(prices.relaxed, prices.values, prices.exact, limit, keep)
    return keep
