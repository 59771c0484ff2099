"""The cells of a table with their counts, by an engine that reads the table once and keeps none of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import DataError, InternalError
from shoal.io import Restorer
from shoal.opening import OpenedData

if TYPE_CHECKING:
    from shoal.engines.memory import MemoryBudget
    from shoal.io import ScannedTable
    from shoal.table import Schema

__all__ = ["count_cells"]


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

    names = list(dict.fromkeys(schema.quasi_identifiers + schema.sensitive))
    if not names:
        raise DataError("No column is left to publish. Name quasi-identifiers or sensitive columns.")
    times = "rows"
    while times in table.columns:
        times += "_"
    lazy = table.lazy.select(names)
    try:
        rows = table.rows if table.rows is not None else int(lazy.select(pl.len()).collect(engine="streaming").item())
        if rows == 0:
            raise DataError("The table has no rows: there is nothing to publish.")
        if rows > budget.cells:
            distinct = pl.struct(names).hash().approx_n_unique()
            budget.check_cells(int(lazy.select(distinct).collect(engine="streaming").item()))
        cells = lazy.group_by(names).agg(pl.len().cast(pl.Int64).alias(times)).collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        kind = type(error).__name__
    else:
        if int(cells[times].sum()) != rows:
            raise InternalError("an engine counted some rows of a table twice, or not at all")
        cells = cells.sort(names)
        counts = cells[times].to_numpy()
        empty = [pl.lit(None).alias(name) for name in schema.direct_identifiers]
        return OpenedData(
            frame=cells.drop(times).with_columns(empty),
            format="parquet",
            restore=Restorer(),
            delimiter=table.delimiter,
            counts=counts,
        )
    raise DataError(
        f"The columns of the table cannot be counted ({kind}). Columns of lists, structures and the like have no place "
        "in it: name them as direct identifiers, which drops them. A damaged file must be written again."
    )
