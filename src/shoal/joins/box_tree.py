"""Complete binary trees over points, cut at medians: sums over boxes that meet boxes, or sets of boxes over points."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.joins.meeting_kernel import Nodes, Ranks, count_meeting
from shoal.joins.stabbing_kernel import collect_covering
from shoal.verification.covered_ranks import CoveredRanks

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


_BOXES_PER_REPORT = 4_096
"""Number of query boxes between two progress reports."""


class RankRegions(Protocol):
    """Regions of cells: sets of ranks of values."""

    @property
    def low(self) -> NDArray[np.int32]:
        """Smallest rank of each region."""

    @property
    def high(self) -> NDArray[np.int32]:
        """Largest rank of each region; below `low` if the region is empty."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """Start of each region in `members`; a region without members is the whole range."""

    @property
    def members(self) -> NDArray[np.int32]:
        """Ranks of the regions that are not ranges, ascending within each region."""


class BoxTree:
    """Complete tree of boxes, searched once for each query box.

    It is cut at medians of the lower or upper ends with the widest relative range. Boxes with a star in an attribute
    are soon separated from boxes with a value there, because their ends differ.

    Parameters
    ----------
    boxes : int32 array, shape (B, d)
        The region of each box on each attribute; at least one box.
    regions : RankRegions
        The ranks of each region; no region of a box is empty.
    """

    def __init__(self, boxes: NDArray[np.integer], regions: RankRegions) -> None:
        self._regions = to_ranks(regions)
        self._boxes = boxes

    @cached_property
    def _tree(self) -> CutTree:
        return CutTree(np.hstack([self._regions.low[self._boxes], self._regions.high[self._boxes]]))

    @cached_property
    def _ordered(self) -> NDArray[np.int32]:
        """Boxes in the order of the tree."""
        return self._boxes[self._tree.order].astype(np.int32)

    @cached_property
    def _plain(self) -> NDArray[np.bool_]:
        """Nodes in which all regions of an attribute are ranges, shape (nodes, d)."""
        ranges = self._regions.starts[self._ordered] == self._regions.starts[self._ordered + 1]
        return self._tree.by_node(np.logical_and, ranges)

    def sums(
        self,
        queries: NDArray[np.integer],
        regions: RankRegions,
        carried: NDArray[np.int64],
        *,
        progress: Progress = silent,
    ) -> NDArray[np.int64]:
        """Sum numbers over the boxes that each query box meets.

        Parameters
        ----------
        queries : integer array, shape (Q, d)
            The region of each query box on each attribute.
        regions : RankRegions
            The ranks of these regions, on the same values as the boxes of the tree. An empty region meets no box.
        carried : int64 array, shape (B, m)
            Numbers of each box of the tree.
        progress : Progress, optional

        Returns
        -------
        int64 array, shape (Q, m)
            The sums for each query box.
        """
        query_ranks = to_ranks(regions)
        tree = self._tree
        # Sums by node: a node within the query counts as a whole.
        ordered = np.ascontiguousarray(carried[tree.order])
        sums = tree.by_node(np.add, ordered)
        nodes = Nodes(least=tree.least, greatest=tree.greatest, plain=self._plain, sums=sums)
        found = np.empty((len(queries), carried.shape[1]), dtype=np.int64)
        for start in range(0, len(queries), _BOXES_PER_REPORT):
            progress("compatible cells", start, len(queries))
            some = np.ascontiguousarray(queries[start : start + _BOXES_PER_REPORT], dtype=np.int32)
            found[start : start + _BOXES_PER_REPORT] = count_meeting(
                some, query_ranks, self._ordered, self._regions, nodes, tree.levels, ordered
            )
        return found


def to_ranks(regions: RankRegions) -> Ranks:
    """Convert regions to the form that kernels use."""
    return Ranks(low=regions.low, high=regions.high, starts=regions.starts, members=regions.members)


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
