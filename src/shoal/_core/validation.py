"""Constraints on parameters as data, and the one shape of message for all of them.

A constraint is a value: it can say whether it accepts something, describe itself, and (for tests) produce values that
it must refuse. Models and algorithms declare their parameters with their fields (`parameter`): what each may be, what
it does and what the command line calls it stands there, once, and errors, flags, spec files and help read it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from numbers import Integral, Number, Rational, Real
from typing import TYPE_CHECKING, Any, Protocol

from shoal.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from shoal._messages import Voice

__all__ = [
    "Boolean",
    "Constraint",
    "Finite",
    "Integer",
    "NotBlank",
    "OneOf",
    "Optional",
    "Parameter",
    "RationalIn",
    "Symbol",
    "exact_fraction",
    "number_in",
    "parameter",
    "parameters_of",
    "spoken",
    "validate",
    "validate_declared",
]

_SPOKEN = (str, Number, type(None))
"""What a message may repeat: a frame or a column in its place would spill the cells of the data."""


class Constraint(Protocol):
    """What a parameter may be."""

    def accepts(self, value: object) -> bool:
        """Return whether `value` is allowed."""

    def told(self, voice: Voice) -> str:
        """Return what is allowed, in words that follow "must be"."""

    def read(self, text: str) -> Any:
        """Return the value that a text means; the text itself where it means none, which is refused then."""

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

    def told(self, voice: Voice) -> str:
        kind = "an int" if voice.python else "a whole number"
        return f"{kind} >= {self.low}" if self.high is None else f"{kind} from {self.low} to {self.high}"

    def read(self, text: str) -> Any:
        return number_in(text)

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

    def told(self, voice: Voice) -> str:
        relation = ">=" if self.low_included else ">"
        text = f"a number {relation} {self.low}"
        return text if self.high is None else f"{text} and <= {self.high}"

    def read(self, text: str) -> Any:
        return number_in(text)

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

    def told(self, voice: Voice) -> str:
        return "a finite number"

    def read(self, text: str) -> Any:
        return number_in(text)

    def refused(self) -> list[Any]:
        return [math.nan, math.inf, True, "0.5", None]


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    options: tuple[str, ...]

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and value in self.options

    def told(self, voice: Voice) -> str:
        return "one of " + ", ".join(f"'{option}'" for option in self.options)

    def read(self, text: str) -> Any:
        return text

    def refused(self) -> list[Any]:
        return ["", "no such option", 1, None]


@dataclass(frozen=True)
class Boolean:
    """True or False."""

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)

    def told(self, voice: Voice) -> str:
        return "True or False" if voice.python else "yes or no"

    def read(self, text: str) -> Any:
        return {"yes": True, "true": True, "no": False, "false": False}.get(text.lower(), text)

    def refused(self) -> list[Any]:
        return [1, 0, "yes", None]


@dataclass(frozen=True)
class NotBlank:
    """A text with something to see."""

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and bool(value.strip())

    def told(self, voice: Voice) -> str:
        return "a text that is not blank"

    def read(self, text: str) -> Any:
        return text

    def refused(self) -> list[Any]:
        return ["", " \t", 3, None]


@dataclass(frozen=True)
class Symbol:
    """What stands for a suppressed cell: a text that can be seen, and that is no number, date, interval or set."""

    def accepts(self, value: object) -> bool:
        seen = isinstance(value, str) and bool(value.strip()) and value.isprintable()
        return seen and not any(char.isnumeric() or char == "," for char in str(value))

    def told(self, voice: Voice) -> str:
        return "a text that can be seen, without digits and commas"

    def read(self, text: str) -> Any:
        return text

    def refused(self) -> list[Any]:
        return ["", " \t", "\u200b", "0", "90+", "2003-Q3", "[a, b]", "{a, b}", 3, None]


@dataclass(frozen=True)
class Instance:
    """An object of a class."""

    kind: type[Any]

    def accepts(self, value: object) -> bool:
        return isinstance(value, self.kind)

    def told(self, voice: Voice) -> str:
        return f"a {self.kind.__name__}"

    def read(self, text: str) -> Any:
        return text

    def refused(self) -> list[Any]:
        return ["a text", 1, None, {}]


@dataclass(frozen=True)
class Optional:
    """None, or what another constraint accepts."""

    constraint: Constraint

    def accepts(self, value: object) -> bool:
        return value is None or self.constraint.accepts(value)

    def told(self, voice: Voice) -> str:
        inner = self.constraint.told(voice)
        return f"None or {inner}" if voice.python else inner

    def read(self, text: str) -> Any:
        return None if text == "none" else self.constraint.read(text)

    def refused(self) -> list[Any]:
        return [value for value in self.constraint.refused() if value is not None]


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """What a model or an algorithm says of one of its parameters."""

    constraint: Constraint | None
    """What it may be; None where the class checks that itself."""
    help: str
    """What it does, in a sentence for the command line's help."""
    flag: str | None
    """What the command line calls it, `--l-variant`; None where it has no option of its own."""
    metavar: str
    """What stands for its value in the help."""
    read: Callable[[str], Any] | None
    """Makes the value of a text; None where the constraint tells how."""
    many: bool
    """Whether the command line takes a list of names."""

    def value_of(self, given: object) -> Any:
        """Return the value that somebody wrote on the command line or into a file; what is no text stays as it is."""
        if not isinstance(given, str):
            return given
        if self.read is not None:
            return self.read(given)
        return given if self.constraint is None else self.constraint.read(given)


