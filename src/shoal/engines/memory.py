"""The in-memory engine: distinct rows are counted if that saves work, otherwise each row is a cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Clock
from shoal.disclosure_risk import PersonEvidence
from shoal.engines.choice import streaming_obstacle
from shoal.engines.persons import fewest_in_group
from shoal.findings import columns_of_owners, persons_of, unprotected_persons
from shoal.io import collect_in_memory
from shoal.models.counting import PSEUDONYM
from shoal.pipeline.input import OpenedData
from shoal.pipeline.kept_rows import count_days_since_first, find_missing_owners
from shoal.pipeline.memory_budget import MemoryBudget
from shoal.pipeline.recoded import RecodedTable
from shoal.pipeline.source import PublishedRuns
from shoal.release.release import Release
from shoal.release.row_store import MemoryRows, RowStore
from shoal.release.run_rows import RunRows, rows_of_runs
from shoal.request.request import Request
from shoal.table import Schema
from shoal.verification import check_same_rows

_MANY_ROWS = 1 << 17
"""Minimum number of rows for counting; smaller tables take less than a second row by row."""
_ROWS_PER_CELL = 2
"""Minimum average number of rows of a cell for counting to pay off."""
_LOOKED_AT = 1 << 14
"""Number of rows in which values are searched that repeat."""
_ROWS_PER_VALUE = 4
"""Minimum average number of these rows for each value of a text column that is coded."""


@dataclass(frozen=True, kw_only=True, repr=False)
class InMemory:
    """A table in memory; see `shoal.pipeline.source.Source`."""

    opened: OpenedData
    """The table with all of its rows."""
    raw: pl.DataFrame | None = None
    """The table before lists, relative dates, text and sensitive values were converted; None if nothing was."""
    in_memory = True
    budget = MemoryBudget(1 << 62)
    """The in-memory engine has no limit."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in order."""
        return tuple(self.opened.frame.columns)

    def serving(self, request: Request) -> InMemory:
        """Return the table, with lists as text, and with relative dates and normalized text if requested."""
        separators = request.counting.separators
        opened = self.opened.with_lists_as_text(separators) if separators else self.opened
        for names in request.since_first:
            opened = replace(opened, frame=count_days_since_first(opened.frame, names, request))
        if request.normalize:
            opened = opened.normalized(request.schema.quasi_identifiers + request.schema.sensitive)
        return self if opened is self.opened else InMemory(opened=opened, raw=self._original)

    @property
    def _original(self) -> pl.DataFrame:
        """The rows of the table as they came in."""
        return self.opened.raw_frame if self.raw is None else self.raw

    def of_cells(self, request: Request) -> Request:
        """Return the request unchanged: cells of this engine include all columns."""
        return request

    def count(self, request: Request) -> OpenedData:
        """Count the distinct rows if they repeat often and the request needs no individual rows; else return the rows.

        The release is compared with the table when it is verified (see `check_rows`), so an error here cannot pass.
        """
        names = list(dict.fromkeys(request.schema.published + request.schema.owner_columns))
        if not self._may_be_counted(request, names):
            return self.opened
        # Columns are numbered, because Polars treats the name "*" as all columns.
        frame, keys = self.opened.frame, [str(number) for number in range(len(names))]
        plain = pl.DataFrame([frame[name].alias(key) for name, key in zip(names, keys, strict=True)])
        # Text that repeats is counted by its codes.
        text = [key for key in keys if plain[key].dtype == pl.String and _repeats(plain[key])]
        coded = plain.with_columns(pl.col(text).cast(pl.Categorical)) if text else plain
        # Polars' streaming engine takes half of the time and a third of the memory even for frames in memory.
        cells = collect_in_memory(coded.lazy().group_by(keys).agg(pl.len().cast(pl.Int64).alias("rows")))
        # Too few rows for each cell: counting would not pay off.
        if cells.height == frame.height or cells.height * _ROWS_PER_CELL > frame.height:
            return self.opened
        cells = _sort_cells(cells.with_columns(pl.col(text).cast(pl.String)) if text else cells, keys, text)
        counts = cells["rows"].to_numpy()
        cells = cells[keys].rename(dict(zip(keys, names, strict=True)))
        cells = cells.with_columns(pl.lit(None).alias(name) for name in request.schema.direct_identifiers)
        return replace(self.opened, frame=cells, counts=counts)

    def _may_be_counted(self, request: Request, names: list[str]) -> bool:
        """Check that the request needs no individual rows, and that there are many of them."""
        frame, schema = self.opened.frame, request.schema
        if frame.height < _MANY_ROWS or request.preferences or request.requirement.keeps:
            return False
        if streaming_obstacle(request) is not None:
            return False
        # Algorithms see the rows of a cell as one, so no model may read a column that they do not.
        if request.requirement.reads_sensitive and (len(schema.sensitive) > 1 or schema.insensitive):
            return False
        if find_missing_owners(frame, request.counting.kinds).any():  # a row without a person is one of its own
            return False
        types = [frame.schema[name] for name in names]
        if any(kind in (pl.Object, pl.Binary) or kind.is_nested() for kind in types):
            return False
        # Counting makes -0.0 and 0.0 equal, but insensitive columns must be published unchanged.
        if any(frame.schema[name].is_float() for name in schema.insensitive):
            return False
        # Rows without a sensitive value are dropped or rejected one by one.
        return request.missing_sensitive == "value" or not any(
            (values.fill_nan(None) if values.dtype.is_float() else values).null_count()
            for values in frame[list(schema.sensitive)]
        )

    def _has_rows(self, cells: OpenedData) -> bool:
        """Check whether `count` returned the rows."""
        return cells.frame.height == self.opened.frame.height

    def row_numbers(
        self, cells: OpenedData, cell_of_run: NDArray[np.integer], times: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Assign row numbers of its cell to each run, each number once."""
        if self._has_rows(cells):
            return np.asarray(cell_of_run, dtype=np.int32)
        return rows_of_runs(self.opened.frame, cells.raw_frame, cell_of_run, times)

    def check_rows(self, cells: OpenedData, rows: pl.DataFrame, times: NDArray[np.int64]) -> None:
        """Check that rows with multiplicities equal those of the table, if the table was counted."""
        if not self._has_rows(cells):
            check_same_rows(rows, times, self.opened.frame)

    def persons(self, cells: OpenedData, rows: NDArray[np.int32], schema: Schema) -> tuple[PersonEvidence, ...]:
        """Search all columns of the published rows for evidence of persons with several rows."""
        left_out = self._has_rows(cells) and len(rows) < self.opened.frame.height
        # Rows that were dropped are not evidence about the release.
        frame = self.opened.frame[rows] if left_out else self.opened.frame
        # Cells stand for their rows if combinations of quasi-identifiers are compared.
        counted = None if self._has_rows(cells) else (cells.raw_frame, cells.counts)
        found = persons_of(frame, schema.quasi_identifiers, counted)
        unprotected = unprotected_persons(found, lambda _: frame, schema)
        known = {one.column for one in unprotected}
        return (*unprotected, *(one for one in columns_of_owners(frame, schema) if one.column not in known))

    def count_persons(self, runs: PublishedRuns, column: str, schema: Schema) -> int | None:
        """Count the persons of a column in the published group that has the fewest of them."""
        rows = self.row_numbers(runs.cells, runs.cell_of_run, runs.times)
        return fewest_in_group(np.repeat(runs.group_of_run, runs.times), self.opened.frame[column].gather(rows))

    def facts(self, cells: int, parts: int) -> dict[str, Any]:
        """Return the entry about the engine for the certificate."""
        return {"name": "memory", "parts": parts, "cells": cells}

    def row_store(self, published: pl.DataFrame, entries: NDArray[np.integer], recoded: RecodedTable) -> RowStore:
        """Create the store of published rows, or of runs of equal rows if the table was counted."""
        whole, counts = recoded.whole, recoded.prepared.counts[entries]
        cells = whole.rows[recoded.cells[entries]]
        # Without counting, a cell is a row and its number is the row number.
        if self._has_rows(whole.opened):
            joined = whole.opened.joined
            personal = () if joined is None else (PSEUDONYM, *(n for n in published.columns if n in joined.personal))
            rows = {"rows": cells, "table_rows": whole.rows}
            return MemoryRows(distinct=published, **rows, original=self._original, personal=personal)
        find_rows = partial(self.row_numbers, whole.opened, cells, counts)
        return RunRows(distinct=published, counts=counts, cells=entries, original=self._original, find_rows=find_rows)

    def place(self, release: Release, recoded: RecodedTable, schema: Schema, clock: Clock) -> Release:
        """Return the release unchanged, because it has all columns."""
        return release

    def __repr__(self) -> str:
        return f"InMemory(rows={self.opened.frame.height})"


def _repeats(text: pl.Series) -> bool:
    """Check in the first rows whether the values of a long column repeat, so that coding them pays off."""
    return text.head(_LOOKED_AT).n_unique() * _ROWS_PER_VALUE <= _LOOKED_AT


def _sort_cells(cells: pl.DataFrame, keys: list[str], text: list[str]) -> pl.DataFrame:
    """Sort cells by all of their columns, text by its codes in sorted order."""
    coded = cells.with_columns(cells[key].cast(pl.Enum(cells[key].drop_nulls().unique().sort())) for key in text)
    coded = coded.sort(keys)
    return coded.with_columns(pl.col(text).cast(pl.String)) if text else coded
