"""The normalized certainty penalty of a sub-domain: how much of the attribute's domain it covers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.table import Column

__all__ = ["LARGEST_SET", "distances", "interval_penalty", "set_penalty"]

LARGEST_SET = 16
"""A set of more values is published as a star, unless another number is asked for: it would show exact values of so
many people that nobody could learn much from it, and whoever is in the table would find themselves there."""


def distances(column: Column) -> NDArray[np.float64]:
    """Return how far each value of an ordered column lies from the smallest; the last is the length of the domain.

    Numbers by their size (floats in halves of it), dates, times and durations by the time between them, whether they
    are typed or text; anything else (declared categories) by rank. The missing value, if there is one, has no distance:
    it is not in the result.
    """
    values = _measured(column.dictionary.drop_nulls())
    ranks = np.arange(len(values), dtype=np.float64)
    if len(values) < 2:
        return ranks
    numbers: NDArray[np.float64] | None = None
    if values.dtype.is_float():
        numbers = values.cast(pl.Float64).to_numpy() / 2  # halves: the span of the largest floats is finite
    elif values.dtype.is_decimal():
        numbers = values.cast(pl.Float64).to_numpy()
    elif values.dtype.is_integer() or values.dtype.is_temporal():
        exact = values.to_physical().cast(pl.Int128)
        numbers = (exact - exact.head(1)).cast(pl.Float64).to_numpy()
    if numbers is None or not 0 < numbers[-1] - numbers[0] < np.inf:
        return ranks
    return np.asarray(numbers - numbers[0])


def _measured(values: pl.Series) -> pl.Series:
    """Return text that is all numbers, or all ISO dates, as what it means, and anything else as it is."""
    if values.dtype != pl.String:
        return values
    for meaning in (
        values.cast(pl.Int128, strict=False),
        values.cast(pl.Float64, strict=False),
        values.str.to_date("%Y-%m-%d", strict=False),
    ):
        if meaning.null_count() == 0:
            return meaning
    return values


def interval_penalty(column: Column, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return for each interval of codes its length over that of the domain, in [0, 1]; 0 in a domain of one value."""
    distance = distances(column)
    return np.asarray((distance[high] - distance[low]) / max(distance[-1], np.finfo(np.float64).tiny))


def set_penalty(sizes: NDArray[np.int64], domain: int, largest: int | None = None) -> NDArray[np.float64]:
    """Return for each set of values (size - 1) / (domain size - 1), in [0, 1]; 0 in a domain of one value.

    Where sets of more than `largest` values are published as stars, a wider domain counts like one of `largest + 1`
    values: a set is charged for the number of values that it shows, and one that is as large as may be costs nearly as
    much as a star.
    """
    return (sizes - 1) / max(domain - 1 if largest is None else min(domain - 1, largest), 1)
