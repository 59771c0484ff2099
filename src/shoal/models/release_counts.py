"""Statistics of a release for models of the whole release: group sizes, and matching population members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class PeopleCounts:
    """Counts of the population members that match the groups of a release.

    A group whose cells are all stars matches the members that match no other group.
    """

    counted: Mapping[tuple[int, int], int]
    """Number of groups with each pair (f, F): the rows of a group, and the population members that match its cells."""
    members: int
    """Number of population members."""
    outside: int
    """Number of population members that match no group."""
    overlapping: bool
    """Whether some member matches several groups."""

    @classmethod
    def of(
        cls,
        rows: NDArray[np.int64],
        people: NDArray[np.int64],
        *,
        members: int,
        outside: int,
        overlapping: bool,
    ) -> PeopleCounts:
        """Count the pairs of rows and matching members over all groups."""
        pairs, times = np.unique(np.column_stack([rows, people]), axis=0, return_counts=True)
        counted = {(int(f), int(big)): int(count) for (f, big), count in zip(pairs, times, strict=True)}
        return cls(counted=counted, members=members, outside=outside, overlapping=overlapping)


@dataclass(frozen=True, kw_only=True)
class ReleaseCounts:
    """Sizes of the groups of a release."""

    sizes: Mapping[int, int]
    """Number of groups of each size that occurs."""
    people: PeopleCounts | None = None
    """Matching population members, or None if no model needs them."""
    owners: int | None = None
    """Number of owners, such as persons, whose rows these are; the smallest number if several kinds are protected; None
    if no model counts owners."""

    @classmethod
    def of(
        cls, sizes: NDArray[np.int64], people: PeopleCounts | None = None, owners: int | None = None
    ) -> ReleaseCounts:
        """Count the sizes of groups."""
        found, times = np.unique(sizes, return_counts=True)
        return cls(sizes=dict(zip(found.tolist(), times.tolist(), strict=True)), people=people, owners=owners)

    @classmethod
    def whole(cls, rows: int, members: int | None = None, owners: int | None = None) -> ReleaseCounts:
        """Create the counts of a release that is a single group."""
        counts = (
            None
            if members is None
            else PeopleCounts(counted={(rows, members): 1}, members=members, outside=0, overlapping=False)
        )
        return cls(sizes={rows: 1}, people=counts, owners=owners)

    @property
    def rows(self) -> int:
        """Number of rows of the release, n."""
        return sum(size * count for size, count in self.sizes.items())

    @property
    def groups(self) -> int:
        """Number of groups, u."""
        return sum(self.sizes.values())

    @property
    def uniques(self) -> int:
        """Number of groups with a single row, c_1."""
        return self.sizes.get(1, 0)
