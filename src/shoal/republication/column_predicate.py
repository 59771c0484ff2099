"""Evaluation of a query's conditions on one column against the sub-domains of published cells.

A cell stands for several values: numbers between the digits that are shown, times within a day, or any value under a
star. For each cell two answers hold for all of these values: whether a person's value may satisfy the conditions, and
whether it must.

The people who satisfy conditions are estimated as if those of a group were spread evenly over its sub-domains.
Intervals are measured on a grid of whole numbers: multiples of the finest decimal place of the column, or days. The
values of a set have equal weight. An interval without a lower or upper end is closed at the end of the other intervals,
or given their median width if it lies beyond them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import polars as pl

from shoal.errors import ParameterError
from shoal.republication.questions import Condition
from shoal.verification.placing import ranks_of
from shoal.verification.published_columns import ReadColumn
from shoal.verification.scales import Position, is_plain_number, moment_of, number_of
from shoal.verification.sub_domains import AnyOf, Between, Everything, Listed, Masked, Span, SubDomain
from shoal.verification.values import Values

_LONGEST_CODE = 12
"""Longest code that is tried with leading zeros, because a file may have lost them."""


class Certainty(NamedTuple):
    """What a cell implies for the people of its group."""

    may: bool
    """Whether a person's value may satisfy the conditions."""
    must: bool
    """Whether every person's value satisfies them."""


_TRUTH = {"true": "True", "false": "False"}
"""Spelling of truth values in files (key) and in recoded cells (value)."""
_MISSING = Listed(texts=(None,))
_CERTAIN, _POSSIBLE, _IMPOSSIBLE = (Certainty(*answers) for answers in ((True, True), (True, False), (False, False)))


