"""Which rows stand in which cell: in the order of the cells, or the cell of each row until that order is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.table.cells_kernel import first_of_cells, order_of_cells, split_cells, split_rows
from shoal.table.sorting_kernel import sort_by_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RowsOfCells"]


class RowsOfCells:
    """The rows of each cell, in the order of the table within a cell.

    Where rows were counted by key, the cell of each is known before their order is. To put a long table in order means
    to write all over memory, which takes longer than all that need not know it.

    Parameters
    ----------
    starts : int32 array of shape (cells + 1,)
        Where each cell starts among the rows in order.
    order : int32 array of shape (rows,), optional
        The rows in order.
    cells : int32 array of shape (rows,), optional
        The cell of each row; one of both must be given.
    """

    def __init__(
        self,
        starts: NDArray[np.int32],
        *,
        order: NDArray[np.int32] | None = None,
        cells: NDArray[np.int32] | None = None,
    ) -> None:
        self._starts = starts
        self._held = order, cells  # one of both: the memory is that of one array

    @property
    def counted(self) -> bool:
        """Whether they were counted, and nobody asked for their order yet."""
        return self._held[0] is None

    @property
    def order(self) -> NDArray[np.int32]:
        """The rows in the order of their cells."""
        order, cells = self._held
        if order is None:
            order = order_of_cells(cells, self._starts)
            self._held = order, None
        return order

    @property
    def first(self) -> NDArray[np.int32]:
        """The first row of each cell."""
        order, cells = self._held
        if order is not None:
            return order[self._starts[:-1]]
        first: NDArray[np.int32] = first_of_cells(cells, len(self._starts) - 1)
        return first

    def split(
        self, keep: NDArray[np.int32], group_of: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Let the first `keep[cell]` rows of each cell be in its group.

        Returns
        -------
        groups : int32 array of shape (rows,)
            `group_of[cell]` for the rows that stay, -1 for the others.
        others : int32 array
            These, in the order of the cells.
        """
        order, cells = self._held
        if order is not None:
            groups = np.empty(len(order), dtype=np.int32)
            return groups, split_cells(order, self._starts, keep, group_of, groups)
        assert cells is not None
        groups, others = split_rows(cells, keep.astype(np.int32), group_of)
        bits = (len(self._starts) - 1).bit_length()
        return groups, sort_by_key(cells[others].astype(np.int64), others, bits)[1]

    def __len__(self) -> int:
        """Return how many rows there are."""
        order, cells = self._held
        return len(cells) if order is None and cells is not None else len(self.order)
