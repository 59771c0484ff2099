"""Grammar and parser of count queries: conditions joined by "and"; nothing is evaluated.

::

    question  = condition { "and" condition } condition = name "in" ( interval | set ) | name ( "=" | "!=" | "<" | "<="
    | ">" | ">=" ) value interval  = ( "[" | "(" ) value "," value ( "]" | ")" ) set       = "{" value { "," value } "}"

A name or value with blanks, commas, brackets or signs must be in double or single quotes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from shoal.errors import ParameterError

_TOKEN = re.compile(
    r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(<=|>=|!=|[=<>,\[\](){}])|([^\s,\[\](){}<>=!"']+))"""
)
_SIGNS = ("=", "!=", "<", "<=", ">", ">=")
_LONGEST = 10_000
"""Largest number of characters of a query."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition on one column: a range, or a list of values that the column must have or must not have."""

    column: str
    """Name of the column."""
    low: str | None = None
    """Lower end of the range, or None if it has none."""
    high: str | None = None
    """Upper end of the range, or None if it has none."""
    low_included: bool = True
    """Whether the lower end is in the range."""
    high_included: bool = True
    """Whether the upper end is in the range."""
    values: tuple[str, ...] | None = None
    """The values, or None if the condition is a range."""
    negated: bool = False
    """Whether the column must have none of the values."""

    def holds(self, text: str | None) -> bool:
        """Check whether a plain value satisfies the condition; a missing value never does.

        Two numbers are compared by size, other values as text.

        Examples
        --------
        >>> Condition(column="age", low="9").holds("10")
        True
        """
        if text is None:
            return False
        # A list of values, or its negation.
        if self.values is not None:
            return any(_compare(text, value) == 0 for value in self.values) is not self.negated
        if self.low is not None and _compare(text, self.low) < (0 if self.low_included else 1):
            return False
        return self.high is None or _compare(text, self.high) <= (0 if self.high_included else -1)


def _compare(one: str, other: str) -> int:
    """Compare two values as numbers if both are numbers, else as text: -1, 0 or 1."""
    a, b = _parse_number(one), _parse_number(other)
    if a is not None and b is not None:
        return (a > b) - (a < b)
    return (one > other) - (one < other)


def _parse_number(text: str) -> Decimal | None:
    """Parse a finite number, or return None."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def read_question(text: str) -> tuple[Condition, ...]:
    """Parse a query. A blank query has no condition and counts all people.

    Raises
    ------
    ParameterError
        If the query does not follow the grammar; the message gives the position of the error.

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
    """Parse one condition."""
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
    """Parse the interval or set after "in"."""
    opening = reader.next_sign()
    if opening not in ("[", "(", "{"):
        raise reader.fault("an interval such as [30, 50) or a set such as {a, b}", back=opening is not None)
    values = [reader.name("a value")]
    while (sign := reader.next_sign()) == ",":
        values.append(reader.name("a value"))
    # A set.
    if opening == "{":
        if sign != "}":
            raise reader.fault("',' or '}'", back=sign is not None)
        return Condition(column=column, values=tuple(values))
    # An interval has exactly two ends.
    if len(values) != 2 or sign not in ("]", ")"):
        raise reader.fault("two values and then ']' or ')'", back=sign is not None)
    low, high = values
    return Condition(column=column, low=low, high=high, low_included=opening == "[", high_included=sign == "]")


class _Reader:
    """Tokenizer of a query: words, quoted text and signs."""

    def __init__(self, text: str) -> None:
        self._text = text.rstrip()
        self._at = 0
        self._before = 0

    def ended(self) -> bool:
        """Check whether the whole text was read."""
        return self._at >= len(self._text)

    def _match(self) -> re.Match[str]:
        """Match the next token."""
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise self.fault("a name, a value or a sign")
        return found

    def next_sign(self) -> str | None:
        """Read a sign if one follows, else return None."""
        if self.ended():
            return None
        found = self._match()
        if found.group(3) is None:
            return None
        self._before, self._at = self._at, found.end()
        return str(found.group(3))

    def word(self, wanted: str) -> None:
        """Read a keyword of the grammar."""
        found = None if self.ended() else self._match()
        if found is None or (found.group(4) or "").lower() != wanted:
            raise self.fault(f"'{wanted}'")
        self._at = found.end()

    def name(self, what: str) -> str:
        """Read a name or a value."""
        found = None if self.ended() else self._match()
        if found is None or found.group(3) is not None:
            raise self.fault(what)
        self._at = found.end()
        # A quoted text may contain escaped quotes.
        quoted = found.group(1) if found.group(1) is not None else found.group(2)
        return re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else str(found.group(4))

    def fault(self, wanted: str, *, back: bool = False) -> ParameterError:
        """Create the error for the current token, or for the one before it."""
        # Report the position of the token, not of the blanks before it.
        at = self._before if back else self._at
        while at < len(self._text) and self._text[at].isspace():
            at += 1
        return ParameterError(
            f"The question cannot be read at character {at + 1}: {wanted} must stand there. "
            'An example: age in [30, 50) and disease in {flu, "cough, dry"}'
        )
