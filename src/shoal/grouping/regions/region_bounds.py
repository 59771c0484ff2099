"""Lower bounds on the largest part of any division of a connected graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.base import GroupingBound
from shoal.grouping.regions.graph import RegionGraph


def region_bound(graph: RegionGraph, weights: NDArray[np.int64], k: int) -> GroupingBound:
    """Compute a lower bound on the largest part of a connected graph with a total weight of at least k.

    Parameters
    ----------
    graph : RegionGraph
        A connected graph.
    weights : array of int64
        Weights of its nodes.
    k : int
        Smallest weight of a part.
    """
    total, largest = int(weights.sum()), int(weights.max())
    most = most_parts(weights, k)
    bounds = [
        GroupingBound(value=k, why="every class has at least k records"),
        GroupingBound(value=largest, why="the largest region cannot be divided"),
        GroupingBound(value=-(-total // most), why=f"there cannot be more than {most} classes of k records"),
        GroupingBound(
            value=_largest_with_dependents(graph, weights, k),
            why="a region cannot be parted from the neighbours that only it connects to k records",
        ),
    ]
    return max(bounds, key=lambda bound: bound.value)


def most_parts(weights: NDArray[np.int64], k: int) -> int:
    """Bound the number of parts: each has a node of weight k or more, or k records of the other nodes."""
    heavy = weights[weights >= k]
    return len(heavy) + (int(weights.sum()) - int(heavy.sum())) // k


def bound_of_counts(weights: NDArray[np.int64], k: int, bound: int) -> GroupingBound:
    """Strengthen a lower bound on the largest part by counting parts.

    If there are p parts, the largest part weighs at least total / p and at most total - (p - 1) k. A lower bound
    therefore excludes large numbers of parts.

    Parameters
    ----------
    weights : array of int64
        Weights of the nodes.
    k : int
        Smallest weight of a part.
    bound : int
        A lower bound on the largest part of any division.
    """
    total, most = int(weights.sum()), most_parts(weights, k)
    raised = -1
    while raised < bound:
        raised = bound
        most = min(most, (total - bound) // k + 1)
        bound = max(bound, -(-total // most))
    return GroupingBound(
        value=bound, why=f"there cannot be more than {most} classes: beside more, none could weigh what one has to"
    )


def _largest_with_dependents(graph: RegionGraph, weights: NDArray[np.int64], k: int) -> int:
    """Compute the largest weight of a node and the components below k that its removal would leave."""
    starts, targets, _ = graph.adjacency
    near = [targets[starts[node] : starts[node + 1]].tolist() for node in range(graph.nodes)]
    heavy = weights.tolist()
    total = sum(heavy)
    # For each node: the weight of its subtree, and of the components that its removal would cut off.
    reached, lowest = [-1] * graph.nodes, [0] * graph.nodes
    subtree_weights, cut_off, dependents = list(heavy), [0] * graph.nodes, [0] * graph.nodes
    # Hopcroft and Tarjan's search for articulation points, with a stack of (node, parent, remaining neighbours).
    reached[0] = lowest[0] = 0
    count = 1
    stack = [(0, -1, iter(near[0]))]
    while stack:
        node, parent, rest = stack[-1]
        for other in rest:
            if reached[other] < 0:
                reached[other] = lowest[other] = count
                count += 1
                stack.append((other, node, iter(near[other])))
                break
            if other != parent:
                lowest[node] = min(lowest[node], reached[other])
        else:
            stack.pop()
            if parent >= 0:
                subtree_weights[parent] += subtree_weights[node]
                lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] >= reached[parent]:
                    cut_off[parent] += subtree_weights[node]
                    dependents[parent] += subtree_weights[node] if subtree_weights[node] < k else 0
    # A component below k cannot be a part of its own: it must join the node.
    best = 0
    for node in range(graph.nodes):
        beyond = total - heavy[node] - cut_off[node]
        best = max(best, heavy[node] + dependents[node] + (beyond if beyond < k else 0))
    return best
