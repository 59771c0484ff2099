"""The interface `CountedTable` of engines, and its implementations with Polars and Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.errors import DataError, InternalError
from shoal.io import ScannedTable, SparkTable, collect_in_memory, iterate_batches
from shoal.io.scanning import UnreadableError, count_in_lots
from shoal.pipeline.memory_budget import MemoryBudget
from shoal.release.row_store import RowStore
from shoal.release.spark_rows import SparkRows
from shoal.release.streamed_rows import StreamedRows
from shoal.table import normalize_columns

_WIDTHS: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(("Boolean", "Int8", "UInt8"), 1)
    | dict.fromkeys(("Int16", "UInt16", "Float16"), 2)
    | dict.fromkeys(("Int32", "UInt32", "Float32", "Date", "Categorical", "Enum"), 4)
    | dict.fromkeys(("Int64", "UInt64", "Float64", "Datetime", "Duration", "Time"), 8)
    | dict.fromkeys(("Int128", "UInt128", "Decimal"), 16)
)
"""Bytes of a value, by type of an insensitive column; the size of text is estimated from a sample."""
_VIEW = 16
"""Overhead of a text value in bytes."""
_LOOKED_AT = 20_000
"""Number of rows sampled to estimate the length of text."""


class CountedTable(Protocol):
    """A table that an engine can count without holding its rows. A new engine is a class with these methods."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in order."""

    @property
    def delimiter(self) -> str | None:
        """The delimiter of delimited text; None for other tables."""

    def histogram(self, names: Sequence[str], times: str, budget: MemoryBudget) -> pl.DataFrame:
        """Count the rows of each combination of values, in any order of the combinations.

        Parameters
        ----------
        names : sequence of str
            The columns to group by.
        times : str
            Name of the column of counts (int64).
        budget : MemoryBudget
            The combinations must fit into it.

        Raises
        ------
        DataError
            If they do not fit, if there are no rows, or if the table cannot be read.
        """

    def placed_histogram(
        self, names: Sequence[str], times: str, budget: MemoryBudget
    ) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Do the same in the order of first occurrence, and return the index of the row where each occurs first."""

    def peek(self, rows: int) -> pl.DataFrame:
        """Read at most so many rows of the table: all columns of numbers, text and dates."""

    def rows_of_values(
        self, candidates: Sequence[str], names: Sequence[str], *, parts: int, most: int
    ) -> dict[str, pl.DataFrame]:
        """Sample values of each candidate column by their hash, and return all rows that have a sampled value.

        Parameters
        ----------
        candidates : sequence of str
            Columns whose values are sampled; they are among `names`.
        names : sequence of str
            Columns to return.
        parts : int
            One in `parts` values is sampled; all values if it is 1.
        most : int
            Largest number of rows of all candidates together.
        """

    def row_store(self, rows: StreamedRows) -> RowStore:
        """Return the store that generates and writes the rows of a release.

        Parameters
        ----------
        rows : StreamedRows
            The distinct rows of the release, with counts.
        """

    def normalized(self, names: Sequence[str]) -> CountedTable:
        """Return the table with normalized text in the named columns (see `shoal.table.normalize_columns`)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Streamed:
    """A table read in pieces by Polars."""

    table: ScannedTable

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in order."""
        return self.table.columns

    @property
    def delimiter(self) -> str | None:
        """The delimiter of a CSV file; None for other formats."""
        return self.table.delimiter

    def histogram(self, names: Sequence[str], times: str, budget: MemoryBudget) -> pl.DataFrame:
        """Count the rows of each combination of values; see `CountedTable`."""
        return self._counted(self.numbered(names), names, budget, {times: (pl.len().cast(pl.Int64), pl.Expr.sum)})

    def placed_histogram(
        self, names: Sequence[str], times: str, budget: MemoryBudget
    ) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Count the combinations in order of first occurrence; see `CountedTable`."""
        first = f"{times}_first"
        while first in self.columns:
            first += "_"
        measured = {
            times: (pl.len().cast(pl.Int64), pl.Expr.sum),
            first: (pl.col("row").min().cast(pl.Int64), pl.Expr.min),
        }
        cells = self._counted(self.numbered(names).with_row_index("row"), names, budget, measured)
        cells = cells[np.argsort(cells[first].to_numpy())]
        return cells.drop(first), cells[first].to_numpy()

    def check_values(self, names: Sequence[str], budget: MemoryBudget, *, largest: int = 0) -> None:
        """Check that columns fit into the memory with a value for each row; the size of text is sampled.

        Parameters
        ----------
        names : sequence of str
        budget : MemoryBudget
        largest : int
            Largest number of rows sorted at a time.

        Raises
        ------
        DataError
            If they do not fit; the message states the memory needed. Also if the values of a column cannot be sorted.
        """
        lazy = self.numbered(names)
        each = widest = 0
        for key, (name, kind) in enumerate(zip(names, lazy.collect_schema().values(), strict=True)):
            # Fixed-width types have a known size; the mean length of text is sampled; other types cannot be sorted.
            width = _WIDTHS.get(str(kind.base_type()))
            if isinstance(kind, pl.Decimal) and kind.precision > 38:
                width = None
            if kind in (pl.String, pl.Binary):
                column = pl.col(str(key))
                size = column.str.len_bytes() if kind == pl.String else column.bin.size()
                looked = collect_in_memory(lazy.head(_LOOKED_AT).select(size.mean()), self.table.at_once).item()
                width = _VIEW + int(looked or 0)
            if width is None:
                raise DataError(
                    f"The insensitive column '{name}' has the type {kind.base_type()}, which has no place in a table "
                    "that is read in pieces. Turn it into text, or drop it by naming it among ",
                    Suggestion("direct_identifiers"),
                    ".",
                )
            each, widest = each + width, max(widest, width)
        rows = self.table.rows if self.table.rows is not None else int(collect_in_memory(lazy.select(pl.len())).item())
        budget.check_values(rows, each, widest, largest)

    def values(self, cells: pl.DataFrame, names: Sequence[str]) -> tuple[NDArray[np.int32], pl.DataFrame]:
        """Return the number of each row's cell, and the values of other columns, in the same order.

        Raises
        ------
        DataError
            If a row has none of these cells, or the table cannot be read.
        """
        keys, beside = self._keys(cells.columns, names)
        # Look up the cell of each row with a left join; missing values are equal to each other.
        numbered = pl.DataFrame([column.alias(key) for column, key in zip(cells, keys, strict=True)])
        numbered = numbered.with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias("cell"))
        lazy = self.numbered([*cells.columns, *names])
        joined = lazy.join(numbered.lazy(), on=keys, how="left", nulls_equal=True).select("cell", *beside)
        found = collect_in_memory(joined, self.table.at_once)
        of_row = found["cell"]
        if of_row.null_count():
            raise DataError("The table was changed while it was read. Nothing was published: start once more.")
        columns = [found.drop_in_place(key).rechunk().alias(name) for key, name in zip(beside, names, strict=True)]
        return of_row.to_numpy(), pl.DataFrame(columns)

    def pieces(
        self, names: Sequence[str], beside: Sequence[str], *, present: Sequence[str] = ()
    ) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        """Yield all rows in pieces, each as the columns of cells and the other columns.

        Rows with a missing value in one of the columns `present` are excluded.
        """
        keys, others = self._keys(names, beside)
        lazy = self.numbered([*names, *beside])
        types = lazy.collect_schema()
        for name in present:
            key = keys[list(names).index(name)]
            there = pl.col(key).is_not_null()
            lazy = lazy.filter(there & pl.col(key).is_not_nan() if types[key].is_float() else there)
        for piece in iterate_batches(lazy, self.table.at_once):
            yield piece[keys], piece[others]

    @staticmethod
    def _keys(names: Sequence[str], beside: Sequence[str]) -> tuple[list[str], list[str]]:
        keys = [str(at) for at in range(len(names) + len(beside))]
        return keys[: len(names)], keys[len(names) :]

    def peek(self, rows: int) -> pl.DataFrame:
        """Return the first rows of the table; see `CountedTable`."""
        kinds = self.table.lazy.collect_schema()
        odd = (pl.Object, pl.Binary)
        # Polars finds decimal numbers of more than 38 digits in Parquet, and cannot read them.
        wide = {one for one, kind in kinds.items() if isinstance(kind, pl.Decimal) and kind.precision > 38}
        names = [one for one in self.columns if not (kinds[one].is_nested() or kinds[one] in odd or one in wide)]
        found = collect_in_memory(self.numbered(names).head(rows), self.table.at_once)
        found.columns = names
        return found

    def rows_of_values(
        self, candidates: Sequence[str], names: Sequence[str], *, parts: int, most: int
    ) -> dict[str, pl.DataFrame]:
        """Sample the rows of each candidate in one pass over the table; see `CountedTable`."""

        def chosen(name: str) -> pl.Expr:
            return pl.col(str(list(names).index(name))).hash(seed=0) % parts == 0

        # Sampling by hash keeps all rows of a sampled value.
        flags = {f"of {at}": chosen(name) for at, name in enumerate(candidates)}
        lazy = self.numbered(names).with_columns(**flags).filter(pl.any_horizontal(*flags)).head(most)
        return _rows_of(collect_in_memory(lazy, self.table.at_once), candidates, names)

    def numbered(self, names: Sequence[str]) -> pl.LazyFrame:
        """Select columns and number them from 0, because Polars expands names such as "*" and "^a"."""
        places = self.table.lazy.collect_schema().names()
        return self.table.lazy.select(pl.nth(places.index(name)).alias(str(at)) for at, name in enumerate(names))

    def row_store(self, rows: StreamedRows) -> RowStore:
        """Return the store unchanged, because Polars generates its rows."""
        return rows

    def normalized(self, names: Sequence[str]) -> Streamed:
        """Return the table with normalized text in the named columns."""
        return replace(self, table=replace(self.table, lazy=normalize_columns(self.table.lazy, names)))

    def _counted(
        self,
        lazy: pl.LazyFrame,
        names: Sequence[str],
        budget: MemoryBudget,
        measured: Mapping[str, tuple[pl.Expr, Callable[[pl.Expr], pl.Expr]]],
    ) -> pl.DataFrame:
        """Aggregate the rows of each combination of values of numbered columns.

        Each aggregate is a pair: an expression over rows, and a function that merges the results of several lots. The
        first aggregate is the number of rows.
        """
        keys, told = ([f"{letter}{at}" for at in range(len(some))] for letter, some in (("", names), ("m", measured)))
        measures = [one.alias(key) for key, (one, _) in zip(told, measured.values(), strict=True)]
        joint = [join(pl.col(key)) for key, (_, join) in zip(told, measured.values(), strict=True)]
        try:
            rows = (
                self.table.rows if self.table.rows is not None else int(collect_in_memory(lazy.select(pl.len())).item())
            )
            # More rows than cells that fit: estimate the number of combinations before they are collected.
            if rows > budget.max_cells:
                distinct = pl.struct(keys).hash().approx_n_unique()
                budget.check_cells(int(collect_in_memory(lazy.select(distinct), self.table.at_once).item()))
            # A query may give its rows in another order each time, so only files are counted in lots.
            lots = rows if self.table.in_files else 0
            cells = count_in_lots(lazy, keys, measures, joint, rows=lots, at_once=self.table.at_once)
        except UnreadableError as error:
            raise DataError(
                "The columns of the table cannot be counted. Columns of lists, structures and the like have no place "
                "in it: name them as direct identifiers, which drops them. Otherwise: ",
                error,
            ) from None
        cells = cells[[*keys, *told]]
        cells.columns = [*names, *measured]
        _check_rows(cells, next(iter(measured)), rows)
        return cells


