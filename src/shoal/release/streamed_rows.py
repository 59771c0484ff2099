"""Row store of streamed tables: distinct rows with counts, which are expanded on reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.threads import map_in_threads
from shoal._core.unpicklable import Unpicklable
from shoal.errors import ParameterError, ReleaseUnsafeError
from shoal.io import (
    Codebook,
    Dialect,
    collect_in_memory,
    iterate_batches,
    repeat_rows,
    without_categories,
    write_repeated,
)
from shoal.io.scanning import PLENTY, AtOnce, count_in_lots
from shoal.release.row_store import Files, WrittenCheck, sha256_of
from shoal.table import Table
from shoal.table.counts import windows
from shoal.verification import RowSums

_FILE_ROWS = 1 << 20
"""Number of rows of each file except the last one."""
_PREVIEW_ROWS = 100
"""Maximum number of rows available to a notebook."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class AttachedColumns(Unpicklable):
    """Insensitive columns with a value for each published row."""

    values: pl.DataFrame
    """Private: the columns, in the order of the input."""
    places: NDArray[np.int32]
    """Private: the row of `values` that belongs to each published row."""

    def slice(self, first: int, rows: int) -> pl.DataFrame:
        """Return the values of a range of published rows."""
        return self.values[self.places[first : first + rows]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class StreamedRows(Unpicklable):
    """Distinct rows with counts, exposed as a lazy frame and written as a folder of Parquet files."""

    _instead: ClassVar[str] = "Pickle the data of the release, or save it to a folder."
    personal: ClassVar[tuple[str, ...]] = ()

    distinct: pl.DataFrame
    """The published rows without insensitive columns; equal rows of one group are kept once."""
    counts: NDArray[np.int64]
    """Number of published copies of each row of `distinct`."""
    rows: NDArray[np.int32]
    table_rows: NDArray[np.int32]
    original: ClassVar[None] = None
    attached: AttachedColumns | None = None
    """Insensitive columns; None if there are none."""
    at_once: AtOnce = PLENTY
    """How much of the written files is read at once."""

    @property
    def frame(self) -> pl.DataFrame:
        """The distinct rows, because all rows may not fit into memory."""
        return self.distinct

    @property
    def height(self) -> int:
        """Rows of the published table."""
        return int(self.counts.sum())

    @property
    def types(self) -> Mapping[str, Any]:
        """The columns of the published table with their Polars types."""
        return self._types(self.distinct)

    def _types(self, frame: pl.DataFrame) -> dict[str, Any]:
        more = {} if self.attached is None else without_categories(self.attached.values.head(0)).schema
        return {**frame.schema, **more}

    def data(self, published: pl.DataFrame, text: Sequence[str], restore: Callable[[pl.DataFrame], Any]) -> Any:
        """Return the published table as a Polars lazy frame; see `RowStore`."""
        return self.hand_on(without_categories(published), restore)

    def hand_on(self, frame: pl.DataFrame, restore: Callable[[pl.DataFrame], Any]) -> Any:
        """Return a lazy frame of all published rows of a table with distinct ones."""
        from polars.io.plugins import register_io_source

        def batches(
            columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
        ) -> Iterator[pl.DataFrame]:
            # Polars pushes the selected columns, a filter and a limit down to this source.
            left = rows
            for batch in self._batches(frame, size or _FILE_ROWS, columns):
                taken = batch if left is None else batch.head(left)
                left = None if left is None else left - taken.height
                yield taken if predicate is None else taken.filter(predicate)
                if left == 0:
                    return

        return register_io_source(batches, schema=self._types(frame))

    def _batches(self, shown: pl.DataFrame, size: int, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Yield the published table in batches of `size` rows, with the given columns or all."""
        # Without insensitive columns a batch is determined by the counts.
        if self.attached is None:
            shown = shown if columns is None else shown[list(columns)]
            for cells, times in windows(self.counts, size):
                yield repeat_rows(shown[cells], times)
            return
        names = [*shown.columns, *self.attached.values.columns] if columns is None else list(columns)
        # Insensitive values differ between equal rows, so they are taken by position.
        first = 0
        for cells, times in windows(self.counts, size):
            batch = repeat_rows(shown[cells], times)
            values = without_categories(self.attached.slice(first, batch.height))
            first += batch.height
            yield pl.DataFrame([values[name] if name in values.columns else batch[name] for name in names])

    def preview(self, shown: pl.DataFrame) -> pl.DataFrame:
        """Return the first rows of the published table."""
        return next(self._batches(shown, _PREVIEW_ROWS))

    def rows_of(self, table: Table) -> Table | None:
        """Return None, because only the cells of the input are known."""
        return None

    def write(self, shown: pl.DataFrame, path: Path, *, dialect: Dialect, codebook: Codebook) -> Callable[[], Files]:
        """Write the published table as a folder of Parquet files; see `RowStore`."""
        if path.suffix != ".parquet" or dialect.spreadsheet_safe:
            raise ParameterError(
                "A table that may be larger than memory is published as a folder of Parquet files. Leave the format "
                "out, and convert the files where another one is needed."
            )
        files = self._write_files(shown, path)
        return lambda: files

    def _write_files(self, shown: pl.DataFrame, path: Path) -> Files:
        """Write all published rows to a new folder of Parquet files."""
        path.mkdir()

        def write(numbered: tuple[int, tuple[slice, NDArray[np.int64]]]) -> tuple[str, dict[str, Any]]:
            number, (cells, times) = numbered
            part, rows = path / f"part-{number:05d}.parquet", int(times.sum())
            values = None if self.attached is None else self.attached.slice(number * _FILE_ROWS, rows)
            write_repeated(shown[cells], times, part, values)
            return f"{path.name}/{part.name}", {"sha256": sha256_of(part), "rows": rows}

        # Files are independent: compression of one overlaps with hashing of another.
        # If one fails, the others end before the folder is removed.
        windowed = enumerate(windows(self.counts, _FILE_ROWS))
        return dict(map_in_threads(write, windowed, most=self.at_once.pieces))

    def verify_written(self, path: Path, *, names: Sequence[str], shown: pl.DataFrame, check: WrittenCheck) -> None:
        """Verify the files by counting their cells again; see `RowStore`."""
        verify_counts(
            path,
            names=list(self.types),
            shown=shown,
            published=self.distinct,
            counts=self.counts,
            check=check,
            at_once=self.at_once,
        )
        if self.attached is not None:
            self._verify_attached(path, shown, self.attached)

    def _verify_attached(self, path: Path, shown: pl.DataFrame, attached: AttachedColumns) -> None:
        """Check the insensitive columns of each written row against the release."""
        scanned, many = _scan(path, list(self.types)), shown.width
        types = scanned.collect_schema()
        expected_types = self._types(shown.head(0))
        # Checksums of whole rows are compared, because the rows do not fit into memory.
        same = all(types[name] == kind for name, kind in expected_types.items() if name not in shown.columns)
        sums = RowSums()
        expected = sums.of_cells(without_categories(shown), self.counts, attached.values, attached.places)
        pieces = ((piece[:, :many], piece[:, many:]) for piece in iterate_batches(scanned, self.at_once))
        if not same or sums.of_rows(pieces) != expected:
            raise ReleaseUnsafeError(
                "The written files are not the release that was verified: their rows have other values of the "
                "insensitive columns. Nothing was published."
            )


def verify_counts(
    path: Path,
    *,
    names: Sequence[str],
    shown: pl.DataFrame,
    published: pl.DataFrame,
    counts: NDArray[np.int64],
    check: WrittenCheck,
    at_once: AtOnce = PLENTY,
) -> None:
    """Verify Parquet files by counting their distinct rows.

    Parameters
    ----------
    path : Path
        A file, or a folder of files.
    names : sequence of str
        The required columns; those of `published` come first.
    shown : polars.DataFrame
        The distinct rows as passed to the writer.
    published : polars.DataFrame
        The same rows with the types of the release.
    counts : int64 array
        Number of published copies of each row.
    check : WrittenCheck
    at_once : AtOnce
        How much of the files is read at once.

    Raises
    ------
    ReleaseUnsafeError
        If the rows of the files, their numbers, or the achieved privacy differ.
    """
    scanned = _scan(path, names)
    plain = without_categories(shown)
    # Columns are numbered, because Polars treats the name "*" as all columns.
    keys = [str(number) for number in range(plain.width)]
    numbered = scanned.select(pl.nth(number).alias(key) for number, key in enumerate(keys))
    each, joint = pl.len().cast(pl.Int64).alias("rows"), pl.col("rows").sum()
    rows = collect_in_memory(scanned.select(pl.len())).item()
    found = count_in_lots(numbered, keys, [each], [joint], rows=rows, at_once=at_once)
    # Rows that are written alike are counted together in the files, so they are merged here as well.
    expected = pl.DataFrame([column.alias(key) for column, key in zip(plain, keys, strict=True)])
    expected = expected.with_columns(pl.Series("rows", counts)).group_by(keys).agg(pl.col("rows").sum())
    same = found.schema == expected.schema and found.height == expected.height
    if not same or not found.sort(keys).equals(expected.sort(keys), null_equal=True):
        raise ReleaseUnsafeError(
            "The written files are not the release that was verified: they hold other rows, or other numbers of "
            "them. Nothing was published."
        )
    # The achieved privacy is measured on the written cells, not on those in memory.
    times = found["rows"].to_numpy()
    found = found[keys]
    found.columns = plain.columns
    if check.reads_values:
        found = _with_original_values(found, plain, published, check.schema.sensitive)
    # The files contain the rows that were passed to the writer, so the owners of those rows apply.
    if check.owners is not None:
        found, times = plain, counts
    achieved = check.measure(found, times, plain.columns)
    if achieved.to_dict() != check.achieved:
        raise ReleaseUnsafeError("What the written files achieve differs from the certificate. Nothing was published.")


def _scan(path: Path, names: Sequence[str]) -> pl.LazyFrame:
    """Scan the files of a release and check their columns."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    scanned = pl.scan_parquet(files, hive_partitioning=False, glob=False)
    if scanned.collect_schema().names() != list(names):
        raise ReleaseUnsafeError("The written files have other columns than the release. Nothing was published.")
    return scanned


def _with_original_values(
    found: pl.DataFrame, plain: pl.DataFrame, published: pl.DataFrame, sensitive: Sequence[str]
) -> pl.DataFrame:
    """Replace written sensitive values by the original ones, for models that read values.

    Text does not determine declared categories, nor dates and numbers in a format of their own.
    """
    for name in sensitive:
        # Two values written alike could not be restored.
        pairs = pl.DataFrame([plain[name].alias("shown"), published[name].alias("value")]).unique()
        if pairs["shown"].n_unique() != pairs.height:
            raise ReleaseUnsafeError(f"The files tell other values of '{name}' apart. Nothing was published.")
        shown = found[name].alias("shown").to_frame()
        joined = shown.join(pairs, on="shown", how="left", nulls_equal=True, maintain_order="left")
        found = found.with_columns(joined["value"].alias(name))
    return found
