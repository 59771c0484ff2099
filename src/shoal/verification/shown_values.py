"""Check that no end of an interval and no member of a set is the exact value of few records.

An end may be a value that enough records share. Otherwise it must be an end of a cell of the public grid that contains
enough records, among them the lowest (or highest) row of the interval: a month, a quarter, a year, 10, 20, 50, ...
years, or 1, 2, 5, 10, ... steps of a number. The first and the last cell of a table may be joined with the next one,
unless it is a single whole number, and cells of numbers with too few records on their side of zero extend to both sides
of it. Between ordered values without a grid, enough records must lie from the end to the lowest (or highest) row. Cells
with a common end are nested, so the widest decides.

The module shares no code with recoding: neither the grid nor the counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ReleaseUnsafeError
from shoal.verification.meaning import Meaning
from shoal.verification.placing import ranks_of
from shoal.verification.published_columns import ReadColumn
from shoal.verification.scales import Position, number_of
from shoal.verification.values import Values, encode_values, format_values

_DAY = 86_400 * 10**9
_EPOCH = date(1970, 1, 1).toordinal()
_CLOCK = (_DAY, 3_600 * 10**9, 60 * 10**9)
"""Widths of cells of dates with a time, below a month and in descending order."""
_YEARS = 10_000
_COUNTED_IN_NANOSECONDS = (1 << 63) // _DAY - 1
"""Largest distance from 1970, in days, of dates in nanoseconds together with their cells."""


def check_shown_values(
    published: pl.DataFrame,
    original: pl.DataFrame,
    rows: NDArray[np.integer],
    *,
    meanings: Mapping[str, Meaning],
    least: int,
    star: str = "*",
    times: NDArray[np.int64] | None = None,
    owners: pl.DataFrame | None = None,
) -> None:
    """Check that no end of an interval and no member of a set is the exact value of few records.

    Parameters
    ----------
    published : polars.DataFrame
        The release.
    original : polars.DataFrame
        The raw microdata.
    rows : integer array
        The row of the microdata that each published row stands for.
    meanings : mapping of column to Meaning
        The quasi-identifiers and how their cells are interpreted. Columns that show no exact values are skipped.
    least : int
        Smallest number of records of a value that is shown, or of the cell of an end.
    star : str
        The symbol of a suppressed cell.
    times : int64 array, optional
        Multiplicity of each published row, if it is not 1.
    owners : polars.DataFrame, optional
        The owner of each published row, one column for each kind: so many owners must have a value, then, not records.

    Raises
    ------
    ReleaseUnsafeError
        If there are such ends or members. The message names the columns and the numbers, never a cell.
    """
    each = np.ones(published.height, dtype=np.int64) if times is None else times
    if owners is not None and owners.width:
        each = _first_of_owners(owners, rows)
    places = pl.Series(np.asarray(rows, dtype=np.uint32))
    # Only columns whose cells show exact values are checked.
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


def _first_of_owners(owners: pl.DataFrame, rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """Count the first row of each owner of the input once, if it is so for all kinds, and no other row."""
    # By number, because Polars takes some names for patterns.
    kinds = pl.DataFrame([owners.to_series(at).alias(str(at)) for at in range(owners.width)])
    placed = kinds.with_columns(row=pl.Series(np.asarray(rows, dtype=np.int64))).with_row_index("entry")
    first = np.ones(owners.height, dtype=np.int64)
    for kind in kinds.columns:
        own = placed.sort("row", "entry").unique(kind, keep="first", maintain_order=True)["entry"]
        mine = np.zeros(owners.height, dtype=np.int64)
        mine[own.to_numpy()] = 1
        first &= mine
    return first


class _Shown:
    """The values that the cells of a column reveal."""

    def __init__(
        self, shown: pl.Series, true: pl.Series, each: NDArray[np.int64], meaning: Meaning, star: str, least: int
    ) -> None:
        value_codes, distinct = encode_values(true)
        self._cell_codes, cells = encode_values(shown)
        self._values = values = Values(meaning.transformed(distinct))
        labels = [*format_values(cells).to_list(), None]
        self._column = ReadColumn(shown.name, labels, self._cell_codes, meaning=meaning, star=star, scale=values.scale)
        self._ranks = values.ranks(value_codes)
        # Cumulative number of records by rank, so that each range is counted in constant time.
        self._below = np.append(0, np.cumsum(_sums(self._ranks, each, values.size + 1)[: values.size]))
        self._least = least
        # A column with a top or bottom code may have a name for the values beyond it, and then no grid; or none at all.
        self._grid = None if meaning.has_names and not meaning.is_cut_off else _grid_of(values, distinct)
        self._may_lack_grid = meaning.has_names or self._grid is None
        # A class has other rows than those of a group: its end is that of the first value in the interval.
        self._of_classes = meaning.ends_at_values

    def failing(self) -> int:
        """Count the distinct ends and members that are exact values of few records."""
        if self._of_classes and not (isinstance(self._grid, _Numbers) or (self._grid and self._grid.whole)):
            return 0  # without a grid, or an order between overlapping intervals, classes stay as they are
        # Collect the distinct ends on either side, with the cells that have them, and the members.
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
        # Of all cells with an end, the lowest (or highest) row decides, because cells with a common end are nested.
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
        """Check whether a cell is a value of the column or a code, however it is spelled."""
        known = self._values.scale == "text" and label in self._values.known
        return known or self._column.meaning.named(label) is not None

    @cached_property
    def _extremes(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The lowest and the highest rank of the rows of each label; reversed for labels without rows."""
        # Of the type of the ranks: NumPy takes 40 times as long for two types.
        count = len(self._column.labels)
        low, high = np.full(count, self._values.size + 1, dtype=np.int32), np.full(count, -1, dtype=np.int32)
        np.minimum.at(low, self._cell_codes, self._ranks)
        np.maximum.at(high, self._cell_codes, self._ranks)
        return low, high

    def _records(self, start: int, stop: int) -> int:
        """Count the records with ranks from `start` to below `stop`."""
        return int(self._below[max(stop, start)] - self._below[start])

    def _records_of(self, text: str) -> int:
        """Count the records that a member of a set covers."""
        ranks = {rank for part in self._column.members(text) for rank in ranks_of(part, self._values).listed().tolist()}
        return sum(self._records(rank, rank + 1) for rank in ranks if rank < self._values.size)

    def _may_end(self, text: str, rank: int, *, upper: bool) -> bool:
        """Check whether an interval may have this end; `rank` is that of its last row on this side."""
        # A value that enough records share may be shown.
        found = ranks_of(self._column.inner(text), self._values)
        if self._records(found.low, found.stop) >= self._least:
            return True
        # Without a grid, enough records must lie between the end and the last row.
        if self._may_lack_grid:
            start, stop = (rank, found.stop) if upper else (found.low, rank + 1)
            if found.low < found.stop and self._records(start, stop) >= self._least:
                return True
        if self._grid is None:
            return False
        # Otherwise a cell of the grid with this end must hold the row and enough records.
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
        """Yield the rank ranges of the cells that may have such an end."""
        assert self._grid is not None
        size = self._values.size
        for cell in self._grid.widest(end, upper=upper):
            start, stop = self._between(cell, upper=upper)
            yield start, stop
            # The first and the last cell of the table may be joined with the next one.
            if (stop == size) if upper else (start == 0):
                yield self._between(cell.joined(upper=upper), upper=upper)
        # With too few records on this side of zero, a cell may extend to the other side.
        if isinstance(self._grid, _Numbers):
            # Cells of whole numbers end before zero, so zero is not among the values below.
            zero = self._values.below(0)[int(upper and not self._grid.whole)]
            start, stop = (0, zero) if rank < zero else (zero, size)
            if self._records(start, stop) < self._least:
                around = self._grid.around_zero(end, upper=upper)
                yield from () if around is None else (self._between(around, upper=upper),)

    def _between(self, cell: _Cell, *, upper: bool) -> tuple[int, int]:
        """Compute the rank range of a cell; a cell with an upper end includes it, unless values are whole."""
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
    """The start of a cell, of its neighbours and of the next cell; None lies beyond all values."""

    before: Position | None
    start: Position | None
    stop: Position | None
    after: Position | None

    def joined(self, *, upper: bool) -> _Cell:
        """Join the cell with the previous one if it has an upper end, and otherwise with the next one."""
        start, stop = (self.before, self.stop) if upper else (self.start, self.after)
        return _Cell(before=None, start=start, stop=stop, after=None)


