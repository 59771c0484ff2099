"""Exact values of few records: no end of an interval is one, and no member of a set.

An end may be a value that enough records of the table have. Else it must be that of a cell of the public grid in which
enough records lie, the least (or the greatest) of its rows among them: a month, a quarter, a year, 10, 20, 50, ...
years, or 1, 2, 5, 10, ... units of a number. The first and the last cell of a table may be joined with the next one,
and cells of numbers that have too few records on their side of zero reach to both sides of it. Of other values with an
order, enough must lie from the end to the value. All cells that end at the same place hold one another: the widest
decides.

It shares nothing with recoding: neither the grid nor the counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.errors import ReleaseUnsafeError
from shoal.verification.placing import ranks_of
from shoal.verification.published_columns import ReadColumn
from shoal.verification.scales import Position, number_of
from shoal.verification.values import Values, coded, written

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.verification.meaning import Meaning

__all__ = ["check_shown_values"]

_DAY = 86_400 * 10**9
_EPOCH = date(1970, 1, 1).toordinal()
_CLOCK = (_DAY, 3_600 * 10**9, 60 * 10**9)
"""Cells of dates with a time below a month, the widest first."""
_YEARS = 10_000
_COUNTED_IN_NANOSECONDS = (1 << 63) // _DAY - 1
"""Days before and after 1970 that dates in nanoseconds can have, with their cells."""


def check_shown_values(
    published: pl.DataFrame,
    original: pl.DataFrame,
    rows: NDArray[np.integer],
    *,
    meanings: Mapping[str, Meaning],
    least: int,
    star: str = "*",
    times: NDArray[np.int64] | None = None,
) -> None:
    """Check that no end of an interval and no member of a set is the exact value of few records.

    Parameters
    ----------
    published : polars.DataFrame
        The release.
    original : polars.DataFrame
        The microdata, as they came.
    rows : integer array
        The row of the microdata that each published row stands for.
    meanings : mapping of column to Meaning
        The quasi-identifiers, and what is said of their cells. Those that show no values as they were are not checked.
    least : int
        The records that a value must have to be shown, or the cell of an end.
    star : str
        How a suppressed cell is written.
    times : int64 array, optional
        How often each published row stands in the release, where that is not once.

    Raises
    ------
    ReleaseUnsafeError
        Names the columns with such ends or members, and how many there are; never a cell.
    """
    each = np.ones(published.height, dtype=np.int64) if times is None else times
    places = pl.Series(np.asarray(rows, dtype=np.uint32))
    failed = []
    for name, meaning in meanings.items():
        if meaning.shows_values or meaning.ends_at_values:
            shown = published.get_column(name)
            count = _Shown(shown, original.get_column(name).gather(places), each, meaning, star, least).failing()
            failed += [f"{count} of '{name}'"] * (count > 0)
    if failed:
        raise ReleaseUnsafeError(
            f"The release shows values that fewer than {least} records have, as ends of intervals or members of sets: "
            f"{', '.join(failed)}. Nothing was published. This is a bug in shoal: please report it."
        )


class _Shown:
    """What the cells of a column show of its values."""

    def __init__(
        self, shown: pl.Series, true: pl.Series, each: NDArray[np.int64], meaning: Meaning, star: str, least: int
    ) -> None:
        value_codes, distinct = coded(true)
        self._cell_codes, cells = coded(shown)
        self._values = values = Values(meaning.transformed(distinct))
        labels = [*written(cells).to_list(), None]
        self._column = ReadColumn(shown.name, labels, self._cell_codes, meaning=meaning, star=star, scale=values.scale)
        self._ranks = values.ranks(value_codes)
        self._below = np.append(0, np.cumsum(_sums(self._ranks, each, values.size + 1)[: values.size]))
        self._least = least
        self._grid = None if meaning.has_names else _grid_of(values, distinct)
        # A class has other rows than those of a group: its end is that of the first value in the interval.
        self._of_classes = meaning.ends_at_values

    def failing(self) -> int:
        """Return how many different ends and members are exact values of few records."""
        if self._of_classes and not (isinstance(self._grid, _Numbers) or (self._grid and self._grid.whole)):
            return 0  # without a grid, or an order between overlapping intervals, classes stay as they are
        ends: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
        members: set[str] = set()
        for code, label in enumerate(self._column.labels):
            if label is None or label == self._column.star or self._stands_alone(label):
                continue
            cell = self._column.form(label)
            if cell.kind == "interval":
                for side, atom in zip(ends, cell.atoms, strict=True):
                    side.setdefault(str(atom), []).append(code)
            elif cell.kind == "set":
                members.update(map(str, cell.atoms))
        extremes = self._extremes
        lows, highs = (
            sum(
                not self._may_end(text, int(pick(bounds[codes])), upper=upper)
                for text, codes in side.items()
                if (extremes[0][codes] <= extremes[1][codes]).any()
            )
            for side, bounds, pick, upper in zip(ends, extremes, (np.min, np.max), (False, True), strict=True)
        )
        return lows + highs + sum(self._records_of(text) < self._least for text in members)

    def _stands_alone(self, label: str) -> bool:
        """Return whether a cell is a value of the column or a code of it, whatever it reads like."""
        known = self._values.scale == "text" and label in self._values.known
        return known or self._column.meaning.named(label) is not None

    @cached_property
    def _extremes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The least and the greatest rank of the rows with each label; of a label without rows in the wrong order."""
        count = len(self._column.labels)
        low, high = np.full(count, self._values.size + 1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
        np.minimum.at(low, self._cell_codes, self._ranks)
        np.maximum.at(high, self._cell_codes, self._ranks)
        return low, high

    def _records(self, start: int, stop: int) -> int:
        """Return the records with the ranks from one to below another."""
        return int(self._below[max(stop, start)] - self._below[start])

    def _records_of(self, text: str) -> int:
        """Return the records with a member of a set."""
        ranks = {rank for part in self._column.members(text) for rank in ranks_of(part, self._values).listed().tolist()}
        return sum(self._records(rank, rank + 1) for rank in ranks if rank < self._values.size)

    def _may_end(self, text: str, rank: int, *, upper: bool) -> bool:
        """Return whether an interval may end there; `rank` is that of the last of its rows on that side."""
        found = ranks_of(self._column.inner(text), self._values)
        if self._records(found.low, found.stop) >= self._least:
            return True
        if self._grid is None:
            start, stop = (rank, found.stop) if upper else (found.low, rank + 1)
            return found.low < found.stop and self._records(start, stop) >= self._least
        position = self._values.position_of(text)
        if position is None:
            return False
        if self._of_classes:
            rank = self._values.below(position)[int(upper)] - int(upper)
        return any(
            start <= rank < stop and self._records(start, stop) >= self._least
            for start, stop in self._cells(position, rank, upper=upper)
        )

    def _cells(self, end: Position, rank: int, *, upper: bool) -> Iterable[tuple[int, int]]:
        """Yield the ranks from and to below which the cells lie that may have such an end."""
        assert self._grid is not None
        size = self._values.size
        for cell in self._grid.widest(end, upper=upper):
            start, stop = self._between(cell, upper=upper)
            yield start, stop
            if (stop == size) if upper else (start == 0):
                yield self._between(cell.joined(upper=upper), upper=upper)
        if isinstance(self._grid, _Numbers):
            # Cells of whole numbers end before zero: it is not among the values below.
            zero = self._values.below(0)[int(upper and not self._grid.whole)]
            start, stop = (0, zero) if rank < zero else (zero, size)
            if self._records(start, stop) < self._least:
                around = self._grid.around_zero(end, upper=upper)
                yield from () if around is None else (self._between(around, upper=upper),)

    def _between(self, cell: _Cell, *, upper: bool) -> tuple[int, int]:
        """Return the ranks in a cell: one of an upper end has what lies at its end, unless it ends with whole units."""
        assert self._grid is not None
        shut = int(upper and not self._grid.whole)
        start = 0 if cell.start is None else self._values.below(cell.start)[shut]
        return start, self._values.size if cell.stop is None else self._values.below(cell.stop)[shut]


def _sums(codes: NDArray[np.integer], each: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, codes, each)
    return sums


@dataclass(frozen=True, kw_only=True)
class _Cell:
    """Where a cell starts, where the next one does, and where those beside them do; None is beyond all values."""

    before: Position | None
    start: Position | None
    stop: Position | None
    after: Position | None

    def joined(self, *, upper: bool) -> _Cell:
        """Return the cell with the one before it, where it has an upper end, else with the one behind it."""
        start, stop = (self.before, self.stop) if upper else (self.start, self.after)
        return _Cell(before=None, start=start, stop=stop, after=None)


@dataclass(frozen=True, kw_only=True)
class _Numbers:
    """Cells of 1, 2 or 5 times a power of ten, counted from 0."""

    whole: bool
    """Whether values are whole numbers, so that cells end before the next one starts."""

    def widest(self, end: Position, *, upper: bool) -> Iterable[_Cell]:
        """Yield the widest cell with an end."""
        bound = Fraction(end + (upper and self.whole))
        width = _widest_divisor(bound)
        if width is None:  # at zero: all numbers on one side
            yield _Cell(before=None, start=None if upper else bound, stop=bound if upper else None, after=None)
        elif upper:
            yield _Cell(before=bound - 2 * width, start=bound - width, stop=bound, after=None)
        else:
            yield _Cell(before=None, start=bound, stop=bound + width, after=bound + 2 * width)

    def around_zero(self, end: Position, *, upper: bool) -> _Cell | None:
        """Return the cell with an end that reaches as far to the other side of zero."""
        reach = abs(Fraction(end + (upper and self.whole)))
        if reach == 0 or _widest_divisor(reach) != reach or (end > 0) != upper:
            return None
        return _Cell(before=None, start=-reach, stop=reach, after=None)


def _widest_divisor(number: Fraction) -> Fraction | None:
    """Return the largest of 1, 2, 5, 10, 20, ... (and 0.5, 0.2, ...) of which a decimal is a multiple; None of 0."""
    if number == 0:
        return None
    power = Fraction(1)
    while number % power:
        power /= 10
    while number % (10 * power) == 0:
        power *= 10
    return next(digit * power for digit in (5, 2, 1) if number % (digit * power) == 0)


@dataclass(frozen=True, kw_only=True)
class _Dates:
    """Months, quarters, years, 10, 20, 50, ... years, counted from year 0; minutes, hours and days of moments."""

    whole: bool
    """Whether values are days."""

    def widest(self, end: Position, *, upper: bool) -> Iterable[_Cell]:
        """Yield the widest cell with an end."""
        bound = int(end) + _DAY * (upper and self.whole)
        months = _month_at(bound)
        if months is not None:
            if months == 12 and self.whole:  # there is no year 0
                months = 0
            width = next(width for width in _MONTHS if months % width == 0)
            places = (months - 2 * width, months - width, months, months + width, months + 2 * width)
            before, start, here, stop, after = map(_start_of, places)
        else:
            width = next((width for width in _CLOCK if not self.whole and bound % width == 0), 0)
            if not width:
                return
            before, start, here, stop, after = (bound + times * width for times in (-2, -1, 0, 1, 2))
        if upper:
            yield _Cell(before=before, start=start, stop=here, after=None)
        else:
            yield _Cell(before=None, start=here, stop=stop, after=after)


_MONTHS = (*(12 * digit * power for power in (1_000, 100, 10) for digit in (10, 5, 2)), 120, 12, 3, 1)
"""The months in the cells of dates, the widest first."""


def _month_at(position: int) -> int | None:
    """Return the month that starts at a position, counted from January of year 0; None where none does."""
    day, rest = divmod(position, _DAY)
    ordinal = day + _EPOCH
    if rest or ordinal < 1:
        return None
    if ordinal == date.max.toordinal() + 1:
        return 12 * _YEARS
    if ordinal > date.max.toordinal():
        return None
    found = date.fromordinal(ordinal)
    return 12 * found.year + found.month - 1 if found.day == 1 else None


def _start_of(month: int) -> int | None:
    """Return where a month starts; None where that is beyond all dates."""
    if month >= 12 * _YEARS:
        return None if month > 12 * _YEARS else (date.max.toordinal() + 1 - _EPOCH) * _DAY
    return None if month < 12 else (date(month // 12, month % 12 + 1, 1).toordinal() - _EPOCH) * _DAY


def _grid_of(values: Values, distinct: pl.Series) -> _Numbers | _Dates | None:
    """Return the grid of a column; None where its values have an order and no grid."""
    kind = distinct.dtype
    if values.scale == "number":
        numbers = () if kind.is_integer() else map(number_of, values.texts)
        return _Numbers(whole=all(number is not None and number.denominator == 1 for number in numbers))
    if values.scale != "date" or not values.size:
        return None
    days = not isinstance(kind, pl.Datetime)
    reach = _COUNTED_IN_NANOSECONDS if isinstance(kind, pl.Datetime) and kind.time_unit == "ns" else 1 << 62
    first, stop = max(1 - _EPOCH, -reach) * _DAY, min(date.max.toordinal() + 1 - _EPOCH, reach) * _DAY
    inside = values.below(first)[0] == 0 and values.below(stop)[0] == values.size
    return _Dates(whole=days) if inside else None