class ColumnPredicate:
    """The conjunction of a query's conditions on one column.

    Parameters
    ----------
    column : ReadColumn
        The published column.
    conditions : sequence of Condition
        The conditions; a value must satisfy all of them.
    star : SubDomain, optional
        The values that a star stands for. By default any value, including a missing one.
    empty_is_missing : bool
        Whether the table was read from a format such as CSV, in which an empty text is a missing value. If so, a
        missing value may be an empty text, which can satisfy conditions that a missing value cannot.

    Raises
    ------
    ParameterError
        If a condition compares numbers or dates with something else.
    """

    def __init__(
        self,
        column: ReadColumn,
        conditions: Sequence[Condition],
        star: SubDomain | None = None,
        *,
        empty_is_missing: bool = False,
    ) -> None:
        # Cells may write truth values in another way than files do.
        self._column, self._star, self._empty_is_missing = column, star, empty_is_missing
        self._words = _TRUTH if {*column.labels} <= {*_TRUTH, *_TRUTH.values(), None, column.star} else {}
        conditions = [self._normalize(one) for one in conditions]
        self.conditions = conditions
        """The conditions, in the form in which cells are read."""
        # Separate lists of values, excluded values and ranges.
        self._lists = [one.values for one in conditions if one.values is not None and not one.negated]
        self.excluded = [text for one in conditions if one.values is not None and one.negated for text in one.values]
        """The values that conditions exclude."""
        self._ranges = [one for one in conditions if one.values is None]
        self._coarser = column.meaning.kind in ("prefix", "three-digit-zip")
        self.span = self._intersect_ranges()
        """Intersection of all ranges on the scale of the column; unbounded if there is no range."""

    @cached_property
    def wanted(self) -> list[str] | None:
        """Values that conditions name and that satisfy all of them, or None if no condition names values."""
        if not self._lists:
            return None
        # Each distinct value once, in the order of the conditions.
        named = dict.fromkeys(text for values in self._lists for text in values)
        return [text for text in named if self._evaluate_value(text).may]

    def evaluate(self, label: str | None) -> Certainty:
        """Evaluate the conditions for all values that a cell stands for."""
        found = self._evaluate(self._column.sub_domain(label), coarser=self._coarser)
        if label is None:
            return found
        # A condition may also name the text of the cell itself.
        named = any(label in values for values in self._lists)
        return Certainty(found.may or named, found.must and label not in self.excluded)

    def _evaluate(self, found: SubDomain, *, coarser: bool) -> Certainty:
        """Evaluate the conditions for a sub-domain."""
        # A star stands for the declared domain, or for any value.
        if isinstance(found, Everything):
            if self._star is None or not found.missing:
                return _POSSIBLE
            return self._evaluate(self._star, coarser=False)
        # A union is certain only if every part is.
        if isinstance(found, AnyOf):
            return _combine([self._evaluate(part, coarser=coarser) for part in found.parts])
        # Masks and shortened codes have no position on a scale; listed values are tested one by one.
        if isinstance(found, Masked) or (coarser and found != _MISSING):
            return self._evaluate_masked(found)
        if isinstance(found, Listed):
            return _combine([self._evaluate_value(text) for text in found.texts])
        return self._evaluate_span(found) if isinstance(found, Span) and not self._coarser else _POSSIBLE

    def _normalize(self, asked: Condition) -> Condition:
        """Rewrite the values of a condition in the form in which cells are read."""

        def plain(text: str) -> str:
            return self._words.get(text, self._column.meaning.plain(text))

        return replace(
            asked,
            low=None if asked.low is None else plain(asked.low),
            high=None if asked.high is None else plain(asked.high),
            values=None if asked.values is None else tuple(map(plain, asked.values)),
        )

    def _evaluate_value(self, text: str | None) -> Certainty:
        """Evaluate the conditions for one value."""
        text = None if text is None else self._words.get(text, text)
        if text is None:
            return _POSSIBLE if self._empty_is_missing and self._evaluate_value("").may else _IMPOSSIBLE
        # A value outside a range is impossible.
        if not all(self._in_range(text, one) for one in self._ranges):
            return _IMPOSSIBLE
        # Listed values must be equal to it, and excluded values different from it.
        answers = [max(map(self._compare, values, [text] * len(values))) for values in self._lists]
        answers += [1 - self._compare(value, text) for value in self.excluded]
        least = min(answers, default=1.0)
        return _CERTAIN if least == 1 else _POSSIBLE if least else _IMPOSSIBLE

    def _compare(self, asked: str, text: str) -> float:
        """Compare two values: 1 if equal, 0 if not, 0.5 if one may be a spelling of the other (2139 and 02139)."""
        if asked == text:
            return 1.0
        # On a scale, equal positions are equal values.
        one, other = self._position(asked), self._position(text)
        if one is not None and other is not None:
            return float(one == other)
        # Two codes with the same number may be spellings of each other, such as with leading zeros.
        numbers = number_of(asked), number_of(text)
        if None in numbers or numbers[0] != numbers[1]:
            return 0.0
        return 1.0 if is_plain_number(asked) and is_plain_number(text) else 0.5

    def _in_range(self, text: str, asked: Condition) -> bool:
        """Check whether a value lies in the range of a condition."""
        position = self._position(text)
        if position is None:
            return asked.holds(text)
        return _holds_position(self._range(asked), position)

    def _position(self, text: str) -> Position | None:
        return find_position(self._column, text)

    def _intersect_ranges(self) -> Span:
        """Intersect the ranges of all conditions on the scale of the column."""
        span = Span(low=None, high=None)
        if self._column.scale == "text" or self._coarser:
            return span
        # A listed value must have a position on the scale, or be the text of a cell.
        shown = {*self._column.labels}
        for text in (*self.excluded, *(text for values in self._lists for text in values)):
            if self._position(text) is None and text not in shown:
                raise self._mismatch()
        # All ranges must hold at once.
        for one in self._ranges:
            span = intersect(span, self._range(one))
        return span

    def _range(self, asked: Condition) -> Span:
        """Convert the range of a condition to the scale of the column."""
        ends = [None if end is None else self._position(end) for end in (asked.low, asked.high)]
        if (ends[0] is None) != (asked.low is None) or (ends[1] is None) != (asked.high is None):
            raise self._mismatch()
        return Span(
            low=ends[0],
            high=ends[1],
            low_included=asked.low_included,
            high_included=asked.high_included,
        )

    def _mismatch(self) -> ParameterError:
        """Create the error for a condition that does not fit the scale of the column."""
        kinds = {"number": "numbers", "date": "dates such as 2020-01-31", "time": "times such as 12:30"}
        return ParameterError(
            f"The question compares a column of {kinds.get(self._column.scale, 'names')} with something else."
        )

    def _evaluate_span(self, found: Span) -> Certainty:
        """Evaluate the conditions for an interval."""
        # Without a common point, no value of the interval satisfies the ranges.
        both = intersect(found, self.span)
        if is_empty(both):
            return _IMPOSSIBLE
        # An interval satisfies ranges if it lies within them and contains no excluded value.
        alone = found.low is not None and found.low == found.high
        out = [position for position in map(self._position, self.excluded) if position is not None]
        within = both == found and not any(_holds_position(found, position) for position in out)
        # If values are listed, only an interval of a single point can be certain.
        if self.wanted is not None:
            points = [position for position in map(self._position, self.wanted) if position is not None]
            may = any(_holds_position(both, position) for position in points)
            return Certainty(may, may and alone and within)
        return Certainty(may=within or not alone, must=within)

    def _evaluate_masked(self, found: SubDomain) -> Certainty:
        """Evaluate the conditions for a mask or a shortened code, which has no place on a scale."""
        if self.wanted is not None:
            return Certainty(self._covers_any(found, self.wanted), must=False)
        # A range cannot be compared with a mask.
        if self._ranges or not self.excluded:
            return _POSSIBLE
        return Certainty(may=True, must=not self._covers_any(found, self.excluded))

    def _covers_any(self, found: SubDomain, texts: Sequence[str]) -> bool:
        """Check whether a sub-domain contains any of the texts, in any spelling."""
        spelled = pl.Series([one for text in texts for one in _list_spellings(text)], dtype=pl.String)
        column = self._column
        scale = column.scale if self._coarser else "text"
        return len(ranks_of(found, Values(column.meaning.transformed(spelled), scale)).listed()) > 0


