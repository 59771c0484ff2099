"""Compressed rows: lists of different lengths, one after another in one array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["entries_of_rows"]


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
