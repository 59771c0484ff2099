"""Rows of a table in memory that was counted: each run of equal rows is kept once, and all rows are made on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.threads import map_in_threads
from shoal._core.unpicklable import Unpicklable
from shoal.errors import ReleaseUnsafeError
from shoal.io import Codebook, Dialect, read_delimited, repeat_rows, write_table
from shoal.release.row_store import Files, MemoryRows, WrittenCheck, describe_file, read_back, verify_rows
from shoal.release.streamed_rows import verify_counts
from shoal.table import Table
from shoal.table.compressed import entries_of_rows

_BLOCK = 1 << 22
"""Bytes of a file that are read at once."""
_MOST_BLOCKS = 4
"""Largest number of blocks that are read side by side: each takes its memory."""
_NO_DELIMITER = b"\x01"
"""A character that text hardly ever has, by which Polars divides no line."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RunRows(Unpicklable):
    """Runs of equal rows, each kept once. Users see them as `MemoryRows`: one file, and the table that came in."""

    _instead: ClassVar[str] = "Pickle the data of the release, or save it to a folder."
    personal: ClassVar[tuple[str, ...]] = ()

    distinct: pl.DataFrame
    """The published rows in their order; rows that are equal and of one group stand together and are kept once."""
    counts: NDArray[np.int64]
    """How many rows each run has."""
    cells: NDArray[np.integer]
    """The row of the table that losses are measured against which each run is of."""
    original: pl.DataFrame
    find_rows: Callable[[], NDArray[np.int32]]
    """Finds the row number in the input of each published row; it is called once."""

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All published rows."""
        return repeat_rows(self.distinct, self.counts)

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """Private: the row number in the input of each published row."""
        return self.find_rows()

    @cached_property
    def table_rows(self) -> NDArray[np.int32]:
        """Private: the row number in the input of each row of the table that losses are measured against."""
        return self.rows[np.argsort(np.repeat(self.cells, self.counts), kind="stable")]

    @property
    def height(self) -> int:
        """Rows of the published table."""
        return int(self.counts.sum())

    @property
    def types(self) -> Mapping[str, Any]:
        """The columns of the published table with their Polars types."""
        return self.distinct.schema

    data = MemoryRows.data
    hand_on = MemoryRows.hand_on

    def preview(self, shown: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the published table."""
        return repeat_rows(shown, self.counts)

    def rows_of(self, table: Table) -> Table | None:
        """Return the table that losses are measured against, each of its cells as often as the input has it."""
        return table.entries(np.repeat(np.arange(table.rows), table.multiplicities), None)

    def write(self, shown: pl.DataFrame, path: Path, *, dialect: Dialect, codebook: Codebook) -> Callable[[], Files]:
        """Write the published table as one file; see `RowStore`."""
        write_table(shown, path, dialect=dialect, times=self.counts, codebook=codebook)
        return describe_file(path, self.height, dialect)

    def verify_written(self, path: Path, *, names: Sequence[str], shown: pl.DataFrame, check: WrittenCheck) -> None:
        """Verify a file from its cells: every line of a CSV file is compared, and equal lines are parsed once."""
        # Parquet files are counted, CSV files are compared line by line, and other formats row by row.
        if path.suffix == ".parquet":
            verify_counts(path, names=names, shown=shown, published=self.distinct, counts=self.counts, check=check)
            return
        found = _runs_of_lines(path) if path.suffix == ".csv" else None
        if found is None:
            check = check.of_rows(self.counts)
            verify_rows(path, names=names, shown=repeat_rows(shown, self.counts), published=self.frame, check=check)
            return
        lines, times = found
        written = read_delimited(lines, f"'{path.name}'", delimiter=check.dialect.delimiter, encoding="utf-8").frame
        # Otherwise `require` rejects the file below.
        if written.columns == list(names) and written.height == len(times):
            written.columns = self.distinct.columns
            if check.reads_values:
                written = self._with_original_values(written, times, shown, check.schema.sensitive)
            if check.owners is not None:  # neighbouring runs of several owners may be written alike
                written, times = written[self._line_of_run(times)], self.counts
        check.require(written, times)

    def _with_original_values(
        self, written: pl.DataFrame, times: NDArray[np.int64], shown: pl.DataFrame, sensitive: Sequence[str]
    ) -> pl.DataFrame:
        """Replace the sensitive values of distinct lines by the values that they were written from.

        Neighbouring runs may be written alike: a line then stands for several of them.
        """
        last = self._line_of_run(times)
        first = np.searchsorted(last, np.arange(len(times)))
        for name in sensitive:
            values = read_back(written[name].gather(last), shown[name], self.distinct[name])
            written = written.with_columns(values.gather(first))
        return written

    def _line_of_run(self, times: NDArray[np.int64]) -> NDArray[np.intp]:
        """Find the distinct line that each run was written as, given how often each line is repeated."""
        # Runs and lines both partition the rows in order, so each run must end within one line.
        if times.sum() != self.height:
            raise ReleaseUnsafeError("The written file has another number of rows. Nothing was published.")
        ends, lines = np.cumsum(self.counts), np.cumsum(times)
        found = np.searchsorted(lines, ends)
        if not np.array_equal(found, np.searchsorted(lines, ends - self.counts, side="right")):
            raise ReleaseUnsafeError("The written file has rows in another order. Nothing was published.")
        return found


