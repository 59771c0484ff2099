"""Writing a table as CSV, Parquet, or the only sheet of a workbook."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import DataError, OutputError
from shoal.io.frames import PANDAS_INDEX
from shoal.io.workbooks import write_workbook

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["FORMATS", "FORMULA", "repeated", "spreadsheet_names", "without_categories", "write_repeated", "write_table"]

FORMATS = ("csv", "parquet", "xlsx", "ods")
"""What a table can be written as."""

# OWASP's list (CSV Injection); "-1" and "+1" among them: nobody can tell the sign of a number from that of a formula.
# Full-width signs too: spreadsheets in East Asian settings take them for plain ones.
FORMULA = r"^'*[=+\-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}]"
"""Text that a spreadsheet may run as a formula."""
_LINES = 1 << 16
"""Different lines that are made at a time."""
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")


def write_table(
    frame: pl.DataFrame,
    path: str | Path,
    *,
    spreadsheet_safe: bool = False,
    times: NDArray[np.int64] | None = None,
) -> None:
    """Write a table in the format that the file's name ends in: `.csv`, `.parquet`, `.xlsx` or `.ods`.

    CSV is UTF-8 with commas and line feeds; a missing value (null or NaN) is an empty field, an empty text is `""`.
    Most readers (that of shoal among them) take both for missing, so a column may hold one of them, not both. Parquet
    holds the columns with their types, categories as plain text, and nothing else.

    Parameters
    ----------
    frame : polars.DataFrame
        The table. It is not changed.
    path : str or Path
        Where to write; an existing file is replaced.
    spreadsheet_safe : bool, default False
        In CSV, put an apostrophe before every text that a spreadsheet would run as a formula: one that starts with
        `=`, `+`, `-`, `@`, a tab or a line end; column names too. Columns of the type of a number stay as they are. A
        text that has apostrophes before such a start gets one more, so that different texts stay different.
    times : int64 array, optional
        How often each row is written; once by default.

    Raises
    ------
    DataError
        Where a column cannot be written in that format.
    OutputError
        Where the name ends in something else.
    OSError
        Where the system refuses: `shoal.io.write_folder` turns that into an `OutputError`.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    # A dictionary of categories may hold values that do not occur in the table.
    plain = without_categories(frame)
    if suffix == ".csv" and times is not None and not _has_line_ends(plain):
        text = _as_text(plain)
        with _system_errors(path):
            _write_lines(_spreadsheet_safe(text) if spreadsheet_safe else text, path, times)
        return
    if times is not None:
        plain = repeated(plain, times)
    if suffix == ".csv":
        text = _as_text(plain)
        with _system_errors(path):
            (_spreadsheet_safe(text) if spreadsheet_safe else text).write_csv(path, include_bom=_marked(text))
    elif suffix == ".parquet":
        _check_storable(plain)
        with _system_errors(path):
            plain.write_parquet(path)
    elif suffix in (".xlsx", ".ods"):
        with _system_errors(path):
            write_workbook(plain, path)
    else:
        raise OutputError(f"'{path.name}' ends in none of {', '.join(FORMATS)}: those are what can be written.")


