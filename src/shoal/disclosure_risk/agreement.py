"""Agreement of a column within the values of another one, on a scale from chance to always."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.counts import multiplicities
from shoal.table.text import rank_text

_CONSTANT = 0.8
"""Agreement above chance (1: always) from which a column is constant within values."""
_ERRORS = 0.05
"""Share of the pairs of rows of a person that may differ by mistakes: fewer are no evidence against persons."""
_FEW = 1 << 12
"""Largest number of keys that are counted by sorting."""
_KEYS_PER_ROW = 8
"""Keys are counted in an array if that has at most so many places per row."""
_DEVIATIONS = 4.0
"""Standard deviations by which an agreement must exceed that of rows in a random order."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Agreement of rows with the same value of one column on another column."""

    share: float
    """Mean share of the pairs of rows of a value that agree, over the values that repeat."""
    expected: float
    """Share of all pairs of rows that agree: the mean over all orders of the rows."""
    values: int
    """Number of values that repeat."""

    @property
    def above_chance(self) -> float:
        """The share on a scale from 0 (chance) to 1 (always)."""
        return (self.share - self.expected) / (1 - self.expected)

    @property
    def rarely_differs(self) -> bool:
        """Whether so few rows of a value differ that mistakes explain them."""
        return self.share >= 1 - _ERRORS

    @property
    def constant(self) -> bool:
        """Whether the other column is constant within nearly all values, beyond chance."""
        noise = sqrt(self.expected * (1 - self.expected) / self.values)
        return self.above_chance >= _CONSTANT and self.share - self.expected >= _DEVIATIONS * noise


def measure_agreement(
    groups: NDArray[np.uint32], values: NDArray[np.uint32], times: NDArray[np.int64] | None = None
) -> Agreement | None:
    """Measure the agreement of the rows of each group; None if no group has two rows, or all rows have the same value.

    Parameters
    ----------
    groups, values : uint32 array
        The group and the value of each row.
    times : int64 array, optional
        Multiplicity of each row; one by default.
    """
    sizes, totals = np.bincount(groups, weights=times), np.bincount(values, weights=times)
    rows = float(sizes.sum())
    repeated = sizes >= 2
    expected = _count_pairs(totals).sum() / max(rows * (rows - 1), 1)
    if not repeated.any() or expected >= 1:
        return None
    # Pairs of rows that agree within each group.
    keys, counts = _count_keys(
        groups.astype(np.uint64) * np.uint64(len(totals)) + values, len(sizes) * len(totals), times
    )
    agreeing = np.bincount((keys // np.uint64(len(totals))).astype(np.int64), weights=_count_pairs(counts))
    share = float(np.mean(agreeing[repeated] / _count_pairs(sizes[repeated])))
    return Agreement(share=share, expected=float(expected), values=int(repeated.sum()))


def _count_pairs(counts: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(counts * (counts - 1.0))


def _count_keys(
    keys: NDArray[np.uint64], size: int, times: NDArray[np.int64] | None
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Count the rows of each distinct key below a size."""
    if size <= _KEYS_PER_ROW * len(keys):
        counts = np.bincount(keys.astype(np.int64), weights=times)
        occurring = np.flatnonzero(counts)
        return occurring.astype(np.uint64), counts[occurring].astype(np.int64)
    if times is None and len(keys) <= _FEW:  # sorted in less time than a query takes to start
        distinct, rows = np.unique(keys, return_counts=True)
        return distinct, rows
    found = pl.DataFrame({"key": keys, "rows": multiplicities(len(keys), times)})
    counted = found.group_by("key").agg(pl.col("rows").sum())
    return counted["key"].to_numpy(), counted["rows"].to_numpy()


def encode_values(column: pl.Series) -> NDArray[np.uint32]:
    """Encode values by numbers; missing values have a number, too."""
    column = column.alias("")  # Polars interprets some names as patterns
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype == pl.Struct:
        return column.rank("dense").to_numpy().astype(np.uint32) - 1
    if column.dtype in (pl.Categorical, pl.Enum, pl.Boolean):
        column = column.cast(pl.String)
    if len(column) <= 1 << 17:  # the import of Arrow would take more time
        ranks = rank_text(column) if column.dtype == pl.String else column.rank("dense").cast(pl.UInt32)
        if ranks.null_count():
            ranks = ranks.fill_null(ranks.n_unique())
        return ranks.to_numpy() - np.uint32(1)
    coded = column.to_arrow(compat_level=pl.CompatLevel.newest()).dictionary_encode()
    return pl.Series(coded.indices).fill_null(len(coded.dictionary)).cast(pl.UInt32).to_numpy()


def share_between(groups: NDArray[np.uint32], column: pl.Series) -> float:
    """Compute the share of the variance of numbers that is between groups: near 1 for ages of persons."""
    column = column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column
    numbers = column.cast(pl.Float64, strict=False)
    there = numbers.is_not_null().to_numpy()
    values, groups = numbers.drop_nulls().to_numpy(), groups[there]
    rows = np.bincount(groups)
    repeated = rows >= 2
    if not repeated.any():
        return 0.0
    with np.errstate(invalid="ignore"):  # text such as "inf"
        squares = (values - values.mean()) ** 2
        means = np.bincount(groups, weights=values)[groups] / rows[groups]
        within = np.bincount(groups, weights=(values - means) ** 2)[repeated] / (rows[repeated] - 1)
        total = float(squares.sum()) / (len(values) - 1)
        return 0.0 if total <= 0 else 1 - float(within.mean()) / total
