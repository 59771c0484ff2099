"""Equivalence classes: rows that agree on all quasi-identifiers, with their sensitive counts."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.table.cells_kernel import count_into_cells
from shoal.table.rows_of_cells import RowsOfCells
from shoal.table.sorting_kernel import cell_runs, dense_ranks, sort_by_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Coded = tuple[NDArray[np.unsignedinteger], int]

__all__ = ["EquivalenceClasses", "mixed_radix_keys"]

_KEY_LIMIT = 1 << 62
"""Keys of rows stay below this, so that they fit into 63 bits."""
_COUNTED = 1 << 23
"""Rows are counted by key, rather than sorted, where there are at most so many keys."""
_KEYS_PER_ROW = 4
"""The same, for each row."""
_BLOCK = 1 << 14
"""Rows whose keys are put together at a time: they stay in the caches meanwhile."""


@dataclass(frozen=True, kw_only=True, repr=False)
class EquivalenceClasses:
    """Rows sorted by quasi-identifiers, then by the first sensitive value: classes, each a run of cells.

    A *class* is a maximal set of rows with the same quasi-identifiers; a *cell* is a maximal set of rows of a class
    with the same value of the first sensitive attribute. Rows of one cell are interchangeable (Xiao, Yi, Tao 2010,
    Section 5.1), so algorithms do their arithmetic on cells.
    """

    rows: RowsOfCells
    """Which rows stand in which cell."""
    cell_starts: NDArray[np.int32]
    """Where each cell starts in `order`; one more than there are cells."""
    cell_values: NDArray[np.int32]
    """The sensitive value of each cell, as a code (0 where there is no sensitive attribute)."""
    class_starts: NDArray[np.int32]
    """Where each class starts among the cells; one more than there are classes."""
    weights: NDArray[np.int64] | None = None
    """How many rows each of `order` stands for, in its order; None: one each."""

    @property
    def order(self) -> NDArray[np.int32]:
        """The rows, sorted; rows of one cell stand together, in the order of the table."""
        return self.rows.order

    @property
    def first_rows(self) -> NDArray[np.int32]:
        """The first row of each cell."""
        return self.rows.first

    @property
    def count(self) -> int:
        """Number of classes: the paper's s."""
        return len(self.class_starts) - 1

    @property
    def cell_counts(self) -> NDArray[np.int32]:
        """Rows of each cell: the paper's h(Q, v)."""
        if self.weights is None:
            return np.diff(self.cell_starts)
        return np.add.reduceat(self.weights, self.cell_starts[:-1]).astype(np.int32)

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """Rows of each class: the paper's |Q|."""
        starts = self.cell_starts[self.class_starts]
        if self.weights is None:
            return np.diff(starts).astype(np.int64)
        return np.add.reduceat(self.weights, starts[:-1])

    @property
    def of_rows(self) -> NDArray[np.int64]:
        """The class of each row."""
        found = np.empty(len(self.order), dtype=np.int64)
        found[self.order] = np.repeat(np.arange(self.count), np.diff(self.cell_starts[self.class_starts]))
        return found

    @property
    def sizes_counted(self) -> dict[int, int]:
        """How many classes have each size that occurs."""
        found, counts = np.unique(self.class_sizes, return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))

    def of_each_row(self) -> EquivalenceClasses:
        """Return the classes where each row stands for itself: as many as there were, in this order."""
        if self.weights is None:
            return self
        ends = np.concatenate(([0], np.cumsum(self.weights)))
        starts = ends[self.cell_starts].astype(np.int32)
        return EquivalenceClasses(
            rows=RowsOfCells(starts, order=np.arange(ends[-1], dtype=np.int32)),
            cell_starts=starts,
            cell_values=self.cell_values,
            class_starts=self.class_starts,
        )

    @classmethod
    def of(
        cls,
        quasi_identifiers: Sequence[Coded],
        sensitive: Coded | None,
        rows: int,
        counts: NDArray[np.int64] | None = None,
    ) -> EquivalenceClasses:
        """Group rows; linear in rows times quasi-identifiers.

        Parameters
        ----------
        quasi_identifiers : sequence of (codes, size)
            Codes of each column, 0 <= code < size.
        sensitive : (codes, size), optional
            The same of the first sensitive attribute.
        rows : int
            Number of rows.
        counts : int64 array, optional
            How many rows of the microdata each of them stands for, fewer than 2**31 in a cell; one by default.
        """
        columns = list(quasi_identifiers)
        radix = 1
        if sensitive is not None:
            codes, size = sensitive
            radix = max(size, 1)
            columns.append((codes, radix))
        space = prod(max(size, 1) for _, size in columns)
        if space <= min(_COUNTED, _KEYS_PER_ROW * rows):
            keys = _combined(columns, rows, np.int32)
            cell_starts, cell_values, class_starts = count_into_cells(keys, space, radix)
            members = RowsOfCells(cell_starts, cells=keys)
        else:
            keys, bits = mixed_radix_keys(columns, rows)
            keys, order = sort_by_key(keys, np.arange(rows, dtype=np.int32), bits)
            cell_starts, cell_values, class_starts = cell_runs(keys, radix)
            members = RowsOfCells(cell_starts, order=order)
        return cls(
            rows=members,
            cell_starts=cell_starts,
            cell_values=cell_values,
            class_starts=class_starts,
            weights=None if counts is None else counts[members.order],
        )

    def __repr__(self) -> str:
        return f"EquivalenceClasses(rows={len(self.rows)}, cells={len(self.cell_values)}, classes={self.count})"


def _combined(
    columns: Sequence[tuple[NDArray[np.integer], int]], rows: int, dtype: type[np.signedinteger]
) -> NDArray[Any]:
    """Combine columns, the product of whose domains a type can hold, as `mixed_radix_keys` does."""
    keys = np.zeros(rows, dtype=dtype)
    for begin in range(0, rows, _BLOCK):
        some = keys[begin : begin + _BLOCK]
        for codes, size in columns:
            some *= max(size, 1)
            some += codes[begin : begin + _BLOCK]
    return keys


def mixed_radix_keys(columns: Sequence[tuple[NDArray[np.integer], int]], rows: int) -> tuple[NDArray[np.int64], int]:
    """Combine columns of codes into one integer per row that sorts as the columns do, the first one weighing most.

    Where the product of the domains leaves 62 bits, the columns so far are replaced by the rank of their combination,
    of which there are at most as many as rows.

    Parameters
    ----------
    columns : sequence of (codes, size)
        Codes of each column, 0 <= code < size.
    rows : int
        Number of rows.

    Returns
    -------
    keys : int64 array of shape (rows,)
    bits : int
        Every key is below 2**bits. The last column is the least significant digit: `key % size` is its code.
    """
    space = prod(max(size, 1) for _, size in columns)
    if space < _KEY_LIMIT:
        return _combined(columns, rows, np.int64), (space - 1).bit_length()
    keys = np.zeros(rows, dtype=np.int64)
    space = 1
    for codes, size in columns:
        if space * max(size, 1) >= _KEY_LIMIT:
            keys, space = dense_ranks(*sort_by_key(keys, np.arange(rows, dtype=np.int32), (space - 1).bit_length()))
        if space > 1:
            keys *= size
        keys += codes
        space *= max(size, 1)
    return keys, (space - 1).bit_length()
