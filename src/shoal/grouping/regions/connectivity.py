"""Verification that classes of regions are connected; it shares no code with the algorithms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from shoal.errors import InternalError


def components_of(nodes: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """Find a representative of the component of each node; connected nodes have the same one.

    Examples
    --------
    >>> components_of(4, [(0, 2), (2, 3)])
    [0, 1, 0, 0]
    """
    # Union-find with path halving; the smaller root represents a component.
    above = list(range(nodes))

    def found(node: int) -> int:
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    for left, right in edges:
        first, second = sorted((found(left), found(right)))
        above[second] = first
    return [found(node) for node in range(nodes)]


def check_connected(classes: Sequence[int], edges: Iterable[tuple[int, int]]) -> None:
    """Check that the nodes of every class are connected by edges within the class; -1 is no class.

    Raises
    ------
    InternalError
        If a class is not connected.
    """
    within = (edge for edge in edges if classes[edge[0]] == classes[edge[1]])
    tops = components_of(len(classes), within)
    components = Counter(classes[top] for top in set(tops))
    apart = sum(count > 1 for number, count in components.items() if number >= 0)
    if apart:
        raise InternalError(f"{apart} class(es) of regions are not connected")
