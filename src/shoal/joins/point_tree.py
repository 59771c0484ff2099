"""Tree of points, to combine sets over the boxes that cover each point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.joins.cut_tree import CutTree
from shoal.joins.stabbing_kernel import collect_covering
from shoal.verification.covered_ranks import CoveredRanks


def distinct_rows(rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Find the distinct rows, and the position of each row among them.

    Examples
    --------
    >>> distinct_rows(np.array([[1, 2], [0, 5], [1, 2]]))[1].tolist()
    [1, 0, 1]
    """
    number = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        _, number = np.unique(number * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
    _, first, which = np.unique(number, return_index=True, return_inverse=True)
    return rows[first], which


class PointTree:
    """Complete tree over distinct points, cut at medians of the relatively widest attribute.

    Parameters
    ----------
    points : int32 array, shape (P, d)
        Ranks of at least one point; equal points are merged.
    """

    def __init__(self, points: NDArray[np.int32]) -> None:
        distinct, self._which = distinct_rows(points)
        self.tree = CutTree(distinct)
        """The tree over the distinct points."""
        self.points = distinct[self.tree.order]
        """Distinct points in the order of the tree."""

    def collect(
        self, boxes: NDArray[np.int32], regions: CoveredRanks, carried: NDArray[np.uint64]
    ) -> NDArray[np.uint64]:
        """Compute for each point the union of the sets of the boxes that cover it.

        Parameters
        ----------
        boxes : int32 array, shape (B, d)
            The region of each box on each attribute.
        regions : CoveredRanks
            The ranks of each region.
        carried : uint64 array, shape (B, words)
            The set of each box, as bits.

        Returns
        -------
        uint64 array, shape (P, words)
            The union for each point, as bits.
        """
        found = collect_covering(
            self.points,
            self.tree.least,
            self.tree.greatest,
            self.tree.levels,
            boxes,
            regions.low,
            regions.high,
            regions.starts,
            regions.members,
            carried,
        )
        back = np.empty_like(found)
        back[self.tree.order] = found
        return np.asarray(back[self._which])

    def collect_ranges(
        self, low: NDArray[np.integer], high: NDArray[np.integer], carried: NDArray[np.uint64]
    ) -> NDArray[np.uint64]:
        """Compute the unions for boxes that are ranges of ranks, from `low` to `high`, both of shape (B, d)."""
        count, d = low.shape
        boxes = (np.arange(count)[:, None] + np.arange(d) * count).astype(np.int32)
        regions = CoveredRanks(
            low=low.T.ravel().astype(np.int32),
            high=high.T.ravel().astype(np.int32),
            starts=np.zeros(count * d + 1, dtype=np.int64),
            members=np.empty(0, dtype=np.int32),
        )
        return self.collect(boxes, regions, carried)
