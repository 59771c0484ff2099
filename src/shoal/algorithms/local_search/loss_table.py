"""Conversion of a table for local search: codes, the losses of recoding each attribute, and near classes of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.threads import map_in_threads
from shoal.algorithms.base import Problem
from shoal.algorithms.local_search.losses_kernel import INTERVAL, LAST, SET, STAR, TREE, Losses
from shoal.algorithms.local_search.neighbours_kernel import nearest_classes, stretches_of
from shoal.recoding import Levels
from shoal.recoding.penalty import distances, set_penalty
from shoal.table import Column, Table

_TALLIED = 1 << 25
"""Largest number of counts of codes by group to store; codes of larger domains are counted on demand."""
_FLAGGED = 8
"""Most flags, by row, with which pairs of a group and a code are found; sorting finds more."""


@dataclass(frozen=True, kw_only=True, repr=False)
class LossTable:
    """The losses of recoding, as arrays: the quasi-identifiers that can lose anything, small domains first."""

    losses: Losses
    """The arrays of the kernels."""
    importance: NDArray[np.float64]
    """Average loss of two rows of the table if they are a group."""
    steps: NDArray[np.float64]
    """Smallest loss of two rows that differ."""
    nodes: tuple[NDArray[np.int32], ...]
    """For each attribute with a hierarchy the node of each leaf at each level; empty for other attributes."""
    attributes: int
    """Number of quasi-identifiers, including those that cannot lose anything."""

    @classmethod
    def of(cls, problem: Problem, order: NDArray[np.int32]) -> LossTable:
        """Convert the quasi-identifiers, with the rows in an order."""
        # A column with a single value cannot lose anything.
        attributes = [
            _Attribute.of(column, levels, problem)
            for column, levels in zip(problem.table.quasi_identifiers, problem.levels, strict=True)
            if column.size > 1
        ]
        attributes.sort(key=lambda one: one.size)
        # Small domains come first, so that the codes to tally are a prefix.
        starts = np.concatenate(([0], np.cumsum([one.size for one in attributes]))).astype(np.int64)
        codes = np.empty((len(order), len(attributes)), dtype=np.int32)
        columns = np.empty((len(attributes), 4), dtype=np.int64)
        positions = np.zeros((max((len(one.positions) for one in attributes), default=1), int(starts[-1])))
        for place, one in enumerate(attributes):
            first, end = starts[place], starts[place + 1]
            codes[:, place] = one.ranks[one.column.codes[order]] + np.int32(first)
            columns[place] = one.mode, first, end - 1, first + one.missing if one.missing >= 0 else -1
            positions[: len(one.positions), first:end] = one.positions
        return cls(
            losses=Losses(
                codes=codes,
                columns=columns,
                scales=np.array([one.scale for one in attributes], dtype=np.float64),
                positions=positions,
                largest_set=problem.largest_set,
            ),
            importance=np.array([one.importance() for one in attributes], dtype=np.float64),
            steps=np.array([one.step() for one in attributes], dtype=np.float64),
            nodes=tuple(one.nodes for one in attributes),
            attributes=len(problem.table.quasi_identifiers),
        )

    @property
    def width(self) -> int:
        """Number of quasi-identifiers that can lose anything."""
        return len(self.losses.columns)

    def tallied(self, groups: int) -> int:
        """Count the codes, of whole attributes, that are tallied for each group if there are so many groups."""
        ends = self.losses.columns[:, LAST] + 1
        return int(ends[ends * groups <= _TALLIED].max(initial=0))

    def published(self, column: int, extents: NDArray[np.int64], labels: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Compute a number for the published cell of each group in an attribute: equal for equal cells.

        Parameters
        ----------
        column : int
            Position of the attribute.
        extents : int64 array of shape (groups, 2)
            The first and last code of each group.
        labels : int32 array of shape (n,)
            Group of each row.
        """
        mode, first, last, _ = self.losses.columns[column].tolist()
        low, high = (extents - first).T
        # A hierarchy: the lowest common ancestor of first and last code.
        size = last - first + 1
        if mode == TREE:
            nodes = self.nodes[column]
            level = np.argmax(nodes[:, low] == nodes[:, high], axis=0)
            return np.asarray(level * size + nodes[level, low], dtype=np.uint64)
        if mode == SET:
            # A set: the sum of a random number for each value.
            keys = labels.astype(np.int64) * size + self.losses.codes[:, column] - first
            if len(extents) * size <= _FLAGGED * len(keys):
                held = np.zeros(len(extents) * size, dtype=np.bool_)
                held[keys] = True
                pairs = np.flatnonzero(held)
            else:
                pairs = np.unique(keys)
            sums = np.zeros(len(extents), dtype=np.uint64)
            np.add.at(sums, pairs // size, np.random.default_rng(0).integers(0, 1 << 63, size, np.uint64)[pairs % size])
            return sums
        # A star if there are several values, or an interval.
        pairs_or_star = size * size if mode == STAR else low * size + high
        return np.asarray(np.where(low < high, pairs_or_star, low * size + low), dtype=np.uint64)


@dataclass(frozen=True, kw_only=True, repr=False)
class _Attribute:
    """One quasi-identifier, its codes ranked in the order of the loss."""

    column: Column
    mode: int
    ranks: NDArray[np.int32]
    """Rank of each code of the column."""
    positions: NDArray[np.float64]
    """Rows of `Losses.positions` for the attribute."""
    scale: float
    missing: int
    """Rank of a missing value that makes a set a star, or -1."""
    levels: Levels

    @classmethod
    def of(cls, column: Column, levels: Levels, problem: Problem) -> _Attribute:
        # The kind of recoding decides the ranks and the positions.
        mode = TREE if levels.hierarchical else INTERVAL if column.ordered else SET
        mode = STAR if problem.recoding == "suppression" else mode
        ranks = np.arange(column.size, dtype=np.int32)
        positions = np.zeros((1, column.size))
        if mode == TREE:
            ranks[levels.order] = np.arange(column.size, dtype=np.int32)
            positions = _stretches(levels)
        if mode == INTERVAL:
            positions[0] = _positions(column)
        return cls(
            column=column,
            mode=mode,
            ranks=ranks,
            positions=positions,
            scale=float(set_penalty(np.array([2]), column.size, problem.largest_set)[0]) if mode == SET else 1.0,
            missing=column.size - 1 if column.has_missing and mode == SET else -1,
            levels=levels,
        )

    @property
    def size(self) -> int:
        return self.column.size

    @property
    def nodes(self) -> NDArray[np.int32]:
        return self.levels.nodes[:, self.levels.order if self.mode == TREE else []]

    def step(self) -> float:
        """Compute the smallest loss of two rows that differ."""
        if self.mode == INTERVAL:
            return float(np.diff(self.positions[0]).min())
        return float(self.positions[1, :-1].min()) if self.mode == TREE else self.scale

    def importance(self) -> float:
        """Compute the average loss of two rows of the table if they are a group."""
        shares = np.bincount(self.column.codes, minlength=self.size) / max(len(self.column.codes), 1)
        # The expected distance: each gap counts for the pairs on both sides of it.
        if self.mode == INTERVAL:
            below = np.cumsum(shares)[:-1]
            return float(2 * np.dot(below * (1 - below), np.diff(np.minimum(self.positions[0], 1.0))))
        # Any two different values lose the same.
        if self.mode != TREE:
            return float(self.scale * (1 - np.dot(shares, shares)))
        # A pair loses the penalty of the level at which its values meet.
        total, met = 0.0, shares
        for nodes, penalty in zip(self.levels.nodes[1:], self.levels.penalty[1:], strict=True):
            of_node = np.bincount(nodes, weights=shares)[nodes]
            total += float(np.dot(shares * (of_node - met), penalty))
            met = of_node
        return total


def _stretches(levels: Levels) -> NDArray[np.float64]:
    """Compute for each leaf the loss of 1, 2, 4, ... steps to the right from it, below an unused row."""
    size = len(levels.order)
    # Neighbours meet at the first level with equal nodes.
    nodes, penalty = levels.nodes[:, levels.order], levels.penalty[:, levels.order]
    meeting = np.argmax(nodes[:, :-1] == nodes[:, 1:], axis=0)
    stretches = np.zeros((1 + max(size - 1, 1).bit_length(), size))
    stretches[1, :-1] = penalty[meeting, np.arange(size - 1)]
    # A stretch of 2**j steps is two stretches of half the length.
    for power in range(1, len(stretches) - 1):
        half = 1 << (power - 1)
        ends = size - 2 * half
        stretches[power + 1, :ends] = np.maximum(stretches[power, :ends], stretches[power, half : half + ends])
    return stretches


def _positions(column: Column) -> NDArray[np.float64]:
    """Compute the positions of the values of an ordered attribute, from 0 to 1; a missing value is at 2."""
    present = distances(column)
    present = present / max(float(present[-1]), np.finfo(np.float64).tiny) if len(present) else present
    return np.append(present, 2.0) if column.has_missing else present


_WINDOW = 8
"""Classes at most this far away in the order are visited first."""
_BUDGET = 25
"""Number of stretches to visit for each requested neighbour."""
_LEAST_BUDGET = 2
"""Smallest number of stretches for each neighbour, if there are very many classes and attributes."""
_MOST_LOOKS = 1_000_000_000
"""Largest product of stretches and attributes for all classes, unless the smallest number exceeds it."""
_STRETCH = 10_000
"""Number of classes between two progress reports."""
_ALONE = 64
"""Number of classes that are searched before threads are started."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RowClasses:
    """The classes of equal rows of a table, with its rows numbered in the order of the classes."""

    begins: NDArray[np.int32]
    """First row of each class; one more than there are classes."""
    of_rows: NDArray[np.int32]
    """Class of each row."""

    @classmethod
    def of(cls, table: Table) -> RowClasses:
        """Build the classes of a table."""
        begins = table.classes.cell_starts[table.classes.class_starts].astype(np.int32)
        of_rows = np.repeat(np.arange(len(begins) - 1, dtype=np.int32), np.diff(begins))
        return cls(begins=begins, of_rows=of_rows)

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.begins) - 1


class Near(NamedTuple):
    """Near classes of each class, and the losses together with them."""

    classes: NDArray[np.int32]
    """Shape (classes, width): the nearest first, then -1."""
    losses: NDArray[np.float64]
    """The same shape; infinite if there are no more classes."""
    unseen: NDArray[np.float64]
    """A lower bound on the loss with any class that the search did not visit; infinite if none can be nearer than the
    classes found."""


def stretches_for(count: int, width: int, attributes: int) -> tuple[int, bool]:
    """Choose how many stretches of classes to visit for one class, and whether that is the usual number.

    Parameters
    ----------
    count : int
        Number of classes whose neighbours are searched.
    width : int
        Number of neighbours.
    attributes : int
        Number of quasi-identifiers that the classes are compared in.
    """
    usual = _BUDGET * width
    affordable = _MOST_LOOKS // max(count * attributes, 1)
    return (usual, True) if affordable >= usual else (max(affordable, _LEAST_BUDGET * width), False)


def near_classes(
    table: LossTable,
    classes: RowClasses,
    width: int,
    *,
    chosen: NDArray[np.integer] | None = None,
    searched: NDArray[np.bool_] | None = None,
    stretches: int | None = None,
    window: int = _WINDOW,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Near:
    """Find for each class the classes with the smallest loss together with it.

    Parameters
    ----------
    table : LossTable
        With its rows in the order of the classes.
    classes : RowClasses
    width : int
        Number of neighbours of each class.
    chosen : integer array, optional
        Classes to consider, ascending; all by default. The others have no neighbours.
    searched : bool array, optional
        Classes whose neighbours are searched; all by default.
    stretches : int, optional
        Number of stretches of classes to visit for each class; the usual number by default.
    window : int
        Classes at most this far away in the order of the codes are visited first.
    progress : callable
        Called with the number of finished classes, and their total.
    """
    chosen = np.arange(classes.count) if chosen is None else chosen
    near = np.full((classes.count, width), -1, dtype=np.int32)
    lost = np.full((classes.count, width), np.inf)
    missed = np.full(classes.count, np.inf)
    if len(chosen) < 2 or not table.width:
        return Near(near, lost, missed)
    # The attributes with the largest steps first: they prune best. Then sort the classes.
    attributes = np.argsort(-table.steps, kind="stable")
    codes = table.losses.codes[classes.begins[chosen]][:, attributes]
    order = np.lexsort(codes.T[::-1])
    codes = np.ascontiguousarray(codes[order])
    losses = Losses(
        codes=codes,
        columns=table.losses.columns[attributes],
        scales=table.losses.scales[attributes],
        positions=table.losses.positions,
    )
    begins, ends = np.empty((2, codes.shape[1], len(codes)), dtype=np.int32)
    # -1 stands for "no neighbour", and maps to itself.
    stretches_of(codes, begins, ends)
    numbers = np.append(chosen[order], -1).astype(np.int32)
    queries = np.arange(len(codes)) if searched is None else np.flatnonzero(searched[numbers[:-1]])
    found = np.empty((len(queries), width), dtype=np.int32)
    distances = np.empty((len(queries), width))
    unseen = np.empty(len(queries))
    budget = _BUDGET * width if stretches is None else stretches

    def search(part: slice) -> None:
        """Find the neighbours of a part of the classes."""
        nearest_classes(losses, begins, ends, queries[part], window, budget, found[part], distances[part], unseen[part])

    search(slice(_ALONE))  # loads the kernel before the threads start
    # Each class is searched on its own: the result does not depend on the threads.
    map_in_threads(
        search,
        [slice(first, first + _STRETCH) for first in range(_ALONE, len(queries), _STRETCH)],
        finished=lambda done: progress(min(_ALONE + done * _STRETCH, len(queries)), len(queries)),
    )
    # From places in the order back to numbers of classes.
    near[numbers[queries]] = numbers[found]
    lost[numbers[queries]] = distances
    missed[numbers[queries]] = unseen
    progress(len(queries), len(queries))
    return Near(near, lost, missed)
