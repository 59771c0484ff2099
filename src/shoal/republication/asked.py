"""What a question asks of one column, held against the sub-domains that its cells stand for.

Two things are said of the people behind a cell, and hold for all values that it allows (numbers between the digits that
are shown, times within a day, a missing value under a star): whether somebody's value may fulfil the conditions, and
whether everybody's must.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from shoal.errors import ParameterError
from shoal.verification.placing import ranks_of
from shoal.verification.scales import is_plain_number, moment_of, number_of
from shoal.verification.sub_domains import AnyOf, Everything, Listed, Masked, Span, SubDomain
from shoal.verification.values import Values

if TYPE_CHECKING:
    from shoal.republication.questions import Condition
    from shoal.verification.published_columns import ReadColumn
    from shoal.verification.scales import Position

__all__ = ["Asked", "common", "position_in"]

_LONGEST_CODE = 12
"""Codes may have lost their leading zeros up to this length."""


class Judged(NamedTuple):
    """What is certain of the people behind a cell."""

    may: bool
    """Whether somebody's value may fulfil the conditions."""
    must: bool
    """Whether everybody's does."""


_TRUTH = {"true": "True", "false": "False"}
"""How files of untouched truth values write them, and how recoded cells do."""
_MISSING = Listed(texts=(None,))
_EVERYBODY, _PERHAPS, _NOBODY = (Judged(*answers) for answers in ((True, True), (True, False), (False, False)))


class Asked:
    """Conditions on one column, all of which a value must fulfil.

    Parameters
    ----------
    column : ReadColumn
        The column.
    conditions : sequence of Condition
        The conditions.
    star : SubDomain, optional
        What a star stands for, where the caller says that; anything, a missing value too, by default.
    empty_is_missing : bool
        Whether the table was read from a format in which an empty text is a missing value, such as CSV: a missing value
        may be an empty text then, which fulfils what a missing value does not.

    Raises
    ------
    ParameterError
        Where a condition compares numbers or dates with something else.
    """

    def __init__(
        self,
        column: ReadColumn,
        conditions: Sequence[Condition],
        star: SubDomain | None = None,
        *,
        empty_is_missing: bool = False,
    ) -> None:
        self._column, self._star, self._empty_is_missing = column, star, empty_is_missing
        self._words = _TRUTH if {*column.labels} <= {*_TRUTH, *_TRUTH.values(), None, column.star} else {}
        conditions = [self._spelled(one) for one in conditions]
        self.conditions = conditions
        """The conditions, as they are compared with what cells show."""
        self._lists = [one.values for one in conditions if one.values is not None and not one.negated]
        self.excluded = [text for one in conditions if one.values is not None and one.negated for text in one.values]
        """The values that conditions exclude."""
        self._ranges = [one for one in conditions if one.values is None]
        self._coarser = column.meaning.kind in ("prefix", "three-digit-zip")
        self.span = self._within()
        """Where the ranges meet on the scale of the column; everywhere where there is none."""

    @cached_property
    def wanted(self) -> list[str] | None:
        """The values named by conditions that fulfil all of them; None where no condition names values."""
        if not self._lists:
            return None
        named = dict.fromkeys(text for values in self._lists for text in values)
        return [text for text in named if self._of_value(text).may]

    def judged(self, label: str | None) -> Judged:
        """Return what is certain of the people with a cell."""
        found = self._of(self._column.sub_domain(label), coarser=self._coarser)
        if label is None:
            return found
        # Who names a cell as it stands may mean a value that reads like it.
        named = any(label in values for values in self._lists)
        return Judged(found.may or named, found.must and label not in self.excluded)

    def _of(self, found: SubDomain, *, coarser: bool) -> Judged:
        if isinstance(found, Everything):
            if self._star is None or not found.missing:
                return _PERHAPS
            return self._of(self._star, coarser=False)
        if isinstance(found, AnyOf):
            return _together([self._of(part, coarser=coarser) for part in found.parts])
        if isinstance(found, Masked) or (coarser and found != _MISSING):
            return self._of_unknown(found)
        if isinstance(found, Listed):
            return _together([self._of_value(text) for text in found.texts])
        return self._of_span(found) if isinstance(found, Span) and not self._coarser else _PERHAPS

    def _spelled(self, asked: Condition) -> Condition:
        """Return a condition with its values written as the cells are read."""

        def plain(text: str) -> str:
            return self._words.get(text, self._column.meaning.plain(text))

        return replace(
            asked,
            low=None if asked.low is None else plain(asked.low),
            high=None if asked.high is None else plain(asked.high),
            values=None if asked.values is None else tuple(map(plain, asked.values)),
        )

    # One value.

    def _of_value(self, text: str | None) -> Judged:
        text = None if text is None else self._words.get(text, text)
        if text is None:
            return _PERHAPS if self._empty_is_missing and self._of_value("").may else _NOBODY
        if not all(self._in_range(text, one) for one in self._ranges):
            return _NOBODY
        answers = [max(map(self._same, values, [text] * len(values))) for values in self._lists]
        answers += [1 - self._same(value, text) for value in self.excluded]
        least = min(answers, default=1.0)
        return _EVERYBODY if least == 1 else _PERHAPS if least else _NOBODY

    def _same(self, asked: str, text: str) -> float:
        """Return 1 where two values are the same, 0 where they are not, and a half where one may ask (2139, 02139)."""
        if asked == text:
            return 1.0
        one, other = self._position(asked), self._position(text)
        if one is not None and other is not None:
            return float(one == other)
        numbers = number_of(asked), number_of(text)
        if None in numbers or numbers[0] != numbers[1]:
            return 0.0
        return 1.0 if is_plain_number(asked) and is_plain_number(text) else 0.5

    def _in_range(self, text: str, asked: Condition) -> bool:
        position = self._position(text)
        if position is None:
            return asked.holds(text)
        return _holds_position(self._range(asked), position)

    # A stretch of a scale.

    def _position(self, text: str) -> Position | None:
        return position_in(self._column, text)

    def _within(self) -> Span:
        span = Span(low=None, high=None)
        if self._column.scale == "text" or self._coarser:
            return span
        shown = {*self._column.labels}
        for text in (*self.excluded, *(text for values in self._lists for text in values)):
            if self._position(text) is None and text not in shown:
                raise self._mismatch()
        for one in self._ranges:
            span = common(span, self._range(one))
        return span

    def _range(self, asked: Condition) -> Span:
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
        kinds = {"number": "numbers", "date": "dates such as 2020-01-31", "time": "times such as 12:30"}
        return ParameterError(
            f"The question compares a column of {kinds.get(self._column.scale, 'names')} with something else."
        )

    def _of_span(self, found: Span) -> Judged:
        both = common(found, self.span)
        if is_empty(both):
            return _NOBODY
        alone = found.low is not None and found.low == found.high
        out = [position for position in map(self._position, self.excluded) if position is not None]
        within = both == found and not any(_holds_position(found, position) for position in out)
        if self.wanted is not None:
            points = [position for position in map(self._position, self.wanted) if position is not None]
            may = any(_holds_position(both, position) for position in points)
            return Judged(may, may and alone and within)
        return Judged(may=within or not alone, must=within)

    # What no scale says: masks, and what is left of a code.

    def _of_unknown(self, found: SubDomain) -> Judged:
        if self.wanted is not None:
            return Judged(self._covers_one(found, self.wanted), must=False)
        if self._ranges or not self.excluded:
            return _PERHAPS
        return Judged(may=True, must=not self._covers_one(found, self.excluded))

    def _covers_one(self, found: SubDomain, texts: Sequence[str]) -> bool:
        spelled = pl.Series([one for text in texts for one in _spellings(text)], dtype=pl.String)
        column = self._column
        scale = column.scale if self._coarser else "text"
        return len(ranks_of(found, Values(column.meaning.transformed(spelled), scale)).listed()) > 0


