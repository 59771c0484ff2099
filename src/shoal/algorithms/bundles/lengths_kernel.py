# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Runs of persons with similar numbers of rows, so that the fewest rows are left out."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import kernel

__all__ = ["cheapest_runs"]


@kernel
def cheapest_runs(lengths, least, shortest):
    """Cut sorted persons into runs of at least `least` persons; each publishes the smallest number of rows of its run.

    Parameters
    ----------
    lengths : int64[n]
        Number of rows of each person, ascending; n >= least.
    least : int
        Fewest persons of a run, at least 1.
    shortest : int64[n]
        Receives the number of rows that each person publishes.

    Returns
    -------
    int
        Number of rows left out, the smallest possible.
    """
    # Sums of the lengths before each person, so that a run is priced in constant time.
    n = lengths.size
    total = np.zeros(n + 1, dtype=np.int64)
    for j in range(n):
        total[j + 1] = total[j] + lengths[j]
    # cost[j]: fewest rows left out of the first j persons; -1 if they cannot be cut into runs.
    cost = np.full(n + 1, -1, dtype=np.int64)
    start = np.full(n + 1, -1, dtype=np.int64)
    cost[0] = 0
    for j in range(least, n + 1):
        # A run of 2 * least persons or more can be cut in two without leaving out more, so longer runs are not tried.
        for i in range(max(0, j - 2 * least + 1), j - least + 1):
            if cost[i] >= 0:
                left_out = cost[i] + total[j] - total[i] - (j - i) * lengths[i]
                if cost[j] < 0 or left_out < cost[j]:
                    cost[j], start[j] = left_out, i
    # Follow the starts of the runs back from the last person.
    j = n
    while j > 0:
        i = start[j]
        for person in range(i, j):
            shortest[person] = lengths[i]
        j = i
    return cost[n]
