# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Spanning trees of low degree by local search (Fuerer and Raghavachari, SODA 1992), and cuts of trees into parts.

Graphs are connected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, inlined, kernel

__all__ = ["Graph", "RootedTree", "cut_tree", "depth_first_tree", "lower_degree", "root_tree"]

_MANY = 64
"""Nodes with more neighbours than this visit them in list order: the search for the best one would take too long."""


class Graph(NamedTuple):
    """A graph as lists of neighbours and as edges."""

    offsets: NDArray[np.int64]
    """Start of the neighbours of each node in `targets`, shape (n + 1,)."""
    targets: NDArray[np.int32]
    """The neighbours of node v are `targets[offsets[v]:offsets[v + 1]]`."""
    edge_of: NDArray[np.int32]
    """The edge of each entry of `targets`."""
    left: NDArray[np.int32]
    """One end of each edge."""
    right: NDArray[np.int32]
    """The other end of each edge."""


class RootedTree(NamedTuple):
    """A spanning tree: its edges, and the arrays derived from them and a root."""

    in_tree: NDArray[np.bool_]
    """Whether each edge is in the tree."""
    parent: NDArray[np.int32]
    """Parent of each node; -1 for the root."""
    parent_edge: NDArray[np.int32]
    """The edge to the parent."""
    level: NDArray[np.int32]
    """Number of edges between each node and the root."""
    order: NDArray[np.int32]
    """The nodes, parents first."""

    @classmethod
    def of(cls, in_tree: NDArray[np.bool_], n: int) -> RootedTree:
        """Create a tree of n nodes without a root."""
        return cls(in_tree, *(np.empty(n, dtype=np.int32) for _ in range(4)))


@kernel
def depth_first_tree(graph, in_tree):
    """Mark the edges of a depth-first tree that visits neighbours with the fewest unvisited neighbours first.

    Such trees are nearly paths, a good start for the local search. Returns the number of nodes reached.
    """
    offsets, targets, edge_of = graph.offsets, graph.targets, graph.edge_of
    n = offsets.size - 1
    # Unvisited neighbours of each node; start at the node with the fewest.
    free = np.empty(n, dtype=np.int64)
    for v in range(n):
        free[v] = offsets[v + 1] - offsets[v]
    root = 0
    for v in range(n):
        if free[v] < free[root]:
            root = v
    visited = np.zeros(n, dtype=np.bool_)
    place = np.empty(n, dtype=np.int64)
    for v in range(n):
        place[v] = offsets[v]
    # Depth-first search with an explicit stack.
    stack = np.empty(n, dtype=np.int32)
    stack[0] = root
    depth = 1
    reached = 1
    visited[root] = True
    for j in range(offsets[root], offsets[root + 1]):
        free[targets[j]] -= 1
    while depth > 0:
        v = stack[depth - 1]
        chosen = -1
        # A node of high degree takes its next unvisited neighbour.
        if offsets[v + 1] - offsets[v] > _MANY:
            while place[v] < offsets[v + 1] and visited[targets[place[v]]]:
                place[v] += 1
            if place[v] < offsets[v + 1]:
                chosen = place[v]
        else:
            for j in range(offsets[v], offsets[v + 1]):
                if not visited[targets[j]] and (chosen < 0 or free[targets[j]] < free[targets[chosen]]):
                    chosen = j
        # No neighbour left: backtrack.
        if chosen < 0:
            depth -= 1
            continue
        u = targets[chosen]
        in_tree[edge_of[chosen]] = True
        visited[u] = True
        reached += 1
        # The node is visited now, for all its neighbours.
        for j in range(offsets[u], offsets[u + 1]):
            free[targets[j]] -= 1
        stack[depth] = u
        depth += 1
    return reached


@kernel
def root_tree(graph, root, tree):
    """Compute parents, levels and order of a tree for a root."""
    offsets, targets, edge_of = graph.offsets, graph.targets, graph.edge_of
    in_tree, parent, parent_edge, level, order = tree
    parent[root] = -1
    parent_edge[root] = -1
    level[root] = 0
    order[0] = root
    filled = 1
    # Breadth-first along the tree's edges.
    for i in range(order.size):
        v = order[i]
        for j in range(offsets[v], offsets[v + 1]):
            if in_tree[edge_of[j]] and edge_of[j] != parent_edge[v]:
                u = targets[j]
                parent[u] = v
                parent_edge[u] = edge_of[j]
                level[u] = level[v] + 1
                order[filled] = u
                filled += 1


@inlined
def _top(sets, v):
    """Find the topmost node of the set of a node."""
    # Union-find with path halving.
    while sets[v] != v:
        sets[v] = sets[sets[v]]
        v = sets[v]
    return v


@inlined
def _swap(e, w, graph, tree):
    """Add edge e to the tree and remove an edge at node w of the cycle that it closes."""
    in_tree, parent, parent_edge, level, _ = tree
    u, v = graph.left[e], graph.right[e]
    removed = np.int32(-1)
    # Walk up from both ends to their common ancestor.
    while u != v:
        if level[u] < level[v]:
            u, v = v, u
        if u == w or parent[u] == w:
            removed = parent_edge[u]
        u = parent[u]
    in_tree[e] = True
    in_tree[removed] = False


