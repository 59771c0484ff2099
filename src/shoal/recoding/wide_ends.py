"""Ends of intervals on a public grid, so that they are not exact values of only a few records.

The smallest interval that covers a group ends at values of records. If fewer records of the table than required have
such a value, the end is moved to the boundary of a grid cell: the first cell that contains enough records of the table.

* Dates: months, quarters, years, decades, then 20, 50, 100, 200, ... years, counted from year 0. Dates with a time have
  minutes, hours and days before these.
* Numbers: cells of 1, 2, 5, 10, 20, 50, ... steps of the last decimal place in the column, counted from 0. If even the
  largest cell contains too few records on its side of zero, the cells from -w to w are used.
* Other ordered values (declared categories, times, durations): the end moves outwards from the value until enough
  records are covered.

If the first or the last cell of a table contains too few records, it is merged with the next cell: the end is that of
the first cell, and the records of both are counted. Otherwise the end for one very old person would be the year 2999.
Cells of one value are not merged: their end would be the exact value of the youngest or oldest person.

Lower and upper ends both belong to their cells. Cells of integers and of days end at their last value (`[20, 29]`,
`[1990-01-01, 1990-12-31]`). Other cells end at the start of the next cell. As an upper end, this point belongs to the
cell that it closes, not to the next one.

All computations use integer arithmetic. If no cell is large enough, the value has no end that may be published.

Intervals that a coarsening made of the values of records go outward in the same way: classes of ordered values and
rectangles of points reach from one value of the table to another one. Intervals that were disjoint may overlap then;
those that become equal are one. A coarse value has the form `[20, 30)`, `[21, 25]`, `<18` or `>=65`, or it is a single
number or date. The hull of several values extends from the smallest lower end to the largest upper end: `[57, 91]`,
`[60, 94]` and `[83, 89]` become `[57, 94]`, and `<18` and `[18, 65)` become `<65`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import count, takewhile
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.errors import InfeasibleError
from shoal.hierarchy.distinct_values import encode_values
from shoal.table import Column
from shoal.table.text import dictionary_text, quote_text

Positions: TypeAlias = "NDArray[Any]"
"""Positions of values as integer multiples of a unit: 64-bit integers if they fit, otherwise Python integers."""
Step: TypeAlias = Callable[[Positions, bool], "tuple[Positions, Positions]"]
"""One resolution of a grid: maps positions, and whether they are upper ends, to the first and the last position of
their cells. The last position precedes the first if there is no cell."""

_FITS = 1 << 60
"""Bound below which positions are 64-bit integers, so that no cell overflows."""
_LARGEST_FLOAT = 10**308
_MONTHS = (1, 3, 12)
_YEARS = 10_000
"""Largest number of years in a cell of dates, which covers all dates."""
_TICKS = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""Ticks of each precision in a second."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class WideEnds:
    """The published ends of intervals that start or end at each value, by code."""

    places: Positions
    """Position of each value."""
    low: Positions
    """Lower end of an interval whose smallest value this is."""
    high: Positions
    """Upper end of an interval whose largest value this is."""
    first: NDArray[np.int32]
    """Smallest code within an interval with this lower end."""
    last: NDArray[np.int32]
    """Largest code within an interval with this upper end."""
    lost: NDArray[np.bool_]
    """Whether no interval may start (first row) or end (second row) at a value, of shape (2, values)."""
    format_ends: Callable[[Positions], Sequence[str]]
    """Formats positions as ends."""


def wide_ends(column: Column, counts: NDArray[np.int64], least: int) -> WideEnds:
    """Compute the published ends of intervals in an ordered column.

    Parameters
    ----------
    column : Column
        An ordered column with at least one value.
    counts : int64 array
        Number of records of the table with each value, by code.
    least : int
        Smallest number of records in the cell of an end, or with the value at which it stays.
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
    # Distinct values may have the same position, such as the texts 1 and 1.0.
    rare = np.flatnonzero(records.within(places, places) < least)
    for upper in (False, True):
        waiting = rare
        # Try coarser and coarser cells for the values without an admissible end.
        for step in scale.steps(records.narrowest(least)):
            if not len(waiting):
                break
            first, last = step(places[waiting], upper)
            enough = records.within(first, last) >= least
            enough |= records.within(*_towards_others(step, first, last, places, upper=upper)) >= least
            ends[int(upper)][waiting[enough]] = (last if upper else first)[enough]
            waiting = waiting[~enough]
        # Values that are left have no admissible end.
        lost[int(upper), waiting] = True
    return WideEnds(
        places=places,
        low=ends[0],
        high=ends[1],
        first=np.searchsorted(places, ends[0]).astype(np.int32),
        last=(np.searchsorted(places, ends[1], side="right") - 1).astype(np.int32),
        lost=lost,
        format_ends=scale.format_ends,
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Scale:
    """Positions of the values of a column, and the grid over them."""

    positions: Positions
    steps: Callable[[int], Iterator[Step]]
    """Yields the resolutions of the grid from the finest on, skipping those whose cells are narrower than a width."""
    format_ends: Callable[[Positions], Sequence[str]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Records:
    """The records of a table along a scale."""

    places: Positions
    """Positions of the values, in ascending order."""
    below: NDArray[np.int64]
    """Number of records before each value, and in total."""

    def within(self, first: Positions, last: Positions) -> NDArray[np.int64]:
        """Count the records from the first to the last position of each cell."""
        starts = np.searchsorted(self.places, first)
        stops = np.searchsorted(self.places, last, side="right")
        return np.asarray(self.below[np.maximum(stops, starts)] - self.below[starts])

    def narrowest(self, least: int) -> int:
        """Return the smallest width of a cell of several values with at least this many records."""
        starts = np.arange(len(self.places))
        # For each value, the nearest value at which enough records are covered.
        stops = np.maximum(np.searchsorted(self.below[1:], self.below[:-1] + least), starts + 1)
        starts, stops = starts[stops < len(starts)], stops[stops < len(starts)]
        return int((self.places[stops] - self.places[starts]).min()) + 1 if len(starts) else 1


def _towards_others(
    step: Step, first: Positions, last: Positions, places: Positions, *, upper: bool
) -> tuple[Positions, Positions]:
    """Merge cells of several values beyond the outermost values with their inner neighbours."""
    # Upper ends merge with the cell before, lower ends with the cell after.
    if upper:
        start, stop = step(first - 1, upper)
        joined = (last >= places[-1]) & (first < last) & (start <= stop)
        return np.where(joined, start, first), last
    start, stop = step(last + 1, upper)
    joined = (first <= places[0]) & (first < last) & (start <= stop)
    return first, np.where(joined, stop, last)


def _by_rank(values: pl.Series, counts: NDArray[np.int64], least: int) -> WideEnds:
    """Move each end outwards until enough records are covered, including those of the value itself."""
    size = len(counts)
    below = np.append(0, np.cumsum(counts))
    first = np.searchsorted(below, below[1:] - least, side="right") - 1
    last = np.searchsorted(below, below[:-1] + least) - 1
    lost = np.stack((first < 0, last >= size))
    codes = np.arange(size)
    # Values without an admissible end keep their own position.
    first, last = np.where(lost[0], codes, first), np.where(lost[1], codes, last)
    texts = quote_text(dictionary_text(values)).to_list()
    return WideEnds(
        places=codes,
        low=first,
        high=last,
        first=first.astype(np.int32),
        last=last.astype(np.int32),
        lost=lost,
        format_ends=lambda places: [texts[place] for place in places.tolist()],
    )


def _scale_of(column: Column, values: pl.Series) -> _Scale | None:
    """Return the scale of numbers or dates, or None for values without a grid."""
    kind = values.dtype
    if kind.is_integer():
        return _whole(_narrow(values.to_list()), str)
    if column.numbers is not None:
        return _decimal(column.numbers, kind)
    # Ordered text that is not numeric may consist of ISO dates.
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
        format_ends=lambda places: [text(int(place)) for place in places],
    )


def _decimal(numbers: Sequence[Fraction], kind: pl.DataType) -> _Scale:
    """Create the scale of decimal numbers, as integer multiples of the last decimal place of any of them."""
    decimals = max(map(_decimals, {number.denominator for number in numbers}), default=0)
    unit = 10**decimals
    positions = _narrow([number.numerator * (unit // number.denominator) for number in numbers])
    shown = kind.scale if isinstance(kind, pl.Decimal) else None

    def text(position: int) -> str:
        number = Fraction(position, unit)
        # Use the shortest spelling of a float if it is exact.
        if kind.is_float() and abs(number) < _LARGEST_FLOAT:
            near = str(dictionary_text(pl.Series([float(number)]))[0])
            if Fraction(near) == number:
                return near
        return _decimal_text(position, decimals, shown)

    return _Scale(
        positions=positions,
        steps=lambda narrowest: _number_steps(positions, narrowest, whole=not decimals),
        format_ends=lambda places: [text(int(place)) for place in places],
    )


def _decimals(denominator: int) -> int:
    """Return the number of decimal places of a fraction whose denominator has the form 2^a 5^b."""
    return next(digits for digits in count() if 10**digits % denominator == 0)


def _decimal_text(position: int, decimals: int, shown: int | None) -> str:
    """Format a multiple of a power of ten with a number of decimals, or without trailing zeros."""
    digits = str(abs(position)).rjust(decimals + 1, "0")
    whole, part = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    part = part.rstrip("0") if shown is None else part.ljust(shown, "0")
    return f"{'-' if position < 0 else ''}{whole}{'.' if part else ''}{part}"


def _narrow(numbers: list[int]) -> Positions:
    """Convert ascending integers to an array of 64-bit integers if the cells around them fit as well."""
    fit = not numbers or max(abs(numbers[0]), abs(numbers[-1])) < _FITS
    return np.array(numbers, dtype=np.int64 if fit else object)


def _number_steps(positions: Positions, narrowest: int, *, whole: bool) -> Iterator[Step]:
    """Yield the cells of 1, 2, 5, 10, ... steps, followed by those from -w to w."""
    # Cells beyond the largest absolute value would all be equal.
    reach = max(abs(int(positions[0])), abs(int(positions[-1]))) + 1
    last = next(width for width in _widths() if width >= reach)
    offset = int(whole)

    def cells(width: int) -> Step:
        def step(places: Positions, upper: bool) -> tuple[Positions, Positions]:
            # Upper ends of integers end at the last value of the cell, others at the start of the next cell.
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

    # Cells that are too narrow for the required records are skipped.
    yield from (cells(width) for width in _widths(last) if 2 * width >= min(narrowest, last))
    if positions[0] < 0 <= positions[-1]:
        yield from (around_zero(width) for width in _widths(last) if 2 * width >= narrowest)


def _widths(last: int | None = None) -> Iterator[int]:
    """Yield 1, 2, 5, 10, 20, 50, ..., up to a last width."""
    widths = (digit * 10**power for power in count() for digit in (1, 2, 5))
    return widths if last is None else takewhile(last.__ge__, widths)


# Dates.


def _days(values: pl.Series) -> _Scale | None:
    days = values.to_physical().to_numpy().astype(np.int64)
    # Only years from 1 to 9999 can be written.
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
        format_ends=lambda places: dictionary_text(pl.Series(places.astype(np.int32)).cast(pl.Date)).to_list(),
    )


def _moments(values: pl.Series) -> _Scale | None:
    """Create the scale of dates with a time; cells of upper ends extend to the start of the next cell."""
    kind = values.dtype
    assert isinstance(kind, pl.Datetime)
    unit = kind.time_unit
    day = 86_400 * _TICKS[unit]
    ticks = values.to_physical().to_numpy().astype(np.int64)
    # The range of 64-bit nanoseconds is about three centuries around 1970.
    reach = (1 << 63) // day - 1  # nanoseconds count three centuries
    first, last = (max(-reach, min(reach, start)) for start in _of_month(np.array([12, 12 * _YEARS])).tolist())
    if ticks[0] < first * day or ticks[-1] >= last * day:
        return None

    def even(seconds: int) -> Step:
        # Minutes, hours and days have a fixed number of ticks.
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
        format_ends=lambda places: dictionary_text(pl.Series(places).cast(kind)).to_list(),
    )


def _month_widths() -> Iterator[int]:
    """Yield the number of months in a month, a quarter, a year, and 10, 20, 50, ... years."""
    return iter((*_MONTHS, *(12 * years for years in _widths(_YEARS) if years >= 10)))


def _months_of(places: NDArray[np.int64], unit: str) -> NDArray[np.int64]:
    """Return the month of each day or moment, counted from January of year 0."""
    return np.asarray(places.astype(f"M8[{unit}]").astype("M8[M]").astype(np.int64) + 1970 * 12)


def _of_month(months: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first day of months that are counted from January of year 0."""
    return np.asarray((months - 1970 * 12).astype("M8[M]").astype("M8[D]").astype(np.int64))


_INTERVAL = re.compile(r"\[([^\[\]{}(),\"]+), ([^\[\]{}(),\"]+)([\])])")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class IntervalEnds:
    """The two ends of each value of a column, with their text.

    Open and closed ends at the same point have different ranks, so that ends can be compared by rank.
    """

    low: NDArray[np.int32]
    """Rank of each value's lower end among all lower ends."""
    high: NDArray[np.int32]
    """Rank of each value's upper end among all upper ends."""
    lows: tuple[str | None, ...]
    """Text of each lower end, or None if it is unbounded. All lower ends are closed."""
    highs: tuple[tuple[str | None, bool], ...]
    """Text of each upper end, or None if it is unbounded, and whether the end is closed."""

    def format_ends(self, low: int, high: int) -> str | None:
        """Format the interval between two ends; None if it is unbounded on both sides."""
        first, (last, included) = self.lows[low], self.highs[high]
        if first is None:
            return None if last is None else f"{'<=' if included else '<'}{last}"
        if last is None:
            return f">={first}"
        return f"[{first}, {last}{']' if included else ')'}"


def interval_ends(values: pl.Series) -> IntervalEnds | None:
    """Parse the ends of intervals; None if a value is neither an interval nor a single number or date.

    Parameters
    ----------
    values : polars.Series
        Text of the distinct values, without the missing value.

    Examples
    --------
    >>> import polars as pl
    >>> ends = interval_ends(pl.Series(["[57, 91]", "[60, 94]", "[83, 89]"]))
    >>> ends.format_ends(ends.low.min(), ends.high.max())
    '[57, 94]'
    """
    ends = [_ends(value) for value in values.to_list()]
    ends_of_values = [text for low, high, _ in ends for text in (low, high) if text is not None]
    places = _places(ends_of_values)
    if places is None:
        return None
    # Sort keys: an unbounded lower end comes first, an unbounded upper end last.
    lows = [(low is not None, 0 if low is None else places[low]) for low, _, _ in ends]
    highs = [(high is None, 0 if high is None else places[high], included) for _, high, included in ends]
    low_of = {key: rank for rank, key in enumerate(sorted(set(lows)))}
    high_of = {key: rank for rank, key in enumerate(sorted(set(highs)))}
    # If equal ends have several spellings, the first one is used.
    first_low = {key: low for key, (low, _, _) in zip(lows[::-1], ends[::-1], strict=True)}
    first_high = {key: (high, included) for key, (_, high, included) in zip(highs[::-1], ends[::-1], strict=True)}
    return IntervalEnds(
        low=np.array([low_of[key] for key in lows], dtype=np.int32),
        high=np.array([high_of[key] for key in highs], dtype=np.int32),
        lows=tuple(first_low[key] for key in low_of),
        highs=tuple(first_high[key] for key in high_of),
    )


def _ends(value: str) -> tuple[str | None, str | None, bool]:
    """Parse the lower end, the upper end, and whether the upper end is closed."""
    if value.startswith("<"):
        return None, value[1:], False
    if value.startswith(">="):
        return value[2:], None, False
    found = _INTERVAL.fullmatch(value)
    return (value, value, True) if found is None else (found[1], found[2], found[3] == "]")


def _places(written: Sequence[str]) -> dict[str, Fraction] | dict[str, int] | None:
    """Parse all ends as numbers, or all of them as dates; None if neither works."""
    try:
        return {text: Fraction(text) for text in written}
    except (ValueError, ZeroDivisionError):
        pass
    try:
        return {text: date.fromisoformat(text).toordinal() for text in written}
    except ValueError:
        return None


def widen_classes(
    before: pl.Series, after: pl.Series, least: int, *, counted: NDArray[np.bool_] | None = None
) -> pl.Series:
    """Move the ends of classes outward until at least so many records lie in the cell of each end.

    Parameters
    ----------
    before : polars.Series
        The values of the rows.
    after : polars.Series
        The class of each row, declared in the order of the classes: the interval from its least value to its greatest.
    least : int
        The records of the table that the cell of an end must have, or the value at which it stays.
    counted : bool array, optional
        Rows that count once, such as one row of each person; by default all rows count.

    Returns
    -------
    polars.Series
        The same rows. Classes of values other than numbers and days stay as they are: they have no grid, or no order
        between overlapping intervals.

    Examples
    --------
    >>> ages = pl.Series("age", [21, 22, 22, 23, 28, 30, 30, 31, 35])
    >>> classes = ["[21, 23]"] * 4 + ["[28, 35]"] * 5
    >>> widen_classes(ages, pl.Series("age", classes, dtype=pl.Enum(["[21, 23]", "[28, 35]"])), 3).unique().to_list()
    ['[20, 23]', '[20, 39]']
    """
    column = encode_values(before)
    if column is None or not column.ordered:
        return after
    # The ends of each class, moved outwards if too few rows have them.
    counts = np.bincount(column.codes if counted is None else column.codes[counted], minlength=column.size)
    ends = wide_ends(column, counts, least)
    present = column.codes < len(ends.places)
    codes, classes = column.codes[present].astype(np.int64), after.to_physical().to_numpy()[present].astype(np.int64)
    low, high = _extremes(codes, classes)
    begins = np.where(ends.lost[0, low], ends.places[low], ends.low[low])
    stops = np.where(ends.lost[1, high], ends.places[high], ends.high[high])
    alone = (low == high) & (begins == ends.places[low]) & (stops == ends.places[low])
    if (~alone & (ends.lost[0, low] | ends.lost[1, high])).any():
        raise InfeasibleError(
            f"Intervals of '{after.name}' would end at values that fewer than {least} records have, and no wider end "
            "has enough. Coarsen it in another way with ",
            Suggestion("coarsen"),
            ", or publish the values at the ends with ",
            Suggestion("exact_ends", True),
            ".",
        )
    # Classes of a single value keep its text.
    plain = dictionary_text(column.dictionary).gather(low)
    texts = [
        value if single else f"[{begin}, {stop}]"
        for value, single, begin, stop in zip(
            plain, alone, ends.format_ends(begins), ends.format_ends(stops), strict=True
        )
    ]
    if interval_ends(pl.Series(texts, dtype=pl.String)) is None:
        return after
    # Sort the texts by their ends, and gather one for each row.
    order = np.lexsort(tuple(np.unique(some, return_inverse=True)[1] for some in (stops, begins)))
    kind = pl.Enum(list(dict.fromkeys(texts[place] for place in order)))
    of_class = np.zeros(int(classes.max()) + 1, dtype=np.int64)
    of_class[np.unique(classes)] = np.arange(len(texts))
    rows = np.full(len(before), len(texts), dtype=np.int64)
    rows[present] = of_class[classes]
    return pl.Series(after.name, [*texts, None], dtype=kind).gather(rows)


def _extremes(codes: NDArray[np.int64], classes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and the greatest code of each class that has rows, in the order of the classes."""
    numbers, of_row = np.unique(classes, return_inverse=True)
    low, high = np.full(len(numbers), codes.max(), dtype=np.int64), np.zeros(len(numbers), dtype=np.int64)
    np.minimum.at(low, of_row, codes)
    np.maximum.at(high, of_row, codes)
    return low, high