@dataclass(frozen=True, kw_only=True)
class _Numbers:
    """Cells with widths of 1, 2 or 5 times a power of ten, counted from 0."""

    whole: bool
    """Whether values are integers, so that cells end one unit before the next one starts."""

    def widest(self, end: Position, *, upper: bool) -> Iterable[_Cell]:
        """Yield the widest cell with an end."""
        bound = Fraction(end + (upper and self.whole))
        width = _widest_divisor(bound)
        if width is None:  # at zero: all numbers on one side
            yield _Cell(before=None, start=None if upper else bound, stop=bound if upper else None, after=None)
        else:
            # A cell of one whole number is joined with no other: its end would be an exact value.
            more = 0 if self.whole and width == 1 else width
            if upper:
                yield _Cell(before=bound - width - more, start=bound - width, stop=bound, after=None)
            else:
                yield _Cell(before=None, start=bound, stop=bound + width, after=bound + width + more)

    def around_zero(self, end: Position, *, upper: bool) -> _Cell | None:
        """Compute the cell with this end that extends equally far to the other side of zero."""
        # The end must be its own widest divisor, and lie on its own side of zero.
        reach = abs(Fraction(end + (upper and self.whole)))
        if reach == 0 or _widest_divisor(reach) != reach or (end > 0) != upper:
            return None
        return _Cell(before=None, start=-reach, stop=reach, after=None)


