"""The true values of a column in their natural order, and the ranks of positions among them.

Equal numbers have one rank, however they are written, and so have equal dates. The encoding of tables is not used here:
a reader of the table would order its values in the same way.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.verification.cell_syntax import cell_text
from shoal.verification.notations import Place, places_of, ways_to_read
from shoal.verification.scales import Position, Scale, is_plain_number, moment_of, number_of

_MAX_CODE_RANGE = 1 << 16
"""Largest range of integers, dates and categories that are their own codes."""
_MAX_WHOLE = 1 << 62
"""Integers stay below this bound, so that differences fit into 64 bits."""
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000}
_DAY = 86_400 * 10**9
_MIN_VALUES_SEARCHED, _MAX_TEXTS_IN_PYTHON = 20_000, 1_000
"""Bounds for searching values by position, and for handling texts in Python."""
_DIGITS = r"^-?(0|[1-9][0-9]{0,17})$"
_DECIMAL = r"^-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,99})?$"
_ISO_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9].*)?$"


def encode_values(series: pl.Series) -> tuple[NDArray[Any], pl.Series]:
    """Encode a column: compute a code per row, and the value of each code, in any order.

    A missing value has the code after the last one. Integers, dates and categories of a small range have a code for
    every value of the range, whether it occurs or not.
    """
    if series.dtype.is_float():
        series = series.fill_nan(None)
    kind = series.dtype
    if series.null_count() == len(series):
        return np.zeros(len(series), dtype=np.int32), series.head(0)
    # Types with few possible values are their own codes.
    if isinstance(kind, pl.Enum):
        return _filled(series.to_physical(), 0, len(kind.categories)), kind.categories.cast(kind)
    if kind == pl.Boolean:
        return _filled(series.cast(pl.UInt8), 0, 2), pl.Series([False, True])
    if kind == pl.Date or (kind.is_integer() and kind not in (pl.Int128, pl.UInt128)):
        physical = series.to_physical()
        low, high = physical.min(), physical.max()
        if isinstance(low, int) and isinstance(high, int) and high - low < _MAX_CODE_RANGE and high < _MAX_WHOLE:
            values = pl.Series(range(low, high + 1), dtype=physical.dtype).cast(kind)
            return _filled(physical, low, high - low + 1), values
    if kind in (pl.Categorical, pl.Int128, pl.UInt128) or kind.is_object() or kind.is_nested():
        series = cell_text(series)
    if series.dtype == pl.String:  # as fast as Arrow, and does not import it
        values = series.drop_nulls().unique()
        places = series.cast(pl.Enum(values)).to_physical().cast(pl.Int32)
    else:
        found = series.to_arrow(compat_level=pl.CompatLevel.newest()).dictionary_encode()
        values, places = pl.Series(found.dictionary).cast(series.dtype), pl.Series(found.indices)
    codes: NDArray[Any] = (places.fill_null(len(values)) if series.null_count() else places).to_numpy()
    return codes, values


def _filled(physical: pl.Series, low: int, missing: int) -> NDArray[Any]:
    """Shift integers to start at 0, in a type that has room for the code of a missing value."""
    kind = np.uint8 if missing < 1 << 8 else np.int32
    numbers = (physical.fill_null(low) if physical.null_count() else physical).to_numpy()
    # Unsigned arithmetic modulo the width of the type: small differences are exact for all signs.
    codes: NDArray[Any] = (numbers - numbers.dtype.type(low)).view(f"u{numbers.itemsize}").astype(kind)
    if physical.null_count():
        codes[physical.is_null().to_numpy()] = missing
    return codes


def format_values(values: pl.Series) -> pl.Series:
    """Format values as a release writes them: `39`, `0.5`, `True`, `2020-01-31T12:00:00`.

    Floats with an exponent may be written in another way, so their numbers must be compared as well.
    """
    kind = values.dtype
    if kind == pl.Boolean:
        return cell_text(values)
    if isinstance(kind, pl.Datetime):
        return values.dt.to_string("%Y-%m-%dT%H:%M:%S%.f" + ("" if kind.time_zone is None else "%:z"))
    if kind in (pl.Time, pl.Duration):
        return values.dt.to_string("iso")
    return values.cast(pl.String)


def scale_of(values: pl.Series) -> Scale:
    """Detect the scale of a column's distinct values: text is numbers, or dates, if all of it is."""
    kind = values.dtype
    if kind.is_numeric():
        return "number"
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        return "date"
    if kind == pl.Time:
        return "time"
    if kind != pl.String or not len(values):
        return "text"
    # The first value rules out most columns of names.
    first = values[0] or ""
    if _is_number(first) and (values.str.contains(_DIGITS).all() or all(map(_is_number, values))):
        return "number"
    if moment_of(first) is not None and values.str.contains(_ISO_DATE).all():
        return "date" if all(moment_of(text) is not None for text in values) else "text"
    return "text"


