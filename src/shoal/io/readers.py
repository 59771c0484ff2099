"""Read a table from a file, standard input or a database, depending on its name."""

from __future__ import annotations

import difflib
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import polars as pl

from shoal._core.file_formats import (
    ARROW,
    COMPRESSED,
    DELIMITED,
    FORMATS,
    LISTED,
    PARQUET,
    RELEASED,
    STAT_FILES,
    WORKBOOKS,
)
from shoal._core.outcome import reason_of
from shoal._messages import Subject
from shoal.errors import DataError, ParameterError, near_matches
from shoal.io.column_names import check_column_names
from shoal.io.databases import database_source, read_database
from shoal.io.delimited import OpenedTable, read_delimited
from shoal.io.frames import open_frame, without_pandas_index
from shoal.io.patterns import files_of_pattern
from shoal.io.scanning import collect_in_memory, is_folder_of_parquet, scan_table
from shoal.io.stat_files import read_stat_file
from shoal.io.workbooks import read_workbook

STANDARD_INPUT = "-"
"""The name of standard input in place of a file."""

_TEXT, _WORKBOOK = "delimited text", "workbooks"
_ENDINGS = {_TEXT: DELIMITED, "binary": (*PARQUET, *ARROW), _WORKBOOK: WORKBOOKS, "stat": tuple(STAT_FILES)}
_SERVED = {"delimiter": _TEXT, "encoding": _TEXT, "sheet": _WORKBOOK, "header_row": f"{_TEXT} and {_WORKBOOK}"}
"""The kinds of sources that each option is for."""
_MARKS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
"""The first bytes of compressed files."""
_MOST_DIGITS = 38
"""Digits of the decimal numbers of Polars."""
_MOST_UNPACKED, _LARGEST_RATIO = 1 << 26, 100
"""Bytes that a compressed file may hold, and multiple of its own size that it may hold if this is more: tables compress
to a tenth."""
_PIECE = 1 << 24
_TAB_NAMES = ("tab", "\\t")
_MAX_SOURCE_LENGTH = 4096


def read(
    source: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
) -> pl.DataFrame:
    """Read all rows of a published table; see `read_table`."""
    options = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "header_row": header_row}
    return _read(source, options, whole=True).frame


def read_table(
    source: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
) -> OpenedTable:
    r"""Read a table, and detect the format in which to write a release of it.

    Parameters
    ----------
    source : str or Path
        A path that ends in `.csv`, `.tsv`, `.txt` (each also with `.gz` or `.zst`), `.parquet`, `.arrow`, `.feather`,
        `.ipc`, `.orc`, `.xlsx`, `.xls`, `.ods`, `.dta`, `.sav`, `.zsav`, `.por`, `.sas7bdat` or `.xpt`; a pattern of
        such files with the same columns, `data/2023-*.csv`, in the order of their names; a folder of Parquet files;
        `-` for standard input, which may be any of these but the last six; or a database and a table or query:
        `sqlite:///file.db::table`, or any SQLAlchemy URL followed by `::table` or `::SELECT ...` (with the database's
        driver).
    delimiter : str, optional
        For delimited text: one ASCII character, or "tab". None detects one of `,` `;` tab `|`.
    encoding : str, optional
        For delimited text: its encoding. None detects it.
    sheet : str, optional
        For workbooks: the sheet. None reads the only one.
    header_row : int, optional
        For delimited text and workbooks: the line or row with the names of the columns, from 1; those above it are
        skipped. None is the first one; 1 confirms that it holds names, although they read as values.

    Returns
    -------
    OpenedTable
        All columns of delimited text are text, so that "007" keeps its zeros; an empty field is missing. Notes and
        sums below the records of text and workbooks are left out.

    Raises
    ------
    DataError
        If the source is not a table with at least one row. For delimited text the message names the line (from 1).
    ColumnError
        If the names of the columns read as values of theirs, as those of a file without a line of names.
    ParameterError
        If `delimiter`, `encoding`, `sheet` or `header_row` is invalid, or does not apply to the source.
    """
    options = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "header_row": header_row}
    return _read(source, options, whole=False)


def _read(source: str | Path, options: Mapping[str, Any], *, whole: bool) -> OpenedTable:
    if isinstance(source, str) and ("\n" in source or len(source) > _MAX_SOURCE_LENGTH) and not database_source(source):
        raise DataError("The path is too long, or has line ends. Give the path of a file, not its content.")
    # Databases and standard input first, because their names are not paths.
    database, path = database_source(source), Path(os.fspath(source)).expanduser()
    if database is not None:
        _refuse_options("database", options)
        found = _check_not_empty(OpenedTable(frame=read_database(database)), "The result of the query")
    elif source == STANDARD_INPUT:
        content = _unpack(sys.stdin.buffer.read(), "standard input")
        # The kind of a file follows from its name, that of standard input from its first bytes.
        found = _parse(content, "standard input", _detect_kind(content), options, whole=whole)
    elif not is_folder_of_parquet(path) and (several := files_of_pattern(path)):
        found = _join([_read(one, options, whole=whole) for one in several], several)
    else:
        with _name_file_in_errors(path):
            found = _parse(path, f"'{path.name}'", _kind_of(path), options, whole=whole)
    check_column_names(found.frame, header_row=options["header_row"])
    return found


