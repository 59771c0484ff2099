"""Choose which row of each unit has which position, if the rows of units have no order of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.base import Problem
from shoal.algorithms.linked.alignment_kernel import Alignment, align_rows
from shoal.algorithms.local_search.loss_table import LossTable

MAX_TEMPLATES = 8
"""Most units of a bundle that are tried as template. Benchmark `linked`, 4,025 households, k = 3, 5 and 11: the first
template saved 4.0, 2.0 and .5 % of the stars, eight saved 4.2, 2.4 and .6 %, and 32 no more."""
MAX_WORK = 4_000_000_000
"""Largest number of steps of the search in a stratum, about five seconds; with more rows fewer templates are tried."""


def align_positions(
    problem: Problem, rows: NDArray[np.integer], bundles: NDArray[np.int32], count: int
) -> NDArray[np.integer]:
    """Reorder the rows of units so that bundles lose less; no sensitive value has a part in it.

    Parameters
    ----------
    problem : Problem
        The problem of the rows.
    rows : integer array of shape (units, length)
        The rows of each unit, in their positions.
    bundles : int32 array
        Bundle of each unit.
    count : int
        Number of bundles.

    Returns
    -------
    integer array of shape (units, length)
        The same rows of each unit. No bundle loses more than before.
    """
    length = rows.shape[1]
    # A unit takes the cube of its rows to assign, and as many steps for each column as it has pairs of rows.
    sizes = np.bincount(bundles, minlength=count)
    steps = rows.size * (length * length + length * len(problem.table.quasi_identifiers))
    templates = min(MAX_TEMPLATES, MAX_WORK // max(steps, 1))
    if length == 1 or templates == 0:
        return rows
    # The kernel works on units bundle by bundle.
    order = np.argsort(bundles, kind="stable")
    table = LossTable.of(problem, rows[order].ravel().astype(np.int32))
    numbers = np.arange(rows.size, dtype=np.int32).reshape(rows.shape)
    align_rows(
        numbers,
        np.concatenate(([0], np.cumsum(sizes))),
        table.losses,
        templates,
        Alignment(
            members=np.empty((length, int(sizes.max())), dtype=np.int32),
            extents=np.empty((length, table.width, 2), dtype=np.int32),
            distinct=np.empty((length, table.width), dtype=np.int64),
            losses=np.empty(length),
            costs=np.empty((length, length)),
            prices=np.empty((3, length + 1)),
            matched=np.empty((2, length + 1), dtype=np.int64),
            reached=np.empty(length + 1, dtype=np.bool_),
        ),
    )
    aligned = np.empty_like(rows)
    aligned[order] = rows[order].ravel()[numbers]
    return aligned
