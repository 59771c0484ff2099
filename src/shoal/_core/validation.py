"""Constraints on parameters as data, with a uniform message for all of them.

A constraint is a value that tests objects, describes itself, and (for tests) produces invalid examples. Models and
algorithms declare their parameters on their fields (`parameter`): the constraint, the description and the flag of each
are declared once, and errors, flags, specification files and help derive from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from numbers import Integral, Number, Rational, Real
from typing import TYPE_CHECKING, Any, Protocol

from shoal._core.words import is_visible
from shoal.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from shoal._messages import Audience

_AN_INT, _AN_INT_FROM = "an int >= {low}", "an int from {low} to {high}"
_A_WHOLE_NUMBER = "a whole number >= {low}"
_A_WHOLE_NUMBER_FROM = "a whole number from {low} to {high}"
_AT_LEAST, _MORE_THAN = "a number >= {low}", "a number > {low}"
_SPOKEN = (str, Number, type(None))
"""Types whose values a message may show; a frame or a column would reveal cells."""


class Constraint(Protocol):
    """The allowed values of a parameter."""

    def accepts(self, value: object) -> bool:
        """Check whether `value` is allowed."""

    def render(self, audience: Audience) -> str:
        """Describe the allowed values, in words that follow "must be"."""

    def read(self, text: str) -> Any:
        """Parse a text; the text itself if it has no meaning, which is then rejected."""

    def refused(self) -> list[Any]:
        """List examples of invalid values."""


@dataclass(frozen=True, kw_only=True)
class Integer:
    """An integer (never a bool) of at least `low`, and of at most `high` if given."""

    low: int
    high: int | None = None

    def accepts(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral):
            return False
        return int(value) >= self.low and (self.high is None or int(value) <= self.high)

    def render(self, audience: Audience) -> str:
        # Python has a name for the type, other audiences have words.
        kind = "an int" if audience.python else "a whole number"
        return f"{kind} >= {self.low}" if self.high is None else f"{kind} from {self.low} to {self.high}"

    def read(self, text: str) -> Any:
        return number_in(text)

    def refused(self) -> list[Any]:
        # Just outside the bounds, and values of other types.
        beyond = [] if self.high is None else [self.high + 1]
        return [self.low - 1, float(self.low), True, "2", None, math.nan, *beyond]


@dataclass(frozen=True, kw_only=True)
class RationalIn:
    """A finite number between two bounds; a float stands for the decimal number that is printed for it."""

    low: Fraction
    high: Fraction | None = None
    low_included: bool = True

    def accepts(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        # Infinite numbers and NaN compare without an error, so they are rejected first.
        if not isinstance(value, Rational) and not math.isfinite(value):
            return False
        number = exact_fraction(value)
        above = number >= self.low if self.low_included else number > self.low
        return above and (self.high is None or number <= self.high)

    def render(self, audience: Audience) -> str:
        least = f"a number {'>=' if self.low_included else '>'} {self.low}"
        return least if self.high is None else f"{least} and <= {self.high}"

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

    def render(self, audience: Audience) -> str:
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

    def render(self, audience: Audience) -> str:
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

    def render(self, audience: Audience) -> str:
        return "True or False" if audience.python else "yes or no"

    def read(self, text: str) -> Any:
        return {"yes": True, "true": True, "no": False, "false": False}.get(text.lower(), text)

    def refused(self) -> list[Any]:
        return [1, 0, "yes", None]


@dataclass(frozen=True)
class NotBlank:
    """A text with a visible character."""

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and bool(value.strip())

    def render(self, audience: Audience) -> str:
        return "a text that is not blank"

    def read(self, text: str) -> Any:
        return text

    def refused(self) -> list[Any]:
        return ["", " \t", 3, None]


@dataclass(frozen=True)
class Symbol:
    """The symbol of a suppressed cell: a visible text that is not a number, date, interval or set."""

    def accepts(self, value: object) -> bool:
        # Digits and commas would read as values, intervals or sets.
        seen = isinstance(value, str) and bool(value.strip()) and is_visible(value)
        return seen and not any(char.isnumeric() or char == "," for char in str(value))

    def render(self, audience: Audience) -> str:
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

    def render(self, audience: Audience) -> str:
        return f"a {self.kind.__name__}"

    def read(self, text: str) -> Any:
        return text

    def refused(self) -> list[Any]:
        return ["a text", 1, None, {}]


@dataclass(frozen=True)
class Optional:
    """None, or a value that another constraint accepts."""

    constraint: Constraint

    def accepts(self, value: object) -> bool:
        return value is None or self.constraint.accepts(value)

    def render(self, audience: Audience) -> str:
        inner = self.constraint.render(audience)
        return f"None or {inner}" if audience.python else inner

    def read(self, text: str) -> Any:
        return None if text == "none" else self.constraint.read(text)

    def refused(self) -> list[Any]:
        return [value for value in self.constraint.refused() if value is not None]


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """The declaration of a parameter of a model or an algorithm."""

    constraint: Constraint | None
    """The allowed values; None if the class checks them itself."""
    help: str
    """The effect, in a sentence for the command line's help."""
    flag: str | None
    """The flag of the command line, such as `--l-variant`; None if there is none."""
    metavar: str
    """The placeholder for its value in the help."""
    read: Callable[[str], Any] | None
    """Function that parses a text; None if the constraint does."""
    many: bool
    """Whether the command line accepts a list of names."""

    def value_of(self, given: object) -> Any:
        """Parse a value from the command line or a file; other objects than text are returned unchanged."""
        if not isinstance(given, str):
            return given
        # The parameter's own function takes precedence over the constraint.
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
    """Declare a field of a dataclass as a parameter, as its `metadata`; see `Parameter`.

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
    """Map the names of a dataclass's parameters to their declarations."""
    if not is_dataclass(owner):
        return {}
    return {one.name: one.metadata["parameter"] for one in fields(owner) if "parameter" in one.metadata}


