"""Parsing of lists of names, numbers and values by column, in the syntax of options and spec files."""

from __future__ import annotations

import csv
import datetime as dt
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from shoal._core.quoting import assigned, listed_names
from shoal._core.validation import number_in
from shoal.errors import UsageError

_LIMIT = "--limit"
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_REPLACE = "--replace"
_DERIVE = "--derive"
KINDS = {
    "prefix": "prefix:3",
    "bins": "bins:10",
    "cuts": "cuts:18,30,65",
    "quantiles": "quantiles:4",
    "date": "date:year",
    "level": "level:FILE:2",
    "round": "round:5",
    "top": "top:90",
    "bottom": "bottom:18",
    "ends": "ends:18:90",
    "labels": "labels:50",
    "ordered": "ordered:50",
    "points": "points:50",
    "regions": "regions:EDGES.csv:50",
    "since": "since:first",
    "zip3": "zip3",
    "any": "any",
}
"""Every kind of coarsening with a text form, and an example."""


def names_in(option: str, values: Sequence[str] | None) -> tuple[str, ...] | None:
    """Parse the names listed by an option as lines of CSV; None if it is not given.

    Examples
    --------
    >>> names_in("--qi", ['age, "last, first"', "zip"])
    ('age', 'last, first', 'zip')
    """
    if not values:
        return None
    # Quotes protect commas within names, as in CSV.
    names: list[str] = []
    for line in values:
        try:
            names.extend(*csv.reader([line], skipinitialspace=True, strict=True))
        except (csv.Error, TypeError) as error:
            raise UsageError(f"Invalid value for {option}: the quotes do not match.") from error
    if "" in names:
        raise UsageError(f"Invalid value for {option}: a name is empty.")
    return tuple(names)


def set_texts(sets: Sequence[str | Sequence[str]]) -> tuple[str, ...]:
    """Write sets of quasi-identifiers as texts, a line of CSV each, with its own k at the end if it has one.

    Examples
    --------
    >>> set_texts([["age", "zip"], "job,region:10"])
    ('age,zip', 'job,region:10')
    """
    return tuple(one if isinstance(one, str) else listed_names(one) for one in sets)


def read_set(text: str) -> tuple[tuple[str, ...], int | None]:
    """Parse a set of quasi-identifiers: its columns, and its own k or None.

    Examples
    --------
    >>> read_set("age,zip:10"), read_set("age,zip")
    ((('age', 'zip'), 10), (('age', 'zip'), None))
    """
    found = re.fullmatch(r"(.*):([1-9][0-9]*)", text, re.DOTALL)
    # A name in quotes may end like this.
    if found is None or found[1].count('"') % 2:
        return names_in("qi_sets", [text]) or (), None
    return names_in("qi_sets", [found[1]]) or (), int(found[2])


def columns_of_sets(texts: Sequence[str]) -> tuple[str, ...]:
    """Collect the columns of sets of quasi-identifiers, in the order of their first occurrence.

    Examples
    --------
    >>> columns_of_sets(["age,zip:10", "age,job"])
    ('age', 'zip', 'job')
    """
    return tuple(dict.fromkeys(name for text in texts for name in read_set(text)[0]))


def with_columns_of_sets(options: Mapping[str, Any]) -> dict[str, Any]:
    """Add the columns of the sets of options as quasi-identifiers if nothing else names these."""
    named = columns_of_sets(set_texts(options.get("qi_sets") or ()))
    return {**({"quasi_identifiers": named} if named else {}), **options}


def as_number(option: str, given: float | str) -> int | float | Fraction:
    """Parse a number: an integer, a decimal, or a fraction such as 1/3.

    Examples
    --------
    >>> as_number("-l", "4"), as_number("--alpha", "0.25"), as_number("--alpha", "1/3")
    (4, 0.25, Fraction(1, 3))
    """
    number = number_in(given) if isinstance(given, str) else given
    if isinstance(number, str):
        raise UsageError(f"Invalid value for {option}: '{given}' is not a number.")
    return number


def as_whole_number(option: str, given: str) -> int:
    """Parse a whole number."""
    if not re.fullmatch(r"-?[0-9]+", given):
        raise UsageError(f"{option} must be a whole number.")
    return int(given)


def as_switch(option: str, given: str) -> bool:
    """Parse `true` or `false`."""
    if given not in ("true", "false"):
        raise UsageError(f"{option} must be true or false.")
    return given == "true"


def named_values(option: str, text: str, example: str, *, several: bool = True) -> dict[str, str]:
    """Parse `NAME=VALUE`, or several separated by commas; a value may have commas of its own.

    Examples
    --------
    >>> named_values("--levels", "k=3,5, l=2", "k=3,5")
    {'k': '3,5', 'l': '2'}
    """
    parts = re.split(r",(?=\s*\w+=)", text) if several else [text]
    found = {name.strip(): value.strip() for name, equals, value in (part.partition("=") for part in parts) if equals}
    if len(found) < len(parts) or "" in found:
        raise UsageError(f"{option} has the form NAME=VALUE, such as {option} {example}.")
    return found


_NAME = r'"(?:[^"]|"")*"'
"""A name in quotes."""


def column_and_words(name: str, words: str, *, listed: bool = False) -> str:
    """Write `NAME=VALUE` as `columns_and_words` parses it: names with an equals sign or quotes stand in quotes.

    Examples
    --------
    >>> column_and_words("age", "bins:10"), column_and_words("x=y", "bins:10")
    ('age=bins:10', '"x=y"=bins:10')
    """
    names = names_in("NAME=VALUE", [name]) or () if listed else (name,)
    return assigned(names, words, listed=listed)


