"""Columns as counts: distinct values, their frequencies, and how well a column distinguishes rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table import Column


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CountedColumn:
    """A column as its distinct values, in order of first occurrence, and their frequencies."""

    series: pl.Series
    """The parsed column: dates, numbers, or the original values."""
    codes: NDArray[np.uint32]
    """The code of each row's value; the last code is the missing value, if there is one."""
    dictionary: pl.Series
    """The distinct values, excluding the missing value."""
    counts: NDArray[np.int64]
    """Rows of each code."""

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.series.name

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return len(self.codes)

    @property
    def distinct(self) -> int:
        """Number of distinct values, excluding the missing value."""
        return len(self.dictionary)

    @property
    def missing(self) -> int:
        """Rows without a value."""
        return int(self.counts[self.distinct :].sum())

    @cached_property
    def uniqueness(self) -> float:
        """Share of the rows whose value is unique."""
        return int(np.count_nonzero(self.counts[: self.distinct] == 1)) / self.rows

    @property
    def distinction(self) -> float:
        """Number of distinct values per row, including the missing value."""
        return len(self.counts) / self.rows

    @cached_property
    def separation(self) -> float | None:
        """Share of the pairs of rows with different values; None if there is only one row."""
        # Ordered pairs of rows, minus those with equal values.
        pairs = self.rows * (self.rows - 1)
        alike = int(np.dot(self.counts, self.counts)) - self.rows
        return (pairs - alike) / pairs if pairs else None

    @property
    def encoded(self) -> Column:
        """The column in the form that functions of combinations expect; its values are unordered."""
        return Column(
            name=self.name, codes=self.codes, dictionary=self._with_missing(), ordered=False, numbers=lambda: None
        )

    def _with_missing(self) -> pl.Series:
        values = pl.Series(self.name, np.arange(self.distinct, dtype=np.uint32))
        return values.extend_constant(None, 1) if self.missing else values

    def __repr__(self) -> str:
        return f"CountedColumn({self.name!r}, rows={self.rows}, values={self.distinct})"


def counted(series: pl.Series) -> CountedColumn:
    """Count the values of a column by hashing; sorting them would take longer than everything else."""
    # Normalize types that have no hash of their own to text.
    if series.dtype.is_float():
        series = series.fill_nan(None)
    plain = series
    if series.dtype in (pl.Categorical, pl.Enum):
        plain = series.cast(pl.String)
    if series.dtype == pl.Null or series.dtype.is_nested() or series.dtype in (pl.Object, pl.Binary):
        plain = pl.Series(series.name, [None if value is None else repr(value) for value in series], dtype=pl.String)
    # The newest layout is Polars' own layout in memory, so nothing is copied.
    coded = plain.to_arrow(compat_level=pl.CompatLevel.newest()).dictionary_encode()
    dictionary = pl.Series(series.name, pl.Series(coded.dictionary), dtype=None)
    # The code after the last value marks a missing one.
    codes = pl.Series(coded.indices).fill_null(len(dictionary)).cast(pl.UInt32).to_numpy()
    counts = np.bincount(codes, minlength=len(dictionary)).astype(np.int64)
    return CountedColumn(series=series, codes=codes, dictionary=dictionary, counts=counts)
