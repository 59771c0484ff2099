"""Ages and durations by walking the calendar day by day."""

from __future__ import annotations

import datetime as dt

__all__ = ["days_by_walking", "years_by_walking"]


def days_by_walking(begin: dt.date | None, end: dt.date | None) -> int | None:
    """Count the days; None if a date is missing, or the end is first."""
    if begin is None or end is None or end < begin:
        return None
    day, days = begin, 0
    while day < end:
        day, days = day + dt.timedelta(days=1), days + 1
    return days


def years_by_walking(begin: dt.date | None, end: dt.date | None) -> int | None:
    """Count the anniversaries until a date; that of 29 February is the day after 28 February."""
    if begin is None or end is None or end < begin:
        return None
    years = 0
    while True:
        try:
            anniversary = begin.replace(year=begin.year + years + 1)
        except ValueError:
            anniversary = dt.date(begin.year + years + 1, 3, 1)
        if anniversary > end:
            return years
        years += 1
