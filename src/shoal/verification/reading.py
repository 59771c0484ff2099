"""Interpret the values of published cells for models: as numbers, and in their order, if a model needs it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.validation import exact_fraction
from shoal.models.domain import Domain

_CANONICAL_NUMBER = r"^(0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\.[0-9]+)([eE][-+]?[0-9]{1,3})?$"
"""Text that is a number in canonical spelling: 12, -0.50, 1e+20 as files have large floats; not 007, +1."""


def published_domain(column: pl.Series, codes: NDArray[Any], size: int) -> Domain:
    """Describe the values that the codes of a published column stand for.

    Values are numbers if the column is numeric, or if every text is a canonical decimal number. Numbers have an order,
    and so have dates and times, text that consists of ISO dates only, and declared categories.

    Parameters
    ----------
    column : polars.Series
        The cells.
    codes : integer array
        The code of each cell; every code below the size occurs.
    size : int
        Number of codes.
    """

    @cache
    def values() -> pl.Series:
        # One row of each code; the values are read only if a model needs them.
        row = np.empty(size, dtype=np.int64)
        row[codes] = np.arange(len(codes))
        found = column.gather(pl.Series(row, dtype=pl.Int64))
        found = found.fill_nan(None) if found.dtype.is_float() else found
        # A float stands for the decimal that is printed for it, in every precision.
        return found.cast(pl.String) if found.dtype in (pl.Categorical, pl.Float32, pl.Float16) else found

    return Domain(
        read_labels=lambda: _labels(values(), column.dtype.is_numeric()),
        read_numbers=lambda: _numbers(values()),
        read_ranks=lambda: _ranks(values()),
    )


def _labels(values: pl.Series, numeric: bool) -> tuple[Any, ...]:
    return (_numbers(values) if numeric else None) or tuple(values.to_list())


def _numbers(values: pl.Series) -> tuple[Fraction | None, ...] | None:
    """Convert values to exact numbers, None for missing values; None altogether if they are not numbers."""
    if values.dtype == pl.Enum:
        values = values.cast(pl.String)
    if values.dtype == pl.String and bool(values.str.contains(_CANONICAL_NUMBER).all()):
        return tuple(None if text is None else Fraction(text) for text in values)
    return tuple(_exact(value) for value in values) if values.dtype.is_numeric() else None


def _exact(value: float | Decimal | None) -> Fraction | None:
    """Convert a number to a fraction; an infinite number counts as missing, because it has no distance to others."""
    if value is None or not Decimal(value).is_finite():
        return None
    return Fraction(value) if isinstance(value, Decimal) else exact_fraction(value)


def _ranks(values: pl.Series) -> NDArray[np.int64] | None:
    """Rank each value in its natural order, -1 for missing values; None altogether if there is no order."""
    if values.null_count() == len(values):
        return None
    kind = values.dtype
    if kind == pl.String:
        numbers = _numbers(values)
        if numbers is not None:
            # Two spellings of one number are two values, ordered by their spelling.
            order = sorted((number, at) for at, number in enumerate(numbers) if number is not None)
            spelled = sorted(order, key=lambda pair: (pair[0], values[pair[1]]))
            ranks = np.full(len(values), -1, dtype=np.int64)
            ranks[[at for _, at in spelled]] = np.arange(len(spelled))
            return ranks
        # Text has the order of dates only if all of it is ISO dates.
        dates = values.str.to_date("%Y-%m-%d", strict=False)
        if dates.null_count() > values.null_count() or not values.str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$").all():
            return None
        values = dates
    elif not (kind.is_numeric() or kind.is_temporal() or kind == pl.Enum):
        return None
    places = values.to_physical().rank("dense").cast(pl.Int64) - 1
    return places.fill_null(-1).to_numpy()
