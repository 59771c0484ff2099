"""The optimum under given patterns: the fewest stars with a proof, or the best solution and bound in the given time.

Lagrangian prices replace the constraint that every row is served exactly once. The relaxation proves a lower bound. It
also excludes pairs of input and output types that no solution better than the best known can use. Simulated annealing
then moves rows between the output types that the prices allow, before the integer program proves the rest.

References
----------
M. L. Fisher, "The Lagrangian relaxation method for solving integer programming problems", Management Science 27(1),
1981. doi:10.1287/mnsc.27.1.1
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220(4598), 1983.
doi:10.1126/science.220.4598.671
"""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.progress import Progress, silent
from shoal.algorithms.base import Problem
from shoal.algorithms.common.annealing import Cooling, choices_of, cool, placement_of
from shoal.algorithms.common.annealing_kernel import Placement, settle_short_groups
from shoal.algorithms.common.lagrange_kernel import Relaxed, fix_by_price, lagrangian
from shoal.algorithms.matching.cover_problem import CoverProblem, GroupPrices
from shoal.algorithms.matching.cover_search import cheapest_cover
from shoal.algorithms.patterns.assignment import Assignment
from shoal.algorithms.patterns.program import OutputTypes, fewest_stars, solve_pairs
from shoal.errors import ParameterError

_STEPS_PER_ROW = 3_000
"""Number of steps of a run for each row; chosen on samples of Adult, where twice as many gain 0.1 %."""
_MIN_STEPS, _MAX_STEPS = 200_000, 400_000_000
"""Limits on the number of steps of a run."""
_STEPS_OF_ALL_RUNS = 12_000_000
"""Small tables are annealed several times with different random numbers, up to this number of steps in total."""
_MAX_RUNS = 6
"""Largest number of runs."""
_ROUNDS = 200
"""Number of temperatures of a run, with a progress report each."""
_TEMPERATURES = 1.5, 0.1
"""First and last temperature, in mean costs of a star."""
_PENALTIES = 3.0, 6.0
"""First and last penalty for each row that a group lacks, in mean costs of a star."""
_MAX_ROWS = 4_000_000
"""Largest number of rows to anneal."""


