"""The search behind `simplex_matching`: column generation, parity cuts, and what is left to try."""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.facts import Fact
from shoal.algorithms.matching.cover_problem import FORBIDDEN, Cover, CoverProblem, split_cover
from shoal.algorithms.matching.group_arrays import (
    entries,
    in_type_order,
    lists_by_type,
    odd_in_cuts,
    repeated,
    rows_by_type,
    singles,
)
from shoal.algorithms.matching.group_prices_kernel import (
    UNIT,
    Duals,
    Types,
    nearest_pairs,
    prices_of_groups,
    scan_groups,
)
from shoal.algorithms.matching.neighbourhoods import Neighbourhoods
from shoal.algorithms.matching.parity_cuts import parity_cuts
from shoal.errors import InternalError
from shoal.solver.highs import LiveProgram, Program, Rows, Solution, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal._core.progress import Progress

__all__ = ["CoverSearch"]

_NEAREST = 6
"""Pairs of each type that the program starts with."""
_PER_TYPE = 8
"""Groups of each type that enter the program at a time."""
_NEGLIGIBLE = 64
"""Reduced costs above minus this (in units of 1 / UNIT) end the column generation."""
_SCANNED = 400_000
"""Pairs to scan between two looks at the clock."""
_MOST_GROUPS = 200_000
"""Groups that may enter a whole-number program."""
_GROUPS_AT_A_TIME = 1 << 16
"""Groups that a scan has places for at first."""
_ROUNDED = 2
"""Groups that cost at most so much more than their duals pay complete a rounded solution."""
_ROUNDING_SHARE = 0.2
"""Part of the time that is left that rounding a solution may take."""
_MOST_ROUNDS = 30
"""Rounds of parity cuts."""
_PATIENCE = 2
"""Rounds of cuts that may leave the bound where it is before a large problem is rounded."""
_MOST_FRUITLESS = 1
"""How often in turn neighbourhoods may be covered anew, with other duals, without finding a cheaper cover."""
_STEPS = 120
"""How often some rows are covered anew at the same cost, before branch and bound."""
_AT_DEAR_GROUPS = 0.7
"""Part of these steps that begin at a group that costs more than its duals pay for."""
_NEIGHBOURHOODS = (150, 300, 600)
"""Rows of the neighbourhoods that are covered anew, in turn; twice the first are searched as they are."""
_RAISED = 4
"""How often the highest price a row in no group pays at first; and by how much that rises."""
_USED = 1e-6
"""A variable above this is used by a solution of the linear program."""
_STEP = "matching"


class _OutOfTimeError(Exception):
    """The time limit is reached: what was found and proven until now counts."""


