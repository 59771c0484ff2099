"""Write a table as CSV, Parquet, the only sheet of a workbook, or a file of Stata, SPSS or SAS."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.file_formats import FORMATS, STAT_FILES
from shoal.errors import DataError, OutputError
from shoal.io.frames import PANDAS_INDEX
from shoal.io.stat_files import Codebook, write_stat_file
from shoal.io.workbooks import write_workbook

# OWASP's list (CSV Injection); it includes "-1" and "+1", because signs of numbers and of formulas look alike.
# Full-width signs are included, because spreadsheets in East Asian locales treat them as plain ones.
FORMULA = r"^'*[=+\-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}]"
"""Text that a spreadsheet may evaluate as a formula."""
_LINES_AT_A_TIME = 1 << 16
"""Number of distinct lines that are formatted at a time."""
_ROWS_AT_A_TIME = 1 << 20
"""Number of lines that are repeated at a time."""
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)|^\[Errno (\d+)\]")
_ROW_GROUP = 1 << 17
"""Rows of a row group of Parquet, which readers hold as a whole."""
_PROBED = 1 << 16
"""Bytes that are written to find out if the disk is full."""


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str = ","
    """The separator of fields: that of the input, so that a program that opened the one opens the other."""
    bom: bool = False
    """Whether the file begins with a byte order mark, by which spreadsheets know UTF-8."""
    spreadsheet_safe: bool = False
    """Whether an apostrophe stands before every text that a spreadsheet would evaluate as a formula: one that starts
    with `=`, `+`, `-`, `@`, a tab or a line end. This includes column names, but not columns of numbers. If a text has
    apostrophes before such a start, one more is added, so that different texts stay different."""

    @property
    def facts(self) -> dict[str, str]:
        """What a certificate states of it."""
        return {} if self.delimiter == "," else {"delimiter": self.delimiter}


PLAIN = Dialect()
"""Commas and no mark."""


def write_table(
    frame: pl.DataFrame,
    path: str | Path,
    *,
    dialect: Dialect = PLAIN,
    times: NDArray[np.int64] | None = None,
    codebook: Codebook | None = None,
) -> None:
    """Write a table in the format of the file's ending: `.csv`, `.parquet`, `.xlsx`, `.ods`, `.dta`, `.sav` or `.xpt`.

    CSV is UTF-8 with line feeds; a missing value (null or NaN) is an empty field, an empty text is `""`.
    Most readers (including that of shoal) take both for missing, so a column may hold one of them, not both. Parquet
    holds the columns with their types, categories as plain text, and nothing else.

    Parameters
    ----------
    frame : polars.DataFrame
        The table. It is not changed.
    path : str or Path
        Where to write; an existing file is replaced.
    dialect : Dialect
        How CSV is written.
    times : int64 array, optional
        Multiplicity of each row; 1 by default.
    codebook : Codebook, optional
        Labels of variables and values for files of Stata, SPSS and SAS.

    Raises
    ------
    DataError
        If a column cannot be written in that format.
    OutputError
        If the name has another ending.
    OSError
        If the system refuses; `shoal.io.write_folder` converts it into an `OutputError`.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    # A dictionary of categories may hold values that do not occur in the table and must not be published.
    plain = without_categories(frame)
    with _system_errors(path):
        # Each distinct row is formatted once, if a record is a single line.
        if times is not None and (suffix != ".csv" or _has_line_ends(plain)):
            plain, times = repeat_rows(plain, times), None
        if suffix == ".csv":
            text = _as_text(plain)
            text = _spreadsheet_safe(text) if dialect.spreadsheet_safe else text
            if times is not None:
                _write_lines(text, path, times, dialect)
            else:
                text.write_csv(path, include_bom=dialect.bom or _marked(text), separator=dialect.delimiter)
        elif suffix == ".parquet":
            _check_storable(plain)
            plain.write_parquet(path)
        elif suffix in (".xlsx", ".ods"):
            _check_types(plain, "sheets")
            write_workbook(plain, path)
        elif suffix[1:] in FORMATS and suffix in STAT_FILES:
            _check_types(plain, f"{suffix} files")
            write_stat_file(plain, path, codebook or {})
        else:
            raise OutputError(f"'{path.name}' ends in none of {', '.join(FORMATS)}: those are what can be written.")


