"""Published tables for computation: bounds of numbers and dates, their midpoints, and categories.

Only the published cells and the public certificate are used. Cells are interpreted as any reader would
(`shoal.verification.read_table`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeAlias

import polars as pl

from shoal.errors import ColumnError
from shoal.io import DateForm, understand
from shoal.verification import ReadColumn, collect_meanings, read_table
from shoal.verification.scales import Scale
from shoal.verification.sub_domains import AnyOf, Between, Everything, Listed, Span, SubDomain

_CODES = ("prefix", "three-digit-zip", "labels", "regions", "one-value")
"""Coarsenings whose cells are names, even if they look like numbers."""
_MISSING = Listed(texts=(None,))
_MOST = 1 << 63
_DAY = 86_400 * 10**9
_EPOCH = datetime(1970, 1, 1)

Types: TypeAlias = Mapping[str, pl.DataType]
_NO_TYPES: Types = MappingProxyType({})
_SCALES: Mapping[type, Scale] = {pl.Date: "date", pl.Datetime: "date", pl.Time: "time"}
"""Scale of the values of a type; other types are numbers."""

Ends = tuple[Fraction | int | None, Fraction | int | None]
"""The least and the greatest position that a cell may represent; None for an open side."""
Shown: TypeAlias = "Callable[[pl.Series, ReadColumn, Sequence[Ends]], list[pl.Series]]"
"""A function that converts a published column, given its interpretation and the ends of its labels."""


@dataclass(frozen=True, kw_only=True)
class Categories:
    """The categories of a column."""

    labels: tuple[str, ...]
    """The distinct cells, in the order of the published table."""
    ordered: bool
    """Whether the order of labels is an order of the values."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Computable:
    """A published table converted for computation."""

    frame: pl.DataFrame
    categories: Mapping[str, Categories]
    """The columns of categories."""

    def __repr__(self) -> str:
        return f"Computable(columns={self.frame.width}, categories={len(self.categories)})"


def bounds_of(
    frame: pl.DataFrame, certificate: Mapping[str, Any], types: Mapping[str, pl.DataType] = _NO_TYPES
) -> Computable:
    """Convert numbers and dates to two columns of bounds each, and other quasi-identifiers to categories.

    Sensitive and insensitive columns have bounds if they were coarsened.

    Parameters
    ----------
    frame : polars.DataFrame
        The published table: recoded columns are ordered categories, all others have their own types.
    certificate : mapping
        Its public certificate, as a dictionary.
    types : mapping of column to polars.DataType, optional
        Types of the original values, which determine whether categories are ordered, and the type of a column of
        stars only.

    Raises
    ------
    ColumnError
        If the table has a column with the name of a bound.
    """
    return _computable(frame, certificate, types, _two_columns)


def midpoints_of(
    frame: pl.DataFrame, certificate: Mapping[str, Any], types: Mapping[str, pl.DataType] = _NO_TYPES
) -> Computable:
    """Convert like `bounds_of`, with the midpoint of the bounds in place of both."""
    return _computable(frame, certificate, types, _middle)