def _parse(source: bytes | Path, label: str, kind: str, options: Mapping[str, Any], *, whole: bool) -> OpenedTable:
    _refuse_options(kind, options)
    header_row: int | None = options["header_row"]
    if kind in (_WORKBOOK, _TEXT):
        content = _unpack(source.read_bytes(), source.name) if isinstance(source, Path) else source
        if kind == _WORKBOOK:
            return read_workbook(content, label, sheet=options["sheet"], header_row=header_row, whole=whole)
        form = {"delimiter": _parse_delimiter(options["delimiter"]), "encoding": options["encoding"]}
        return read_delimited(content, label, **form, header_row=header_row or 1, whole=whole)
    if isinstance(source, Path) and kind == "stat":
        frame, codebook = read_stat_file(source)
        ending = source.suffix.lower()
        found = OpenedTable(frame=frame, format=RELEASED.get(ending, ending[1:]), codebook=codebook)
    elif kind == "folder":
        found = OpenedTable(frame=collect_in_memory(scan_table(source).lazy), format="parquet")
    else:  # Polars reads a path without holding the file in memory
        name = source.name if isinstance(source, Path) else label
        found = OpenedTable(frame=_read_binary(source, name), format="parquet")
    return _check_not_empty(found, label)


def _join(tables: Sequence[OpenedTable], files: Sequence[Path]) -> OpenedTable:
    """Append tables of several files, which have the same columns and types."""
    first = tables[0]
    # Nothing is guessed: another column, order, type or format may be another table.
    for table, file in zip(tables, files, strict=True):
        if table.frame.schema != first.frame.schema or table.frame.columns != first.frame.columns:
            raise DataError(f"'{file}' does not have the columns and types of '{files[0]}'. Name files of one table.")
        if table.format != first.format:
            raise DataError(f"'{file}' does not have the format of '{files[0]}'. Name files of one format.")
    below = sum(table.below for table in tables)
    return replace(first, frame=pl.concat([table.frame for table in tables]), below=below)


def _detect_kind(content: bytes) -> str:
    """Detect the kind of unnamed content by its first bytes."""
    if content.startswith((b"PAR1", b"ARROW1", b"ORC")):
        return "binary"
    return _WORKBOOK if content.startswith(b"PK") else _TEXT


def _check_not_empty(table: OpenedTable, label: str) -> OpenedTable:
    """Return the table if it has rows and columns."""
    if table.frame.height == 0 or table.frame.width == 0:
        # Without columns there are no rows either, so columns come first.
        no_rows = f"{label} has no row."
        raise DataError(no_rows if table.frame.width else f"{label} has no column.")
    return table


def _refuse_options(kind: str, options: Mapping[str, Any]) -> None:
    """Raise an error if an option is given that is for other kinds of sources."""
    for name, value in options.items():
        # The first row of any table may be confirmed to hold its names.
        if value is not None and kind not in _SERVED[name] and (name, value) != ("header_row", 1):
            raise ParameterError(Subject("read", name), f" is for {_SERVED[name]} only.")


def _parse_delimiter(delimiter: str | None) -> str | None:
    if delimiter is None:
        return None
    # A delimiter of several bytes, or one that is quoted itself, cannot be parsed.
    character = "\t" if delimiter in _TAB_NAMES else delimiter
    if len(character) != 1 or not character.isascii() or character in '"\r\n\0':
        raise ParameterError.refusing(
            "read", "delimiter", "one ASCII character (no quotation mark or line end), or 'tab'", got=repr(delimiter)
        )
    return character


def _kind_of(path: Path) -> str:
    """Find the kind of a regular file, or of a folder of Parquet files, by its name."""
    path.exists()  # raises for impossible paths
    if is_folder_of_parquet(path):
        return "folder"
    if path.is_dir():
        raise DataError(f"'{path}' is a folder. {_suggest_release_file(path)}")
    if not path.exists():
        raise DataError(f"There is no file '{path}'. {_suggest_similar_names(path)}")
    if not path.is_file():
        raise DataError(f"'{path}' is not a regular file. Copy its content to one first.")
    kind = next((kind for kind, endings in _ENDINGS.items() if path.name.lower().endswith(endings)), None)
    if kind is None:
        raise DataError(f"The kind of '{path.name}' is unknown. Known are files that end in {', '.join(LISTED)}.")
    return kind


def _suggest_release_file(path: Path) -> str:
    """Suggest the table of a release folder in place of the folder."""
    # One of these is in every release folder.
    released = [path / f"release.{ending}" for ending in FORMATS]
    # Any other folder may hold several tables.
    found = next((file for file in released if file.exists()), None)
    return "Name a file in it." if found is None else f"Did you mean '{found}'?"


