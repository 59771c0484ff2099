"""The normalized certainty penalty of a sub-domain: how much of the attribute's domain it covers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.table import Column

__all__ = ["interval_penalty", "positions", "set_penalty"]


def positions(column: Column) -> NDArray[np.float64]:
    """Return where each value of an ordered column lies in its domain, from 0 (smallest) to 1 (largest).

    Numbers by their size, dates, times and durations by the time between them, anything else (declared categories) by
    rank. The missing value, if there is one, has no position: it is not in the result.
    """
    values = column.dictionary.drop_nulls()
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
        numbers = (exact - exact[0]).cast(pl.Float64).to_numpy()
    if numbers is None or not 0 < numbers[-1] - numbers[0] < np.inf:
        return np.asarray(ranks / ranks[-1])
    return np.asarray((numbers - numbers[0]) / (numbers[-1] - numbers[0]))


def interval_penalty(column: Column, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return for each interval of codes its length over that of the domain, in [0, 1]; 0 in a domain of one value."""
    where = positions(column)
    return np.asarray(where[high] - where[low])


def set_penalty(sizes: NDArray[np.int64], domain: int) -> NDArray[np.float64]:
    """Return for each set of values (size - 1) / (domain size - 1), in [0, 1]; 0 in a domain of one value."""
    return (sizes - 1) / max(domain - 1, 1)
