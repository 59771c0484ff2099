# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Join of boxes with the points that they cover: a tree over the points, walked once for each box.

The tree is complete: node 0 is the root, the children of node i are 2 i + 1 and 2 i + 2, and the i-th node of level l
holds the points from `P i // 2**l` to `P (i + 1) // 2**l`. A box is a region for each attribute: a range of ranks, or
some ranks in it (`members`). What a box carries is a set, as words of 64 bits.
"""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import inlined, kernel
from shoal.joins.members_kernel import first_at_least

__all__ = ["collect_covering"]


@inlined
def _members_within(members, start, stop, low, high):
    """Count the ascending `members[start:stop]` from `low` to `high`."""
    return first_at_least(members, start, stop, high + 1) - first_at_least(members, start, stop, low)


@inlined
def _relation(least, greatest, regions, low, high, starts, members):
    """Compare a box with the ranks from `least` to `greatest`: 0 if it has none, 2 if it has all, else 1."""
    # Every attribute must allow the same answer.
    whole = True
    for a in range(regions.size):
        region = regions[a]
        if greatest[a] < low[region] or least[a] > high[region]:
            return 0
        # A region with members covers a range if it has every rank of it.
        if starts[region] < starts[region + 1]:
            count = _members_within(members, starts[region], starts[region + 1], least[a], greatest[a])
            if count == 0:
                return 0
            whole = whole and count == greatest[a] - least[a] + 1
        else:
            whole = whole and least[a] >= low[region] and greatest[a] <= high[region]
    return 2 if whole else 1


@kernel
def collect_covering(points, least, greatest, levels, boxes, low, high, starts, members, carried):
    """Compute for each point the union of the sets of the boxes that cover it.

    Parameters
    ----------
    points : int32 array, shape (P, d)
        The points in the order of the tree.
    least, greatest : int32 arrays, shape (nodes, d)
        The extents of every node.
    levels : int
        Number of levels of the tree; the nodes of the last one are leaves.
    boxes : int32 array, shape (B, d)
        The region of each box on each attribute.
    low, high, starts, members
        The regions: ranges of ranks and, if `starts` leaves room for any, members.
    carried : uint64 array, shape (B, words)
        The set that each box carries.
    """
    count = points.shape[0]
    words = carried.shape[1]
    at_nodes = np.zeros((least.shape[0], words), dtype=np.uint64)
    at_points = np.zeros((count, words), dtype=np.uint64)
    stack = np.empty((2 * levels + 2, 2), dtype=np.int64)
    # Walk the tree from the root for each box.
    for box in range(boxes.shape[0]):
        stack[0, 0], stack[0, 1] = 0, 0
        top = 1
        while top > 0:
            top -= 1
            node, level = stack[top, 0], stack[top, 1]
            relation = _relation(least[node], greatest[node], boxes[box], low, high, starts, members)
            # The box covers the node: record the set there, and pass it down at the end.
            if relation == 2:
                for word in range(words):
                    at_nodes[node, word] |= carried[box, word]
            # Partly covered: visit both children.
            elif relation == 1 and level + 1 < levels:
                stack[top, 0], stack[top, 1] = 2 * node + 1, level + 1
                stack[top + 1, 0], stack[top + 1, 1] = 2 * node + 2, level + 1
                top += 2
            # Partly covered leaf: test its points one by one.
            elif relation == 1:
                i = node - ((1 << level) - 1)
                for point in range(count * i >> level, count * (i + 1) >> level):
                    if _relation(points[point], points[point], boxes[box], low, high, starts, members) == 2:
                        for word in range(words):
                            at_points[point, word] |= carried[box, word]
    # Pass the sets of the nodes down to the points.
    for level in range(levels):
        for i in range(1 << level):
            node = (1 << level) - 1 + i
            if level + 1 < levels:
                for word in range(words):
                    at_nodes[2 * node + 1, word] |= at_nodes[node, word]
                    at_nodes[2 * node + 2, word] |= at_nodes[node, word]
            else:
                for point in range(count * i >> level, count * (i + 1) >> level):
                    for word in range(words):
                        at_points[point, word] |= at_nodes[node, word]
    return at_points
