"""Read a table from a file, standard input or a database, depending on its name."""

from __future__ import annotations

import difflib
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
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
from shoal.io.delimited import read_delimited
from shoal.io.frames import open_frame, without_pandas_index
from shoal.io.patterns import files_of_pattern
from shoal.io.scanning import collect_in_memory, is_folder_of_parquet, scan_table
from shoal.io.stat_files import Codebook, read_stat_file
from shoal.io.workbooks import read_workbook

STANDARD_INPUT = "-"
"""The name of standard input in place of a file."""

_ENDINGS = {"text": DELIMITED, "binary": (*PARQUET, *ARROW), "workbook": WORKBOOKS, "stat": tuple(STAT_FILES)}
_SERVED = {
    "delimiter": "delimited text",
    "encoding": "delimited text",
    "sheet": "workbooks",
    "header_row": "delimited text and workbooks",
}
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


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenedTable:
    """A table, with the properties of its source that a release of it keeps."""

    frame: pl.DataFrame
    format: str = "csv"
    """The format to write a release in: "csv", "parquet" (also for Arrow files), "xlsx" (also for .xls), "ods" or one
    of Stata, SPSS and SAS."""
    encoding: str | None = None
    """The encoding of delimited text."""
    delimiter: str | None = None
    """The delimiter of delimited text."""
    bom: bool = False
    """Whether delimited text had a byte order mark; see `DelimitedText`."""
    sheet: str | None = None
    """The sheet of a workbook."""
    codebook: Codebook = field(default_factory=dict)
    """The labels of a file of Stata, SPSS or SAS."""
    below: int = 0
    """Number of rows below the table, notes and sums, that were left out."""

    def __repr__(self) -> str:
        return f"OpenedTable(rows={self.frame.height}, columns={self.frame.width}, format={self.format!r})"


def read(
    source: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
) -> pl.DataFrame:
    """Read all rows of a published table; see `read_table`."""
    text: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding}
    return _read_checked(source, text, sheet=sheet, header_row=header_row, whole=True).frame


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
    text: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding}
    return _read_checked(source, text, sheet=sheet, header_row=header_row)


def _read_checked(source: str | Path, text: dict[str, Any], **others: Any) -> OpenedTable:
    found = _read_table(source, text, **others)
    check_column_names(found.frame, header_row=others["header_row"])
    return found


def _read_table(
    source: str | Path, text: dict[str, Any], *, sheet: str | None, header_row: int | None, whole: bool = False
) -> OpenedTable:
    if isinstance(source, str) and ("\n" in source or len(source) > _MAX_SOURCE_LENGTH) and not database_source(source):
        raise DataError("The path is too long, or has line ends. Give the path of a file, not its content.")
    # Each kind of source refuses the options of the other kinds.
    others: dict[str, Any] = {"sheet": sheet, "header_row": header_row}
    # Databases and standard input first, because their names are not paths.
    database = database_source(source)
    if database is not None:
        _refuse_options(text | others)
        return _check_not_empty(OpenedTable(frame=read_database(database)), "The result of the query")
    if source == STANDARD_INPUT:
        content = _unpack(sys.stdin.buffer.read(), "standard input")
        return _parse_content(content, "standard input", kind=_detect_kind(content), text=text, **others, whole=whole)
    # The kind of a file follows from its name, that of standard input from its first bytes.
    path = Path(os.fspath(source)).expanduser()
    if is_folder_of_parquet(path):
        _refuse_options(text | others)
        return _check_not_empty(
            OpenedTable(frame=collect_in_memory(scan_table(path).lazy), format="parquet"), f"'{path.name}'"
        )
    several = files_of_pattern(path)
    if several:
        return _join([_read_checked(one, text, **others, whole=whole) for one in several], several)
    _check_file(path)
    kind = next(kind for kind, endings in _ENDINGS.items() if path.name.lower().endswith(endings))
    with _name_file_in_errors(path):
        if kind == "stat":
            _refuse_options(text | others)
            frame, codebook = read_stat_file(path)
            ending = path.suffix.lower()
            return _check_not_empty(
                OpenedTable(frame=frame, format=RELEASED.get(ending, ending[1:]), codebook=codebook), f"'{path.name}'"
            )
        if kind == "binary":  # which Polars reads without holding the file in memory
            _refuse_options(text | others)
            return _check_not_empty(
                OpenedTable(frame=_read_binary(path, path.name), format="parquet"), f"'{path.name}'"
            )
        content = _unpack(path.read_bytes(), path.name)
    return _parse_content(content, f"'{path.name}'", kind=kind, text=text, **others, whole=whole)


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
    return "workbook" if content.startswith(b"PK") else "text"


def _parse_content(
    content: bytes,
    label: str,
    *,
    kind: str,
    text: Mapping[str, str | None],
    sheet: str | None,
    header_row: int | None,
    whole: bool,
) -> OpenedTable:
    # Options that do not apply to the kind of source are errors, not ignored.
    if kind != "text":
        _refuse_options(text)
    # An .ods archive begins with its media type, uncompressed; .xlsx has none there.
    if kind == "workbook":
        frame, found, below = read_workbook(content, label, sheet=sheet, header_row=header_row, whole=whole)
        ods = b"opendocument.spreadsheet" in content[:200]
        return OpenedTable(frame=frame, format="ods" if ods else "xlsx", sheet=found, below=below)
    _refuse_options({"sheet": sheet})
    if kind == "binary":
        _refuse_options({"header_row": header_row})
        return _check_not_empty(OpenedTable(frame=_read_binary(content, label), format="parquet"), label)
    parsed = read_delimited(
        content,
        label,
        delimiter=_parse_delimiter(text["delimiter"]),
        encoding=text["encoding"],
        header_row=header_row or 1,
        whole=whole,
    )
    facts = {name: getattr(parsed, name) for name in ("frame", "encoding", "delimiter", "bom", "below")}
    return OpenedTable(**facts)


def _check_not_empty(table: OpenedTable, label: str) -> OpenedTable:
    """Return the table if it has rows and columns."""
    if table.frame.height == 0 or table.frame.width == 0:
        # Without columns there are no rows either, so columns come first.
        no_rows = f"{label} has no row."
        raise DataError(no_rows if table.frame.width else f"{label} has no column.")
    return table


def _refuse_options(options: Mapping[str, Any]) -> None:
    """Raise an error if one of the options, which are for other kinds of sources, is given."""
    for name, value in options.items():
        # The first row of any table may be confirmed to hold its names.
        if value is not None and (name, value) != ("header_row", 1):
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


def _check_file(path: Path) -> None:
    """Check that a path is a regular file of a known kind."""
    with _name_file_in_errors(path):
        path.exists()  # raises for impossible paths
    if path.is_dir():
        raise DataError(f"'{path}' is a folder. {_suggest_release_file(path)}")
    if not path.exists():
        raise DataError(f"There is no file '{path}'. {_suggest_similar_names(path)}")
    if not path.is_file():
        raise DataError(f"'{path}' is not a regular file. Copy its content to one first.")
    if not any(path.name.lower().endswith(endings) for endings in _ENDINGS.values()):
        raise DataError(f"The kind of '{path.name}' is unknown. Known are files that end in {', '.join(LISTED)}.")


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
