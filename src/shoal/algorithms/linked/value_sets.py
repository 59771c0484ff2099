"""The sensitive values of units: each unit has a set of them, and each value a largest share of the units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.models.rationals import neighbours


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ValueSets:
    """The distinct sensitive values of each unit, over one sensitive attribute or several.

    Values of all attributes are numbered together: those of the second attribute follow those of the first.
    """

    starts: NDArray[np.int64]
    """First entry of each unit in `values`; one more than there are units."""
    values: NDArray[np.int32]
    """Numbers of the values, unit by unit, ascending within a unit."""
    sizes: tuple[int, ...]
    """Number of values of each attribute."""

    @classmethod
    def of(cls, count: int, columns: Sequence[tuple[NDArray[np.integer], NDArray[np.integer], int]]) -> ValueSets:
        """Collect the values of units.

        Parameters
        ----------
        count : int
            Number of units.
        columns : sequence of (units, codes, size)
            For each sensitive attribute, unit (from 0 to count - 1) and code of each value, and the number of codes.
        """
        # One key for each pair of a unit and a value; a value that occurs in several rows of a unit is counted once.
        sizes = tuple(size for _, _, size in columns)
        width = max(sum(sizes), 1)
        before, keys = 0, []
        for units, codes, size in columns:
            keys.append(units.astype(np.int64) * width + codes + before)
            before += size
        found = np.unique(np.concatenate(keys)) if keys else np.empty(0, dtype=np.int64)
        of_unit, values = np.divmod(found, width)
        starts = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(of_unit, minlength=count), out=starts[1:])
        return cls(starts=starts, values=values.astype(np.int32), sizes=sizes)

    @property
    def units(self) -> int:
        """Number of units."""
        return len(self.starts) - 1

    @property
    def width(self) -> int:
        """Number of values of all attributes together."""
        return sum(self.sizes)

    def counts(self) -> NDArray[np.int64]:
        """Count the units that have each value."""
        return np.bincount(self.values, minlength=self.width).astype(np.int64)

    def select(self, units: NDArray[np.integer]) -> ValueSets:
        """Select the values of some units."""
        # Entry e of a selected unit is entry e of the same unit here.
        sizes = np.diff(self.starts)[units]
        starts = np.zeros(len(units) + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        entries = np.repeat(self.starts[units] - starts[:-1], sizes) + np.arange(starts[-1])
        return ValueSets(starts=starts, values=self.values[entries], sizes=self.sizes)

    def most_common(self) -> list[NDArray[np.int32]]:
        """Find the value of each unit that most units have, in each attribute, as a code of the attribute.

        A bundle in which more units share this value than a limit allows has more units with the value in any row, too:
        a limit on these values is necessary for the limit on all.
        """
        counts = self.counts()
        unit = np.repeat(np.arange(self.units), np.diff(self.starts))
        found = []
        before = 0
        for size in self.sizes:
            entries = np.flatnonzero((self.values >= before) & (self.values < before + size))
            # The last entry of each unit has its largest count; ties go to the smaller code.
            order = entries[np.lexsort((-self.values[entries], counts[self.values[entries]], unit[entries]))]
            last = np.searchsorted(unit[order], np.arange(self.units), side="right") - 1
            found.append((self.values[order[last]] - before).astype(np.int32))
            before += size
        return found


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ShareLimits:
    """The largest, and the smallest, share of the units of a bundle that may have each value, in exact integers."""

    least: int
    """Fewest units of a bundle."""
    highest: NDArray[np.int64]
    """Numerators and denominators of the largest shares, shape (values, 2)."""
    lowest: NDArray[np.int64]
    """Numerators and denominators of the smallest shares, shape (values, 2)."""

    @classmethod
    def of(
        cls, least: int, highest: Sequence[Fraction], units: int, lowest: Sequence[Fraction] | None = None
    ) -> ShareLimits:
        """Convert limits to fractions whose denominators are at most the number of units: no decision changes by it.

        Parameters
        ----------
        least : int
            Fewest units of a bundle.
        highest, lowest : sequence of Fraction
            Limits for each value; `lowest` is 0 by default.
        units : int
            Number of units of the table.
        """

        def below(limit: Fraction) -> tuple[int, int]:
            return neighbours(max(limit, Fraction(0)), units)[0].as_integer_ratio()

        def above(limit: Fraction) -> tuple[int, int]:
            return neighbours(max(limit, Fraction(0)), units)[1].as_integer_ratio()

        lowest = [Fraction(0)] * len(highest) if lowest is None else lowest
        return cls(
            least=least,
            highest=np.array([below(limit) for limit in highest], dtype=np.int64).reshape(-1, 2),
            lowest=np.array([above(limit) for limit in lowest], dtype=np.int64).reshape(-1, 2),
        )

    def most(self, units: int) -> NDArray[np.int64]:
        """Compute how many of so many units may have each value."""
        return self.highest[:, 0] * units // self.highest[:, 1]

    def exceeded(self, counts: NDArray[np.int64], units: int) -> NDArray[np.int64]:
        """List the values whose share among so many units is too large or too small."""
        high = counts * self.highest[:, 1] > self.highest[:, 0] * units
        low = counts * self.lowest[:, 1] < self.lowest[:, 0] * units
        return np.flatnonzero(high | low)
