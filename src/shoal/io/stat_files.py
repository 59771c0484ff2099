"""Read and write files of Stata, SPSS and SAS, with value labels in place of codes."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from shoal._core.file_formats import STAT_FILES
from shoal._core.optional import require
from shoal.errors import DataError

_NAMES = {
    ".dta": re.compile(r"[^\W\d]\w{0,31}"),
    ".sav": re.compile(r"[^\W\d_]\w{0,63}"),
    ".xpt": re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}"),
}
"""The names of columns that each format can hold."""
_LONGEST_LABELS = {".dta": 80, ".sav": 255, ".xpt": 40}
"""Largest number of bytes of the label of a column; longer ones are cut."""
_LONGEST_VALUE_LABEL = 120
"""Largest number of bytes of the label of a value in SPSS."""
_LARGEST_INTEGER = 2_147_483_620
"""Largest integer of Stata; larger whole numbers are stored as floats."""
_DAYS, _MOMENTS = (dt.date.min, dt.date.max), (dt.datetime.min, dt.datetime.max)
"""The first and last dates of Python; Polars has others."""
_STAMPS = {
    ".dta": (rb"<timestamp>\x11(.{17})</timestamp>", b"01 Jan 1980 00:00"),
    ".sav": (rb"\A\$FL[23].{80}.{8}(.{17})", b"01 Jan 8000:00:00"),
    ".xpt": (rb"\A.{144}(.{32}).{288}(.{32})", b"01JAN80:00:00:00" * 2),
}
"""Where the header of a file has its time of writing, and a fixed time, so that equal tables give equal files."""


@dataclass(frozen=True, kw_only=True)
class ColumnLabels:
    """The labels of a column of a file of Stata, SPSS or SAS. Private: a code may not occur in the release."""

    title: str | None
    """The label of the column, such as the question of a survey."""
    values: Mapping[Any, str] = field(default_factory=dict, repr=False)
    """The label of each code that has one."""
    shown: bool = False
    """Whether the labels stand in place of the codes."""


Codebook = Mapping[str, ColumnLabels]
"""The labels of the columns of a file."""


def read_stat_file(path: Path) -> tuple[pl.DataFrame, Codebook]:
    """Read a file of Stata, SPSS or SAS, and its labels.

    A column shows its labels if each of its values has a label of its own; otherwise it keeps its codes, such as ages
    of which only 99 is labelled. Whole numbers become integers. Values that the file declares missing are missing, and
    so is empty text.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    reader = require("pyreadstat", extra="stat", purpose="Reading files of Stata, SPSS and SAS")
    try:
        frame, facts = getattr(reader, STAT_FILES[path.suffix.lower()])(str(path), output_format="polars")
    except (reader.ReadstatError, reader.PyreadstatError, ValueError, OverflowError) as error:
        kind = type(error).__name__
    except pl.exceptions.PolarsError:  # a moment that Polars does not hold
        kind = "a date far beyond the calendar"
    else:
        columns, codebook = [], {}
        for column in frame:
            ends = _DAYS if column.dtype == pl.Date else _MOMENTS
            if column.dtype in (pl.Date, pl.Datetime) and not column.is_between(*ends).all():
                raise DataError(
                    f"The column '{column.name}' of '{path.name}' has dates after the year 9999 or before the "
                    "year 1. Correct them, or make them missing."
                )
            # Letters label kinds of missing values in columns of numbers (.a to .z of Stata).
            of_text = column.dtype == pl.String
            labels = {
                code: label
                for code, label in facts.variable_value_labels.get(column.name, {}).items()
                if isinstance(code, str) == of_text
            }
            shown = _are_own_labels(column, labels)
            columns.append(
                column.replace_strict(labels, return_dtype=pl.String) if shown else _with_plain_values(column)
            )
            title = facts.column_names_to_labels.get(column.name)
            codebook[column.name] = ColumnLabels(title=title, values=labels, shown=shown)
        return frame.with_columns(columns), codebook
    # Raised outside of the handler, because its error may quote a cell.
    raise DataError(f"'{path.name}' cannot be read ({kind}). It may be damaged; write it again.")


def _are_own_labels(column: pl.Series, labels: Mapping[Any, str]) -> bool:
    """Check whether each value of a column has a label, and no two codes have the same."""
    # Labels of some values only, such as "refused" for 99, would mix text and numbers.
    values = column.drop_nulls().unique()
    # Two codes with the same label would become one value.
    return len(values) > 0 and set(values) <= labels.keys() and len(set(labels.values())) == len(labels)


def _with_plain_values(column: pl.Series) -> pl.Series:
    """Convert whole floats to integers, and empty text to missing values."""
    values = column.drop_nulls()
    if column.dtype.is_float() and (values.is_finite() & (values.round() == values) & (values.abs() < 2**53)).all():
        return column.cast(pl.Int64)
    return column.set(column == "", None) if column.dtype == pl.String else column


