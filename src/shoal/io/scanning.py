"""Scan tables that need not fit into memory: Parquet files, folders of them, and CSV files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from shoal._core.file_formats import PARQUET, TEXT
from shoal._messages import Subject
from shoal.errors import DataError, ParameterError
from shoal.io.databases import database_source
from shoal.io.delimited import check_delimited, read_last_rows
from shoal.io.frames import PANDAS_INDEX, open_frame
from shoal.io.patterns import files_of_pattern
from shoal.io.rows_below import count_rows_below

_MISSING_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Name of a partition whose value is missing."""
_SPILLS_ABOVE = "POLARS_OOC_MEMORY_BUDGET_MB"
"""Polars setting for the number of megabytes above which it writes to the disk."""
_NEVER = 1 << 40
"""A limit in megabytes that no table reaches."""
_READ_AHEAD = ("POLARS_ROW_GROUP_PREFETCH_SIZE", "POLARS_CSV_CHUNK_PREFETCH_LIMIT")
"""Polars settings for the number of pieces of a file that are read at once: two for each core otherwise."""


@dataclass(frozen=True, kw_only=True)
class AtOnce:
    """How much of a table is in memory while it is read, for any number of cores."""

    pieces: int = 16
    """Row groups of Parquet, or pieces of delimited text."""
    rows: int = 50_000_000
    """Rows that are counted before they are merged with others: counting needs tens of bytes for each row."""


PLENTY = AtOnce()
"""Where memory has no limit."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ScannedTable:
    """A table that an engine can read in batches."""

    lazy: pl.LazyFrame
    columns: tuple[str, ...]
    """The columns in order."""
    delimiter: str | None = None
    """The delimiter of delimited text."""
    rows: int | None = None
    """Number of rows, if known."""
    at_once: AtOnce = PLENTY
    """How much of the table is read at once."""
    in_files: bool = False
    """Whether rows come from files and so have a stable order; those of a query may not."""


def scan_table(
    data: Any, *, delimiter: str | None = None, encoding: str | None = None, header_row: int | None = None
) -> ScannedTable:
    """Open a table without reading its rows.

    Parameters
    ----------
    data : path or frame
        A Parquet file, a folder of Parquet files (all of them with the same columns; in folders named `column=value` or
        not, see `parquet_files`), a CSV file in UTF-8, a Polars lazy frame, or any other frame, which is in memory
        already.
    delimiter, encoding : str, optional
        Of a CSV file; the delimiter is detected by default.
    header_row : int, optional
        Of a CSV file: the line of the column names, from 1, within the first 64 KB.

    Returns
    -------
    ScannedTable
        All columns of delimited text are text, and an empty field is missing, as in `read_table`.

    Raises
    ------
    DataError
        If it is not such a table. For delimited text the message names the line (from 1).
    """
    if header_row not in (None, 1) and not (isinstance(data, str | Path) and str(data).lower().endswith(TEXT)):
        raise ParameterError(Subject("anonymize", "header_row"), " is for delimited text and workbooks only.")
    if isinstance(data, pl.LazyFrame):
        return _scanned(data)
    if not isinstance(data, str | Path):
        return _scanned(open_frame(data, lenient=True).frame.lazy())
    # Only formats that can be read in batches are accepted. The URL of a database may hold a password.
    if database_source(str(data)) is not None:
        raise DataError("A database cannot be read in pieces. Export the table as Parquet, or use the engine 'memory'.")
    path = Path(data).expanduser()
    several = files_of_pattern(path)
    if several and all(_is_part(file) and file.parent == path.parent for file in several):
        return _scan_parquet(several, path)
    if several:
        raise DataError(f"'{path.name}' cannot be read in pieces: its files are not all Parquet in one folder.")
    if not path.exists():
        raise DataError(f"There is no file or folder '{path}'.")
    if path.is_dir() or path.name.lower().endswith(PARQUET):
        return _scan_parquet(parquet_files(path) if path.is_dir() else [path], path)
    if not path.name.lower().endswith(TEXT):
        raise DataError(
            f"'{path.name}' cannot be read in pieces. Give Parquet, a folder of Parquet files, or CSV that is not "
            "packed."
        )
    if encoding is not None and encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        raise DataError(f"CSV that is read in pieces must be in UTF-8. Convert '{path.name}' first, or write Parquet.")
    return _scan_delimited(path, delimiter, header_row or 1)


class UnreadableError(DataError):
    """A table could not be read to its end."""


def collect_in_memory(lazy: pl.LazyFrame, at_once: AtOnce = PLENTY) -> pl.DataFrame:
    """Collect the result of a query without writing intermediate data to the disk.

    If memory runs short, Polars may write to a folder of its own: rows of persons, in a place that the caller did not
    choose. The caller ensures that the result fits into memory.
    """
    with _readable(), _bounded(at_once):
        return lazy.collect(engine="streaming")


def count_in_lots(
    lazy: pl.LazyFrame,
    keys: Sequence[str],
    measured: Sequence[pl.Expr],
    joint: Sequence[pl.Expr],
    *,
    rows: int,
    at_once: AtOnce,
) -> pl.DataFrame:
    """Aggregate the rows of each combination of values, so many rows at a time, in any order of the combinations.

    Parameters
    ----------
    lazy : polars.LazyFrame
        Rows in a stable order.
    keys : sequence of str
        The columns to group by.
    measured, joint : sequence of polars.Expr
        The aggregates of rows, and those that merge the results of two lots.
    rows : int
        The number of rows; 0 if their order is not stable, so that they are counted at once.
    at_once : AtOnce
    """
    starts = range(0, rows, at_once.rows)
    lots = (lazy.slice(start, at_once.rows) for start in starts) if len(starts) > 1 else [lazy]
    each = (collect_in_memory(lot.group_by(keys).agg(measured), at_once) for lot in lots)
    return reduce(lambda before, lot: pl.concat([before, lot]).group_by(keys).agg(joint), each)


def iterate_batches(lazy: pl.LazyFrame, at_once: AtOnce = PLENTY) -> Iterator[pl.DataFrame]:
    """Yield the result of a query in batches, in any order, without writing intermediate data to the disk."""
    with _readable(), _bounded(at_once):
        yield from lazy.collect_batches(maintain_order=False, engine="streaming")


@contextmanager
def _readable() -> Iterator[None]:
    """Report a file that is damaged, vanishes or changes while it is read; Polars may quote cells."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        kind = type(error).__name__
    else:
        return
    raise UnreadableError(
        f"The table cannot be read ({kind}). A damaged file must be written again. If it was changed or removed while "
        "it was read, start once more."
    )


