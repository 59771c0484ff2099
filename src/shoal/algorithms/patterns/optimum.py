"""The optimum under given patterns: the fewest stars with a proof, or the best solution and bound in the given time."""

from __future__ import annotations

import time
from copy import deepcopy

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.progress import Progress
from shoal.algorithms.base import Problem
from shoal.algorithms.matching.cover_problem import CoverProblem, GroupPrices
from shoal.algorithms.matching.simplex_matching import cheapest_cover
from shoal.algorithms.patterns.assignment import Assignment
from shoal.algorithms.patterns.pattern_annealing import anneal_pairs
from shoal.algorithms.patterns.pattern_prices import UNIT, Prices, price_rows, usable_pairs
from shoal.algorithms.patterns.program import OutputTypes, solve_pairs
from shoal.algorithms.patterns.row_assignment import fewest_stars
from shoal.errors import ParameterError

_MAX_PAIRS = 20_000_000
"""Largest number of pairs of input and output types."""
_PRICING_SHARE = 0.3
"""Largest share of the time limit for the prices."""
_MAX_EXCESS = 0.25
"""Largest reduced cost, in stars, of the pairs that good solutions are expected to use."""
_MAX_TINY_PAIRS = 400
"""Number of pairs up to which the integer program is solved without a search before."""
_MAX_RESTRICTED_PAIRS = 8_000
"""Number of pairs up to which a restricted program is solved."""
_MAX_RESTRICTED_NODES = 60
"""Largest number of nodes of the search tree of a restricted program."""
_MAX_PROGRAM_PAIRS = 60_000
"""Largest number of pairs of a program that is solved for a proof."""
_MAX_PROOF_NODES = 20_000
"""Largest number of nodes of the search tree of the proof."""


def prove(found: Assignment, problem: Problem, *, method: str, seconds: float) -> tuple[Assignment, int, Fact]:
    """Improve a solution, and prove a lower bound on the cost of all solutions.

    Parameters
    ----------
    found : Assignment
        The solution of the greedy algorithm, which may have waiting rows; changed in place.
    problem : Problem
    method : {"program", "matching", "fixed-parameter"}
    seconds : float
        Time limit.

    Returns
    -------
    found : Assignment
        The best solution.
    bound : int
        Lower bound on the cost of any solution.
    proof : Fact
        Proof of the bound.

    Raises
    ------
    ParameterError
        If there are too many pairs of input and output types.
    """
    if method == "matching":
        return _solve_by_matching(found, problem, seconds)
    outputs = OutputTypes.of(found.codes, found.rows, found.starred, found.costs, found.k)
    if len(outputs.members) > _MAX_PAIRS:
        raise ParameterError(
            f"The program would have {len(outputs.members):,} variables, more than {_MAX_PAIRS:,}. Allow fewer "
            "patterns, or use algorithm='patterns', which is within a factor d."
        )
    # Enumeration for tiny tables, otherwise the integer program.
    if method == "fixed-parameter":
        served, bound = fewest_stars(outputs, found.rows, found.k, seconds=seconds, progress=problem.progress)
        if served is not None:
            found.adopt(outputs.members, outputs.pattern_of_pairs(), served)
        return found, bound, Fact("fixed_parameter")
    return _Search(found, outputs, problem, seconds).run()