def validate_declared(owner: str, thing: object) -> None:
    """Check the parameters of an object against the declarations of its class.

    Raises
    ------
    ParameterError
        If a parameter is invalid; see `validate`.
    """
    # Parameters without a constraint are checked by their class.
    found = {name: one.constraint for name, one in parameters_of(thing).items() if one.constraint is not None}
    validate(owner, {name: getattr(thing, name) for name in found}, found)


def number_in(text: str) -> int | float | Fraction | str:
    """Parse an integer, a decimal or a fraction; any other text is returned unchanged.

    Examples
    --------
    >>> number_in("4"), number_in("0.25"), number_in("1/3"), number_in("few")
    (4, 0.25, Fraction(1, 3), 'few')
    """
    # The simplest type that parses the text.
    for kind in (int, float, Fraction):
        try:
            return kind(text)
        except (ValueError, ZeroDivisionError):
            continue
    return text


def exact_fraction(value: Real | float) -> Fraction:
    """Convert a number to an exact fraction; a float stands for the decimal number that is printed for it.

    Therefore `0.1` is one tenth, as its author intended, and not the nearest binary fraction.

    Examples
    --------
    >>> exact_fraction(0.1)
    Fraction(1, 10)
    """
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(repr(float(value)))


def find_rounded(value: object) -> Fraction | None:
    """Return the fraction with a denominator of at most 1,000 from which a float was rounded, if there is one.

    Examples
    --------
    >>> find_rounded(2 / 3), find_rounded(0.5), find_rounded(0.6667)
    (Fraction(2, 3), None, None)
    """
    if not isinstance(value, float):
        return None
    exact = Fraction(value).limit_denominator(1000)
    return exact if float(exact) == value and exact_fraction(value) != exact else None


def fits_shape(found: object, shape: Any) -> bool:
    """Check the types of a value from a file, which may be damaged.

    Parameters
    ----------
    found : object
        A value of JSON.
    shape : type, tuple of types, list or dict
        A list has the shape of each entry; a dict that of each key, which may be missing if it ends in "?", or of all
        keys as "*".

    Examples
    --------
    >>> fits_shape({"names": ["a"]}, {"names": [str], "rows?": int}), fits_shape({"names": [None]}, {"*": [str]})
    (True, False)
    """
    if isinstance(shape, list):
        return isinstance(found, list) and all(fits_shape(one, shape[0]) for one in found)
    if not isinstance(shape, dict):
        return isinstance(found, shape) and (shape is not int or not isinstance(found, bool))
    if not isinstance(found, dict):
        return False
    if "*" in shape:
        return all(fits_shape(one, shape["*"]) for one in found.values())
    return all(
        fits_shape(found[key.rstrip("?")], one) if key.rstrip("?") in found else key.endswith("?")
        for key, one in shape.items()
    )


def validate(owner: str, parameters: Mapping[str, object], constraints: Mapping[str, Constraint]) -> None:
    """Check parameters against their constraints.

    Parameters
    ----------
    owner : str
        Owner of the parameters ("mondrian", "KAnonymity"), for the message.
    parameters : mapping of str to object
        The given values.
    constraints : mapping of str to Constraint
        The constraint of each checked parameter.

    Raises
    ------
    ParameterError
        If a value is invalid: "The 'k' parameter of mondrian must be an int >= 2. Got 0."
    """
    for name, constraint in constraints.items():
        # One parameter at a time, so that the message names the first invalid one.
        value = parameters[name]
        if not constraint.accepts(value):
            hint = did_you_mean(value, _words_of(constraint)) if isinstance(value, str) else ""
            raise ParameterError.refusing(owner, name, constraint, got=format_value(value), hint=hint)


def format_value(value: object) -> str:
    """Format a value for a message: text and numbers by value, other objects by type."""
    return repr(value) if isinstance(value, _SPOKEN) else type(value).__name__


def _words_of(constraint: Constraint) -> tuple[str, ...]:
    """List the words that a constraint allows, if it is a list of words."""
    # An optional constraint allows the words of its inner one.
    inner = constraint.constraint if isinstance(constraint, Optional) else constraint
    return inner.options if isinstance(inner, OneOf) else ()
