"""Where the intervals begin and end that a coarsening made of numbers or dates, and the one interval over several.

A coarse value is written `[20, 30)`, `[21, 25]`, `<18`, `>=65`, or as the one number or date that it is. Several of
them become one interval from the least lower end to the greatest upper end, whichever of them reaches further:
`[57, 91]`, `[60, 94]` and `[83, 89]` become `[57, 94]`, `<18` and `[18, 65)` become `<65`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["IntervalEnds", "interval_ends"]

_INTERVAL = re.compile(r"\[([^\[\]{}(),\"]+), ([^\[\]{}(),\"]+)([\])])")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class IntervalEnds:
    """The two ends of each value of a column, and how they are written.

    An end that belongs to its interval and one that does not have different ranks, so comparing ranks is enough.
    """

    low: NDArray[np.int32]
    """Rank of each value's lower end among all lower ends."""
    high: NDArray[np.int32]
    """Rank of each value's upper end among all upper ends."""
    lows: tuple[str | None, ...]
    """How each lower end is written; None where there is none. All belong to their intervals."""
    highs: tuple[tuple[str | None, bool], ...]
    """How each upper end is written, None where there is none, and whether it belongs to its intervals."""

    def written(self, low: int, high: int) -> str | None:
        """Return how the interval between two ends is written; None where it has none, and so is everything."""
        first, (last, included) = self.lows[low], self.highs[high]
        if first is None:
            return None if last is None else f"{'<=' if included else '<'}{last}"
        if last is None:
            return f">={first}"
        return f"[{first}, {last}{']' if included else ')'}"


def interval_ends(values: pl.Series) -> IntervalEnds | None:
    """Return where intervals begin and end; None where some value is no interval between numbers or between dates.

    Parameters
    ----------
    values : polars.Series
        How the values are written, each once; a missing one is left out.

    Examples
    --------
    >>> import polars as pl
    >>> ends = interval_ends(pl.Series(["[57, 91]", "[60, 94]", "[83, 89]"]))
    >>> ends.written(ends.low.min(), ends.high.max())
    '[57, 94]'
    """
    ends = [_ends(value) for value in values.to_list()]
    written = [text for low, high, _ in ends for text in (low, high) if text is not None]
    places = _places(written)
    if places is None:
        return None
    # What has no end lies before the first, or behind the last.
    lows = [(low is not None, 0 if low is None else places[low]) for low, _, _ in ends]
    highs = [(high is None, 0 if high is None else places[high], included) for _, high, included in ends]
    low_of = {key: rank for rank, key in enumerate(sorted(set(lows)))}
    high_of = {key: rank for rank, key in enumerate(sorted(set(highs)))}
    # Of ends that are equal and written in several ways the first one.
    first_low = {key: low for key, (low, _, _) in zip(lows[::-1], ends[::-1], strict=True)}
    first_high = {key: (high, included) for key, (_, high, included) in zip(highs[::-1], ends[::-1], strict=True)}
    return IntervalEnds(
        low=np.array([low_of[key] for key in lows], dtype=np.int32),
        high=np.array([high_of[key] for key in highs], dtype=np.int32),
        lows=tuple(first_low[key] for key in low_of),
        highs=tuple(first_high[key] for key in high_of),
    )


def _ends(value: str) -> tuple[str | None, str | None, bool]:
    """Return the lower end, the upper one, and whether that belongs to the interval."""
    if value.startswith("<"):
        return None, value[1:], False
    if value.startswith(">="):
        return value[2:], None, False
    found = _INTERVAL.fullmatch(value)
    return (value, value, True) if found is None else (found[1], found[2], found[3] == "]")


def _places(written: Sequence[str]) -> dict[str, Fraction] | dict[str, int] | None:
    """Return where ends lie: all of them numbers, or all of them dates."""
    try:
        return {text: Fraction(text) for text in written}
    except (ValueError, ZeroDivisionError):
        pass
    try:
        return {text: date.fromisoformat(text).toordinal() for text in written}
    except ValueError:
        return None
