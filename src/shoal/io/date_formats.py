"""Detect the format of dates in text: the only one that all values of a column share.

German dates have dots (`31.12.1980`), British and American ones have slashes or hyphens and differ in their order, ISO
dates start with the year; a time may follow. A format fits a column if it parses every value. If two formats fit and
differ in the dates, only the publisher can decide.
"""

from __future__ import annotations

import datetime as dt
import re
from itertools import product

import polars as pl

_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_MONTH = r"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_MONTH_NAME = rf"{_MONTH}[a-z]*\.?"
_NUMERIC = (
    rf"[0-9]{{4}}-[0-9]{{1,2}}-{_DAY}|[0-9]{{4}}/[0-9]{{1,2}}/{_DAY}|[0-9]{{4}}\.[0-9]{{1,2}}\.{_DAY}"
    rf"|[0-9]{{1,2}}-[0-9]{{1,2}}-(?:[0-9]{{4}}|[0-9]{{2}})|[0-9]{{1,2}}/[0-9]{{1,2}}/(?:[0-9]{{4}}|[0-9]{{2}})"
    r"|[0-9]{1,2}\.[0-9]{1,2}\.(?:[0-9]{4}|[0-9]{2})"
)
_NAMED = rf"{_DAY}\.?[ -]{_MONTH_NAME}[ -][0-9]{{2,4}}|{_DAY}{_MONTH}[0-9]{{4}}|{_MONTH_NAME} {_DAY},? [0-9]{{4}}"
_TIME = r"(?:[T ][0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?: ?[AaPp][Mm])?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
LOOKS_LIKE_A_DATE = rf"^\s*(?:{_NUMERIC}|{_NAMED}){_TIME}\s*$"
"""Pattern of text that looks like a date, whether it can be parsed or not."""

_DATE_PARTS = (
    (r"^[0-9]{4}-", ("%Y-%m-%d",)),
    (r"^[0-9]{4}/", ("%Y/%m/%d",)),
    (r"^[0-9]{4}\.", ("%Y.%m.%d",)),
    # Dates with dots have the day first in every country that uses them.
    (r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}", ("%d.%m.%Y",)),
    (r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}", ("%d/%m/%Y", "%m/%d/%Y")),
    (r"^[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}", ("%d-%m-%Y", "%m-%d-%Y")),
    (r"^[0-9]{1,2}-[A-Za-z]", ("%d-%b-%Y",)),
    (r"^[0-9]{1,2}[A-Za-z]", ("%d%b%Y",)),
    (r"^[0-9]{1,2} [A-Za-z]", ("%d %b %Y", "%d %B %Y")),
    (r"^[A-Za-z]+ [0-9]{1,2}, ", ("%b %d, %Y", "%B %d, %Y")),
    (r"^[A-Za-z]+ [0-9]{1,2} ", ("%b %d %Y", "%B %d %Y")),
)
"""Patterns of the first value, and the possible formats of dates for each."""
_OFFSET = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
_ZONE = re.compile(r" ?%[:#]?z$")
# The end of the first value, and the possible formats of its time.
_TIMES = (
    (rf"[0-9]{_OFFSET}$", ("%H:%M%z", "%H:%M:%S%z", "%H:%M:%S%.f%z")),
    (r"[0-9]$", ("%H:%M", "%H:%M:%S", "%H:%M:%S%.f")),
    (r"[0-9] [AaPp][Mm]$", ("%I:%M %p", "%I:%M:%S %p")),
    (r"[0-9][AaPp][Mm]$", ("%I:%M%p", "%I:%M:%S%p")),
)
_CLOCK = re.compile(r"%[HIMSTRpfs]|%\.")


def date_formats(text: pl.Series) -> list[tuple[str, pl.Series]]:
    """Return the formats that read every value of a column as a date, with what they read; several where they differ.

    Parameters
    ----------
    text : polars.Series
        A column of text with a value.

    Returns
    -------
    list of (str, polars.Series)
        Formats as `strptime` has them, and the column as dates, or as times where some are not at midnight. A missing
        value stays missing.
    """
    first = text.drop_nulls().head(1).item().strip()
    days = next((formats for start, formats in _DATE_PARTS if re.search(start, first)), ())
    found: list[tuple[str, pl.Series]] = []
    for pattern in _with_times(days, first):
        reading = _reading(text, pattern)
        if reading is not None and not any(reading[1].equals(values) for _, values in found):
            found.append(reading)
    return found