def without_categories(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table as files hold it: categories are text."""
    import polars as pl

    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def repeated(frame: pl.DataFrame, times: NDArray[np.int64]) -> pl.DataFrame:
    """Return a table with each row so many times, one after another."""
    return frame[np.repeat(np.arange(frame.height, dtype=np.uint32), times)]


def _marked(text: pl.DataFrame) -> bool:
    """Return whether a mark comes first: readers drop one, so a name that starts with one is written after another."""
    return bool(text.columns) and text.columns[0].startswith("\ufeff")


def _has_line_ends(frame: pl.DataFrame) -> bool:
    """Return whether a name or a cell has a line end, so that a record of CSV is not one line."""
    import polars as pl

    cells = (column.str.contains("\n", literal=True).any() for column in frame if column.dtype == pl.String)
    return any("\n" in name for name in frame.columns) or any(cells)


def _write_lines(text: pl.DataFrame, path: Path, times: NDArray[np.int64]) -> None:
    """Write a table of which every record is a line, each line so many times: it is made once."""
    with path.open("wb") as file:
        file.write(text.head(0).write_csv(include_bom=_marked(text)).encode())
        for first in range(0, text.height, _LINES):
            lines = text[first : first + _LINES].write_csv(include_header=False).encode().split(b"\n")[:-1]
            counts = times[first : first + _LINES].tolist()
            file.writelines((line + b"\n") * count for line, count in zip(lines, counts, strict=True))


def write_repeated(
    frame: pl.DataFrame, times: NDArray[np.int64], path: Path, beside: pl.DataFrame | None = None
) -> None:
    """Write each row of a table so often as Parquet, in this order; text is encoded once for each row of the table.

    The file reads as one that `write_table` writes of as many rows. It has no statistics of text, which readers would
    skip rows by.

    Parameters
    ----------
    frame : polars.DataFrame
        The table; no value but those of its rows is in the file.
    times : int64 array
        How often each row is written, at least once.
    path : Path
        Where to write; an existing file is replaced.
    beside : polars.DataFrame, optional
        Columns behind those of the table, with a value for each row that is written.

    Raises
    ------
    DataError
        Where a column cannot be written as Parquet.
    OSError
        Where the system refuses.
    """
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = without_categories(frame)
    rest = pl.DataFrame() if beside is None else without_categories(beside)
    named = (pl.String, pl.Boolean, pl.Float32, pl.Float64)
    if not all(kind in named or kind.is_integer() for kind in (*plain.dtypes, *rest.dtypes)):
        # Of other types Polars notes in the file what Parquet has no name for.
        write_table(pl.DataFrame([*repeated(plain, times), *rest]), path)
        return
    for some in (plain, rest):
        _check_storable(some)
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
        row_group_size=max(rows.num_rows, 1),
        use_dictionary=plain.columns,  # what rows have of their own is mostly different in each
        store_schema=False,
        write_statistics=without_text or False,
    )


def _check_storable(frame: pl.DataFrame) -> None:
    import polars as pl

    for name, kind in frame.schema.items():
        if kind == pl.Object:
            raise DataError(f"The column '{name}' holds Python objects, which no file can keep. Turn it into text.")
        if PANDAS_INDEX.fullmatch(name):
            raise DataError(
                f"A column named '{name}' would be taken for a pandas index by readers of Parquet. Rename it, or write "
                "CSV."
            )


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame that CSV can hold and that can be read back.

    Raises
    ------
    DataError
        Names the column that it cannot hold.
    """
    import polars as pl

    for column in frame:
        kind = column.dtype
        if kind.is_nested() or kind in (pl.Binary, pl.Object) or column.name == "":
            what = f"has the type {kind.base_type()}, which CSV cannot hold" if column.name else "has no name"
            raise DataError(f"The column '{column.name}' {what}. Turn it into text, or leave it out.")
        if kind == pl.String:
            if column.null_count() > 0 and (column == "").any():
                raise DataError(
                    f"The column '{column.name}' holds missing values and empty texts, which readers of CSV cannot "
                    "tell apart. Replace one of them, or write Parquet."
                )
            if column.str.contains("\0", literal=True).any():
                raise DataError(f"The column '{column.name}' holds NUL characters, which CSV cannot. Remove them.")
    return frame.with_columns(
        pl.col(pl.Float32, pl.Float64).fill_nan(None),
        pl.col(pl.Duration).dt.to_string("iso"),
    )


def _spreadsheet_safe(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    safe = frame.with_columns(_quoted(column) for column in frame if column.dtype == pl.String)
    return safe.rename(dict(zip(frame.columns, spreadsheet_names(frame.columns), strict=True)))


def spreadsheet_names(names: Sequence[str]) -> list[str]:
    """Return column names as the first line of a spreadsheet-safe file has them."""
    import polars as pl

    return _quoted(pl.Series(names, dtype=pl.String)).to_list()


def _quoted(text: pl.Series) -> pl.Series:
    risky = text.str.contains(FORMULA)
    return text.zip_with(~risky.fill_null(value=False), "'" + text)


@contextmanager
def _system_errors(path: Path) -> Iterator[None]:
    """Give an error of the system its number, which Polars keeps in its text only."""
    import polars as pl

    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        number = _SYSTEM_ERROR.search(str(error))
        if number is None:
            raise
        code = int(number[1])
        raise OSError(code, os.strerror(code), str(path)) from None