@contextmanager
def _bounded(at_once: AtOnce) -> Iterator[None]:
    # The settings are global, so they are restored.
    limits = {_SPILLS_ABOVE: str(_NEVER), **dict.fromkeys(_READ_AHEAD, str(at_once.pieces))}
    before = {name: os.environ.get(name) for name in limits}
    pl.Config.load(json.dumps({"environment": limits}))
    try:
        yield
    finally:
        pl.Config.load(json.dumps({"environment": before}))


def _path_of(data: object) -> Path | None:
    """Interpret an input as a path; None if it is a URL or other text.

    The path may be too long for a name; then `Path.is_dir` fails and `os.path.isdir` returns False.
    """
    if not isinstance(data, str | Path) or any(part in str(data) for part in ("\0", "\n", "://")):
        return None
    return Path(data).expanduser()


def is_folder_of_parquet(data: object) -> bool:
    """Check whether an input is a folder with Parquet files."""
    path = _path_of(data)
    return path is not None and os.path.isdir(path) and any(map(_is_part, _files_below(path)))


def parquet_files(folder: Path) -> list[Path]:
    """List the Parquet files of a folder by name, without hidden files and those that start with `_`.

    The folder may be partitioned as data lakes are: files in folders that are named `column=value`, at any depth.

    Raises
    ------
    DataError
        If there is none, if the folder holds other files, or if files are in folders of different columns.
    """
    found = list(_files_below(folder))
    parts = [file for file in found if _is_part(file)]
    if not parts:
        raise DataError(f"'{folder}' is a folder without Parquet files. Name a file, or a folder of Parquet files.")
    # An unknown file may be a part of the table, so nothing is guessed.
    if len(parts) < len(found):
        raise DataError(
            f"'{folder}' holds {len(found) - len(parts)} file(s) or folder(s) that are not Parquet. Name a "
            "folder of Parquet files only, so that it is clear which rows belong to the table."
        )
    if len({tuple(partition_values(file, folder)) for file in parts}) > 1:
        raise DataError(
            f"The files of '{folder}' lie in folders of different columns. Each must be in a folder for each of the "
            "same columns, such as year=2023/part.parquet."
        )
    return parts