def _together(parts: Sequence[Judged]) -> Judged:
    return Judged(any(one.may for one in parts), bool(parts) and all(one.must for one in parts))


def position_in(column: ReadColumn, text: str) -> Position | None:
    """Return where a value of a question lies on the scale of a column; None where it has no place there."""
    if column.scale == "date" and moment_of(text) is None and column.meaning.facts.get("format") is not None:
        day = column.meaning.transformed(pl.Series([text]))
        return None if day[0] is None else moment_of(str(day[0]))
    return column.position_of(text)


def _spellings(text: str) -> Iterator[str]:
    """Yield the ways in which a code may be written of which this is one."""
    yield text
    number = number_of(text)
    if number is not None and number.denominator == 1 and number >= 0:
        digits = str(int(number))
        yield from (digits.zfill(length) for length in range(len(digits), _LONGEST_CODE + 1))


def common(one: Span, other: Span) -> Span:
    """Return where two spans meet; one whose ends are the wrong way round where they do not."""
    low, low_included = _stricter((one.low, one.low_included), (other.low, other.low_included), sign=1)
    high, high_included = _stricter((one.high, one.high_included), (other.high, other.high_included), sign=-1)
    return Span(low=low, high=high, low_included=low_included, high_included=high_included)


def _stricter(
    one: tuple[Position | None, bool], other: tuple[Position | None, bool], *, sign: int
) -> tuple[Position | None, bool]:
    """Return the end that leaves less, of lower ends (sign 1) or of upper ends (sign -1)."""
    if one[0] is None or other[0] is None:
        return other if one[0] is None else one
    if one[0] == other[0]:
        return one[0], one[1] and other[1]
    return one if (Fraction(one[0]) - other[0]) * sign > 0 else other


def is_empty(span: Span) -> bool:
    """Return whether no position lies in a span."""
    if span.low is None or span.high is None:
        return False
    return span.low > span.high or (span.low == span.high and not (span.low_included and span.high_included))


def _holds_position(span: Span, position: Position) -> bool:
    return not is_empty(common(span, Span(low=position, high=position)))
