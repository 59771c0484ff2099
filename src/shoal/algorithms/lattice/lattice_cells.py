"""The cells of the lattice of hierarchies: a node for each attribute, the rows below it, and their losses.

A group publishes the lowest common ancestors of its rows, which form a cell. So k-anonymity by hierarchies is the
program of pattern-guided k-anonymity with cells in place of patterns and kept values: assign rows to cells, with at
least k rows for each cell in use.

`price` relaxes the constraint that every row follows exactly one cell: every row pays its price. Rows of a cell that is
not listed lose more there than any price: such cells change nothing. The relaxation proves a bound, and names the cells
of good groups, among which `anneal_cells` chooses (`shoal.algorithms.patterns.optimum` does the same for patterns).

References
----------
M. L. Fisher, "The Lagrangian relaxation method for solving integer programming problems", Management Science 27(1),
1981. doi:10.1287/mnsc.27.1.1
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220(4598), 1983.
doi:10.1126/science.220.4598.671
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.algorithms.base import Problem
from shoal.algorithms.common.annealing import Cooling, choices_of, cool, placement_of
from shoal.algorithms.common.annealing_kernel import Choices, Placement, settle_short_groups
from shoal.algorithms.common.lagrange_kernel import Relaxed, fix_by_price, lagrangian

COST_UNIT = 1 << 16
"""Costs are whole numbers: the loss of a cell of the table that becomes a star."""
_WORK_OF_STEP = 400
"""Fixed work of a step of the listing, in classes."""
_DEAREST = 3.0, 2.0, 1.5, 1.0, 0.75, 0.5, 0.25
"""Largest losses of a row in a listed cell, in stars: the first with which the listing is affordable is used."""
_WORK = 30_000_000
"""Classes of rows to visit, over all cells."""
_MOST_CLASSES = 50_000
"""Largest number of classes of a table whose cells are listed."""
_SAMPLE = 500
"""Number of classes that the work is estimated from."""
_LARGEST_KEY = 1 << 62


class _Climb(NamedTuple):
    """One attribute of the classes at a level that differs from the level below."""

    nodes: NDArray[np.int64]
    """Node of each class."""
    different: int
    """Number of nodes."""
    lost: NDArray[np.float64]
    """Loss of a row of each class."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LatticeCells:
    """The cells with little loss and enough rows; the cheapest of several cells with the same rows."""

    costs: NDArray[np.int64]
    """Lower bound on the loss of a row in each cell, in multiples of 1 / `COST_UNIT`, rounded down, ascending."""
    starts: NDArray[np.int64]
    """Start of the classes of each cell in `members`; one more than there are cells."""
    members: NDArray[np.int32]
    """The classes of equal rows that fit each cell."""
    sizes: NDArray[np.int64]
    """Rows of each class."""
    dearest: int
    """In cells that are not listed the loss of a row is larger than this."""
    k: int
    """Smallest number of rows below each cell."""

    @classmethod
    def of(cls, problem: Problem, k: int, *, work: int = _WORK) -> LatticeCells | None:
        """List the cells of a table; None if some attribute has no hierarchy, or if there are too many cells.

        Parameters
        ----------
        problem : Problem
        k : int
            Smallest size of an acceptable group.
        work : int
            Number of classes that may be visited, over all cells.
        """
        columns = list(zip(problem.table.quasi_identifiers, problem.levels, strict=True))
        varied = [(column, levels) for column, levels in columns if column.size > 1]
        if problem.recoding != "generalization" or not varied or not all(levels.hierarchical for _, levels in varied):
            return None
        # Only one row of each class is needed.
        classes = problem.table.classes
        if classes.count > _MOST_CLASSES:
            return None
        firsts = classes.first_rows[classes.class_starts[:-1]]
        sizes = classes.class_sizes.astype(np.int64)
        codes = [column.codes[firsts] for column, _ in varied]
        climbs = [
            _climbs(levels.nodes[:, code], levels.penalty[:, code])
            for code, (_, levels) in zip(codes, varied, strict=True)
        ]
        # Attributes with large losses first: they prune most.
        climbs.sort(key=lambda one: -float(np.mean([climb.lost.mean() for climb in one])))
        some = np.linspace(0, len(sizes) - 1, min(len(sizes), _SAMPLE)).astype(np.int64)
        # Estimate the work on a sample; the first affordable limit is used for the whole table.
        for dearest in _DEAREST:
            limit = min(dearest, float(len(columns)))
            sampled = _Listing(climbs, sizes, 1, limit, work, len(some))
            if sampled.visit(some):
                listing = _Listing(climbs, sizes, k, limit, 2 * work, len(sizes))
                if listing.visit(np.arange(len(sizes))):
                    return listing.cells(k)
        return None

    @cached_property
    def of_pairs(self) -> NDArray[np.int64]:
        """The cell of each entry of `members`."""
        return np.repeat(np.arange(len(self.costs)), np.diff(self.starts))

    def __len__(self) -> int:
        return len(self.costs)