def partition_values(file: Path, folder: Path) -> dict[str, str | None]:
    """Read the values of the partition columns of a file from the names of its folders, as text.

    Examples
    --------
    >>> partition_values(Path("lake/year=2023/town=Bad%20Ems/part.parquet"), Path("lake"))
    {'year': '2023', 'town': 'Bad Ems'}
    """
    pairs = [part.partition("=") for part in file.relative_to(folder).parts[:-1]]
    return {unquote(name): None if value == _MISSING_VALUE else unquote(value) for name, _, value in pairs}


def check_partition_columns(file: Path, folder: Path, columns: Iterable[str]) -> None:
    """Check that no column of a file is named like one of its folders.

    Raises
    ------
    DataError
        If one is.
    """
    clash = partition_values(file, folder).keys() & set(columns)
    if clash:
        raise DataError(
            f"'{min(clash)}' is a column of files in '{folder.name}', and one of its folders. Remove one of the two."
        )


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of its partitions by name; other folders are yielded as they are."""
    for file in sorted(file for file in folder.iterdir() if not file.name.startswith((".", "_"))):
        if file.is_dir() and "=" in file.name:
            yield from _files_below(file)
        else:
            yield file


def bytes_to_read(data: Any) -> int | None:
    """Estimate the size of a table in memory from the metadata of its files; None if unknown."""
    path = _path_of(data)
    if path is None:
        return None
    several = files_of_pattern(path)
    if several:
        return sum(bytes_to_read(file) or 0 for file in several)
    if os.path.isdir(path):
        return sum(map(_unpacked_size, filter(_is_part, _files_below(path))))
    if not os.path.isfile(path):
        return None
    return _unpacked_size(path) if path.name.lower().endswith(PARQUET) else path.stat().st_size


def _unpacked_size(file: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Only the metadata of the file is read.
        facts = pq.ParquetFile(file).metadata
    except (OSError, pa.ArrowException):
        return file.stat().st_size
    # At least eight bytes for each cell, because well-compressed columns need more memory than their size.
    groups = range(facts.num_row_groups)
    return int(max(facts.num_rows * facts.num_columns * 8, sum(facts.row_group(at).total_byte_size for at in groups)))


def _is_part(file: Path) -> bool:
    return file.is_file() and file.name.lower().endswith(PARQUET) and not file.name.startswith((".", "_"))


def _scanned(lazy: pl.LazyFrame) -> ScannedTable:
    names = lazy.collect_schema().names()
    return ScannedTable(lazy=lazy, columns=tuple(name for name in names if not PANDAS_INDEX.fullmatch(name)))


def _scan_parquet(files: Sequence[Path], path: Path) -> ScannedTable:
    folder = path if path.is_dir() else path.parent
    try:
        parts: list[pl.LazyFrame] = []
        # The files of each partition get its values as columns of text, in which leading zeros stay.
        for _, those in groupby(files, key=lambda file: file.parent):
            together = list(those)
            lazy = pl.scan_parquet(together, hive_partitioning=False, glob=False)
            if not parts:
                check_partition_columns(together[0], folder, lazy.collect_schema().names())
            values = partition_values(together[0], folder)
            parts.append(lazy.with_columns(pl.lit(value, pl.String).alias(name) for name, value in values.items()))
        return replace(_scanned(parts[0] if len(parts) == 1 else pl.concat(parts)), in_files=True)
    except (pl.exceptions.PolarsError, OSError) as error:
        kind = type(error).__name__
    raise DataError(f"'{path.name}' cannot be read as Parquet ({kind}). It may be damaged; write it again.")


def _scan_delimited(path: Path, delimiter: str | None, header_row: int) -> ScannedTable:
    # The file is checked completely first, so that the scan can trust its records.
    found = check_delimited(path, delimiter=delimiter, header_row=header_row)
    below = count_rows_below(read_last_rows(path, found))
    if below:
        raise DataError(
            f"The last {below:,} rows of '{path.name}' seem to be notes or sums, not records, and a file that is read "
            "in pieces is published to its end. Delete them, or use the engine 'memory', which leaves them out."
        )
    lazy = pl.scan_csv(
        path,
        separator=found.delimiter,
        schema=dict.fromkeys(found.names, pl.String),
        null_values=[""],
        has_header=False,
        skip_lines=found.header_lines,
        encoding="utf8",
        glob=False,
    )
    return replace(_scanned(lazy), delimiter=found.delimiter, rows=found.rows, in_files=True)