def _with_times(days: tuple[str, ...], first: str) -> list[str]:
    # Without a time, the formats of dates are tried alone; otherwise combined with those of times.
    clock = re.search(r"([T ])[0-9]{1,2}:", first)
    if clock is None:
        return list(days)
    times = next((formats for end, formats in _TIMES if re.search(end, first)), ())
    return [f"{day}{clock[1]}{time}" for day, time in product(days, times)]


def _reading(text: pl.Series, pattern: str) -> tuple[str, pl.Series] | None:
    """Parse a column with a format; None if a value does not fit. Padding of days and months is detected."""
    values = read_dates(text, pattern)
    if values.null_count() > text.null_count():
        return None
    clock = re.search(r"(?<=[T ])(%[HI].*?)(?:%z)?$", pattern)
    if clock and values.drop_nulls().dt.time().eq(dt.time()).all():
        # Dates with a constant time of midnight, as spreadsheets export them.
        midnight = text.str.extract(rf"[T ]([0-9]{{1,2}}:.*?) ?{_OFFSET}?\s*$").drop_nulls().unique()
        if len(midnight) == 1:
            pattern, values = pattern.replace(clock[1], midnight.item()), values.dt.date()
    return spelled_format(text.unique(), with_offset(text, pattern)), values


def with_offset(text: pl.Series, pattern: str) -> str:
    """Replace the offset from UTC in a format by the one that all values have, or leave it out if they differ."""
    zone = _ZONE.search(pattern)
    if zone is None:
        return pattern
    offsets = text.str.extract(rf"( ?{_OFFSET})\s*$").drop_nulls().unique()
    return pattern[: zone.start()] + (offsets.item() if len(offsets) == 1 else "")


def spelled_format(text: pl.Series, pattern: str) -> str:
    """Find the padding of a format that reproduces every value; fully padded if there is none."""
    pattern = plain_format(pattern)
    # Days, months and hours may be padded with a zero or not, independently of one another; names may be in capitals.
    choices = [(part, f"%-{part[1]}") for part in ("%d", "%m", "%H", "%I") if part in pattern]
    choices += [("%b", "%^b")] if "%b" in pattern else []
    for chosen in product(*choices):
        form = pattern
        for (part, _), written in zip(choices, chosen, strict=True):
            form = form.replace(part, written)
        if format_dates(read_dates(text, form), form).equals(text.str.strip_chars(), null_equal=True):
            return form
    return pattern


def plain_format(pattern: str) -> str:
    """Leave the padding and the capitals out of a format; they do not matter to read dates."""
    return pattern.replace("%-", "%").replace("%^", "%")


def read_dates(text: pl.Series, pattern: str) -> pl.Series:
    """Parse text to dates, or to times if the format has a time; values that do not fit are missing.

    Blanks around a value are left out. A time with an offset from UTC is the local one, as it is written, because it
    belongs to the written day.

    A year of two digits is the latest such year that is not in the future, because microdata describe past events.
    """
    name, plain, text = text.name, plain_format(pattern), text.str.strip_chars()
    zone = _ZONE.search(plain)
    if zone is not None:
        plain, text = plain[: zone.start()], text.str.extract(rf"(?s)^(.*?) ?{_OFFSET}$")
    if _CLOCK.search(plain):
        read = text.str.to_datetime(plain, strict=False, time_unit="us", ambiguous="null")
    else:
        read = text.str.to_date(plain, strict=False)
    # Polars puts some two-digit years into the future.
    if "%y" in plain:
        later = read.dt.year() > dt.date.today().year
        read = pl.select(pl.when(later).then(pl.lit(read).dt.offset_by("-100y")).otherwise(pl.lit(read))).to_series()
    return read.alias(name)


def format_dates(values: pl.Series, pattern: str) -> pl.Series:
    """Format dates or times as text; `read_dates` parses them back."""
    written = values.dt.to_string(pattern.replace("%^", "%"))
    return written.str.to_uppercase() if "%^" in pattern else written
