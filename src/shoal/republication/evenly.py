"""Estimates of how many people fulfil conditions, as if those of a group were spread evenly over its sub-domains.

Intervals are measured on a grid of whole numbers: multiples of the finest decimal that the column shows, or days. The
values that a set names count alike. An interval without an end on one side is taken to reach as far as the others do,
or as wide as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from shoal.republication.asked import common, is_empty, position_in
from shoal.verification.sub_domains import AnyOf, Between, Everything, Listed, Masked, Span, SubDomain

if TYPE_CHECKING:
    from shoal.republication.asked import Asked
    from shoal.verification.published_columns import ReadColumn
    from shoal.verification.scales import Position

__all__ = ["Evenly"]

_DAY, _SECOND = 86_400 * 10**9, 10**9
_FINEST = 12
"""Decimals beyond this do not make the grid finer."""


class Evenly:
    """The sub-domains of a column, with measures.

    Parameters
    ----------
    column : ReadColumn
        The column.
    domain : SubDomain, optional
        What a star stands for; by default all that the other cells reach.
    """

    def __init__(self, column: ReadColumn, domain: SubDomain | None) -> None:
        self._column = column
        parts = [*_parts(column.sub_domains), *_parts([] if domain is None else [domain])]
        texts = [text for one in parts if isinstance(one, Listed) for text in one.texts if text is not None]
        self._texts = tuple(dict.fromkeys(texts))
        spans = [one for one in parts if isinstance(one, Span)]
        ends = [end for one in spans for end in (one.low, one.high) if end is not None]
        points = [place for text in self._texts if (place := column.position_of(text)) is not None]
        self._unit = _unit(column, [*points, *ends])
        self._reach = Span(low=min([*points, *ends]), high=max([*points, *ends])) if points or ends else None
        widths = [one.high - one.low for one in spans if one.low is not None and one.high is not None]
        self._width = sorted(widths)[len(widths) // 2] if widths else self._unit
        self._whole = self._everything() if domain is None else domain

    def _everything(self) -> SubDomain:
        measured = self._reach is not None and all(self._column.position_of(text) is not None for text in self._texts)
        return self._reach if measured and self._reach is not None else Listed(texts=self._texts)

    def share(self, label: str | None, asked: Asked) -> float:
        """Return the share of a cell's sub-domain that fulfils all conditions."""
        return self._share(self._column.sub_domain(label), asked)

    def _share(self, found: SubDomain, asked: Asked) -> float:
        if isinstance(found, Everything):
            return 0.0 if isinstance(self._whole, Everything) else self._share(self._whole, asked)
        if isinstance(found, AnyOf):
            shares = [self._share(part, asked) for part in found.parts]
            return sum(shares) / len(shares)
        if self._column.meaning.kind in ("prefix", "three-digit-zip"):
            return _share_of_codes(found, asked, self._column)
        if isinstance(found, Span):
            return self._share_of_span(found, asked)
        texts = found.texts if isinstance(found, Listed) else self._known(found)
        if not texts:
            return 0.0
        return sum(all(condition.holds(text) for condition in asked.conditions) for text in texts) / len(texts)

    def _known(self, found: Masked | Between) -> tuple[str | None, ...]:
        """Return the known values that a mask stands for, all of them where it matches none, or that lie between names.

        Names are taken to be in the order of the alphabet where nobody says another.
        """
        if isinstance(found, Between):
            ends = [end.texts for end in (found.low, found.high) if isinstance(end, Listed)]
            names = [text for texts in ends for text in texts if text is not None]
            return tuple(text for text in self._texts if names and min(names) <= text <= max(names))
        fixed = found.text.rstrip(found.star)
        known = [text for text in self._texts if len(text) <= len(found.text) and _fits(fixed, text, found.star)]
        return tuple(known) or self._texts

    def _share_of_span(self, found: Span, asked: Asked) -> float:
        cell = self._bounded(found)
        size = self._points(cell)
        if size <= 0:
            return 0.0
        both = common(cell, asked.span)
        if is_empty(both):
            return 0.0
        if asked.wanted is not None:
            return len(self._on_grid(asked.wanted, both)) / size
        return max(self._points(both) - len(self._on_grid(asked.excluded, both)), 0) / size

    def _on_grid(self, texts: Iterable[str], within: Span) -> set[Position]:
        """Return where values lie that are on the grid and in a span."""
        places = {place for text in texts if (place := position_in(self._column, text)) is not None}
        return {
            place
            for place in places
            if Fraction(place) % self._unit == 0 and not is_empty(common(within, Span(low=place, high=place)))
        }

    def _bounded(self, span: Span) -> Span:
        """Return a span with both ends."""
        low, high = span.low, span.high
        if low is None and high is None:
            return self._reach or Span(low=0, high=0)
        if low is None and high is not None:
            least = high if self._reach is None or self._reach.low is None else self._reach.low
            low = least if least < high else high - self._width
        if high is None and low is not None:
            most = low if self._reach is None or self._reach.high is None else self._reach.high
            high = most if most > low else low + self._width
        return replace(span, low=low, high=high)

    def _points(self, span: Span) -> int:
        """Return how many points of the grid a span holds."""
        if span.low is None or span.high is None:
            return 0
        low, high = Fraction(span.low) / self._unit, Fraction(span.high) / self._unit
        first = math.ceil(low) if span.low_included else math.floor(low) + 1
        last = math.floor(high) if span.high_included else math.ceil(high) - 1
        return last - first + 1


def _parts(found: Iterable[SubDomain]) -> Iterable[SubDomain]:
    for one in found:
        if isinstance(one, AnyOf):
            yield from _parts(one.parts)
        elif isinstance(one, Between):
            yield from _parts(end for end in (one.low, one.high) if end is not None)
            yield one
        else:
            yield one


def _unit(column: ReadColumn, places: Iterable[Position]) -> Fraction:
    """Return how far apart the values of a column are taken to be."""
    if column.scale in ("date", "time"):
        return Fraction(_DAY if column.scale == "date" and all(place % _DAY == 0 for place in places) else _SECOND)
    digits = 0
    if not column.meaning.converts:
        while digits < _FINEST and any((Fraction(place) * 10**digits).denominator != 1 for place in places):
            digits += 1
    return Fraction(1, 10 ** (digits if digits < _FINEST else 0))


def _share_of_codes(found: SubDomain, asked: Asked, column: ReadColumn) -> float:
    """Return the share of the codes with a prefix that are asked for, all of them as long as these and of digits."""
    if asked.wanted is None:
        return 0.5 if column.meaning.kind else 0.0
    kept = int(column.meaning.facts.get("n", 3))
    return sum(10.0 ** -max(len(text) - kept, 0) for text in asked.wanted)


def _fits(fixed: str, text: str, star: str) -> bool:
    if len(text) < len(fixed):
        return False
    return all(one in (star, other) for one, other in zip(fixed, text, strict=False))
