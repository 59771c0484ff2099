# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Which boxes meet which others where the regions of each attribute are nested or apart: by hashing, not by comparing.

Two such regions meet where the shallower one is above the other, or is it. So boxes whose regions have the depths S and
others with the depths T meet where their ancestors at the depths min(S, T) are the same.
"""

from __future__ import annotations

import numpy as np

from shoal._compiling import kernel

__all__ = ["add_up_nested"]

_SPREAD = np.int64(-7046029254386353131)  # 2**64 over the golden ratio


@kernel
def add_up_nested(queries, depths, boxes, starts, patterns, codes, offsets, carried, found):
    """Add up for each of some queries, which have the same depths, what the boxes carry that it meets.

    Parameters
    ----------
    queries : int32 array, shape (Q, d)
        The region of each query on each attribute.
    depths : int64 array, shape (d,)
        The depth of these regions.
    boxes : int32 array, shape (B, d)
        The same of the boxes; those of equal depths stand together.
    starts : int64 array, shape (P + 1,)
        Where the boxes of each pattern of depths start.
    patterns : int64 array, shape (P, d)
        Their depths.
    codes : int64 array
        For each attribute, depth and region a number that tells its ancestors at that depth apart, so that sums over
        the attributes do, too; `offsets` (d, depths) is where they start.
    offsets : int64 array, shape (d, depths)
    carried : int64 array, shape (B, m)
        What each box carries.
    found : int64 array, shape (Q, m)
        Is added to.
    """
    d, width = queries.shape[1], carried.shape[1]
    most = 0
    for t in range(starts.size - 1):
        most = max(most, starts[t + 1] - starts[t])
    room = 16
    while room < 2 * most:
        room *= 2
    keys = np.empty(room, dtype=np.int64)
    turn = np.full(room, -1, dtype=np.int64)
    sums = np.empty((room, width), dtype=np.int64)
    at = np.empty(d, dtype=np.int64)
    for t in range(starts.size - 1):
        for a in range(d):
            at[a] = offsets[a, min(depths[a], patterns[t, a])]
        few = 16
        shift = 63 - 4
        while few < 2 * (starts[t + 1] - starts[t]):
            few *= 2
            shift -= 1
        mask = few - 1
        for b in range(starts[t], starts[t + 1]):
            key = np.int64(0)
            for a in range(d):
                key += codes[at[a] + boxes[b, a]]
            spread = key * _SPREAD
            slot = ((spread ^ (spread >> 29)) >> shift) & mask
            while turn[slot] == t and keys[slot] != key:
                slot = (slot + 1) & mask
            if turn[slot] != t:
                turn[slot] = t
                keys[slot] = key
                for m in range(width):
                    sums[slot, m] = 0
            for m in range(width):
                sums[slot, m] += carried[b, m]
        for q in range(queries.shape[0]):
            key = np.int64(0)
            for a in range(d):
                key += codes[at[a] + queries[q, a]]
            spread = key * _SPREAD
            slot = ((spread ^ (spread >> 29)) >> shift) & mask
            while turn[slot] == t and keys[slot] != key:
                slot = (slot + 1) & mask
            if turn[slot] == t:
                for m in range(width):
                    found[q, m] += sums[slot, m]
