"""Which of a column's true values each cell covers, as ranks: the form in which many cells meet many values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CoveredRanks", "RankSet"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RankSet:
    """The ranks that one cell covers: all from `low` to below `stop`, or those of `members`."""

    low: int = 0
    stop: int = 0
    members: NDArray[np.int32] | None = None
    """Ascending; None where the set is the whole range."""

    @classmethod
    def of(cls, ranks: Sequence[int]) -> RankSet:
        """Return the set of some ranks, in any order."""
        found = np.unique(np.asarray(ranks, dtype=np.int32))
        if not len(found):
            return cls()
        low, stop = int(found[0]), int(found[-1]) + 1
        return cls(low=low, stop=stop, members=None if stop - low == len(found) else found)

    def listed(self) -> NDArray[np.int32]:
        """Return the ranks, ascending."""
        return np.arange(self.low, self.stop, dtype=np.int32) if self.members is None else self.members

    def with_(self, other: RankSet) -> RankSet:
        """Return the ranks of both."""
        if self.low >= self.stop:
            return other
        if other.low >= other.stop:
            return self
        plain = self.members is None and other.members is None
        if plain and self.low <= other.stop and other.low <= self.stop:
            return RankSet(low=min(self.low, other.low), stop=max(self.stop, other.stop))
        return RankSet.of(np.concatenate((self.listed(), other.listed())))  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CoveredRanks:
    """The ranks of true values that each of some cells covers: a range, or some ranks within it."""

    low: NDArray[np.int32]
    """The least rank."""
    high: NDArray[np.int32]
    """The greatest rank; below `low` where the cell covers no value."""
    starts: NDArray[np.int64]
    """Where the members of each cell start; a cell without members covers its whole range."""
    members: NDArray[np.int32]
    """The ranks of the cells that are no ranges, ascending within a cell."""

    @classmethod
    def of(cls, sets: Sequence[RankSet]) -> CoveredRanks:
        """Put the sets of some cells together."""
        none = np.empty(0, dtype=np.int32)
        members = [none if one.members is None else one.members for one in sets]
        starts = np.zeros(len(sets) + 1, dtype=np.int64)
        np.cumsum([len(one) for one in members], out=starts[1:])
        return cls(
            low=np.array([one.low for one in sets], dtype=np.int32),
            high=np.array([one.stop - 1 for one in sets], dtype=np.int32),
            starts=starts,
            members=np.concatenate([none, *members]),
        )

    @classmethod
    def joined(cls, parts: Sequence[CoveredRanks]) -> CoveredRanks:
        """Return the cells of several columns, one after another."""
        lengths = np.concatenate([np.diff(one.starts) for one in parts])
        return cls(
            low=np.concatenate([one.low for one in parts]),
            high=np.concatenate([one.high for one in parts]),
            starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            members=np.concatenate([one.members for one in parts]),
        )

    def covers(self, cells: NDArray[np.integer], ranks: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return for pairs of a cell and a rank whether the one covers the other."""
        inside = (self.low[cells] <= ranks) & (ranks <= self.high[cells])
        listed = np.flatnonzero(inside & (self.starts[cells] < self.starts[cells + 1]))
        if len(listed):
            width = int(max(self.members.max(), ranks.max())) + 1
            owner = np.repeat(np.arange(len(self.low), dtype=np.int64), np.diff(self.starts))
            known = owner * width + self.members
            wanted = cells[listed].astype(np.int64) * width + ranks[listed]
            place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            inside[listed] = known[place] == wanted
        return np.asarray(inside)

    def __len__(self) -> int:
        return len(self.low)

    def __repr__(self) -> str:
        return f"CoveredRanks(cells={len(self)})"
