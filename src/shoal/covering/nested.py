"""Boxes whose regions are nested or apart, as stars and nodes of hierarchies are: which meet is found by hashing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal._progress import Progress, silent
from shoal.covering.nested_kernel import add_up_nested

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.covering.meeting_kernel import Ranks

__all__ = ["NestedBoxes"]

_LARGEST_KEY = 1 << 62
_MOST_RANKS = 1 << 24
"""Ranks of all regions of an attribute that are looked at to find out whether they are nested."""
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
class NestedBoxes:
    """Boxes and queries over the same regions, which are nested or apart on each attribute."""

    queries: NDArray[np.int32]
    boxes: NDArray[np.int32]
    """Regions are numbered anew for each attribute."""
    query_depths: NDArray[np.int64]
    """The depth of the region of each query on each attribute."""
    box_depths: NDArray[np.int64]
    codes: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(
        cls, queries: NDArray[np.integer], asked: Ranks, boxes: NDArray[np.integer], held: Ranks
    ) -> NestedBoxes | None:
        """Return them; None where regions of some attribute overlap otherwise, or have too many depths.

        Parameters
        ----------
        queries, boxes : integer array, shape (., d)
            The region of each on each attribute; none is empty.
        asked, held : Ranks
            The regions of the queries, and those of the boxes.
        """
        d = boxes.shape[1]
        renumbered: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        families: list[_Family] = []
        radix = 1
        for a in range(d):
            mine, of_query = np.unique(queries[:, a], return_inverse=True)
            theirs, of_box = np.unique(boxes[:, a], return_inverse=True)
            found = _nested([(asked, mine), (held, theirs)])
            if found is None:
                return None
            radix *= found.count
            if radix >= _LARGEST_KEY:
                return None
            families.append(found)
            renumbered.append((of_query.astype(np.int32), (of_box + len(mine)).astype(np.int32)))
        query_depths = np.column_stack([f.depth[q] for f, (q, _) in zip(families, renumbered, strict=True)])
        box_depths = np.column_stack([f.depth[b] for f, (_, b) in zip(families, renumbered, strict=True)])
        patterns = [len(np.unique(depths, axis=0)) for depths in (query_depths, box_depths)]
        work = patterns[1] * len(queries) + patterns[0] * len(boxes)
        if work > _MOST_PER_BOX * (len(queries) + len(boxes)):
            return None
        codes, offsets = _codes(families)
        return cls(
            queries=np.ascontiguousarray(np.column_stack([q for q, _ in renumbered])),
            boxes=np.ascontiguousarray(np.column_stack([b for _, b in renumbered])),
            query_depths=query_depths,
            box_depths=box_depths,
            codes=codes,
            offsets=offsets,
        )

    def sums(self, carried: NDArray[np.int64], progress: Progress = silent) -> NDArray[np.int64]:
        """Add up for each query what the boxes carry, shape (boxes, m), that it meets."""
        patterns, of_box, counts = np.unique(self.box_depths, axis=0, return_inverse=True, return_counts=True)
        order = np.argsort(of_box.ravel(), kind="stable")
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        boxes, ordered = self.boxes[order], np.ascontiguousarray(carried[order])
        asked, of_query = np.unique(self.query_depths, axis=0, return_inverse=True)
        found = np.zeros((len(self.queries), carried.shape[1]), dtype=np.int64)
        by_pattern = np.argsort(of_query.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(of_query.ravel(), minlength=len(asked)))
        for depths, chosen in zip(asked, np.split(by_pattern, ends[:-1]), strict=True):
            progress("compatible cells", int(chosen[0]), len(found))
            part = np.zeros((len(chosen), carried.shape[1]), dtype=np.int64)
            add_up_nested(
                self.queries[chosen], depths, boxes, starts, patterns, self.codes, self.offsets, ordered, part
            )
            found[chosen] = part
        return found

    def __repr__(self) -> str:
        return f"NestedBoxes(queries={len(self.queries)}, boxes={len(self.boxes)})"


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


def _codes(families: list[_Family]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return numbers of ancestors that stay apart when they are added up, and where those of each depth start."""
    offsets = np.zeros((len(families), max(len(family.ancestors) for family in families)), dtype=np.int64)
    codes: list[NDArray[np.int64]] = []
    at, radix = 0, 1
    for a, family in enumerate(families):
        for depth, ancestors in enumerate(family.ancestors):
            offsets[a, depth] = at
            codes.append(ancestors * radix)  # those above the region itself are never asked for
            at += len(ancestors)
        radix *= family.count
    return np.concatenate(codes), offsets
