"""The cheapest cover of rows by pairs and triples, with a proof: optimal 2-anonymity and 2-diversity reduce to it.

Rows are given by *types*: rows of one type are interchangeable. A cover therefore is a multiplicity for each pair and
triple of types, found by the set-partitioning program over all of them,

    minimize sum c(e) x(e)  subject to  sum over e of mult(e, t) x(e) = rows of type t,  x integral.

The columns are generated lazily. A compiled scan finds the groups with a negative reduced cost under the dual values
`y` of the types. It skips most groups, because a triple costs at least 3/2 of each of its pairs (a form of the simplex
condition). Parity cuts raise the bound of the program: if a set of types has an odd number of rows, at least one group
has an odd number of rows in it (for pairs, these are Edmonds' blossom inequalities). Finally, the groups whose reduced
cost is below the gap enter an integer program.

The bound of the linear program does not depend on floating point. The duals of the solver are rounded to integers, the
scan of *all* pairs and triples determines by how much they are infeasible, the duals are reduced by this amount, and
the bound is computed in integers.

References
----------
.. [1] E. Anshelevich, A. Karagiozova: Terminal backup, 3D matching, and covering cubic graphs. SIAM Journal on
   Computing 40(3), 2011, pages 678-708. https://doi.org/10.1137/090752699
.. [2] H. Liang, H. Yuan: On the complexity of t-closeness anonymization and related problems. DASFAA 2013, LNCS 7825,
   pages 331-345. https://doi.org/10.1007/978-3-642-37487-6_26
"""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.progress import Progress, silent
from shoal.algorithms.matching.cover_problem import FORBIDDEN, Cover, CoverProblem, split_cover
from shoal.algorithms.matching.group_prices_kernel import (
    UNIT,
    Duals,
    Types,
    nearest_pairs,
    prices_of_groups,
    scan_groups,
)
from shoal.algorithms.matching.parity_cuts import parity_cuts
from shoal.errors import InternalError
from shoal.solver.highs import LiveProgram, Program, Rows, Solution, solve


def single_groups(types: NDArray[np.integer]) -> NDArray[np.int64]:
    """Make a group of one row for each type."""
    groups = np.full((len(types), 3), -1, dtype=np.int64)
    groups[:, 0] = types
    return groups


def sort_types(groups: NDArray[np.int64], order: NDArray[np.intp]) -> NDArray[np.int64]:
    """Convert positions in an order of the types to types, ascending within each group."""
    last = np.iinfo(np.int64).max
    types = np.sort(np.where(groups >= 0, order[groups], last), axis=1)
    return np.where(types == last, -1, types)


