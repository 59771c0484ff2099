"""Columns whose cells are lists of values, written as text with a separator."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["split_lists"]


def split_lists(column: pl.Series, separator: str) -> tuple[NDArray[np.integer], pl.Series]:
    """Split the cells of a column; blanks around a value do not count, and equal values of a cell are one.

    Parameters
    ----------
    column : polars.Series
        Its cells are taken as text.
    separator : str

    Returns
    -------
    rows : integer array
        Row of each value.
    values : polars.Series
        The values. A cell without any has a missing value.

    Examples
    --------
    >>> import polars as pl
    >>> rows, values = split_lists(pl.Series(["I10; E11", "E11", ""]), ";")
    >>> rows.tolist(), values.to_list()
    ([0, 0, 1, 2], ['E11', 'I10', 'E11', None])
    """
    import polars as pl

    cells = pl.DataFrame({"value": column.cast(pl.String)}).with_row_index("row")
    values = cells.with_columns(pl.col("value").str.split(separator)).explode("value")
    values = values.with_columns(pl.col("value").str.strip_chars())
    # A list without any value is a value of its own, so that it does not hide in large numbers.
    found = values.filter(pl.col("value").str.len_chars() > 0).unique()
    empty = cells.join(found, on="row", how="anti").with_columns(pl.lit(None, dtype=pl.String).alias("value"))
    found = pl.concat([found, empty]).sort("row", "value")
    return found["row"].to_numpy(), found["value"].alias(column.name)
