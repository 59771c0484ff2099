# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Kernels that sort rows by integer keys and find runs of equal keys: the basis of all groupings in the package."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import linear_kernel

__all__ = ["cell_runs", "dense_ranks", "sort_by_key"]

# Digits of this width keep the histogram of a pass in the first-level cache.
MAX_DIGIT_BITS = 11


@linear_kernel
def sort_by_key(keys, order, bits):
    """Sort `keys` (int64, 0 <= key < 2**bits) and `order` (int32) with them; stable, least significant digit first.

    Both arrays are used as scratch. Returns the sorted pair, which may be these arrays or new ones.
    """
    n = keys.size
    # Equal keys only: nothing to do.
    if bits <= 0 or n < 2:
        return keys, order
    # Spread the bits evenly over the passes.
    passes = (bits + MAX_DIGIT_BITS - 1) // MAX_DIGIT_BITS
    width = (bits + passes - 1) // passes
    mask = (1 << width) - 1
    other_keys = np.empty_like(keys)
    other_order = np.empty_like(order)
    # The histograms of all digits, in one pass over the keys.
    histogram = np.zeros((passes, 1 << width), dtype=np.int32)
    for i in range(n):
        key = keys[i]
        for p in range(passes):
            histogram[p, (key >> (p * width)) & mask] += 1
    for p in range(passes):
        shift = p * width
        ends = histogram[p]
        if ends[(keys[0] >> shift) & mask] == n:  # every key has the same digit here
            continue
        running = 0
        # Prefix sums: the place of the first key with each digit.
        for digit in range(ends.size):
            here = ends[digit]
            ends[digit] = running
            running += here
        # Distribute the keys, and swap the buffers.
        for i in range(n):
            key = keys[i]
            digit = (key >> shift) & mask
            target = ends[digit]
            ends[digit] = target + 1
            other_keys[target] = key
            other_order[target] = order[i]
        keys, other_keys = other_keys, keys
        order, other_order = other_order, order
    return keys, order


@linear_kernel
def dense_ranks(sorted_keys, order):
    """Compute the rank of each item's key among the distinct keys; also return the number of distinct keys."""
    # The rank grows at each change of the sorted key.
    ranks = np.empty(order.size, dtype=np.int64)
    rank = -1
    last = np.int64(-1)
    for i in range(order.size):
        if sorted_keys[i] != last:
            rank += 1
            last = sorted_keys[i]
        ranks[order[i]] = rank
    return ranks, rank + 1


@linear_kernel
def cell_runs(sorted_keys, radix):
    """Find the cells and classes of rows sorted by `class * radix + value`.

    Returns
    -------
    cell_starts : int32[c + 1]
        Start of each cell, followed by the number of rows.
    cell_values : int32[c]
        Value of each cell.
    class_starts : int32[s + 1]
        First cell of each class, followed by the number of cells.
    """
    # First pass: count the cells, so that the arrays have the right size.
    n = sorted_keys.size
    cells = 0
    last = np.int64(-1)
    for i in range(n):
        if sorted_keys[i] != last:
            cells += 1
            last = sorted_keys[i]
    cell_starts = np.empty(cells + 1, dtype=np.int32)
    cell_values = np.empty(cells, dtype=np.int32)
    class_starts = np.empty(cells + 1, dtype=np.int32)
    # Second pass: a new key starts a cell, a new class part of it starts a class.
    cell = 0
    classes = 0
    last = np.int64(-1)
    last_class = np.int64(-1)
    for i in range(n):
        key = sorted_keys[i]
        if key != last:
            last = key
            cell_starts[cell] = i
            key_class = key // radix
            cell_values[cell] = key - key_class * radix
            if key_class != last_class:
                last_class = key_class
                class_starts[classes] = cell
                classes += 1
            cell += 1
    # The ends of the last cell and class.
    cell_starts[cells] = n
    class_starts[classes] = cells
    return cell_starts, cell_values, class_starts[: classes + 1].copy()