@allocating_step
def _improve(e, w, helper, graph, tree):
    """Lower the degree of node w with edge e; ends of edges at their limit are relieved first."""
    left, right, order = graph.left, graph.right, tree.order
    # Stack entries: an edge, the node that it relieves, and whether its ends were relieved.
    waiting = np.empty((order.size + 1, 3), dtype=np.int32)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = e, w, 0
    depth = 1
    while depth > 0:
        e = waiting[depth - 1, 0]
        if waiting[depth - 1, 2] == 0:
            waiting[depth - 1, 2] = 1
            # Ends with a helper edge are relieved before this edge is added.
            for side in range(2):
                end = left[e] if side == 0 else right[e]
                if helper[end] >= 0:
                    waiting[depth, 0], waiting[depth, 1], waiting[depth, 2] = helper[end], end, 0
                    depth += 1
                    helper[end] = -1
            continue
        # Then swap, and update the tree.
        _swap(e, waiting[depth - 1, 1], graph, tree)
        root_tree(graph, order[0], tree)
        depth -= 1


@kernel
def lower_degree(graph, in_tree, phases):
    """Improve a spanning tree for some phases; each leaves one node fewer of the highest degree.

    Returns the degree at the last phase, negative if no improvement is left: then it is the tree's, and no spanning
    tree has a degree lower by more than one. Nodes of the highest degree and one below are blocked; an edge between two
    components of the rest unblocks the nodes of the second kind on its cycle, and relieves one of the first kind.
    """
    left, right = graph.left, graph.right
    n = graph.offsets.size - 1
    tree = RootedTree(
        in_tree,
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
    )
    parent, level, order = tree.parent, tree.level, tree.order
    degree = np.zeros(n, dtype=np.int64)
    sets = np.empty(n, dtype=np.int32)
    helper = np.empty(n, dtype=np.int32)
    good = np.empty(n, dtype=np.bool_)
    root_tree(graph, np.int32(0), tree)
    highest = np.int64(0)
    for _ in range(phases):
        # Degrees and the highest degree of the tree.
        for v in range(n):
            degree[v] = 0
        for e in range(left.size):
            if in_tree[e]:
                degree[left[e]] += 1
                degree[right[e]] += 1
        highest = np.int64(0)
        for v in range(n):
            highest = max(highest, degree[v])
        # A path cannot be improved.
        if highest <= 2:
            return -highest
        # Good nodes may take another edge; components of good nodes are joined along the tree.
        for v in range(n):
            good[v] = degree[v] <= highest - 2
            helper[v] = -1
            sets[v] = v
        for i in range(1, n):
            v = order[i]
            if good[v] and good[parent[v]]:
                sets[v] = parent[v]
        improved = False
        # Repeat until an improvement is found, or no edge connects two components.
        changed = True
        while changed and not improved:
            changed = False
            for e in range(left.size):
                if in_tree[e] or not good[left[e]] or not good[right[e]]:
                    continue
                u, v = _top(sets, left[e]), _top(sets, right[e])
                if u == v:
                    continue
                changed = True
                # Walk along the cycle for a node of the highest degree.
                relieved = np.int32(-1)
                while u != v:
                    if level[u] < level[v]:
                        u, v = v, u
                    u = _top(sets, parent[u])
                    if degree[u] == highest:
                        relieved = u
                if relieved >= 0:
                    _improve(np.int32(e), relieved, helper, graph, tree)
                    improved = True
                    break
                # None is there: merge the components along the cycle, and unblock nodes one below.
                u, v = _top(sets, left[e]), _top(sets, right[e])
                while u != v:
                    if level[u] < level[v]:
                        u, v = v, u
                    above = _top(sets, parent[u])
                    if not good[above]:
                        good[above] = True
                        helper[above] = e
                    sets[u] = above
                    u = above
        # The local optimum of the paper.
        if not improved:
            return -highest
    return highest


@kernel
def cut_tree(parent, order, weights, k, parts):
    """Cut a rooted tree into parts of weight at least k from the leaves up; fill in the part of each node.

    An edge is cut if its subtree and the rest weigh at least k. The root is in part 0. Returns the number of parts (Du,
    Eppstein, Goodrich, Lueker 2009, Lemmas 1 and 2, in one pass).
    """
    n = order.size
    subtree_weights = np.zeros(n, dtype=np.int64)
    left = np.int64(0)
    for v in range(n):
        subtree_weights[v] = weights[v]
        left += weights[v]
    cut = np.zeros(n, dtype=np.bool_)
    # Children first; a subtree that is cut off no longer counts.
    for i in range(n - 1, 0, -1):
        v = order[i]
        if subtree_weights[v] >= k and left - subtree_weights[v] >= k:
            cut[v] = True
            left -= subtree_weights[v]
        else:
            subtree_weights[parent[v]] += subtree_weights[v]
    count = 1
    parts[order[0]] = 0
    # Parents first: number the parts from the root down.
    for i in range(1, n):
        v = order[i]
        if cut[v]:
            parts[v] = count
            count += 1
        else:
            parts[v] = parts[parent[v]]
    return count