def _computable(frame: pl.DataFrame, certificate: Mapping[str, Any], types: Types, shown: Shown) -> Computable:
    quasi, parameters = certificate["columns"]["quasi_identifiers"], certificate["parameters"]
    star = parameters["star"]
    # Other columns that were coarsened have the same kinds of cells.
    attributes = [name for name in parameters.get("coarsen", ()) if name in frame.columns and name not in quasi]
    names = [*quasi, *attributes]
    meanings = collect_meanings(names, parameters)
    # Interpret the cells exactly as a reader with the public certificate would.
    original = frame
    frame = frame.with_columns(
        _in_common_form(_as_categories(frame.get_column(name), attributes), star) for name in names
    )
    # The original types decide whether a year is a number or a date.
    beside = pl.DataFrame(schema={name: types[name] for name in names if name in types})
    read = read_table(frame, names, star=star, meanings=meanings, true_values=beside)
    columns: list[pl.Series] = []
    categories: dict[str, Categories] = {}
    for column in frame:
        found = read.columns.get(column.name)
        ends = None if found is None else _ends(found, column, types.get(column.name))
        # Numbers and dates become bounds; all other columns stay, and recoded ones become categories.
        if found is not None and ends is not None:
            columns += shown(column, found, ends)
            continue
        columns.append(column if column.name not in attributes else original.get_column(column.name))
        if column.name in attributes:
            continue
        if found is not None and isinstance(column.dtype, pl.Enum) and not _is_untouched(found):
            as_came = found.meaning.kind in ("", "values") and not found.meaning.climbed
            ordered = any(isinstance(one, Between) for one in found.sub_domains)
            ordered = ordered or (as_came and types.get(column.name) == pl.Enum)
            labels = tuple(column.dtype.categories)
            categories[column.name] = Categories(labels=labels, ordered=ordered)
            if ordered:  # a star may be any of the values, so it has no place in the order
                kept = tuple(label for label in labels if label != star)
                categories[column.name] = Categories(labels=kept, ordered=True)
                text = column.cast(pl.String)
                columns[-1] = text.set(text == star, None).cast(pl.Enum(kept))
    _check_names(columns)
    return Computable(frame=pl.DataFrame(columns), categories=categories)


def _as_categories(column: pl.Series, attributes: Sequence[str]) -> pl.Series:
    """Make a column of text one of categories, as recoded columns are, if it is among some."""
    if column.name not in attributes or column.dtype != pl.String:
        return column
    return column.cast(pl.Enum(column.drop_nulls().unique().sort()))


def _in_common_form(column: pl.Series, star: str) -> pl.Series:
    """Convert the dates in a column of text to ISO 8601 if all of its cells except stars are dates.

    Only the published cells decide, because the format of the original also depends on suppressed cells.
    """
    if column.dtype not in (pl.String, pl.Enum, pl.Categorical):
        return column
    text = column.cast(pl.String)
    # Ambiguous dates, such as 01/02/2003, stay text.
    read = understand(text.set(text == star, None).to_frame(), [column.name])
    if column.name in read.ambiguous or not isinstance(read.forms.get(column.name), DateForm):
        return column
    written = read.frame.get_column(column.name).dt.to_string("iso").str.replace(" ", "T")
    cells = pl.select(pl.when(text == star).then(text).otherwise(written).alias(column.name)).to_series()
    return cells.cast(pl.Enum(cells.drop_nulls().unique().sort()))


def _is_untouched(found: ReadColumn) -> bool:
    """Check whether every cell is a single original value."""
    return found.meaning.kind in ("", "values") and all(
        isinstance(one, Listed) and len(one.texts) == 1 for one in found.sub_domains
    )


