# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Refinement of classes of rows by one more column, and detection of minimal sample uniques."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import kernel

__all__ = ["mark_minimal", "refine"]


@kernel
def refine(rows, starts, codes, size):
    """Split every class by the codes of a column.

    Parameters
    ----------
    rows : int32 array
        The rows, class by class.
    starts : int32 array
        Start of each class in `rows`; one more than there are classes.
    codes : unsigned integer array
        The column: a code below `size` for each row of the table.
    size : int
        Number of codes.

    Returns
    -------
    rows, starts : int32 arrays
        The classes of at least two rows.
    unique : int32 array
        The rows that are unique.
    """
    # Classes of at least two rows need at most half as many bounds as rows.
    n = rows.size
    kept = np.empty(n, dtype=np.int32)
    unique = np.empty(n, dtype=np.int32)
    bounds = np.empty(n // 2 + 1, dtype=np.int32)
    counts = np.zeros(size, dtype=np.int32)
    places = np.empty(size, dtype=np.int32)
    classes = 0
    filled = 0
    alone = 0
    # Count the codes of the class, then distribute its rows.
    for c in range(starts.size - 1):
        for i in range(starts[c], starts[c + 1]):
            counts[codes[rows[i]]] += 1
        for i in range(starts[c], starts[c + 1]):
            row = rows[i]
            code = codes[row]
            count = counts[code]
            # A code with a single row: the row is unique.
            if count == 1:
                unique[alone] = row
                alone += 1
                counts[code] = 0
                continue
            if count > 1:  # the first row with this code; from here on the count is negative: minus the rows to come
                bounds[classes] = filled
                classes += 1
                places[code] = filled
                filled += count
                counts[code] = -count
            # Append the row to its class; the count returns to 0 with the last row.
            kept[places[code]] = row
            places[code] += 1
            counts[code] += 1
    # The end of the last class.
    bounds[classes] = filled
    return kept[:filled].copy(), bounds[: classes + 1].copy(), unique[:alone].copy()


@kernel
def mark_minimal(unique, known, smaller, minimal):
    """Mark the rows that are unique on a set of columns, and on no subset with one column less.

    Parameters
    ----------
    unique : int32 array
        Rows that are unique on the set, and not on the subset that it extends.
    known : uint64 array, shape (sets, words)
        For each smaller set of columns, the rows that are unique on it, as bits.
    smaller : int64 array
        Indices of the other subsets with one column less.
    minimal : bool array, shape of `unique`
        Filled.
    """
    # A row is minimal if no smaller set marks it; sets are bit vectors over the rows.
    for i in range(unique.size):
        # The row's bit in each of the bit sets.
        word = unique[i] >> 6
        bit = np.uint64(1) << np.uint64(unique[i] & 63)
        minimal[i] = True
        for s in range(smaller.size):
            if known[smaller[s], word] & bit:
                minimal[i] = False
                break
