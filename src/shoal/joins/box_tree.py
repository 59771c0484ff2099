"""How much of what some boxes carry meets other boxes, for many of both."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.joins.cut_tree import CutTree
from shoal.joins.meeting_kernel import Nodes, Ranks, count_meeting

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BoxTree", "RankRegions", "ranks_of_regions"]

_ROUND = 4_096
"""Boxes that are asked for between two reports of progress."""


class RankRegions(Protocol):
    """Regions of ranks, as cells are placed on values."""

    @property
    def low(self) -> NDArray[np.int32]:
        """The least rank of each region."""

    @property
    def high(self) -> NDArray[np.int32]:
        """The greatest rank; below `low` where the region is empty."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the members of each region start; a region without members is its whole range."""

    @property
    def members(self) -> NDArray[np.int32]:
        """The ranks of the regions that are no ranges, ascending within a region."""


class BoxTree:
    """What boxes carry, added up over those that others meet: a complete tree, walked once for each of the others.

    It is cut at medians of the lower or upper ends that differ most. Boxes that have a star in an attribute soon part
    from those that have a value there: their ends differ.

    Parameters
    ----------
    boxes : int32 array, shape (B, d)
        The region of each box on each attribute; at least one box.
    regions : RankRegions
        The ranks of each region; none that a box has is empty.
    """

    def __init__(self, boxes: NDArray[np.integer], regions: RankRegions) -> None:
        self._regions = ranks_of_regions(regions)
        self._boxes = boxes

    @cached_property
    def _tree(self) -> CutTree:
        return CutTree(np.hstack([self._regions.low[self._boxes], self._regions.high[self._boxes]]))

    @cached_property
    def _ordered(self) -> NDArray[np.int32]:
        """The boxes in the order of the tree."""
        return self._boxes[self._tree.order].astype(np.int32)

    @cached_property
    def _plain(self) -> NDArray[np.bool_]:
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
        """Add up for each query what the boxes carry that it meets.

        Parameters
        ----------
        queries : integer array, shape (Q, d)
            Boxes: the region of each on each attribute.
        regions : RankRegions
            The ranks of these regions, on the values that the boxes of the tree are placed on. An empty one meets none.
        carried : int64 array, shape (B, m)
            What each box of the tree carries.
        progress : Progress, optional

        Returns
        -------
        int64 array, shape (Q, m)
        """
        asked = ranks_of_regions(regions)
        tree = self._tree
        ordered = np.ascontiguousarray(carried[tree.order])
        sums = tree.by_node(np.add, ordered)
        nodes = Nodes(least=tree.least, greatest=tree.greatest, plain=self._plain, sums=sums)
        found = np.empty((len(queries), carried.shape[1]), dtype=np.int64)
        for start in range(0, len(queries), _ROUND):
            progress("compatible cells", start, len(queries))
            some = np.ascontiguousarray(queries[start : start + _ROUND], dtype=np.int32)
            found[start : start + _ROUND] = count_meeting(
                some, asked, self._ordered, self._regions, nodes, tree.levels, ordered
            )
        return found


def ranks_of_regions(regions: RankRegions) -> Ranks:
    """Return regions as kernels take them."""
    return Ranks(low=regions.low, high=regions.high, starts=regions.starts, members=regions.members)
