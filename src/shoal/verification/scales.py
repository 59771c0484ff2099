"""Exact, comparable positions of the numbers, dates and times that cells are written with.

Numbers have the position of their decimal digits (`0.1` is a tenth), dates and times that of their nanoseconds since
1970. Nothing is rounded here.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, TypeAlias

Position: TypeAlias = int | Fraction
"""A number, or nanoseconds."""
Scale: TypeAlias = Literal["number", "date", "time", "text"]
"""The kind of a column's values: numbers, dates (with or without a time), times of a day, or text without a natural
order."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?|-?[0-9]+/0*[1-9][0-9]*")
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?")
_MAX_NUMBER_LENGTH = 400
"""Largest number of characters of a number; longer runs of digits are not measurements."""
_DATE = r"(-?[0-9]{3,6})-([0-9]{2})-([0-9]{2})"
_CLOCK = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
_MOMENT = re.compile(rf"{_DATE}(?:[T ]{_CLOCK}(Z|[-+][0-9]{{2}}:?[0-9]{{2}})?)?")
_TIME = re.compile(_CLOCK)
_PERIOD = re.compile(r"(-?[0-9]{3,6})(?:[- ]?Q([1-4])|-([0-9]{2}))?")
_SECOND = 10**9
_DAY = 86_400 * _SECOND
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def number_of(text: str) -> Fraction | None:
    """Parse a number such as `12`, `-0.5`, `1e+20` or `1/3`; None if the text is not a number.

    Examples
    --------
    >>> number_of("0.10"), number_of("12 km")
    (Fraction(1, 10), None)
    """
    if len(text) > _MAX_NUMBER_LENGTH or _NUMBER.fullmatch(text) is None:
        return None
    return Fraction(text)


def is_plain_number(text: str) -> bool:
    """Check whether a text can only be a number: `007` and `+1` may be codes."""
    return len(text) <= _MAX_NUMBER_LENGTH and _PLAIN_NUMBER.fullmatch(text) is not None


def moment_of(text: str, scale: Scale = "date") -> int | None:
    """Parse a date (at midnight), a date with a time, or a time of a day to its position; None for others.

    Examples
    --------
    >>> moment_of("1970-01-02") == 24 * 3600 * 10**9, moment_of("2020-02-30")
    (True, None)
    """
    found = (_TIME if scale == "time" else _MOMENT).fullmatch(text)
    if found is None:
        return None
    if scale == "time":
        return _clock(*found.groups())
    year, month, day, hours, minutes, seconds, digits, zone = found.groups()
    days = _days(int(year), int(month), int(day))
    if days is None:
        return None
    if hours is None:
        return days * _DAY
    # A time with a zone is moved to UTC.
    clock = _clock(hours, minutes, seconds, digits)
    return None if clock is None else days * _DAY + clock - _offset(zone)


def period_of(text: str) -> tuple[int, int] | None:
    """Parse a year, quarter or month to the positions of its start and of the next one's start; None for others.

    Examples
    --------
    >>> start, stop = period_of("1970-Q1")
    >>> start, stop // (24 * 3600 * 10**9)
    (0, 90)
    """
    found = _PERIOD.fullmatch(text)
    if found is None:
        return None
    year, quarter, month = int(found[1]), found[2], found[3]
    # The first month, and the number of months.
    first, months = 1, 12
    if quarter is not None:
        first, months = 3 * int(quarter) - 2, 3
    elif month is not None:
        first, months = int(month), 1
    if not 1 <= first <= 12:
        return None
    # The next period may start in the next year.
    after = first + months
    start, stop = _days(year, first, 1), _days(year + (after > 12), (after - 1) % 12 + 1, 1)
    return None if start is None or stop is None else (start * _DAY, stop * _DAY)


def _days(year: int, month: int, day: int) -> int | None:
    """Count the days from 1970-01-01 to a date of the Gregorian calendar; None if the date does not exist."""
    # Proleptic Gregorian calendar, also beyond the range of `datetime`.
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1] + (leap and month == 2):
        return None
    # Days before this date in its year, then days of all years before; 1970-01-01 is day 719,162.
    before = sum(_DAYS[: month - 1]) + (leap and month > 2) + day - 1
    past = year - 1
    return 365 * past + past // 4 - past // 100 + past // 400 + before - 719_162


def _clock(hours: str, minutes: str, seconds: str | None, digits: str | None) -> int | None:
    if int(hours) > 23 or int(minutes) > 59 or int(seconds or 0) > 59:
        return None
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
    return whole * _SECOND + int((digits or "").ljust(9, "0"))


def _offset(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return (minutes if zone[0] == "+" else -minutes) * 60 * _SECOND
