"""Engines that read a table in pieces, with Polars or Spark: distinct rows are counted, and published from counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Clock
from shoal.disclosure_risk import PersonEvidence
from shoal.engines.attaching import with_values
from shoal.engines.choice import Engine
from shoal.engines.histogram import count_cells
from shoal.engines.persons import fewest_in_pieces, persons_in_pieces
from shoal.engines.sources import CountedTable, Streamed
from shoal.pipeline.input import OpenedData
from shoal.pipeline.memory_budget import MemoryBudget
from shoal.pipeline.recoded import RecodedTable
from shoal.pipeline.source import PublishedRuns
from shoal.release.release import Release
from shoal.release.row_store import RowStore
from shoal.release.streamed_rows import StreamedRows
from shoal.request.request import Request
from shoal.table import Schema


@dataclass(frozen=True, kw_only=True, repr=False)
class InPieces:
    """A table read in pieces; see `shoal.pipeline.source.Source`."""

    table: CountedTable
    engine: Engine
    in_memory = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in order."""
        return self.table.columns

    @property
    def budget(self) -> MemoryBudget:
        """The memory limit."""
        return self.engine.budget

    def serving(self, request: Request) -> InPieces:
        """Check that the engine supports the request; return the table, with normalized text if requested."""
        self.engine.check(request)
        schema = request.schema
        # Fail before the search if the insensitive columns cannot be held.
        if schema.insensitive and isinstance(self.table, Streamed):
            self.table.check_values(schema.insensitive, self.budget)
        if not request.normalize:
            return self
        return replace(self, table=self.table.normalized(schema.quasi_identifiers + schema.sensitive))

    def of_cells(self, request: Request) -> Request:
        """Return the request without insensitive columns, which `place` adds later."""
        return replace(request, insensitive=())

    def count(self, request: Request) -> OpenedData:
        """Count the distinct rows."""
        return count_cells(self.table, request.schema, self.budget, dates=request.dates, decimal=request.decimal)

    def row_numbers(self, cells: OpenedData, cell_of_run: NDArray[np.integer], times: NDArray[np.int64]) -> None:
        """Return None, because rows are not numbered."""

    def check_rows(self, cells: OpenedData, rows: pl.DataFrame, times: NDArray[np.int64]) -> None:
        """Do nothing: the written files are counted again instead."""

    def persons(self, cells: OpenedData, rows: NDArray[np.int32], schema: Schema) -> tuple[PersonEvidence, ...]:
        """Search all columns for evidence of persons with several rows."""
        return persons_in_pieces(self.table, cells, schema)

    def count_persons(self, runs: PublishedRuns, column: str, schema: Schema) -> int | None:
        """Count the persons of a column in the published group that has the fewest of them, at most."""
        return fewest_in_pieces(self.table, runs, column, schema.quasi_identifiers, self.budget)

    def facts(self, cells: int, parts: int) -> dict[str, Any]:
        """Return the entry about the engine for the certificate."""
        return {"name": self.engine.name, "parts": parts, "cells": cells, "memory": self.budget.memory}

    def row_store(self, published: pl.DataFrame, entries: NDArray[np.integer], recoded: RecodedTable) -> RowStore:
        """Create the store that generates and writes the rows."""
        # The number of an entry stands for row numbers, which a streamed table does not have.
        counts = recoded.prepared.counts[entries]
        numbers = entries.astype(np.int32)
        at_once, table_rows = self.budget.at_once, recoded.prepared.rows
        rows = StreamedRows(distinct=published, counts=counts, rows=numbers, table_rows=table_rows, at_once=at_once)
        return self.table.row_store(rows)

    def place(self, release: Release, recoded: RecodedTable, schema: Schema, clock: Clock) -> Release:
        """Add the insensitive columns to the release of the distinct rows."""
        if not schema.insensitive or not isinstance(self.table, Streamed):
            return release
        return with_values(release, recoded, self.table, schema, self.budget, clock)
