"""Where a table comes from: what the steps of a release ask of it, wherever its rows lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal._core.progress import Clock
    from shoal.disclosure_risk import PersonEvidence
    from shoal.pipeline.input import OpenedData
    from shoal.pipeline.memory_budget import MemoryBudget
    from shoal.pipeline.recoded import Recoded
    from shoal.release.release import Release
    from shoal.release.row_store import RowStore
    from shoal.request.request import Request
    from shoal.table import Schema

__all__ = ["Source"]


class Source(Protocol):
    """A table whose different rows can be counted; a new place for tables is a class of this form."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, in their order."""

    @property
    def in_memory(self) -> bool:
        """Whether all rows of the table are in memory."""

    @property
    def budget(self) -> MemoryBudget:
        """The memory that the work on the table may take."""

    def serving(self, request: Request) -> Source:
        """Return the table as a request has it: with normalized text if that is asked for.

        Raises
        ------
        UsageError
            What is asked cannot be done with such a table; the message says what to do instead.
        """

    def of_cells(self, request: Request) -> Request:
        """Return what is asked of the different rows: `place` publishes the other columns beside them."""

    def count(self, request: Request) -> OpenedData:
        """Count how many rows have each combination of the columns of a request (`of_cells`).

        Raises
        ------
        DataError
            The combinations do not fit into the memory, there is no row, or the table cannot be read.
        """

    def row_numbers(self, cells: OpenedData, cell_of_run: NDArray[np.integer], times: NDArray[np.int64]) -> Any:
        """Find the row numbers of so many rows of a cell for each run, each row once; None if rows have no numbers.

        Parameters
        ----------
        cells : OpenedData
            What `count` returned.
        cell_of_run : integer array
        times : int64 array
            The runs of a cell have all of its rows together.
        """

    def check_rows(self, cells: OpenedData, rows: pl.DataFrame, times: NDArray[np.int64]) -> None:
        """Check that some rows, each so many times, are those of the table that was counted.

        Parameters
        ----------
        cells : OpenedData
            What `count` returned.
        rows : polars.DataFrame
        times : int64 array

        Raises
        ------
        ReleaseUnsafeError
            They are others.
        """

    def persons(self, cells: OpenedData, rows: NDArray[np.int32], schema: Schema) -> tuple[PersonEvidence, ...]:
        """Look in all columns for people with several rows.

        Parameters
        ----------
        cells : OpenedData
            What `count` returned.
        rows : int32 array
            The numbers of the cells that are published.
        schema : Schema
        """

    def facts(self, cells: int, parts: int) -> Mapping[str, Any]:
        """Return what a certificate states about the engine."""

    def row_store(self, published: pl.DataFrame, entries: NDArray[np.integer], recoded: Recoded) -> RowStore:
        """Return the store that makes, and writes, the rows of a release of the table.

        Parameters
        ----------
        published : polars.DataFrame
            The distinct rows of the release.
        entries : integer array
            The row of the recoded table that each of them is of.
        recoded : Recoded
        """

    def place(self, release: Release, recoded: Recoded, schema: Schema, clock: Clock) -> Release:
        """Publish the columns of a schema that `of_cells` left out beside the release of the different rows."""