def _check_names(columns: Sequence[pl.Series]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            raise ColumnError(
                f"The release has a column '{column.name}', which a bound would be called like. Rename one of the two."
            )
        seen.add(column.name)


def _ends(found: ReadColumn, column: pl.Series, kind: pl.DataType | None) -> list[Ends] | None:
    """Compute the bounds of each label of a column of numbers, dates or times; None for other columns."""
    if found.problem is not None or found.meaning.kind in _CODES:
        return None
    # A column of stars has no values to infer the scale from.
    if kind is not None and all(isinstance(one, Everything) or one == _MISSING for one in found.sub_domains):
        found.scale = "number" if kind.is_numeric() else _SCALES.get(type(kind), "text")
    if found.scale == "text":
        return None
    if column.dtype in (pl.String, pl.Boolean) or column.dtype == pl.Null:
        return None  # not recoded
    joined = any(isinstance(one, Span | AnyOf) for one in found.sub_domains)
    # Text may consist of codes such as postal codes.
    if kind == pl.String and found.scale == "number" and not joined:
        return None  # possibly codes: no interval shows that they are numbers
    ends = [_end(found, one) for one in found.sub_domains]
    return None if any(one is None for one in ends) else [one for one in ends if one is not None]


def _end(found: ReadColumn, one: SubDomain) -> Ends | None:
    """Compute the least and the greatest position of a cell, None for an open side, or None if it has none."""
    # Stars and missing values are unbounded.
    if isinstance(one, Everything) or (isinstance(one, Listed) and one.texts == (None,)):
        return (None, None)
    # The bounds of a union are the extremes of its parts.
    if isinstance(one, AnyOf):
        parts = [_end(found, part) for part in one.parts]
        lows = [part[0] for part in parts if part is not None]
        highs = [part[1] for part in parts if part is not None]
        if len(lows) < len(parts):
            return None
        return (_least(lows), _greatest(highs))
    if isinstance(one, Listed):
        # A set that contains a word has no bounds.
        positions = [None if text is None else found.position_of(text) for text in one.texts]
        if any(position is None for position in positions):
            return None
        return (_least(positions), _greatest(positions))
    if not isinstance(one, Span):
        return None
    last = one.high
    if found.scale == "date" and last is not None and not one.high_included and last % _DAY == 0:
        last = last - _DAY  # the last day before
    return (one.low, last)


def _least(positions: Sequence[Fraction | int | None]) -> Fraction | int | None:
    known = [position for position in positions if position is not None]
    return min(known) if known and len(known) == len(positions) else None


def _greatest(positions: Sequence[Fraction | int | None]) -> Fraction | int | None:
    known = [position for position in positions if position is not None]
    return max(known) if known and len(known) == len(positions) else None


def _two_columns(column: pl.Series, found: ReadColumn, ends: Sequence[Ends]) -> list[pl.Series]:
    names = [f"{column.name}_{end}" for end in ("low", "high")]
    if _as_it_came(column, found):
        return [column.alias(name) for name in names]
    kind = _kind(found, [position for pair in ends for position in pair])
    return [_gathered(name, found, [pair[side] for pair in ends], kind) for side, name in enumerate(names)]


def _middle(column: pl.Series, found: ReadColumn, ends: Sequence[Ends]) -> list[pl.Series]:
    if _as_it_came(column, found):
        return [column]
    kind: Any = _kind(found, [position for pair in ends for position in pair])
    kind = pl.Float64() if found.scale == "number" else kind
    # Midpoints of dates are rounded down to days, those of times to microseconds.
    step = _DAY if kind == pl.Date else 1000
    middles = [None if low is None or high is None else Fraction(low + high) / 2 for low, high in ends]
    if found.scale != "number":
        middles = [None if one is None else Fraction(one // step * step) for one in middles]
    return [_gathered(column.name, found, middles, kind)]


def _as_it_came(column: pl.Series, found: ReadColumn) -> bool:
    """Check whether no cell of a column was recoded."""
    return not isinstance(column.dtype, pl.Enum) and found.meaning.kind in ("", "values")


def _kind(found: ReadColumn, positions: Sequence[Fraction | int | None]) -> pl.DataType:
    """Return the type of the bounds of a column."""
    known = [one for one in positions if one is not None]
    if found.scale == "number":
        # Integers if all bounds are integers that fit into 64 bits.
        whole = all(Fraction(one).denominator == 1 and -_MOST < one < _MOST for one in known)
        return pl.Int64() if whole else pl.Float64()
    if found.scale == "time":
        return pl.Time()
    return pl.Date() if all(one % _DAY == 0 for one in known) else pl.Datetime("us")


def _gathered(name: str, found: ReadColumn, positions: Sequence[Fraction | int | None], kind: pl.DataType) -> pl.Series:
    """Convert the position of each row to a number, a date or a time."""
    made: dict[type, Callable[[Any], Any]] = {
        pl.Int64: int,
        pl.Float64: float,
        pl.Time: lambda one: _moment(one).time(),
        pl.Date: lambda one: _moment(one).date(),
    }
    values = [None if one is None else made.get(type(kind), _moment)(one) for one in positions]
    return pl.Series(name, values, dtype=kind).gather(pl.Series(found.codes))


def _moment(position: Fraction | int) -> datetime:
    return _EPOCH + timedelta(microseconds=int(position) // 1000)
