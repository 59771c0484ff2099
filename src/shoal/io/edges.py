"""Tables of neighbours: two columns, the regions that touch."""

from __future__ import annotations

import polars as pl

from shoal.errors import DataError
from shoal.io.readers import read

EDGE_TABLES = (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".ipc")
"""Endings of files that hold such tables; others are polygons."""


def edges_of(source: str) -> pl.DataFrame:
    """Read the pairs of neighbours of a table with two columns, as text."""
    edges = read(source)
    if edges.width != 2:
        raise DataError(f"The table of edges must have two columns. Got {edges.width}.")
    return edges.select(pl.all().cast(pl.String))
