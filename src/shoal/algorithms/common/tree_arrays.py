"""Conversion of hierarchies into the arrays of the compiled searches, over places of a depth-first walk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.common.trees_kernel import Trees
from shoal.recoding import Levels


def flat_trees(levels: Sequence[Levels], *, every: bool) -> Trees:
    """Lay the levels of all attributes out in flat arrays.

    Parameters
    ----------
    levels : sequence of Levels
        Levels of each attribute.
    every : bool
        Whether an attribute without a hierarchy gets two levels, a value and a star, or the height 0.
    """
    heights, nodes, penalty = [], [], []
    for one in levels:
        height = one.height if every or one.hierarchical else 0
        # Columns in the order of the walk.
        along = one.nodes[: height + 1, one.order]
        # The number of a node grows by one each time that the node changes from place to place.
        nodes.append(np.cumsum(np.diff(along, axis=1, prepend=along[:, :1]) != 0, axis=1))
        penalty.append(one.penalty[: height + 1, one.order])
        heights.append(height)
    # Attributes stand one after the other in the flat arrays.
    begins = np.cumsum([0, *(part.size for part in nodes)])
    return Trees(
        heights=np.array(heights, dtype=np.int64),
        begins=begins[:-1].astype(np.int64),
        sizes=np.array([part.shape[1] for part in nodes], dtype=np.int64),
        nodes=np.concatenate([part.ravel() for part in nodes]).astype(np.int32),
        penalty=np.concatenate([part.ravel() for part in penalty]),
    )


def aligned_places(levels: Levels) -> tuple[NDArray[np.float64], int]:
    """Assign each code a number in [0, 1) such that every node has an interval of its own, of length 2**-b.

    The children of a node share its interval as if there were the next power of two of them, so that a curve that
    halves the domain again and again runs through one subtree after the other.

    Returns
    -------
    float64 array of shape (values,)
        By code.
    int
        The largest b.
    """
    # From the root down: each level divides the intervals of its nodes among their children.
    begin = np.zeros(levels.nodes.shape[1])
    length = np.ones(len(begin))
    for level in range(levels.height, 0, -1):
        above, below = levels.nodes[level, levels.order], levels.nodes[level - 1, levels.order]
        # Number the nodes of both levels along the places, and each child among its siblings.
        parent = np.cumsum(np.diff(above, prepend=above[:1]) != 0)
        child = np.cumsum(np.diff(below, prepend=below[:1]) != 0)
        eldest = child[np.searchsorted(parent, np.arange(parent[-1] + 1))]
        number = child - eldest[parent]
        children = np.diff(np.append(eldest, child[-1] + 1))
        # Round the number of children up to a power of two: intervals stay aligned.
        length /= np.exp2(np.ceil(np.log2(children)))[parent]
        begin += number * length
    return begin[levels.places], int(-np.log2(length.min()))
