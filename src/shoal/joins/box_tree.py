"""Tree of boxes, to sum numbers over the boxes that each of many query boxes meets."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.joins.cut_tree import CutTree
from shoal.joins.meeting_kernel import Nodes, Ranks, count_meeting

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
