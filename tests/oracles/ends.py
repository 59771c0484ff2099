"""Checks of the ends of intervals and members of sets against a table, by trying every cell of every grid."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import polars as pl

__all__ = ["ends_fitting_one", "ends_of_few"]

_INTERVAL = re.compile(r"\[([^,]+), ([^,]+)\]")
_DAY = timedelta(days=1)


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
        known = [one for one in places if one is not None]
        for cells, rows in groups.items():
            cell, own = str(cells[place]), [places[row] for row in rows]
            interval = _INTERVAL.fullmatch(cell)
            if interval is not None and len(set(own)) > 1:
                ends = [_place_of_text(text, column.dtype) for text in interval.groups()]
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


def _may_begin(end: Any, least_value: Any, places: list[Any], least: int) -> bool:
    if places.count(end) >= least:
        return True
    for start, after, next_after in _cells_from(end, places):
        one_value = isinstance(start, Fraction) and after - start == 1 and all(at.denominator == 1 for at in places)
        stop = next_after if start <= min(places) and not one_value else after
        if start <= least_value < stop and sum(start <= one < stop for one in places) >= least:
            return True
    if isinstance(end, Fraction) and end < 0 and -end in _widths(places):
        # Less than enough records on this side of zero: as far to the other side.
        side = [one for one in places if (one < 0) == (least_value < 0)]
        return len(side) < least and sum(bool(end <= one < -end) for one in places) >= least
    if isinstance(end, int):
        return sum(bool(end <= one <= least_value) for one in places) >= least
    return False


def _may_end(end: Any, greatest_value: Any, places: list[Any], least: int) -> bool:
    if isinstance(end, date) and not isinstance(end, datetime):
        return _may_begin_backwards(end, greatest_value, places, least)
    if isinstance(end, int):
        return _may_begin(-end, -greatest_value, [-one for one in places], least)
    whole = int(all(one.denominator == 1 for one in places)) if isinstance(end, Fraction) else 0
    if not isinstance(end, Fraction):
        return _may_begin_backwards(end, greatest_value, places, least)
    # Mirrored, cells that end with their last whole number begin with it.
    mirrored = [-one - whole for one in places]
    return places.count(end) >= least or _may_begin(-end - whole, -greatest_value - whole, mirrored, least)


def _may_begin_backwards(end: Any, greatest_value: Any, places: list[Any], least: int) -> bool:
    """Test if an interval of dates may end at a date: its cell ends with this day, or at this moment."""
    if places.count(end) >= least:
        return True
    days = not isinstance(end, datetime)
    if days and end == date.max:
        return len(places) >= least
    bound = end + _DAY if days else end
    for stop, before, before_that in _cells_before(bound, places):
        start = before_that if end >= max(places) else before
        inside = [start <= one < stop if days else start < one <= stop for one in places]
        holds = start <= greatest_value < stop if days else start < greatest_value <= stop
        if holds and sum(inside) >= least:
            return True
    return False


def _cells_from(end: Any, places: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the start of each cell that starts at an end, of the next cell, and of the cell after that."""
    if isinstance(end, Fraction):
        for width in _widths(places):
            if end % width == 0:
                yield end, end + width, end + 2 * width
    elif isinstance(end, date):
        yield from ((start, *bounds) for start, *bounds in _periods(end, +1))


def _cells_before(bound: Any, places: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    yield from _periods(bound, -1)


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
