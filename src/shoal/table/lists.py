"""Columns whose cells are lists of values, written as text with a separator."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

_SEPARATORS = (";", "|", ",", "/", "+")
"""Characters that may separate the values of a list."""
_LOOKED_AT = 10_000
"""Number of different cells that are searched for a separator."""
SET_OR_INTERVAL = r"(?s)^(?:\{.*,.*\}|[\[(].*,.*[\])])$"
"""Matches a published set or interval."""
_NUMBERS = r"^[\d\s.:-]*$"
"""Parts of dates, fractions and numbers with separators, which are no values of a list."""


def find_separator(column: pl.Series) -> str | None:
    """Find the separator that stands in most cells of a column whose cells seem to be lists; None if there is none.

    The cells are lists if the same value stands first in some and last in others: a town is never in the place of its
    state. Numbers are values of a list only if a semicolon or a bar separates them. Published sets and intervals are no
    lists.

    Examples
    --------
    >>> import polars as pl
    >>> find_separator(pl.Series(["I10;E11", "E11;J45", "J45", "J45;I10"])), find_separator(pl.Series(["Bonn, NRW"]))
    (';', None)
    """
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None
    cells = column.alias("cell").cast(pl.String).drop_nulls().value_counts()
    cells = cells.filter(~pl.col("cell").str.contains(SET_OR_INTERVAL)).head(_LOOKED_AT)
    rows = int(cells["count"].sum())
    counted = (pl.col("count").filter(pl.col("cell").str.contains(one, literal=True)).sum() for one in _SEPARATORS)
    found = cells.select(one.alias(separator) for one, separator in zip(counted, _SEPARATORS, strict=True)).row(0)
    for separator, within in zip(_SEPARATORS, found, strict=True):
        if 2 * within <= rows:
            continue
        parts = cells["cell"].filter(cells["cell"].str.contains(separator, literal=True)).str.split(separator)
        first, last = (one.str.strip_chars() for one in (parts.list.first(), parts.list.last()))
        both = first.filter(first.is_in(last.unique().to_list())).drop_nulls().unique()
        both = both.filter(both != "")
        if separator not in ";|":
            both = both.filter(~both.str.contains(_NUMBERS))
        if len(both) > 1:
            return separator
    return None


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
    cells = pl.DataFrame({"value": column.cast(pl.String)}).with_row_index("row")
    values = cells.with_columns(pl.col("value").str.split(separator)).explode("value")
    values = values.with_columns(pl.col("value").str.strip_chars())
    # A list without any value is a value of its own, so that it does not hide in large numbers.
    found = values.filter(pl.col("value").str.len_chars() > 0).unique()
    empty = cells.join(found, on="row", how="anti").with_columns(pl.lit(None, dtype=pl.String).alias("value"))
    found = pl.concat([found, empty]).sort("row", "value")
    return found["row"].to_numpy(), found["value"].alias(column.name)
