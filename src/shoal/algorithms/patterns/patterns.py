"""Patterns: combinations of attributes that may be suppressed together.

A pattern is the set of attributes that a row keeps; all others are stars. Users write it as names ("age, gender"), as
a bit string ("110": keep the first two of three), or as a rule for many patterns.
"""

from __future__ import annotations

import csv
import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, lcm
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal._core.outcome import reason_of
from shoal._core.validation import (
    Boolean,
    Constraint,
    Integer,
    Optional,
    RationalIn,
    exact_fraction,
    number_in,
    validate,
)
from shoal._messages import Subject
from shoal.errors import ColumnError, DataError, ParameterError, near_matches

_MAX_PATTERNS = 1 << 14
"""Largest number of patterns of a rule."""
_MAX_COST = 1 << 20
"""Largest cost of a completely suppressed row, in the common unit of the weights."""
_OWNER = "PatternGuided"


@dataclass(frozen=True)
class Patterns:
    """Combinations of attributes that a published row may keep.

    Parameters
    ----------
    kept : iterable of str or of iterable of str
        Each pattern as the names of the attributes that it keeps (a string with commas, or a list), or as a string of
        bits in the order of the quasi-identifiers, with 1 for a kept attribute. "" keeps nothing.

    Examples
    --------
    >>> Patterns(["age, zip", "100", ""]).resolve(["age", "gender", "zip"]).starred.astype(int).tolist()
    [[0, 1, 0], [0, 1, 1], [1, 1, 1]]
    """

    kept: tuple[tuple[str, ...] | str, ...]

    def __init__(self, kept: Iterable[str | Iterable[str]]) -> None:
        if isinstance(kept, str | Mapping) or not isinstance(kept, Iterable):
            raise ParameterError.refusing(
                _OWNER, "patterns", "a list of patterns, ['age, zip', 'age', ''] for example", got=type(kept).__name__
            )
        listed = [pattern.strip() if isinstance(pattern, str) else _validate_names(pattern) for pattern in kept]
        if not listed:
            raise ParameterError(
                Subject(_OWNER, "patterns"),
                " must have at least one pattern. Got an empty list; '' is the pattern that keeps nothing.",
            )
        object.__setattr__(self, "kept", tuple(listed))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Patterns:
        """Read patterns from a file.

        A text file has one pattern per line; an empty line keeps nothing, and a line that starts with # is a comment.
        A `.json` file has a list of patterns, and a `.toml` file has `patterns = [...]`.

        Raises
        ------
        DataError
            If the file cannot be read in its format.
        """
        # The extension decides the format; a text file that starts with a bracket is JSON.
        path = Path(path).expanduser()
        try:
            content = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise DataError(f"'{path}' cannot be read: {reason_of(error)}.") from error
        except UnicodeDecodeError:
            raise DataError(f"'{path.name}' is not text in UTF-8.") from None
        if path.suffix.lower() == ".toml":
            return cls(_require_list(_parse(content, path.name, "TOML").get("patterns"), path.name))
        if path.suffix.lower() == ".json" or content.lstrip().startswith("["):
            return cls(_require_list(_parse(content, path.name, "JSON"), path.name))
        return cls([line for line in content.splitlines() if not line.startswith("#")])

    def resolve(self, attributes: Sequence[str]) -> ResolvedPatterns:
        """Resolve the patterns for given attributes.

        Raises
        ------
        ColumnError
            If a pattern names an unknown attribute.
        ParameterError
            If a bit string has a wrong length, or if a pattern is listed twice.
        """
        starred = np.ones((len(self.kept), len(attributes)), dtype=np.bool_)
        seen: dict[bytes, int] = {}
        for number, pattern in enumerate(self.kept, start=1):
            row = starred[number - 1]
            if isinstance(pattern, str) and pattern and set(pattern) <= {"0", "1"} and pattern not in attributes:
                if len(pattern) != len(attributes):
                    raise ParameterError(
                        f"Pattern {number} has {len(pattern)} bits, but there are {len(attributes)} quasi-identifiers: "
                        f"{', '.join(attributes)}."
                    )
                row[:] = [bit == "0" for bit in pattern]
            else:
                for name in _split_names(pattern):
                    if name not in attributes:
                        raise ColumnError(
                            f"Pattern {number} keeps '{name}', which is not a quasi-identifier. "
                            f"{near_matches(name, attributes)}"
                        )
                    row[attributes.index(name)] = False
            # Two patterns with the same attributes are an error.
            first = seen.setdefault(row.tobytes(), number)
            if first != number:
                raise ParameterError(f"Pattern {number} is the same as pattern {first}. Remove one of them.")
        return ResolvedPatterns(attributes=tuple(attributes), starred=starred)

    def describe(self) -> list[str]:
        """Return the patterns as they appear in a certificate."""
        return [pattern if isinstance(pattern, str) else ", ".join(pattern) for pattern in self.kept]

    def __repr__(self) -> str:
        return f"Patterns({len(self.kept)})"