def _is_number(text: str) -> bool:
    return re.fullmatch(_DIGITS, text) is not None or is_plain_number(text)


class Values:
    """The distinct values of a column, and their order.

    Parameters
    ----------
    distinct : polars.Series
        The values, possibly repeated; null is a missing value.
    scale : Scale, optional
        The scale on which the values are interpreted; by default their own. Values that are not on it come last.

    Examples
    --------
    >>> values = Values(pl.Series(["9", "10", "9.0"]))
    >>> values.rank_of_code.tolist(), values.size, values.missing
    ([0, 1, 0], 2, 2)
    >>> values.below(Fraction(10))
    (1, 2)
    """

    def __init__(self, distinct: pl.Series, scale: Scale | None = None) -> None:
        self.distinct = distinct
        """The values, in the order of their codes."""
        self.scale: Scale = scale_of(distinct) if scale is None else scale
        """The scale of the values."""
        kind = distinct.dtype
        self.ordered = self.scale != "text" or isinstance(kind, pl.Enum) or kind.is_temporal()
        """Whether the order of the ranks is meaningful."""
        ranks, self._items = _ranked(distinct.drop_nulls() if distinct.null_count() else distinct, self.scale)
        self.placed = len(self._items)
        """Number of ranks with a position on the scale, which come first; 0 for text."""
        self.size = int(ranks.max(initial=-1)) + 1
        """Number of ranks, without that of a missing value."""
        self.rank_of_code: NDArray[np.int32] = ranks
        """The rank of each code."""
        if distinct.null_count():
            self.rank_of_code = np.full(len(distinct), self.missing, dtype=np.int32)
            self.rank_of_code[distinct.is_not_null().to_numpy()] = ranks

    @property
    def missing(self) -> int:
        """The rank of a missing value, after all others."""
        return self.size

    def __len__(self) -> int:
        return self.size + 1

    def ranks(self, codes: NDArray[np.integer]) -> NDArray[np.int32]:
        """Look up the rank of each row, given its code."""
        return np.asarray(np.append(self.rank_of_code, np.int32(self.missing))[codes])

    def below(self, position: Position) -> tuple[int, int]:
        """Count the ranks below a position, and those not above it."""
        return self._items.below(position)

    def find(self, text: str) -> int:
        """Find the rank of a text, as a value or as an equal number or date; -1 if there is none."""
        # A dictionary of all values pays off only for small columns; a search among positions finds equal numbers, too.
        position = self.position_of(text) if self._many else None
        if position is None:
            rank = self.known.get(text)
            if rank is not None:
                return rank
            position = self.position_of(text)
            if position is None:
                plain = self._rank_of_plain_text.get(text)
                return self._rank_in_another_notation(text) if plain is None else plain
        low, high = self.below(position)
        return low if low < high else self._rank_in_another_notation(text)

    def find_written(self, texts: pl.Series) -> NDArray[np.int64]:
        """Find the rank of each text that is spelled exactly like a value; -1 for any other.

        If there are many values and few texts, texts with a position are left to `below`.
        """
        if not self._many:
            return np.array([self.known.get(text, -1) for text in texts], dtype=np.int64)
        if self.scale != "text" and len(texts) < _MAX_TEXTS_IN_PYTHON:
            return np.full(len(texts), -1, dtype=np.int64)
        values = pl.DataFrame({"text": format_values(self.distinct), "rank": self.rank_of_code.astype(np.int64)})
        found = texts.alias("text").to_frame().join(values, on="text", how="left", maintain_order="left")
        return np.asarray(found.get_column("rank").fill_null(-1).to_numpy())

    @property
    def _many(self) -> bool:
        """Whether a dictionary of all texts takes longer than looking for a few."""
        return len(self.distinct) > _MIN_VALUES_SEARCHED

    def position_of(self, text: str) -> Position | None:
        """Look up the position of a text on the scale of the values; None if it has none."""
        if self.scale == "number":
            return number_of(text)
        return None if self.scale == "text" else moment_of(text, self.scale)

    @cached_property
    def texts(self) -> pl.Series:
        """The text of the values by code, in which whole floats are written like integers."""
        return cell_text(self.distinct) if self.distinct.dtype.is_float() else format_values(self.distinct)

    @cached_property
    def known(self) -> dict[str, int]:
        """The rank of each value by its text."""
        known = dict(zip(format_values(self.distinct).to_list(), self.rank_of_code.tolist(), strict=True))
        if self.distinct.dtype == pl.Boolean:  # files write truth values in lower case
            known |= {text.lower(): rank for text, rank in known.items()}
        return known

    @cached_property
    def _rank_of_plain_text(self) -> dict[str, int]:
        """Ranks by text without a redundant fraction or time of day (`30.0`)."""
        plain = (text.removesuffix(".0").removesuffix("T00:00:00") for text in self.known)
        return dict(zip(plain, self.known.values(), strict=True))

    def _rank_in_another_notation(self, text: str) -> int:
        """Find the rank of the value that is the same number or date as a text; -1 if there is none."""
        places = [*places_of(text)]
        # Notations first: a time with an offset from UTC has its local day there, and the day of UTC as a position.
        if self.scale != "number":
            for ranks in self._ranks_by_notation:
                for place in places:
                    if place in ranks:
                        return ranks[place]
        found = (self.below(position) for scale, position in places if scale == self.scale)
        return next((low for low, high in found if low < high), -1)

    @cached_property
    def _ranks_by_notation(self) -> list[dict[Place, int]]:
        return [dict(zip(places, self.known.values(), strict=True)) for places in ways_to_read([*self.known])]