def columns_and_words(option: str, given: Sequence[str] | None, *, listed: bool = False) -> dict[str, str] | None:
    """Parse `NAME=VALUE` for each column; None if nothing is given.

    The name ends at the first equals sign that is not in quotes. If names are lists, `listed`, they keep their quotes.

    Examples
    --------
    >>> columns_and_words("--coarsen", ["zip=prefix:3", '"x=y"=bins:10'])
    {'zip': 'prefix:3', 'x=y': 'bins:10'}
    """
    if not given:
        return None
    values: dict[str, str] = {}
    # Repetitions of a column are errors, because only one could take effect.
    for entry in given:
        found = re.match(rf"((?:{_NAME}|[^\"=])*)=", entry)
        name, equals, words = (found[1], "=", entry[found.end() :]) if found else entry.partition("=")
        if not listed and re.fullmatch(_NAME, name):
            name = name[1:-1].replace('""', '"')
        if not equals or not name or not words:
            raise UsageError(f"{option} takes a column and a value, NAME=VALUE. Got {entry!r}.")
        if name in values:
            raise UsageError(f"{option} names the column '{name}' twice.")
        values[name] = words
    return values


def replacements_in(words: str) -> dict[str, str | None]:
    """Parse replacements of values, `OLD,OLD:NEW;OLD:NEW`; without a new value the old ones are missing.

    A value with a comma, colon or semicolon stands in double quotes.

    Examples
    --------
    >>> replacements_in("W, weiblich:w;99:"), replacements_in('"12:30":noon')
    ({'W': 'w', 'weiblich': 'w', '99': None}, {'12:30': 'noon'})
    """
    found: dict[str, str | None] = {}
    for group in _split(words, ";"):
        olds, *news = _split(group, ":")
        if len(news) != 1 or len(new := _split(news[0], ",")) > 1:
            raise UsageError(f"{_REPLACE} takes a column and values, NAME=OLD,OLD:NEW. Got {words!r}.")
        for old in _split(olds, ","):
            if not _unquoted(old):
                raise UsageError(f"{_REPLACE} takes a column and values, NAME=OLD,OLD:NEW. Got {words!r}.")
            found[_unquoted(old)] = _unquoted(new[0]) or None
    return found


def _split(text: str, separator: str) -> list[str]:
    """Split a text at a separator that is not in double quotes."""
    return re.split(rf'{separator}(?=(?:[^"]*"[^"]*")*[^"]*\Z)', text)


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1].replace('""', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text


def replacement_text(given: Mapping[str, str | None]) -> str:
    """Write replacements of values as `replacements_in` parses them.

    Examples
    --------
    >>> replacement_text({"W": "w", "weiblich": "w", "99": None, "12:30": "noon"})
    'W,weiblich:w;99:;"12:30":noon'
    """
    # Old values with the same new one stand together.
    groups: dict[str | None, list[str]] = {}
    for old, new in given.items():
        groups.setdefault(new, []).append(_quoted(old))
    return ";".join(f"{','.join(olds)}:{'' if new is None else _quoted(new)}" for new, olds in groups.items())


def _quoted(text: str) -> str:
    plain = text == text.strip() and not set(text) & set(',:;"')
    return text if plain else '"' + text.replace('"', '""') + '"'


def derivation_in(words: str) -> tuple[str, str, str | dt.date, str | None]:
    """Parse the derivation of a column: "years" or "days", from a column, to a date or a column, and a date format.

    Examples
    --------
    >>> derivation_in("days:Admitted:Discharged")
    ('days', 'Admitted', 'Discharged', None)
    >>> derivation_in("years:Born:2025-12-31:%d/%m/%Y")
    ('years', 'Born', datetime.date(2025, 12, 31), '%d/%m/%Y')
    """
    # The format, at the end, may have colons of its own.
    unit, *parts = _split(words, ":")
    columns = [_unquoted(part) for part in parts[:2]]
    end: str | dt.date | None = columns[1] if len(columns) == 2 else None
    # A column whose name is a date stands in quotes.
    if end and _DATE.fullmatch(parts[1].strip()):
        try:
            end = dt.date.fromisoformat(parts[1].strip())
        except ValueError:
            end = None
    if unit not in ("years", "days") or not columns[0] or not end:
        raise UsageError(
            f"{_DERIVE} takes a new column and how it is derived, NAME=years:COLUMN:END or NAME=days:COLUMN:END; END "
            f"is a date such as 2025-12-31, or a column. Got {words!r}."
        )
    return unit, columns[0], end, ":".join(parts[2:]) or None


def derivation_text(unit: str, begin: str, end: str | dt.date, form: str | None = None) -> str:
    """Write the derivation of a column as `derivation_in` parses it.

    Examples
    --------
    >>> derivation_text("years", "Born: day", dt.date(2025, 12, 31))
    'years:"Born: day":2025-12-31'
    """
    # A column that is named like a date is quoted, which a date never is.
    until = str(end) if isinstance(end, dt.date) else f'"{end}"' if _DATE.fullmatch(end) else _quoted(end)
    return ":".join([unit, _quoted(begin), until, *([form] if form else [])])


def with_formats(given: Mapping[str, str] | None, dates: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """Add the declared format of the first column to derivations that have none."""
    if not given or not dates:
        return given
    # A format in the derivation itself is preferred.
    parts = {name: derivation_in(words) for name, words in given.items()}
    return {name: derivation_text(*one[:3], one[3] or dates.get(one[1])) for name, one in parts.items()}


def levels_in(words: str) -> tuple[int, int]:
    """Parse the lowest and the highest level of a column, such as `1:3`."""
    levels = re.fullmatch(r"([0-9]{1,9}):([0-9]{1,9})", words)
    if levels is None:
        raise UsageError(f"{_LIMIT} takes a column and two levels, NAME=LOW:HIGH, such as age=1:3. Got {words!r}.")
    return int(levels[1]), int(levels[2])
