"""Sampling for differential privacy: which records stay, and which classes are large enough to be published."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import InfeasibleError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.pipeline.encoded import EncodedTable
    from shoal.pipeline.input import OpenedData
    from shoal.request.request import Request

__all__ = ["draw_counts", "keep_large_classes", "sample_rows"]

_ROWS_AT_ONCE = 1 << 22
"""Number of rows that are drawn at once; it bounds the memory."""


def sample_rows(opened: OpenedData, rows: NDArray[np.int32], threshold: int) -> OpenedData:
    """Draw the rows that stay, each for itself.

    Parameters
    ----------
    opened : OpenedData
    rows : int32 array
        Indices of the rows that may be published.
    threshold : int
        A row stays if its random integer below 2^64 is below this number.

    Returns
    -------
    OpenedData
        The same rows with `OpenedData.kept`.
    """
    kept = np.zeros(opened.frame.height, dtype=np.int64)
    kept[rows] = draw_counts(opened.publishable_counts[rows], threshold)
    return replace(opened, kept=kept)


def draw_counts(counts: NDArray[np.int64], threshold: int) -> NDArray[np.int64]:
    """Draw how many of some equal rows stay, with one random integer of the operating system for each row.

    Parameters
    ----------
    counts : int64 array
        Number of rows of each kind.
    threshold : int
        See `sample_rows`.
    """
    # Row r belongs to the first kind whose end is above r.
    ends = np.cumsum(counts)
    kept, rows = np.zeros(len(counts), dtype=np.int64), int(ends[-1])
    for begin in range(0, rows, _ROWS_AT_ONCE):
        drawn = np.frombuffer(os.urandom(8 * min(_ROWS_AT_ONCE, rows - begin)), dtype="<u8")
        stays = begin + np.flatnonzero(drawn < np.uint64(threshold))
        kept += np.bincount(np.searchsorted(ends, stays, side="right"), minlength=len(counts))
    return kept


def keep_large_classes(
    encoded: EncodedTable, opened: OpenedData, rows: NDArray[np.int32], request: Request
) -> tuple[EncodedTable, OpenedData, NDArray[np.int32]]:
    """Leave out the rows of classes that are smaller than the request allows.

    Parameters
    ----------
    encoded : EncodedTable
        The encoded rows.
    opened : OpenedData
    rows : int32 array
        Index in the input of each encoded row.
    request : Request

    Raises
    ------
    InfeasibleError
        If no class is large enough.
    """
    # Sizes of classes of all published columns, after coarsening.
    classes = encoded.table.classes
    stays = np.flatnonzero(classes.class_sizes[classes.of_rows] >= request.requirement.k)
    if not len(stays):
        raise InfeasibleError(
            f"No {request.requirement.k} of the records that were drawn publish the same cells, so that nothing would "
            "be left. Make columns coarser, leave columns out, or allow a larger epsilon or delta."
        )
    # The others are left out as if they had not been drawn.
    kept = np.zeros_like(opened.publishable_counts)
    kept[rows[stays]] = opened.publishable_counts[rows[stays]]
    counts = encoded.table.multiplicities[stays]
    return encoded.entries(stays, counts), replace(opened, kept=kept), rows[stays]
