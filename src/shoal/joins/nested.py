"""Join by hashing, for boxes whose regions are nested or disjoint, such as stars and nodes of hierarchies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
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

    def __repr__(self) -> str:
        return f"NestedBoxes(left={self.left.shape[1]}, right={self.right.shape[1]})"


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
