"""The notations in which published tables, from any source, write the values that a cell stands for.

A cell has one of these forms:

* `*` (or another star symbol): any value, including a missing one;
* `[21, 25]`: the values from 21 to 25. `(21, 25]` and `]21, 25]` exclude 21, `[21, 25)` and `[21, 25[` exclude 25.
  An end may be a cell itself: `["[20, 30)", "[30, 40)"]` reaches from 20 to 40;
* `<4`, `<=4`, `>65`, `>=65`: the values on one side;
* `{a, b}`: one of the listed values (or cells). A value with a comma, a quote, a bracket or a brace, or with a blank at
  an end, is written in double quotes;
* `476**`: every value with this beginning and at most this number of characters;
* `20-29`, `20..29`, `20 - 29` (with a dash of any length): both ends are included; `65+`: 65 and above (`loose_cell`);
* any other text, or a missing cell: this value alone.

A single cell does not determine what a value is, such as a number, a date, a prefix or a class: this depends on the
column (see `published_columns`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import polars as pl

from shoal.verification.scales import moment_of, number_of, period_of

BLANKS = " \t\r\n"
"""Characters that may surround a value in an interval or a set without being a part of it."""
INTERVAL = r'^([\[\](])[ \t\r\n]*([^,"\[\]{}]*?)[ \t\r\n]*,[ \t\r\n]*([^,"\[\]{}]*?)[ \t\r\n]*([\])\[])$'
"""An interval whose ends need no quotes."""
SET = r'^\{[^"\[\]{}]+\}$'
"""A set whose members need no quotes."""

_ATOM = r'"((?:[^"\\]|\\(?s:.))*)"|([^,"\[\]{}]*)'
_INTERVAL = re.compile(rf"([\[\](])[ \t\r\n]*(?:{_ATOM})[ \t\r\n]*,[ \t\r\n]*(?:{_ATOM})[ \t\r\n]*([\])\[])")
_MEMBER = re.compile(rf"[ \t\r\n]*(?:{_ATOM})[ \t\r\n]*(,|\Z)")
_SIDE = re.compile(r"(<=|>=|<|>|≤|≥)[ \t]*(\S(?:.*\S)?)")
_DIGITS = r"-?[0-9]+(?:\.[0-9]+)?"
_RANGE = re.compile(rf"({_DIGITS})[ \t]*(?:-|\u2013|\u2014|\.\.\.?)[ \t]*({_DIGITS})")
_ABOVE = re.compile(rf"({_DIGITS})[ \t]*\+")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The form of one published cell."""

    kind: Literal["value", "interval", "set", "mask", "star"]
    """The form of the cell."""
    atoms: tuple[str | None, ...] = ()
    """The value (None if missing), the two ends (None if open), the members, or the mask."""
    low_included: bool = True
    """Whether the lower end of an interval belongs to it."""
    high_included: bool = True
    """Whether the upper end does."""


def read_cell(text: str | None, star: str = "*") -> Cell:
    """Read a cell whose form leaves no doubt, and take any other for a value.

    Examples
    --------
    >>> read_cell("[21, 25)").atoms
    ('21', '25')
    >>> read_cell('{flu, "cough, dry"}').atoms
    ('flu', 'cough, dry')
    >>> read_cell("476**").kind, read_cell(">=65").atoms
    ('mask', ('65', None))
    """
    if text is None:
        return Cell(kind="value", atoms=(None,))
    if text == star:
        return Cell(kind="star")
    found = _INTERVAL.fullmatch(text)
    if found is not None:
        opening, quoted_low, low, quoted_high, high, closing = found.groups()
        return Cell(
            kind="interval",
            atoms=(_atom(quoted_low, low), _atom(quoted_high, high)),
            low_included=opening == "[",
            high_included=closing == "]",
        )
    if len(text) > 2 and text[0] == "{" and text[-1] == "}":
        members = _members(text[1:-1])
        if members is not None:
            return Cell(kind="set", atoms=members)
    # A sign makes an interval only in front of a number or a date.
    found = _SIDE.fullmatch(text)
    if found is not None and _has_a_place(found[2]):
        return _one_side(found[1], found[2])
    # Stars alone suppress the cell, stars among other characters mask it.
    if star in text:
        return Cell(kind="star") if set(text) == {star} else Cell(kind="mask", atoms=(text,))
    return Cell(kind="value", atoms=(text,))


def loose_cell(text: str) -> Cell | None:
    """Parse a form that may as well be a value: `20-29`, `20..29`, `65+`; None if the text has none of them.

    Examples
    --------
    >>> loose_cell("20-29").atoms, loose_cell("90+").atoms, loose_cell("29-20")
    (('20', '29'), ('90', None), None)
    """
    found = _RANGE.fullmatch(text)
    if found is not None:
        low, high = number_of(found[1]), number_of(found[2])
        if low is None or high is None or low > high:
            return None
        return Cell(kind="interval", atoms=(found[1], found[2]))
    found = _ABOVE.fullmatch(text)
    return None if found is None else Cell(kind="interval", atoms=(found[1], None))


def _one_side(sign: str, end: str) -> Cell:
    included = sign not in ("<", ">")
    if sign in ("<", "<=", "≤"):
        return Cell(kind="interval", atoms=(None, end), high_included=included)
    return Cell(kind="interval", atoms=(end, None), low_included=included)


def _has_a_place(text: str) -> bool:
    return number_of(text) is not None or moment_of(text) is not None or period_of(text) is not None


def _atom(quoted: str | None, plain: str | None) -> str:
    return re.sub(r"(?s)\\(.)", r"\1", quoted) if quoted is not None else (plain or "").strip(BLANKS)


def _members(text: str) -> tuple[str, ...] | None:
    # Members are matched one after another, because quoted ones may contain commas.
    members, at = [], 0
    while True:
        found = _MEMBER.match(text, at)
        if found is None:
            return None
        members.append(_atom(found[1], found[2]))
        if not found[3]:
            return tuple(members)
        at = found.end()


def cell_text(column: pl.Series) -> pl.Series:
    """Convert cells to text as a release writes them: whole floats like integers, NaN as missing."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
        # A column of whole floats is written without fractions, but only if all of it is.
        whole = ((column == column.floor()) & (column.abs() < 2**53)).fill_null(value=True)
        return column.cast(pl.Int64).cast(pl.String) if whole.all() else column.cast(pl.String)
    if column.dtype == pl.Boolean:
        return column.replace_strict([False, True], ["False", "True"], default=None, return_dtype=pl.String)
    return column.cast(pl.String)
