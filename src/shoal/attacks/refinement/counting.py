"""Count the tables that a group may have had in one column, and bound the rows of each segment in all of them.

The values of a cell are divided into segments. A table assigns a value of the cell to each row of the group. All counts
are exact integers.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations, product

_MAX_CUT_POSITIONS = 200_000
"""Limit on values times k squared of one cell whose tables without an allowed cut are counted: about a second."""
_MAX_SMALL_CHILDREN = 24
"""Largest number of children of a node whose tables are counted by the classes that would be too small."""


@dataclass(frozen=True, kw_only=True)
class Segments:
    """The values of a cell in ascending order, divided into segments, and what the rows of its group must satisfy.

    Examples
    --------
    An interval from 20 to 30 with a row at each end:

    >>> ends = Segments(sizes=(1, 9, 1), occupied=((0, 1), (2, 3)))
    >>> ends.values, count_tables(ends, 2), find_bounds(ends, 2)
    (11, 2, ((1, 0, 1), (1, 0, 1)))
    """

    sizes: tuple[int, ...]
    """Number of values in each segment."""
    occupied: tuple[tuple[int, int], ...] = ()
    """Ranges of segments (first, and after the last) in each of which at least one row lies."""
    varied: bool = False
    """Whether at least two rows differ."""
    solid: bool = False
    """With `varied`: whether two rows must lie in different segments, not only differ."""

    @cached_property
    def values(self) -> int:
        """Number of values."""
        return sum(self.sizes)


@cache
def count_tables(cell: Segments, rows: int) -> int:
    """Count the tables of a group that satisfy what a cell requires.

    Inclusion and exclusion over the occupied ranges: W^n, minus the tables that leave a range empty, and so on.
    """
    total: int = _count_hitting(cell, rows)
    if not cell.varied or not rows:
        return total
    # Tables with one value, or with one segment, that hit every occupied range.
    for at, size in enumerate(cell.sizes):
        if all(first <= at < stop for first, stop in cell.occupied):
            total -= size**rows if cell.solid else size
    return total


@cache
def _count_hitting(cell: Segments, rows: int) -> int:
    """Count the tables that hit every occupied range."""
    sizes = [sum(cell.sizes[first:stop]) for first, stop in cell.occupied]
    apart = sum(sizes) == sum(cell.sizes[at] for at in _union(cell.occupied))
    total = 0
    if apart:
        # Disjoint ranges of one size are interchangeable.
        kinds = sorted(Counter(sizes).items())
        for empty in product(*(range(count + 1) for _, count in kinds)):
            ways = math.prod(math.comb(count, j) for (_, count), j in zip(kinds, empty, strict=True))
            left = cell.values - sum(size * j for (size, _), j in zip(kinds, empty, strict=True))
            total += (-1) ** sum(empty) * ways * left**rows
        return total
    for number in range(len(cell.occupied) + 1):
        for empty_ranges in combinations(cell.occupied, number):
            left = cell.values - sum(cell.sizes[at] for at in _union(empty_ranges))
            total += (-1) ** number * left**rows
    return total


def _union(ranges: tuple[tuple[int, int], ...]) -> set[int]:
    return {at for first, stop in ranges for at in range(first, stop)}


@cache
def find_bounds(cell: Segments, rows: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Find the smallest and the largest number of rows of each segment among all tables of a group.

    If no table satisfies the requirements, both are empty.
    """
    least: list[int] = []
    greatest: list[int] = []
    if cell.varied and rows < 2:
        return (), ()
    for at in range(len(cell.sizes)):
        # A range is hit by the segment itself, or by rows of other segments.
        without, beside = _hits_needed(cell, at, used=False), _hits_needed(cell, at, used=True)
        alone = len(cell.sizes) == 1
        if without is not None and not alone and without <= rows and _can_vary(cell, rows, at):
            lowest = 0
        elif alone:
            lowest = rows
        else:
            lowest = 1
        if beside is None or beside + (lowest > 0) > rows:
            highest = 0 if lowest == 0 else -1
        else:
            highest = rows - beside
            # A table of one value does not vary.
            if cell.varied and highest == rows and (cell.solid or cell.sizes[at] == 1):
                highest -= 1
        if highest < lowest or (alone and highest < rows):
            return (), ()
        least.append(lowest)
        greatest.append(highest)
    return tuple(least), tuple(greatest)


def _can_vary(cell: Segments, rows: int, without: int) -> bool:
    """Check whether rows can differ as required without one segment: in values, or in whole segments."""
    parts = sum(1 if cell.solid else size for at, size in enumerate(cell.sizes) if at != without)
    return not cell.varied or (rows > 1 and parts > 1)


