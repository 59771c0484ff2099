"""Aggregating join of two collections of boxes: sums over the boxes that each box intersects, in both directions.

Boxes whose regions are nested or disjoint, such as stars and nodes of hierarchies, are joined by hashing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.joins.box_tree import BoxTree, RankRegions, to_ranks
from shoal.joins.dividing_kernel import Boxes, add_up_divided
from shoal.joins.meeting_kernel import Ranks
from shoal.joins.nested_kernel import Ancestors, Side, add_up_nested

_MAX_KEY = 1 << 62
"""Upper limit of the keys of boxes, which must fit into 64 bits."""
_MAX_RANKS = 1 << 24
"""Largest number of ranks of all regions of an attribute for which nesting is tested."""
_MAX_KEYS = 1 << 22
"""Largest number of possible keys for which occurring keys are found by a table; more are sorted."""
_MAX_LOOKUPS_PER_BOX = 2_000
"""Largest average number of hash lookups per box: a tree search takes as long for a box."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Family:
    """Nested regions of one attribute."""

    depth: NDArray[np.int64]
    """Depth of each region, from 0."""
    ancestors: NDArray[np.int64]
    """Ancestor of each region at each depth, shape (depths, regions): the region itself at its own depth, -1 below."""
    count: int
    """Number of distinct regions."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Patterns:
    """Patterns of depths: the depth of a box on each attribute, and the boxes sorted by pattern."""

    depths: NDArray[np.int64]
    """The patterns that occur, shape (P, d)."""
    starts: NDArray[np.int64]
    """Start of each pattern in `order`, shape (P + 1,)."""
    order: NDArray[np.int64]
    """Boxes sorted by pattern."""

    @classmethod
    def of(cls, of_boxes: list[NDArray[np.int64]], depths: list[int]) -> _Patterns:
        """Find the patterns of boxes, given the depth of each box on each attribute and the numbers of depths."""
        # Each pattern is a number in mixed radix.
        keys, size = np.zeros(len(of_boxes[0]), dtype=np.int64), 1
        for depth, count in zip(of_boxes, depths, strict=True):
            keys = keys * count + depth
            size *= count
        found, which = _number_keys(keys, size)
        small = np.uint16 if len(found) < 1 << 16 else np.int64
        order = np.argsort(which.astype(small), kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(which, minlength=len(found))))).astype(np.int64)
        first = order[starts[:-1]]
        return cls(depths=np.column_stack([depth[first] for depth in of_boxes]), starts=starts, order=order)

    def restore_order(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        """Restore the original order of the boxes."""
        back = np.empty_like(found)
        back[self.order] = found
        return back


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class NestedBoxes:
    """Two collections of boxes whose regions are nested or disjoint on each attribute."""

    left: NDArray[np.int32]
    """Regions of the left boxes, numbered for each attribute, shape (d, L); sorted by pattern."""
    right: NDArray[np.int32]
    """Regions of the right boxes, numbered for each attribute, shape (d, R); sorted by pattern."""
    left_patterns: _Patterns
    """Patterns of the left boxes."""
    right_patterns: _Patterns
    """Patterns of the right boxes."""
    ancestors: Ancestors
    """Ancestors of the regions, as codes to add up."""

    @classmethod
    def of(
        cls, left: NDArray[np.integer], left_ranks: Ranks, right: NDArray[np.integer], right_ranks: Ranks
    ) -> NestedBoxes | None:
        """Prepare the join; None if regions of an attribute are not nested, or if there are too many patterns.

        Parameters
        ----------
        left, right : integer array, shape (., d)
            The region of each box on each attribute; no region is empty.
        left_ranks, right_ranks : Ranks
            The regions of the left boxes and of the right boxes.
        """
        # Find the nesting of the regions of each attribute.
        d = left.shape[1]
        renumbered: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        families: list[_Family] = []
        radix = 1
        for a in range(d):
            mine, of_left = _number_keys(left[:, a], len(left_ranks.low))
            theirs, of_right = _number_keys(right[:, a], len(right_ranks.low))
            found = _find_family([(left_ranks, mine), (right_ranks, theirs)])
            if found is None:
                return None
            radix *= found.count
            if radix >= _MAX_KEY:
                return None
            families.append(found)
            renumbered.append((of_left.astype(np.int32), (of_right + len(mine)).astype(np.int32)))
        # Sort the boxes by pattern; each pair of a box and a pattern of the other side is a lookup.
        deepest = [len(family.ancestors) for family in families]
        patterns = []
        for side in (0, 1):
            depths = [family.depth[both[side]] for family, both in zip(families, renumbered, strict=True)]
            patterns.append(_Patterns.of(depths, deepest))
        work = len(patterns[1].depths) * len(left) + len(patterns[0].depths) * len(right)
        if work > _MAX_LOOKUPS_PER_BOX * (len(left) + len(right)):
            return None
        return cls(
            left=np.stack([of_left[patterns[0].order] for of_left, _ in renumbered]),
            right=np.stack([of_right[patterns[1].order] for _, of_right in renumbered]),
            left_patterns=patterns[0],
            right_patterns=patterns[1],
            ancestors=_code_ancestors(families),
        )

    def both(
        self, of_left: NDArray[np.int64], of_right: NDArray[np.int64], progress: Progress = silent
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sum in both directions; see `BoxJoin.both`."""
        mine, theirs = self.left_patterns, self.right_patterns
        to_left = np.zeros((len(of_left), of_right.shape[1]), dtype=np.int64)
        to_right = np.zeros((len(of_right), of_left.shape[1]), dtype=np.int64)
        left = Side(boxes=self.left, carried=np.ascontiguousarray(of_left[mine.order]), found=to_left)
        right = Side(boxes=self.right, carried=np.ascontiguousarray(of_right[theirs.order]), found=to_right)
        for at, depths in enumerate(mine.depths):
            first, last = int(mine.starts[at]), int(mine.starts[at + 1])
            progress("compatible cells", first, len(of_left))
            add_up_nested(left, first, last, depths, right, theirs.starts, theirs.depths, self.ancestors)
        return mine.restore_order(to_left), theirs.restore_order(to_right)


