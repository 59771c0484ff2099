"""Estimates of how many people satisfy conditions, if the people of a group are spread evenly over its sub-domains.

Intervals are measured on a grid of whole numbers: multiples of the finest decimal place of the column, or days. The
values of a set have equal weight. An interval without a lower or upper end is closed at the end of the other intervals,
or given their median width if it lies beyond them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from shoal.republication.column_predicate import ColumnPredicate, find_position, intersect, is_empty
from shoal.verification.published_columns import ReadColumn
from shoal.verification.scales import Position
from shoal.verification.sub_domains import AnyOf, Between, Everything, Listed, Masked, Span, SubDomain

_DAY, _SECOND = 86_400 * 10**9, 10**9
_FINEST = 12
"""Largest number of decimal places of the grid; further places are ignored."""


class UniformEstimator:
    """Estimator of the share of a cell's sub-domain that satisfies conditions.

    Parameters
    ----------
    column : ReadColumn
        The published column.
    domain : SubDomain, optional
        The values that a star stands for. By default the range of all other cells.
    """

    def __init__(self, column: ReadColumn, domain: SubDomain | None) -> None:
        self._column = column
        # All values and intervals that cells or the domain show.
        parts = [*_flatten(column.sub_domains), *_flatten([] if domain is None else [domain])]
        texts = [text for one in parts if isinstance(one, Listed) for text in one.texts if text is not None]
        self._texts = tuple(dict.fromkeys(texts))
        spans = [one for one in parts if isinstance(one, Span)]
        ends = [end for one in spans for end in (one.low, one.high) if end is not None]
        points = [place for text in self._texts if (place := column.position_of(text)) is not None]
        # Grid, overall range, and median width of the intervals.
        self._unit = _choose_unit(column, [*points, *ends])
        self._reach = Span(low=min([*points, *ends]), high=max([*points, *ends])) if points or ends else None
        widths = [one.high - one.low for one in spans if one.low is not None and one.high is not None]
        self._width = sorted(widths)[len(widths) // 2] if widths else self._unit
        self._whole = self._find_domain() if domain is None else domain

    def _find_domain(self) -> SubDomain:
        """Determine the domain of a star from the other cells: their range if all are on a scale, else their values."""
        measured = self._reach is not None and all(self._column.position_of(text) is not None for text in self._texts)
        return self._reach if measured and self._reach is not None else Listed(texts=self._texts)

    def estimate_share(self, label: str | None, asked: ColumnPredicate) -> float:
        """Estimate the share of a cell's sub-domain that satisfies all conditions."""
        return self._estimate(self._column.sub_domain(label), asked)

    def _estimate(self, found: SubDomain, asked: ColumnPredicate) -> float:
        """Estimate the share of a sub-domain that satisfies all conditions."""
        # A star has the share of the domain, and a union the mean share of its parts.
        if isinstance(found, Everything):
            return 0.0 if isinstance(self._whole, Everything) else self._estimate(self._whole, asked)
        if isinstance(found, AnyOf):
            shares = [self._estimate(part, asked) for part in found.parts]
            return sum(shares) / len(shares)
        # Codes are prefixes of longer ones; intervals are measured; other sub-domains are counted.
        if self._column.meaning.kind in ("prefix", "three-digit-zip"):
            return _estimate_codes(found, asked, self._column)
        if isinstance(found, Span):
            return self._estimate_span(found, asked)
        texts = found.texts if isinstance(found, Listed) else self._list_known(found)
        if not texts:
            return 0.0
        return sum(all(condition.holds(text) for condition in asked.conditions) for text in texts) / len(texts)

    def _list_known(self, found: Masked | Between) -> tuple[str | None, ...]:
        """List the known values that match a mask or lie between two names; all known values if none matches the mask.

        Names are in alphabetical order unless another order is declared.
        """
        # Names between two names, in alphabetical order.
        if isinstance(found, Between):
            ends = [end.texts for end in (found.low, found.high) if isinstance(end, Listed)]
            names = [text for texts in ends for text in texts if text is not None]
            return tuple(text for text in self._texts if names and min(names) <= text <= max(names))
        # Texts that are no longer than the mask and agree with its characters.
        fixed = found.text.rstrip(found.star)
        known = [
            text for text in self._texts if len(text) <= len(found.text) and _matches_mask(fixed, text, found.star)
        ]
        return tuple(known) or self._texts

    def _estimate_span(self, found: Span, asked: ColumnPredicate) -> float:
        """Estimate the share of an interval: its grid points that satisfy all conditions."""
        cell = self._close_span(found)
        size = self._count_points(cell)
        if size <= 0:
            return 0.0
        # The grid points that lie within all ranges.
        both = intersect(cell, asked.span)
        if is_empty(both):
            return 0.0
        # Listed values are grid points of their own; excluded ones are subtracted.
        if asked.wanted is not None:
            return len(self._select_on_grid(asked.wanted, both)) / size
        return max(self._count_points(both) - len(self._select_on_grid(asked.excluded, both)), 0) / size

    def _select_on_grid(self, texts: Iterable[str], within: Span) -> set[Position]:
        """Select the positions of values that lie on the grid and within a span."""
        places = {place for text in texts if (place := find_position(self._column, text)) is not None}
        return {
            place
            for place in places
            if Fraction(place) % self._unit == 0 and not is_empty(intersect(within, Span(low=place, high=place)))
        }

    def _close_span(self, span: Span) -> Span:
        """Close a span that has no lower or no upper end."""
        low, high = span.low, span.high
        # An interval without ends has the range of the column.
        if low is None and high is None:
            return self._reach or Span(low=0, high=0)
        # A missing end is the end of the range, or one median width away.
        if low is None and high is not None:
            least = high if self._reach is None or self._reach.low is None else self._reach.low
            low = least if least < high else high - self._width
        if high is None and low is not None:
            most = low if self._reach is None or self._reach.high is None else self._reach.high
            high = most if most > low else low + self._width
        return replace(span, low=low, high=high)

    def _count_points(self, span: Span) -> int:
        """Count the grid points of a span."""
        if span.low is None or span.high is None:
            return 0
        # Ends that are excluded do not count, even if they lie on the grid.
        low, high = Fraction(span.low) / self._unit, Fraction(span.high) / self._unit
        first = math.ceil(low) if span.low_included else math.floor(low) + 1
        last = math.floor(high) if span.high_included else math.ceil(high) - 1
        return last - first + 1


