"""Tables that need not fit into memory: Parquet files, folders of them, and CSV, scanned and never read as a whole."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.io.delimited import check_delimited
from shoal.io.frames import PANDAS_INDEX, open_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

__all__ = [
    "ScannedTable",
    "bytes_to_read",
    "collected",
    "in_pieces",
    "is_folder_of_parquet",
    "parquet_files",
    "scan_table",
]

_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv", ".txt")
_SPILLS_ABOVE = "POLARS_OOC_MEMORY_BUDGET_MB"
"""The setting of Polars that says from how many megabytes on it writes to the disk."""
_NEVER = 1 << 40


@dataclass(frozen=True, kw_only=True, repr=False)
class ScannedTable:
    """A table that an engine can read in pieces."""

    lazy: pl.LazyFrame
    columns: tuple[str, ...]
    """Its columns, in their order."""
    delimiter: str | None = None
    """Of delimited text."""
    rows: int | None = None
    """How many rows there are, where that was counted."""
    in_files: bool = False
    """Whether it is read from files, whose rows keep their places; those of a query may not."""

    def __repr__(self) -> str:
        return f"ScannedTable(columns={len(self.columns)})"


def scan_table(data: Any, *, delimiter: str | None = None, encoding: str | None = None) -> ScannedTable:
    """Open a table without reading its rows.

    Parameters
    ----------
    data : path or frame
        A Parquet file, a folder of Parquet files (all of them with the same columns), a CSV file in UTF-8, a Polars
        lazy frame, or any other frame, which is in memory already.
    delimiter, encoding : str, optional
        Of a CSV file; the delimiter is detected unless given.

    Returns
    -------
    ScannedTable
        The columns of delimited text are all text, and an empty field is missing, as `read_table` has them.

    Raises
    ------
    DataError
        Where it is no such table; for delimited text with the line (from 1).
    """
    import polars as pl

    if isinstance(data, pl.LazyFrame):
        return _scanned(data)
    if not isinstance(data, str | Path):
        return _scanned(open_frame(data).frame.lazy())
    path = Path(data).expanduser()
    if not path.exists():
        raise DataError(f"There is no file or folder '{path}'.")
    if path.is_dir() or path.name.lower().endswith(_PARQUET):
        return _scan_parquet(parquet_files(path) if path.is_dir() else [path], path.name)
    if not path.name.lower().endswith(_TEXT):
        raise DataError(
            f"'{path.name}' cannot be read in pieces. Give Parquet, a folder of Parquet files, or CSV that is not "
            "packed."
        )
    if encoding is not None and encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        raise DataError(f"CSV that is read in pieces must be in UTF-8. Convert '{path.name}' first, or write Parquet.")
    return _scan_delimited(path, delimiter)


def collected(lazy: pl.LazyFrame) -> pl.DataFrame:
    """Return what a query finds in a table that is read in pieces; nothing of it is written to the disk meanwhile.

    Polars writes what it works on to a folder of its own where memory runs short, if it may: rows of people, in a place
    that nobody chose. Whoever asks here makes sure that the result fits into memory.
    """
    with _nothing_spilled():
        return lazy.collect(engine="streaming")


def in_pieces(lazy: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield what a query finds, a piece at a time, in any order; like `collected`, without holding the whole."""
    with _nothing_spilled():
        yield from lazy.collect_batches(maintain_order=False, engine="streaming")


@contextmanager
def _nothing_spilled() -> Iterator[None]:
    import polars as pl

    before = os.environ.get(_SPILLS_ABOVE)
    pl.Config.load(json.dumps({"environment": {_SPILLS_ABOVE: str(_NEVER)}}))
    try:
        yield
    finally:
        pl.Config.load(json.dumps({"environment": {_SPILLS_ABOVE: before}}))


def _path_of(data: object) -> Path | None:
    """Return the path that an input may be: no address, and no text of another kind.

    It may still be too long for a name, where `Path.is_dir` fails and `os.path.isdir` says no.
    """
    if not isinstance(data, str | Path) or any(part in str(data) for part in ("\0", "\n", "://")):
        return None
    return Path(data).expanduser()


def is_folder_of_parquet(data: object) -> bool:
    """Return whether an input is a folder with Parquet files in it."""
    path = _path_of(data)
    return path is not None and os.path.isdir(path) and any(_is_part(file) for file in path.iterdir())


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder, by their names; what is hidden or starts with _ is none of its parts.

    Raises
    ------
    DataError
        Where there is none, or the folder holds something else.
    """
    found = sorted(file for file in folder.iterdir() if not file.name.startswith((".", "_")))
    parts = [file for file in found if _is_part(file)]
    if not parts:
        raise DataError(f"'{folder}' is a folder without Parquet files. Name a file, or a folder of Parquet files.")
    if len(parts) < len(found):
        raise DataError(
            f"'{folder}' holds {len(found) - len(parts)} other file(s) or folder(s) beside its Parquet files. Name a "
            "folder of nothing else, so that it is clear which rows are meant."
        )
    return parts


def bytes_to_read(data: Any) -> int | None:
    """Return about how many bytes a table has in memory, as its files say; None where nothing says it."""
    path = _path_of(data)
    if path is None:
        return None
    if os.path.isdir(path):
        return sum(_unpacked_size(file) for file in path.iterdir() if _is_part(file))
    if not os.path.isfile(path):
        return None
    return _unpacked_size(path) if path.name.lower().endswith(_PARQUET) else path.stat().st_size


def _unpacked_size(file: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        facts = pq.ParquetFile(file).metadata
    except (OSError, pa.ArrowException):
        return file.stat().st_size
    # At least eight bytes for each cell: what is packed well takes more when it is read.
    groups = range(facts.num_row_groups)
    return int(max(facts.num_rows * facts.num_columns * 8, sum(facts.row_group(at).total_byte_size for at in groups)))


def _is_part(file: Path) -> bool:
    return file.is_file() and file.name.lower().endswith(_PARQUET) and not file.name.startswith((".", "_"))


def _scanned(lazy: pl.LazyFrame) -> ScannedTable:
    names = lazy.collect_schema().names()
    return ScannedTable(lazy=lazy, columns=tuple(name for name in names if not PANDAS_INDEX.fullmatch(name)))


def _scan_parquet(files: Sequence[Path], shown: str) -> ScannedTable:
    import polars as pl

    try:
        return replace(_scanned(pl.scan_parquet(list(files), hive_partitioning=False, glob=False)), in_files=True)
    except (pl.exceptions.PolarsError, OSError) as error:
        kind = type(error).__name__
    raise DataError(f"'{shown}' cannot be read as Parquet ({kind}). It may be damaged; write it again.")


def _scan_delimited(path: Path, delimiter: str | None) -> ScannedTable:
    import polars as pl

    found = check_delimited(path, delimiter=delimiter)
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
