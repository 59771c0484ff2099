# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Kernels that order rows by cell and shuffle rows."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import linear_kernel

__all__ = ["order_of_cells", "shuffle_parts"]


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
