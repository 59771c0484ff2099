"""Sort and rank rows, groups and classes by several columns of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.table.classes import mixed_radix_keys
from shoal.table.sorting_kernel import dense_ranks, sort_by_key


def sort(columns: Sequence[tuple[NDArray[Any], int]], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Sort rows by columns of codes, the first column being the most significant; the sort is stable.

    Parameters
    ----------
    columns : sequence of (codes, size)
        Integer codes of each row, 0 <= code < size.
    rows : int
        Number of rows.

    Returns
    -------
    keys : int64 array of shape (rows,)
        Sorted keys, which are equal for tied rows; `key % size` is the code of the last column.
    order : int32 array of shape (rows,)
        Row at each position.
    """
    keys, bits = mixed_radix_keys(columns, rows)
    result: tuple[NDArray[np.int64], NDArray[np.int32]] = sort_by_key(keys, np.arange(rows, dtype=np.int32), bits)
    return result


def rank(columns: Sequence[tuple[NDArray[Any], int]], rows: int) -> tuple[NDArray[np.int64], int]:
    """Rank each row's combination of codes among the distinct combinations; also return their number."""
    ranks, count = dense_ranks(*sort(columns, rows))
    return ranks, int(count)
