"""Compressed rows: lists of different lengths, one after another in one array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["entries_of_rows", "windows"]


def entries_of_rows(begins: NDArray[np.integer], ends: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where the entries of some compressed rows stand, row after row; a row ends before `ends`.

    Examples
    --------
    >>> entries_of_rows(np.array([5, 0]), np.array([7, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    lengths = (ends - begins).astype(np.int64)
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(lengths.sum(), dtype=np.int64) + np.repeat(begins - before, lengths))


def windows(counts: NDArray[np.integer], size: int) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Cut cells with counts into windows of so many rows; a cell may be in several.

    Parameters
    ----------
    counts : int array
        Rows of each cell, at least 1.
    size : int
        Rows of a window; the last one may have fewer.

    Yields
    ------
    cells : slice
        The cells of a window.
    times : int64 array
        How many rows of each of them are in it.

    Examples
    --------
    >>> [(cells.start, cells.stop, times.tolist()) for cells, times in windows(np.array([3, 1, 2]), 2)]
    [(0, 1, [2]), (0, 2, [1, 1]), (2, 3, [2])]
    """
    ends = np.cumsum(counts, dtype=np.int64)
    begins = ends - counts
    for start in range(0, int(ends[-1]) if len(ends) else 0, size):
        stop = min(start + size, int(ends[-1]))
        first, last = (int(np.searchsorted(ends, at, side="right")) for at in (start, stop - 1))
        cells = slice(first, last + 1)
        yield cells, np.minimum(ends[cells], stop) - np.maximum(begins[cells], start)
