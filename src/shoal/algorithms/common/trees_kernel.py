# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The hierarchies of a table's attributes as flat arrays.

A value stands at a *place* of a walk through its hierarchy, depth first, so that the values below a node are
neighbours, and all between two places lie below the lowest node above both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shoal._compiling import inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Trees", "meeting_level", "node_penalty"]


class Trees(NamedTuple):
    """The hierarchies of all attributes, laid out flat."""

    heights: NDArray[np.int64]
    """Steps from a value to the root, by attribute; 0 for one without a hierarchy."""
    begins: NDArray[np.int64]
    """Where the nodes of each attribute begin, level by level."""
    sizes: NDArray[np.int64]
    """Places of each attribute: its values, a missing one last."""
    nodes: NDArray[np.int32]
    """Node of each place at each level, ascending along the places."""
    penalty: NDArray[np.float64]
    """What a cell loses that publishes this node."""


@inlined
def meeting_level(trees: Trees, a: int, low: int, high: int) -> int:
    """Return the lowest level at which two places of an attribute have the same node."""
    level = 0
    at = trees.begins[a]
    for _ in range(trees.heights[a]):
        if trees.nodes[at + low] == trees.nodes[at + high]:
            break
        level += 1
        at += trees.sizes[a]
    return level


@inlined
def node_penalty(trees: Trees, a: int, low: int, high: int) -> float:
    """Return what a cell loses that publishes the lowest node above all places between two of an attribute."""
    return float(trees.penalty[trees.begins[a] + meeting_level(trees, a, low, high) * trees.sizes[a] + low])
