"""Rows with multiplicities: sums by code, and windows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def multiplicities(rows: int, times: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the multiplicity of each row, 1 by default."""
    return np.ones(rows, dtype=np.int64) if times is None else times


def rows_by_code(codes: NDArray[np.integer], size: int, counts: NDArray[np.integer] | None) -> NDArray[np.int64]:
    """Sum the multiplicities of rows by code, in integers.

    Parameters
    ----------
    codes : integer array
        0 <= code < size.
    size : int
        Number of codes.
    counts : integer array, optional
        Multiplicity of each row; None if all are 1.

    Examples
    --------
    >>> rows_by_code(np.array([0, 2, 0]), 3, np.array([5, 1, 2])).tolist()
    [7, 0, 1]
    """
    if counts is None:
        return np.bincount(codes, minlength=size).astype(np.int64)
    # Weights of `bincount` would be floats, which are inexact for large sums.
    found = np.zeros(size, dtype=np.int64)
    np.add.at(found, codes, counts)
    return found


def windows(counts: NDArray[np.integer], size: int) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Split cells with multiplicities into windows of a number of rows; a cell may be in several windows.

    Parameters
    ----------
    counts : int array
        Multiplicity of each cell, at least 1.
    size : int
        Number of rows of a window; the last one may have fewer.

    Yields
    ------
    cells : slice
        The cells of a window.
    times : int64 array
        Number of rows of each cell in the window.

    Examples
    --------
    >>> [(cells.start, cells.stop, times.tolist()) for cells, times in windows(np.array([3, 1, 2]), 2)]
    [(0, 1, [2]), (0, 2, [1, 1]), (2, 3, [2])]
    """
    ends = np.cumsum(counts, dtype=np.int64)
    begins = ends - counts
    for start in range(0, int(ends[-1]) if len(ends) else 0, size):
        stop = min(start + size, int(ends[-1]))
        # Cells that contain the first and the last row of the window.
        first, last = (int(np.searchsorted(ends, at, side="right")) for at in (start, stop - 1))
        cells = slice(first, last + 1)
        yield cells, np.minimum(ends[cells], stop) - np.maximum(begins[cells], start)
