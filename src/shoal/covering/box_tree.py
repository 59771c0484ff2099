"""How much of what some boxes carry meets other boxes, for many of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from shoal._progress import Progress, silent
from shoal.covering.meeting_kernel import Nodes, Ranks, count_meeting

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BoxTree", "RankRegions"]

_LEAF = 8
"""Boxes of a leaf of the tree."""
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
    """A complete tree over boxes, cut at medians of the lower or upper ends that differ most.

    Boxes that have a star in an attribute soon part from those that have a value there: their ends differ.

    Parameters
    ----------
    boxes : int32 array, shape (B, d)
        The region of each box on each attribute; at least one box.
    regions : RankRegions
        The ranks of each region; none that a box has is empty.
    """

    def __init__(self, boxes: NDArray[np.integer], regions: RankRegions) -> None:
        count = len(boxes)
        self._regions = _ranks(regions)
        ends = np.hstack([self._regions.low[boxes], self._regions.high[boxes]])
        self._levels = max(1, (count // _LEAF).bit_length())
        self._order = np.arange(count)
        span = np.maximum(ends.max(axis=0) - ends.min(axis=0), 1)
        least, greatest = [], []
        for level in range(self._levels):
            bounds = self._bounds(level)
            here = ends[self._order]
            least.append(np.minimum.reduceat(here, bounds[:-1]))
            greatest.append(np.maximum.reduceat(here, bounds[:-1]))
            if level + 1 < self._levels:
                widest = ((greatest[-1] - least[-1]) / span).argmax(axis=1)
                node = np.repeat(np.arange(1 << level), np.diff(bounds))
                self._order = self._order[np.lexsort((here[np.arange(count), widest[node]], node))]
        self._boxes = boxes[self._order].astype(np.int32)
        self._least, self._greatest = np.concatenate(least), np.concatenate(greatest)
        ranges = self._regions.starts[self._boxes] == self._regions.starts[self._boxes + 1]
        self._plain = self._by_node(np.logical_and, ranges)

    def _bounds(self, level: int) -> NDArray[np.int64]:
        """Return where the boxes of each node of a level start, and where the last ones stop."""
        return len(self._order) * np.arange((1 << level) + 1) >> level

    def _by_node(self, combine: np.ufunc, of_boxes: NDArray[Any]) -> NDArray[Any]:
        """Combine what is known of the boxes, in their order, for each node."""
        return np.concatenate([combine.reduceat(of_boxes, self._bounds(level)[:-1]) for level in range(self._levels)])

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
        ordered = np.ascontiguousarray(carried[self._order])
        nodes = Nodes(
            least=self._least, greatest=self._greatest, plain=self._plain, sums=self._by_node(np.add, ordered)
        )
        asked = _ranks(regions)
        found = np.empty((len(queries), carried.shape[1]), dtype=np.int64)
        for start in range(0, len(queries), _ROUND):
            progress("compatible cells", start, len(queries))
            some = np.ascontiguousarray(queries[start : start + _ROUND], dtype=np.int32)
            found[start : start + _ROUND] = count_meeting(
                some, asked, self._boxes, self._regions, nodes, self._levels, ordered
            )
        return found


def _ranks(regions: RankRegions) -> Ranks:
    return Ranks(low=regions.low, high=regions.high, starts=regions.starts, members=regions.members)
