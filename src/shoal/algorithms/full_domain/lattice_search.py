"""Best-first search of the lattice for the node of least cost: branch on boxes of nodes, and bound them."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress
from shoal.algorithms.base import PeopleOfNodes
from shoal.algorithms.full_domain.lattice import ClassesOfNodes, Judge, Lattice, Node
from shoal.algorithms.full_domain.lattice_costs import CellCost, LatticeCost, NodeCosts
from shoal.algorithms.full_domain.lattice_kernel import ACCEPTED, IN_VAIN, JOINED, REFUSED, Classes, judge
from shoal.models.base import ReleaseRule
from shoal.models.rationals import at_most
from shoal.table.classes import mixed_radix_keys

_DENSE = 1 << 22
"""Largest number of combinations of nodes for which people are counted in a dense table."""
_CAREFUL = 16
"""Numbers of joining classes that are tried one by one; then every step is this part of the number."""
_NOTHING = np.empty(0, dtype=np.int8)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class WholeRelease:
    """Rules on a release as a whole, and the population that it is compared with."""

    rules: tuple[ReleaseRule, ...]
    people: PeopleOfNodes | None

    def people_of(self, lattice: Lattice, node: Node, classes: Classes) -> NDArray[np.int64] | None:
        """Count the members of the population that fit each class at a node (F); None without a population."""
        people = self.people
        if people is None:
            return None
        # Generalize the population to the node; -1 marks values outside the table's.
        fitted = [
            of_levels[lattice.levels[a][place]][people.codes[:, a]]
            for a, (of_levels, place) in enumerate(zip(people.nodes, node, strict=True))
        ]
        inside = np.logical_and.reduce([place_nodes >= 0 for place_nodes in fitted])
        counts = people.counts[inside]
        columns = [
            (
                np.concatenate([classes.codes[:, a], place_nodes[inside]]).astype(np.uint32),
                int(lattice.nodes[a][place].max()) + 1,
            )
            for a, (place_nodes, place) in enumerate(zip(fitted, node, strict=True))
        ]
        # Dense counting if there are few combinations, otherwise by sorting.
        m = len(classes.sizes)
        if prod(size for _, size in columns) <= _DENSE:
            keys = np.zeros(m + len(counts), dtype=np.int64)
            for codes, size in columns:
                keys = keys * size + codes
            of_key = np.bincount(keys[m:], weights=counts, minlength=prod(size for _, size in columns))
            return of_key[keys[:m]].astype(np.int64)
        keys, _ = mixed_radix_keys(columns, m + len(counts))
        number = np.unique(keys, return_inverse=True)[1]
        of_number = np.bincount(number[m:], weights=counts, minlength=int(number.max()) + 1)
        return of_number[number[:m]].astype(np.int64)

    def standing(self, node: Node, classes: Classes, people: NDArray[np.int64] | None) -> NDArray[np.int8]:
        """Judge each class at a node by the number of matching people; empty without a population."""
        if people is None:
            return _NOTHING
        # Presence bounds may hold for parts of a class, least counts may not.
        found = np.full(len(classes.sizes), ACCEPTED, dtype=np.int8)
        for rule in self.rules:
            if rule.presence is not None:
                found[~_present(classes.sizes, people, rule.presence)] = REFUSED
        for rule in self.rules:
            if rule.min_people is not None:  # fewer people fit each part of a class
                found[people < rule.min_people] = IN_VAIN
        return found

    def joining(self, found: NodeCosts, most: int) -> Joining:
        """Create the search for the classes at a node that join the suppressed rows, which are at most `most` then."""
        return Joining(whole=self, found=found, most=most)


class Joining:
    """Number of acceptable classes that join the suppressed rows, smallest first, for the release to be acceptable."""

    def __init__(self, *, whole: WholeRelease, found: NodeCosts, most: int) -> None:
        self._whole, self._found, self._most = whole, found, most
        self._able = found.verdict == ACCEPTED  # before any class joins
        self._refused = int(found.refused[0])

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The acceptable classes, smallest first; ties by their nodes."""
        classes, able = self._found.classes, np.flatnonzero(self._able)
        columns = [classes.codes[able, a] for a in reversed(range(classes.codes.shape[1]))]
        return np.asarray(able[np.lexsort([*columns, classes.sizes[able]])], dtype=np.int64)

    @cached_property
    def least(self) -> int | None:
        """The fewest classes that have to join by the rules that joining can only help; None if no number suffices."""
        return 0 if self._acceptable_at_once() else next(iter(np.flatnonzero(self._acceptable).tolist()), None)

    @property
    def rows(self) -> int:
        """Rows of these classes; of all acceptable classes if no number suffices."""
        return 0 if self.least == 0 else int(self._found.classes.sizes[self.order[: self.least]].sum())

    def next_from(self, done: int) -> int | None:
        """Find the smallest sufficient number of joining classes from `done` on, by all rules; None if there is none.

        A rule on the sizes of all groups takes time and may change in either direction: after the first numbers,
        numbers are skipped, and then bisected.
        """
        accepts = [rule.sizes for rule in self._whole.rules if rule.sizes is not None]
        if done == 0 and not accepts and self.least == 0:
            return 0
        left = done + np.flatnonzero((self._acceptable & (self._rows <= self._most))[done:])
        if not accepts or not len(left):
            return int(left[0]) if len(left) else None
        sizes, rows = self._found.classes.sizes[self.order], self._rows

        def fits(number: int) -> bool:
            groups = np.append(sizes[number:], rows[number : number + 1][rows[number : number + 1] > 0])
            return all(accept(groups) for accept in accepts)

        # Skip ahead until a number is accepted.
        refused, place = -1, 0
        while not fits(int(left[place])):
            if place == len(left) - 1:
                return None
            refused, place = place, min(place + 1 + place // _CAREFUL, len(left) - 1)
        while place - refused > 1:
            middle = (refused + place) // 2
            refused, place = (refused, middle) if fits(int(left[middle])) else (middle, place)
        return int(left[place])

    def _acceptable_at_once(self) -> bool:
        """Test whether the release is acceptable without joining classes."""
        sizes, people = self._found.classes.sizes, self._found.people
        # The suppressed rows are one group, if there are any.
        groups = int(np.count_nonzero(self._able)) + (self._refused > 0)
        for rule in self._whole.rules:
            if rule.max_groups is not None and groups > rule.max_groups:
                return False
            if rule.max_uniques is not None:
                alone = int(np.count_nonzero(self._able & (sizes == 1))) + (self._refused == 1)
                if alone > rule.max_uniques:
                    return False
        if people is None:
            return True
        assert self._whole.people is not None
        rest = self._whole.people.everybody - int(people[self._able].sum())
        return bool(self._rest_fits(np.array([self._refused]), np.array([rest]))[0])

    @cached_property
    def _rows(self) -> NDArray[np.int64]:
        """The suppressed rows after each number of joining classes."""
        return self._refused + np.concatenate(([0], np.cumsum(self._found.classes.sizes[self.order])))

    @cached_property
    def _acceptable(self) -> NDArray[np.bool_]:
        """Whether the release is acceptable after each number of joining classes: from none to all of them."""
        sizes, people, rows = self._found.classes.sizes[self.order], self._found.people, self._rows
        m = len(sizes)
        # Cumulated counts, for all numbers of joining classes at once.
        groups = m - np.arange(m + 1) + (rows > 0)
        alone = np.count_nonzero(sizes == 1) - np.concatenate(([0], np.cumsum(sizes == 1))) + (rows == 1)
        found = np.ones(m + 1, dtype=np.bool_)
        for rule in self._whole.rules:
            if rule.max_groups is not None:
                found &= groups <= rule.max_groups
            if rule.max_uniques is not None:
                found &= alone <= rule.max_uniques
        if people is not None:
            assert self._whole.people is not None
            joined = np.concatenate(([0], np.cumsum(people[self.order])))
            found &= self._rest_fits(rows, self._whole.people.everybody - joined[-1] + joined)
        return found

    def _rest_fits(self, rows: NDArray[np.int64], people: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Test whether suppressed rows are acceptable, given the number of people who fit no other group."""
        found = np.ones(len(rows), dtype=np.bool_)
        any_rows = rows > 0
        for rule in self._whole.rules:
            if rule.min_people is not None:
                found &= ~any_rows | (people >= rule.min_people)
            if rule.presence is not None:
                outside = (people == 0) | (rule.presence[0] == 0)
                found &= np.where(any_rows, _present(rows, people, rule.presence), outside)
        return found


def _present(
    rows: NDArray[np.int64], people: NDArray[np.int64], bounds: tuple[Fraction, Fraction]
) -> NDArray[np.bool_]:
    """Test elementwise whether low <= rows / people <= high."""
    low, high = bounds
    above = at_most(people, low.numerator, rows, low.denominator)
    below = at_most(rows, high.denominator, people, high.numerator)
    return np.asarray(above & below & (rows <= people))


_Bound = tuple[int, int]
_NEVER: _Bound = (1 << 200, 0)
"""The bound of a box without a feasible node: above every cost."""
_PARTS = 1_000
"""Number of parts of the lattice in which progress is reported."""
_NOBODY = np.empty(0, dtype=np.int64)
"""No class joins the suppressed rows."""
"""Nothing is known of classes besides their rows."""


@dataclass(kw_only=True)
class Budget:
    """Limits of a search."""

    nodes: int
    """Number of nodes that may be evaluated."""
    until: float
    """End of the search, by `time.perf_counter`."""
    beyond: int | None = None
    """Number of nodes that may be evaluated after the descent; None if only `nodes` counts."""

    def left(self, evaluated: int) -> bool:
        """Test whether the search may continue."""
        return evaluated < self.nodes and time.perf_counter() < self.until


@dataclass(frozen=True, kw_only=True)
class Best:
    """The best node found, and the bound on all others."""

    node: Node | None
    """None if no node is feasible."""
    cost: int
    bound: int
    """Lower bound on the cost of every node."""
    suppressed: int
    """Number of rows that it suppresses, including those that joined."""
    joined: int
    """Number of acceptable rows among them, which joined for the sake of the others."""
    proven: bool
    """Whether the search finished."""
    evaluated: int
    nearest: tuple[int, Node]
    """The fewest suppressed rows of any evaluated node, and that node."""


@dataclass(frozen=True, kw_only=True)
class _Known:
    """Stored results for an evaluated node: floors of both costs, and a bound for the nodes below it."""

    floor: _Bound
    added: _Bound
    """`_NEVER` if no node below it is feasible."""


class Search:
    """Search for the node of least cost among nodes that suppress at most a number of rows.

    Ties go to the node of the least second cost, then to the first in the order of its levels.
    """

    def __init__(
        self,
        lattice: Lattice,
        judge: Judge,
        classes: Classes,
        *,
        cost: LatticeCost,
        second: CellCost,
        places: tuple[tuple[int, ...], ...],
        surcharges: NDArray[np.int64],
        most: int,
        whole: WholeRelease | None = None,
    ) -> None:
        self._lattice, self._judge, self.cost, self._second = lattice, judge, cost, second
        self._places, self._surcharges, self._most = places, surcharges, most
        self._whole = whole or WholeRelease(rules=judge.release, people=judge.people)
        self.at = ClassesOfNodes(lattice, classes, int(judge.predicate.starts[-1]))
        self._rows = classes.rows
        self.known: dict[Node, _Known] = {}
        self._best: tuple[int, int, Node] | None = None
        self._suppressed = self._joined = 0
        self._nearest: tuple[int, Node] | None = None

    def run(self, budget: Budget, name: str, progress: Progress) -> Best:
        """Search until the optimum is proven or the budget is spent."""
        lattice = self._lattice
        progress(name, 0, _PARTS)
        # A good first solution makes the bounds effective.
        self._descend(budget)
        if budget.beyond is not None:
            budget = replace(budget, nodes=min(budget.nodes, len(self.known) + budget.beyond), beyond=None)
        elif lattice.size > budget.nodes:
            self._exchange(budget)
        bound, settled = _NEVER, 0
        heap: list[tuple[_Bound, Node, Node]] = []
        self._push(heap, lattice.bottom, lattice.ceiling, self.known[lattice.ceiling].added)
        # Boxes in the order of their bounds.
        while heap:
            if not budget.left(len(self.known)):
                bound = heap[0][0]
                break
            below, low, high = heapq.heappop(heap)
            count = _count(low, high)
            # No node of the box can be better: it is settled.
            if self._beaten(below, low):
                settled += count
                continue
            # Evaluate the ends of the box, which sharpens its bound; otherwise divide it.
            if high not in self.known or (not self.cost.precomputed and low not in self.known):
                self.evaluate(high)
                if not self.cost.precomputed and low not in self.known:
                    self.evaluate(low)
                if low == high or not self._push(heap, low, high, self.known[high].added):
                    settled += count
            elif low == high:
                settled += count
            else:
                for lower, upper in self._halves(low, high):
                    if not self._push(heap, lower, upper, self.known[high].added):
                        settled += _count(lower, upper)
            progress(name, settled * _PARTS // lattice.size, _PARTS)
        progress(name, _PARTS, _PARTS)
        assert self._nearest is not None
        cost = self._best[0] if self._best is not None else _NEVER[0]
        return Best(
            node=None if self._best is None else self._best[2],
            cost=cost,
            bound=min(bound[0], cost),
            suppressed=self._suppressed,
            joined=self._joined,
            proven=bound == _NEVER,
            evaluated=len(self.known),
            nearest=self._nearest,
        )

    def classes_at(self, node: Node) -> tuple[NodeCosts, NDArray[np.int32]]:
        """Compute the classes at a feasible node with their verdicts, and the class of each distinct row."""
        classes, number = self.at.numbered(node)
        found = self._judged(node, classes)
        self._complete(found, self._whole.joining(found, self._most))
        return found, number

    def _judged(self, node: Node, classes: Classes) -> NodeCosts:
        verdict = np.empty(len(classes.sizes), dtype=np.int8)
        tally = np.zeros((3, 5), dtype=np.int64)
        people = self._whole.people_of(self._lattice, node, classes)
        standing = self._whole.standing(node, classes, people)
        found = NodeCosts(node=node, classes=classes, verdict=verdict, tally=tally, people=people)
        complete = self._judge_classes(found, _NOBODY, 0, standing)
        if node == self._lattice.top:  # all rows together are acceptable: that was checked, and exactly
            verdict[:], tally[:2], complete = ACCEPTED, 0, True
        return replace(found, complete=complete)

    def _judge_classes(
        self, found: NodeCosts, order: NDArray[np.int64], forced: int, standing: NDArray[np.int8] = _NOTHING
    ) -> bool:
        places = [starts[level] for starts, level in zip(self._places, found.node, strict=True)]
        return bool(
            judge(
                found.classes,
                self._judge.predicate,
                self._judge.lasting,
                self._surcharges,
                np.array(places, dtype=np.int64),
                self._most,
                order,
                forced,
                standing,
                found.verdict,
                found.tally,
            )
        )

    def _complete(self, found: NodeCosts, joining: Joining) -> bool:
        """Make the suppressed rows an acceptable group, and the release acceptable; return whether that succeeded."""
        if found.refused[0] > self._most:
            return False
        order, done, need = joining.order, 0, joining.next_from(0)
        if found.complete and need == 0:
            return True
        # Classes join until both conditions hold.
        while need is not None and done < len(order):
            if not self._judge_classes(found, order[done:], need - done):
                return False
            done = int(np.count_nonzero(found.verdict == JOINED))
            need = joining.next_from(done)
            if need == done:
                return True
        return False

    def evaluate(self, node: Node) -> tuple[int, int] | None:
        """Judge the classes at a node; return its cost if it is feasible, and update the best node."""
        if node in self.known:
            return None
        found = self._judged(node, self.at(node))
        refused = int(found.refused[0])
        second = self._second
        added = (self.cost.added(found), second.added(found))
        joining = self._whole.joining(found, self._most)
        # Nothing below is feasible if too many rows are suppressed in vain.
        if found.in_vain[0] > self._most or (self._most == 0 and (refused or joining.least != 0)):
            added = _NEVER
        self.known[node] = _Known(floor=(self.cost.floor(node, found), second.floor(node)), added=added)
        hidden = bool(node) and node == self._lattice.top  # nothing but stars
        shown = self._rows if hidden else refused + joining.rows
        if self._nearest is None or (shown, node) < self._nearest:
            self._nearest = (shown, node)
        # Skip the costly completion if the node cannot be the best.
        if shown > self._most or joining.least is None:
            return None
        if self._best is not None and (self.cost.least(found), second.total(found), node) >= self._best:
            return None
        if not self._complete(found, joining):
            return None
        cost = (self.cost.total(found), second.total(found))
        if self._best is None or (*cost, node) < self._best:
            self._best = (*cost, node)
            self._suppressed = self._rows if hidden else int(found.refused[0])
            self._joined = int(found.refused[0]) - refused
        return cost

    def _floor(self, node: Node) -> _Bound:
        known = self.known.get(node)
        return (self.cost.floor(node, None), self._second.floor(node)) if known is None else known.floor

    def _push(self, heap: list[tuple[_Bound, Node, Node]], low: Node, high: Node, added: _Bound) -> bool:
        """Push a box unless it is dominated; return whether it was pushed."""
        if added == _NEVER:
            return False
        floor = self._floor(low)
        bound = (self.cost.joint(floor[0], added[0]), floor[1] + added[1])
        if self._beaten(bound, low):
            return False
        heapq.heappush(heap, (bound, low, high))
        return True

    def _beaten(self, bound: _Bound, low: Node) -> bool:
        """Test whether no node from `low` up can be better than the best."""
        return self._best is not None and (*bound, low) >= self._best

    def _halves(self, low: Node, high: Node) -> Iterator[tuple[Node, Node]]:
        """Divide a box in two at the largest rise of the floor."""
        totals = self._second.totals
        spread = [totals[a][high[a]] - totals[a][low[a]] for a in range(len(low))]
        widest = max(range(len(low)), key=lambda a: (high[a] > low[a], spread[a]))
        levels = range(low[widest], high[widest])
        middle = (totals[widest][low[widest]] + totals[widest][high[widest]]) / 2
        cut = max((level for level in levels if totals[widest][level] <= middle), default=low[widest])
        yield low, (*high[:widest], cut, *high[widest + 1 :])
        yield (*low[:widest], cut + 1, *low[widest + 1 :]), high

    def _descend(self, budget: Budget) -> None:
        """Descend from the highest node as long as one step improves the best node."""
        at, bottom = self._lattice.ceiling, self._lattice.bottom
        self.evaluate(at)
        while budget.left(len(self.known)):
            for a in range(len(at)):
                if at[a] > bottom[a]:
                    self.evaluate((*at[:a], at[a] - 1, *at[a + 1 :]))
            if self._best is None or self._best[2] == at:
                return
            at = self._best[2]

    def _exchange(self, budget: Budget) -> None:
        """Change two attributes at a time as long as that improves the best node, with half of the budget."""
        half = Budget(nodes=budget.nodes // 2, until=(time.perf_counter() + budget.until) / 2)
        at: Node | None = None
        while self._best is not None and self._best[2] != at:
            at = self._best[2]
            for node in self._neighbours(at):
                if not half.left(len(self.known)):
                    return
                self.evaluate(node)

    def _neighbours(self, node: Node) -> Iterator[Node]:
        bottom, top, d = self._lattice.bottom, self._lattice.ceiling, len(node)
        for a in range(d):
            for b in range(d):
                for up in (0, 1) if a != b else (1,):
                    changed = list(node)
                    changed[a] -= 1
                    changed[b] += up if a != b else 2
                    if changed[a] >= bottom[a] and changed[b] <= top[b]:
                        yield tuple(changed)


def _count(low: Node, high: Node) -> int:
    return prod(h - l + 1 for l, h in zip(low, high, strict=True))
