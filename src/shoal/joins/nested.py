"""Boxes whose regions are nested or apart, as stars and nodes of hierarchies are: which meet is found by hashing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.joins.nested_kernel import Ancestors, Side, add_up_nested

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.joins.meeting_kernel import Ranks

__all__ = ["NestedBoxes"]

_LARGEST_KEY = 1 << 62
_MOST_RANKS = 1 << 24
"""Ranks of all regions of an attribute that are looked at to find out whether they are nested."""
_MOST_KEYS = 1 << 22
"""Patterns of depths are told apart by a table of so many places; where more are possible, they are sorted."""
_MOST_PER_BOX = 2_000
"""Boxes are hashed where each of them is, on average, at most so often: a tree takes as long for one as that takes."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Family:
    """The nested regions of one attribute."""

    depth: NDArray[np.int64]
    """The depth of each region, from 0."""
    ancestors: NDArray[np.int64]
    """The ancestor of each region at each depth down to its own, itself there; shape (depths, regions)."""
    count: int
    """Number of different regions."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Patterns:
    """The depths of the regions of boxes, and the boxes in the order of these."""

    depths: NDArray[np.int64]
    """The patterns that occur; shape (P, d)."""
    starts: NDArray[np.int64]
    """Where the boxes of each start, and where the last ones stop."""
    order: NDArray[np.int64]
    """The boxes, those of a pattern together."""

    @classmethod
    def of(cls, of_boxes: list[NDArray[np.int64]], depths: list[int]) -> _Patterns:
        """Find the patterns of boxes whose regions have these depths on each attribute, `depths` being possible."""
        keys, size = np.zeros(len(of_boxes[0]), dtype=np.int64), 1
        for depth, count in zip(of_boxes, depths, strict=True):
            keys = keys * count + depth
            size *= count
        found, which = _numbered(keys, size)
        small = np.uint16 if len(found) < 1 << 16 else np.int64
        order = np.argsort(which.astype(small), kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(which, minlength=len(found))))).astype(np.int64)
        first = order[starts[:-1]]
        return cls(depths=np.column_stack([depth[first] for depth in of_boxes]), starts=starts, order=order)

    def restored(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what was found for boxes in this order, in theirs."""
        back = np.empty_like(found)
        back[self.order] = found
        return back


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class NestedBoxes:
    """Two collections of boxes over the same regions, which are nested or apart on each attribute."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    """Regions are numbered anew for each attribute; shape (d, boxes)."""
    left_patterns: _Patterns
    right_patterns: _Patterns
    ancestors: Ancestors

    @classmethod
    def of(cls, left: NDArray[np.integer], asked: Ranks, right: NDArray[np.integer], held: Ranks) -> NestedBoxes | None:
        """Return them; None where regions of some attribute overlap otherwise, or have too many depths.

        Parameters
        ----------
        left, right : integer array, shape (., d)
            The region of each box on each attribute; none is empty.
        asked, held : Ranks
            The regions of the left, and those of the right.
        """
        d = left.shape[1]
        renumbered: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        families: list[_Family] = []
        radix = 1
        for a in range(d):
            mine, of_left = _numbered(left[:, a], len(asked.low))
            theirs, of_right = _numbered(right[:, a], len(held.low))
            found = _nested([(asked, mine), (held, theirs)])
            if found is None:
                return None
            radix *= found.count
            if radix >= _LARGEST_KEY:
                return None
            families.append(found)
            renumbered.append((of_left.astype(np.int32), (of_right + len(mine)).astype(np.int32)))
        deepest = [len(family.ancestors) for family in families]
        patterns = []
        for side in (0, 1):
            depths = [family.depth[both[side]] for family, both in zip(families, renumbered, strict=True)]
            patterns.append(_Patterns.of(depths, deepest))
        work = len(patterns[1].depths) * len(left) + len(patterns[0].depths) * len(right)
        if work > _MOST_PER_BOX * (len(left) + len(right)):
            return None
        return cls(
            left=np.stack([of_left[patterns[0].order] for of_left, _ in renumbered]),
            right=np.stack([of_right[patterns[1].order] for _, of_right in renumbered]),
            left_patterns=patterns[0],
            right_patterns=patterns[1],
            ancestors=_ancestors(families),
        )

    def both(
        self, of_left: NDArray[np.int64], of_right: NDArray[np.int64], progress: Progress = silent
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Add up in both directions what boxes carry, as `BoxJoin.both` does."""
        mine, theirs = self.left_patterns, self.right_patterns
        to_left = np.zeros((len(of_left), of_right.shape[1]), dtype=np.int64)
        to_right = np.zeros((len(of_right), of_left.shape[1]), dtype=np.int64)
        left = Side(boxes=self.left, carried=np.ascontiguousarray(of_left[mine.order]), found=to_left)
        right = Side(boxes=self.right, carried=np.ascontiguousarray(of_right[theirs.order]), found=to_right)
        for at, depths in enumerate(mine.depths):
            first, last = int(mine.starts[at]), int(mine.starts[at + 1])
            progress("compatible cells", first, len(of_left))
            add_up_nested(left, first, last, depths, right, theirs.starts, theirs.depths, self.ancestors)
        return mine.restored(to_left), theirs.restored(to_right)

    def __repr__(self) -> str:
        return f"NestedBoxes(left={self.left.shape[1]}, right={self.right.shape[1]})"


