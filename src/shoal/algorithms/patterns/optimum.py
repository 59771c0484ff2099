"""The fewest stars that follow given patterns: proven, or as near to it as the time allows."""

from __future__ import annotations

import time
from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.facts import Fact
from shoal.algorithms.matching.cover_problem import CoverProblem, GroupPrices
from shoal.algorithms.matching.simplex_matching import cheapest_cover
from shoal.algorithms.patterns.pattern_annealing import annealed
from shoal.algorithms.patterns.pattern_prices import UNIT, Prices, price_rows, remaining
from shoal.algorithms.patterns.program import OutputTypes, solve_pairs
from shoal.algorithms.patterns.program_search import PartialPrograms
from shoal.algorithms.patterns.rounding import RoundedProgram
from shoal.algorithms.patterns.row_assignment import fewest_stars
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal._core.progress import Progress
    from shoal.algorithms.base import Problem
    from shoal.algorithms.patterns.assignment import Assignment

__all__ = ["prove"]

_MOST_PAIRS = 20_000_000
_PRICING_SHARE = 0.3
"""Of the time limit, for the prices at most."""
_NEAR = 0.25
"""Pairs whose use lifts the bound by less than this part of a star are what good solutions use."""
_TINY = 400
"""Pairs of a program that is solved at once."""
_RESTRICTED = 8_000
"""Pairs of the largest program that is solved at once for a better solution; larger ones are solved part by part."""
_RESTRICTED_NODES = 60
_LARGEST_PROGRAM = 60_000
"""Pairs of the largest program that is solved for a proof."""
_PROOF_NODES = 20_000
_PARTS = 40
"""Parts of a larger program, for each `_RESTRICTED` pairs."""


def prove(found: Assignment, problem: Problem, *, method: str, seconds: float) -> tuple[Assignment, int, Fact]:
    """Improve a solution, and bound the cost of all others.

    Parameters
    ----------
    found : Assignment
        What the greedy algorithm found; rows may still wait.
    problem : Problem
    method : {"program", "matching", "fixed-parameter"}
    seconds : float

    Returns
    -------
    found : Assignment
        The best solution; the given one, changed.
    bound : int
        Every solution costs at least this.
    proof : Fact
        What proves the bound.

    Raises
    ------
    ParameterError
        Where there are too many pairs of row types and output types.
    """
    if method == "matching":
        return _matched(found, problem, seconds)
    outputs = OutputTypes.of(found.codes, found.rows, found.starred, found.costs, found.k)
    if len(outputs.members) > _MOST_PAIRS:
        raise ParameterError(
            f"The program would have {len(outputs.members):,} variables, more than {_MOST_PAIRS:,}. Allow fewer "
            "patterns, or use algorithm='patterns', which is within a factor d."
        )
    if method == "fixed-parameter":
        served, bound = fewest_stars(outputs, found.rows, found.k, seconds=seconds, progress=problem.progress)
        if served is not None:
            found.adopt(outputs.members, outputs.pattern_of_pairs(), served)
        return found, bound, Fact("fixed_parameter")
    return _Search(found, outputs, problem, seconds).run()


def _matched(found: Assignment, problem: Problem, seconds: float) -> tuple[Assignment, int, Fact]:
    """Cover the rows by pairs and triples, each at the price of the cheapest pattern that makes it identical."""
    d = found.codes.shape[1]
    bits = 1 << np.arange(d, dtype=np.int64)
    prices = GroupPrices.of_patterns(d, (found.starred @ bits).tolist(), found.costs.tolist())
    rows = CoverProblem(codes=found.codes, counts=found.rows, prices=prices)
    cover = cheapest_cover(rows, time_limit=seconds, progress=problem.progress)
    known = None if found.waiting else found.cost()
    if cover.cost is not None and (known is None or cover.cost < known):
        members = [group[group >= 0] for group in cover.groups]
        differs = [(found.codes[group] != found.codes[group[0]]).any(axis=0) for group in members]
        pattern = [next(j for j in found.order if (found.starred[j] | ~differ).all()) for differ in differs]
        sizes = [len(group) for group in members]
        types = np.concatenate(members).astype(np.int32)
        found.adopt(types, np.repeat(np.array(pattern, dtype=np.int32), sizes), np.ones(len(types), dtype=np.int64))
    return found, min(cover.bound, found.cost()), Fact("simplex_matching", proof=cover.proof)


