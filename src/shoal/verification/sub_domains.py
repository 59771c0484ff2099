"""Sub-domains: the sets of values that cells stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from shoal.verification.scales import Position


@dataclass(frozen=True, kw_only=True)
class Everything:
    """Every value of the column."""

    missing: bool = True
    """Whether a missing value is included, as under a star."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """Individual values."""

    texts: tuple[str | None, ...]
    """The values as text; None is a missing value. Numbers are compared by size, not by spelling."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """All numbers (or dates, or times) between two positions."""

    low: Position | None
    """The lower end; None if open."""
    high: Position | None
    """The upper end; None if open."""
    low_included: bool = True
    high_included: bool = True


@dataclass(frozen=True, kw_only=True)
class Between:
    """All values between two sub-domains in an order that cells do not determine, as in declared categories."""

    low: SubDomain | None
    high: SubDomain | None
    low_included: bool = True
    high_included: bool = True


@dataclass(frozen=True, kw_only=True)
class Masked:
    """All values with given characters in given positions."""

    text: str
    """The characters, and a star in each position of any character; stars at the end may stand for none."""
    star: str


@dataclass(frozen=True, kw_only=True)
class AnyOf:
    """The values of several sub-domains."""

    parts: tuple[SubDomain, ...]


SubDomain: TypeAlias = Everything | Listed | Span | Between | Masked | AnyOf


def hull(low: Span | None, high: Span | None, *, low_included: bool = True, high_included: bool = True) -> Span:
    """Compute the span from the start of one span to the end of another.

    Parameters
    ----------
    low, high : Span, optional
        The ends of an interval: single positions, or spans as in `["[20, 30)", "[30, 40)"]`.
    low_included, high_included : bool
        Whether an end that is a single position belongs to the interval. An end that is a span always does.
    """
    alone_low = low is not None and low.low is not None and low.low == low.high
    alone_high = high is not None and high.low is not None and high.low == high.high
    return Span(
        low=None if low is None else low.low,
        high=None if high is None else high.high,
        low_included=low_included if alone_low else low is None or low.low_included,
        high_included=high_included if alone_high else high is None or high.high_included,
    )
