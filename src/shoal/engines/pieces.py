"""Tables that are read in pieces, by Polars or by Spark: their different rows are counted, and rows made of these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engines.attaching import with_values
from shoal.engines.histogram import count_cells
from shoal.engines.persons import persons_in_pieces
from shoal.engines.sources import Streamed
from shoal.release.streamed_rows import StreamedRows

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal._core.progress import Clock
    from shoal.disclosure_risk import PersonEvidence
    from shoal.engines.choice import Engine
    from shoal.engines.sources import CountedTable
    from shoal.pipeline.input import OpenedData
    from shoal.pipeline.memory_budget import MemoryBudget
    from shoal.pipeline.recoded import Recoded
    from shoal.release.release import Release
    from shoal.release.row_store import RowStore
    from shoal.request.request import Request
    from shoal.table import Schema

__all__ = ["InPieces"]


@dataclass(frozen=True, kw_only=True, repr=False)
class InPieces:
    """A table that is read in pieces; see `shoal.pipeline.source.Source`."""

    table: CountedTable
    engine: Engine
    in_memory = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, in their order."""
        return self.table.columns

    @property
    def budget(self) -> MemoryBudget:
        """The memory that was allowed."""
        return self.engine.budget

    def serving(self, request: Request) -> InPieces:
        """Check what is asked of the engine, and return the table with normalized text if a request asks for it."""
        self.engine.check(request)
        schema = request.schema
        if schema.insensitive and isinstance(self.table, Streamed):
            self.table.check_values(schema.insensitive, self.budget)
        if not request.normalize:
            return self
        return replace(self, table=self.table.normalized(schema.quasi_identifiers + schema.sensitive))

    def of_cells(self, request: Request) -> Request:
        """Return what is asked of the table without its insensitive columns."""
        return replace(request, insensitive=())

    def count(self, request: Request) -> OpenedData:
        """Count the different rows."""
        return count_cells(self.table, request.schema, self.budget)

    def row_numbers(self, cells: OpenedData, cell_of_run: NDArray[np.integer], times: NDArray[np.int64]) -> None:
        """Return None: rows have no numbers."""

    def check_rows(self, cells: OpenedData, rows: pl.DataFrame, times: NDArray[np.int64]) -> None:
        """Check nothing: who counted the table knows its rows, and the written files are counted again."""

    def persons(self, cells: OpenedData, rows: NDArray[np.int32], schema: Schema) -> tuple[PersonEvidence, ...]:
        """Look in all columns for people with several rows."""
        return persons_in_pieces(self.table, cells, schema)

    def facts(self, cells: int, parts: int) -> dict[str, Any]:
        """Return what a certificate states about the engine."""
        return {"name": self.engine.name, "parts": parts, "cells": cells, "memory": self.budget.memory}

    def row_store(self, published: pl.DataFrame, entries: NDArray[np.integer], recoded: Recoded) -> RowStore:
        """Return the store that makes, and writes, the rows."""
        counts = recoded.prepared.counts[entries]
        numbers = entries.astype(np.int32)
        rows = StreamedRows(distinct=published, counts=counts, rows=numbers, table_rows=recoded.prepared.rows)
        return self.table.row_store(rows)

    def place(self, release: Release, recoded: Recoded, schema: Schema, clock: Clock) -> Release:
        """Publish the insensitive columns beside the release of the different rows."""
        if not schema.insensitive or not isinstance(self.table, Streamed):
            return release
        return with_values(release, recoded, self.table, schema, self.budget, clock)