def _flatten(found: Iterable[SubDomain]) -> Iterable[SubDomain]:
    """Yield the parts of unions and of intervals between names."""
    for one in found:
        if isinstance(one, AnyOf):
            yield from _flatten(one.parts)
        elif isinstance(one, Between):
            yield from _flatten(end for end in (one.low, one.high) if end is not None)
            yield one
        else:
            yield one


def _choose_unit(column: ReadColumn, places: Iterable[Position]) -> Fraction:
    """Choose the distance between neighbouring grid points: a day, a second, or a power of ten."""
    if column.scale in ("date", "time"):
        return Fraction(_DAY if column.scale == "date" and all(place % _DAY == 0 for place in places) else _SECOND)
    # The fewest decimal places that represent all positions.
    digits = 0
    if not column.meaning.converts:
        while digits < _FINEST and any((Fraction(place) * 10**digits).denominator != 1 for place in places):
            digits += 1
    return Fraction(1, 10 ** (digits if digits < _FINEST else 0))


def _estimate_codes(found: SubDomain, asked: ColumnPredicate, column: ReadColumn) -> float:
    """Estimate the share of the codes with a prefix that are requested, if all codes are digits of the same length."""
    if asked.wanted is None:
        return 0.5 if column.meaning.kind else 0.0
    # A prefix of n digits covers 10 ** (length - n) codes, each with the same weight.
    kept = int(column.meaning.facts.get("n", 3))
    return sum(10.0 ** -max(len(text) - kept, 0) for text in asked.wanted)


def _matches_mask(fixed: str, text: str, star: str) -> bool:
    """Check whether a text matches a mask, in which a star stands for any character."""
    if len(text) < len(fixed):
        return False
    return all(one in (star, other) for one, other in zip(fixed, text, strict=False))
