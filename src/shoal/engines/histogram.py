"""Counting of the cells of a table, which is read once and whose rows are not kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.sources import CountedTable
from shoal.errors import DataError
from shoal.io import Restorer, understand
from shoal.pipeline.input import OpenedData
from shoal.pipeline.memory_budget import MemoryBudget
from shoal.table import Schema
from shoal.table.natural_order import natural_order


def count_cells(
    source: CountedTable,
    schema: Schema,
    budget: MemoryBudget,
    *,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
) -> OpenedData:
    """Count the rows of each combination of quasi-identifiers and sensitive values, in bounded memory.

    Parameters
    ----------
    source : CountedTable
    schema : Schema
        The roles of the columns; insensitive columns are not counted.
    budget : MemoryBudget
        The cells must fit into it. If they may be too many, their number is estimated before they are collected.

    Returns
    -------
    OpenedData
        The distinct cells, sorted, with their `counts`. Direct identifiers are not read, so their columns are empty.

    Raises
    ------
    DataError
        If the table has no rows, or has more cells than fit into the memory.
    """
    names, times = _names_of(source, schema)
    cells = source.histogram(names, times, budget)
    # Draws follow the order of the cells, so it is that of the values, however these are spelled.
    read = understand(cells, names, dates=dates, decimal=decimal, counts=cells[times].to_numpy()).frame
    by_value = [_in_natural_order(read[name]) for name in names]
    # Columns are numbered, because Polars treats the name "*" as all columns.
    keys = pl.DataFrame([key.alias(str(at)) for at, key in enumerate([*by_value, *(cells[name] for name in names)])])
    cells = cells[keys.select(pl.arg_sort_by(keys.columns)).to_series()]
    # The columns must exist, because the schema names them.
    empty = [pl.lit(None).alias(name) for name in schema.direct_identifiers]
    return _opened(source, cells.with_columns(empty), times)


def count_and_place_cells(
    source: CountedTable, schema: Schema, budget: MemoryBudget
) -> tuple[OpenedData, NDArray[np.int64]]:
    """Count the cells as `count_cells` does, in order of first occurrence; return the first row of each, from 0.

    If the engine has no row order, rows are numbered in the sort order of these columns.
    """
    names, times = _names_of(source, schema)
    cells, places = source.placed_histogram(names, times, budget)
    return _opened(source, cells, times), places


def _opened(source: CountedTable, cells: pl.DataFrame, times: str) -> OpenedData:
    return OpenedData(
        frame=cells.drop(times),
        format="parquet",
        restore=Restorer(),
        delimiter=source.delimiter,
        counts=cells[times].to_numpy(),
    )


def _names_of(source: CountedTable, schema: Schema) -> tuple[list[str], str]:
    """Return the columns to group by, and an unused name for the column of counts."""
    names = list(dict.fromkeys(schema.quasi_identifiers + schema.sensitive + schema.owner_columns))
    if not names:
        raise DataError("No column is left to count. Name quasi-identifiers or sensitive columns.")
    return names, _unlike("rows", source.columns)


def _in_natural_order(column: pl.Series) -> pl.Series:
    """Order text that is numbers by these; missing values come first."""
    if column.dtype != pl.String:
        return column
    distinct = column.drop_nulls().unique()
    return column.cast(pl.Enum(distinct.gather(natural_order(distinct))))


def _unlike(name: str, names: Sequence[str]) -> str:
    """Append underscores to a name until it is unused."""
    while name in names:
        name += "_"
    return name
