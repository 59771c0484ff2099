# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The fewest columns that hit every failing set of a row: branch and bound over bit masks."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import kernel, kernel_step

__all__ = ["fewest_stars"]

_MAX_NODES = 2000
"""Nodes of the search for one row; beyond, the bound is that of disjoint sets."""


@kernel_step
def _disjoint_sets(masks, count, starred):
    """Count disjoint masks among those that are not hit, the first come first: each needs a star of its own."""
    used, found = starred, 0
    for i in range(count):
        if masks[i] & used == 0:
            used |= masks[i]
            found += 1
    return found


@kernel_step
def _fewest_of_row(masks, count, stack, depths):
    """Find the fewest columns that hit all masks of one row, or a lower bound if the search is too long."""
    low = _disjoint_sets(masks, count, np.int64(0))
    nodes = 0
    # Iterative deepening: the first depth with a solution is the least.
    for depth in range(low, 64):
        top = 0
        stack[0], depths[0] = 0, 0
        while top >= 0:
            starred, used = stack[top], depths[top]
            top -= 1
            nodes += 1
            if nodes > _MAX_NODES:
                return depth
            # The first mask that is not hit; every solution stars one of its columns.
            open_mask = np.int64(0)
            for i in range(count):
                if masks[i] & starred == 0:
                    open_mask = masks[i]
                    break
            if open_mask == 0:
                return depth
            if used + _disjoint_sets(masks, count, starred) > depth:
                continue
            while open_mask != 0:
                lowest = open_mask & -open_mask
                open_mask ^= lowest
                top += 1
                stack[top], depths[top] = starred | lowest, used + 1
    return 64


@kernel
def fewest_stars(failing, masks):
    """Compute for each row a lower bound on its stars: the fewest columns that hit its failing sets.

    Parameters
    ----------
    failing : bool array of shape (rows, sets)
        Whether the group of the row in the projection of the original table on a set has too few rows.
    masks : int64 array of shape (sets,)
        The columns of each set as bits; sets with fewer columns come first.
    """
    rows, sets = failing.shape
    found = np.zeros(rows, dtype=np.int64)
    own = np.empty(sets, dtype=np.int64)
    stack = np.empty(64 * 64, dtype=np.int64)
    depths = np.empty(64 * 64, dtype=np.int64)
    for row in range(rows):
        count = np.int64(0)
        for s in range(sets):
            if failing[row, s]:
                # A mask that contains another one is hit with it.
                needed = True
                for i in range(count):
                    if own[i] & masks[s] == own[i]:
                        needed = False
                        break
                if needed:
                    own[count] = masks[s]
                    count += 1
        if count:
            found[row] = _fewest_of_row(own, count, stack, depths)
    return found