def _combine(parts: Sequence[Certainty]) -> Certainty:
    """Combine the answers for the parts of a union."""
    return Certainty(any(one.may for one in parts), bool(parts) and all(one.must for one in parts))


def find_position(column: ReadColumn, text: str) -> Position | None:
    """Locate a value of a query on the scale of a column. Return None if it has no position there."""
    # The question may write dates in the format of the input.
    if column.scale == "date" and moment_of(text) is None and column.meaning.facts.get("format") is not None:
        day = column.meaning.transformed(pl.Series([text]))
        return None if day[0] is None else moment_of(str(day[0]))
    return column.position_of(text)


def _list_spellings(text: str) -> Iterator[str]:
    """Yield the spellings of a code: the text itself and, if it is a whole number, its forms with leading zeros."""
    yield text
    number = number_of(text)
    if number is not None and number.denominator == 1 and number >= 0:
        digits = str(int(number))
        yield from (digits.zfill(length) for length in range(len(digits), _LONGEST_CODE + 1))


def intersect(one: Span, other: Span) -> Span:
    """Intersect two spans. The ends of the result are reversed if the spans are disjoint."""
    low, low_included = _choose_stricter((one.low, one.low_included), (other.low, other.low_included), sign=1)
    high, high_included = _choose_stricter((one.high, one.high_included), (other.high, other.high_included), sign=-1)
    return Span(low=low, high=high, low_included=low_included, high_included=high_included)


def _choose_stricter(
    one: tuple[Position | None, bool], other: tuple[Position | None, bool], *, sign: int
) -> tuple[Position | None, bool]:
    """Choose the end that excludes more, of two lower ends (sign 1) or two upper ends (sign -1)."""
    if one[0] is None or other[0] is None:
        return other if one[0] is None else one
    if one[0] == other[0]:
        return one[0], one[1] and other[1]
    return one if (Fraction(one[0]) - other[0]) * sign > 0 else other


def is_empty(span: Span) -> bool:
    """Check whether a span contains no position."""
    if span.low is None or span.high is None:
        return False
    return span.low > span.high or (span.low == span.high and not (span.low_included and span.high_included))


def _holds_position(span: Span, position: Position) -> bool:
    """Check whether a span contains a position."""
    return not is_empty(intersect(span, Span(low=position, high=position)))


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
