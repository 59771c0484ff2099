"""The true values of a column that each cell covers, as ranks: a form in which many cells meet many values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, eq=False)
class RankSet:
    """The ranks that one cell covers: the range from `low` to below `stop`, or only its `members`."""

    low: int = 0
    stop: int = 0
    members: NDArray[np.int32] | None = None
    """The ranks in ascending order; None if the set is the whole range."""

    @classmethod
    def of(cls, ranks: Sequence[int]) -> RankSet:
        """Make a set of ranks, given in any order."""
        found = np.unique(np.asarray(ranks, dtype=np.int32))
        if not len(found):
            return cls()
        low, stop = int(found[0]), int(found[-1]) + 1
        return cls(low=low, stop=stop, members=None if stop - low == len(found) else found)

    def listed(self) -> NDArray[np.int32]:
        """List the ranks in ascending order."""
        return np.arange(self.low, self.stop, dtype=np.int32) if self.members is None else self.members

    def with_(self, other: RankSet) -> RankSet:
        """Compute the union with another set."""
        if self.low >= self.stop:
            return other
        if other.low >= other.stop:
            return self
        # Two ranges that touch or overlap are one range; others are listed.
        plain = self.members is None and other.members is None
        if plain and self.low <= other.stop and other.low <= self.stop:
            return RankSet(low=min(self.low, other.low), stop=max(self.stop, other.stop))
        return RankSet.of(np.concatenate((self.listed(), other.listed())))  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CoveredRanks:
    """The ranks of true values that each cell covers: a range, or a subset of a range."""

    low: NDArray[np.int32]
    """The lowest covered rank."""
    high: NDArray[np.int32]
    """The highest covered rank; below `low` if the cell covers no value."""
    starts: NDArray[np.int64]
    """Start of each cell's members; a cell without members covers its whole range."""
    members: NDArray[np.int32]
    """The ranks of cells that are not ranges, ascending within a cell."""

    @classmethod
    def of(cls, sets: Sequence[RankSet]) -> CoveredRanks:
        """Combine the sets of several cells."""
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
    def singles(cls, count: int) -> CoveredRanks:
        """Make a cell for each of the first ranks, which covers this rank alone."""
        ranks, none = np.arange(count, dtype=np.int32), np.empty(0, dtype=np.int32)
        return cls(low=ranks, high=ranks, starts=np.zeros(count + 1, dtype=np.int64), members=none)

    @classmethod
    def joined(cls, parts: Sequence[CoveredRanks]) -> CoveredRanks:
        """Concatenate the cells of several columns."""
        lengths = np.concatenate([np.diff(one.starts) for one in parts])
        return cls(
            low=np.concatenate([one.low for one in parts]),
            high=np.concatenate([one.high for one in parts]),
            starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            members=np.concatenate([one.members for one in parts]),
        )

    def covers(self, cells: NDArray[np.integer], ranks: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Test for each pair of a cell and a rank whether the cell covers the rank."""
        # The range decides for most cells; only cells with members need a search.
        inside = (self.low[cells] <= ranks) & (ranks <= self.high[cells])
        listed = np.flatnonzero(inside & (self.starts[cells] < self.starts[cells + 1]))
        if len(listed):
            width = int(max(self.members.max(), ranks.max())) + 1
            # Pairs of a cell and a member as single numbers, in ascending order by construction.
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
