"""What boxes carry, added up over the boxes of another collection that each of them meets, in both directions."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.joins.box_tree import BoxTree, RankRegions, ranks_of_regions
from shoal.joins.dividing_kernel import Boxes, add_up_divided
from shoal.joins.nested import NestedBoxes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.joins.meeting_kernel import Ranks

__all__ = ["BoxJoin"]

_ROUND = 1 << 20
"""Boxes of the left that are divided between two reports of progress."""
_STEPS_PER_BOX = 2_000
"""Boxes are divided as long as it takes at most so many steps for each: walking a tree takes as long for one."""


class BoxJoin:
    """Two collections of boxes, and which box of the one meets which of the other.

    Two boxes meet where their regions have a rank in common on every attribute. There are three ways, with the same
    result. Where the regions of each attribute are nested or apart (stars, nodes of hierarchies, values) boxes are
    hashed. Others are divided by cuts until few are left on a side, which takes about as long as sorting them where few
    meet, as intervals of one release do. Where so many meet that dividing does not part them, a tree is walked.

    Parameters
    ----------
    left : integer array, shape (L, d)
        The region of each box on each attribute.
    asked : RankRegions
        The ranks of these regions. A box with an empty region meets none.
    right : integer array, shape (R, d)
        The other collection.
    held : RankRegions
        The ranks of its regions, on the same values.
    """

    def __init__(
        self, left: NDArray[np.integer], asked: RankRegions, right: NDArray[np.integer], held: RankRegions
    ) -> None:
        self._sizes = len(left), len(right)
        self._asked, self._held = ranks_of_regions(asked), ranks_of_regions(held)
        self._left_here, self._right_here = _possible(left, self._asked), _possible(right, self._held)
        self._left, self._right = left[self._left_here], right[self._right_here]
        self._divides = True

    def to_left(self, of_right: NDArray[np.int64], progress: Progress = silent) -> NDArray[np.int64]:
        """Add up for each box of the left what the boxes of the right carry, shape (R, n), that it meets."""
        return self.both(np.empty((self._sizes[0], 0), dtype=np.int64), of_right, progress)[0]

    def to_right(self, of_left: NDArray[np.int64], progress: Progress = silent) -> NDArray[np.int64]:
        """Add up for each box of the right what the boxes of the left carry, shape (L, m), that it meets."""
        return self.both(of_left, np.empty((self._sizes[1], 0), dtype=np.int64), progress)[1]

    def both(
        self, of_left: NDArray[np.int64], of_right: NDArray[np.int64], progress: Progress = silent
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Add up in both directions at once.

        Parameters
        ----------
        of_left, of_right : int64 arrays, shape (L, m) and (R, n)
            What each box carries.
        progress : Progress, optional

        Returns
        -------
        to_left, to_right : int64 arrays, shape (L, n) and (R, m)
        """
        to_left = np.zeros((self._sizes[0], of_right.shape[1]), dtype=np.int64)
        to_right = np.zeros((self._sizes[1], of_left.shape[1]), dtype=np.int64)
        if len(self._left) and len(self._right):
            found = self._found(of_left[self._left_here], of_right[self._right_here], progress)
            to_left[self._left_here], to_right[self._right_here] = found
        return to_left, to_right

    def _found(
        self, of_left: NDArray[np.int64], of_right: NDArray[np.int64], progress: Progress
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self._nested is not None:
            return self._nested.both(of_left, of_right, progress)
        found = self._divided(of_left, of_right, progress) if self._divides else None
        if found is None:
            self._divides = False
            found = self._walked(of_left, of_right, progress)
        return found

    @cached_property
    def _nested(self) -> NestedBoxes | None:
        return NestedBoxes.of(self._left, self._asked, self._right, self._held)

    @cached_property
    def _trees(self) -> tuple[BoxTree, BoxTree]:
        return BoxTree(self._left, self._asked), BoxTree(self._right, self._held)

    def _divided(
        self, of_left: NDArray[np.int64], of_right: NDArray[np.int64], progress: Progress
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Divide them; None where that takes too long."""
        to_left = np.zeros((len(self._left), of_right.shape[1]), dtype=np.int64)
        to_right = np.zeros((len(self._right), of_left.shape[1]), dtype=np.int64)
        right = _boxes(self._right, self._held)
        of_right = np.ascontiguousarray(of_right)
        for start in range(0, len(self._left), _ROUND):
            progress("compatible cells", start, len(self._left))
            part = slice(start, start + _ROUND)
            left = _boxes(self._left[part], self._asked)
            most = _STEPS_PER_BOX * (len(left.low) + len(right.low))
            carried = np.ascontiguousarray(of_left[part])
            if not add_up_divided(
                left, self._asked, right, self._held, carried, of_right, to_left[part], to_right, most
            ):
                return None
        return to_left, to_right

    def _walked(
        self, of_left: NDArray[np.int64], of_right: NDArray[np.int64], progress: Progress
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Walk a tree of each collection for the other, as far as it is asked for."""
        left, right = self._trees
        to_left = np.zeros((len(self._left), of_right.shape[1]), dtype=np.int64)
        to_right = np.zeros((len(self._right), of_left.shape[1]), dtype=np.int64)
        if of_right.shape[1]:
            to_left = right.sums(self._left, self._asked, of_right, progress=progress)
        if of_left.shape[1]:
            to_right = left.sums(self._right, self._held, of_left, progress=progress)
        return to_left, to_right

    def __repr__(self) -> str:
        return f"BoxJoin(left={self._sizes[0]}, right={self._sizes[1]})"


def _possible(boxes: NDArray[np.integer], ranks: Ranks) -> NDArray[np.int64]:
    """Return the boxes that have no empty region."""
    return np.flatnonzero((ranks.low[boxes] <= ranks.high[boxes]).all(axis=1))


def _boxes(boxes: NDArray[np.integer], ranks: Ranks) -> Boxes:
    regions = np.ascontiguousarray(boxes, dtype=np.int32)
    return Boxes(regions=regions, low=ranks.low[regions], high=ranks.high[regions])