def _climbs(nodes: NDArray[np.int32], lost: NDArray[np.float64]) -> list[_Climb]:
    """Collect the levels of an attribute that differ from one another."""
    climbs: list[_Climb] = []
    for of_level, lost_there in zip(nodes, lost, strict=True):
        if climbs and np.array_equal(climbs[-1].nodes, of_level) and np.array_equal(climbs[-1].lost, lost_there):
            continue
        climbs.append(_Climb(of_level.astype(np.int64), int(of_level.max()) + 1, lost_there))
    return climbs


class _Listing:
    """A walk through the vectors of levels, attribute by attribute, with the classes of little loss so far."""

    def __init__(
        self, climbs: list[list[_Climb]], sizes: NDArray[np.int64], k: int, limit: float, work: int, visited: int
    ) -> None:
        """Limit the work for all classes, and take the share of the visited ones."""
        self._climbs, self._sizes, self._k, self._limit = climbs, sizes, k, limit
        self._work = work * visited
        self._of_class, self._of_step = len(sizes), _WORK_OF_STEP * visited
        self._marks = np.random.default_rng(0).integers(0, 1 << 63, len(sizes), np.uint64)
        self._costs: list[NDArray[np.float64]] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._members: list[NDArray[np.int64]] = []
        self._hashes: list[NDArray[np.uint64]] = []

    def visit(self, classes: NDArray[np.int64]) -> bool:
        """List the cells of the given classes; return whether the work was enough."""
        return self._step(0, classes, np.zeros(len(classes), dtype=np.int64), 1, np.zeros(len(classes)))

    def _step(
        self, place: int, classes: NDArray[np.int64], keys: NDArray[np.int64], count: int, lost: NDArray[np.float64]
    ) -> bool:
        # The work is charged in advance, so that a large step does not start.
        self._work -= len(classes) * self._of_class + self._of_step
        if self._work < 0:
            return False
        # All attributes have a level: list the cells.
        if place == len(self._climbs):
            self._list(classes, keys, lost)
            return True
        # Try each level of the attribute, with the classes that stay below the limit.
        for climb in self._climbs[place]:
            total = lost + climb.lost[classes]
            cheap = np.flatnonzero(total <= self._limit)
            if not len(cheap):
                continue
            some, kept, several = classes[cheap], keys[cheap], count
            # Renumber the cells so far if the keys could overflow.
            if several * climb.different > _LARGEST_KEY:
                kept = np.unique(kept, return_inverse=True)[1].astype(np.int64)
                several = len(some)
            if not self._step(
                place + 1, some, kept * climb.different + climb.nodes[some], several * climb.different, total[cheap]
            ):
                return False
        return True

    def _list(self, classes: NDArray[np.int64], keys: NDArray[np.int64], lost: NDArray[np.float64]) -> None:
        # Sort the classes by cell, and keep the cells with at least k rows.
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        lengths = np.diff(firsts, append=len(keys))
        enough = np.add.reduceat(self._sizes[classes[order]], firsts) >= self._k
        order = order[np.repeat(enough, lengths)]
        lengths = lengths[enough]
        if not len(lengths):
            return
        members = classes[order]
        firsts = np.cumsum(lengths) - lengths
        self._costs.append(lost[order[firsts]])
        self._lengths.append(lengths)
        self._members.append(members)
        self._hashes.append(np.add.reduceat(self._marks[members], firsts))

    def cells(self, k: int) -> LatticeCells:
        """Build the result: cheapest cells first, and only the cheapest of cells with the same classes."""
        empty = np.empty(0, dtype=np.int64)
        costs = np.concatenate([empty, *self._costs])
        lengths = np.concatenate([empty, *self._lengths])
        members = np.concatenate([empty, *self._members])
        hashes = np.concatenate([empty.astype(np.uint64), *self._hashes])
        # Equal sums of random marks stand for equal sets of classes.
        starts = np.cumsum(lengths) - lengths
        order = np.argsort(costs, kind="stable")
        kept = np.sort(np.unique(hashes[order], return_index=True)[1])
        order = order[kept]
        chosen = lengths[order]
        ends = np.cumsum(chosen)
        pairs = np.arange(int(chosen.sum())) + np.repeat(starts[order] - (ends - chosen), chosen)
        return LatticeCells(
            costs=np.floor(costs[order] * (1 - 1e-12) * COST_UNIT).astype(np.int64),
            starts=np.append(0, ends).astype(np.int64),
            members=members[pairs].astype(np.int32),
            sizes=self._sizes,
            dearest=int(np.floor(self._limit * COST_UNIT)),
            k=k,
        )