class _TooManyGroupsError(Exception):
    """More groups could still pay than a whole-number program can take."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Duals:
    """A feasible dual solution in integers: no pair and no triple is priced below zero."""

    types: NDArray[np.int64]
    """Value of a row of each type."""
    cuts: NDArray[np.int64]
    """Value of each cut."""
    bound: int
    """What it proves, in units of 1 / UNIT."""


class CoverSearch:
    """One search for the cheapest cover; see `shoal.algorithms.matching.simplex_matching.cheapest_cover`."""

    def __init__(
        self,
        problem: CoverProblem,
        *,
        start: NDArray[np.int64] | None,
        time_limit: float | None,
        progress: Progress,
        at_once: bool = False,
    ) -> None:
        self._problem = problem
        self._types = len(problem.counts)
        self._values = problem.values if problem.values is not None else np.full(self._types, -1, dtype=np.int64)
        self._at_once = at_once or problem.rows <= 2 * _NEIGHBOURHOODS[0]
        """Whether the problem is searched as a whole, and not by neighbourhoods."""
        self._began = time.perf_counter()
        self._limit = time_limit
        self._progress = progress
        self._best = np.empty((0, 3), dtype=np.int64)
        self._cost: int | None = None
        self._bound = 0
        self._proof = Fact("costs_nonnegative")
        self._prohibitive = problem.rows * problem.prices.highest + 1
        """More than any cover costs: what a row in no group costs at last where that is not allowed."""
        self._penalty = min(_RAISED * (problem.prices.highest + 1), self._prohibitive)
        """What it costs in the program until that proves too little: small numbers are good for the solver."""
        self._cuts: list[NDArray[np.int64]] = []
        self._duals: _Duals | None = None
        self.interrupted = False
        """Whether somebody interrupted the search."""
        if start is not None:
            self._keep(start)

    def run(self) -> Cover:
        """Search until the cheapest cover is proven, or time runs out."""
        complete = False
        try:
            self._check_clock()
            self._search()
            complete = True
        except _OutOfTimeError:
            pass
        except KeyboardInterrupt:
            self.interrupted = True
        return Cover(groups=self._best, cost=self._cost, bound=self._bound, proof=self._proof, complete=complete)

    def _search(self) -> None:
        if self._done():
            return
        self._open_program()
        solution = self._generate()
        stalled = fruitless = 0
        for _ in range(_MOST_ROUNDS):
            cuts = [] if self._done() else parity_cuts(self._groups, solution, self._problem.counts, known=self._cuts)
            if not cuts or fruitless == _MOST_FRUITLESS:
                break
            self._add_cuts(cuts)
            bound = self._bound
            solution = self._generate()
            stalled = stalled + 1 if self._bound == bound else 0
            if stalled >= (1 if self._at_once else _PATIENCE):
                cost = self._cost
                self._round(solution)
                self._improve()
                fruitless = fruitless + 1 if self._cost == cost and not self._at_once else 0
                stalled = 0
        if not self._done():
            self._round(solution)
            self._improve()
            self._wander()
        if not self._done():
            self._try_what_is_left()

    def _done(self) -> bool:
        ceiling = self._prohibitive if self._cost is None else self._cost
        return self._bound >= ceiling

    # The linear program.

    def _open_program(self) -> None:
        """Begin with a row in no group, the pairs of each type's neighbours, and the cover to start from."""
        problem = self._problem
        row_types = Types(problem.codes, self._values, problem.counts)
        pairs = np.empty((self._types * _NEAREST, 3), dtype=np.int64)
        count = nearest_pairs(row_types, problem.prices.table, _NEAREST, pairs)
        near = pairs[:count]
        allowed = near[self._costs(near) < FORBIDDEN]
        self._known: set[bytes] = set()
        self._groups = self._new(np.concatenate((singles(np.arange(self._types)), allowed, self._best)))
        self._live = LiveProgram(self._program(self._groups, problem.counts, whole=False))

    def _program(self, groups: NDArray[np.int64], counts: NDArray[np.int64], *, whole: bool) -> Program:
        """Return the program that covers so many rows of each type by some groups; with the cuts where all rows are."""
        column, row, times = entries(groups, self._types)
        rows = np.flatnonzero(counts)
        order = np.lexsort((column, row))
        right = counts[rows].astype(np.float64)
        starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=self._types)[rows])))
        parts = [Rows(starts=starts, columns=column[order], coefficients=times[order], lower=right, upper=right)]
        if self._cuts and len(rows) == self._types:
            parts.append(self._cut_rows(groups, self._cuts))
        return Program(
            costs=self._costs(groups).astype(np.float64),
            integer=np.full(len(groups), whole),
            lower=np.zeros(len(groups)),
            upper=np.full(len(groups), np.inf),
            rows=Rows.stack(parts),
        )

    def _cut_rows(self, groups: NDArray[np.int64], cuts: list[NDArray[np.int64]]) -> Rows:
        """Ask for one group at least with an odd number of rows in each of the sets."""
        odd = odd_in_cuts(groups, cuts, self._types)
        return Rows.of([(np.flatnonzero(inside), 1.0, 1.0, np.inf) for inside in odd.T])

    def _costs(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what each group costs; a row alone costs the penalty where it is not allowed."""
        problem = self._problem
        alone = self._penalty if problem.alone is None else problem.alone
        costs = np.full(len(groups), alone, dtype=np.int64)
        whole = groups[:, 1] >= 0
        costs[whole] = prices_of_groups(problem.codes, problem.prices.table, groups[whole])
        return costs

    def _add_groups(self, groups: NDArray[np.int64]) -> int:
        """Add groups that are not in the program yet; return how many."""
        added = self._new(groups)
        if len(added) == 0:
            return 0
        column, row, times = entries(added, self._types)
        odd, cut = np.nonzero(odd_in_cuts(added, self._cuts, self._types))
        column = np.concatenate((column, odd))
        row = np.concatenate((row, cut + self._types))
        times = np.concatenate((times, np.ones(len(odd))))
        order = np.lexsort((row, column))
        self._live.add_columns(
            costs=self._costs(added),
            starts=np.concatenate(([0], np.cumsum(np.bincount(column, minlength=len(added))))),
            rows=row[order],
            coefficients=times[order],
        )
        self._groups = np.concatenate((self._groups, added))
        return len(added)

    def _new(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the groups that are not known yet, each once; they are known then."""
        fresh = []
        for place, group in enumerate(groups):
            key = group.tobytes()
            if key not in self._known:
                self._known.add(key)
                fresh.append(place)
        return groups[fresh]

    def _add_cuts(self, cuts: list[NDArray[np.int64]]) -> None:
        self._live.add_rows(self._cut_rows(self._groups, cuts))
        self._cuts += cuts

    def _generate(self) -> NDArray[np.float64]:
        """Solve the program over all pairs and triples; return how often each known group is used."""
        while True:
            solution = self._solve()
            assert solution.duals is not None
            found, reduced = self._price(solution.duals)
            if not self._done() and (reduced < -_NEGLIGIBLE).any() and self._add_groups(found):
                continue
            if self._done() or not self._left_out(solution).any() or self._penalty == self._prohibitive:
                assert solution.values is not None
                return solution.values
            # Rows pay the penalty rather than form groups: was it too small?
            self._penalty = min(_RAISED * self._penalty, self._prohibitive)
            self._begin_anew()

    def _solve(self) -> Solution:
        """Solve the program over the known groups; it always has a solution: the penalty for every row."""
        for again in (False, True):
            self._check_clock()
            solution = self._live.solve(time_limit=self._left(), step=_STEP, progress=self._tell)
            if solution.duals is not None and solution.values is not None:
                return solution
            if solution.status == "time-limit":
                raise _OutOfTimeError
            if not again:  # The solver lost its way along the bases: begin with a new one.
                self._begin_anew()
        raise InternalError(f"the solver calls a program {solution.status} that has a solution")

    def _begin_anew(self) -> None:
        program = self._program(self._groups, self._problem.counts, whole=False)
        self._live = LiveProgram(program)

    def _left_out(self, solution: Solution) -> NDArray[np.bool_]:
        """Return which groups are a single row that pays the penalty, and are used."""
        if self._problem.alone is not None or solution.values is None:
            return np.zeros(1, dtype=np.bool_)
        used: NDArray[np.bool_] = (self._groups[:, 1] < 0) & (solution.values > _USED)
        return used

    def _price(self, duals: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Look for groups that the duals undercut, and raise the bound to what the duals prove once lowered."""
        types = np.floor(duals[: self._types] * UNIT).astype(np.int64)
        cuts = np.floor(np.maximum(duals[self._types :], 0.0) * UNIT).astype(np.int64)
        found, reduced, missing = self._scan(types, cuts, limit=-1, most=_PER_TYPE)
        if self._problem.alone is not None:
            reach = types + self._in_cuts(cuts)
            missing = np.maximum(missing, reach - self._problem.alone * UNIT)
        feasible = types - missing
        total = sum(map(int, feasible * self._problem.counts)) + sum(map(int, cuts))
        if self._duals is None or total > self._duals.bound:
            self._duals = _Duals(types=feasible, cuts=cuts, bound=total)
            self._raise_bound(-(-total // UNIT), self._relaxation())
        return found, reduced

    def _relaxation(self) -> Fact:
        return Fact("pairs_and_triples_cut", cuts=len(self._cuts)) if self._cuts else Fact("pairs_and_triples")

    def _raise_bound(self, bound: int, proof: Fact) -> None:
        if bound > self._bound:
            self._bound, self._proof = bound, proof

    def _in_cuts(self, cuts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each type the duals of all cuts that it lies in."""
        total = np.zeros(self._types, dtype=np.int64)
        for members, dual in zip(self._cuts, cuts, strict=True):
            total[members] += dual
        return total

    def _scan(
        self,
        types: NDArray[np.int64],
        cuts: NDArray[np.int64],
        *,
        limit: int,
        most: int = 0,
        counts: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Find groups by reduced cost, see `scan_groups`; return them, their reduced costs, and what duals exceed.

        With `counts`, only so many rows of each type are there.
        """
        problem = self._problem
        counts = problem.counts if counts is None else counts
        reach = types + self._in_cuts(cuts)
        part = np.flatnonzero(counts)
        order = part[np.argsort(-reach[part], kind="stable")]
        used = [members for members, dual in zip(self._cuts, cuts, strict=True) if dual > 0]
        starts, lies_in = lists_by_type(used, self._types, order)
        row_types = Types(problem.codes[order], self._values[order], counts[order])
        duals = Duals(types[order], reach[order], starts, lies_in, cuts[cuts > 0])
        scan = functools.partial(scan_groups, row_types, problem.prices.table, duals)
        missing = np.zeros(len(order), dtype=np.int64)
        chunk = max(_SCANNED // len(order), 1)
        groups, costs, stored = [np.empty((0, 3), dtype=np.int64)], [np.empty(0, dtype=np.int64)], 0
        for first in range(0, len(order), chunk):
            self._check_clock()
            last = min(first + chunk, len(order))
            found, reduced = _room((last - first) * most if most else _GROUPS_AT_A_TIME)
            count, total = scan(first, last, limit, most, found, reduced, missing)
            if not most and total > count:
                found, reduced = _room(total)
                count, total = scan(first, last, limit, most, found, reduced, missing)
            stored += count
            if not most and stored > _MOST_GROUPS:
                raise _TooManyGroupsError
            groups.append(found[:count].copy())
            costs.append(reduced[:count].copy())
        exceeded = np.zeros(self._types, dtype=np.int64)
        exceeded[order] = missing
        return in_type_order(np.concatenate(groups), order), np.concatenate(costs), exceeded

    # Whole numbers.

    def _round(self, solution: NDArray[np.float64]) -> None:
        """Keep what the program uses in whole numbers, and cover the other rows by groups that cost little more."""
        times = np.floor(solution + 1e-6).astype(np.int64)
        if self._problem.alone is None:
            times[self._groups[:, 1] < 0] = 0
        kept = np.repeat(self._groups, times, axis=0)
        left = self._problem.counts - rows_by_type(kept, self._types)
        if left.sum() > _NEIGHBOURHOODS[0]:
            # Too many for a program in whole numbers: neighbourhoods will be improved one by one.
            rest = np.repeat(np.arange(self._types), left)
            self._keep(np.concatenate((kept, split_cover(self._problem, [rest]))))
            return
        if left.any():
            try:
                near = self._affordable(_ROUNDED * UNIT, left)
            except _TooManyGroupsError:
                return
            found = self._whole(near, left, share=_ROUNDING_SHARE)
            if found.values is None:
                return
            kept = np.concatenate((kept, repeated(near, found.values)))
        self._keep(kept)

    def _improve(self) -> None:
        """Cover the rows around each group that costs more than its duals pay for anew, as cheaply as can be."""
        if self._cost is None or self._at_once:
            return
        around = Neighbourhoods(self._groups, self._reduced_costs(self._groups), self._types)
        for size in (rows for rows in _NEIGHBOURHOODS if rows < self._problem.rows):
            failed: set[bytes] = set()
            while not self._done():
                excess = self._reduced_costs(self._best)
                seeds = [
                    int(seed)
                    for seed in np.argsort(-excess, kind="stable")
                    if excess[seed] > _NEGLIGIBLE and self._best[seed].tobytes() not in failed
                ]
                if not seeds:
                    break
                if not self._cover_anew(around.grow(self._best, seeds[0], size)):
                    failed.add(self._best[seeds[0]].tobytes())

    def _wander(self) -> None:
        """Exchange groups for others that cost as much, here and there, until that makes room for a cheaper cover."""
        if self._cost is None or self._at_once:
            return
        around = Neighbourhoods(self._groups, self._reduced_costs(self._groups), self._types)
        chance = np.random.default_rng(0)  # one more search rule: it decides how long a search takes, not its result
        for _ in range(_STEPS):
            if self._done():
                return
            cost = self._cost
            dear = np.flatnonzero(self._reduced_costs(self._best) > _NEGLIGIBLE)
            seed = int(chance.choice(dear)) if len(dear) and chance.random() < _AT_DEAR_GROUPS else None
            seed = int(chance.integers(len(self._best))) if seed is None else seed
            size = int(chance.integers(_NEIGHBOURHOODS[0] // 2, 2 * _NEIGHBOURHOODS[0]))
            self._cover_anew(around.grow(self._best, seed, size, chance), wander=True)
            if self._cost < cost:
                self._improve()

    def _cover_anew(self, region: NDArray[np.intp], *, wander: bool = False) -> bool:
        """Find the cheapest cover of the rows of some groups; take it if it is cheaper, or to wander as cheap."""
        self._check_clock()
        problem, groups = self._problem, self._best[region]
        types = np.unique(groups[groups >= 0])
        part = CoverProblem(
            codes=problem.codes[types],
            counts=rows_by_type(groups, self._types)[types],
            prices=problem.prices,
            values=None if problem.values is None else problem.values[types],
            alone=problem.alone,
        )
        start = np.where(groups >= 0, np.searchsorted(types, groups), -1)
        known = None if wander else start
        search = CoverSearch(part, start=known, time_limit=self._left(), progress=self._tell, at_once=True)
        found = search.run()
        cheaper = found.cost is not None and found.cost < part.cost(start)
        if cheaper or (wander and found.cost == part.cost(start)):
            new = np.where(found.groups >= 0, types[found.groups], -1)
            self._keep(np.concatenate((np.delete(self._best, region, axis=0), new)), as_cheap=wander)
        if search.interrupted:
            raise KeyboardInterrupt
        return cheaper

    def _reduced_costs(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return by how much the cost of groups exceeds what the best duals pay for them."""
        assert self._duals is not None
        paid = np.append(self._duals.types, 0)[groups].sum(axis=1)
        odd = odd_in_cuts(groups, self._cuts[: len(self._duals.cuts)], self._types)
        reduced: NDArray[np.int64] = self._costs(groups) * UNIT - paid - odd.astype(np.int64) @ self._duals.cuts
        return reduced

    def _affordable(self, limit: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the groups whose cost exceeds what the best duals pay for them by at most `limit`."""
        assert self._duals is not None
        later = len(self._cuts) - len(self._duals.cuts)
        cuts = np.concatenate((self._duals.cuts, np.zeros(later, dtype=np.int64)))
        groups, _, _ = self._scan(self._duals.types, cuts, limit=limit, counts=counts)
        if self._problem.alone is not None:
            groups = np.concatenate((groups, singles(np.flatnonzero(counts))))
        return groups

    def _try_what_is_left(self) -> None:
        """Try ever dearer groups in a whole-number program until those left out cannot belong to a cheaper cover."""
        assert self._duals is not None
        step, tried = 0, -1
        while not self._done():
            ceiling = self._prohibitive if self._cost is None else self._cost
            highest = min(self._bound + step, ceiling - 1)
            try:
                # A cover that costs at most `highest` has no group whose reduced cost is above the difference.
                groups = self._affordable(highest * UNIT - self._duals.bound, self._problem.counts)
            except _TooManyGroupsError:
                raise _OutOfTimeError from None
            if len(groups) > tried:
                tried = len(groups)
                found = self._whole(groups, self._problem.counts)
                if found.values is not None:
                    self._keep(repeated(groups, found.values))
            # Either the groups that were tried make no cheaper cover, or another one that costs more than `highest`.
            proven = highest + 1 if math.isinf(found.bound) else min(int(found.bound), highest + 1)
            self._raise_bound(
                min(proven, ceiling), Fact("branch_and_bound", relaxation=self._relaxation(), groups=tried)
            )
            if found.status in ("time-limit", "interrupted"):
                raise _OutOfTimeError
            step = max(2 * step, 1)

    def _whole(self, groups: NDArray[np.int64], counts: NDArray[np.int64], share: float = 1.0) -> Solution:
        """Cover so many rows of each type by some groups, in whole numbers."""
        self._check_clock()
        left = self._left()
        return solve(
            self._program(groups, counts, whole=True),
            time_limit=None if left is None else share * left,
            keep_interrupted=True,
            step=_STEP,
            progress=self._tell,
        )

    def _keep(self, groups: NDArray[np.int64], *, as_cheap: bool = False) -> None:
        """Remember a cover if it is the cheapest so far, with `as_cheap` also one that costs the same."""
        problem = self._problem
        if not np.array_equal(rows_by_type(groups, self._types), problem.counts):
            raise InternalError("a cover does not hold every row once")
        with_values = self._values[groups]
        with_values[groups < 0] = -1
        for one, other in ((0, 1), (0, 2), (1, 2)):
            if ((with_values[:, one] >= 0) & (with_values[:, one] == with_values[:, other])).any():
                raise InternalError("a cover has a group with a repeated value")
        cost = int(self._costs(groups).sum())
        if self._problem.alone is None and (groups[:, 1] < 0).any():
            raise InternalError("a cover leaves rows alone that may not be")
        if cost < FORBIDDEN and (self._cost is None or cost < self._cost + as_cheap):
            self._best, self._cost = groups, cost

    # The clock.

    def _left(self) -> float | None:
        return None if self._limit is None else self._limit - (time.perf_counter() - self._began)

    def _check_clock(self) -> None:
        left = self._left()
        if left is not None and left <= 0:
            raise _OutOfTimeError
        self._tell(_STEP, 0, 1)

    def _tell(self, step: str, _done: int, _total: int, /) -> None:
        """Say how much of the time is over."""
        total = 1 if self._limit is None else max(math.ceil(self._limit), 1)
        done = 0 if self._limit is None else min(int(time.perf_counter() - self._began), total)
        self._progress(step, done, total)


def _room(size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.empty((size, 3), dtype=np.int64), np.empty(size, dtype=np.int64)
