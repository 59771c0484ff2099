# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Rows that are counted by key rather than sorted: their cells, their order, and which of them stay."""

from __future__ import annotations

import numpy as np

from shoal._compiling import kernel

__all__ = ["count_into_cells", "first_of_cells", "order_of_cells", "shuffle_parts", "split_cells", "split_rows"]


@kernel
def count_into_cells(keys, space, radix):
    """Find the cells and classes of rows with small keys `class * radix + value`, without sorting them.

    Parameters
    ----------
    keys : int32[n]
        0 <= key < space. Receives the cell of each row.
    space : int
        The table of counts has so many entries: it should not have many more than there are rows.
    radix : int
        How many values there are.

    Returns
    -------
    cell_starts, cell_values, class_starts
        What `cell_runs` finds in sorted keys.
    """
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
    for i in range(n):
        keys[i] = table[keys[i]]
    return cell_starts, cell_values, class_starts[: classes + 1].copy()


@kernel
def order_of_cells(cells, starts):
    """Return the rows in the order of their cells, and of the table within each; `starts` says where each begins."""
    places = starts.copy()
    order = np.empty(cells.size, dtype=np.int32)
    for i in range(cells.size):
        place = places[cells[i]]
        places[cells[i]] = place + 1
        order[place] = i
    return order


@kernel
def first_of_cells(cells, count):
    """Return the first row of each cell; every one has a row."""
    first = np.empty(count, dtype=np.int32)
    for i in range(cells.size - 1, -1, -1):
        first[cells[i]] = i
    return first


@kernel
def split_cells(order, starts, keep, group_of, groups):
    """Let the first `keep[cell]` rows of each cell be in the group of the cell; return the others, in order.

    Parameters
    ----------
    order : int32[n]
        The rows, cell after cell.
    starts : int32[c + 1]
        Where each cell starts in `order`.
    keep : int32[c]
        At most the rows of the cell.
    group_of : int32[c]
        The group of each cell.
    groups : int32[n]
        Receives the group of each row, and -1 for the others.
    """
    others = np.empty(order.size - keep.sum(), dtype=np.int32)
    found = 0
    for cell in range(keep.size):
        middle = starts[cell] + keep[cell]
        for i in range(starts[cell], middle):
            groups[order[i]] = group_of[cell]
        for i in range(middle, starts[cell + 1]):
            groups[order[i]] = -1
            others[found] = order[i]
            found += 1
    return others


@kernel
def split_rows(cells, keep, group_of):
    """Do what `split_cells` does, knowing the cell of each row; the others come in the order of the table.

    Returns the group of each row, and the others.
    """
    left = keep.copy()
    groups = np.empty(cells.size, dtype=np.int32)
    others = np.empty(cells.size - keep.sum(), dtype=np.int32)
    found = 0
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


@kernel
def shuffle_parts(items, begins, ends, draws):
    """Put the items of each part of an array in a random order (Fisher and Yates), all orders equally likely.

    Parameters
    ----------
    items : int32[n]
        Changed in place.
    begins, ends : int64[p]
        Where each part begins, and where it has ended.
    draws : float64[d]
        Random numbers from 0 on and below 1: one for each item but the first of each part.
    """
    used = 0
    for part in range(begins.size):
        begin = begins[part]
        for i in range(ends[part] - 1, begin, -1):
            other = min(begin + np.int64(draws[used] * (i - begin + 1)), i)  # a product may be rounded up
            used += 1
            item = items[i]
            items[i] = items[other]
            items[other] = item
