"""Format numbers and enumerations for readers, in all sentences of shoal."""

from __future__ import annotations

import re
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ALL_COLUMNS = "*"
"""The name that stands for all columns in replacements; those of a column itself take precedence."""

_NO_BREAK = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
"""Spaces that do not break the line; they are seen, although they do not count as printable."""


_IGNORABLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Characters that Python counts as printable, and that are not seen (Default_Ignorable_Code_Point of Unicode)."""


def number(value: object) -> str:
    """Format a number with separators of thousands and four significant digits.

    Examples
    --------
    >>> number(600000), number(4.0), number(0.31415926), number(None)
    ('600,000', '4', '0.3142', 'not known')
    """
    if value is None:
        return "not known"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    # Integers are shown in full, also if they are floats.
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def factor(value: float) -> str:
    """Format an upper bound of a ratio, rounded up to three decimals.

    Examples
    --------
    >>> factor(1.0362), factor(2.0), factor(12)
    ('1.037', '2', '12')
    """
    return number(ceil(round(value * 1000, 6)) / 1000)


def percent(share: float) -> str:
    """Format a share between 0 and 1 as a percentage; only exact values are shown as 0% or 100%.

    Examples
    --------
    >>> percent(0.25), percent(0.00001), percent(0.99999), percent(1)
    ('25%', '<0.1%', '>99.9%', '100%')
    """
    # A rare event must not look impossible, nor a frequent one certain.
    if 0 < share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1:
        return ">99.9%"
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


_WORDS = ("and", "or")
"""The words before the last name of a list."""


def listed(names: Sequence[str], word: str = "and") -> str:
    """Format names as a list in a sentence, with "and" or "or" before the last one.

    Examples
    --------
    >>> listed(["age", "gender", "zip"])
    'age, gender and zip'
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def quote(name: object) -> str:
    """Put a name or a value in quotation marks.

    Examples
    --------
    >>> quote("age")
    "'age'"
    """
    return f"'{name}'"


_NAMED = 5
"""Largest number of columns that a sentence names."""


def quote_columns(names: Sequence[str]) -> str:
    """Format names of columns for a sentence; of many, only the first ones."""
    quoted = [quote(name) for name in names]
    # The rest is counted.
    if len(quoted) > _NAMED:
        more = "more columns"
        return listed([*quoted[: _NAMED - 1], f"{number(len(quoted) - _NAMED + 1)} {more}"])
    return listed(quoted)


def visible(text: object) -> str:
    r"""Escape invisible characters and marks that change the direction of text.

    Examples
    --------
    >>> visible("age\u202e\x00")
    'age\\u202e\\x00'
    >>> visible("3,8\N{NO-BREAK SPACE}%") == "3,8\N{NO-BREAK SPACE}%"
    True
    """
    text = str(text)
    if is_visible(text):
        return text
    return "".join(
        one if is_visible(one) or one in _NO_BREAK else one.encode("unicode_escape").decode() for one in text
    )


def is_visible(text: str) -> bool:
    """Check that all characters of a text are seen by readers: no control, format or ignorable characters."""
    return text.isprintable() and _IGNORABLE.search(text) is None
