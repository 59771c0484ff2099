"""The cells of a table with their counts, by an engine that reads the table once and keeps none of its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.engines.choice import streaming_obstacle
from shoal.errors import DataError
from shoal.io import Restorer, collected
from shoal.opening import OpenedData

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.engines.memory import MemoryBudget
    from shoal.engines.sources import Source
    from shoal.request import Request
    from shoal.table import Schema

__all__ = ["cells_in_memory", "count_and_place_cells", "count_cells"]

_MANY_ROWS = 1 << 17
"""Tables in memory of fewer rows are worked on row by row: it takes less than a second."""
_ROWS_PER_CELL = 2
"""Cells of fewer rows on average are not worth counting."""


def count_cells(source: Source, schema: Schema, budget: MemoryBudget) -> OpenedData:
    """Count how many rows have each combination of quasi-identifiers and sensitive values, in bounded memory.

    Parameters
    ----------
    source : Source
    schema : Schema
        The roles of its columns; there is no insensitive one.
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


def count_and_place_cells(source: Source, schema: Schema, budget: MemoryBudget) -> tuple[OpenedData, NDArray[np.int64]]:
    """Count like `count_cells`, and find the row, from 0, in which each cell occurs first: they are in its order.

    Rows without an order are numbered as they are sorted by these columns.
    """
    names, times = _names_of(source, schema)
    cells, places = source.placed_histogram(names, times, budget)
    return _opened(source, cells, times), places


def cells_in_memory(opened: OpenedData, request: Request) -> OpenedData | None:
    """Count the cells of a table that is in memory, where nothing asks for its rows and there are many to a cell.

    Returns
    -------
    OpenedData or None
        As `count_cells` returns them; its `origin` is the table, with which a release of them is compared when it is
        verified (`shoal.verification.check_same_rows`). None: it is to be worked on row by row.
    """
    import polars as pl

    frame, schema = opened.frame, request.schema
    if frame.height < _MANY_ROWS or len(schema.sensitive) > 1 or request.preferences:
        return None
    if schema.insensitive:  # rows differ in them
        return None
    if streaming_obstacle(request) is not None:
        return None
    names = list(dict.fromkeys(schema.quasi_identifiers + schema.sensitive))
    if not names or any(
        frame.schema[name] in (pl.Object, pl.Binary) or frame.schema[name].is_nested() for name in names
    ):
        return None
    if request.missing_sensitive != "value":
        for told in frame[list(schema.sensitive)]:
            if (told.fill_nan(None) if told.dtype.is_float() else told).null_count():
                return None  # whose rows are left out, or refused
    # By number, because Polars takes the name "*" for all columns.
    keys = [str(number) for number in range(len(names))]
    plain = pl.DataFrame([frame[name].alias(key) for name, key in zip(names, keys, strict=True)])
    # Streaming takes half of the time and a third of the memory, in memory, too.
    cells = collected(plain.lazy().group_by(keys).agg(pl.len().cast(pl.Int64).alias("rows")))
    if cells.height * _ROWS_PER_CELL > frame.height:
        return None
    cells = cells.sort(keys)
    counts = cells["rows"].to_numpy()
    cells = cells[keys].rename(dict(zip(keys, names, strict=True)))
    cells = cells.with_columns(pl.lit(None).alias(name) for name in schema.direct_identifiers)
    return replace(opened, frame=cells, counts=counts, origin=opened)


def _opened(source: Source, cells: pl.DataFrame, times: str) -> OpenedData:
    return OpenedData(
        frame=cells.drop(times),
        format="parquet",
        restore=Restorer(),
        delimiter=source.delimiter,
        counts=cells[times].to_numpy(),
    )


def _names_of(source: Source, schema: Schema) -> tuple[list[str], str]:
    """Return the columns to count by, and a name for the counts that no column has."""
    names = list(dict.fromkeys(schema.quasi_identifiers + schema.sensitive))
    if not names:
        raise DataError("No column is left to count. Name quasi-identifiers or sensitive columns.")
    return names, _unlike("rows", source.columns)


def _unlike(name: str, names: Sequence[str]) -> str:
    """Return a name that is none of some names."""
    while name in names:
        name += "_"
    return name
