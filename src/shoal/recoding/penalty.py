"""The normalized certainty penalty of a sub-domain: the share of the domain that it covers."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table import Column

LARGEST_SET = 16
"""Largest number of values of a set by default; larger sets are published as stars. They would show the exact values of
many records, which their subjects could be found by, at little benefit to readers."""


def distances(column: Column) -> NDArray[np.float64]:
    """Compute the distance of each value of an ordered column from the smallest; the last is the length of the domain.

    Numbers are measured by size (floats in halves), and dates, times and durations by the time between them, whether
    they are typed or text. Other values, such as declared categories, are measured by rank. The missing value has no
    distance and is not in the result.
    """
    values = _parse_text(column.dictionary.drop_nulls())
    ranks = np.arange(len(values), dtype=np.float64)
    if len(values) < 2:
        return ranks
    numbers: NDArray[np.float64] | None = None
    if values.dtype.is_float():
        numbers = values.cast(pl.Float64).to_numpy() / 2  # halves: the span of the largest floats is finite
    elif values.dtype.is_decimal():
        numbers = values.cast(pl.Float64).to_numpy()
    elif values.dtype.is_integer() or values.dtype.is_temporal():
        # 128-bit integers hold the difference of any two 64-bit values.
        exact = values.to_physical().cast(pl.Int128)
        numbers = (exact - exact.head(1)).cast(pl.Float64).to_numpy()
    # Rounding may collapse the domain; then ranks are used.
    if numbers is None or not 0 < numbers[-1] - numbers[0] < np.inf:
        return ranks
    return np.asarray(numbers - numbers[0])


def _parse_text(values: pl.Series) -> pl.Series:
    """Parse text that consists of numbers or of ISO dates only; return other values unchanged."""
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
    """Compute the length of each interval of codes relative to the domain, in [0, 1]; 0 if the domain has one value."""
    distance = distances(column)
    return np.asarray((distance[high] - distance[low]) / max(distance[-1], np.finfo(np.float64).tiny))


def set_penalty(sizes: NDArray[np.int64], domain: int, largest: int | None = None) -> NDArray[np.float64]:
    """Compute (size - 1) / (domain size - 1) for each set, in [0, 1]; 0 if the domain has one value.

    If sets of more than `largest` values are published as stars, a larger domain is treated as one of `largest + 1`
    values. A set is then charged for the number of values that it shows, and a set of the maximum size costs nearly as
    much as a star.
    """
    return (sizes - 1) / max(domain - 1 if largest is None else min(domain - 1, largest), 1)
