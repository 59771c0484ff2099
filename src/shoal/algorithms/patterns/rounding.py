"""A linear program of the pattern-guided program that rounding inequalities strengthen, and the prices that it gives.

A linear program may use many output types by halves, more of them than the rows suffice for. Rounding inequalities
(see `Rounding`) count such groups; those that the solution of the linear program violates are added until few are
found. Its dual solution is made whole and judged by the Lagrangian relaxation over all pairs, so that the bound holds
whatever the solver's tolerances are and whichever pairs it was given.

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
from shoal.algorithms.patterns.pattern_prices import UNIT, Prices, remaining
from shoal.algorithms.patterns.program import Rounding, pair_program, rounding_rows
from shoal.algorithms.patterns.rounding_kernel import Fraction, violated_set
from shoal.solver.highs import LiveProgram
from shoal.table.compressed import entries_of_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.patterns.program import OutputTypes
    from shoal.solver.highs import Solution

__all__ = ["RoundedProgram"]

_NEAR = (1.0, 0.5, 0.25)
"""Pairs whose use lifts the bound by less than this part of a star are in the linear program; the first that fits."""
_LARGEST = 30_000
"""Pairs of the largest linear program."""
_ROUNDS, _REBUILDS = 40, 6
_TABU_STEPS = 25
_LEAST_VIOLATION = 0.01
_MISSED = 0.01
"""Pairs whose reduced cost is below this part of a star come into the program, if they were not there."""
_STALLED = 0.02
"""Less than that in four rounds is no progress."""
_SIMPLEX_STEPS = 400_000
_USED = 1e-7


class RoundedProgram:
    """The linear program with its inequalities.

    Parameters
    ----------
    outputs : OutputTypes
    sizes : int64 array
        Rows of each input row type.
    k : int
    prices : Prices
        Where to start from.
    star : float
        What a star costs on average.
    """

    def __init__(self, outputs: OutputTypes, sizes: NDArray[np.int64], k: int, prices: Prices, *, star: float) -> None:
        self._star = star
        self._outputs, self._sizes, self._k = outputs, sizes, k
        self._output_of = outputs.of_pairs()
        self._by_type = np.argsort(outputs.members, kind="stable")
        self._type_starts = np.searchsorted(outputs.members[self._by_type], np.arange(len(sizes) + 1))
        self.best = prices
        """The prices that prove most so far."""

    def run(self, needed: NDArray[np.bool_], *, upper: int, seconds: float, progress: Progress = silent) -> Prices:
        """Strengthen the program until it proves that nothing costs less than `upper`, or little is gained.

        Parameters
        ----------
        needed : bool array
            Pairs that make the program feasible (one per member), those of a solution.
        upper : int
            Cost of the best solution known.
        seconds : float
            When to stop at the latest; otherwise rounds and steps of the simplex algorithm are counted.
        progress : callable
            Called with ("rounding", rounds done, rounds at most).
        """
        end = time.perf_counter() + seconds
        for share in _NEAR:
            near = remaining(self.best, upper=upper, within=int(share * self._star * UNIT))
            pairs = np.flatnonzero(near | needed)
            if len(pairs) <= _LARGEST:
                break
        roundings: list[Rounding] = []
        for rebuild in range(_REBUILDS):
            if len(pairs) > _LARGEST:
                break
            made = _Rounds(self, pairs, roundings, end, progress, rebuild)
            made.run(upper)
            roundings = made.roundings
            if made.prices is None or self.best.bound >= upper or made.ended:
                break
            # What the prices of these pairs miss in others comes in.
            missed = remaining(made.prices, upper=upper, within=int(_MISSED * self._star * UNIT))
            more = np.union1d(pairs, np.flatnonzero(missed))
            if made.value - made.prices.exact / UNIT < _STALLED or len(more) == len(pairs):
                break
            pairs = more
        return self.best

    def priced(self, solution: Solution, roundings: list[Rounding]) -> Prices:
        """Return the bound that the dual solution of a linear program proves over all pairs."""
        duals = solution.duals
        assert duals is not None
        values = np.rint(duals[: len(self._sizes)] * UNIT).astype(np.int64)
        charged = duals[len(duals) - len(roundings) :] if roundings else np.empty(0)
        charges = np.rint(np.maximum(-charged, 0.0) * UNIT).astype(np.int64).tolist()
        prices = Prices.of(
            self._outputs, self._sizes, self._k, values=values, roundings=tuple(roundings), charges=charges
        )
        if prices.exact > self.best.exact:
            self.best = prices
        return prices

    def rounding(self, chosen: NDArray[np.bool_], opened: NDArray[np.float64], rows: NDArray[np.float64]) -> Rounding:
        """Return the inequality of a set of row types, with the output types that count most in a solution.

        Parameters
        ----------
        chosen : bool array
            The set.
        opened, rows : float arrays
            How far each output type is used, and the rows of each pair.
        """
        types = np.flatnonzero(chosen)
        most, f = divmod(int(self._sizes[types].sum()), self._k)
        missing = self._k - f
        pairs = self._by_type[entries_of_rows(self._type_starts[types], self._type_starts[types + 1])]
        count = len(self._outputs)
        inside = np.bincount(self._output_of[pairs], weights=rows[pairs], minlength=count)
        total = np.bincount(self._output_of, weights=rows, minlength=count)
        counted = opened - (total - inside) / missing > _USED
        members = np.bincount(self._output_of[pairs], minlength=count)
        counted |= members == np.diff(self._outputs.starts)  # all of their rows are in the set
        outputs = np.flatnonzero(counted)
        own = entries_of_rows(self._outputs.starts[outputs], self._outputs.starts[outputs + 1])
        outside = own[~chosen[self._outputs.members[own]]]
        return Rounding(outputs=outputs, outside=outside, most=most, missing=missing)

    def fraction(self, pairs: NDArray[np.int64], solution: Solution) -> tuple[Fraction, NDArray[np.float64]]:
        """Return a solution as the search for violated sets wants it, and the rows of every pair."""
        assert solution.values is not None
        count = len(self._outputs)
        served = np.zeros(len(self._outputs.members))
        served[pairs] = np.where(solution.values[: len(pairs)] > _USED, solution.values[: len(pairs)], 0.0)
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

    def linear(self, pairs: NDArray[np.int64], roundings: list[Rounding]) -> LiveProgram:
        """Return the linear program of some pairs."""
        program = pair_program(self._outputs, self._sizes, self._k, pairs, roundings)
        return LiveProgram(replace(program, integer=np.zeros(len(program.costs), dtype=np.bool_)), threads=1)

    def used(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the output types of some pairs."""
        return np.unique(self._output_of[pairs])


