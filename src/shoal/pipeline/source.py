"""The protocol `Source`: the methods of an input table that the steps of a release call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Clock
from shoal.disclosure_risk import PersonEvidence
from shoal.pipeline.input import OpenedData
from shoal.pipeline.memory_budget import MemoryBudget
from shoal.pipeline.recoded import RecodedTable
from shoal.release.release import Release
from shoal.release.row_store import RowStore
from shoal.request.request import Request
from shoal.table import Schema


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PublishedRuns:
    """The rows of a release as runs: some rows of a cell of the input in one published group."""

    cells: OpenedData
    """The result of `count`."""
    cell_of_run: NDArray[np.integer]
    """The cell of each run."""
    times: NDArray[np.int64]
    """Number of rows of each run."""
    group_of_run: NDArray[np.integer]
    """The published group of each run: rows that publish the same quasi-identifiers."""


class Source(Protocol):
    """An input table whose distinct rows can be counted. A new kind of source is a class with these methods."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, in their order."""

    @property
    def in_memory(self) -> bool:
        """Whether all rows of the table are in memory."""

    @property
    def budget(self) -> MemoryBudget:
        """The memory that the steps may use for the table."""

    def serving(self, request: Request) -> Source:
        """Check that the source supports a request, and return the table with normalized text if it is requested.

        Raises
        ------
        UsageError
            If the source does not support the request; the message suggests an alternative.
        """

    def of_cells(self, request: Request) -> Request:
        """Restrict a request to the columns by which distinct rows are counted; `place` adds the other columns."""

    def count(self, request: Request) -> OpenedData:
        """Count the rows with each combination of the columns of a request (`of_cells`).

        Raises
        ------
        DataError
            If the combinations do not fit into memory, if there are no rows, or if the table cannot be read.
        """

    def row_numbers(self, cells: OpenedData, cell_of_run: NDArray[np.integer], times: NDArray[np.int64]) -> Any:
        """Assign row numbers of the input to runs of equal rows; None if rows have no numbers.

        Parameters
        ----------
        cells : OpenedData
            The result of `count`.
        cell_of_run : integer array
            The cell to which the rows of each run belong.
        times : int64 array
            Number of rows of each run. The runs of a cell contain each of its rows exactly once.
        """

    def check_rows(self, cells: OpenedData, rows: pl.DataFrame, times: NDArray[np.int64]) -> None:
        """Check that rows with counts are the rows of the input.

        Parameters
        ----------
        cells : OpenedData
            The result of `count`.
        rows : polars.DataFrame
        times : int64 array
            Number of occurrences of each row.

        Raises
        ------
        ReleaseUnsafeError
            If the rows differ.
        """

    def persons(self, cells: OpenedData, rows: NDArray[np.int32], schema: Schema) -> tuple[PersonEvidence, ...]:
        """Search all columns for evidence that persons have several rows.

        Parameters
        ----------
        cells : OpenedData
            The result of `count`.
        rows : int32 array
            Numbers of the published cells.
        schema : Schema
        """

    def count_persons(self, runs: PublishedRuns, column: str, schema: Schema) -> int | None:
        """Count the persons of a column in the published group that has the fewest of them, at most.

        Returns
        -------
        int or None
            None if that does not fit into the memory.
        """

    def facts(self, cells: int, parts: int) -> Mapping[str, Any]:
        """Describe the engine for the certificate."""

    def row_store(self, published: pl.DataFrame, entries: NDArray[np.integer], recoded: RecodedTable) -> RowStore:
        """Create the store that produces and writes the rows of a release.

        Parameters
        ----------
        published : polars.DataFrame
            The distinct rows of the release.
        entries : integer array
            Index in the recoded table of each distinct row.
        recoded : RecodedTable
        """

    def place(self, release: Release, recoded: RecodedTable, schema: Schema, clock: Clock) -> Release:
        """Add the columns that `of_cells` left out to the release."""
