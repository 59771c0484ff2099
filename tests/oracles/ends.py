"""Checks of the ends of intervals and members of sets against a table, by trying every cell of every grid."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any

import polars as pl

__all__ = ["ends_fitting_one", "ends_of_few"]

_INTERVAL = re.compile(r"\[([^,]+), ([^,]+)\]")
_DAY = timedelta(days=1)


class _Values:
    """The known values of a column in ascending order, so that those of a cell are counted quickly."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.ordered = sorted(values)

    def count(self, value: Any) -> int:
        return self.within(value, value)

    def below(self, start: Any, stop: Any) -> int:
        """Count start <= value < stop."""
        return max(bisect_left(self.ordered, stop) - bisect_left(self.ordered, start), 0)

    def above(self, start: Any, stop: Any) -> int:
        """Count start < value <= stop."""
        return max(bisect_right(self.ordered, stop) - bisect_right(self.ordered, start), 0)

    def within(self, start: Any, stop: Any) -> int:
        """Count start <= value <= stop."""
        return max(bisect_right(self.ordered, stop) - bisect_left(self.ordered, start), 0)

    @cached_property
    def are_whole(self) -> bool:
        return all(isinstance(one, Fraction) and one.denominator == 1 for one in self.ordered)

    @cached_property
    def mirrored(self) -> _Values:
        return _Values(-one - int(self.are_whole) for one in self.ordered)

    @cached_property
    def widths(self) -> list[Fraction]:
        return _widths(self.ordered)


def ends_of_few(published: pl.DataFrame, original: pl.DataFrame, least: int) -> list[tuple[str, str]]:
    """Find the published cells that show an exact value with too few records.

    Parameters
    ----------
    published : polars.DataFrame
        Published quasi-identifiers, without a hierarchy or a coarsening.
    original : polars.DataFrame
        The same columns of the original rows, in the same order.
    least : int
        Smallest number of records with the value of an end or a member, or in the cell of an end.

    Returns
    -------
    list of (column, cell)
        Each cell once for every group that shows it.
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    for at, cells in enumerate(published.iter_rows()):
        groups.setdefault(cells, []).append(at)
    found = []
    for place, name in enumerate(published.columns):
        column = original.get_column(name)
        places = [_place(value, column.dtype) for value in column]
        known: _Values | None = None
        for cells, rows in groups.items():
            cell, own = str(cells[place]), [places[row] for row in rows]
            interval = _INTERVAL.fullmatch(cell)
            if interval is not None and len(set(own)) > 1:
                ends = [_place_of_text(text, column.dtype) for text in interval.groups()]
                known = known or _Values(one for one in places if one is not None)
                fits = _may_begin(ends[0], min(own), known, least) and _may_end(ends[1], max(own), known, least)
                found += [(name, cell)] * (not fits)
            elif cell.startswith("{") and len(set(own)) > 1:
                texts = [_text(value) for value in column]
                few = [one for one in _members(cell) if texts.count(one) < least]
                found += [(name, cell)] * bool(few)
    return found


def ends_fitting_one(published: pl.DataFrame, original: pl.DataFrame, name: str) -> tuple[int, int]:
    """Count the ends of the intervals of a column, and those that match a single record in their group's other cells.

    Parameters
    ----------
    published, original : polars.DataFrame
        As in `ends_of_few`; the other columns have intervals, sets, stars or values.
    name : str
        The column.
    """
    column = original.get_column(name)
    places = [_place(value, column.dtype) for value in column]
    records: dict[Any, list[int]] = {}
    for row, one in enumerate(places):
        records.setdefault(one, []).append(row)
    others = [other for other in published.columns if other != name]
    true = {other: original.get_column(other).to_list() for other in others}
    total = alone = 0
    for cells in published.unique().iter_rows(named=True):
        interval = _INTERVAL.fullmatch(str(cells[name]))
        for end in () if interval is None else {_place_of_text(text, column.dtype) for text in interval.groups()}:
            total += 1
            fitting = [
                row
                for row in records.get(end, ())
                if all(_holds(str(cells[other]), true[other][row], original.schema[other]) for other in others)
            ]
            alone += len(fitting) == 1
    return total, alone


def _holds(cell: str, value: Any, kind: pl.DataType) -> bool:
    interval = _INTERVAL.fullmatch(cell)
    if interval is not None:
        low, high = (_place_of_text(text, kind) for text in interval.groups())
        return bool(low <= _place(value, kind) <= high)
    return cell == "*" or _text(value) in (_members(cell) if cell.startswith("{") else [cell])


def _members(cell: str) -> list[str]:
    return [one or other for one, other in re.findall(r'"([^"]*)"|([^,{} ][^,{}]*)', cell)]


def _text(value: Any) -> str:
    return str(value)


def _place(value: Any, kind: pl.DataType) -> Any:
    """Convert a number to a fraction and other values to their rank in the order of their type; keep dates."""
    if value is None or kind.is_temporal():
        return value
    if isinstance(kind, pl.Enum):
        return kind.categories.to_list().index(value)
    try:
        return Fraction(str(value))
    except ValueError:
        return value


def _place_of_text(text: str, kind: pl.DataType) -> Any:
    if kind == pl.Date:
        return date.fromisoformat(text)
    if isinstance(kind, pl.Datetime):
        return datetime.fromisoformat(text)
    return _place(text, kind)


def _may_begin(end: Any, least_value: Any, known: _Values, least: int) -> bool:
    if known.count(end) >= least:
        return True
    for start, after, next_after in _cells_from(end, known):
        one_value = isinstance(start, Fraction) and after - start == 1 and known.are_whole
        stop = next_after if start <= known.ordered[0] and not one_value else after
        if start <= least_value < stop and known.below(start, stop) >= least:
            return True
    if isinstance(end, Fraction) and end < 0 and -end in known.widths:
        # Less than enough records on this side of zero: as far to the other side.
        negative = bisect_left(known.ordered, 0)
        side = negative if least_value < 0 else len(known.ordered) - negative
        return side < least and known.below(end, -end) >= least
    if isinstance(end, int):
        return known.within(end, least_value) >= least
    return False


def _may_end(end: Any, greatest_value: Any, known: _Values, least: int) -> bool:
    if isinstance(end, date) and not isinstance(end, datetime):
        return _may_begin_backwards(end, greatest_value, known, least)
    if isinstance(end, int):
        return _may_begin(-end, -greatest_value, known.mirrored, least)
    if not isinstance(end, Fraction):
        return _may_begin_backwards(end, greatest_value, known, least)
    # Mirrored, cells that end with their last whole number begin with it.
    whole = int(known.are_whole)
    return known.count(end) >= least or _may_begin(-end - whole, -greatest_value - whole, known.mirrored, least)


def _may_begin_backwards(end: Any, greatest_value: Any, known: _Values, least: int) -> bool:
    """Test if an interval of dates may end at a date: its cell ends with this day, or at this moment."""
    if known.count(end) >= least:
        return True
    days = not isinstance(end, datetime)
    if days and end == date.max:
        return len(known.ordered) >= least
    bound = end + _DAY if days else end
    for stop, before, before_that in _periods(bound, -1):
        start = before_that if end >= known.ordered[-1] else before
        inside = known.below(start, stop) if days else known.above(start, stop)
        holds = start <= greatest_value < stop if days else start < greatest_value <= stop
        if holds and inside >= least:
            return True
    return False


def _cells_from(end: Any, known: _Values) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the start of each cell that starts at an end, of the next cell, and of the cell after that."""
    if isinstance(end, Fraction):
        for width in known.widths:
            if end % width == 0:
                yield end, end + width, end + 2 * width
    elif isinstance(end, date):
        yield from ((start, *bounds) for start, *bounds in _periods(end, +1))


