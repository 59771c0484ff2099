"""The cells of the lattice of hierarchies: a node for each attribute, the rows below, and what each loses there.

A group publishes the lowest common ancestors of its rows, which are a cell. So k-anonymity by hierarchies is the
program of pattern-guided k-anonymity with cells in place of patterns and kept values: which rows follow which cell, at
least k for each cell that is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.base import Problem

__all__ = ["COST_UNIT", "LatticeCells"]

COST_UNIT = 1 << 16
"""Costs are whole numbers: this is what a cell of the table loses that becomes a star."""
_WORK_OF_STEP = 400
"""What a step of the listing takes however few classes it looks at, in classes."""
_DEAREST = 3.0, 2.0, 1.5, 1.0, 0.75, 0.5, 0.25
"""What a row may lose in a cell that is listed, in stars: the first with which listing takes no more than its work."""
_WORK = 30_000_000
"""Classes of rows that are looked at, over all cells."""
_MOST_CLASSES = 50_000
"""Of tables with more classes no cells are listed."""
_SAMPLE = 500
"""Classes that the work is estimated from."""
_LARGEST_KEY = 1 << 62


class _Climb(NamedTuple):
    """One attribute of the classes at one level that differs from those below it."""

    nodes: NDArray[np.int64]
    """Node of each class."""
    different: int
    """How many nodes there are."""
    lost: NDArray[np.float64]
    """What a row of each class loses."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LatticeCells:
    """The cells in which rows lose little, and that enough rows fit: of several with the same rows, the cheapest."""

    costs: NDArray[np.int64]
    """What each row loses at least in each cell, in units of 1 / `COST_UNIT`, rounded down, ascending."""
    starts: NDArray[np.int64]
    """Where the classes of each cell start in `members`; one more than there are cells."""
    members: NDArray[np.int32]
    """The classes of equal rows that fit each cell."""
    sizes: NDArray[np.int64]
    """Rows of each class."""
    dearest: int
    """In cells that are not listed a row loses more than this."""
    k: int
    """Rows that each cell has below it at least."""

    @classmethod
    def of(cls, problem: Problem, k: int, *, work: int = _WORK) -> LatticeCells | None:
        """List the cells of a table; None where some attribute has no hierarchy, or where there are too many.

        Parameters
        ----------
        problem : Problem
        k : int
            Rows that an acceptable group has at least.
        work : int
            Classes that may be looked at, over all cells.
        """
        columns = list(zip(problem.table.quasi_identifiers, problem.levels, strict=True))
        varied = [(column, levels) for column, levels in columns if column.size > 1]
        if problem.recoding != "generalization" or not varied or not all(levels.hierarchical for _, levels in varied):
            return None
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
        climbs.sort(key=lambda one: -float(np.mean([climb.lost.mean() for climb in one])))
        some = np.linspace(0, len(sizes) - 1, min(len(sizes), _SAMPLE)).astype(np.int64)
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

    def __repr__(self) -> str:
        return f"LatticeCells({len(self)}, pairs={len(self.members)})"


def _climbs(nodes: NDArray[np.int32], lost: NDArray[np.float64]) -> list[_Climb]:
    """Return the levels of an attribute that differ from one another."""
    climbs: list[_Climb] = []
    for of_level, lost_there in zip(nodes, lost, strict=True):
        if climbs and np.array_equal(climbs[-1].nodes, of_level) and np.array_equal(climbs[-1].lost, lost_there):
            continue
        climbs.append(_Climb(of_level.astype(np.int64), int(of_level.max()) + 1, lost_there))
    return climbs


class _Listing:
    """A walk through the vectors of levels, attribute by attribute, with the classes that lose little so far."""

    def __init__(
        self, climbs: list[list[_Climb]], sizes: NDArray[np.int64], k: int, limit: float, work: int, visited: int
    ) -> None:
        """Allow so much work for all classes, and of it the share of those that are visited."""
        self._climbs, self._sizes, self._k, self._limit = climbs, sizes, k, limit
        self._work = work * visited
        self._of_class, self._of_step = len(sizes), _WORK_OF_STEP * visited
        self._marks = np.random.default_rng(0).integers(0, 1 << 63, len(sizes), np.uint64)
        self._costs: list[NDArray[np.float64]] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._members: list[NDArray[np.int64]] = []
        self._hashes: list[NDArray[np.uint64]] = []

    def visit(self, classes: NDArray[np.int64]) -> bool:
        """List the cells of some classes; return whether the work was enough."""
        return self._step(0, classes, np.zeros(len(classes), dtype=np.int64), 1, np.zeros(len(classes)))

    def _step(
        self, place: int, classes: NDArray[np.int64], keys: NDArray[np.int64], count: int, lost: NDArray[np.float64]
    ) -> bool:
        self._work -= len(classes) * self._of_class + self._of_step
        if self._work < 0:
            return False
        if place == len(self._climbs):
            self._list(classes, keys, lost)
            return True
        for climb in self._climbs[place]:
            total = lost + climb.lost[classes]
            cheap = np.flatnonzero(total <= self._limit)
            if not len(cheap):
                continue
            some, kept, several = classes[cheap], keys[cheap], count
            if several * climb.different > _LARGEST_KEY:
                kept = np.unique(kept, return_inverse=True)[1].astype(np.int64)
                several = len(some)
            if not self._step(
                place + 1, some, kept * climb.different + climb.nodes[some], several * climb.different, total[cheap]
            ):
                return False
        return True

    def _list(self, classes: NDArray[np.int64], keys: NDArray[np.int64], lost: NDArray[np.float64]) -> None:
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
        """Return what was listed, cheapest first, and of cells with the same classes only the cheapest."""
        empty = np.empty(0, dtype=np.int64)
        costs = np.concatenate([empty, *self._costs])
        lengths = np.concatenate([empty, *self._lengths])
        members = np.concatenate([empty, *self._members])
        hashes = np.concatenate([empty.astype(np.uint64), *self._hashes])
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