def _suggest_similar_names(path: Path) -> str:
    """Suggest files of the same folder with a similar name."""
    try:
        # Only close names are suggested, because a folder may hold many files.
        names = [other.name for other in path.parent.iterdir() if other.is_file()]
    except OSError:
        return f"There is no folder '{path.parent}' that can be read."
    return near_matches(path.name, names) if difflib.get_close_matches(path.name, names, n=1) else ""


@contextmanager
def _name_file_in_errors(path: Path) -> Iterator[None]:
    """Convert errors of the operating system into a `DataError` that names the file."""
    try:
        yield
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {reason_of(error)}.") from error


def _read_binary(source: Path | bytes, name: str) -> pl.DataFrame:
    """Read Parquet or Arrow; errors refer to the source as `name`."""

    def open_source() -> IO[bytes]:  # an open file, because a path may be taken for a glob pattern
        return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")

    kept = source if isinstance(source, Path) else io.BytesIO(source)
    try:
        with open_source() as file:
            # The first bytes distinguish Parquet, Arrow files and Arrow streams.
            start = file.read(6)
        if start.startswith(b"ORC"):
            return _read_with_arrow(kept, start)
        try:
            if name.lower().endswith(PARQUET) or start.startswith(b"PAR1"):
                frame = pl.read_parquet(kept, hive_partitioning=False, glob=False)
            else:
                with open_source() as file:
                    frame = pl.read_ipc(file) if start == b"ARROW1" else pl.read_ipc_stream(file)
            if any(_is_too_wide(kind) for kind in frame.dtypes):
                return _read_with_arrow(source if isinstance(source, Path) else io.BytesIO(source), start)
        except (pl.exceptions.InvalidOperationError, pl.exceptions.PanicException):
            return _read_with_arrow(kept, start)
    except (pl.exceptions.PolarsError, OSError) as error:
        # An error with a number is the operating system's; without one, the content could not be parsed.
        if isinstance(error, OSError) and error.errno:
            raise
        kind = type(error).__name__
    else:
        return without_pandas_index(frame)
    ending = Path(name).suffix[1:] or "Parquet or Arrow"
    raise DataError(f"'{name}' is not a {ending} file that can be read ({kind}). It may be damaged; write it again.")


def _is_too_wide(kind: Any) -> bool:
    """Check whether a type has decimal numbers of more digits than Polars computes with, as it reads them in lists."""
    if isinstance(kind, pl.Struct):
        return any(_is_too_wide(one.dtype) for one in kind.fields)
    if isinstance(kind, pl.List | pl.Array):
        return _is_too_wide(kind.inner)
    return isinstance(kind, pl.Decimal) and (kind.precision or 0) > _MOST_DIGITS


def _read_with_arrow(source: Path | IO[bytes], start: bytes) -> pl.DataFrame:
    """Read what Polars does not: ORC, and types that it lacks, such as decimal numbers of more than 38 digits."""
    import pyarrow as pa
    from pyarrow import ipc, orc, parquet

    try:
        if start.startswith((b"ORC", b"PAR1")):
            table = orc.read_table(source) if start.startswith(b"ORC") else parquet.read_table(source)
        else:
            content = source.read_bytes() if isinstance(source, Path) else source
            table = (ipc.open_file if start == b"ARROW1" else ipc.open_stream)(content).read_all()
    except pa.ArrowException as error:
        # The caller knows the errors of Polars, and names the file.
        raise pl.exceptions.ComputeError(type(error).__name__) from None
    return without_pandas_index(open_frame(table, lenient=True).frame)


def _unpack(content: bytes, name: str) -> bytes:
    """Unpack a file if its first bytes or its name belong to a compressed format, and return its content.

    Raises
    ------
    DataError
        If it cannot be unpacked, or if its content is suspiciously large.
    """
    # The first bytes are more reliable than the name.
    kind = next((kind for kind, mark in _MARKS.items() if content.startswith(mark)), None)
    kind = kind or next((kind for ending, kind in COMPRESSED.items() if name.lower().endswith(ending)), None)
    if kind is None:
        return content
    import pyarrow as pa

    try:
        with pa.CompressedInputStream(pa.BufferReader(content), kind) as stream:
            most = max(_MOST_UNPACKED, _LARGEST_RATIO * len(content))
            pieces: list[bytes] = []
            unpacked = 0
            # In pieces, because a small file may hold more than fits into memory.
            while unpacked <= most and (piece := stream.read(_PIECE)):
                pieces.append(piece)
                unpacked += len(piece)
            if unpacked <= most:
                return b"".join(pieces)
            pieces.clear()
        raise DataError(
            f"'{name}' has {len(content):,} bytes and unpacks to more than {most:,}, which tables do not. Unpack it "
            "yourself if this is right."
        )
    except (OSError, EOFError, pa.ArrowInvalid):
        pass
    raise DataError(f"'{name}' is not a {kind} file, or is cut off. Unpack it, or copy it again.")
