"""Tables in memory: their different rows are counted if that saves work, else each row is one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engines.choice import streaming_obstacle
from shoal.findings import persons_of, unprotected_persons
from shoal.io import collect_in_memory
from shoal.pipeline.memory_budget import MemoryBudget
from shoal.pipeline.units import missing_units
from shoal.release.row_store import MemoryRows
from shoal.release.run_rows import RunRows, rows_of_runs
from shoal.verification import check_same_rows

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal._core.progress import Clock
    from shoal.disclosure_risk import PersonEvidence
    from shoal.pipeline.input import OpenedData
    from shoal.pipeline.recoded import Recoded
    from shoal.release.release import Release
    from shoal.release.row_store import RowStore
    from shoal.request.request import Request
    from shoal.table import Schema

__all__ = ["InMemory"]

_MANY_ROWS = 1 << 17
"""Tables in memory of fewer rows are worked on row by row: it takes less than a second."""
_ROWS_PER_CELL = 2
"""Cells of fewer rows on average are not worth counting."""


@dataclass(frozen=True, kw_only=True, repr=False)
class InMemory:
    """A table in memory; see `shoal.pipeline.source.Source`."""

    opened: OpenedData
    """The table, row by row."""
    in_memory = True
    budget = MemoryBudget(1 << 62)
    """What is read as a whole takes what it needs."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, in their order."""
        return tuple(self.opened.frame.columns)

    def serving(self, request: Request) -> InMemory:
        """Return the table with normalized text if a request asks for it."""
        if not request.normalize:
            return self
        return InMemory(opened=self.opened.normalized(request.schema.quasi_identifiers + request.schema.sensitive))

    def of_cells(self, request: Request) -> Request:
        """Return the request: rows differ in all columns."""
        return request

    def count(self, request: Request) -> OpenedData:
        """Count the different rows if there are many to each and nothing asks for rows, else return the rows.

        A release is compared with the table when it is verified (`check_rows`), whatever was counted here.
        """
        import polars as pl

        names = list(dict.fromkeys(request.schema.published + request.schema.unit_columns))
        if not self._may_be_counted(request, names):
            return self.opened
        # By number, because Polars takes the name "*" for all columns.
        frame, keys = self.opened.frame, [str(number) for number in range(len(names))]
        plain = pl.DataFrame([frame[name].alias(key) for name, key in zip(names, keys, strict=True)])
        # Streaming takes half of the time and a third of the memory, in memory, too.
        cells = collect_in_memory(plain.lazy().group_by(keys).agg(pl.len().cast(pl.Int64).alias("rows")))
        if cells.height == frame.height or cells.height * _ROWS_PER_CELL > frame.height:
            return self.opened
        cells = cells.sort(keys)
        counts = cells["rows"].to_numpy()
        cells = cells[keys].rename(dict(zip(keys, names, strict=True)))
        cells = cells.with_columns(pl.lit(None).alias(name) for name in request.schema.direct_identifiers)
        return replace(self.opened, frame=cells, counts=counts)

    def _may_be_counted(self, request: Request, names: list[str]) -> bool:
        """Return whether nothing asks for the rows of the table, and there are many of them."""
        import polars as pl

        frame, schema = self.opened.frame, request.schema
        if frame.height < _MANY_ROWS or request.preferences or request.rows_per_person or request.link:
            return False
        if streaming_obstacle(request) is not None:
            return False
        # Algorithms see rows that differ in what they do not read, unless no model reads any such column.
        if request.requirement.reads_sensitive and (len(schema.sensitive) > 1 or schema.insensitive):
            return False
        if missing_units(frame, schema.units).any():  # rows that miss their unit stand alone
            return False
        types = [frame.schema[name] for name in names]
        if any(kind in (pl.Object, pl.Binary) or kind.is_nested() for kind in types):
            return False
        # Minus zero is zero, except in insensitive columns, which are published as they are.
        if any(frame.schema[name].is_float() for name in schema.insensitive):
            return False
        # Rows that miss a sensitive value are left out, or refused.
        return request.missing_sensitive == "value" or not any(
            (values.fill_nan(None) if values.dtype.is_float() else values).null_count()
            for values in frame[list(schema.sensitive)]
        )

    def _has_rows(self, cells: OpenedData) -> bool:
        """Return whether `count` returned the rows."""
        return cells.frame.height == self.opened.frame.height

    def row_numbers(
        self, cells: OpenedData, cell_of_run: NDArray[np.integer], times: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Find the row numbers of so many rows of a cell for each run, each row once."""
        if self._has_rows(cells):
            return np.asarray(cell_of_run, dtype=np.int32)
        return rows_of_runs(self.opened.frame, cells.as_it_came, cell_of_run, times)

    def check_rows(self, cells: OpenedData, rows: pl.DataFrame, times: NDArray[np.int64]) -> None:
        """Check that some rows, each so many times, are those of the table if these were counted."""
        if not self._has_rows(cells):
            check_same_rows(rows, times, self.opened.frame)

    def persons(self, cells: OpenedData, rows: NDArray[np.int32], schema: Schema) -> tuple[PersonEvidence, ...]:
        """Look in all columns of the published rows for people with several of them."""
        left_out = self._has_rows(cells) and len(rows) < self.opened.frame.height
        frame = self.opened.frame[rows] if left_out else self.opened.frame
        found = persons_of(frame, schema.quasi_identifiers)
        return unprotected_persons(found, lambda _: frame, schema)

    def facts(self, cells: int, parts: int) -> dict[str, Any]:
        """Return what a certificate states about the engine."""
        return {"name": "memory", "parts": parts, "cells": cells}

    def row_store(self, published: pl.DataFrame, entries: NDArray[np.integer], recoded: Recoded) -> RowStore:
        """Return the rows, or runs of equal rows if these were counted."""
        whole, counts = recoded.whole, recoded.prepared.counts[entries]
        cells = whole.rows[recoded.cells[entries]]
        if self._has_rows(whole.opened):
            return MemoryRows(distinct=published, rows=cells, table_rows=whole.rows)
        find_rows = partial(self.row_numbers, whole.opened, cells, counts)
        return RunRows(distinct=published, counts=counts, cells=entries, find_rows=find_rows)

    def place(self, release: Release, recoded: Recoded, schema: Schema, clock: Clock) -> Release:
        """Return the release: all of its columns are there."""
        return release

    def __repr__(self) -> str:
        return f"InMemory(rows={self.opened.frame.height})"
