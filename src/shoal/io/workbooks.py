"""Read a sheet of an .xlsx or .ods workbook as a table, and write a table as a sheet without formulas.

Cells are read as displayed: the results of formulas, and dates as dates. Every cell is written with the type of its
column, text as text, so that no spreadsheet evaluates it.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

from shoal._core.optional import require
from shoal._messages import Part, Phrase, Suggestion
from shoal.errors import DataError, NoRowsError, ParameterError, near_matches
from shoal.io.column_names import check_different_names, find_names_row
from shoal.io.delimited import OpenedTable
from shoal.io.rows_below import count_rows_below

_SHEET = "release"
_LOOKED_AT = 20
"""Number of rows that are searched for the names of columns."""
_MOST_ROWS = 1_048_575
"""Largest number of rows of a sheet, below its header."""
_LONGEST_TEXT = 32_767
"""Largest number of characters of a cell."""
_LARGEST_WHOLE = 2**53
"""Integers from here on are rounded, because spreadsheets store floats."""
_MOST_DIGITS = 15
"""Largest number of significant digits that spreadsheets keep."""
_FIRST_DAY = dt.date(1900, 3, 1)
"""First date that spreadsheets count correctly: they treat 1900 as a leap year."""
_DAY_ZERO = (dt.date(1899, 12, 30), dt.date(1899, 12, 31))
"""The day of a time of day, by the two ways to count days."""
_MADE = dt.datetime(1980, 1, 1)
"""Fixed time of creation, so that equal tables give equal files."""


def read_workbook(
    content: bytes, source: str, *, sheet: str | None = None, header_row: int | None = None, whole: bool = False
) -> OpenedTable:
    """Read a sheet with column names in a row, and records below.

    Parameters
    ----------
    content : bytes
        The file.
    source : str
        Its name, for messages.
    sheet : str, optional
        The name of the sheet; required if there are several.
    header_row : int, optional
        The row of the column names, from 1; by default the first row that is not empty.
    whole : bool
        Whether all rows are records; by default notes and sums below the table are left out.

    Returns
    -------
    OpenedTable
        Numbers (integers if all are), dates, times, booleans and text; an empty cell is missing. A column of mixed
        types is text.

    Raises
    ------
    DataError
        If it is not a workbook, or the sheet is not a table. The message names the row, never a cell.
    ParameterError
        If there is no such sheet, or if there are several and none is named.
    """
    with _opened(content, source) as reader:
        name = _chosen(reader, sheet, source)
        # The header is checked as text first, because the reader renames repeated names.
        # Rows are counted from the top of the sheet, also if the first ones are empty.
        above = None if header_row is None else header_row - 1
        start: dict[str, Any] = {"header_row": None, "skip_rows": above, "dtypes": "string"}
        top = reader.load_sheet(name, **start, n_rows=_LOOKED_AT).to_polars()
        options: dict[str, Any] = {} if above is None else {"header_row": above}
        # A column without a name and without a cell is space between others.
        if top.height and None in top.row(0):
            used = [place for place, one in enumerate(reader.load_sheet(name, **start).to_polars()) if one.count()]
            top, options["use_columns"] = top[:, used], used
        _check_header(top, source, name, above or 0)
        frame = _without_empty_end(_records(content, name, options))
        below = 0 if whole else count_rows_below(frame)
        if below:  # the types of columns are those of the records
            frame = _without_empty_end(_records(content, name, {**options, "n_rows": frame.height - below}))
    # Spreadsheets store a time of day as a part of their day zero.
    moments = [column for column in frame if column.dtype == pl.Datetime and column.dt.date().is_in(_DAY_ZERO).all()]
    frame = frame.with_columns(column.dt.time() for column in moments if column.null_count() < len(column))
    if not frame.height:
        raise NoRowsError(f"The sheet '{name}' of {source} has a header but no rows.")
    filled = _filled_rows(frame)
    if not filled.all() and frame.width > 1:
        first = (~filled).arg_max() or 0
        raise DataError(
            f"Row {first + 2 + (above or 0)} of the table in the sheet '{name}' of {source} is empty, and some of the "
            f"{filled.sum() - first:,} rows below it may be records. Remove the empty row, or what is below it."
        )
    # An .ods archive begins with its media type, uncompressed; .xlsx has none there.
    ods = b"opendocument.spreadsheet" in content[:200]
    return OpenedTable(frame=frame, format="ods" if ods else "xlsx", sheet=name, below=below)


def _records(content: bytes, name: str, options: Mapping[str, Any]) -> pl.DataFrame:
    """Read the rows below the column names."""
    return pl.read_excel(
        content,
        sheet_name=name,
        read_options=dict(options),
        infer_schema_length=None,
        drop_empty_rows=False,
        drop_empty_cols=False,
        raise_if_empty=False,
    )


def _filled_rows(frame: pl.DataFrame) -> pl.Series:
    """Find the rows with a cell that is not empty."""
    return frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series() if frame.width else pl.Series([])


def _without_empty_end(frame: pl.DataFrame) -> pl.DataFrame:
    """Remove empty rows at the end, which are formatting."""
    rows = _filled_rows(frame).arg_true()
    return frame.head(rows[-1] + 1 if len(rows) else 0)


def sheet_names(path: str | Path) -> list[str]:
    """List the names of the sheets of a workbook, in their order.

    Raises
    ------
    DataError
        If it cannot be read as a workbook.
    """
    source = Path(path)
    with _opened(source.read_bytes(), f"'{source.name}'") as reader:
        return list(reader.sheet_names)


def describe_sheets(path: str | Path) -> list[tuple[int, int, int | None]]:
    """Count the rows and columns of each sheet, and guess the row of the column names.

    Returns
    -------
    list of tuple
        Rows, columns, and the row of the names from 1; None if there is none, or fewer than two columns.
    """
    fastexcel = _reader_library()
    source, found = Path(path), list[tuple[int, int, int | None]]()
    with _opened(source.read_bytes(), f"'{source.name}'") as reader:
        for name in reader.sheet_names:
            # A chart or an empty sheet has no rows.
            try:
                sheet = reader.load_sheet(name, header_row=None, skip_rows=0, n_rows=_LOOKED_AT, dtypes="string")
            except fastexcel.FastExcelError:
                found.append((0, 0, None))
                continue
            # A complete first row is taken for the names, as reading does.
            rows = sheet.to_polars().rows()
            complete = bool(rows) and all(one is not None and one.strip() for one in rows[0])
            guess = 0 if complete and sheet.width > 1 else find_names_row(rows)
            found.append((sheet.total_height, sheet.width, None if guess is None else guess + 1))
    return found


def _height(reader: Any, name: str) -> int:
    """Count the rows of a sheet; a chart has none."""
    with suppress(_reader_library().FastExcelError):
        return int(reader.load_sheet(name, header_row=None, dtypes="string").total_height)
    return 0


def _reader_library() -> Any:
    return require("fastexcel", extra="excel", purpose="Reading a workbook")


def _chosen(reader: Any, sheet: str | None, source: str) -> str:
    names: list[str] = reader.sheet_names
    listed = ", ".join(f"'{name}'" for name in names[:20])
    if sheet is not None:
        if sheet not in names:
            raise ParameterError(f"{source} has no sheet '{sheet}'. {near_matches(sheet, names)}")
        return sheet
    # With several sheets the first one may be a cover: do not guess.
    if len(names) == 1:
        return names[0]
    longest = max(names, key=lambda name: _height(reader, name))
    raise ParameterError(
        f"{source} has {len(names)} sheets: {listed}. Name one, such as the longest: ",
        Suggestion("sheet", longest),
        ".",
    )


def _check_header(top: pl.DataFrame, source: str, sheet: str, above: int) -> None:
    names = list(top.row(0)) if top.height else []
    where = f"row {above + 1}" if above else "the first row"
    if not names or all(name is None for name in names):
        raise DataError(
            f"The sheet '{sheet}' of {source} has nothing in {where}. The names of its columns must stand there.",
            *_other_row(top, above),
        )
    check_different_names(names, f" in {where} of the sheet '{sheet}' of {source}", _other_row(top, above))


def _other_row(top: pl.DataFrame, above: int) -> Sequence[Part]:
    """Suggest a later row that looks like the names of columns, if there is one."""
    found = find_names_row(top.rows())
    if found is None or found == 0:
        return ()
    row = above + found + 1  # from 1, as spreadsheets number them
    return (Phrase(f" Row {row} looks like the names of columns. Try ", Suggestion("header_row", row), "."),)


@contextmanager
def _opened(content: bytes, source: str) -> Iterator[Any]:
    """Open a workbook without the reader's warnings about columns without values, and explain its errors."""
    fastexcel = _reader_library()
    # The warnings would name columns of the data.
    logger = logging.getLogger("fastexcel")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield fastexcel.read_excel(content)
        return
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError):
        pass
    finally:
        logger.setLevel(level)
    raise DataError(
        f"{source} cannot be read as a workbook: it is damaged, has a password, or is another kind of file. Save it "
        "again without a password, or export the sheet as CSV."
    )