def _ranked(values: pl.Series, scale: Scale) -> tuple[NDArray[np.int32], _Positions]:
    """Rank the values, and collect the positions of the ranks that have one."""
    kind = values.dtype
    if not len(values) or scale == "text":
        # Declared categories and durations have their own order, text that of its characters.
        return _dense(values), _Positions([], int)
    if scale == "number" and kind.is_numeric():
        items = values.unique().sort()
        if kind == pl.Float64:
            return _dense(values), _Floats(items)
        if kind.is_integer() or kind.is_decimal():
            return _dense(values), _Positions(items, int if kind.is_integer() else Fraction)
        return _dense(values), _Positions(
            items.cast(pl.String), Fraction
        )  # a float stands for the decimal that is printed for it
    # Dates and times have positions in nanoseconds in every unit.
    if scale == "date" and kind == pl.Date:
        return _dense(values), _Positions(values.unique().sort().to_physical(), _DAY.__mul__)
    if scale == "date" and isinstance(kind, pl.Datetime):
        return _dense(values), _Positions(values.unique().sort().to_physical(), _UNITS[kind.time_unit].__mul__)
    if scale == "time" and kind == pl.Time:
        return _dense(values), _Positions(values.unique().sort().to_physical(), int)
    return _ranked_texts(format_values(values), scale)