def without_categories(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert categories to text, as files hold them."""
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def repeat_rows(frame: pl.DataFrame, times: NDArray[np.int64]) -> pl.DataFrame:
    """Repeat each row of a table by its multiplicity, with equal rows adjacent."""
    return frame[np.repeat(np.arange(frame.height, dtype=np.uint32), times)]


def _marked(text: pl.DataFrame) -> bool:
    """Check whether the file needs a byte order mark, because readers would drop one from the first name."""
    return bool(text.columns) and text.columns[0].startswith("\ufeff")


def _has_line_ends(frame: pl.DataFrame) -> bool:
    """Check whether a name or a cell has a line end, so that a CSV record may span several lines."""
    cells = (column.str.contains("\n", literal=True).any() for column in frame if column.dtype == pl.String)
    return any("\n" in name for name in frame.columns) or any(cells)


def _write_lines(text: pl.DataFrame, path: Path, times: NDArray[np.int64], dialect: Dialect) -> None:
    """Write a table whose records are single lines, each formatted once and repeated by its multiplicity."""
    with path.open("wb") as file:
        sign = dialect.delimiter
        file.write(text.head(0).write_csv(include_bom=dialect.bom or _marked(text), separator=sign).encode())
        for first in range(0, text.height, _LINES_AT_A_TIME):
            part = text[first : first + _LINES_AT_A_TIME].write_csv(include_header=False, separator=sign)
            lines = pl.Series("line", part.split("\n")[:-1], dtype=pl.String)
            places = np.repeat(np.arange(len(lines), dtype=np.uint32), times[first : first + _LINES_AT_A_TIME])
            for begin in range(0, len(places), _ROWS_AT_A_TIME):
                repeated = lines.gather(places[begin : begin + _ROWS_AT_A_TIME]).to_frame()
                repeated.write_csv(file, include_header=False, quote_style="never")


def write_repeated(
    frame: pl.DataFrame, times: NDArray[np.int64], path: Path, more_columns: pl.DataFrame | None = None
) -> None:
    """Write a table as Parquet with each row repeated by its multiplicity; text is encoded once per distinct row.

    The file reads like one that `write_table` writes for the repeated rows, but has no statistics of text columns, with
    which readers skip rows.

    Parameters
    ----------
    frame : polars.DataFrame
        The table; the file holds no other values than those of its rows.
    times : int64 array
        Multiplicity of each row, at least 1.
    path : Path
        Where to write; an existing file is replaced.
    more_columns : polars.DataFrame, optional
        Columns after those of the table, with a value for each written row.

    Raises
    ------
    DataError
        If a column cannot be written as Parquet.
    OSError
        If the system refuses.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = without_categories(frame)
    rest = pl.DataFrame() if more_columns is None else without_categories(more_columns)
    named = (pl.String, pl.Boolean, pl.Float32, pl.Float64)
    if not all(kind in named or kind.is_integer() for kind in (*plain.dtypes, *rest.dtypes)):
        # For other types Polars adds metadata that Parquet has no types for.
        write_table(pl.DataFrame([*repeat_rows(plain, times), *rest]), path)
        return
    for some in (plain, rest):
        _check_storable(some)
    # Text is dictionary-encoded before the rows are repeated.
    place = pa.array(np.repeat(np.arange(plain.height, dtype=np.int32), times))
    columns, without_text = [], []
    for column in plain:
        array = column.to_arrow()
        if column.dtype == pl.String:
            array = array.cast(pa.large_string()).dictionary_encode()
        else:
            without_text.append(column.name)
        columns.append(array.take(place))
    for column in rest:
        columns.append(column.to_arrow())
        if column.dtype == pl.String:
            columns[-1] = columns[-1].cast(pa.large_string())
        else:
            without_text.append(column.name)
    rows = pa.table(columns, names=[*plain.columns, *rest.columns])
    pq.write_table(
        rows,
        path,
        compression="zstd",
        row_group_size=_ROW_GROUP,
        use_dictionary=plain.columns,  # values of single rows are mostly distinct
        store_schema=False,
        write_statistics=without_text or False,
    )


def _check_storable(frame: pl.DataFrame) -> None:
    # Readers of Parquet drop such columns, or cannot read them.
    for name, kind in frame.schema.items():
        if kind == pl.Object:
            raise DataError(f"The column '{name}' holds Python objects, which no file can keep. Turn it into text.")
        if PANDAS_INDEX.fullmatch(name):
            raise DataError(
                f"A column named '{name}' would be taken for a pandas index by readers of Parquet. Rename it, or write "
                "CSV."
            )


def _check_types(frame: pl.DataFrame, files: str) -> None:
    """Check that files without types can hold the columns."""
    for column in frame:
        kind = column.dtype
        if kind.is_nested() or kind in (pl.Binary, pl.Object):
            raise DataError(
                f"The column '{column.name}' has the type {kind.base_type()}, which {files} cannot hold. Turn it into "
                "text, or leave it out."
            )
        # Readers take empty fields for missing values.
        if kind == pl.String and column.null_count() > 0 and (column == "").any():
            raise DataError(
                f"The column '{column.name}' holds missing values and empty texts, which readers of {files} cannot "
                "tell apart. Replace one of them, or write Parquet."
            )


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert a frame so that CSV can hold it and readers restore it.

    Raises
    ------
    DataError
        If CSV cannot hold a column. The message names it.
    """
    _check_types(frame, "CSV")
    for column in frame:
        if column.name == "":
            raise DataError("The column '' has no name. Give it one, or leave it out.")
        # Polars takes some names, such as "^$", for patterns of names.
        if column.dtype == pl.String and column.alias("text").str.contains("\0", literal=True).any():
            raise DataError(f"The column '{column.name}' holds NUL characters, which CSV cannot. Remove them.")
    return frame.with_columns(
        pl.col(pl.Float32, pl.Float64).fill_nan(None),
        pl.col(pl.Duration).dt.to_string("iso"),
    )


def _spreadsheet_safe(frame: pl.DataFrame) -> pl.DataFrame:
    safe = frame.with_columns(_quoted(column) for column in frame if column.dtype == pl.String)
    return safe.rename(dict(zip(frame.columns, spreadsheet_names(frame.columns), strict=True)))


def spreadsheet_names(names: Sequence[str]) -> list[str]:
    """Format column names as in the header of a spreadsheet-safe file."""
    return _quoted(pl.Series(names, dtype=pl.String)).to_list()


def _quoted(text: pl.Series) -> pl.Series:
    # Polars takes some names, such as "^$", for patterns of names.
    plain = text.alias("text")
    # One apostrophe more, so that different texts stay different.
    risky = plain.str.contains(FORMULA)
    return plain.zip_with(~risky.fill_null(value=False), "'" + plain).alias(text.name)


@contextmanager
def _system_errors(path: Path) -> Iterator[None]:
    """Give an error of the system its number, which libraries keep in the message only."""
    try:
        yield
    except DataError:
        # Libraries of statistical files name no error of the system: another write meets the same one.
        if path.suffix.lower() in STAT_FILES:
            with path.open("ab") as file:
                file.write(bytes(_PROBED))
                file.flush()
                os.fsync(file.fileno())
        raise
    except Exception as error:  # of the system, of Polars, or of a library of workbooks
        number = _SYSTEM_ERROR.search(str(error))
        if number is None:
            raise
        code = int(number[1] or number[2])
        raise OSError(code, os.strerror(code), str(path)) from None