FINE = 1 << 14
"""Prices count in multiples of 1 / FINE of a cost."""
_PRICING_WORK = 200_000_000
"""Pairs of a class and a cell to visit, over all rounds: on Adult two seconds."""
_MOST_ROUNDS = 150
_AHEAD = 0.1
"""Steps aim at a bound higher than the best so far by this share; that much is gained soon on Adult."""
_MOMENTUM = 0.6
"""Share of the previous direction added to each: half as many rounds prove the same bound on Adult."""
_PATIENCE = 4
"""Rounds without a better bound before the step is halved; chosen on Adult."""
_FINEST_STEP = 1 / 1024
_ROUNDING = 1e-9
"""Relative margin for rounding: sums and divisions of floating-point numbers are off by far less."""


def round_bound_down(bound: float) -> float:
    """Lower a bound by the margin for rounding, so that it holds despite floating-point errors."""
    return bound * (1 - _ROUNDING)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PricedCells:
    """Cells, and the prices of the rows that prove the best bound."""

    relaxed: Relaxed
    values: NDArray[np.int64]
    exact: int
    """Lower bound on the loss of all rows, in multiples of 1 / (COST_UNIT * FINE)."""

    @property
    def bound(self) -> float:
        """Lower bound on the loss of all rows, in cells of the table that become stars."""
        return max(self.exact, 0) / (COST_UNIT * FINE)

    def near(self, within: float) -> NDArray[np.bool_]:
        """Select the pairs of class and cell whose use lifts the bound by less than this many stars."""
        keep = np.empty(len(self.relaxed.members), dtype=np.bool_)
        fix_by_price(self.relaxed, self.values, self.exact, self.exact + int(within * COST_UNIT * FINE), keep)
        return keep


