"""A release as models of it as a whole see it: how large its groups are, and how many people fit them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PeopleCounts", "ReleaseCounts"]


@dataclass(frozen=True, kw_only=True)
class PeopleCounts:
    """How many people of a population fit the groups of a release.

    Rows that show nothing but stars are those of people who fit no other group.
    """

    counted: Mapping[tuple[int, int], int]
    """How many groups have each pair (f, F): the rows of a group, and the people who fit its cells."""
    everybody: int
    """People of the population."""
    outside: int
    """People who fit no group."""
    overlapping: bool
    """Whether somebody fits several groups."""

    @classmethod
    def of(
        cls, rows: NDArray[np.int64], people: NDArray[np.int64], *, everybody: int, outside: int, overlapping: bool
    ) -> PeopleCounts:
        """Count the pairs of the rows and the people of each group."""
        pairs, times = np.unique(np.column_stack([rows, people]), axis=0, return_counts=True)
        counted = {(int(f), int(big)): int(count) for (f, big), count in zip(pairs, times, strict=True)}
        return cls(counted=counted, everybody=everybody, outside=outside, overlapping=overlapping)


@dataclass(frozen=True, kw_only=True)
class ReleaseCounts:
    """The sizes of the groups of a release."""

    sizes: Mapping[int, int]
    """How many groups have each size that occurs."""
    people: PeopleCounts | None = None
    """How many people fit them; None where no model asks for that."""

    @classmethod
    def of(cls, sizes: NDArray[np.int64], people: PeopleCounts | None = None) -> ReleaseCounts:
        """Count the sizes of some groups."""
        found, times = np.unique(sizes, return_counts=True)
        return cls(sizes=dict(zip(found.tolist(), times.tolist(), strict=True)), people=people)

    @classmethod
    def whole(cls, rows: int, everybody: int | None = None) -> ReleaseCounts:
        """Return a release in which all rows are one group."""
        told = (
            None
            if everybody is None
            else PeopleCounts(counted={(rows, everybody): 1}, everybody=everybody, outside=0, overlapping=False)
        )
        return cls(sizes={rows: 1}, people=told)

    @property
    def rows(self) -> int:
        """Rows of the release: n."""
        return sum(size * count for size, count in self.sizes.items())

    @property
    def groups(self) -> int:
        """Number of groups: u."""
        return sum(self.sizes.values())

    @property
    def uniques(self) -> int:
        """Groups of a single row: c_1."""
        return self.sizes.get(1, 0)