@dataclass(frozen=True, kw_only=True, repr=False)
class OnSpark:
    """A table counted by Spark in the cluster."""

    table: SparkTable
    to_normalize: tuple[str, ...] = ()
    """Columns whose text is normalized after counting."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in order."""
        return self.table.columns

    @property
    def delimiter(self) -> None:
        """None, because the table is not a CSV file."""

    def histogram(self, names: Sequence[str], times: str, budget: MemoryBudget) -> pl.DataFrame:
        """Count the rows of each combination of values; see `CountedTable`."""
        found = self.table.cells(names, times, budget.max_cells)
        # Spark returns the number of cells instead of the cells if they exceed the budget.
        if isinstance(found, int):
            budget.check_cells(found)
            raise InternalError("an engine found fewer cells than it could not hold")
        _check_rows(found, times, self.table.rows)
        if not self.to_normalize:
            return found
        # Cells that become equal by normalization are merged.
        lazy = normalize_columns(found.lazy(), self.to_normalize)
        keys = [str(at) for at in range(len(names))]
        numbered = lazy.select([*(pl.nth(at).alias(key) for at, key in enumerate(keys)), pl.nth(len(keys))])
        cells = collect_in_memory(numbered.group_by(keys).agg(pl.nth(len(keys)).sum()))[[*keys, times]]
        cells.columns = [*names, times]
        return cells

    def placed_histogram(
        self, names: Sequence[str], times: str, budget: MemoryBudget
    ) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Count the combinations in sort order; rows are numbered in that order, because Spark has no row order."""
        cells = self.histogram(names, times, budget).sort(names)
        # The first row of a cell is the number of rows in the cells before it.
        counts = cells[times].to_numpy()
        return cells, np.cumsum(counts) - counts

    def normalized(self, names: Sequence[str]) -> OnSpark:
        """Return the table with normalized text in the named columns."""
        return replace(self, to_normalize=tuple(names))

    def peek(self, rows: int) -> pl.DataFrame:
        """Return a few rows of the table; see `CountedTable`."""
        return self.table.peek(rows)

    def rows_of_values(
        self, candidates: Sequence[str], names: Sequence[str], *, parts: int, most: int
    ) -> dict[str, pl.DataFrame]:
        """Sample the rows of each candidate; see `CountedTable`."""
        return _rows_of(self.table.rows_of_values(candidates, names, parts, most), candidates, names)

    def row_store(self, rows: StreamedRows) -> RowStore:
        """Create a store whose rows are generated by Spark."""
        return SparkRows(
            distinct=rows.distinct,
            counts=rows.counts,
            rows=rows.rows,
            table_rows=rows.table_rows,
            at_once=rows.at_once,
            session=self.table.home,
        )


def _rows_of(found: pl.DataFrame, candidates: Sequence[str], names: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Split sampled rows by candidate; behind the numbered columns there is a flag for each candidate."""
    rows = {}
    for at, name in enumerate(candidates):
        own = found.filter(found.to_series(len(names) + at))
        rows[name] = own[:, : len(names)]
        rows[name].columns = list(names)
    return rows


def _check_rows(cells: pl.DataFrame, times: str, rows: int | None) -> None:
    """Check that every row was counted once, if the number of rows is known from elsewhere."""
    counted = int(cells[times].sum())
    # A wrong count would publish rows that do not exist, so it is a bug, not an error in the data.
    if rows is not None and counted != rows:
        raise InternalError("an engine counted some rows of a table twice, or not at all")
    if counted == 0:
        raise DataError("The table has no rows.")