@dataclass(frozen=True, kw_only=True)
class PatternRule:
    """A rule that describes many patterns.

    Examples
    --------
    >>> PatternRule(most_stars=1, all_star=False).resolve(["age", "zip"]).starred.astype(int).tolist()
    [[0, 0], [1, 0], [0, 1]]
    """

    most_stars: int | None = None
    """Largest number of stars of a pattern; None allows any number."""
    keeping: tuple[str, ...] = ()
    """Attributes that every pattern keeps."""
    all_star: bool = True
    """If True, the pattern that keeps nothing is added, so that a release always exists."""

    def __post_init__(self) -> None:
        constraints: dict[str, Constraint] = {
            "most_stars": Optional(Integer(low=0)),
            "all_star": Boolean(),
        }
        validate("PatternRule", {"most_stars": self.most_stars, "all_star": self.all_star}, constraints)
        keeping: object = self.keeping
        if isinstance(keeping, str):
            raise ParameterError.refusing("PatternRule", "keeping", "a list of names", got="a text")
        object.__setattr__(self, "keeping", tuple(self.keeping))

    def resolve(self, attributes: Sequence[str]) -> ResolvedPatterns:
        """Resolve the rule for given attributes, with the fewest stars first.

        Raises
        ------
        ColumnError
            If an attribute to keep is unknown.
        ParameterError
            If there are too many patterns.
        """
        for name in self.keeping:
            if name not in attributes:
                raise ColumnError(f"'{name}' is not a quasi-identifier. {near_matches(name, attributes)}")
        # Count the patterns before listing them.
        # Attributes that may be starred; the pattern of all stars is added if it is not listed yet.
        free = [a for a, name in enumerate(attributes) if name not in self.keeping]
        most = len(free) if self.most_stars is None else min(self.most_stars, len(free))
        count = sum(comb(len(free), stars) for stars in range(most + 1))
        if count > _MAX_PATTERNS:
            raise ParameterError(
                f"There are {count} patterns with at most {most} stars on {len(free)} attributes, more than "
                f"{_MAX_PATTERNS}. Allow fewer stars (most_stars), keep more attributes, or list the patterns."
            )
        chosen = [stars for size in range(most + 1) for stars in combinations(free, size)]
        everything = tuple(range(len(attributes)))
        if self.all_star and everything not in chosen:
            chosen.append(everything)
        starred = np.zeros((len(chosen), len(attributes)), dtype=np.bool_)
        for row, stars in zip(starred, chosen, strict=True):
            row[list(stars)] = True
        return ResolvedPatterns(attributes=tuple(attributes), starred=starred)

    def describe(self) -> dict[str, Any]:
        """Return the rule as it appears in a certificate."""
        return {"most_stars": self.most_stars, "keeping": list(self.keeping), "all_star": self.all_star}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ResolvedPatterns:
    """Patterns over the quasi-identifiers of a table."""

    attributes: tuple[str, ...]
    starred: NDArray[np.bool_]
    """Attributes that each pattern stars, shape (patterns, attributes); all rows differ."""

    def costs(self, weights: Mapping[str, Real | float] | None) -> tuple[NDArray[np.int64], int]:
        """Compute the cost of a row under each pattern, in integers.

        Parameters
        ----------
        weights : mapping of str to number, optional
            Cost of a star in each attribute, > 0; 1 by default.

        Returns
        -------
        costs : int64 array of shape (patterns,)
            Cost of a row under each pattern.
        unit : int
            Cost of a star with weight 1.

        Raises
        ------
        ParameterError
            If a weight is missing, is not a positive number, or has too many digits for exact sums.
        """
        # In multiples of the least common denominator, all costs are integers.
        exact = [Fraction(1)] * len(self.attributes) if weights is None else self._weights(weights)
        unit = lcm(*(weight.denominator for weight in exact))
        whole = [int(weight * unit) for weight in exact]
        if sum(whole) > _MAX_COST:
            raise ParameterError(
                f"The weights of {_OWNER} have too many digits: in their common unit they add up to more than "
                f"{_MAX_COST}. Round them."
            )
        return (self.starred @ np.array(whole, dtype=np.int64)).astype(np.int64), unit

    def _weights(self, weights: Mapping[str, Real | float]) -> list[Fraction]:
        """Validate the weights; return them in the order of the attributes."""
        if not isinstance(weights, Mapping):
            raise ParameterError(
                Subject(_OWNER, "weights"),
                f" must map every quasi-identifier to a number. Got {type(weights).__name__}.",
            )
        # Every attribute has a weight, and nothing else has one.
        for name in weights:
            if name not in self.attributes:
                raise ColumnError(
                    f"There is a weight for '{name}', which is not a quasi-identifier. "
                    f"{near_matches(str(name), self.attributes)}"
                )
        missing = [name for name in self.attributes if name not in weights]
        if missing:
            raise ParameterError(
                Subject(_OWNER, "weights"),
                f" misses {', '.join(repr(name) for name in missing)}. Give every quasi-identifier a "
                "weight; 1 is the usual one.",
            )
        constraint = RationalIn(low=Fraction(0), low_included=False)
        for name in self.attributes:
            if not constraint.accepts(weights[name]):
                raise ParameterError(f"The weight of '{name}' must be ", constraint, f". Got {weights[name]!r}.")
        return [exact_fraction(weights[name]) for name in self.attributes]


