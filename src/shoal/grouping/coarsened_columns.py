"""What coarsenings by classes share: counting the values of a column, and writing the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import DataError
from shoal.hierarchy import Coarsened
from shoal.hierarchy.columns import encoded
from shoal.recoding.text import quoted

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.grouping.base import Grouping
    from shoal.table import Column

__all__ = ["check_told_apart", "coarsened", "counted_values", "encoded_values", "interval_texts"]

_FACTS = ("classes", "largest", "smallest", "lower_bound", "optimal", "overfull_ratio", "guarantee")
"""What a certificate tells of the grouping of a column."""


def encoded_values(owner: str, series: pl.Series) -> Column:
    """Encode a column.

    Raises
    ------
    DataError
        It has no value.
    """
    column = encoded(series)
    if column is None:
        raise DataError(f"{owner} needs a column with a value: this one has none.")
    return column


def counted_values(owner: str, series: pl.Series) -> tuple[Column, NDArray[np.int64]]:
    """Encode a column, and count its values without the missing one."""
    column = encoded_values(owner, series)
    counts = np.bincount(column.codes, minlength=column.size).astype(np.int64)
    return column, counts[:-1] if column.has_missing else counts


def interval_texts(low: pl.Series, high: pl.Series) -> pl.Series:
    """Write intervals; a single value stays as it is."""
    import polars as pl

    frame = pl.DataFrame({"low": quoted(low), "high": quoted(high), "plain": low})
    alone = pl.col("low") == pl.col("high")
    return frame.select(
        pl.when(alone).then(pl.col("plain")).otherwise(pl.format("[{}, {}]", "low", "high"))
    ).to_series()


def check_told_apart(published: pl.Series, text: pl.Series, alone: pl.Series | None = None) -> None:
    """Check that nothing that is published for a class reads like another value of the column."""
    made = published.filter(~alone) if alone is not None else published.filter(published != text)
    if made.is_in(text.implode()).any():
        raise DataError("It has a value that reads like one of the classes it would get. Rewrite that value.")


def coarsened(grouping: Grouping, columns: tuple[pl.Series, ...]) -> Coarsened:
    """Return coarser columns with what a certificate tells of the grouping, and its picture."""
    facts = grouping.to_dict()
    return Coarsened(columns=columns, facts={name: facts[name] for name in _FACTS}, picture=grouping.svg)
