"""Questions to a published table: conditions joined by "and", read without evaluating anything.

::

    question  = condition { "and" condition }
    condition = name "in" ( interval | set ) | name ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
    interval  = ( "[" | "(" ) value "," value ( "]" | ")" )
    set       = "{" value { "," value } "}"

A name or value with blanks, commas, brackets or signs stands in double or single quotes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from shoal.errors import ParameterError

__all__ = ["Condition", "read_question"]

_TOKEN = re.compile(
    r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(<=|>=|!=|[=<>,\[\](){}])|([^\s,\[\](){}<>=!"']+))"""
)
_SIGNS = ("=", "!=", "<", "<=", ">", ">=")
_LONGEST = 10_000


@dataclass(frozen=True, kw_only=True)
class Condition:
    """What a question asks of one column: a range, or some values that the column has or has not."""

    column: str
    """The column."""
    low: str | None = None
    """The lower end of the range; None where there is none."""
    high: str | None = None
    """The upper end of the range; None where there is none."""
    low_included: bool = True
    """Whether the lower end is in the range."""
    high_included: bool = True
    """Whether the upper end is."""
    values: tuple[str, ...] | None = None
    """The values, where it is no range."""
    negated: bool = False
    """Whether the column must have none of the values."""

    def holds(self, text: str | None) -> bool:
        """Return whether a plain value fulfils the condition; a missing one never does.

        Numbers are compared by size where both sides are numbers, other values as text.

        Examples
        --------
        >>> Condition(column="age", low="9").holds("10")
        True
        """
        if text is None:
            return False
        if self.values is not None:
            return any(_compared(text, value) == 0 for value in self.values) is not self.negated
        if self.low is not None and _compared(text, self.low) < (0 if self.low_included else 1):
            return False
        return self.high is None or _compared(text, self.high) <= (0 if self.high_included else -1)


def _compared(one: str, other: str) -> int:
    """Return -1, 0 or 1 as `one` is less, the same or greater."""
    a, b = _number(one), _number(other)
    if a is not None and b is not None:
        return (a > b) - (a < b)
    return (one > other) - (one < other)


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def read_question(text: str) -> tuple[Condition, ...]:
    """Read a question; a blank one has no condition and asks for everybody.

    Raises
    ------
    ParameterError
        Where it does not follow the grammar; the message says at which character.

    Examples
    --------
    >>> [condition.column for condition in read_question('age in [30, 50) and disease = "flu, mild"')]
    ['age', 'disease']
    """
    if len(text) > _LONGEST:
        raise ParameterError(f"The question is longer than {_LONGEST} characters. Ask several shorter ones.")
    reader = _Reader(text)
    conditions: list[Condition] = []
    while not reader.ended():
        if conditions:
            reader.word("and")
        conditions.append(_condition(reader))
    return tuple(conditions)


def _condition(reader: _Reader) -> Condition:
    column = reader.name("the name of a column")
    sign = reader.next_sign()
    if sign is None:
        reader.word("in")
        return _membership(reader, column)
    if sign not in _SIGNS:
        raise reader.fault("one of 'in', " + ", ".join(_SIGNS), back=True)
    value = reader.name("a value")
    if sign in ("=", "!="):
        return Condition(column=column, values=(value,), negated=sign == "!=")
    if sign[0] == "<":
        return Condition(column=column, high=value, high_included=sign == "<=")
    return Condition(column=column, low=value, low_included=sign == ">=")


def _membership(reader: _Reader, column: str) -> Condition:
    opening = reader.next_sign()
    if opening not in ("[", "(", "{"):
        raise reader.fault("an interval such as [30, 50) or a set such as {a, b}", back=opening is not None)
    values = [reader.name("a value")]
    while (sign := reader.next_sign()) == ",":
        values.append(reader.name("a value"))
    if opening == "{":
        if sign != "}":
            raise reader.fault("',' or '}'", back=sign is not None)
        return Condition(column=column, values=tuple(values))
    if len(values) != 2 or sign not in ("]", ")"):
        raise reader.fault("two values and then ']' or ')'", back=sign is not None)
    low, high = values
    return Condition(column=column, low=low, high=high, low_included=opening == "[", high_included=sign == "]")


class _Reader:
    """Takes one word, text in quotes, or sign after the other."""

    def __init__(self, text: str) -> None:
        self._text = text.rstrip()
        self._at = 0
        self._before = 0

    def ended(self) -> bool:
        return self._at >= len(self._text)

    def _match(self) -> re.Match[str]:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise self.fault("a name, a value or a sign")
        return found

    def next_sign(self) -> str | None:
        """Take a sign if one follows."""
        if self.ended():
            return None
        found = self._match()
        if found.group(3) is None:
            return None
        self._before, self._at = self._at, found.end()
        return str(found.group(3))

    def word(self, wanted: str) -> None:
        """Take a word of the grammar."""
        found = None if self.ended() else self._match()
        if found is None or (found.group(4) or "").lower() != wanted:
            raise self.fault(f"'{wanted}'")
        self._at = found.end()

    def name(self, what: str) -> str:
        """Take a name or a value."""
        found = None if self.ended() else self._match()
        if found is None or found.group(3) is not None:
            raise self.fault(what)
        self._at = found.end()
        quoted = found.group(1) if found.group(1) is not None else found.group(2)
        return re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else str(found.group(4))

    def fault(self, wanted: str, *, back: bool = False) -> ParameterError:
        at = self._before if back else self._at
        while at < len(self._text) and self._text[at].isspace():
            at += 1
        return ParameterError(
            f"The question cannot be read at character {at + 1}: {wanted} must stand there. "
            'An example: age in [30, 50) and disease in {flu, "cough, dry"}'
        )
