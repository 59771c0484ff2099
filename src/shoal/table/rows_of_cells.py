"""The rows of each cell, stored in cell order, or as the cell of each row until that order is needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.table.cells_kernel import first_of_cells, order_of_cells, split_cells, split_rows
from shoal.table.sorting_kernel import sort_by_key


class RowsOfCells:
    """The rows of each cell, in the order of the table within a cell.

    If rows were counted by key, the cell of each row is known before the order. Sorting a long table takes longer than
    any computation that does not need the order, because it writes to scattered memory. The order is therefore computed
    on demand.

    Parameters
    ----------
    starts : int32 array of shape (cells + 1,)
        Start of each cell in the sorted rows.
    order : int32 array of shape (rows,), optional
        The sorted rows.
    cells : int32 array of shape (rows,), optional
        The cell of each row. Either `order` or `cells` must be given.
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
    def is_unordered(self) -> bool:
        """Whether the rows were counted, and their order has not been computed yet."""
        return self._held[0] is None

    @property
    def order(self) -> NDArray[np.int32]:
        """The rows sorted by cell."""
        order, cells = self._held
        if order is None:
            # Replace the cells by the order, so that only one array is kept.
            order = order_of_cells(cells, self._starts)
            self._held = order, None
        return order

    @property
    def first(self) -> NDArray[np.int32]:
        """First row of each cell."""
        order, cells = self._held
        if order is not None:
            return order[self._starts[:-1]]
        first: NDArray[np.int32] = first_of_cells(cells, len(self._starts) - 1)
        return first

    def split(
        self, keep: NDArray[np.int32], group_of: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Assign the first `keep[cell]` rows of each cell to the cell's group.

        Returns
        -------
        groups : int32 array of shape (rows,)
            `group_of[cell]` for the assigned rows, -1 for the others.
        others : int32 array
            The other rows, sorted by cell.
        """
        order, cells = self._held
        if order is not None:
            groups = np.empty(len(order), dtype=np.int32)
            return groups, split_cells(order, self._starts, keep, group_of, groups)
        assert cells is not None
        # Without an order, only the other rows need sorting.
        groups, others = split_rows(cells, keep.astype(np.int32), group_of)
        bits = (len(self._starts) - 1).bit_length()
        return groups, sort_by_key(cells[others].astype(np.int64), others, bits)[1]

    def __len__(self) -> int:
        """Return the number of rows."""
        order, cells = self._held
        return len(cells) if order is None and cells is not None else len(self.order)
