# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Kernels that order rows by cell, split cells and shuffle rows."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import linear_kernel

__all__ = ["order_of_cells", "shuffle_parts", "split_cells"]


@linear_kernel
def order_of_cells(cells, starts):
    """Sort the rows by cell, keeping the order of the table within each cell, given the start of each cell."""
    # A counting sort whose counts are known.
    places = starts.copy()
    order = np.empty(cells.size, dtype=np.int32)
    for i in range(cells.size):
        place = places[cells[i]]
        places[cells[i]] = place + 1
        order[place] = i
    return order


@linear_kernel
def split_cells(order, starts, keep, group_of):
    """Assign the first `keep[cell]` rows of each cell to the cell's group.

    Parameters
    ----------
    order : int32[n]
        Rows, cell by cell.
    starts : int32[c + 1]
        Start of each cell in `order`.
    keep : int32[c]
        Number of rows to keep, at most the size of the cell.
    group_of : int32[c]
        Group of each cell.

    Returns
    -------
    groups : int32[n]
        Group of each row, or -1 for the other rows.
    others : int32[m]
        The other rows, cell by cell.
    """
    groups = np.empty(order.size, dtype=np.int32)
    others = np.empty(order.size - keep.sum(), dtype=np.int32)
    found = 0
    # The kept rows of a cell come first, then the others.
    for cell in range(keep.size):
        middle = starts[cell] + keep[cell]
        for i in range(starts[cell], middle):
            groups[order[i]] = group_of[cell]
        for i in range(middle, starts[cell + 1]):
            groups[order[i]] = -1
            others[found] = order[i]
            found += 1
    return groups, others


@linear_kernel
def shuffle_parts(items, begins, ends, draws):
    """Shuffle the items of each part of an array uniformly at random (Fisher and Yates).

    Parameters
    ----------
    items : int32[n]
        Shuffled in place.
    begins, ends : int64[p]
        Start and end of each part.
    draws : float64[d]
        Random numbers in [0, 1): one for each item except the first of each part.
    """
    # One draw for each item but the first of a part.
    used = 0
    for part in range(begins.size):
        begin = begins[part]
        # Swap the item with a random item up to it.
        for i in range(ends[part] - 1, begin, -1):
            other = min(begin + np.int64(draws[used] * (i - begin + 1)), i)  # a product may be rounded up
            used += 1
            item = items[i]
            items[i] = items[other]
            items[other] = item
