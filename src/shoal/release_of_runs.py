"""A verified release of a table in memory that was counted: its rows are made of runs when they are asked for."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from shoal.errors import ReleaseUnsafeError
from shoal.io import read_delimited, repeated, write_table
from shoal.release import Release, described_meanwhile, read_back
from shoal.release_of_cells import CountedRelease
from shoal.table.compressed import entries_of_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.release import Files
    from shoal.table import Table

__all__ = ["ReleaseOfRuns", "rows_of_runs"]

_BLOCK = 1 << 24
"""Bytes of a file that are looked at together."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReleaseOfRuns(CountedRelease):
    """A release whose equal rows stand together: each is kept once, and `frame` and `rows` are made on demand.

    To its users it is a release like any other: `data` is the kind of table that came in, and `save` writes one file.
    """

    runs: pl.DataFrame
    """The published rows in their order, those that are alike and of one group once; `counts` says how often."""

    @classmethod
    def of_runs(
        cls, release: Release, counts: NDArray[np.int64], rows: Callable[[], NDArray[np.int32]]
    ) -> ReleaseOfRuns:
        """Return a verified release whose rows are published so often each: they were verified as such.

        Parameters
        ----------
        release : Release
            Its `frame` has each run once, its `rows` the row of the table of its metrics that each is of.
        counts : int64 array
            How many rows each run has.
        rows : callable
            Returns the original row number of each published row.
        """
        runs, places = release.frame, np.repeat(release.rows, counts)
        made = ("frame", "rows", "table_rows")
        given = {one.name: getattr(release, one.name) for one in fields(release) if one.name not in made}
        return cls(
            **given,
            frame=lambda: repeated(runs, counts),
            rows=(once := functools.cache(rows)),
            table_rows=lambda: once()[np.argsort(places, kind="stable")],
            counts=counts,
            runs=runs,
        )

    @cached_property
    def data(self) -> Any:
        """The published table, as the same kind of table that came in."""
        return self._restored()

    def _handed_on(self, frame: pl.DataFrame) -> Any:
        """Return a table with the rows of `frame` as the caller's kind of table."""
        return self.restore(frame)

    @property
    def _table_of_rows(self) -> Table | None:
        table = self.metrics.table
        return table.entries(np.repeat(np.arange(table.rows), 1 if table.counts is None else table.counts), None)

    @property
    def _distinct(self) -> pl.DataFrame:
        return self.runs

    def _write(self, shown: pl.DataFrame, path: Path, *, spreadsheet_safe: bool) -> Callable[[], Files]:
        """Write the published table as one file, and return what waits for what the certificate says of it."""
        write_table(shown, path, spreadsheet_safe=spreadsheet_safe, times=self.counts)
        return described_meanwhile(path, self.height)

    def _verify_written(self, path: Path, *, names: Sequence[str], shown: pl.DataFrame) -> None:
        """Verify a file from its cells: of CSV every line is compared, and equal ones are parsed once."""
        if path.suffix == ".parquet":
            super()._verify_written(path, names=names, shown=shown)
            return
        found = _runs_of_lines(path) if path.suffix == ".csv" else None
        if found is None:
            self._verify_rows(path, names=names, shown=repeated(shown, self.counts))
            return
        lines, times = found
        written = read_delimited(lines, f"'{path.name}'", delimiter=",", encoding="utf-8").frame
        if written.columns == list(names) and written.height == len(times):
            written.columns = self.runs.columns
            if any(model.reads_values for model in self.requirement.models):
                written = self._meant_in_lines(written, times, shown)
        self._verify_read(written, times)

    def _meant_in_lines(self, written: pl.DataFrame, times: NDArray[np.int64], shown: pl.DataFrame) -> pl.DataFrame:
        """Return equal lines of a file, each once, with the sensitive values that they were written from.

        Neighbouring runs may be written alike: a line then holds several of them.
        """
        last = np.searchsorted(np.cumsum(times), np.cumsum(self.counts))
        if times.sum() != self.height:
            raise ReleaseUnsafeError("The written file has another number of rows. Nothing was published.")
        first = np.searchsorted(last, np.arange(len(times)))
        for name in self.schema.sensitive:
            values = read_back(written[name].gather(last), shown[name], self.runs[name])
            written = written.with_columns(values.gather(first))
        return written


def rows_of_runs(
    origin: pl.DataFrame, cells: pl.DataFrame, cell_of_run: NDArray[np.integer], times: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the row of a table that each row of some runs stands for, each row once.

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
    import polars as pl

    names = [name for name in cells.columns if cells.schema[name] != pl.Null]
    number = "number"
    while number in names:
        number += "_"
    numbered = cells.select(names).with_row_index(number)
    of_row = origin.select(names).join(numbered, on=names, how="left", nulls_equal=True, maintain_order="left")
    order = of_row[number].arg_sort().to_numpy()
    runs = np.argsort(cell_of_run, kind="stable")
    ends = np.cumsum(times[runs])
    begin, end = np.empty_like(ends), np.empty_like(ends)
    begin[runs], end[runs] = ends - times[runs], ends
    return np.asarray(order[entries_of_rows(begin, end)], dtype=np.int32)


def _runs_of_lines(path: Path) -> tuple[bytes, NDArray[np.int64]] | None:
    """Return a file with its header and one of each run of equal lines, and the lengths of these runs.

    None where a line may not be a record: cells have line ends then.
    """
    lines: list[str] = []
    times: list[int] = []
    with path.open("rb") as file:
        header = file.readline()
        if header.count(b'"') % 2:
            return None
        for block in _blocks_of_lines(file):
            found = _runs_in(block)
            if found is None:
                return None
            if lines and lines[-1] == found[0][0]:
                times[-1] += found[1][0]
                found = found[0][1:], found[1][1:]
            lines += found[0]
            times += found[1]
    return header + "".join(f"{line}\n" for line in lines).encode(), np.array(times, dtype=np.int64)


def _blocks_of_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield what is left of a file in blocks that end where a line does."""
    rest = b""
    while block := file.read(_BLOCK):
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = b""
        rest += block[end:]
    if rest:
        yield rest


def _runs_in(block: bytes) -> tuple[list[str], list[int]] | None:
    """Return one of each run of equal lines, and how many it has; None where a line may not be a record."""
    import polars as pl

    runs = pl.Series([block.decode().removesuffix("\n")]).str.split("\n").explode().rle()
    lines, times = runs.struct.field("value"), runs.struct.field("len").to_list()
    if (lines.str.count_matches('"', literal=True) % 2 == 1).any():
        return None
    return lines.to_list(), times