def _widest_divisor(number: Fraction) -> Fraction | None:
    """Find the largest of 1, 2, 5, 10, 20, ... (and 0.5, 0.2, ...) that divides a decimal; None for 0."""
    if number == 0:
        return None
    # The largest power of ten that divides the number, then the largest digit.
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
    """Whether values are dates without a time."""

    def widest(self, end: Position, *, upper: bool) -> Iterable[_Cell]:
        """Yield the widest cell with an end."""
        bound = int(end) + _DAY * (upper and self.whole)
        # An end at the start of a month has cells of months and years, any other end has cells of the clock.
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
"""Widths of cells of dates in months, in descending order."""


def _month_at(position: int) -> int | None:
    """Find the month that starts at a position, counted from January of year 0; None if none does."""
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
    """Compute the start of a month; None if it is beyond all dates."""
    if month >= 12 * _YEARS:
        return None if month > 12 * _YEARS else (date.max.toordinal() + 1 - _EPOCH) * _DAY
    return None if month < 12 else (date(month // 12, month % 12 + 1, 1).toordinal() - _EPOCH) * _DAY


def _grid_of(values: Values, distinct: pl.Series) -> _Numbers | _Dates | None:
    """Choose the grid of a column; None if its values have an order but no grid."""
    kind = distinct.dtype
    if values.scale == "number":
        numbers = () if kind.is_integer() else map(number_of, values.texts)
        return _Numbers(whole=all(number is not None and number.denominator == 1 for number in numbers))
    if values.scale != "date" or not values.size:
        return None
    # Dates outside the calendar, or outside the range of nanoseconds, have no grid.
    days = not isinstance(kind, pl.Datetime)
    reach = _COUNTED_IN_NANOSECONDS if isinstance(kind, pl.Datetime) and kind.time_unit == "ns" else 1 << 62
    first, stop = max(1 - _EPOCH, -reach) * _DAY, min(date.max.toordinal() + 1 - _EPOCH, reach) * _DAY
    inside = values.below(first)[0] == 0 and values.below(stop)[0] == values.size
    return _Dates(whole=days) if inside else None