def write_stat_file(frame: pl.DataFrame, path: Path, codebook: Codebook) -> None:
    """Write a table as a file of Stata (.dta), SPSS (.sav) or SAS (.xpt), which equal tables make equal.

    A column whose cells all are labels of codes is written as these codes, with the labels of those that occur in the
    table and of no others. Any other column with text, such as intervals or stars, is text. SAS has no labels of values
    in these files, so that labels are text.

    Raises
    ------
    DataError
        If the format cannot hold the table unchanged. The message names the column, never a cell.
    """
    writer = require("pyreadstat", extra="stat", purpose="Writing files of Stata, SPSS and SAS")
    kind = path.suffix.lower()
    columns, titles, values = [], {}, {}
    # Each column as the format stores it, with its title and the labels of its values.
    for column in frame:
        if not _NAMES[kind].fullmatch(column.name):
            raise DataError(
                f"The name '{column.name}' of a column cannot stand in {kind} files. Rename it, or write CSV."
            )
        labels = codebook.get(column.name)
        stored, named = _encode(_storable(column, kind), None if kind == ".xpt" else labels)
        columns.append(stored)
        if named:
            values[column.name] = named
        if labels is not None and labels.title:
            titles[column.name] = labels.title.encode()[: _LONGEST_LABELS[kind]].decode(errors="ignore")
    # Errors may quote a cell, so they are raised outside of their handlers.
    more = {"variable_value_labels": values} if values else {}
    reason = ""
    try:
        getattr(writer, STAT_FILES[kind].replace("read", "write"))(
            pl.DataFrame(columns), str(path), column_labels=titles, **more
        )
    except writer.ReadstatError as error:
        reason = str(error)  # a sentence of its library, without a cell
    except (writer.PyreadstatError, ValueError, OverflowError) as error:
        reason = type(error).__name__
    if reason:
        raise DataError(f"The table cannot be written to a {kind} file ({reason}). Write CSV or Parquet instead.")
    _fix_time_stamp(path)
    # One comparison finds all that a format changes: rounded numbers, lost blanks, cut texts.
    written, _ = read_stat_file(path)
    for column in frame:
        if not _is_same(written[column.name], _storable(column, kind)):
            raise DataError(
                f"The column '{column.name}' has values that {kind} files cannot hold unchanged. Write CSV or Parquet."
            )


def _storable(column: pl.Series, kind: str) -> pl.Series:
    """Convert a column to text, numbers, dates or times, which the formats have."""
    dtype = column.dtype
    # The formats have numbers, text, days and moments without a time zone.
    if dtype in (pl.Boolean, pl.Null):
        return column.cast(pl.String)
    if dtype in (pl.Time, pl.Duration):
        return column.dt.to_string("iso")
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        return column.dt.to_string("%Y-%m-%dT%H:%M:%S%.f%:z")
    return column.fill_nan(None) if dtype.is_float() else column


def _encode(column: pl.Series, labels: ColumnLabels | None) -> tuple[pl.Series, dict[Any, str]]:
    """Convert labels to codes if all cells are labels, and select the labels of values that occur."""
    if labels is None:
        return _as_stored(column), {}
    # Labels of values that are not published must not be written.
    values = set(column.drop_nulls().unique())
    if labels.shown:
        # An interval, a set or a star has no code: the column stays text.
        codes = {label: _whole(code) for code, label in labels.values.items() if label in values}
        if codes.keys() != values or any(len(label.encode()) > _LONGEST_VALUE_LABEL for label in codes):
            return column, {}
        coded = column.cast(pl.String).replace_strict(codes) if codes else column
        return _as_stored(coded), {code: label for label, code in codes.items()}
    column = _as_stored(column)
    named = {_whole(code): label for code, label in labels.values.items() if code in values}
    # If every value had a label, readers would show labels in place of the codes.
    return column, named if len(named) < len(values) else {}


def _whole(code: Any) -> Any:
    return int(code) if isinstance(code, float) and code.is_integer() else code


def _as_stored(column: pl.Series) -> pl.Series:
    """Convert numbers to the integers or floats of the formats."""
    if column.dtype.is_integer():
        # Stata reserves the largest integers for missing values.
        fits = (column.cast(pl.Int128).abs() <= _LARGEST_INTEGER).all()
        return column.cast(pl.Int32 if fits else pl.Float64)
    return column.cast(pl.Float64) if column.dtype.is_numeric() else column


def _fix_time_stamp(path: Path) -> None:
    """Replace the time of writing in the header of a file."""
    # Fields of the header have fixed places, and the same length as the fixed time.
    pattern, fixed = _STAMPS[path.suffix.lower()]
    with path.open("r+b") as file:
        found = re.search(pattern, file.read(1000), re.DOTALL)
        if found is not None:
            for place in range(1, found.re.groups + 1):
                file.seek(found.start(place))
                file.write(fixed)


def _is_same(written: pl.Series, column: pl.Series) -> bool:
    """Check that a column of a file has the cells of the table."""
    if column.dtype == pl.String:
        column = column.set(column == "", None)
    if column.dtype.is_float() and column.is_infinite().any():
        return False
    return written.cast(column.dtype, strict=False).equals(column, null_equal=True)
