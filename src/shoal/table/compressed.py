"""Compressed rows: lists of different lengths, concatenated in one array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def entries_of_rows(begins: NDArray[np.integer], ends: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the indices of the entries of compressed rows, row by row, given their begins and exclusive ends.

    Examples
    --------
    >>> entries_of_rows(np.array([5, 0]), np.array([7, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    # A global counter, shifted to the begin of each row.
    lengths = (ends - begins).astype(np.int64)
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(lengths.sum(), dtype=np.int64) + np.repeat(begins - before, lengths))