def _nested(parts: list[tuple[Ranks, NDArray[np.int64]]]) -> _Family | None:
    """Return how regions are nested; None where two of them overlap and neither holds the other."""
    regions = [_listed(ranks, region) for ranks, places in parts for region in places.tolist()]
    sizes = np.array([stop - low if members is None else len(members) for low, stop, members in regions])
    if int(sizes.sum()) > _MOST_RANKS:
        return None
    owner = np.full(max(stop for _, stop, _ in regions), -1, dtype=np.int64)
    number = np.empty(len(regions), dtype=np.int64)
    parent: list[int] = []
    size_of: list[int] = []
    for region in np.argsort(-sizes, kind="stable").tolist():  # the largest first
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
    depth = np.zeros(len(parent), dtype=np.int64)
    for one, above in enumerate(parent):
        depth[one] = 0 if above < 0 else depth[above] + 1
    ancestors = np.full((int(depth.max()) + 1, len(parent)), -1, dtype=np.int64)
    for one, above in enumerate(parent):
        if above >= 0:
            ancestors[: depth[one], one] = ancestors[: depth[one], above]
        ancestors[depth[one], one] = one
    return _Family(depth=depth[number], ancestors=ancestors[:, number], count=len(parent))


def _listed(ranks: Ranks, region: int) -> tuple[int, int, NDArray[np.int32] | None]:
    """Return where a region starts and stops, and its ranks where it is no range."""
    start, stop = ranks.starts[region], ranks.starts[region + 1]
    members = ranks.members[start:stop] if start < stop else None
    return int(ranks.low[region]), int(ranks.high[region]) + 1, members


def _numbered(keys: NDArray[np.integer], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which keys from 0 to below `size` occur, ascending, and which of them each is."""
    if size > _MOST_KEYS:
        found, which = np.unique(keys, return_inverse=True)
        return found.astype(np.int64), which.ravel()
    there = np.zeros(size, dtype=np.bool_)
    there[keys] = True
    found = np.flatnonzero(there)
    number = np.zeros(size, dtype=np.int64)
    number[found] = np.arange(len(found))
    return found, number[keys]


def _ancestors(families: list[_Family]) -> Ancestors:
    """Return numbers of ancestors that stay apart when they are added up."""
    deepest = max(len(family.ancestors) for family in families)
    offsets = np.zeros((len(families), deepest), dtype=np.int64)
    alike = np.zeros((len(families), deepest), dtype=np.bool_)
    codes: list[NDArray[np.int64]] = []
    at, radix = 0, 1
    for a, family in enumerate(families):
        for depth, ancestors in enumerate(family.ancestors):
            offsets[a, depth] = at
            alike[a, depth] = (ancestors == ancestors[0]).all()
            codes.append(ancestors * radix)  # those above the region itself are never asked for
            at += len(ancestors)
        radix *= family.count
    return Ancestors(codes=np.concatenate(codes), offsets=offsets, alike=alike)