def _solve_by_matching(found: Assignment, problem: Problem, seconds: float) -> tuple[Assignment, int, Fact]:
    """Cover the rows by pairs and triples, each at the cost of the cheapest pattern that makes its rows equal."""
    d = found.codes.shape[1]
    bits = 1 << np.arange(d, dtype=np.int64)
    prices = GroupPrices.of_patterns(d, (found.starred @ bits).tolist(), found.costs.tolist())
    rows = CoverProblem(codes=found.codes, counts=found.rows, prices=prices)
    cover = cheapest_cover(rows, time_limit=seconds, progress=problem.progress)
    # Adopt a cheaper cover: each group follows the cheapest pattern that stars its differences.
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
    """The search for the optimum, in phases: prices, annealing, a restricted program, proof.

    Every phase has a budget of work, so that results do not depend on the machine unless the time limit is reached.
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
        """Run all phases; return the best solution, the bound and its proof as in `prove`."""
        found, outputs = self._found, self._outputs
        if not found.waiting:
            found.tighten()  # every group is then a listed output type: only the cheapest of equal types is listed
            self._served, self._upper = found.pairs(outputs.members, outputs.pattern_of_pairs()), found.cost()
        prices = price_rows(
            outputs, found.rows, found.k, upper=self._upper, seconds=_PRICING_SHARE * self._seconds,
            progress=self._progress("prices"),
        )  # fmt: skip
        bound = prices.bound
        # Larger programs: improve the solution before the proof.
        if bound < self._upper and len(outputs.members) > _MAX_TINY_PAIRS:
            self._anneal(prices)
            if bound < self._upper and self._seconds_left() > 0:
                self._restrict(prices)
        # Prove the rest by the integer program.
        if bound < self._upper:
            bound = self._solve_remaining_pairs(prices)
        if self._served is not None:
            found.adopt(outputs.members, outputs.pattern_of_pairs(), self._served)
            bound = min(bound, found.cost())
        self._problem.progress("program", 1, 1)
        return found, bound, self._proof

    def _seconds_left(self) -> float:
        return max(self._seconds - (time.perf_counter() - self._begin), 0.0)

    def _promising_pairs(self, prices: Prices) -> NDArray[np.int64]:
        """Select the pairs of the best solution and those with a low reduced cost."""
        near = usable_pairs(prices, upper=self._upper, within=int(_MAX_EXCESS * self._star * UNIT))
        if self._served is not None:
            near |= self._served > 0
        return np.flatnonzero(near)

    def _take(self, pairs: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Keep a solution, given as the numbers of rows of some pairs, if it is better."""
        cost = int((self._outputs.costs[self._outputs.output_of_pairs()[pairs]] * rows).sum())
        if rows.sum() == self._found.rows.sum() and cost < self._upper:
            self._served = np.zeros(len(self._outputs.members), dtype=np.int64)
            self._served[pairs] = rows
            self._upper = cost

    def _anneal(self, prices: Prices) -> None:
        """Improve the solution by simulated annealing over promising pairs."""
        pairs = self._promising_pairs(prices)
        if self._found.all_star >= 0:  # every row fits this pattern
            pairs = np.union1d(pairs, np.flatnonzero(self._outputs.pattern_of_pairs() == self._found.all_star))
        rows = np.zeros(len(pairs), dtype=np.int64) if self._served is None else self._served[pairs]
        made = anneal_pairs(
            self._outputs, self._found.rows, self._found.k, pairs=pairs, rows=rows, star=self._star, rng=self._rng,
            seconds=self._seconds_left(), progress=self._progress("annealing"),
        )  # fmt: skip
        self._take(pairs, made)

    def _restrict(self, prices: Prices) -> None:
        """Solve the program restricted to promising pairs, if there are few."""
        pairs = self._promising_pairs(prices)
        if self._served is None or len(pairs) > _MAX_RESTRICTED_PAIRS:
            return
        made = solve_pairs(
            self._outputs, self._found.rows, self._found.k, pairs=pairs, start=self._served[pairs],
            time_limit=self._seconds_left(), work=_MAX_RESTRICTED_NODES, progress=self._progress("restricted program"),
        )  # fmt: skip
        if made.rows is not None:
            self._take(pairs, made.rows)

    def _solve_remaining_pairs(self, prices: Prices) -> int:
        """Solve the program over the pairs that a better solution can use; return the lower bound on all solutions."""
        outputs, found = self._outputs, self._found
        keep = usable_pairs(prices, upper=self._upper)
        pairs = np.flatnonzero(keep if self._served is None else keep | (self._served > 0))
        if len(np.unique(outputs.members[keep])) < len(found.rows):  # no better solution can serve all rows
            return self._upper
        if len(pairs) > _MAX_PROGRAM_PAIRS or self._seconds_left() == 0:
            return prices.bound
        made = solve_pairs(
            outputs, found.rows, found.k, pairs=pairs,
            start=None if self._served is None else self._served[pairs], time_limit=self._seconds_left(),
            work=_MAX_PROOF_NODES, progress=self._progress("program"),
        )  # fmt: skip
        # Solutions with excluded pairs cost at least as much as the best known solution.
        bound = min(self._upper, max(prices.bound, made.bound))
        if bound > prices.bound:
            self._proof = Fact("integer_program")
        if made.rows is not None:
            self._take(pairs, made.rows)
        return min(bound, self._upper)

    def _progress(self, step: str) -> Progress:
        """Return a progress callback that reports under the name of a step."""

        def report(_: str, done: int, total: int) -> None:
            self._problem.progress(step, done, total)

        return report
