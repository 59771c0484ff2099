"""Search for near classes of equal rows, by the loss of a group of two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.threads import map_in_threads
from shoal.algorithms.local_search.loss_table import LossTable
from shoal.algorithms.local_search.losses_kernel import Losses
from shoal.algorithms.local_search.neighbours_kernel import nearest_classes, stretches_of
from shoal.table import Table

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