def price(cells: LatticeCells, *, work: int = _PRICING_WORK, progress: Progress = silent) -> PricedCells:
    """Find prices that prove a good bound on the loss of all rows, by a subgradient method with momentum.

    Parameters
    ----------
    cells : LatticeCells
    work : int
        Number of pairs to visit, over all rounds.
    progress : callable
        Called with ("prices", rounds done, rounds at most).
    """
    # Each row starts with the cost of its cheapest cell, the largest price that no single cell undercuts.
    sizes, costs = cells.sizes, cells.costs * FINE
    largest = cells.dearest * FINE
    prices = np.full(len(sizes), largest, dtype=np.int64)
    np.minimum.at(prices, cells.members, costs[cells.of_pairs])
    relaxed = Relaxed(cells.starts, cells.members, sizes, costs[cells.of_pairs], cells.k)
    slack, gains = np.empty(len(sizes), dtype=np.int64), np.empty(len(cells), dtype=np.int64)
    best, best_prices, step, worse = -1, prices, 1.0, 0
    direction = np.zeros(len(sizes))
    rounds = min(max(work // max(len(cells.members), 1), 1), _MOST_ROUNDS)
    # Each round evaluates the bound and moves the prices along the subgradient.
    for round_ in range(rounds):
        progress("prices", round_, rounds)
        bound = int(lagrangian(relaxed, prices, slack, gains))
        if bound > best:
            best, best_prices, worse = bound, prices, 0
        else:
            worse += 1
        # A zero subgradient proves that the prices are optimal.
        if not slack.any():
            break
        # No progress: halve the step, and restart from the best prices.
        if worse > _PATIENCE:
            step, worse, prices = step / 2, 0, best_prices
            lagrangian(relaxed, prices, slack, gains)
            direction[:] = 0.0
        # Momentum; classes count in proportion to their rows.
        direction = slack / sizes + _MOMENTUM * direction
        norm = float(np.dot(direction * direction, sizes))
        if step < _FINEST_STEP or norm == 0:
            break
        length = step * max(_AHEAD * best, 1.0) / norm
        prices = np.clip(prices + np.rint(length * direction).astype(np.int64), 0, largest)
    progress("prices", rounds, rounds)
    return PricedCells(relaxed=relaxed, values=best_prices, exact=best)


_WITHIN = 0.3
"""Good groups use pairs that lift the bound by less than this many stars."""
_DEAR, _WITHIN_OF_DEAR = 0.75, 2.0
"""The same for rows that pay more than this many stars: few other rows are near to them."""
_COOLING = Cooling(rounds=50, temperatures=(0.5, 0.02), penalties=(1.0, 10.0))
"""In stars."""
_MOST_OF_CLASS = 3
"""Of a class of equal rows at most this multiple of k takes part in annealing: the other rows stay."""
_SEED = 0x9E3779B97F4A7C15


def anneal_cells(
    cells: LatticeCells, priced: PricedCells, *, steps: int, progress: Progress = silent
) -> NDArray[np.int64]:
    """Assign each row to a cell, class after class; -1 for rows without a cell of at least k rows.

    Parameters
    ----------
    cells : LatticeCells
    priced : PricedCells
    steps : int
        Number of steps in all.
    progress : callable
        Called with ("settling", rounds done, rounds).
    """
    # Large classes are annealed in part: their other rows follow the cheapest cell.
    taking_part = np.minimum(cells.sizes, _MOST_OF_CLASS * cells.k)
    dear = priced.values[cells.members] > _DEAR * COST_UNIT * FINE
    chosen = priced.near(_WITHIN) | (dear & priced.near(_WITHIN_OF_DEAR))
    # The cheapest cell of each class is always included.
    by_class = np.lexsort((cells.of_pairs, cells.members))
    classes = cells.members[by_class]
    chosen[by_class[np.append(True, classes[1:] != classes[:-1])]] = True
    # Keep only the cells in use, with new numbers.
    pairs = np.flatnonzero(chosen)
    used, local = np.unique(cells.of_pairs[pairs], return_inverse=True)
    types = cells.members[pairs]
    fitting = np.bincount(types, minlength=len(cells.sizes)) > 0
    rows_of = np.where(fitting, taking_part, 0)
    choices, _ = choices_of(types, local, rows_of, cells.costs[used] / COST_UNIT, cells.k)
    # Every row starts in the cheapest cell of its class.
    placement = placement_of(choices, choices.outputs[choices.type_starts[choices.type_of]])
    random = np.array([_SEED], dtype=np.uint64)

    def should_continue(number: int) -> bool:
        progress("settling", number, _COOLING.rounds)
        return True

    if len(choices.type_of):
        cool(
            choices,
            placement,
            _COOLING,
            steps=-(-steps // _COOLING.rounds),
            random=random,
            should_continue=should_continue,
        )
    # No group of fewer than k rows is left after this, except where no other cell fits.
    settle_short_groups(choices, placement)
    progress("settling", _COOLING.rounds, _COOLING.rounds)
    return _of_rows(cells, choices, placement, used)


def _of_rows(cells: LatticeCells, choices: Choices, placement: Placement, used: NDArray[np.int64]) -> NDArray[np.int64]:
    """Look up the cell of every row of the table; rows that took no part follow the cheapest cell of their class."""
    begins = np.cumsum(cells.sizes) - cells.sizes
    cheapest = np.full(len(cells.sizes), -1, dtype=np.int64)
    has = np.diff(choices.type_starts) > 0
    cheapest[has] = used[choices.outputs[choices.type_starts[:-1][has]]]
    # All rows of a class, then the rows that took part.
    followed = np.repeat(cheapest, cells.sizes)
    places = begins[choices.type_of] + np.arange(len(choices.type_of)) - choices.row_starts[choices.type_of]
    followed[places] = used[placement.output_of]
    # Cells with fewer than k rows are dropped.
    listed = followed >= 0
    loads = np.bincount(followed[listed], minlength=len(cells))
    followed[listed] = np.where(loads[followed[listed]] >= cells.k, followed[listed], -1)
    return followed
