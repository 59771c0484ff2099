"""Complete binary tree over points, cut at medians: the base of the trees of this package."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAF_POINTS = 8
"""Number of points of a leaf: fewer than twice this."""


class CutTree:
    """Complete binary tree over points; each node is cut at the median of its relatively widest coordinate.

    Node 0 is the root, and the children of node i are 2 i + 1 and 2 i + 2. The i-th node of level l holds the points
    from `P i // 2**l` to `P (i + 1) // 2**l` in the order of the tree.

    Parameters
    ----------
    points : integer array, shape (P, d)
        At least one point.
    """

    def __init__(self, points: NDArray[np.integer]) -> None:
        count = len(points)
        self.levels = max(1, (count // _LEAF_POINTS).bit_length())
        """Number of levels; the nodes of the last one are leaves."""
        self.order: NDArray[np.int64] = np.arange(count)
        """Points in the order of the tree."""
        # Level by level: bounding boxes of the nodes, then a sort of each node by its widest coordinate.
        span = np.maximum(points.max(axis=0) - points.min(axis=0), 1)
        least, greatest = [], []
        for level in range(self.levels):
            bounds = self._bounds(level)
            here = points[self.order]
            least.append(np.minimum.reduceat(here, bounds[:-1]))
            greatest.append(np.maximum.reduceat(here, bounds[:-1]))
            if level + 1 < self.levels:
                widest = ((greatest[-1] - least[-1]) / span).argmax(axis=1)
                node = np.repeat(np.arange(1 << level), np.diff(bounds))
                self.order = self.order[np.lexsort((here[np.arange(count), widest[node]], node))]
        self.least = np.concatenate(least)
        """Smallest coordinates of each node, shape (nodes, d)."""
        self.greatest = np.concatenate(greatest)
        """Largest coordinates of each node, shape (nodes, d)."""

    def by_node(self, combine: np.ufunc, of_points: NDArray[Any]) -> NDArray[Any]:
        """Reduce an array of the points, in the order of the tree, to one row per node."""
        return np.concatenate([combine.reduceat(of_points, self._bounds(level)[:-1]) for level in range(self.levels)])

    def _bounds(self, level: int) -> NDArray[np.int64]:
        """Compute the starts of the nodes of a level, and the end of the last node."""
        return len(self.order) * np.arange((1 << level) + 1) >> level