def parameter(
    constraint: Constraint | None,
    help: str,  # noqa: A002
    *,
    flag: str | None = None,
    metavar: str = "VALUE",
    read: Callable[[str], Any] | None = None,
    many: bool = False,
) -> Mapping[str, Parameter]:
    """Return what a field of a dataclass says of the parameter that it is, as its `metadata`; see `Parameter`.

    Examples
    --------
    >>> from dataclasses import dataclass, field
    >>> @dataclass
    ... class Sweep:
    ...     effort: int = field(default=3, metadata=parameter(Integer(low=0), "How long to search."))
    >>> parameters_of(Sweep)["effort"].help
    'How long to search.'
    """
    declared = Parameter(constraint=constraint, help=help, flag=flag, metavar=metavar, read=read, many=many)
    return {"parameter": declared}


def parameters_of(owner: Any) -> dict[str, Parameter]:
    """Return what a dataclass, or an object of one, declares of its parameters, by their names."""
    if not is_dataclass(owner):
        return {}
    return {one.name: one.metadata["parameter"] for one in fields(owner) if "parameter" in one.metadata}


def validate_declared(owner: str, thing: object) -> None:
    """Check the parameters of an object against what its class declares of them.

    Raises
    ------
    ParameterError
        In one shape, see `validate`.
    """
    found = {name: one.constraint for name, one in parameters_of(thing).items() if one.constraint is not None}
    validate(owner, {name: getattr(thing, name) for name in found}, found)


def number_in(text: str) -> int | float | Fraction | str:
    """Return the number that a text means, a whole number, a decimal or a fraction; the text where it means none.

    Examples
    --------
    >>> number_in("4"), number_in("0.25"), number_in("1/3"), number_in("few")
    (4, 0.25, Fraction(1, 3), 'few')
    """
    for kind in (int, float, Fraction):
        try:
            return kind(text)
        except (ValueError, ZeroDivisionError):
            continue
    return text


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
            meant = did_you_mean(value, _words_of(constraint)) if isinstance(value, str) else ""
            raise ParameterError.refusing(owner, name, constraint, got=spoken(value), hint=meant)


def spoken(value: object) -> str:
    """Return what a message may say of a value: the value of a text or a number, else the name of its type."""
    return repr(value) if isinstance(value, _SPOKEN) else type(value).__name__


def _words_of(constraint: Constraint) -> tuple[str, ...]:
    """Return the words that a constraint allows, if words are what it allows."""
    inner = constraint.constraint if isinstance(constraint, Optional) else constraint
    return inner.options if isinstance(inner, OneOf) else ()