class _Rounds:
    """Rounds of solving the linear program of some pairs and adding what its solution violates."""

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
        self._live = rounded.linear(pairs, roundings)
        self.roundings = list(roundings)
        self.prices: Prices | None = None
        self.value = -np.inf
        self.ended = False

    def run(self, upper: int) -> None:
        """Add inequalities until the program proves enough or nothing is gained."""
        values: list[float] = []
        for round_ in range(_ROUNDS):
            self._progress("rounding", self._turn * _ROUNDS + round_, _REBUILDS * _ROUNDS)
            left = max(self._end - time.perf_counter(), 0.0)
            found = self._live.solve(time_limit=left, work=_SIMPLEX_STEPS, step="rounding")
            if found.status != "optimal":
                self.ended = True
                return
            self.prices = self._rounded.priced(found, self.roundings)
            self.value = found.objective
            values.append(found.objective)
            if self._rounded.best.bound >= upper or (len(values) > 4 and values[-1] - values[-5] < _STALLED):
                return
            new = self._violated(found)
            if not new:
                return
            self._live.add_rows(rounding_rows(new, self._pairs, self._rounded.used(self._pairs)))
            self.roundings += new

    def _violated(self, found: Solution) -> list[Rounding]:
        fraction, served = self._rounded.fraction(self._pairs, found)
        halves = np.flatnonzero((fraction.opened > _USED) & (fraction.opened < 1 - _USED))
        new: dict[bytes, Rounding] = {}
        for seed in halves.tolist():
            violation, chosen = violated_set(fraction, seed, _TABU_STEPS)
            if violation > _LEAST_VIOLATION and chosen.tobytes() not in new:
                new[chosen.tobytes()] = self._rounded.rounding(chosen, fraction.opened, served)
        return list(new.values())
