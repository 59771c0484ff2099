"""How many rows each unit publishes, if the rows of a unit stay linked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.linked.lengths_kernel import cheapest_runs


def published_lengths(lengths: NDArray[np.integer], least: int) -> NDArray[np.int64]:
    """Choose how many rows each unit publishes, so that each number is shared and the fewest rows are left out.

    Units are sorted by their numbers of rows and cut into runs of at least `least` units; every unit of a run publishes
    as many rows as the shortest one has. An optimal choice of shared numbers always has this form: exchanging two units
    whose order differs from that of their numbers never leaves out more.

    Parameters
    ----------
    lengths : integer array
        Number of rows of each unit, each at least 1.
    least : int
        Fewest units that publish a number of rows, from 1 to the number of units.

    Returns
    -------
    int64 array
        Number of rows that each unit publishes, at most its own.

    Examples
    --------
    >>> published_lengths(np.array([5, 1, 5, 2, 1]), 2)
    array([5, 1, 5, 1, 1])
    """
    # The kernel works on units in the order of their numbers of rows.
    order = np.argsort(lengths, kind="stable")
    ascending = np.ascontiguousarray(lengths[order], dtype=np.int64)
    shortest = np.empty_like(ascending)
    cheapest_runs(ascending, least, shortest)
    # Back to the order of the units.
    published = np.empty_like(shortest)
    published[order] = shortest
    return published
