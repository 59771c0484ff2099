"""Constraints on parameters as data, and the one shape of message for all of them.

A constraint is a value: it can say whether it accepts something, describe itself, and (for tests) produce values that
it must refuse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Number, Rational, Real
from typing import Any, Protocol

from shoal.errors import ParameterError, did_you_mean

__all__ = [
    "Boolean",
    "Constraint",
    "Finite",
    "Integer",
    "OneOf",
    "Optional",
    "RationalIn",
    "exact_fraction",
    "validate",
]

_SPOKEN = (str, Number, type(None))
"""What a message may repeat: a frame or a column in its place would spill the cells of the data."""


class Constraint(Protocol):
    """What a parameter may be."""

    def accepts(self, value: object) -> bool:
        """Return whether `value` is allowed."""

    def describe(self) -> str:
        """Return what is allowed, to follow "must be"."""

    def refused(self) -> list[Any]:
        """Return examples of values that are not allowed."""


@dataclass(frozen=True, kw_only=True)
class Integer:
    """A whole number (never a bool) of at least `low`, and of at most `high` where given."""

    low: int
    high: int | None = None

    def accepts(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral):
            return False
        return int(value) >= self.low and (self.high is None or int(value) <= self.high)

    def describe(self) -> str:
        return f"an int >= {self.low}" if self.high is None else f"an int from {self.low} to {self.high}"

    def refused(self) -> list[Any]:
        beyond = [] if self.high is None else [self.high + 1]
        return [self.low - 1, float(self.low), True, "2", None, math.nan, *beyond]


@dataclass(frozen=True, kw_only=True)
class RationalIn:
    """A finite number between two bounds; a float stands for the decimal number that it is printed as."""

    low: Fraction
    high: Fraction | None = None
    low_included: bool = True

    def accepts(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        if not isinstance(value, Rational) and not math.isfinite(value):
            return False
        number = exact_fraction(value)
        above = number >= self.low if self.low_included else number > self.low
        return above and (self.high is None or number <= self.high)

    def describe(self) -> str:
        relation = ">=" if self.low_included else ">"
        text = f"a number {relation} {self.low}"
        return text if self.high is None else f"{text} and <= {self.high}"

    def refused(self) -> list[Any]:
        edge = [] if self.low_included else [self.low]
        beyond = [] if self.high is None else [self.high + 1]
        return [self.low - 1, math.nan, math.inf, True, "0.5", None, *edge, *beyond]


@dataclass(frozen=True)
class Finite:
    """A finite number (never a bool)."""

    def accepts(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        return isinstance(value, Rational) or math.isfinite(value)

    def describe(self) -> str:
        return "a finite number"

    def refused(self) -> list[Any]:
        return [math.nan, math.inf, True, "0.5", None]


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    options: tuple[str, ...]

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and value in self.options

    def describe(self) -> str:
        return "one of " + ", ".join(f"'{option}'" for option in self.options)

    def refused(self) -> list[Any]:
        return ["", "no such option", 1, None]


@dataclass(frozen=True)
class Boolean:
    """True or False."""

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)

    def describe(self) -> str:
        return "True or False"

    def refused(self) -> list[Any]:
        return [1, 0, "yes", None]


@dataclass(frozen=True)
class Optional:
    """None, or what another constraint accepts."""

    constraint: Constraint

    def accepts(self, value: object) -> bool:
        return value is None or self.constraint.accepts(value)

    def describe(self) -> str:
        return f"None or {self.constraint.describe()}"

    def refused(self) -> list[Any]:
        return [value for value in self.constraint.refused() if value is not None]


def exact_fraction(value: Real | float) -> Fraction:
    """Return a number as an exact fraction; a float as the decimal number that it is printed as.

    So `0.1` is one tenth, as its author meant, and not the nearest binary fraction.

    Examples
    --------
    >>> exact_fraction(0.1)
    Fraction(1, 10)
    """
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(repr(float(value)))


def validate(owner: str, parameters: Mapping[str, object], constraints: Mapping[str, Constraint]) -> None:
    """Check parameters against their constraints.

    Parameters
    ----------
    owner : str
        Who has the parameters ("mondrian", "KAnonymity"), for the message.
    parameters : mapping of str to object
        The values as they were given.
    constraints : mapping of str to Constraint
        One constraint for each parameter that is checked.

    Raises
    ------
    ParameterError
        In one shape: "The 'k' parameter of mondrian must be an int >= 2. Got 0."
    """
    for name, constraint in constraints.items():
        value = parameters[name]
        if not constraint.accepts(value):
            got = repr(value) if isinstance(value, _SPOKEN) else type(value).__name__
            meant = did_you_mean(value, _words_of(constraint)) if isinstance(value, str) else ""
            raise ParameterError(
                f"The '{name}' parameter of {owner} must be {constraint.describe()}. Got {got}. {meant}".rstrip()
            )


def _words_of(constraint: Constraint) -> tuple[str, ...]:
    """Return the words that a constraint allows, if words are what it allows."""
    inner = constraint.constraint if isinstance(constraint, Optional) else constraint
    return inner.options if isinstance(inner, OneOf) else ()