def count_entries(
    groups: NDArray[np.int64], types: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Count the rows of each type in each group; return groups, types and counts of the nonzero entries."""
    group, _ = np.nonzero(groups >= 0)
    keys, times = np.unique(group * types + groups[groups >= 0], return_counts=True)
    return keys // types, keys % types, times.astype(np.float64)


def count_rows_by_type(groups: NDArray[np.int64], types: int) -> NDArray[np.int64]:
    """Count the rows of each type in all groups."""
    return np.bincount(groups[groups >= 0], minlength=types).astype(np.int64)


def repeat_groups(groups: NDArray[np.int64], times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Repeat each group as often as an integer solution uses it."""
    return np.repeat(groups, np.rint(times).astype(np.int64), axis=0)


def mark_odd_groups(groups: NDArray[np.int64], cuts: list[NDArray[np.int64]], types: int) -> NDArray[np.bool_]:
    """Mark for each group and cut if an odd number of the group's rows lies in the cut, shape (groups, cuts)."""
    odd = np.zeros((len(groups), len(cuts)), dtype=np.bool_)
    inside = np.zeros(types + 1, dtype=np.bool_)  # the last entry is for the -1 after a group's last type
    for place, members in enumerate(cuts):
        inside[members] = True
        odd[:, place] = np.logical_xor.reduce(inside[groups], axis=1)
        inside[members] = False
    return odd


def list_cuts_by_type(
    cuts: list[NDArray[np.int64]], types: int, order: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the cuts that contain each type, as compressed sparse rows in an order of the types."""
    inside = np.zeros((types, len(cuts)), dtype=np.bool_)
    for place, members in enumerate(cuts):
        inside[members, place] = True
    row, cut = np.nonzero(inside[order])
    starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(order)))))
    return starts.astype(np.int64), cut.astype(np.int64)


_NEAREST_PAIRS = 6
"""Number of pairs of each type that the program starts with."""
_GROUPS_PER_TYPE = 8
"""Largest number of groups of each type that enter the program at a time."""
_NEGLIGIBLE = 64
"""Tolerance of the column generation, in multiples of 1 / UNIT: smaller negative reduced costs count as 0."""
_PAIRS_PER_SCAN = 400_000
"""Number of pairs to scan between two checks of the time limit."""
_MAX_GROUPS = 200_000
"""Largest number of groups in an integer program."""
_INITIAL_ROOM = 1 << 16
"""Number of groups that a scan has room for at first."""
_MAX_ROUNDING_EXCESS = 2
"""Largest reduced cost of the groups that complete a rounded solution."""
_ROUNDING_SHARE = 0.2
"""Share of the remaining time that rounding a solution may take."""
_MAX_CUT_ROUNDS = 30
"""Largest number of rounds of parity cuts."""
_MAX_STALLED_ROUNDS = 2
"""Number of cut rounds without a better bound after which the solution of a large problem is rounded."""
_MAX_SMALL_ROWS = 300
"""Largest number of rows of a small problem: cuts are added as long as there are any."""
_MAX_ROWS_TO_ROUND = 150
"""Largest number of rows that a rounded solution covers by an integer program."""
_PENALTY_FACTOR = 4
"""First penalty of a row in no group, as a multiple of the highest price; also the factor by which it is raised."""
_TOLERANCE = 1e-6
"""Numerical tolerance: a solution uses the variables above it."""
_STEP_NAME = "matching"


class _OutOfTimeError(Exception):
    """The time limit is reached; the best cover and bound so far are the result."""


class _TooManyGroupsError(Exception):
    """More groups have a small reduced cost than an integer program may have."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Duals:
    """A feasible dual solution in integers: no pair or triple has a negative reduced cost."""

    types: NDArray[np.int64]
    """Dual value of a row of each type."""
    cuts: NDArray[np.int64]
    """Dual value of each cut."""
    bound: int
    """Lower bound that the solution proves, in multiples of 1 / UNIT."""


class CoverSearch:
    """One search for the cheapest cover; see `shoal.algorithms.matching.cover_search.cheapest_cover`."""

    def __init__(
        self,
        problem: CoverProblem,
        *,
        start: NDArray[np.int64] | None,
        time_limit: float | None,
        progress: Progress,
    ) -> None:
        self._problem = problem
        self._types = len(problem.counts)
        self._values = problem.values if problem.values is not None else np.full(self._types, -1, dtype=np.int64)
        self._began = time.perf_counter()
        self._limit = time_limit
        self._progress = progress
        self._best = np.empty((0, 3), dtype=np.int64)
        self._cost: int | None = None
        self._bound = 0
        self._proof = Fact("costs_nonnegative")
        self._prohibitive = problem.rows * problem.prices.highest + 1
        """Upper limit of the penalty: more than any cover costs."""
        self._penalty = min(_PENALTY_FACTOR * (problem.prices.highest + 1), self._prohibitive)
        """Penalty of a row in no group, if it must be in one. Small numbers keep the solver accurate, so it is raised
        only if a solution pays it."""
        self._cuts: list[NDArray[np.int64]] = []
        self._duals: _Duals | None = None
        if start is not None:
            self._keep(start)

    def run(self) -> Cover:
        """Search until the best cover is proven optimal, or until the time limit."""
        complete = False
        try:
            self._check_clock()
            self._search()
            complete = True
        except (_OutOfTimeError, KeyboardInterrupt):
            pass
        return Cover(groups=self._best, cost=self._cost, bound=self._bound, proof=self._proof, complete=complete)

    def _search(self) -> None:
        """Run the phases of the search until the best cover is proven."""
        if self._is_proven():
            return
        # Column generation, and rounds of parity cuts.
        self._open_program()
        solution = self._generate_columns()
        is_small = self._problem.rows <= _MAX_SMALL_ROWS
        stalled, rounded_in_vain = 0, False
        for _ in range(_MAX_CUT_ROUNDS):
            counts = self._problem.counts
            cuts = [] if self._is_proven() else parity_cuts(self._groups, solution, counts, known=self._cuts)
            if not cuts or rounded_in_vain:
                break
            self._live.add_rows(self._cut_rows(self._groups, cuts))
            self._cuts += cuts
            bound = self._bound
            solution = self._generate_columns()
            # If cuts stop raising the bound, look for a better cover.
            stalled = stalled + 1 if self._bound == bound else 0
            if stalled >= (1 if is_small else _MAX_STALLED_ROUNDS):
                cost = self._cost
                self._round(solution)
                rounded_in_vain = self._cost == cost and not is_small
                stalled = 0
        # Round the last solution, then prove the rest by branch and bound.
        if not self._is_proven():
            self._round(solution)
        if not self._is_proven():
            self._solve_remaining_groups()

    def _is_proven(self) -> bool:
        """Test if the bound reaches the cost of the best cover, or proves that there is none."""
        ceiling = self._prohibitive if self._cost is None else self._cost
        return self._bound >= ceiling

    # The linear program.

    def _open_program(self) -> None:
        """Build the program of single rows, the nearest pairs of each type, and the groups of the best cover."""
        problem = self._problem
        row_types = Types(problem.codes, self._values, problem.counts)
        pairs = np.empty((self._types * _NEAREST_PAIRS, 3), dtype=np.int64)
        count = nearest_pairs(row_types, problem.prices.table, _NEAREST_PAIRS, pairs)
        near = pairs[:count]
        allowed = near[self._costs(near) < FORBIDDEN]
        self._known: set[bytes] = set()
        self._groups = self._select_new(np.concatenate((single_groups(np.arange(self._types)), allowed, self._best)))
        self._restart_program()

    def _program(self, groups: NDArray[np.int64], counts: NDArray[np.int64], *, whole: bool) -> Program:
        """Build the program that covers `counts` rows by groups; cuts are included if no type is left out."""
        column, row, times = count_entries(groups, self._types)
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
        """Require at least one group with an odd number of rows in each set."""
        odd = mark_odd_groups(groups, cuts, self._types)
        return Rows.of([(np.flatnonzero(inside), 1.0, 1.0, np.inf) for inside in odd.T])

    def _costs(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Compute the cost of each group; a single row costs the penalty."""
        problem = self._problem
        costs = np.full(len(groups), self._penalty, dtype=np.int64)
        whole = groups[:, 1] >= 0
        costs[whole] = prices_of_groups(problem.codes, problem.prices.table, groups[whole])
        return costs

    def _add_groups(self, groups: NDArray[np.int64]) -> int:
        """Add the groups that are not in the program yet; return their number."""
        added = self._select_new(groups)
        if len(added) == 0:
            return 0
        # A column has an entry for each of its types, and for each cut that it crosses oddly.
        column, row, times = count_entries(added, self._types)
        odd, cut = np.nonzero(mark_odd_groups(added, self._cuts, self._types))
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

    def _select_new(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Select the groups that are not known yet, each once, and record them as known."""
        fresh = []
        for place, group in enumerate(groups):
            key = group.tobytes()
            if key not in self._known:
                self._known.add(key)
                fresh.append(place)
        return groups[fresh]

    def _generate_columns(self) -> NDArray[np.float64]:
        """Solve the linear program over all pairs and triples; return the value of each known group."""
        while True:
            solution = self._solve()
            assert solution.duals is not None
            assert solution.values is not None
            found, reduced = self._price_groups(solution.duals)
            if not self._is_proven() and (reduced < -_NEGLIGIBLE).any() and self._add_groups(found):
                continue
            uncovered = (self._groups[:, 1] < 0) & (solution.values > _TOLERANCE)
            if self._is_proven() or not uncovered.any() or self._penalty == self._prohibitive:
                return solution.values
            # Some rows pay the penalty instead of forming groups: it may be too small.
            self._penalty = min(_PENALTY_FACTOR * self._penalty, self._prohibitive)
            self._restart_program()

    def _solve(self) -> Solution:
        """Solve the linear program over the known groups; it is feasible, because rows may pay the penalty."""
        for again in (False, True):
            self._check_clock()
            solution = self._live.solve(time_limit=self._seconds_left(), step=_STEP_NAME, progress=self._report)
            if solution.duals is not None and solution.values is not None:
                return solution
            if solution.status == "time-limit":
                raise _OutOfTimeError
            if not again:  # numerical trouble after many changes of the basis: start from a new one
                self._restart_program()
        raise InternalError(f"the solver reports that a feasible program is {solution.status}")

    def _restart_program(self) -> None:
        """Replace the live program by a new one with the same groups and cuts."""
        self._live = LiveProgram(self._program(self._groups, self._problem.counts, whole=False))

    def _price_groups(self, duals: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find groups with a negative reduced cost, and raise the bound by feasible duals; return groups and costs."""
        # Round the duals to integers, and scan all pairs and triples.
        types = np.floor(duals[: self._types] * UNIT).astype(np.int64)
        cuts = np.floor(np.maximum(duals[self._types :], 0.0) * UNIT).astype(np.int64)
        found, reduced, missing = self._scan(types, cuts, limit=-1, most=_GROUPS_PER_TYPE)
        # Reducing each dual by the largest violation in its groups makes them feasible.
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

    def _duals_of_cuts(self, cuts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum the duals of the cuts that contain each type."""
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
        """Find the groups with a reduced cost of at most `limit`; see `scan_groups`.

        Parameters
        ----------
        types, cuts : int64 arrays
            Dual values of the types and the cuts.
        limit : int
        most : int, optional
            Number of groups to keep for each first type; 0 keeps all.
        counts : int64 array, optional
            Number of rows of each type; by default those of the problem.

        Returns
        -------
        groups, reduced_costs : int64 arrays
        exceeded : int64 array
            Amount by which the dual of each type must be reduced to be feasible.
        """
        problem = self._problem
        counts = problem.counts if counts is None else counts
        # The scan wants the types in descending order of what their rows can subtract.
        reach = types + self._duals_of_cuts(cuts)
        part = np.flatnonzero(counts)
        order = part[np.argsort(-reach[part], kind="stable")]
        used = [members for members, dual in zip(self._cuts, cuts, strict=True) if dual > 0]
        starts, lies_in = list_cuts_by_type(used, self._types, order)
        row_types = Types(problem.codes[order], self._values[order], counts[order])
        duals = Duals(types[order], reach[order], starts, lies_in, cuts[cuts > 0])
        scan = functools.partial(scan_groups, row_types, problem.prices.table, duals)
        missing = np.zeros(len(order), dtype=np.int64)
        chunk = max(_PAIRS_PER_SCAN // len(order), 1)
        groups, costs, stored = [np.empty((0, 3), dtype=np.int64)], [np.empty(0, dtype=np.int64)], 0
        # Scan in chunks, so that the time limit is checked; repeat a chunk if it had too little room.
        for first in range(0, len(order), chunk):
            self._check_clock()
            last = min(first + chunk, len(order))
            found, reduced = _allocate((last - first) * most if most else _INITIAL_ROOM)
            count, total = scan(first, last, limit, most, found, reduced, missing)
            if not most and total > count:
                found, reduced = _allocate(total)
                count, total = scan(first, last, limit, most, found, reduced, missing)
            stored += count
            if not most and stored > _MAX_GROUPS:
                raise _TooManyGroupsError
            groups.append(found[:count].copy())
            costs.append(reduced[:count].copy())
        exceeded = np.zeros(self._types, dtype=np.int64)
        exceeded[order] = missing
        return sort_types(np.concatenate(groups), order), np.concatenate(costs), exceeded

    # Integral covers.

    def _round(self, solution: NDArray[np.float64]) -> None:
        """Keep the integral part of a solution, and cover the other rows by groups of small reduced cost."""
        times = np.floor(solution + 1e-6).astype(np.int64)
        times[self._groups[:, 1] < 0] = 0
        kept = np.repeat(self._groups, times, axis=0)
        left = self._problem.counts - count_rows_by_type(kept, self._types)
        if left.sum() > _MAX_ROWS_TO_ROUND:
            # Too many rows for an integer program: split them somehow.
            rest = np.repeat(np.arange(self._types), left)
            self._keep(np.concatenate((kept, split_cover(self._problem, [rest]))))
            return
        if left.any():
            try:
                near = self._affordable(_MAX_ROUNDING_EXCESS * UNIT, left)
            except _TooManyGroupsError:
                return
            found = self._solve_integer(near, left, share=_ROUNDING_SHARE)
            if found.values is None:
                return
            kept = np.concatenate((kept, repeat_groups(near, found.values)))
        self._keep(kept)

    def _affordable(self, limit: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find all groups with a reduced cost of at most `limit` under the best duals."""
        assert self._duals is not None
        later = len(self._cuts) - len(self._duals.cuts)
        cuts = np.concatenate((self._duals.cuts, np.zeros(later, dtype=np.int64)))
        return self._scan(self._duals.types, cuts, limit=limit, counts=counts)[0]

    def _solve_remaining_groups(self) -> None:
        """Solve integer programs over groups of increasing reduced cost, until the others cannot improve the cover."""
        assert self._duals is not None
        step, tried = 0, -1
        while not self._is_proven():
            ceiling = self._prohibitive if self._cost is None else self._cost
            highest = min(self._bound + step, ceiling - 1)
            try:
                # No group of a cover that costs at most `highest` has a reduced cost above the difference to the bound.
                groups = self._affordable(highest * UNIT - self._duals.bound, self._problem.counts)
            except _TooManyGroupsError:
                raise _OutOfTimeError from None
            if len(groups) > tried:
                tried = len(groups)
                found = self._solve_integer(groups, self._problem.counts)
                if found.values is not None:
                    self._keep(repeat_groups(groups, found.values))
            # A cover of these groups costs at least the bound of the program; any other costs more than `highest`.
            proven = highest + 1 if math.isinf(found.bound) else min(int(found.bound), highest + 1)
            self._raise_bound(
                min(proven, ceiling), Fact("branch_and_bound", relaxation=self._relaxation(), groups=tried)
            )
            if found.status in ("time-limit", "interrupted"):
                raise _OutOfTimeError
            step = max(2 * step, 1)

    def _solve_integer(self, groups: NDArray[np.int64], counts: NDArray[np.int64], share: float = 1.0) -> Solution:
        """Solve the integer program that covers `counts` rows by groups, within a share of the remaining time."""
        self._check_clock()
        left = self._seconds_left()
        return solve(
            self._program(groups, counts, whole=True),
            time_limit=None if left is None else share * left,
            keep_interrupted=True,
            step=_STEP_NAME,
            progress=self._report,
        )

    def _keep(self, groups: NDArray[np.int64]) -> None:
        """Store a cover if it is the cheapest so far."""
        problem = self._problem
        # Check that the cover is valid, no matter which method found it.
        if not np.array_equal(count_rows_by_type(groups, self._types), problem.counts):
            raise InternalError("a cover does not hold every row once")
        with_values = self._values[groups]
        with_values[groups < 0] = -1
        for one, other in ((0, 1), (0, 2), (1, 2)):
            if ((with_values[:, one] >= 0) & (with_values[:, one] == with_values[:, other])).any():
                raise InternalError("a cover has a group with a repeated value")
        cost = int(self._costs(groups).sum())
        if (groups[:, 1] < 0).any():
            raise InternalError("a cover leaves rows alone that may not be")
        if cost < FORBIDDEN and (self._cost is None or cost < self._cost):
            self._best, self._cost = groups, cost

    # Time limit and progress.

    def _seconds_left(self) -> float | None:
        """Return the remaining seconds; None if there is no limit."""
        return None if self._limit is None else self._limit - (time.perf_counter() - self._began)

    def _check_clock(self) -> None:
        """Raise an error if the time limit is reached; report progress otherwise."""
        left = self._seconds_left()
        if left is not None and left <= 0:
            raise _OutOfTimeError
        self._report(_STEP_NAME, 0, 1)

    def _report(self, step: str, _is_proven: int, _total: int, /) -> None:
        """Report the elapsed time as progress."""
        total = 1 if self._limit is None else max(math.ceil(self._limit), 1)
        done = 0 if self._limit is None else min(int(time.perf_counter() - self._began), total)
        self._progress(step, done, total)


def _allocate(size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.empty((size, 3), dtype=np.int64), np.empty(size, dtype=np.int64)


def cheapest_cover(
    problem: CoverProblem,
    *,
    start: NDArray[np.int64] | None = None,
    time_limit: float | None = None,
    progress: Progress = silent,
) -> Cover:
    """Find the cheapest cover of rows by pairs and triples.

    Parameters
    ----------
    problem : CoverProblem
    start : int64 array of shape (groups, 3), optional
        A cover to start from, in the form of `Cover.groups`; the result never costs more.
    time_limit : float, optional
        Seconds after which the best cover so far is returned, with the bound that was proven by then.
    progress : callable
        Receives progress reports; a KeyboardInterrupt that it raises ends the search like the time limit.

    Returns
    -------
    Cover
        The cheapest cover found. It has no groups if none was found; if the search is complete then, no cover exists.

    Raises
    ------
    MissingExtraError
        If highspy is not installed.
    """
    return CoverSearch(problem, start=start, time_limit=time_limit, progress=progress).run()
