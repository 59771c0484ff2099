"""Ends of intervals that a coarsening created from numbers or dates, and the hull of several intervals.

A coarse value has the form `[20, 30)`, `[21, 25]`, `<18` or `>=65`, or it is a single number or date. The hull of
several values extends from the smallest lower end to the largest upper end: `[57, 91]`, `[60, 94]` and `[83, 89]`
become `[57, 94]`, and `<18` and `[18, 65)` become `<65`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

_INTERVAL = re.compile(r"\[([^\[\]{}(),\"]+), ([^\[\]{}(),\"]+)([\])])")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class IntervalEnds:
    """The two ends of each value of a column, with their text.

    Open and closed ends at the same point have different ranks, so that ends can be compared by rank.
    """

    low: NDArray[np.int32]
    """Rank of each value's lower end among all lower ends."""
    high: NDArray[np.int32]
    """Rank of each value's upper end among all upper ends."""
    lows: tuple[str | None, ...]
    """Text of each lower end, or None if it is unbounded. All lower ends are closed."""
    highs: tuple[tuple[str | None, bool], ...]
    """Text of each upper end, or None if it is unbounded, and whether the end is closed."""

    def format_ends(self, low: int, high: int) -> str | None:
        """Format the interval between two ends; None if it is unbounded on both sides."""
        first, (last, included) = self.lows[low], self.highs[high]
        if first is None:
            return None if last is None else f"{'<=' if included else '<'}{last}"
        if last is None:
            return f">={first}"
        return f"[{first}, {last}{']' if included else ')'}"


def interval_ends(values: pl.Series) -> IntervalEnds | None:
    """Parse the ends of intervals; None if a value is neither an interval nor a single number or date.

    Parameters
    ----------
    values : polars.Series
        Text of the distinct values, without the missing value.

    Examples
    --------
    >>> import polars as pl
    >>> ends = interval_ends(pl.Series(["[57, 91]", "[60, 94]", "[83, 89]"]))
    >>> ends.format_ends(ends.low.min(), ends.high.max())
    '[57, 94]'
    """
    ends = [_ends(value) for value in values.to_list()]
    ends_of_values = [text for low, high, _ in ends for text in (low, high) if text is not None]
    places = _places(ends_of_values)
    if places is None:
        return None
    # Sort keys: an unbounded lower end comes first, an unbounded upper end last.
    lows = [(low is not None, 0 if low is None else places[low]) for low, _, _ in ends]
    highs = [(high is None, 0 if high is None else places[high], included) for _, high, included in ends]
    low_of = {key: rank for rank, key in enumerate(sorted(set(lows)))}
    high_of = {key: rank for rank, key in enumerate(sorted(set(highs)))}
    # If equal ends have several spellings, the first one is used.
    first_low = {key: low for key, (low, _, _) in zip(lows[::-1], ends[::-1], strict=True)}
    first_high = {key: (high, included) for key, (_, high, included) in zip(highs[::-1], ends[::-1], strict=True)}
    return IntervalEnds(
        low=np.array([low_of[key] for key in lows], dtype=np.int32),
        high=np.array([high_of[key] for key in highs], dtype=np.int32),
        lows=tuple(first_low[key] for key in low_of),
        highs=tuple(first_high[key] for key in high_of),
    )


def _ends(value: str) -> tuple[str | None, str | None, bool]:
    """Parse the lower end, the upper end, and whether the upper end is closed."""
    if value.startswith("<"):
        return None, value[1:], False
    if value.startswith(">="):
        return value[2:], None, False
    found = _INTERVAL.fullmatch(value)
    return (value, value, True) if found is None else (found[1], found[2], found[3] == "]")


def _places(written: Sequence[str]) -> dict[str, Fraction] | dict[str, int] | None:
    """Parse all ends as numbers, or all of them as dates; None if neither works."""
    try:
        return {text: Fraction(text) for text in written}
    except (ValueError, ZeroDivisionError):
        pass
    try:
        return {text: date.fromisoformat(text).toordinal() for text in written}
    except ValueError:
        return None
