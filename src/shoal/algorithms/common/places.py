"""Hierarchies as arrays for the compiled searches: over places of a walk through each, depth first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.common.trees_kernel import Trees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.recoding import Levels

__all__ = ["aligned_places", "flat_trees"]


def flat_trees(levels: Sequence[Levels], *, every: bool) -> Trees:
    """Lay the levels of all attributes out flat.

    Parameters
    ----------
    levels : sequence of Levels
        Of each attribute.
    every : bool
        Whether an attribute without a hierarchy has its two levels, a value and a star, or the height 0.
    """
    heights, nodes, penalty = [], [], []
    for one in levels:
        height = one.height if every or one.hierarchical else 0
        along = one.nodes[: height + 1, one.order]
        # From place to place the node of a level stays, or is a new one.
        nodes.append(np.cumsum(np.diff(along, axis=1, prepend=along[:, :1]) != 0, axis=1))
        penalty.append(one.penalty[: height + 1, one.order])
        heights.append(height)
    begins = np.cumsum([0, *(part.size for part in nodes)])
    return Trees(
        heights=np.array(heights, dtype=np.int64),
        begins=begins[:-1].astype(np.int64),
        sizes=np.array([part.shape[1] for part in nodes], dtype=np.int64),
        nodes=np.concatenate([part.ravel() for part in nodes]).astype(np.int32),
        penalty=np.concatenate([part.ravel() for part in penalty]),
    )


def aligned_places(levels: Levels) -> tuple[NDArray[np.float64], int]:
    """Return for each code a number in [0, 1) such that every node has an interval of its own, whose length is 2**-b.

    The children of a node share its interval as if there were the next power of two of them, so that a curve that
    halves the domain again and again runs through one subtree after the other.

    Returns
    -------
    float64 array of shape (values,)
        By code.
    int
        The largest b.
    """
    begin = np.zeros(levels.nodes.shape[1])
    length = np.ones(len(begin))
    for level in range(levels.height, 0, -1):
        above, below = levels.nodes[level, levels.order], levels.nodes[level - 1, levels.order]
        parent = np.cumsum(np.diff(above, prepend=above[:1]) != 0)
        child = np.cumsum(np.diff(below, prepend=below[:1]) != 0)
        eldest = child[np.searchsorted(parent, np.arange(parent[-1] + 1))]
        number = child - eldest[parent]
        children = np.diff(np.append(eldest, child[-1] + 1))
        length /= np.exp2(np.ceil(np.log2(children)))[parent]
        begin += number * length
    return begin[levels.places], int(-np.log2(length.min()))
