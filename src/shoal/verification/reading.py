"""What published cells say: which values they are, as numbers, and in which order, where a model asks for that."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal._core.validation import exact_fraction
from shoal.models.domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["published_domain"]

_CANONICAL_NUMBER = r"^(0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\.[0-9]+)([eE][-+]?[0-9]{1,3})?$"
"""Text that reads as one number in one way only: 12, -0.50, 1e+20 as files have large floats; not 007, +1."""


def published_domain(column: pl.Series, codes: NDArray[Any], size: int) -> Domain:
    """Return what each code of a published column stands for.

    Numbers are those of a numeric column, or of text of which every value is a canonical decimal number. They have an
    order, and so have dates and times, text of which every value is an ISO date, and categories as they were declared.

    Parameters
    ----------
    column : polars.Series
        The cells.
    codes : integer array
        A code for each of them; every code below the size occurs.
    size : int
        How many codes there are.
    """

    @cache
    def values() -> pl.Series:
        row = np.empty(size, dtype=np.int64)
        row[codes] = np.arange(len(codes))
        found = column.gather(pl.Series(row, dtype=pl.Int64))
        found = found.fill_nan(None) if found.dtype.is_float() else found
        # A narrow float means the number that is printed for it, as a wide one does.
        return found.cast(pl.String) if found.dtype in (pl.Categorical, pl.Float32, pl.Float16) else found

    return Domain(
        read_labels=lambda: _labels(values(), column.dtype.is_numeric()),
        read_numbers=lambda: _numbers(values()),
        read_ranks=lambda: _ranks(values()),
    )


def _labels(values: pl.Series, numeric: bool) -> tuple[Any, ...]:
    return (_numbers(values) if numeric else None) or tuple(values.to_list())


def _numbers(values: pl.Series) -> tuple[Fraction | None, ...] | None:
    """Return values as exact numbers, None where one is missing; None in all where they are no numbers."""
    if values.dtype == pl.Enum:
        values = values.cast(pl.String)
    if values.dtype == pl.String and bool(values.str.contains(_CANONICAL_NUMBER).all()):
        return tuple(None if text is None else Fraction(text) for text in values)
    return tuple(_exact(value) for value in values) if values.dtype.is_numeric() else None


def _exact(value: float | Decimal | None) -> Fraction | None:
    """Return a number as a fraction; an infinite one is as good as missing, for it has no distance to any other."""
    if value is None or not Decimal(value).is_finite():
        return None
    return Fraction(value) if isinstance(value, Decimal) else exact_fraction(value)


def _ranks(values: pl.Series) -> NDArray[np.int64] | None:
    """Return the place of each value in its natural order, -1 where one is missing; None where there is no order."""
    if values.null_count() == len(values):
        return None
    kind = values.dtype
    if kind == pl.String:
        numbers = _numbers(values)
        if numbers is not None:
            # Two spellings of one number are two values.
            order = sorted((number, at) for at, number in enumerate(numbers) if number is not None)
            spelled = sorted(order, key=lambda pair: (pair[0], values[pair[1]]))
            ranks = np.full(len(values), -1, dtype=np.int64)
            ranks[[at for _, at in spelled]] = np.arange(len(spelled))
            return ranks
        dates = values.str.to_date("%Y-%m-%d", strict=False)
        if dates.null_count() > values.null_count() or not values.str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$").all():
            return None
        values = dates
    elif not (kind.is_numeric() or kind.is_temporal() or kind == pl.Enum):
        return None
    places = values.to_physical().rank("dense").cast(pl.Int64) - 1
    return places.fill_null(-1).to_numpy()
