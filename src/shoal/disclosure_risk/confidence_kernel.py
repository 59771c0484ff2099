# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Confidence of an adversary in a value of each unit, in logarithms."""

from __future__ import annotations

import math

import numpy as np

from shoal._core.compiling import kernel

__all__ = ["compute_least_doubt"]

_MAX_FACTORS = 64
"""Largest number of rows of a unit in a group for which factors are multiplied; more use the log-gamma function."""


@kernel
def compute_least_doubt(unit_starts, entry_groups, entry_rows, group_starts, values, counts, sizes, width):
    """Find for each unit the smallest logarithm of the probability that it has a value in none of its rows.

    Parameters
    ----------
    unit_starts : int64 array of shape (persons + 1,)
        Start of the entries of each unit; an entry is a group with rows of the unit.
    entry_groups, entry_rows : int64 arrays
        The group of each entry, and the rows of the unit in it, at least 1.
    group_starts : int64 array of shape (groups + 1,)
        Start of the values of each group.
    values, counts : int64 arrays
        The sensitive values of each group, below `width`, and the rows with each.
    sizes : int64 array of shape (groups,)
        Rows of each group.
    width : int
        Number of sensitive values.

    Returns
    -------
    float64 array of shape (persons,)
        -inf if a unit certainly has some value.
    """
    least = np.zeros(unit_starts.size - 1, dtype=np.float64)
    sums = np.zeros(width, dtype=np.float64)
    for u in range(unit_starts.size - 1):
        # Add up the log-probabilities of each value over the groups of the unit.
        for e in range(unit_starts[u], unit_starts[u + 1]):
            g = entry_groups[e]
            size = sizes[g]
            r = entry_rows[e]
            for j in range(group_starts[g], group_starts[g + 1]):
                others = size - counts[j]
                # Fewer other rows than rows of the unit: one of them must have the value.
                if others < r:
                    sums[values[j]] = -np.inf
                elif r <= _MAX_FACTORS:
                    share = 1.0
                    for i in range(r):
                        share *= (others - i) / (size - i)
                    sums[values[j]] += math.log(share) if share > 0 else -np.inf
                else:
                    sums[values[j]] += math.lgamma(others + 1) - math.lgamma(others - r + 1)
                    sums[values[j]] -= math.lgamma(size + 1) - math.lgamma(size - r + 1)
        # Take the value with the smallest sum, and clear the sums for the next unit.
        for e in range(unit_starts[u], unit_starts[u + 1]):
            g = entry_groups[e]
            for j in range(group_starts[g], group_starts[g + 1]):
                least[u] = min(least[u], sums[values[j]])
                sums[values[j]] = 0.0
    return least