class _Search:
    """Prices for a bound, annealing and parts for a better solution, rounding for a better bound, and then the rest.

    Every phase counts its work; the time limit only ends what would take too long.
    """

    def __init__(self, found: Assignment, outputs: OutputTypes, problem: Problem, seconds: float) -> None:
        self._found, self._outputs, self._problem = found, outputs, problem
        self._begin, self._seconds = time.perf_counter(), seconds
        self._rng = deepcopy(problem.rng)
        self._star = float(found.costs.max() / found.starred.sum(axis=1).max(initial=1)) or 1.0
        self._served: NDArray[np.int64] | None = None
        self._upper = (2 * int(found.costs.max()) + 1) * int(found.rows.sum())
        self._proof = Fact("lagrangian")

    def run(self) -> tuple[Assignment, int, Fact]:
        """Return the best solution found, the bound, and what proves it; see `prove`."""
        found, outputs = self._found, self._outputs
        if not found.waiting:
            found.tighten()  # so that every group is one of the output types, of which dear twins were dropped
            self._served, self._upper = found.pairs(outputs.members, outputs.pattern_of_pairs()), found.cost()
        prices = price_rows(
            outputs, found.rows, found.k, upper=self._upper, seconds=_PRICING_SHARE * self._seconds,
            progress=self._progress("prices"),
        )  # fmt: skip
        bound = prices.bound
        if bound < self._upper and len(outputs.members) > _TINY:
            self._anneal(prices)
            if bound < self._upper and self._left() > 0:
                prices = self._round(prices)
                bound = prices.bound
            if bound < self._upper and self._left() > 0:
                self._restrict(prices)
        if bound < self._upper:
            bound = self._solve_rest(prices)
        if self._served is not None:
            found.adopt(outputs.members, outputs.pattern_of_pairs(), self._served)
            bound = min(bound, found.cost())
        self._problem.progress("program", 1, 1)
        return found, bound, self._proof

    def _left(self) -> float:
        return max(self._seconds - (time.perf_counter() - self._begin), 0.0)

    def _near(self, prices: Prices) -> NDArray[np.int64]:
        """Return the pairs that good solutions use: those of the known one, and those of a low reduced cost."""
        near = remaining(prices, upper=self._upper, within=int(_NEAR * self._star * UNIT))
        if self._served is not None:
            near |= self._served > 0
        return np.flatnonzero(near)

    def _take(self, pairs: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Take over a solution, given as the rows of some pairs, if it is better."""
        cost = int((self._outputs.costs[self._outputs.of_pairs()[pairs]] * rows).sum())
        if rows.sum() == self._found.rows.sum() and cost < self._upper:
            self._served = np.zeros(len(self._outputs.members), dtype=np.int64)
            self._served[pairs] = rows
            self._upper = cost

    def _anneal(self, prices: Prices) -> None:
        pairs = self._near(prices)
        if self._found.all_star >= 0:  # so that every row has somewhere to go
            pairs = np.union1d(pairs, np.flatnonzero(self._outputs.pattern_of_pairs() == self._found.all_star))
        rows = np.zeros(len(pairs), dtype=np.int64) if self._served is None else self._served[pairs]
        made = annealed(
            self._outputs, self._found.rows, self._found.k, pairs=pairs, rows=rows, star=self._star, rng=self._rng,
            seconds=self._left(), progress=self._progress("annealing"),
        )  # fmt: skip
        self._take(pairs, made)

    def _round(self, prices: Prices) -> Prices:
        """Return prices that prove more."""
        rounded = RoundedProgram(self._outputs, self._found.rows, self._found.k, prices, star=self._star)
        everything = np.ones(len(self._outputs.members), dtype=np.bool_)
        better = rounded.run(
            everything if self._served is None else self._served > 0, upper=self._upper, seconds=self._left(),
            progress=self._progress("rounding"),
        )  # fmt: skip
        if better.exact > prices.exact:
            self._proof = Fact("rounding_program")
        return better

    def _restrict(self, prices: Prices) -> None:
        """Look for a better solution among the pairs of a low reduced cost, at once or part by part."""
        if self._served is None:
            return
        pairs = self._near(prices)
        if len(pairs) <= _RESTRICTED:
            made = solve_pairs(
                self._outputs, self._found.rows, self._found.k, pairs=pairs, roundings=prices.roundings,
                start=self._served[pairs], time_limit=self._left(), work=_RESTRICTED_NODES,
                progress=self._progress("restricted program"),
            )  # fmt: skip
            if made.rows is not None:
                self._take(pairs, made.rows)
            return
        parts = PartialPrograms(
            self._outputs, self._found.rows, self._found.k, pairs=pairs, rows=self._served[pairs], rng=self._rng
        )
        parts.run(
            _PARTS * len(pairs) // _RESTRICTED, bound=prices.bound, seconds=self._left(),
            progress=self._progress("parts"),
        )  # fmt: skip
        self._take(pairs, parts.rows)

    def _solve_rest(self, prices: Prices) -> int:
        """Solve what a better solution could use; return the bound on all."""
        outputs, found = self._outputs, self._found
        keep = remaining(prices, upper=self._upper)
        pairs = np.flatnonzero(keep if self._served is None else keep | (self._served > 0))
        if len(np.unique(outputs.members[keep])) < len(found.rows):  # some rows can be served by no better solution
            return self._upper
        if len(pairs) > _LARGEST_PROGRAM or self._left() == 0:
            return prices.bound
        made = solve_pairs(
            outputs, found.rows, found.k, pairs=pairs, roundings=prices.roundings,
            start=None if self._served is None else self._served[pairs], time_limit=self._left(), work=_PROOF_NODES,
            progress=self._progress("program"),
        )  # fmt: skip
        # What the prices ruled out costs as much as the best solution known, or more.
        bound = min(self._upper, max(prices.bound, made.bound))
        if bound > prices.bound:
            self._proof = Fact("integer_program")
        if made.rows is not None:
            self._take(pairs, made.rows)
        return min(bound, self._upper)

    def _progress(self, step: str) -> Progress:
        def told(_: str, done: int, total: int) -> None:
            self._problem.progress(step, done, total)

        return told
