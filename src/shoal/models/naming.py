"""Look up the values of a column among values named by the user, in a file or in a list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMBER = re.compile(r"[-+]?[0-9]{1,100}(\.[0-9]{1,100})?([eE][-+]?[0-9]{1,3})?")


def places_of(values: Sequence[Any], names: Sequence[Any]) -> NDArray[np.int64]:
    """Return the position of each value among the names, or -1 if it is not named.

    Text is matched literally. A number is matched by size, so that "3" and "3.0" both name 3. A date is matched by its
    ISO form, and a missing value by None or an empty name.

    Parameters
    ----------
    values : sequence
        Values of a column: text, numbers (as fractions), dates, booleans, None.
    names : sequence
        The same kinds of values, or their text in a file.

    Examples
    --------
    >>> places_of(["flu", Fraction(3), None, "cold"], ["3.0", "flu", ""]).tolist()
    [1, 0, 2, -1]
    """
    # The first of several equal names wins.
    by_text: dict[str | None, int] = {}
    by_size: dict[Fraction, int] = {}
    for place, name in enumerate(names):
        text = _spellings(name)[0]
        by_text.setdefault(text, place)
        if text is not None and _NUMBER.fullmatch(text):
            by_size.setdefault(Fraction(text), place)

    def find(value: Any) -> int:
        # Exact numbers never match by their spelling.
        if isinstance(value, Fraction):
            return by_size.get(value, -1)
        return next((by_text[text] for text in _spellings(value) if text in by_text), -1)

    return np.array([find(value) for value in values], dtype=np.int64)


def find_repeated(names: Sequence[Any]) -> tuple[int, int] | None:
    """Return the positions (from 1) of two equal names, or None if all names are distinct."""
    seen: dict[str | None, int] = {}
    for place, name in enumerate(names, start=1):
        first = seen.setdefault(_spellings(name)[0], place)
        if first != place:
            return first, place
    return None


def _spellings(value: Any) -> tuple[str | None, ...]:
    """List the possible spellings of a value, starting with the one used in a release."""
    if value is None:
        return None, ""
    if isinstance(value, bool | np.bool_):
        return ("true", "True", "TRUE") if value else ("false", "False", "FALSE")
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds"), value.isoformat(), value.isoformat(" ")
    if isinstance(value, date):
        return (value.isoformat(),)
    if isinstance(value, Number):
        return (str(value.item() if isinstance(value, np.generic) else value),)
    return (str(value),)
