"""Best-first search of the lattice for the node of least cost: branch on boxes of nodes, and bound them."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress
from shoal.algorithms.full_domain.lattice import ClassesOfNodes, Judge, Lattice, Node
from shoal.algorithms.full_domain.lattice_costs import CellCost, Evaluation, LatticeCost
from shoal.algorithms.full_domain.lattice_kernel import ACCEPTED, JOINED, Classes, judge
from shoal.algorithms.full_domain.whole_release import Joining, WholeRelease

_Bound = tuple[int, int]
_NEVER: _Bound = (1 << 200, 0)
"""The bound of a box without a feasible node: above every cost."""
_PARTS = 1_000
"""Number of parts of the lattice in which progress is reported."""
_NOBODY = np.empty(0, dtype=np.int64)
"""No class joins the suppressed rows."""
_NOTHING = np.empty(0, dtype=np.int8)
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

    def classes_at(self, node: Node) -> tuple[Evaluation, NDArray[np.int32]]:
        """Compute the classes at a feasible node with their verdicts, and the class of each distinct row."""
        classes, number = self.at.numbered(node)
        found = self._judged(node, classes)
        self._complete(found, self._whole.joining(found, self._most))
        return found, number

    def _judged(self, node: Node, classes: Classes) -> Evaluation:
        verdict = np.empty(len(classes.sizes), dtype=np.int8)
        tally = np.zeros((3, 5), dtype=np.int64)
        people = self._whole.people_of(self._lattice, node, classes)
        standing = self._whole.standing(node, classes, people)
        found = Evaluation(node=node, classes=classes, verdict=verdict, tally=tally, people=people)
        complete = self._judge_classes(found, _NOBODY, 0, standing)
        if node == self._lattice.top:  # all rows together are acceptable: that was checked, and exactly
            verdict[:], tally[:2], complete = ACCEPTED, 0, True
        return replace(found, complete=complete)

    def _judge_classes(
        self, found: Evaluation, order: NDArray[np.int64], forced: int, standing: NDArray[np.int8] = _NOTHING
    ) -> bool:
        predicate, lasting, places = self._judge.predicate, self._judge.lasting, self._places_at(found.node)
        return bool(
            judge(
                found.classes,
                predicate,
                lasting,
                self._surcharges,
                places,
                self._most,
                order,
                forced,
                standing,
                found.verdict,
                found.tally,
            )
        )

    def _places_at(self, node: Node) -> NDArray[np.int64]:
        return np.array([starts[level] for starts, level in zip(self._places, node, strict=True)], dtype=np.int64)

    def _complete(self, found: Evaluation, joining: Joining) -> bool:
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
