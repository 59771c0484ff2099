"""Connected divisions of small graphs by exhaustive search: the oracle of the regions of `shoal.grouping`.

A *graph* is a number of nodes and a list of pairs; a *division* is a list with the part of each node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

__all__ = ["connected", "lowest_tree_degree", "smallest_largest_part", "spanning_tree_degree"]

Edges = Sequence[tuple[int, int]]


def connected(nodes: Sequence[int], edges: Edges) -> bool:
    """Test if nodes are connected by edges among them; an empty set is not."""
    rest = set(nodes)
    if not rest:
        return False
    waiting = [rest.pop()]
    while waiting:
        node = waiting.pop()
        near = {b if a == node else a for a, b in edges if node in (a, b)} & rest
        rest -= near
        waiting.extend(near)
    return not rest


def smallest_largest_part(edges: Edges, weights: Sequence[int], k: int) -> int | None:
    """Compute the smallest largest part of all divisions into connected parts of at least k; None if there is none."""
    best: int | None = None
    for division in _divisions(len(weights)):
        parts = [[v for v, part in enumerate(division) if part == p] for p in set(division)]
        loads = [sum(weights[v] for v in part) for part in parts]
        if min(loads) < k or (best is not None and max(loads) >= best):
            continue
        if all(connected(part, edges) for part in parts):
            best = max(loads)
    return best


def _divisions(nodes: int, begun: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    if len(begun) == nodes:
        yield begun
        return
    for part in range(max(begun, default=-1) + 2):
        yield from _divisions(nodes, (*begun, part))


def spanning_tree_degree(nodes: int, edges: Edges) -> int | None:
    """Compute the degree of a graph if it is a tree over all nodes; None otherwise."""
    if len(edges) != nodes - 1 or not connected(range(nodes), edges):
        return None
    return max((sum(node in edge for edge in edges) for node in range(nodes)), default=0)


def lowest_tree_degree(nodes: int, edges: Edges) -> int:
    """Compute the lowest degree of a spanning tree of a connected graph."""
    found = (spanning_tree_degree(nodes, tree) for tree in combinations(edges, nodes - 1))
    return min(degree for degree in found if degree is not None)
