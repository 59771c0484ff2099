"""Ends of intervals that are not the exact value of a few records: they go outward on a public grid.

The smallest interval over a group ends at the value of some record. Where fewer than so many records of the table have
that value, the end becomes that of a cell of a grid: the first cell in which so many records of the table lie.

* Dates: months, quarters, years, decades, then 20, 50, 100, 200, ... years, counted from year 0; dates with a time have
  minutes, hours and days before them.
* Numbers: cells of 1, 2, 5, 10, 20, 50, ... units of the last decimal that the column has, counted from 0. Where even
  the largest one has too few records on its side of zero, the cells from -w to w.
* Anything else with an order (declared categories, times, durations): from the value on outward, so many values as have
  enough records together.

The first and the last cell of a table that have too few records are joined with the next one: the end is that of the
first, the records are those of both. Else the end of one very old person would be the year 2999.

A lower end belongs to its cell, and so does an upper one. Cells of whole numbers and of days end at their last value
(`[20, 29]`, `[1990-01-01, 1990-12-31]`), others where the next one starts, which belongs to them then, and not to the
next one, if they are the cells of an upper end.

All of it is arithmetic on integers. A value without such a cell has no end that may be published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, takewhile
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from shoal.recoding.star_symbol import dictionary_text, quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.table import Column

__all__ = ["WideEnds", "wide_ends"]

Positions: TypeAlias = "NDArray[Any]"
"""Where values lie, as whole numbers of a unit: 64-bit integers where they fit, else Python's."""
Step: TypeAlias = Callable[[Positions, bool], "tuple[Positions, Positions]"]
"""The cells of one step of a grid: given where values lie and whether they are upper ends, the first and the last
position of the cell of each; the last one lies before the first where there is no cell."""

_FITS = 1 << 60
"""Positions below this are 64-bit integers: no cell that is looked at overflows."""
_LARGEST_FLOAT = 10**308
_MONTHS = (1, 3, 12)
_YEARS = 10_000
"""Cells of dates hold no more years than that, which is all of them."""
_TICKS = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""Time units in a second."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class WideEnds:
    """The ends of an interval from a value, and to it, by the code of the value."""

    places: Positions
    """Where each value lies."""
    low: Positions
    """Where an interval begins that begins at a value or before it."""
    high: Positions
    """Where one ends that ends at a value or behind it."""
    first: NDArray[np.int32]
    """The least code that lies in an interval that begins there."""
    last: NDArray[np.int32]
    """The greatest code in one that ends there."""
    lost: NDArray[np.bool_]
    """Values at which no interval may begin, shape (2, values), or end."""
    written: Callable[[Positions], Sequence[str]]
    """How positions are written as ends."""

    def __repr__(self) -> str:
        return f"WideEnds(values={len(self.low)})"