def write_workbook(frame: pl.DataFrame, path: Path) -> None:
    """Write a table as the only sheet of an .xlsx or .ods workbook, depending on the name.

    Text stays text, even if it starts like a formula; numbers and dates have their types. Dates before March 1900,
    times of day and durations are ISO 8601 text, because spreadsheets count them differently or not at all.

    Raises
    ------
    DataError
        If a sheet cannot hold the table. The message names the column.
    """
    _check(frame)
    table = _storable(frame)
    if path.suffix.lower() == ".ods":
        texts = [column for column in table if column.dtype == pl.String]
        for what, pattern in (("tabs", r"\t"), ("carriage returns", r"\r")):
            # ODS stores these characters as markup, which most readers ignore.
            lost = [column.name for column in texts if column.str.contains(pattern).any()]
            if lost:
                raise DataError(f"The column '{lost[0]}' holds {what}, which readers of .ods drop. Write .xlsx or CSV.")
        _write_ods(table, path)
    else:
        _write_xlsx(table, path)


def _check(frame: pl.DataFrame) -> None:
    # Everything that a sheet would change or lose is an error that names the column.
    if frame.height > _MOST_ROWS:
        raise DataError(f"A sheet has room for {_MOST_ROWS:,} rows, and the table has {frame.height:,}. Write CSV.")
    for column in frame:
        if column.dtype == pl.String:
            longest = column.str.len_chars().max()
            if isinstance(longest, int) and longest > _LONGEST_TEXT:
                raise DataError(f"The column '{column.name}' has longer texts than a cell holds. Write CSV or Parquet.")
        if column.dtype.is_integer() and column.drop_nulls().cast(pl.Int128).abs().ge(_LARGEST_WHOLE).any():
            raise DataError(f"The column '{column.name}' has whole numbers that spreadsheets round. Write CSV instead.")
        if column.dtype.is_float() and column.is_infinite().any():
            raise DataError(
                f"The column '{column.name}' has infinite numbers, which no sheet holds. Write CSV instead."
            )
        if column.dtype.is_decimal() and _rounded(column):
            raise DataError(f"The column '{column.name}' has decimals that spreadsheets round. Write CSV instead.")


