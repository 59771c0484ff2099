"""Cutting planes for the pattern-guided program: a linear program with rounding inequalities, and its dual prices.

The linear relaxation may use many output types fractionally, more than the rows can fill. Rounding inequalities (see
`Rounding`) limit the number of such groups. The inequalities that a solution violates are added until few are found.
The dual solution is rounded to integers and evaluated by the Lagrangian relaxation over all pairs. The bound therefore
does not depend on the solver's tolerances or on the pairs in the linear program.

References
----------
H. Marchand, L. A. Wolsey, "Aggregation and mixed integer rounding to solve MIPs", Operations Research 49(3), 2001.
doi:10.1287/opre.49.3.363.11211
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.algorithms.patterns.pattern_prices import UNIT, Prices, usable_pairs
from shoal.algorithms.patterns.program import Rounding, pair_program, rounding_rows
from shoal.algorithms.patterns.rounding_kernel import Fraction, violated_set
from shoal.solver.highs import LiveProgram
from shoal.table.compressed import entries_of_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.patterns.program import OutputTypes
    from shoal.solver.highs import Solution

__all__ = ["RoundedProgram"]

_MAX_EXCESSES = (1.0, 0.5, 0.25)
"""Largest reduced cost, in stars, of a pair of the linear program; the first value with few enough pairs is used."""
_MAX_LINEAR_PAIRS = 30_000
"""Largest number of pairs of the linear program."""
_ROUNDS, _REBUILDS = 40, 6
"""Largest number of rounds of inequalities for a set of pairs, and of sets of pairs."""
_TABU_STEPS = 25
"""Number of steps of the search for a violated set."""
_MIN_VIOLATION = 0.01
"""Smallest violation of an inequality that is added."""
_MAX_MISSED = 0.01
"""Pairs with a reduced cost below this share of a star are added to the linear program between two rebuilds."""
_MIN_GAIN = 0.02
"""Smallest improvement of the bound in four rounds that counts as progress."""
_MAX_SIMPLEX_STEPS = 400_000
"""Largest number of simplex iterations of a solve."""
_TOLERANCE = 1e-7
"""Numerical tolerance: a solution uses the variables above it."""


class RoundedProgram:
    """The linear program with rounding inequalities.

    Parameters
    ----------
    outputs : OutputTypes
    sizes : int64 array
        Number of rows of each input type.
    k : int
        Smallest size of a group.
    prices : Prices
        Prices to start from.
    star : float
        Mean cost of a star.
    """

    def __init__(self, outputs: OutputTypes, sizes: NDArray[np.int64], k: int, prices: Prices, *, star: float) -> None:
        self._star = star
        self._outputs, self._sizes, self._k = outputs, sizes, k
        self._output_of = outputs.output_of_pairs()
        self._by_type = np.argsort(outputs.members, kind="stable")
        self._type_starts = np.searchsorted(outputs.members[self._by_type], np.arange(len(sizes) + 1))
        self.best = prices
        """The prices with the best bound so far."""

    def run(self, needed: NDArray[np.bool_], *, upper: int, seconds: float, progress: Progress = silent) -> Prices:
        """Strengthen the program until it proves that no solution costs less than `upper`, or until it stalls.

        Parameters
        ----------
        needed : bool array
            Pairs that make the program feasible, such as those of a solution; one entry per member.
        upper : int
            Cost of the best known solution.
        seconds : float
            Time limit; without it the numbers of rounds and of simplex iterations end the search.
        progress : callable
            Called with ("rounding", rounds done, largest number of rounds).
        """
        # Choose the largest set of pairs that is small enough.
        end = time.perf_counter() + seconds
        for share in _MAX_EXCESSES:
            near = usable_pairs(self.best, upper=upper, within=int(share * self._star * UNIT))
            pairs = np.flatnonzero(near | needed)
            if len(pairs) <= _MAX_LINEAR_PAIRS:
                break
        # Cutting planes over these pairs, which are extended until no pair is missed.
        roundings: list[Rounding] = []
        for rebuild in range(_REBUILDS):
            if len(pairs) > _MAX_LINEAR_PAIRS:
                break
            made = _CuttingPlanes(self, pairs, roundings, end, progress, rebuild)
            made.run(upper)
            roundings = made.roundings
            if made.prices is None or self.best.bound >= upper or made.ended:
                break
            # Add the pairs with a small reduced cost that are not in the program yet.
            missed = usable_pairs(made.prices, upper=upper, within=int(_MAX_MISSED * self._star * UNIT))
            more = np.union1d(pairs, np.flatnonzero(missed))
            if made.value - made.prices.exact / UNIT < _MIN_GAIN or len(more) == len(pairs):
                break
            pairs = more
        return self.best

    def price_duals(self, solution: Solution, roundings: list[Rounding]) -> Prices:
        """Compute the bound over all pairs that the dual solution of the linear program proves."""
        duals = solution.duals
        assert duals is not None
        # The first duals are prices of the row types.
        values = np.rint(duals[: len(self._sizes)] * UNIT).astype(np.int64)
        # Inequalities with an upper bound have nonpositive duals.
        charged = duals[len(duals) - len(roundings) :] if roundings else np.empty(0)
        charges = np.rint(np.maximum(-charged, 0.0) * UNIT).astype(np.int64).tolist()
        prices = Prices.of(
            self._outputs, self._sizes, self._k, values=values, roundings=tuple(roundings), charges=charges
        )
        if prices.exact > self.best.exact:
            self.best = prices
        return prices

    def build_rounding(
        self, chosen: NDArray[np.bool_], opened: NDArray[np.float64], rows: NDArray[np.float64]
    ) -> Rounding:
        """Build the inequality of a set of row types, with the output types that contribute most in a solution.

        Parameters
        ----------
        chosen : bool array
            The set of row types.
        opened, rows : float arrays
            Solution: the use of each output type (0 to 1), and the rows of each pair.
        """
        # Output types contribute if their use exceeds what their rows from outside the set refund.
        types = np.flatnonzero(chosen)
        most, f = divmod(int(self._sizes[types].sum()), self._k)
        missing = self._k - f
        pairs = self._by_type[entries_of_rows(self._type_starts[types], self._type_starts[types + 1])]
        count = len(self._outputs)
        inside = np.bincount(self._output_of[pairs], weights=rows[pairs], minlength=count)
        total = np.bincount(self._output_of, weights=rows, minlength=count)
        counted = opened - (total - inside) / missing > _TOLERANCE
        members = np.bincount(self._output_of[pairs], minlength=count)
        counted |= members == np.diff(self._outputs.starts)  # all compatible rows are in the set
        outputs = np.flatnonzero(counted)
        own = entries_of_rows(self._outputs.starts[outputs], self._outputs.starts[outputs + 1])
        outside = own[~chosen[self._outputs.members[own]]]
        return Rounding(outputs=outputs, outside=outside, most=most, missing=missing)

    def to_fraction(self, pairs: NDArray[np.int64], solution: Solution) -> tuple[Fraction, NDArray[np.float64]]:
        """Convert a solution to the form that `violated_set` uses; return it and the rows of every pair."""
        assert solution.values is not None
        count = len(self._outputs)
        served = np.zeros(len(self._outputs.members))
        served[pairs] = np.where(solution.values[: len(pairs)] > _TOLERANCE, solution.values[: len(pairs)], 0.0)
        opened = np.zeros(count)
        opened[np.unique(self._output_of[pairs])] = solution.values[len(pairs) :]
        positive = np.flatnonzero(served)
        output_of, types = self._output_of[positive].astype(np.int32), self._outputs.members[positive]
        by_type = np.argsort(types, kind="stable").astype(np.int32)
        return Fraction(
            output_starts=np.searchsorted(output_of, np.arange(count + 1)).astype(np.int64),
            types=types,
            rows=served[positive],
            type_starts=np.searchsorted(types[by_type], np.arange(len(self._sizes) + 1)).astype(np.int64),
            by_type=by_type,
            output_of=output_of,
            opened=opened,
            totals=np.bincount(output_of, weights=served[positive], minlength=count).astype(np.float64),
            sizes=self._sizes,
            k=self._k,
        ), served

    def build_linear_program(self, pairs: NDArray[np.int64], roundings: list[Rounding]) -> LiveProgram:
        """Build the linear program of some pairs."""
        program = pair_program(self._outputs, self._sizes, self._k, pairs, roundings)
        return LiveProgram(replace(program, integer=np.zeros(len(program.costs), dtype=np.bool_)), threads=1)

    def output_types(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """List the output types of some pairs."""
        return np.unique(self._output_of[pairs])


class _CuttingPlanes:
    """Rounds that solve the linear program of some pairs and add violated inequalities."""

    def __init__(
        self,
        rounded: RoundedProgram,
        pairs: NDArray[np.int64],
        roundings: list[Rounding],
        end: float,
        progress: Progress,
        turn: int,
    ) -> None:
        self._rounded, self._pairs, self._end, self._progress, self._turn = rounded, pairs, end, progress, turn
        self._live = rounded.build_linear_program(pairs, roundings)
        self.roundings = list(roundings)
        self.prices: Prices | None = None
        self.value = -np.inf
        self.ended = False

    def run(self, upper: int) -> None:
        """Add violated inequalities until the bound reaches `upper` or stalls."""
        values: list[float] = []
        for round_ in range(_ROUNDS):
            self._progress("rounding", self._turn * _ROUNDS + round_, _REBUILDS * _ROUNDS)
            left = max(self._end - time.perf_counter(), 0.0)
            found = self._live.solve(time_limit=left, work=_MAX_SIMPLEX_STEPS, step="rounding")
            if found.status != "optimal":
                self.ended = True
                return
            self.prices = self._rounded.price_duals(found, self.roundings)
            self.value = found.objective
            values.append(found.objective)
            if self._rounded.best.bound >= upper or (len(values) > 4 and values[-1] - values[-5] < _MIN_GAIN):
                return
            # Add what the solution violates, unless that is nothing.
            new = self._find_violated(found)
            if not new:
                return
            self._live.add_rows(rounding_rows(new, self._pairs, self._rounded.output_types(self._pairs)))
            self.roundings += new

    def _find_violated(self, found: Solution) -> list[Rounding]:
        """Search for violated inequalities, around each output type that is used fractionally."""
        fraction, served = self._rounded.to_fraction(self._pairs, found)
        halves = np.flatnonzero((fraction.opened > _TOLERANCE) & (fraction.opened < 1 - _TOLERANCE))
        new: dict[bytes, Rounding] = {}
        for seed in halves.tolist():
            violation, chosen = violated_set(fraction, seed, _TABU_STEPS)
            if violation > _MIN_VIOLATION and chosen.tobytes() not in new:
                new[chosen.tobytes()] = self._rounded.build_rounding(chosen, fraction.opened, served)
        return list(new.values())