def wide_ends(column: Column, counts: NDArray[np.int64], least: int) -> WideEnds:
    """Compute where intervals of an ordered column may begin and end.

    Parameters
    ----------
    column : Column
        Ordered; it has a value.
    counts : int64 array
        The records of the table with each value, by code.
    least : int
        The records that the cell of an end must have, or the value at which it stays.
    """
    values = column.dictionary.drop_nulls()
    scale = _scale_of(column, values)
    counts = counts[: len(values)]
    if scale is None:
        return _by_rank(values, counts, least)
    places = scale.positions
    records = _Records(places=places, below=np.append(0, np.cumsum(counts)))
    ends = [places.copy(), places.copy()]
    lost = np.zeros((2, len(values)), dtype=np.bool_)
    # Values that read differently may lie at the same place: 1 and 1.0.
    rare = np.flatnonzero(records.within(places, places) < least)
    for upper in (False, True):
        waiting = rare
        for step in scale.steps(records.narrowest(least)):
            if not len(waiting):
                break
            first, last = step(places[waiting], upper)
            enough = records.within(first, last) >= least
            enough |= records.within(*_towards_others(step, first, last, places, upper=upper)) >= least
            ends[int(upper)][waiting[enough]] = (last if upper else first)[enough]
            waiting = waiting[~enough]
        lost[int(upper), waiting] = True
    return WideEnds(
        places=places,
        low=ends[0],
        high=ends[1],
        first=np.searchsorted(places, ends[0]).astype(np.int32),
        last=(np.searchsorted(places, ends[1], side="right") - 1).astype(np.int32),
        lost=lost,
        written=scale.written,
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Scale:
    """Where the values of a column lie, and the grid there."""

    positions: Positions
    steps: Callable[[int], Iterator[Step]]
    """The steps of the grid from the finest on, without those whose cells are narrower than a width."""
    written: Callable[[Positions], Sequence[str]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Records:
    """The records of a table along a scale."""

    places: Positions
    """Where the values lie, ascending."""
    below: NDArray[np.int64]
    """Records with a value before each one, and of all."""

    def within(self, first: Positions, last: Positions) -> NDArray[np.int64]:
        """Return how many records lie from the first to the last position of each cell."""
        starts = np.searchsorted(self.places, first)
        stops = np.searchsorted(self.places, last, side="right")
        return np.asarray(self.below[np.maximum(stops, starts)] - self.below[starts])

    def narrowest(self, least: int) -> int:
        """Return the least width that a cell of several values can have with so many records."""
        starts = np.arange(len(self.places))
        stops = np.maximum(np.searchsorted(self.below[1:], self.below[:-1] + least), starts + 1)
        starts, stops = starts[stops < len(starts)], stops[stops < len(starts)]
        return int((self.places[stops] - self.places[starts]).min()) + 1 if len(starts) else 1


def _towards_others(
    step: Step, first: Positions, last: Positions, places: Positions, *, upper: bool
) -> tuple[Positions, Positions]:
    """Join a cell beyond which there is no value with the next one, on the side where there are some."""
    if upper:
        start, stop = step(first - 1, upper)
        joined = (last >= places[-1]) & (first <= last) & (start <= stop)
        return np.where(joined, start, first), last
    start, stop = step(last + 1, upper)
    joined = (first <= places[0]) & (first <= last) & (start <= stop)
    return first, np.where(joined, stop, last)


def _by_rank(values: pl.Series, counts: NDArray[np.int64], least: int) -> WideEnds:
    """Let each end go outward until it has passed so many records, its own among them."""
    size = len(counts)
    below = np.append(0, np.cumsum(counts))
    first = np.searchsorted(below, below[1:] - least, side="right") - 1
    last = np.searchsorted(below, below[:-1] + least) - 1
    lost = np.stack((first < 0, last >= size))
    codes = np.arange(size)
    first, last = np.where(lost[0], codes, first), np.where(lost[1], codes, last)
    texts = quoted(dictionary_text(values)).to_list()
    return WideEnds(
        places=codes,
        low=first,
        high=last,
        first=first.astype(np.int32),
        last=last.astype(np.int32),
        lost=lost,
        written=lambda places: [texts[place] for place in places.tolist()],
    )


def _scale_of(column: Column, values: pl.Series) -> _Scale | None:
    """Return where numbers or dates lie; None for values without a grid."""
    kind = values.dtype
    if kind.is_integer():
        return _whole(_narrow(values.to_list()), str)
    if column.numbers is not None:
        return _decimal(column.numbers, kind)
    if kind == pl.String:
        values = values.str.to_date("%Y-%m-%d", strict=False)
        return _days(values) if values.null_count() == 0 else None
    if kind == pl.Date:
        return _days(values)
    return _moments(values) if isinstance(kind, pl.Datetime) else None


# Numbers.


def _whole(positions: Positions, text: Callable[[int], str]) -> _Scale:
    return _Scale(
        positions=positions,
        steps=lambda narrowest: _number_steps(positions, narrowest, whole=True),
        written=lambda places: [text(int(place)) for place in places],
    )


def _decimal(numbers: Sequence[Fraction], kind: pl.DataType) -> _Scale:
    """Return where decimal numbers lie, as whole multiples of the last decimal of any of them."""
    decimals = max(map(_decimals, {number.denominator for number in numbers}), default=0)
    unit = 10**decimals
    positions = _narrow([number.numerator * (unit // number.denominator) for number in numbers])
    shown = kind.scale if isinstance(kind, pl.Decimal) else None

    def text(position: int) -> str:
        number = Fraction(position, unit)
        if kind.is_float() and abs(number) < _LARGEST_FLOAT:
            near = str(dictionary_text(pl.Series([float(number)]))[0])
            if Fraction(near) == number:
                return near
        return _decimal_text(position, decimals, shown)

    return _Scale(
        positions=positions,
        steps=lambda narrowest: _number_steps(positions, narrowest, whole=not decimals),
        written=lambda places: [text(int(place)) for place in places],
    )


def _decimals(denominator: int) -> int:
    """Return how many decimals a fraction has with a denominator of the form 2^a 5^b."""
    return next(digits for digits in count() if 10**digits % denominator == 0)


def _decimal_text(position: int, decimals: int, shown: int | None) -> str:
    """Write a multiple of a power of ten: with so many decimals, or without zeros at the end."""
    digits = str(abs(position)).rjust(decimals + 1, "0")
    whole, part = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    part = part.rstrip("0") if shown is None else part.ljust(shown, "0")
    return f"{'-' if position < 0 else ''}{whole}{'.' if part else ''}{part}"


def _narrow(numbers: list[int]) -> Positions:
    """Return ascending integers as an array of 64-bit integers where cells around them fit into these, too."""
    fit = not numbers or max(abs(numbers[0]), abs(numbers[-1])) < _FITS
    return np.array(numbers, dtype=np.int64 if fit else object)


def _number_steps(positions: Positions, narrowest: int, *, whole: bool) -> Iterator[Step]:
    """Yield the cells of 1, 2, 5, 10, ... units; behind them those from -w to w."""
    reach = max(abs(int(positions[0])), abs(int(positions[-1]))) + 1
    last = next(width for width in _widths() if width >= reach)
    offset = int(whole)

    def cells(width: int) -> Step:
        def step(places: Positions, upper: bool) -> tuple[Positions, Positions]:
            if upper:
                ends = -(-(places + offset) // width) * width - offset
                return ends - (width - 1), ends
            starts = places // width * width
            return starts, starts + (width - 1)

        return step

    def around_zero(width: int) -> Step:
        def step(places: Positions, upper: bool) -> tuple[Positions, Positions]:
            end = width - (offset if upper else 1)
            start = end - 2 * width + 1
            within = (places >= start) & (places <= end)
            return places * 0 + start, np.where(within, end, start - 1)

        return step

    yield from (cells(width) for width in _widths(last) if 2 * width >= min(narrowest, last))
    if positions[0] < 0 <= positions[-1]:
        yield from (around_zero(width) for width in _widths(last) if 2 * width >= narrowest)


def _widths(last: int | None = None) -> Iterator[int]:
    """Yield 1, 2, 5, 10, 20, 50, ..., up to a last one."""
    widths = (digit * 10**power for power in count() for digit in (1, 2, 5))
    return widths if last is None else takewhile(last.__ge__, widths)


# Dates.


def _days(values: pl.Series) -> _Scale | None:
    days = values.to_physical().to_numpy().astype(np.int64)
    first, stop = _of_month(np.array([12, 12 * _YEARS])).tolist()
    if days[0] < first or days[-1] >= stop:
        return None

    def cells(months: int) -> Step:
        def step(places: Positions, upper: bool) -> tuple[Positions, Positions]:
            cell = _months_of(places, "D") // months
            starts, stops = _of_month(cell * months), _of_month((cell + 1) * months)
            return np.maximum(starts, first), np.minimum(stops, stop) - 1

        return step

    return _Scale(
        positions=days,
        steps=lambda narrowest: (cells(months) for months in _month_widths() if 62 * months >= narrowest),
        written=lambda places: dictionary_text(pl.Series(places.astype(np.int32)).cast(pl.Date)).to_list(),
    )


def _moments(values: pl.Series) -> _Scale | None:
    """Return where dates with a time lie; the cells of upper ends reach to the start of the next one."""
    kind = values.dtype
    assert isinstance(kind, pl.Datetime)
    unit = kind.time_unit
    day = 86_400 * _TICKS[unit]
    ticks = values.to_physical().to_numpy().astype(np.int64)
    reach = (1 << 63) // day - 1  # nanoseconds count three centuries
    first, last = (max(-reach, min(reach, start)) for start in _of_month(np.array([12, 12 * _YEARS])).tolist())
    if ticks[0] < first * day or ticks[-1] >= last * day:
        return None

    def even(seconds: int) -> Step:
        width = seconds * _TICKS[unit]

        def step(places: Positions, upper: bool) -> tuple[Positions, Positions]:
            starts = (places - upper) // width * width
            return starts + upper, starts + (width - 1 + upper)

        return step

    def months_of(months: int) -> Step:
        def step(places: Positions, upper: bool) -> tuple[Positions, Positions]:
            cell = _months_of(places - upper, unit) // months
            starts, stops = _of_month(cell * months), _of_month((cell + 1) * months)
            inside = (starts >= first) & (stops < last)
            starts, stops = np.where(inside, starts, 0) * day, np.where(inside, stops, 0) * day
            return starts + upper, stops - 1 + upper

        return step

    def steps(narrowest: int) -> Iterator[Step]:
        yield from (even(seconds) for seconds in (60, 3_600, 86_400) if 2 * seconds * _TICKS[unit] >= narrowest)
        yield from (months_of(months) for months in _month_widths())

    return _Scale(
        positions=ticks,
        steps=steps,
        written=lambda places: dictionary_text(pl.Series(places).cast(kind)).to_list(),
    )


def _month_widths() -> Iterator[int]:
    """Yield the months in a month, a quarter, a year, 10, 20, 50, ... years."""
    return iter((*_MONTHS, *(12 * years for years in _widths(_YEARS) if years >= 10)))


def _months_of(places: NDArray[np.int64], unit: str) -> NDArray[np.int64]:
    """Return the month of each day or moment, counted from January of year 0."""
    return np.asarray(places.astype(f"M8[{unit}]").astype("M8[M]").astype(np.int64) + 1970 * 12)


def _of_month(months: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the day on which months start that are counted from January of year 0."""
    return np.asarray((months - 1970 * 12).astype("M8[M]").astype("M8[D]").astype(np.int64))