def anneal_pairs(
    outputs: OutputTypes,
    sizes: NDArray[np.int64],
    k: int,
    *,
    pairs: NDArray[np.int64],
    rows: NDArray[np.int64],
    star: float,
    rng: np.random.Generator,
    seconds: float,
    steps: int | None = None,
    progress: Progress = silent,
) -> NDArray[np.int64]:
    """Improve a solution by simulated annealing.

    Parameters
    ----------
    outputs : OutputTypes
    sizes : int64 array
        Number of rows of each input type.
    k : int
        Smallest size of a group.
    pairs : int64 array
        Pairs of input and output types that may be used, as positions in `outputs.members`.
    rows : int64 array
        Start: the number of rows of each of these pairs. Missing rows start at any output type.
    star : float
        Mean cost of a star.
    rng : numpy.random.Generator
        Source of random numbers.
    seconds : float
        Time limit; without it the number of steps ends the search.
    steps : int, optional
        Number of steps of a single run. By default it depends on the number of rows, and small tables get several runs.
    progress : callable
        Called with ("annealing", rounds done, rounds).

    Returns
    -------
    int64 array
        Number of rows of each pair in the best solution, which never costs more than the start.
    """
    total = int(sizes.sum())
    if total > _MAX_ROWS or len(np.unique(outputs.members[pairs])) < len(sizes):
        return rows
    run = _Run(outputs, sizes, k, pairs, star)
    # The number and length of the runs.
    end = time.perf_counter() + seconds
    runs = 1
    if steps is None:
        steps = min(max(_MIN_STEPS, _STEPS_PER_ROW * total), _MAX_STEPS)
        runs = min(max(_STEPS_OF_ALL_RUNS // steps, 1), _MAX_RUNS)
    cooling = Cooling(min(_ROUNDS, max(steps // 100, 2)), _TEMPERATURES, _PENALTIES)

    # Every temperature reports progress and checks the time limit.
    def should_continue(before: int, number: int) -> bool:
        progress("annealing", before + number, runs * cooling.rounds)
        return time.perf_counter() <= end

    # Anneal from the start each time; keep the cheapest result whose groups have at least k rows.
    costs = outputs.costs[run.output_of]
    best = rows
    least = int((costs * rows).sum()) if rows.sum() == total else np.iinfo(np.int64).max
    for turn in range(runs):
        if time.perf_counter() > end:
            break
        placement = run.begin(rows)
        random = rng.integers(1, 1 << 63, size=1, dtype=np.uint64)
        one = partial(should_continue, turn * cooling.rounds)
        cool(run.choices, placement, cooling, steps=steps // cooling.rounds, random=random, should_continue=one)
        if settle_short_groups(run.choices, placement):
            made = run.rows_of(placement)
            if (cost := int((costs * made).sum())) < least:
                best, least = made, cost
    progress("annealing", runs * cooling.rounds, runs * cooling.rounds)
    return best


class _Run:
    """The program of some pairs, in the form that the annealing kernel uses."""

    def __init__(
        self, outputs: OutputTypes, sizes: NDArray[np.int64], k: int, pairs: NDArray[np.int64], star: float
    ) -> None:
        self.output_of = outputs.output_of_pairs()[pairs]
        used, local = np.unique(self.output_of, return_inverse=True)
        self._sizes, self._pairs = sizes, len(pairs)
        self.choices, self._by_type = choices_of(outputs.members[pairs], local, sizes, outputs.costs[used] / star, k)

    def begin(self, rows: NDArray[np.int64]) -> Placement:
        """Place the given number of rows of each pair; missing rows take the first output of their type."""
        choices = self.choices
        given = rows[self._by_type]
        kinds = np.repeat(np.arange(len(self._sizes)), np.diff(choices.type_starts))
        given[choices.type_starts[:-1]] += self._sizes - np.bincount(kinds, weights=given).astype(np.int64)
        return placement_of(choices, np.repeat(choices.outputs, given))

    def rows_of(self, placement: Placement) -> NDArray[np.int64]:
        """Count the rows of each pair."""
        outputs = np.int64(len(self.choices.costs))
        # Sort pairs by type, and by output within a type; `outputs.members` is sorted by output.
        keys = np.repeat(np.arange(len(self._sizes)), np.diff(self.choices.type_starts)) * outputs
        keys += self.choices.outputs
        places = np.searchsorted(keys, self.choices.type_of * outputs + placement.output_of)
        rows = np.empty(self._pairs, dtype=np.int64)
        rows[self._by_type] = np.bincount(places, minlength=self._pairs)
        return rows


UNIT = 1 << 20
"""Prices are integers, in multiples of 1 / UNIT of the smallest cost."""
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
    """Price of a row of each type, in multiples of 1 / UNIT of the smallest cost."""
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
        If given, mark instead the pairs whose use raises the bound by less than this, in multiples of 1 / UNIT of the
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
            progress=self._problem.progress,
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
            seconds=self._seconds_left(), progress=self._problem.progress,
        )  # fmt: skip
        self._take(pairs, made)

    def _restrict(self, prices: Prices) -> None:
        """Solve the program restricted to promising pairs, if there are few."""
        pairs = self._promising_pairs(prices)
        if self._served is None or len(pairs) > _MAX_RESTRICTED_PAIRS:
            return
        made = solve_pairs(
            self._outputs, self._found.rows, self._found.k, pairs=pairs, start=self._served[pairs],
            time_limit=self._seconds_left(), work=_MAX_RESTRICTED_NODES, step="restricted program",
            progress=self._problem.progress,
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
            work=_MAX_PROOF_NODES, progress=self._problem.progress,
        )  # fmt: skip
        # Solutions with excluded pairs cost at least as much as the best known solution.
        bound = min(self._upper, max(prices.bound, made.bound))
        if bound > prices.bound:
            self._proof = Fact("integer_program")
        if made.rows is not None:
            self._take(pairs, made.rows)
        return min(bound, self._upper)
