"""What a column holds, and which coarsening fits that."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING

import polars as pl

from shoal.table.names import means_postal_code, words_of

if TYPE_CHECKING:
    from shoal.disclosure_risk import PossibleIdentifier
    from shoal.inspection.counting import CountedColumn

__all__ = ["NAMING", "ColumnKind", "kind_of"]

NAMING = frozenset(
    ("name", "telephone", "fax", "email", "social security", "medical record", "health plan", "account", "IBAN")
) | frozenset(
    ("certificate or license", "vehicle", "device", "URL", "IP address", "biometric", "photograph", "unique number")
)
"""What people are named by: kinds of `detect_identifiers` that no release should show."""
_NEARLY_ALL = 0.9
"""Uniqueness from which on a value is nearly everybody's own."""
_LONG_TEXT = 40
"""Characters on average from which on text is written, not chosen."""
_WORDS = 3
"""Words on average from which on it is."""
_CANONICAL = r"^(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]+)$"
_BINS = 10
"""Bins that a proposal divides the range of a column into, about."""
_LEAST_ROWS = 20
"""Fewer rows may all differ by chance."""


@dataclass(frozen=True, kw_only=True)
class ColumnKind:
    """What a column holds."""

    name: str
    """ "number", "date", "category", "text" or "identifier"."""
    coarsen: str | None = None
    """What --coarsen says for a coarsening that fits; None where none does."""
    numbers: bool = False
    """Whether the values are numbers, whatever they are for."""


def kind_of(column: CountedColumn, found: PossibleIdentifier | None, *, dated: bool) -> ColumnKind:
    """Return what a column holds.

    Parameters
    ----------
    column : CountedColumn
        The column as it is meant.
    found : PossibleIdentifier, optional
        What it looks like.
    dated : bool
        Whether it holds dates, be they read or not.
    """
    values = column.dictionary
    if dated:
        return ColumnKind(name="date", coarsen=_part_of_dates(values))
    if found is not None and found.kind in NAMING:
        return ColumnKind(name="identifier")
    if values.dtype == pl.Boolean or len(values) < 2:
        return ColumnKind(name="category")
    if _are_codes(column, found):
        return ColumnKind(name="category", coarsen=_prefix(values))
    if values.dtype.is_numeric() or (values.dtype == pl.String and bool(values.str.contains(_CANONICAL).all())):
        return _of_numbers(column)
    if values.dtype == pl.String and _is_written(values):
        return ColumnKind(name="text")
    return ColumnKind(name="identifier" if _is_everybodys_own(column) and values.dtype == pl.String else "category")


def _of_numbers(column: CountedColumn) -> ColumnKind:
    numbers = column.dictionary.cast(pl.Float64, strict=False)
    whole = not column.dictionary.dtype.is_float() and bool((numbers == numbers.floor()).all())
    if whole and column.rows >= _LEAST_ROWS and column.distinct == column.rows - column.missing:
        return ColumnKind(name="identifier", numbers=True)
    return ColumnKind(
        name="number",
        coarsen=_bins(numbers, age=bool({"age", "alter", "edad"} & set(words_of(column.name)))),
        numbers=True,
    )


def _is_everybodys_own(column: CountedColumn) -> bool:
    present = column.rows - column.missing
    return column.rows >= _LEAST_ROWS and present > 0 and column.uniqueness * column.rows >= _NEARLY_ALL * present


def _is_written(values: pl.Series) -> bool:
    head = values.head(1000)
    words = head.str.count_matches(r"\S+").mean()
    length = head.str.len_chars().mean()
    return isinstance(words, float) and isinstance(length, float) and (words > _WORDS or length > _LONG_TEXT)


def _are_codes(column: CountedColumn, found: PossibleIdentifier | None) -> bool:
    """Return whether values are codes of places or the like: postal codes, or digits that start with a zero."""
    values = column.dictionary
    if values.dtype == pl.String:
        digits = bool(values.str.contains(r"^[0-9]{3,10}$").all())
        return digits and (means_postal_code(column.name) or bool(values.str.starts_with("0").any()))
    postal = means_postal_code(column.name) or (found is not None and found.kind == "zip")
    return values.dtype.is_integer() and postal


def _prefix(values: pl.Series) -> str | None:
    """Return the shortest prefix, of half of the characters or more, that leaves several values; all equally long."""
    codes = values.cast(pl.String)
    lengths = codes.str.len_chars()
    if lengths.n_unique() > 1:
        return None
    kept = range((lengths[0] + 1) // 2, lengths[0])
    return next((f"prefix:{one}" for one in kept if one and codes.str.head(one).n_unique() > 1), None)


def _part_of_dates(values: pl.Series) -> str | None:
    if not values.dtype.is_temporal():
        return None
    years = values.dt.year().n_unique()
    if years > 1:
        return "date:year"
    return "date:month" if values.dt.month().n_unique() > 1 else None


def _bins(numbers: pl.Series, *, age: bool) -> str | None:
    """Return bins of a round width: ten years of ages, else about a tenth of the range."""
    low, high = numbers.min(), numbers.max()
    if (
        not isinstance(low, float)
        or not isinstance(high, float)
        or len(numbers) <= _BINS
        or not high - low < float("inf")
    ):
        return None
    if age and high <= 130:
        return "bins:10"
    step = (high - low) / _BINS
    power = 10.0 ** floor(log10(step))
    width = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= step)
    return f"bins:{width:.12g}"