def _find_family(parts: list[tuple[Ranks, NDArray[np.int64]]]) -> _Family | None:
    """Find the nesting of regions; None if two regions overlap and neither contains the other."""
    regions = [_ranks_of_region(ranks, region) for ranks, places in parts for region in places.tolist()]
    sizes = np.array([stop - low if members is None else len(members) for low, stop, members in regions])
    if int(sizes.sum()) > _MAX_RANKS:
        return None
    # From the largest region to the smallest: all ranks of a region must have the same smallest owner so far.
    owner = np.full(max(stop for _, stop, _ in regions), -1, dtype=np.int64)
    number = np.empty(len(regions), dtype=np.int64)
    parent: list[int] = []
    size_of: list[int] = []
    for region in np.argsort(-sizes, kind="stable").tolist():
        low, stop, members = regions[region]
        ranks = slice(low, stop) if members is None else members
        owners = owner[ranks]
        above = int(owners[0])
        if (owners != above).any():
            return None
        if above >= 0 and size_of[above] == sizes[region]:
            number[region] = above  # the same ranks
            continue
        number[region] = len(parent)
        owner[ranks] = number[region]
        parent.append(above)
        size_of.append(int(sizes[region]))
    # Parents precede their children, so depths and ancestors follow in one pass each.
    depth = np.zeros(len(parent), dtype=np.int64)
    for one, above in enumerate(parent):
        depth[one] = 0 if above < 0 else depth[above] + 1
    ancestors = np.full((int(depth.max()) + 1, len(parent)), -1, dtype=np.int64)
    for one, above in enumerate(parent):
        if above >= 0:
            ancestors[: depth[one], one] = ancestors[: depth[one], above]
        ancestors[depth[one], one] = one
    return _Family(depth=depth[number], ancestors=ancestors[:, number], count=len(parent))


def _ranks_of_region(ranks: Ranks, region: int) -> tuple[int, int, NDArray[np.int32] | None]:
    """Return the first rank of a region, the rank after its last, and its ranks (None if it is a range)."""
    start, stop = ranks.starts[region], ranks.starts[region + 1]
    members = ranks.members[start:stop] if start < stop else None
    return int(ranks.low[region]), int(ranks.high[region]) + 1, members


def _number_keys(keys: NDArray[np.integer], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the distinct keys, which are below `size`, in ascending order, and the position of each key among them."""
    if size > _MAX_KEYS:
        found, which = np.unique(keys, return_inverse=True)
        return found.astype(np.int64), which.ravel()
    there = np.zeros(size, dtype=np.bool_)
    there[keys] = True
    found = np.flatnonzero(there)
    number = np.zeros(size, dtype=np.int64)
    number[found] = np.arange(len(found))
    return found, number[keys]


def _code_ancestors(families: list[_Family]) -> Ancestors:
    """Code the ancestors of all attributes, so that sums of codes over the attributes are unique."""
    deepest = max(len(family.ancestors) for family in families)
    offsets = np.zeros((len(families), deepest), dtype=np.int64)
    alike = np.zeros((len(families), deepest), dtype=np.bool_)
    codes: list[NDArray[np.int64]] = []
    at, radix = 0, 1
    for a, family in enumerate(families):
        for depth, ancestors in enumerate(family.ancestors):
            offsets[a, depth] = at
            alike[a, depth] = (ancestors == ancestors[0]).all()
            codes.append(ancestors * radix)  # entries deeper than the region itself are never used
            at += len(ancestors)
        radix *= family.count
    return Ancestors(codes=np.concatenate(codes), offsets=offsets, alike=alike)


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


def _nonempty_boxes(boxes: NDArray[np.integer], ranks: Ranks) -> NDArray[np.int64]:
    """List the boxes without an empty region."""
    return np.flatnonzero((ranks.low[boxes] <= ranks.high[boxes]).all(axis=1))


def _to_boxes(boxes: NDArray[np.integer], ranks: Ranks) -> Boxes:
    regions = np.ascontiguousarray(boxes, dtype=np.int32)
    return Boxes(regions=regions, low=ranks.low[regions], high=ranks.high[regions])
