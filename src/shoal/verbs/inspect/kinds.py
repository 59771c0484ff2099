"""What a column holds, and which coarsening fits that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from shoal.hierarchy.fitting import NUMBER, are_codes, suggest_bins, suggest_date_part, suggest_prefix

if TYPE_CHECKING:
    from shoal.disclosure_risk import PossibleIdentifier
    from shoal.hierarchy.fitting import SuggestedCoarsening
    from shoal.verbs.inspect.counting import CountedColumn

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
        return ColumnKind(name="date", coarsen=_words(suggest_date_part(values)))
    if found is not None and found.kind in NAMING:
        return ColumnKind(name="identifier")
    if values.dtype == pl.Boolean or len(values) < 2:
        return ColumnKind(name="category")
    if are_codes(values, column.name, postal=found is not None and found.kind == "zip"):
        return ColumnKind(name="category", coarsen=_words(suggest_prefix(values)))
    if values.dtype.is_numeric() or (values.dtype == pl.String and bool(values.str.contains(NUMBER).all())):
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
        coarsen=_words(suggest_bins(column.dictionary, column.name)),
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


def _words(found: SuggestedCoarsening | None) -> str | None:
    return None if found is None else found.words
