"""Aggregating join of two collections of boxes: sums over the boxes that each box intersects, in both directions."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.joins.box_tree import BoxTree, RankRegions, to_ranks
from shoal.joins.dividing_kernel import Boxes, add_up_divided
from shoal.joins.meeting_kernel import Ranks
from shoal.joins.nested import NestedBoxes

_BOXES_PER_REPORT = 1 << 20
"""Number of boxes of the left side between two progress reports."""
_MAX_STEPS_PER_BOX = 2_000
"""Largest average number of steps per box of the join by cuts: the join by trees takes as long for a box."""


class BoxJoin:
    """Join of two collections of boxes: pairs of boxes that meet.

    Two boxes meet if their regions have a common rank on every attribute. There are three algorithms with the same
    result. If the regions of each attribute are nested or disjoint (such as stars, nodes of hierarchies and values),
    boxes are hashed. Otherwise both collections are divided by cuts until few boxes are left on a side, which takes
    about as long as sorting if few boxes meet, as with intervals of one release. If too many boxes meet for cuts to
    separate them, a tree is searched for each box.

    Parameters
    ----------
    left : integer array, shape (L, d)
        The region of each box on each attribute.
    left_regions : RankRegions
        The ranks of these regions. A box with an empty region meets no box.
    right : integer array, shape (R, d)
        The other collection.
    right_regions : RankRegions
        The ranks of its regions, on the same values.
    """

    def __init__(
        self,
        left: NDArray[np.integer],
        left_regions: RankRegions,
        right: NDArray[np.integer],
        right_regions: RankRegions,
    ) -> None:
        self._sizes = len(left), len(right)
        self._left_regions, self._right_regions = to_ranks(left_regions), to_ranks(right_regions)
        self._left_here, self._right_here = (
            _nonempty_boxes(left, self._left_regions),
            _nonempty_boxes(right, self._right_regions),
        )
        self._left, self._right = left[self._left_here], right[self._right_here]
        self._divides = True

    def to_left(self, of_right: NDArray[np.int64], progress: Progress = silent) -> NDArray[np.int64]:
        """Sum `of_right`, shape (R, n), over the right boxes that each left box meets; shape (L, n)."""
        return self.both(np.empty((self._sizes[0], 0), dtype=np.int64), of_right, progress)[0]

    def to_right(self, of_left: NDArray[np.int64], progress: Progress = silent) -> NDArray[np.int64]:
        """Sum `of_left`, shape (L, m), over the left boxes that each right box meets; shape (R, m)."""
        return self.both(of_left, np.empty((self._sizes[1], 0), dtype=np.int64), progress)[1]

    def both(
        self, of_left: NDArray[np.int64], of_right: NDArray[np.int64], progress: Progress = silent
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sum in both directions at once.

        Parameters
        ----------
        of_left, of_right : int64 arrays, shape (L, m) and (R, n)
            Numbers of each box.
        progress : Progress, optional

        Returns
        -------
        to_left, to_right : int64 arrays, shape (L, n) and (R, m)
            Sums over the boxes that each box meets.
        """
        to_left = np.zeros((self._sizes[0], of_right.shape[1]), dtype=np.int64)
        to_right = np.zeros((self._sizes[1], of_left.shape[1]), dtype=np.int64)
        if len(self._left) and len(self._right):
            found = self._join(of_left[self._left_here], of_right[self._right_here], progress)
            to_left[self._left_here], to_right[self._right_here] = found
        return to_left, to_right

    def _join(
        self, of_left: NDArray[np.int64], of_right: NDArray[np.int64], progress: Progress
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Choose the algorithm: hashing if regions are nested, then cuts, then trees if cuts take too long."""
        if self._nested is not None:
            return self._nested.both(of_left, of_right, progress)
        found = self._join_by_cuts(of_left, of_right, progress) if self._divides else None
        if found is None:
            self._divides = False
            found = self._join_by_trees(of_left, of_right, progress)
        return found

    @cached_property
    def _nested(self) -> NestedBoxes | None:
        return NestedBoxes.of(self._left, self._left_regions, self._right, self._right_regions)

    @cached_property
    def _trees(self) -> tuple[BoxTree, BoxTree]:
        return BoxTree(self._left, self._left_regions), BoxTree(self._right, self._right_regions)

    def _join_by_cuts(
        self, of_left: NDArray[np.int64], of_right: NDArray[np.int64], progress: Progress
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Join by cuts; None if that takes too long."""
        to_left = np.zeros((len(self._left), of_right.shape[1]), dtype=np.int64)
        to_right = np.zeros((len(self._right), of_left.shape[1]), dtype=np.int64)
        right = _to_boxes(self._right, self._right_regions)
        of_right = np.ascontiguousarray(of_right)
        for start in range(0, len(self._left), _BOXES_PER_REPORT):
            progress("compatible cells", start, len(self._left))
            part = slice(start, start + _BOXES_PER_REPORT)
            left = _to_boxes(self._left[part], self._left_regions)
            most = _MAX_STEPS_PER_BOX * (len(left.low) + len(right.low))
            carried = np.ascontiguousarray(of_left[part])
            if not add_up_divided(
                left, self._left_regions, right, self._right_regions, carried, of_right, to_left[part], to_right, most
            ):
                return None
        return to_left, to_right

    def _join_by_trees(
        self, of_left: NDArray[np.int64], of_right: NDArray[np.int64], progress: Progress
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Search a tree of each collection for the boxes of the other, in the directions that have numbers to sum."""
        left, right = self._trees
        to_left = np.zeros((len(self._left), of_right.shape[1]), dtype=np.int64)
        to_right = np.zeros((len(self._right), of_left.shape[1]), dtype=np.int64)
        if of_right.shape[1]:
            to_left = right.sums(self._left, self._left_regions, of_right, progress=progress)
        if of_left.shape[1]:
            to_right = left.sums(self._right, self._right_regions, of_left, progress=progress)
        return to_left, to_right

    def __repr__(self) -> str:
        return f"BoxJoin(left={self._sizes[0]}, right={self._sizes[1]})"


def _nonempty_boxes(boxes: NDArray[np.integer], ranks: Ranks) -> NDArray[np.int64]:
    """List the boxes without an empty region."""
    return np.flatnonzero((ranks.low[boxes] <= ranks.high[boxes]).all(axis=1))


def _to_boxes(boxes: NDArray[np.integer], ranks: Ranks) -> Boxes:
    regions = np.ascontiguousarray(boxes, dtype=np.int32)
    return Boxes(regions=regions, low=ranks.low[regions], high=ranks.high[regions])