def parse_weights(text: str) -> dict[str, Any]:
    """Parse weights such as "age=2, zip=1/2".

    Examples
    --------
    >>> parse_weights("age=2, zip=1/2")
    {'age': 2, 'zip': Fraction(1, 2)}
    """
    pairs = [part.partition("=") for part in text.split(",")]
    return {name.strip(): number_in(number.strip()) for name, _, number in pairs}


def _validate_names(pattern: object) -> tuple[str, ...]:
    """Validate that a pattern is an iterable of names; return the names."""
    entries = tuple(pattern) if isinstance(pattern, Iterable) else (None,)
    if not all(isinstance(name, str) for name in entries):
        raise ParameterError(
            f"A pattern must be a text or a list of names of attributes. Got {type(pattern).__name__}."
        )
    return entries


def _split_names(pattern: str | tuple[str, ...]) -> list[str]:
    """Split a pattern into the attributes that it keeps; names with a comma must be quoted."""
    if not isinstance(pattern, str):
        return list(pattern)
    try:
        fields = next(csv.reader([pattern], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise ParameterError("The quotation marks of a pattern do not match.") from None
    return [name for field in fields if (name := field.strip())]


def _parse(content: str, name: str, kind: str) -> Any:
    try:
        return json.loads(content) if kind == "JSON" else tomllib.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"'{name}' is not {kind}: {error}.") from None


def _require_list(found: Any, name: str) -> list[Any]:
    if not isinstance(found, list):
        raise DataError(f'\'{name}\' must hold a list of patterns (in TOML: patterns = ["age, zip", ""]).')
    return found
