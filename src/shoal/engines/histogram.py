"""The cells of a table with their counts, by an engine that reads the table once and keeps none of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.io import Restorer
from shoal.pipeline.input import OpenedData

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.engines.sources import CountedTable
    from shoal.pipeline.memory_budget import MemoryBudget
    from shoal.table import Schema

__all__ = ["count_and_place_cells", "count_cells"]


def count_cells(source: CountedTable, schema: Schema, budget: MemoryBudget) -> OpenedData:
    """Count how many rows have each combination of quasi-identifiers and sensitive values, in bounded memory.

    Parameters
    ----------
    source : CountedTable
    schema : Schema
        The roles of its columns; insensitive ones are not counted.
    budget : MemoryBudget
        The cells must fit into it: where there may be too many, their number is found before they are fetched.

    Returns
    -------
    OpenedData
        Each cell once, in an order that depends on the cells alone, with its `counts`. Direct identifiers are not read:
        their columns are empty.

    Raises
    ------
    DataError
        Where there is no row, or there are more cells than fit into the memory.
    """
    import polars as pl

    names, times = _names_of(source, schema)
    cells = source.histogram(names, times, budget)
    # By number, because Polars takes the name "*" for all columns.
    keys = pl.DataFrame([cells[name].alias(str(number)) for number, name in enumerate(names)])
    cells = cells[keys.select(pl.arg_sort_by(keys.columns)).to_series()]
    empty = [pl.lit(None).alias(name) for name in schema.direct_identifiers]
    return _opened(source, cells.with_columns(empty), times)


def count_and_place_cells(
    source: CountedTable, schema: Schema, budget: MemoryBudget
) -> tuple[OpenedData, NDArray[np.int64]]:
    """Count like `count_cells`, and find the row, from 0, in which each cell occurs first: they are in its order.

    Rows without an order are numbered as they are sorted by these columns.
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
    """Return the columns to count by, and a name for the counts that no column has."""
    names = list(dict.fromkeys(schema.quasi_identifiers + schema.sensitive + schema.unit_columns))
    if not names:
        raise DataError("No column is left to count. Name quasi-identifiers or sensitive columns.")
    return names, _unlike("rows", source.columns)


def _unlike(name: str, names: Sequence[str]) -> str:
    """Return a name that is none of some names."""
    while name in names:
        name += "_"
    return name