def _rounded(decimals: pl.Series) -> bool:
    """Check whether a decimal number has more digits than spreadsheets keep."""
    # Signs, points and leading zeros do not count as digits.
    digits = decimals.cast(pl.String).str.replace_all(r"[-.]", "").str.strip_chars_start("0")
    longest = digits.str.len_chars().max()
    return isinstance(longest, int) and longest > _MOST_DIGITS


def _storable(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert a table to columns of text, numbers, booleans, dates and times."""
    # Other types are written as they are; `_check` has refused what would be rounded.
    changed = []
    for column in frame:
        kind = column.dtype
        if kind in (pl.Categorical, pl.Enum):
            changed.append(column.cast(pl.String))
        elif kind.is_float():
            changed.append(column.fill_nan(None).cast(pl.Float64))
        elif kind.is_decimal():
            changed.append(column.cast(pl.Float64))
        elif kind.is_temporal() and not _countable(column):
            zone = "%:z" if isinstance(kind, pl.Datetime) and kind.time_zone is not None else ""
            iso = f"%Y-%m-%dT%H:%M:%S%.f{zone}" if isinstance(kind, pl.Datetime) else "iso"
            changed.append(column.dt.to_string(iso))
    return frame.with_columns(changed)


def _countable(column: pl.Series) -> bool:
    """Check whether spreadsheets can store the dates of a column: no time zone, from March 1900, milliseconds."""
    if column.dtype in (pl.Time, pl.Duration):
        return False
    # Spreadsheets have no time zones, and show milliseconds at most.
    if isinstance(column.dtype, pl.Datetime):
        if column.dtype.time_zone is not None or (column.dt.microsecond() % 1000 != 0).any():
            return False
        column = column.dt.date()
    earliest = column.min()
    return not isinstance(earliest, dt.date) or earliest >= _FIRST_DAY


def _write_xlsx(frame: pl.DataFrame, path: Path) -> None:
    xlsxwriter = require("xlsxwriter", extra="excel", purpose="Writing a workbook")
    # Text must never become a formula, a number or a link.
    options = {"strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(str(path), options) as book:
        book.set_properties({"created": _MADE})
        sheet = book.add_worksheet(_SHEET)
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        bold = book.add_format({"bold": True})
        sheet.freeze_panes(1, 0)
        for place, column in enumerate(frame):
            sheet.write_string(0, place, column.name, bold)
            # Each column has one writer for all of its cells.
            write: Any = sheet.write_string
            more: tuple[Any, ...] = ()
            if column.dtype.is_numeric():
                write = sheet.write_number
            elif column.dtype == pl.Boolean:
                write = sheet.write_boolean
            elif column.dtype.is_temporal():
                write, more = sheet.write_datetime, (day if column.dtype == pl.Date else moment,)
            for row, value in enumerate(column.to_list(), start=1):
                if value is not None:
                    write(row, place, value, *more)


_ODS = "urn:oasis:names:tc:opendocument:xmlns"
_CONTENT = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content '
    f'xmlns:office="{_ODS}:office:1.0" xmlns:table="{_ODS}:table:1.0" xmlns:text="{_ODS}:text:1.0" '
    f'office:version="1.3"><office:body><office:spreadsheet><table:table table:name="{_SHEET}">'
)
_MANIFEST = (
    f'<?xml version="1.0" encoding="UTF-8"?>\n<manifest:manifest xmlns:manifest="{_ODS}:manifest:1.0" '
    'manifest:version="1.3"><manifest:file-entry manifest:full-path="/" '
    'manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/><manifest:file-entry '
    'manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
)


def _write_ods(frame: pl.DataFrame, path: Path) -> None:
    """Write the smallest OpenDocument spreadsheet (ISO/IEC 26300) that holds a table."""
    stamp = _MADE.timetuple()[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        mimetype = zipfile.ZipInfo("mimetype", stamp)  # first and uncompressed, as the format requires
        archive.writestr(mimetype, "application/vnd.oasis.opendocument.spreadsheet")
        manifest = zipfile.ZipInfo("META-INF/manifest.xml", stamp)
        archive.writestr(manifest, _MANIFEST)
        content = zipfile.ZipInfo("content.xml", stamp)
        content.compress_type = zipfile.ZIP_DEFLATED
        with archive.open(content, "w", force_zip64=True) as file:
            file.write(_CONTENT.encode())
            file.write(_ods_row(frame.columns))
            for row in frame.iter_rows():
                file.write(_ods_row(row))
            file.write(b"</table:table></office:spreadsheet></office:body></office:document-content>")


def _ods_row(row: Sequence[Any]) -> bytes:
    return f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>".encode()


def _ods_cell(value: Any) -> str:
    if value is None:
        return "<table:table-cell/>"
    # A boolean is an integer in Python, so it comes first.
    if isinstance(value, bool):
        kind, attribute, text = "boolean", "boolean-value", str(value).lower()
    elif isinstance(value, int | float):
        kind, attribute, text = "float", "value", repr(value)
    elif isinstance(value, dt.date):
        kind, attribute, text = "date", "date-value", value.isoformat()
    else:
        return f'<table:table-cell office:value-type="string"><text:p>{_ods_text(value)}</text:p></table:table-cell>'
    return (  # no character of numbers, dates and truth values needs escaping
        f'<table:table-cell office:value-type="{kind}" office:{attribute}="{text}">'
        f"<text:p>{text}</text:p></table:table-cell>"
    )


def _ods_text(value: str) -> str:
    """Escape text for XML, and keep its blanks and line ends."""
    from xml.sax.saxutils import escape  # imported late, because it imports an HTTP client

    kept = re.sub(r"^ | (?= )| $", '<text:s text:c="1"/>', escape(value))
    return kept.replace("\n", "</text:p><text:p>")
