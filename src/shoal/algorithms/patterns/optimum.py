"""The fewest stars that follow given patterns: proven, or as near to it as the time allows."""

from __future__ import annotations

import time
from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.matching.cover_problem import CoverProblem, GroupPrices
from shoal.algorithms.matching.simplex_matching import cheapest_cover
from shoal.algorithms.patterns.program import OutputTypes, Prices, price_rows, remaining, solve_program
from shoal.algorithms.patterns.program_search import PartialPrograms
from shoal.algorithms.patterns.row_assignment import fewest_stars
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal._progress import Progress
    from shoal.algorithms.base import Problem
    from shoal.algorithms.patterns.assignment import Assignment

__all__ = ["prove"]

_MOST_PAIRS = 20_000_000
_PRICING_SHARE = 0.3
_SMALL_PROGRAM = 20_000
_WORTH_A_LOOK = 1.0


def prove(found: Assignment, problem: Problem, *, method: str, seconds: float) -> tuple[Assignment, int, str]:
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
    proof : str
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
        return found, bound, "fixed-parameter algorithm over all choices of output row types"
    return _Search(found, outputs, problem).run(seconds)


def _matched(found: Assignment, problem: Problem, seconds: float) -> tuple[Assignment, int, str]:
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
    return found, min(cover.bound, found.cost()), f"simplex matching: {cover.proof}"


class _Search:
    """Prices for a bound, parts for a better solution, and the rest of the program in the end."""

    def __init__(self, found: Assignment, outputs: OutputTypes, problem: Problem) -> None:
        self._found, self._outputs, self._problem = found, outputs, problem
        self._served = np.zeros(len(outputs.members), dtype=np.int64)
        self._dear = 2 * int(found.costs.max()) + 1

    def run(self, seconds: float) -> tuple[Assignment, int, str]:
        """Return the best solution found, the bound, and what proves it; see `prove`."""
        began = time.perf_counter()
        found, outputs, k = self._found, self._outputs, self._found.k
        feasible = not found.waiting
        if feasible:
            found.tighten()  # so that every group is one of the output types, of which dear twins were dropped
        upper = found.cost() if feasible else self._dear * int(found.rows.sum())
        prices = price_rows(
            outputs, found.rows, k, upper=upper, seconds=_PRICING_SHARE * seconds, progress=self._progress("prices")
        )
        proof = "Lagrangian relaxation of the integer program"
        if prices.bound >= upper:
            return found, upper, proof
        if feasible:
            self._served = found.pairs(outputs.members, outputs.pattern_of_pairs())
            upper = self._by_parts(prices, upper, seconds - (time.perf_counter() - began))
        left = remaining(outputs, found.rows, k, prices=prices, upper=upper)
        bound = prices.bound
        time_left = max(seconds - (time.perf_counter() - began), 0.0)
        if upper > bound and (time_left > 0 or np.count_nonzero(left) <= _SMALL_PROGRAM):
            result = solve_program(
                outputs, found.rows, k, keep=left, prices=prices, upper=upper, time_limit=max(time_left, _WORTH_A_LOOK),
                progress=self._progress("program"),
            )  # fmt: skip
            if result is not None:
                bound, proof = result.bound, "integer program over output row types"
                if len(result.pairs):
                    self._served = np.zeros(len(outputs.members), dtype=np.int64)
                    self._served[result.pairs] = result.counts
                    feasible = True
        if feasible:
            found.adopt(outputs.members, outputs.pattern_of_pairs(), self._served)
            bound = min(bound, found.cost())
        self._problem.progress("program", 1, 1)
        return found, bound, proof

    def _by_parts(self, prices: Prices, upper: int, seconds: float) -> int:
        """Improve the solution part by part; return its cost."""
        outputs, found = self._outputs, self._found
        left = remaining(outputs, found.rows, found.k, prices=prices, upper=upper)
        if np.count_nonzero(left) <= _SMALL_PROGRAM:  # the whole of it is solved soon
            return upper
        near = remaining(outputs, found.rows, found.k, prices=prices, upper=prices.bound + 2)
        near |= self._served > 0
        if found.all_star >= 0:
            near |= outputs.pattern_of_pairs() == found.all_star
        pairs = np.flatnonzero(near)
        parts = PartialPrograms(
            outputs, found.rows, found.k, pairs=pairs, rows=self._served[pairs], rng=deepcopy(self._problem.rng)
        )
        upper = parts.run(seconds=0.8 * seconds, bound=prices.bound, progress=self._progress("parts"))
        self._served[:] = 0
        self._served[pairs] = parts.rows
        return upper

    def _progress(self, step: str) -> Progress:
        def told(_: str, done: int, total: int) -> None:
            self._problem.progress(step, done, total)

        return told
