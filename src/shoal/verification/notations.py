"""Read numbers and dates that are not in canonical notation, as the leaves of a hierarchy are compared with values.

This shares no code with the reader of tables, whose matches are verified.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shoal.verification.scales import Position, is_plain_number, moment_of, number_of

_NUMERIC_DATE = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})")
_NAMED_DATE = re.compile(r"(?:([0-9]{1,2})\.?[ -])?([A-Za-z]{3})[a-z]*\.?(?:[ -]([0-9]{1,2}),?)?[ -]([0-9]{4})")
_YEAR_FIRST = re.compile(r"([0-9]{4})[/.]([0-9]{1,2})[/.]([0-9]{1,2})")
_WITH_TIME = re.compile(
    r"(.*?)(?:[T ]([0-9]{1,2})(:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)(?: ?([AaPp])[Mm])?"
    r"(?: ?(?:Z|[+-][0-9]{2}:?[0-9]{2}))?)?"
)
"""A day, and a time: the hours, the rest, and the half of the day; an offset from UTC is not read."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_GROUPS = {".": " \u00a0\u202f'\u2019,", ",": " \u00a0\u202f'\u2019."}
"""Decimal signs, and what may stand between thousands then."""
_WAYS = (*_GROUPS, "day", "month")
"""How a text is read: as a number with one of these signs, or as a date with this part first."""
Place = tuple[str, Position]


def ways_to_read(texts: Sequence[str]) -> list[list[Place]]:
    """Read texts as numbers with each decimal sign, and as dates with day or month first; only ways that read all.

    Examples
    --------
    >>> ways_to_read(["1.000,5", "+2e3"])
    [[('number', Fraction(2001, 2)), ('number', Fraction(2000, 1))]]
    """
    found = []
    for way in _WAYS:
        places = []
        for text in texts:
            place = _read(text, way)
            if place is None:
                break
            places.append(place)
        else:
            found.append(places)
    return found


def places_of(text: str) -> Iterator[Place]:
    """Read a text in every way."""
    return (place for way in _WAYS if (place := _read(text, way)) is not None)


def _read(text: str, way: str) -> Place | None:
    text = text.strip()
    if way in _GROUPS:
        number = text.strip("$€£% ").replace("\u2212", "-").removeprefix("+")
        grouped = re.fullmatch(rf"(-?[0-9]{{1,3}})((?:[{_GROUPS[way]}][0-9]{{3}})+)(\D.*)?", number)
        if grouped is not None:
            number = grouped[1] + re.sub("[^0-9]", "", grouped[2]) + (grouped[3] or "")
        number = re.sub(r"^(-?)\.", r"\g<1>0.", number.replace(way, "."))
        position = number_of(number) if is_plain_number(number) else None
        return None if position is None else ("number", position)
    split = _WITH_TIME.fullmatch(text)
    if split is None:
        return None
    iso, hours, minutes, half = split.groups()
    numeric, named, year_first = (one.fullmatch(iso) for one in (_NUMERIC_DATE, _NAMED_DATE, _YEAR_FIRST))
    if numeric is not None:
        day, month = (numeric[1], numeric[3]) if way == "day" else (numeric[3], numeric[1])
        iso = f"{numeric[4]}-{int(month):02}-{int(day):02}"
    elif named is not None and named[2].lower() in _MONTHS and (named[1] is None) != (named[3] is None):
        iso = f"{named[4]}-{_MONTHS.index(named[2].lower()) + 1:02}-{int(named[1] or named[3]):02}"
    elif year_first is not None:
        iso = f"{year_first[1]}-{int(year_first[2]):02}-{int(year_first[3]):02}"
    if hours is not None:
        hour = int(hours) % 12 + 12 * (half in "Pp") if half else int(hours)
        iso += f"T{hour:02}{minutes}"
    moment = moment_of(iso)
    return None if moment is None else ("date", moment)
