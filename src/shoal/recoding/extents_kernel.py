# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Extents of groups: the range of codes of a group's rows on one attribute."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import linear_kernel

__all__ = ["group_extents"]


@linear_kernel
def group_extents(codes, groups, count):
    """Compute the smallest and the largest code of every group (int32 arrays); equal if all rows share the value.

    `codes` and `groups` are int32, one entry per row, 0 <= group < count.
    """
    extents = np.empty((count, 2), dtype=np.int32)  # side by side: one cache line serves both ends
    # Start with empty ranges.
    for g in range(count):
        extents[g, 0] = np.iinfo(np.int32).max
        extents[g, 1] = -1
    # One pass over the rows.
    for row in range(codes.size):
        g = groups[row]
        code = codes[row]
        extents[g, 0] = min(extents[g, 0], code)
        extents[g, 1] = max(extents[g, 1], code)
    return extents[:, 0].copy(), extents[:, 1].copy()