def rows_of_runs(
    origin: pl.DataFrame, cells: pl.DataFrame, cell_of_run: NDArray[np.integer], times: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Find the row of a table that each row of some runs stands for, each row once.

    Parameters
    ----------
    origin : polars.DataFrame
        The table.
    cells : polars.DataFrame
        Its cells, each once.
    cell_of_run : integer array
        The cell whose rows each run has.
    times : int64 array
        How many rows it has; the runs of a cell have all of its rows together.
    """
    names = [name for name in cells.columns if cells.schema[name] != pl.Null]
    number = "number"
    while number in names:
        number += "_"
    numbered = cells.select(names).with_row_index(number)
    of_row = origin.select(names).join(numbered, on=names, how="left", nulls_equal=True, maintain_order="left")
    # Row numbers sorted by cell; the runs of a cell take consecutive ranges of them.
    order = of_row[number].arg_sort().to_numpy()
    runs = np.argsort(cell_of_run, kind="stable")
    ends = np.cumsum(times[runs])
    begin, end = np.empty_like(ends), np.empty_like(ends)
    begin[runs], end[runs] = ends - times[runs], ends
    return np.asarray(order[entries_of_rows(begin, end)], dtype=np.int32)


def _runs_of_lines(path: Path) -> tuple[bytes, NDArray[np.int64]] | None:
    """Return a file with one line for each run of equal lines, and the lengths of these runs.

    None if a line may not be a record, because cells have line ends.
    """
    with path.open("rb") as file:
        header = file.readline()
    # An odd number of quotes means that a cell contains a line break.
    if header.count(b'"') % 2:
        return None
    size = path.stat().st_size
    parts = [(begin, min(begin + _BLOCK, size)) for begin in range(len(header), size, _BLOCK)]
    lines: list[str] = []
    times: list[int] = []
    for found in map_in_threads(partial(_runs_between, path), parts, most=_MOST_BLOCKS):
        if found is None:
            return None
        # A run may extend over the boundary of two blocks.
        joined = bool(lines and found[0]) and lines[-1] == found[0][0]
        if joined:
            times[-1] += found[1][0]
        lines += found[0][joined:]
        times += found[1][joined:]
    return header + "".join(f"{line}\n" for line in lines).encode(), np.array(times, dtype=np.int64)


def _runs_between(path: Path, part: tuple[int, int]) -> tuple[list[str], list[int]] | None:
    """Return the runs of the lines that begin in a part of a file; see `_runs_in`."""
    begin, end = part
    with path.open("rb") as file:
        # The rest of a line that began before the part belongs to the part before.
        file.seek(begin - 1)
        file.readline()
        block = file.read(max(end - file.tell(), 0))
        if block and not block.endswith(b"\n"):
            block += file.readline()
    return _runs_in(block) if block else ([], [])


def _runs_in(block: bytes) -> tuple[list[str], list[int]] | None:
    """Return one line of each run of equal lines, and its length; None if a line may not be a record."""
    if _NO_DELIMITER in block:
        return None
    separator = _NO_DELIMITER.decode()
    read = pl.read_csv(block, has_header=False, separator=separator, quote_char=None, schema={"line": pl.String})
    runs = read["line"].fill_null("").rle()
    lines, times = runs.struct.field("value"), runs.struct.field("len").to_numpy()
    if (lines.str.count_matches('"', literal=True) % 2 == 1).any():
        return None
    # Polars drops carriage returns and byte order marks, but every byte must be verified.
    if (lines.str.len_bytes().to_numpy().astype(np.int64) + 1) @ times != len(block) + (not block.endswith(b"\n")):
        return None
    return lines.to_list(), times.tolist()
