"""What the largest part of a connected graph weighs at least, however it is divided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.grouping.base import GroupingBound

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.grouping.regions.graph import RegionGraph

__all__ = ["bound_of_counts", "most_parts", "region_bound"]


def region_bound(graph: RegionGraph, weights: NDArray[np.int64], k: int) -> GroupingBound:
    """Return a lower bound on the largest part of a connected graph that weighs at least k.

    Parameters
    ----------
    graph : RegionGraph
        A connected graph.
    weights : array of int64
        Of its nodes.
    k : int
        What each part weighs at least.
    """
    total, largest = int(weights.sum()), int(weights.max())
    most = most_parts(weights, k)
    bounds = [
        GroupingBound(value=k, why="every class has at least k records"),
        GroupingBound(value=largest, why="the largest region cannot be divided"),
        GroupingBound(value=-(-total // most), why=f"there cannot be more than {most} classes of k records"),
        GroupingBound(
            value=_with_dependents(graph, weights, k),
            why="a region cannot be parted from the neighbours that only it connects to k records",
        ),
    ]
    return max(bounds, key=lambda bound: bound.value)


def most_parts(weights: NDArray[np.int64], k: int) -> int:
    """Return how many parts there can be: each has a node of weight k or more, or k records of the other nodes."""
    heavy = weights[weights >= k]
    return len(heavy) + (int(weights.sum()) - int(heavy.sum())) // k


def bound_of_counts(weights: NDArray[np.int64], k: int, bound: int) -> GroupingBound:
    """Return a lower bound on the largest part that follows from another one.

    With p parts the largest one weighs total / p at least, and total - (p - 1) k at most: a bound rules large numbers
    of parts out.

    Parameters
    ----------
    weights : array of int64
        Of the nodes.
    k : int
        What each part weighs at least.
    bound : int
        The largest part of no division weighs less.
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


def _with_dependents(graph: RegionGraph, weights: NDArray[np.int64], k: int) -> int:
    """Return the largest weight of a node together with the components below k that its removal would leave."""
    starts, targets, _ = graph.adjacency
    near = [targets[starts[node] : starts[node + 1]].tolist() for node in range(graph.nodes)]
    heavy = weights.tolist()
    total = sum(heavy)
    reached, lowest = [-1] * graph.nodes, [0] * graph.nodes
    hanging, cut_off, dependents = list(heavy), [0] * graph.nodes, [0] * graph.nodes
    # Hopcroft and Tarjan's search for articulation points, with a stack of (node, its parent, neighbours to go).
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
                hanging[parent] += hanging[node]
                lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] >= reached[parent]:
                    cut_off[parent] += hanging[node]
                    dependents[parent] += hanging[node] if hanging[node] < k else 0
    best = 0
    for node in range(graph.nodes):
        beyond = total - heavy[node] - cut_off[node]
        best = max(best, heavy[node] + dependents[node] + (beyond if beyond < k else 0))
    return best