def _hits_needed(cell: Segments, at: int, *, used: bool) -> int | None:
    """Find the fewest rows outside a segment that hit all occupied ranges; None if that is impossible.

    If the segment is used, the ranges that contain it are hit already.
    """
    ranges = [one for one in cell.occupied if not (used and one[0] <= at < one[1])]
    found, last = 0, -1
    # The classic greedy: by their ends, and each at its last possible place.
    for first, stop in sorted(ranges, key=lambda one: one[1]):
        if first <= last < stop:
            continue
        place = stop - 1 if stop - 1 != at else stop - 2
        if place < first:
            return None
        found, last = found + 1, place
    return found


# Mondrian: no cut of the values leaves k rows on both sides.


def _cut_off(cell: Segments, at: int, extra: int, *, upper: bool) -> Segments:
    """Restrict a cell to the values on one side of a value in a segment; ranges with that segment are hit already."""
    if upper:
        sizes = (extra, *cell.sizes[at + 1 :])
        occupied = tuple((first - at, stop - at) for first, stop in cell.occupied if first > at)
    else:
        sizes = (*cell.sizes[:at], extra)
        occupied = tuple(one for one in cell.occupied if one[1] <= at)
    return Segments(sizes=sizes, occupied=occupied)


@cache
def count_uncut(cell: Segments, rows: int, k: int) -> int | None:
    """Count the tables of a group that no cut divides into parts of k rows; None if that takes too long.

    At least 2k rows: a value v has fewer than k rows below and fewer than k above, and there is one such v. The tables
    are counted by v and by the rows on both sides.
    """
    if rows < 2 * k:
        return count_tables(cell, rows)
    if cell.values * k * k > _MAX_CUT_POSITIONS:
        return None
    total = 0
    # Every value may lie in the middle of the group, with fewer than k rows on each side.
    for at, place in ((at, place) for at, size in enumerate(cell.sizes) for place in range(size)):
        low, high = _cut_off(cell, at, place, upper=False), _cut_off(cell, at, cell.sizes[at] - 1 - place, upper=True)
        below, above = ([_count_hitting(side, rows_there) for rows_there in range(k)] for side in (low, high))
        for a, lower in enumerate(below):
            if not lower:
                continue
            for b, upper in enumerate(above):
                if upper and (a or b or not cell.varied):
                    total += math.comb(rows, a) * math.comb(rows - a, b) * lower * upper
    return total


@cache
def find_uncut_bounds(cell: Segments, rows: int, k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Find the bounds of `find_bounds` among the tables that no cut divides into parts of k rows."""
    if rows < 2 * k:
        return find_bounds(cell, rows)
    # With k = 1 all rows are equal.
    if cell.varied and k == 1:
        return (), ()
    count = len(cell.sizes)
    least, greatest = [rows] * count, [-1] * count
    for at, size in enumerate(cell.sizes):
        # The value in the middle lies in this segment. The rows of the segments on each side are at most k - 1.
        sides = (
            replace(_cut_off(cell, at, 0, upper=False), sizes=cell.sizes[:at]),
            Segments(
                sizes=cell.sizes[at + 1 :],
                occupied=tuple((first - at - 1, stop - at - 1) for first, stop in cell.occupied if first > at),
            ),
        )
        needed = [_hits_needed(side, -1, used=False) or 0 for side in sides]
        if max(needed) > k - 1:
            continue
        others = cell.values - 1
        if cell.varied and not others:
            continue
        most = [k - 1 if side.sizes else 0 for side in sides]
        least[at] = min(least[at], rows - sum(most))
        highest = rows - sum(needed)
        greatest[at] = max(greatest[at], highest - (cell.varied and highest == rows and size == 1))
        for side, offset in zip(sides, (0, at + 1), strict=True):
            for one, width in enumerate(side.sizes):
                without, beside = _hits_needed(side, one, used=False), _hits_needed(side, one, used=True)
                # Rows of this segment are needed to hit a range, or as the only other values.
                forced = without is None or without > k - 1 or (cell.varied and others == width)
                least[offset + one] = min(least[offset + one], int(forced))
                if beside is not None:
                    greatest[offset + one] = max(greatest[offset + one], k - 1 - beside)
    return ((), ()) if min(greatest) < 0 else (tuple(least), tuple(greatest))


# Full-domain: one level of each hierarchy for all records.


@cache
def count_that_split(sizes: tuple[int, ...], rows: int, k: int) -> int | None:
    """Count the tables of a group in which every child of its node has no row or at least k; None if it takes too long.

    Inclusion and exclusion over the children that have 1 to k - 1 rows.
    """
    if len(sizes) > _MAX_SMALL_CHILDREN:
        return None
    # Coefficients of n! x^s by the values of the small children and their rows s.
    terms = {(0, 0): 1}
    for size in sizes:
        grown = dict(terms)
        for (removed, small), ways in terms.items():
            for extra in range(1, min(k - 1, rows - small) + 1):
                key = (removed + size, small + extra)
                # The places of these rows among those that are not placed yet.
                grown[key] = grown.get(key, 0) - ways * math.comb(rows - small, extra) * size**extra
        terms = grown
    values = sum(sizes)
    total = 0
    for (removed, small), ways in terms.items():
        total += ways * (values - removed) ** (rows - small)
    return total
