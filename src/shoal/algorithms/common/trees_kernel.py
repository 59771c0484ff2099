# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The hierarchies of a table's attributes as flat arrays.

A value has a *place* in a depth-first walk through its hierarchy, so that the values below a node are neighbours, and
all values between two places lie below the lowest node above both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined

__all__ = ["Trees", "meeting_level", "node_penalty"]


class Trees(NamedTuple):
    """The hierarchies of all attributes, laid out flat."""

    heights: NDArray[np.int64]
    """Number of steps from a value to the root, by attribute; 0 for an attribute without a hierarchy."""
    begins: NDArray[np.int64]
    """Start of the nodes of each attribute, level by level."""
    sizes: NDArray[np.int64]
    """Places of each attribute: its values, a missing one last."""
    nodes: NDArray[np.int32]
    """Node of each place at each level, ascending along the places."""
    penalty: NDArray[np.float64]
    """Loss of a cell that publishes the node."""


@inlined
def meeting_level(trees: Trees, a: int, low: int, high: int) -> int:
    """Find the lowest level at which two places of an attribute have the same node."""
    level = 0
    # Level by level upwards; all levels of an attribute have the same number of places.
    at = trees.begins[a]
    for _ in range(trees.heights[a]):
        # Nodes ascend along the places, so the two ends decide for all places between them.
        if trees.nodes[at + low] == trees.nodes[at + high]:
            break
        level += 1
        at += trees.sizes[a]
    return level


@inlined
def node_penalty(trees: Trees, a: int, low: int, high: int) -> float:
    """Compute the loss of a cell that publishes the lowest node above all places between two places."""
    # The penalty at either place is that of the common node.
    return float(trees.penalty[trees.begins[a] + meeting_level(trees, a, low, high) * trees.sizes[a] + low])
