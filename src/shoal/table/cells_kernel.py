# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Kernels that count rows by key instead of sorting them, order them by cell, and split cells."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import linear_kernel

__all__ = ["count_into_cells", "first_of_cells", "order_of_cells", "shuffle_parts", "split_cells", "split_rows"]


@linear_kernel
def count_into_cells(keys, space, radix):
    """Find the cells and classes of rows with small keys `class * radix + value` without sorting.

    Parameters
    ----------
    keys : int32[n]
        0 <= key < space. Overwritten with the cell of each row.
    space : int
        Size of the table of counts, not much larger than the number of rows.
    radix : int
        Number of values.

    Returns
    -------
    cell_starts, cell_values, class_starts
        As returned by `cell_runs` for sorted keys.
    """
    # Count the rows of each key.
    n = keys.size
    table = np.zeros(space, dtype=np.int32)
    for i in range(n):
        table[keys[i]] += 1
    cells = 0
    for key in range(space):
        cells += table[key] > 0
    cell_starts = np.empty(cells + 1, dtype=np.int32)
    cell_values = np.empty(cells, dtype=np.int32)
    class_starts = np.empty(cells + 1, dtype=np.int32)
    cell = 0
    classes = 0
    running = 0
    last_class = np.int64(-1)
    # Visit the keys in ascending order, as if sorted: number cells and classes, and store each cell's number in the
    # table.
    for key in range(space):
        here = table[key]
        if here == 0:
            continue
        key_class = key // radix
        if key_class != last_class:
            last_class = key_class
            class_starts[classes] = cell
            classes += 1
        cell_starts[cell] = running
        cell_values[cell] = key - key_class * radix
        table[key] = cell
        running += here
        cell += 1
    cell_starts[cells] = n
    class_starts[classes] = cells
    # Replace each row's key by its cell.
    for i in range(n):
        keys[i] = table[keys[i]]
    return cell_starts, cell_values, class_starts[: classes + 1].copy()


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
def first_of_cells(cells, count):
    """Find the first row of each cell; every cell has a row."""
    first = np.empty(count, dtype=np.int32)
    # Backwards, so that the first row is written last.
    for i in range(cells.size - 1, -1, -1):
        first[cells[i]] = i
    return first


@linear_kernel
def split_cells(order, starts, keep, group_of, groups):
    """Assign the first `keep[cell]` rows of each cell to the cell's group, and return the other rows in order.

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
    groups : int32[n]
        Overwritten with the group of each row, or -1 for the other rows.
    """
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
    return others


@linear_kernel
def split_rows(cells, keep, group_of):
    """Split cells as `split_cells` does, given the cell of each row; the other rows keep the order of the table.

    Returns
    -------
    groups : int32[n]
        Group of each row, or -1 for the other rows.
    others : int32[m]
        The other rows.
    """
    left = keep.copy()
    groups = np.empty(cells.size, dtype=np.int32)
    others = np.empty(cells.size - keep.sum(), dtype=np.int32)
    found = 0
    # The first rows of each cell use up its quota.
    for i in range(cells.size):
        cell = cells[i]
        if left[cell] > 0:
            left[cell] -= 1
            groups[i] = group_of[cell]
        else:
            groups[i] = -1
            others[found] = i
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
