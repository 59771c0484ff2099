"""Classes of equal rows and which of them are near to each other, in the loss of a group of two."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.algorithms.local_search.losses_kernel import Losses
from shoal.algorithms.local_search.neighbours_kernel import nearest_classes, stretches_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shoal.algorithms.local_search.loss_table import LossTable
    from shoal.table import Table

__all__ = ["Near", "RowClasses", "near_classes", "stretches_for"]

_WINDOW = 8
"""Classes at most this far away in the order are looked at first."""
_BUDGET = 25
"""Stretches that are looked at for each neighbour that is asked for."""
_LEAST_BUDGET = 2
"""The same where classes and attributes are very many."""
_MOST_LOOKS = 1_000_000_000
"""Stretches times attributes that are looked at for all classes, unless even the least is more."""
_STRETCH = 10_000
"""Classes whose neighbours are found before the caller hears of it."""
_ALONE = 64
"""Classes whose neighbours are found before threads are used."""
_THREADS = 2
"""Threads that find them side by side."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RowClasses:
    """The classes of equal rows of a table, its rows numbered as they stand in the classes."""

    begins: NDArray[np.int32]
    """First row of each class; one more than there are classes."""
    of_rows: NDArray[np.int32]
    """Class of each row."""

    @classmethod
    def of(cls, table: Table) -> RowClasses:
        """Return the classes of a table."""
        begins = table.classes.cell_starts[table.classes.class_starts].astype(np.int32)
        of_rows = np.repeat(np.arange(len(begins) - 1, dtype=np.int32), np.diff(begins))
        return cls(begins=begins, of_rows=of_rows)

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.begins) - 1


class Near(NamedTuple):
    """Which classes are near to each of some, and what they lose together with it."""

    classes: NDArray[np.int32]
    """Shape (classes, width): the nearest first, and -1 where there are no more."""
    losses: NDArray[np.float64]
    """The same shape; infinite where there are no more."""
    unseen: NDArray[np.float64]
    """The least that a class may lose which the search did not come to; infinite where none can be nearer than those
    that it found."""


def stretches_for(count: int, width: int, attributes: int) -> tuple[int, bool]:
    """Return how many stretches of classes may be looked at for one class, and whether these are as many as usual.

    Parameters
    ----------
    count : int
        Classes whose neighbours are looked for.
    width : int
        How many neighbours.
    attributes : int
        Quasi-identifiers that the classes are compared in.
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
    asking: NDArray[np.bool_] | None = None,
    stretches: int | None = None,
    window: int = _WINDOW,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Near:
    """Return for each class those that lose least together with it.

    Parameters
    ----------
    table : LossTable
        Its rows stand as in the classes.
    classes : RowClasses
    width : int
        How many are looked for.
    chosen : integer array, optional
        The classes that count, ascending; all by default. The others have no neighbours.
    asking : bool array, optional
        The classes whose neighbours are looked for; all by default.
    stretches : int, optional
        How many stretches of classes are looked at for each class; the usual number by default.
    window : int
        Classes that stand at most so far away in the order of the codes are looked at first.
    progress : callable
        Called with the classes that are done, and their number.
    """
    chosen = np.arange(classes.count) if chosen is None else chosen
    near = np.full((classes.count, width), -1, dtype=np.int32)
    lost = np.full((classes.count, width), np.inf)
    missed = np.full(classes.count, np.inf)
    if len(chosen) < 2 or not table.width:
        return Near(near, lost, missed)
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
    stretches_of(codes, begins, ends)
    numbers = np.append(chosen[order], -1).astype(np.int32)
    queries = np.arange(len(codes)) if asking is None else np.flatnonzero(asking[numbers[:-1]])
    found = np.empty((len(queries), width), dtype=np.int32)
    distances = np.empty((len(queries), width))
    unseen = np.empty(len(queries))
    looked_at = _BUDGET * width if stretches is None else stretches

    def search(first: int, end: int) -> None:
        """Find the neighbours of some of the classes."""
        some = slice(first, end)
        nearest_classes(
            losses, begins, ends, queries[some], window, looked_at, found[some], distances[some], unseen[some]
        )

    search(0, _ALONE)  # which loads the loop
    firsts = range(_ALONE, len(queries), _STRETCH)
    ends_of = [first + _STRETCH for first in firsts]
    # Each class is looked for by itself: what is found does not depend on the threads.
    pool = ThreadPoolExecutor(max_workers=_THREADS)
    try:
        for first, _ in zip(firsts, pool.map(search, firsts, ends_of), strict=True):
            progress(first, len(queries))
    finally:
        pool.shutdown(cancel_futures=True)
    near[numbers[queries]] = numbers[found]
    lost[numbers[queries]] = distances
    missed[numbers[queries]] = unseen
    progress(len(queries), len(queries))
    return Near(near, lost, missed)
