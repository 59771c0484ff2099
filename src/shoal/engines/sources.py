"""What an engine does with a table: it counts its cells, and makes the rows of the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from shoal.errors import DataError, InternalError
from shoal.io import ScannedTable, SparkTable, collected
from shoal.release_on_spark import SparkRelease

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.engines.memory import MemoryBudget
    from shoal.release_of_cells import CountedRelease

__all__ = ["OnSpark", "Source", "Streamed"]


class Source(Protocol):
    """A table that an engine can count without holding its rows; a new engine is a class of this form."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, in their order."""

    @property
    def delimiter(self) -> str | None:
        """What separates the fields of delimited text; None: it is none."""

    def histogram(self, names: Sequence[str], times: str, budget: MemoryBudget) -> pl.DataFrame:
        """Return each combination of values once, in any order, with how many rows have it.

        Parameters
        ----------
        names : sequence of str
            The columns.
        times : str
            What to call the numbers of rows (int64).
        budget : MemoryBudget
            The combinations must fit into it.

        Raises
        ------
        DataError
            Where they do not, there is no row, or the table cannot be read.
        """

    def placed_histogram(
        self, names: Sequence[str], times: str, budget: MemoryBudget
    ) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the same in the order of the rows of the table, and the row, from 0, in which each occurs first."""

    def released(self, release: CountedRelease) -> CountedRelease:
        """Return a verified release of the table whose rows the engine makes, and writes."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Streamed:
    """A table that Polars reads in pieces."""

    table: ScannedTable

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, in their order."""
        return self.table.columns

    @property
    def delimiter(self) -> str | None:
        """What separates the fields of delimited text; None: it is none."""
        return self.table.delimiter

    def histogram(self, names: Sequence[str], times: str, budget: MemoryBudget) -> pl.DataFrame:
        """Return each combination of values once, as `Source` has it."""
        import polars as pl

        return self._counted(self.numbered(names), names, budget, {times: pl.len().cast(pl.Int64)})

    def placed_histogram(
        self, names: Sequence[str], times: str, budget: MemoryBudget
    ) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the same in the order of the rows of the table, and the row in which each occurs first."""
        import polars as pl

        first = f"{times}_first"
        while first in self.columns:
            first += "_"
        measured = {times: pl.len().cast(pl.Int64), first: pl.col("row").min().cast(pl.Int64)}
        cells = self._counted(self.numbered(names).with_row_index("row"), names, budget, measured)
        cells = cells[np.argsort(cells[first].to_numpy())]
        return cells.drop(first), cells[first].to_numpy()

    def numbered(self, names: Sequence[str]) -> pl.LazyFrame:
        """Return some columns, called by their numbers from 0: Polars takes the names "*" and "^a" for several."""
        import polars as pl

        places = self.table.lazy.collect_schema().names()
        return self.table.lazy.select(pl.nth(places.index(name)).alias(str(at)) for at, name in enumerate(names))

    def released(self, release: CountedRelease) -> CountedRelease:
        """Return the release: its rows are made by Polars."""
        return release

    def _counted(
        self, lazy: pl.LazyFrame, names: Sequence[str], budget: MemoryBudget, measured: dict[str, pl.Expr]
    ) -> pl.DataFrame:
        """Return each combination of values of numbered columns once, with what is measured of its rows.

        The first that is measured is how many there are.
        """
        import polars as pl

        keys, told = ([f"{letter}{at}" for at in range(len(some))] for letter, some in (("", names), ("m", measured)))
        try:
            rows = self.table.rows if self.table.rows is not None else int(collected(lazy.select(pl.len())).item())
            if rows > budget.cells:
                distinct = pl.struct(keys).hash().approx_n_unique()
                budget.check_cells(int(collected(lazy.select(distinct)).item()))
            measures = [one.alias(key) for key, one in zip(told, measured.values(), strict=True)]
            cells = collected(lazy.group_by(keys).agg(measures))
        except (pl.exceptions.PolarsError, OSError) as error:
            kind = type(error).__name__
        else:
            cells = cells[[*keys, *told]]
            cells.columns = [*names, *measured]
            _check_rows(cells, next(iter(measured)), rows)
            return cells
        raise DataError(
            f"The columns of the table cannot be counted ({kind}). Columns of lists, structures and the like have no "
            "place in it: name them as direct identifiers, which drops them. A damaged file must be written again."
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class OnSpark:
    """A table that Spark counts where it is."""

    table: SparkTable

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, in their order."""
        return self.table.columns

    @property
    def delimiter(self) -> None:
        """None: it is no delimited text."""

    def histogram(self, names: Sequence[str], times: str, budget: MemoryBudget) -> pl.DataFrame:
        """Return each combination of values once, as `Source` has it."""
        found = self.table.cells(names, times, budget.cells)
        if isinstance(found, int):
            budget.check_cells(found)
            raise InternalError("an engine found fewer cells than it could not hold")
        _check_rows(found, times, self.table.rows)
        return found

    def placed_histogram(
        self, names: Sequence[str], times: str, budget: MemoryBudget
    ) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the same; the rows of Spark have no order, and are numbered as they are sorted by these columns."""
        cells = self.histogram(names, times, budget).sort(names)
        counts = cells[times].to_numpy()
        return cells, np.cumsum(counts) - counts

    def released(self, release: CountedRelease) -> CountedRelease:
        """Return the release with rows that Spark makes."""
        return SparkRelease.on(release, self.table.home)


def _check_rows(cells: pl.DataFrame, times: str, rows: int | None) -> None:
    """Check that all rows were counted, once each, where somebody else knows how many there are."""
    counted = int(cells[times].sum())
    if rows is not None and counted != rows:
        raise InternalError("an engine counted some rows of a table twice, or not at all")
    if counted == 0:
        raise DataError("The table has no rows.")
