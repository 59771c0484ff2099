"""Derive columns from dates when a table is opened: ages in whole years, and durations in days."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping

import polars as pl

from shoal._core.facts import Fact
from shoal._messages import Suggestion
from shoal.errors import ColumnError, DataError, ParameterError, near_matches
from shoal.io.date_formats import date_formats, read_dates
from shoal.request.texts import column_and_words, derivation_in, derivation_text


def derive_columns(frame: pl.DataFrame, given: Mapping[str, str]) -> tuple[pl.DataFrame, dict[str, Fact]]:
    """Add columns that are derived from dates; return the table, and for each the number of missing values.

    Whole years are counted by anniversaries: that of 29 February is 1 March in common years.
    A value is missing if a date is, or if the second date is before the first.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    given : mapping of str to str
        How each new column is derived, such as `years:born:2025-12-31`; see `derivation_in`.

    Raises
    ------
    ColumnError
        If there is no such column of dates, or a new column exists already.
    DataError
        If a column does not hold dates, or they can be read in two ways. The message shows no cell.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"born": ["2000-02-29", "2026-01-01"]})
    >>> derive_columns(table, {"age": "years:born:2025-02-28"})[0]["age"].to_list()
    [24, None]
    """
    _check(given)
    made, notes = [], {}
    for name, words in given.items():
        unit, begin, end, form = derivation_in(words)
        if name in frame.columns:
            raise ColumnError(f"The column '{name}' exists already. Choose another name.")

        def say(
            pattern: str, column: str = name, parts: tuple[str, str, str | dt.date] = (unit, begin, end)
        ) -> Suggestion:
            asked = derivation_text(*parts, pattern)
            return Suggestion("derive", column_and_words(column, asked), python=f"derive={ {column: asked}!r}")

        first = _read_dates_of(frame, begin, form, say)
        last = end if isinstance(end, dt.date) else _read_dates_of(frame, end, form, say)
        spans, negative = _count_spans(unit, first, last)
        made.append(spans.alias(name))
        if spans.null_count():
            missing = spans.null_count() - negative
            notes[name] = Fact(
                "derived_missing", column=name, rows=spans.null_count(), missing=missing, negative=negative
            )
    return frame.with_columns(made), notes


def _check(given: object) -> None:
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for one in given.items() for text in one):
        raise ParameterError.refusing(
            "anonymize", "derive", "a mapping of new columns to derivations such as 'years:born:2025-12-31'"
        )


def _count_spans(unit: str, first: pl.Series, last: pl.Series | dt.date) -> tuple[pl.Series, int]:
    """Count the whole years, or the days, between dates; also return how many spans are negative, thus missing."""
    begin, end = pl.col("begin"), pl.lit(last) if isinstance(last, dt.date) else pl.col("end")
    dates = first.alias("begin").to_frame()
    if not isinstance(last, dt.date):
        dates = dates.with_columns(last.alias("end"))
    # A year is whole if its anniversary, as month and day, has come.
    ended, began = (one.dt.month().cast(pl.Int32) * 100 + one.dt.day() for one in (end, begin))
    years = end.dt.year() - begin.dt.year() - (ended < began).cast(pl.Int32)
    spans = years if unit == "years" else (end - begin).dt.total_days()
    found = dates.select(span=pl.when(end >= begin).then(spans.cast(pl.Int64)), negative=end < begin)
    return found["span"], int(found["negative"].sum())


def _read_dates_of(frame: pl.DataFrame, name: str, form: str | None, say: Callable[[str], Suggestion]) -> pl.Series:
    """Read a column as dates without times, by the given format if it reads a value, else by the only one that fits."""
    if name not in frame.columns:
        known = near_matches(name, frame.columns)
        raise ColumnError(f"There is no column '{name}' of dates. {known}")
    column = frame.get_column(name)
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        text = column.cast(pl.String)
        column = text.cast(pl.Date) if text.null_count() == len(text) else _parse(text, form, say)
    if isinstance(column.dtype, pl.Datetime):
        column = column.dt.replace_time_zone(None).dt.date()
    if column.dtype != pl.Date:
        raise DataError(f"The column '{name}' has no dates.")
    return column


def _parse(text: pl.Series, form: str | None, say: Callable[[str], Suggestion]) -> pl.Series:
    # Values that do not fit a format that was given are missing.
    read = None if form is None else read_dates(text, form)
    if read is not None and read.null_count() < len(read):
        return read
    found = date_formats(text.unique(maintain_order=True))
    if not found:
        raise DataError(
            f"No format reads all dates of the column '{text.name}'. Say theirs, as in ",
            say("%d.%m.%Y"),
            "; others are missing then.",
        )
    if len(found) > 1:
        one, other = (say(pattern) for pattern, _ in found[:2])
        raise DataError(
            f"The dates of the column '{text.name}' can be read in two ways. Say which: ", one, " or ", other, "."
        )
    return read_dates(text, found[0][0])