def _periods(bound: Any, sign: int) -> Iterator[tuple[Any, Any, Any]]:
    if isinstance(bound, datetime):
        for step in (timedelta(minutes=1), timedelta(hours=1), _DAY):
            if (bound - datetime(1970, 1, 1)) % step == timedelta(0):
                yield bound, bound + sign * step, bound + 2 * sign * step
        if bound.time() != datetime.min.time():
            return
    if bound.day != 1:
        return
    month = 12 * bound.year + bound.month - 1
    if month == 12 and sign > 0:
        month = 0
    for months in (1, 3, 12, *(12 * years * 10**power for power in range(1, 4) for years in (1, 2, 5)), 120_000):
        if month % months == 0:
            yield bound, _month(month + sign * months, bound), _month(month + 2 * sign * months, bound)


def _month(month: int, like: Any) -> Any:
    kind = datetime if isinstance(like, datetime) else date
    year = month // 12
    if year < 1:
        return kind.min
    return kind.max if year > 9999 else kind(year, month % 12 + 1, 1)


def _widths(places: Iterable[Any]) -> list[Fraction]:
    """List the widths 1, 2, 5, 10, ... and .5, .2, .1, ... up to the range and the decimals of the values."""
    known: list[Fraction] = list(places)
    reach = 40 * max([Fraction(1), *map(abs, known)])
    decimals = max(len(str(float(one))) for one in known) + 2
    found = [Fraction(digit) * Fraction(10) ** power for power in range(-decimals, 25) for digit in (1, 2, 5)]
    return [width for width in found if width <= reach]
