"""The cells of a table with their counts, by an engine that reads the table once and keeps none of its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.errors import DataError, InternalError
from shoal.io import Restorer, collected
from shoal.opening import OpenedData

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.engines.memory import MemoryBudget
    from shoal.io import ScannedTable
    from shoal.table import Schema

__all__ = ["count_and_place_cells", "count_cells"]


def count_cells(table: ScannedTable, schema: Schema, budget: MemoryBudget) -> OpenedData:
    """Count how many rows have each combination of quasi-identifiers and sensitive values, in bounded memory.

    Parameters
    ----------
    table : ScannedTable
    schema : Schema
        The roles of its columns; there is no insensitive one.
    budget : MemoryBudget
        The cells must fit into it: where there may be too many, their number is estimated before they are counted.

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

    names, times, _ = _names_of(table, schema)
    cells = _counted(table, names, budget, [pl.len().cast(pl.Int64).alias(times)], times).sort(names)
    empty = [pl.lit(None).alias(name) for name in schema.direct_identifiers]
    return _opened(table, cells.with_columns(empty), times)


def count_and_place_cells(
    table: ScannedTable, schema: Schema, budget: MemoryBudget
) -> tuple[OpenedData, NDArray[np.int64]]:
    """Count like `count_cells`, and find the row, from 0, in which each cell occurs first: they are in its order."""
    import polars as pl

    names, times, first = _names_of(table, schema)
    measured = [pl.len().cast(pl.Int64).alias(times), pl.col(first).min().cast(pl.Int64)]
    placed = replace(table, lazy=table.lazy.select(names).with_row_index(first))
    cells = _counted(placed, names, budget, measured, times).sort(first)
    return _opened(table, cells.drop(first), times), cells[first].to_numpy()


def _opened(table: ScannedTable, cells: pl.DataFrame, times: str) -> OpenedData:
    return OpenedData(
        frame=cells.drop(times),
        format="parquet",
        restore=Restorer(),
        delimiter=table.delimiter,
        counts=cells[times].to_numpy(),
    )


def _names_of(table: ScannedTable, schema: Schema) -> tuple[list[str], str, str]:
    """Return the columns to count by, and names for two more that no column has."""
    names = list(dict.fromkeys(schema.quasi_identifiers + schema.sensitive))
    if not names:
        raise DataError("No column is left to count. Name quasi-identifiers or sensitive columns.")
    times, first = "rows", "first"
    while {times, first} & set(table.columns):
        times, first = times + "_", first + "_"
    return names, times, first


def _counted(
    table: ScannedTable, names: list[str], budget: MemoryBudget, measured: list[pl.Expr], times: str
) -> pl.DataFrame:
    """Return each combination of values once, with what is measured of its rows."""
    import polars as pl

    lazy = table.lazy
    try:
        rows = table.rows if table.rows is not None else int(collected(lazy.select(pl.len())).item())
        if rows == 0:
            raise DataError("The table has no rows.")
        if rows > budget.cells:
            distinct = pl.struct(names).hash().approx_n_unique()
            budget.check_cells(int(collected(lazy.select(distinct)).item()))
        cells = collected(lazy.group_by(names).agg(measured))
    except (pl.exceptions.PolarsError, OSError) as error:
        kind = type(error).__name__
    else:
        if int(cells[times].sum()) != rows:
            raise InternalError("an engine counted some rows of a table twice, or not at all")
        return cells
    raise DataError(
        f"The columns of the table cannot be counted ({kind}). Columns of lists, structures and the like have no place "
        "in it: name them as direct identifiers, which drops them. A damaged file must be written again."
    )
