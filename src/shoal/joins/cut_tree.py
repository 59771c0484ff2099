"""A complete tree over points, cut at medians: the frame of the trees of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CutTree"]

_LEAF = 8
"""Points of a leaf of the tree."""


class CutTree:
    """A complete tree over points, each node cut at the median of the relatively widest coordinate.

    Node 0 is the root, the children of node i are 2 i + 1 and 2 i + 2, and the i-th node of level l holds the points
    from `P i // 2**l` to `P (i + 1) // 2**l` of the order.

    Parameters
    ----------
    points : integer array, shape (P, d)
        At least one point.
    """

    def __init__(self, points: NDArray[np.integer]) -> None:
        count = len(points)
        self.levels = max(1, (count // _LEAF).bit_length())
        """Number of levels; the nodes of the last one are leaves."""
        self.order: NDArray[np.int64] = np.arange(count)
        """The points in the order of the tree."""
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
        """The least coordinates of each node; shape (nodes, d)."""
        self.greatest = np.concatenate(greatest)
        """The greatest."""

    def by_node(self, combine: np.ufunc, of_points: NDArray[Any]) -> NDArray[Any]:
        """Combine what is known of the points, in the order of the tree, for each node."""
        return np.concatenate([combine.reduceat(of_points, self._bounds(level)[:-1]) for level in range(self.levels)])

    def _bounds(self, level: int) -> NDArray[np.int64]:
        """Return where the points of each node of a level start, and where the last ones stop."""
        return len(self.order) * np.arange((1 << level) + 1) >> level
