# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Join of queries with the boxes that they meet: a tree over the boxes, walked once for each query.

A box is a region for each attribute: a range of ranks, or some ranks in it (`members`). Two boxes meet if their regions
have a rank in common in every attribute.

The tree is complete: node 0 is the root, the children of node i are 2 i + 1 and 2 i + 2, and the i-th node of level l
holds the boxes from `B i // 2**l` to `B (i + 1) // 2**l`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal._core.compiling import inlined, kernel
from shoal.joins.members_kernel import first_at_least

__all__ = ["Nodes", "Ranks", "count_meeting", "meet"]


class Ranks(NamedTuple):
    """Regions of ranks, of all attributes one after the other."""

    low: np.ndarray
    """The least rank of each region."""
    high: np.ndarray
    """The greatest; below `low` if the region is empty."""
    starts: np.ndarray
    """Start of the members of each region; a region without members is its whole range."""
    members: np.ndarray
    """The ranks of the regions that are not ranges, ascending within a region."""


class Nodes(NamedTuple):
    """Summaries of the boxes of each node."""

    least: np.ndarray
    """The least lower ends of each attribute, then the least upper ends; shape (nodes, 2 d)."""
    greatest: np.ndarray
    """The greatest of the same."""
    plain: np.ndarray
    """Whether all regions of a node are ranges, by attribute; shape (nodes, d)."""
    sums: np.ndarray
    """Sums of the values of the boxes of a node; shape (nodes, m)."""


@inlined
def _some_within(members, start, stop, low, high):
    """Test whether one of the ascending `members[start:stop]` is from `low` to `high`."""
    # Binary search for the first candidate.
    first = first_at_least(members, start, stop, low)
    return first < stop and members[first] <= high


@inlined
def meet(one, r, other, s):
    """Test whether region r of the one and region s of the other have a rank in common."""
    # The ranges decide first.
    low = max(one.low[r], other.low[s])
    high = min(one.high[r], other.high[s])
    if low > high:
        return False
    i, i_stop = one.starts[r], one.starts[r + 1]
    j, j_stop = other.starts[s], other.starts[s + 1]
    # A common range is enough if neither region has members.
    if i == i_stop and j == j_stop:
        return True
    if i == i_stop:
        return _some_within(other.members, j, j_stop, low, high)
    if j == j_stop:
        return _some_within(one.members, i, i_stop, low, high)
    # Two ascending lists: merge until a common member is found.
    while i < i_stop and j < j_stop:
        if one.members[i] == other.members[j]:
            return True
        if one.members[i] < other.members[j]:
            i += 1
        else:
            j += 1
    return False


@inlined
def _relation(query, ranks, nodes, node):
    """Compare a query with a node: 0 if no box meets it, 2 if all boxes do, 1 if that is open."""
    d = query.size
    whole = True
    # Every attribute must allow the same answer.
    for a in range(d):
        r = query[a]
        low, high = ranks.low[r], ranks.high[r]
        first, last = nodes.least[node, a], nodes.greatest[node, d + a]
        # The extent of the node is disjoint from the query's range.
        if low > high or high < first or low > last:
            return 0
        start, stop = ranks.starts[r], ranks.starts[r + 1]
        if start < stop:
            if not _some_within(ranks.members, start, stop, first, last):
                return 0
            # A member that all ranges of the node contain makes all of them meet.
            common_low, common_high = nodes.greatest[node, a], nodes.least[node, d + a]
            if not nodes.plain[node, a] or not _some_within(ranks.members, start, stop, common_low, common_high):
                whole = False
        elif not (low <= first and high >= last):
            # Ranges meet if neither ends before the other begins.
            overlap = low <= nodes.least[node, d + a] and high >= nodes.greatest[node, a]
            if not (nodes.plain[node, a] and overlap):
                whole = False
    return 2 if whole else 1


@kernel
def count_meeting(queries, query_ranks, boxes, box_ranks, nodes, levels, carried):
    """Add up for each query the values of the boxes that it meets.

    Parameters
    ----------
    queries : int32 array, shape (Q, d)
        The region of each query on each attribute, a place in `query_ranks`.
    query_ranks : Ranks
    boxes : int32 array, shape (B, d)
        The region of each box of the tree, in its order; none is empty.
    box_ranks : Ranks
    nodes : Nodes
        Summaries of the tree.
    levels : int
        Number of levels of the tree; the nodes of the last one are leaves.
    carried : int64 array, shape (B, m)
        Values of each box.

    Returns
    -------
    int64 array, shape (Q, m)
    """
    count, d = boxes.shape
    width = carried.shape[1]
    found = np.zeros((queries.shape[0], width), dtype=np.int64)
    stack = np.empty((2 * levels + 2, 2), dtype=np.int64)
    # Walk the tree from the root for each query.
    for q in range(queries.shape[0]):
        query = queries[q]
        stack[0, 0], stack[0, 1] = 0, 0
        top = 1
        while top > 0:
            top -= 1
            node, level = stack[top, 0], stack[top, 1]
            relation = _relation(query, query_ranks, nodes, node)
            # All boxes of the node meet: their sum is known.
            if relation == 2:
                for m in range(width):
                    found[q, m] += nodes.sums[node, m]
            # Open: visit both children.
            elif relation == 1 and level + 1 < levels:
                stack[top, 0], stack[top, 1] = 2 * node + 1, level + 1
                stack[top + 1, 0], stack[top + 1, 1] = 2 * node + 2, level + 1
                top += 2
            # Open at a leaf: test its boxes one by one.
            elif relation == 1:
                i = node - ((1 << level) - 1)
                for box in range(count * i >> level, count * (i + 1) >> level):
                    meets = True
                    for a in range(d):
                        if not meet(query_ranks, query[a], box_ranks, boxes[box, a]):
                            meets = False
                            break
                    if meets:
                        for m in range(width):
                            found[q, m] += carried[box, m]
    return found