def _ranked_texts(texts: pl.Series, scale: Scale) -> tuple[NDArray[np.int32], _Positions]:
    """Rank text that holds numbers, dates or times; text without a position comes last."""
    # Polars parses integers and decimals of moderate length; other text is parsed one by one.
    if scale == "number" and texts.str.contains(_DIGITS).all():
        numbers = texts.cast(pl.Int64)
        return _dense(numbers), _Positions(numbers.unique().sort(), int)
    if scale == "number" and texts.str.contains(_DECIMAL).all():
        return _ranked_decimals(texts)
    read = number_of if scale == "number" else partial(moment_of, scale=scale)
    positions = [read(text) for text in texts]
    placed = sorted({position for position in positions if position is not None})
    strays = sorted({text for text, position in zip(texts, positions, strict=True) if position is None})
    rank_of = {position: rank for rank, position in enumerate(placed)}
    stray_of = {text: rank for rank, text in enumerate(strays, start=len(placed))}
    ranks = [
        stray_of[text] if position is None else rank_of[position]
        for text, position in zip(texts, positions, strict=True)
    ]
    return np.array(ranks, dtype=np.int32), _Positions(placed, lambda position: position)


def _ranked_decimals(texts: pl.Series) -> tuple[NDArray[np.int32], _Positions]:
    """Rank decimal numbers: floats sort them, and exact fractions those that share a float."""
    floats = texts.cast(pl.Float64).to_numpy()
    order = np.argsort(floats, kind="stable")
    # Runs of numbers that share a float are sorted again, exactly.
    starts = np.flatnonzero(np.diff(floats[order], prepend=-np.inf, append=np.inf))
    new = np.zeros(len(order), dtype=np.bool_)
    new[starts[:-1]] = True
    for start, stop in pairwise(starts.tolist()):
        if stop - start > 1:
            exact = {at: Fraction(texts[at]) for at in order[start:stop].tolist()}
            run = sorted(exact, key=exact.__getitem__)
            order[start:stop] = run
            new[start + 1 : stop] = [exact[one] != exact[other] for one, other in pairwise(run)]
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.cumsum(new) - 1
    return ranks, _Positions(texts.gather(order[new]), Fraction)


def _dense(values: pl.Series) -> NDArray[np.int32]:
    # For few texts a plain sort is faster than the setup of a rank.
    if values.dtype == pl.String and len(values) < _MAX_TEXTS_IN_PYTHON:
        texts = values.to_list()
        place_of = {text: rank for rank, text in enumerate(sorted(set(texts)))}
        return np.array([place_of[text] for text in texts], dtype=np.int32)
    return values.rank("dense").cast(pl.Int32).to_numpy() - np.int32(1)


class _Positions(Sequence[Position]):
    """Exact positions of distinct values in ascending order, computed on access: a binary search needs few."""

    def __init__(self, values: Sequence[Any] | pl.Series, exact: Callable[[Any], Position]) -> None:
        self._values = values
        self._exact = exact
        self._at: Callable[[Any], Any] = values.__getitem__
        if isinstance(values, pl.Series) and values.dtype.is_integer():
            numbers = values.to_numpy()
            if numbers.dtype.kind in "iu":  # elements of an array are accessed much faster
                self._at = numbers.item

    def below(self, position: Position) -> tuple[int, int]:
        """Count the values below a position, and those not above it."""
        low = bisect_left(self, position)
        return low, low + (low < len(self) and self[low] == position)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, at: Any) -> Any:
        return self._exact(self._at(at))


class _Floats(_Positions):
    """Positions of floats, each of which stands for the decimal number that is printed for it."""

    def __init__(self, values: pl.Series) -> None:
        self._floats = values.to_numpy()
        super().__init__(values, lambda value: Fraction(repr(value)))

    def below(self, position: Position) -> tuple[int, int]:
        """Count the values below a position, and those not above it, with a search among floats."""
        try:
            near = float(position)
        except OverflowError:
            return (0, 0) if position < 0 else (len(self), len(self))
        # Rounding keeps the order except for ties, and at most one value ties with the position.
        low, high = (int(np.searchsorted(self._floats, near, side)) for side in ("left", "right"))
        if low == high:
            return low, high
        exact = self[low]
        return (low, high) if exact == position else (high, high) if exact < position else (low, low)
