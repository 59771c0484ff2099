"""Patterns: which combinations of attributes may be suppressed together.

A pattern is the set of attributes that a row keeps; all others are stars. Users write it as names ("age, gender"), as
a bit string ("110": keep the first two of three), or give a rule that stands for many.
"""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, lcm
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

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

if TYPE_CHECKING:
    import os
    from numbers import Real

    from numpy.typing import NDArray

__all__ = ["PatternRule", "Patterns", "ResolvedPatterns", "weights_in"]

_MOST_PATTERNS = 1 << 14
_LARGEST_COST = 1 << 20
_OWNER = "PatternGuided"


@dataclass(frozen=True)
class Patterns:
    """Combinations of attributes that a published row may keep.

    Parameters
    ----------
    kept : iterable of str or of iterable of str
        Each pattern as the names of the attributes that it keeps (a text with commas, or a list), or as a string of
        bits in the order of the quasi-identifiers, 1 for an attribute that is kept. "" keeps nothing.

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
        listed = [pattern.strip() if isinstance(pattern, str) else _entries(pattern) for pattern in kept]
        if not listed:
            raise ParameterError(
                Subject(_OWNER, "patterns"),
                " must have at least one pattern. Got an empty list; '' is the pattern that keeps nothing.",
            )
        object.__setattr__(self, "kept", tuple(listed))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Patterns:
        """Read patterns from a file.

        A text file has one pattern per line (an empty line keeps nothing; a line that starts with # says nothing); a
        file that ends in `.json` has a list of patterns; one that ends in `.toml` has `patterns = [...]`.

        Raises
        ------
        DataError
            Where the file cannot be read as one of them.
        """
        path = Path(path).expanduser()
        try:
            content = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise DataError(f"'{path}' cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError:
            raise DataError(f"'{path.name}' is not text in UTF-8.") from None
        if path.suffix.lower() == ".toml":
            return cls(_listed(_parsed(content, path.name, "TOML").get("patterns"), path.name))
        if path.suffix.lower() == ".json" or content.lstrip().startswith("["):
            return cls(_listed(_parsed(content, path.name, "JSON"), path.name))
        return cls([line for line in content.splitlines() if not line.startswith("#")])

    def resolve(self, attributes: Sequence[str]) -> ResolvedPatterns:
        """Return the patterns as stars over the attributes.

        Raises
        ------
        ColumnError
            Where a pattern names something that is no attribute.
        ParameterError
            Where a bit string has another length, or a pattern is there twice.
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
                for name in _names(pattern):
                    if name not in attributes:
                        raise ColumnError(
                            f"Pattern {number} keeps '{name}', which is no quasi-identifier. "
                            f"{near_matches(name, attributes)}"
                        )
                    row[attributes.index(name)] = False
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
    """A rule that stands for many patterns.

    Examples
    --------
    >>> PatternRule(most_stars=1, all_star=False).resolve(["age", "zip"]).starred.astype(int).tolist()
    [[0, 0], [1, 0], [0, 1]]
    """

    most_stars: int | None = None
    """Patterns with at most so many stars; None: any number."""
    keeping: tuple[str, ...] = ()
    """Attributes that these patterns keep."""
    all_star: bool = True
    """Whether the pattern that keeps nothing is one of them, so that a release always exists."""

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
        """Return the patterns as stars over the attributes, fewest stars first.

        Raises
        ------
        ColumnError
            Where an attribute to keep is unknown.
        ParameterError
            Where there are too many patterns to try them all.
        """
        for name in self.keeping:
            if name not in attributes:
                raise ColumnError(f"'{name}' is no quasi-identifier. {near_matches(name, attributes)}")
        free = [a for a, name in enumerate(attributes) if name not in self.keeping]
        most = len(free) if self.most_stars is None else min(self.most_stars, len(free))
        count = sum(comb(len(free), stars) for stars in range(most + 1))
        if count > _MOST_PATTERNS:
            raise ParameterError(
                f"There are {count} patterns with at most {most} stars on {len(free)} attributes, more than "
                f"{_MOST_PATTERNS}. Allow fewer stars (most_stars), keep more attributes, or list the patterns."
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
    """Which attributes each pattern stars, shape (patterns, attributes); no row twice."""

    def costs(self, weights: Mapping[str, Real | float] | None) -> tuple[NDArray[np.int64], int]:
        """Return what a row costs under each pattern, as whole numbers, and their common unit.

        Parameters
        ----------
        weights : mapping of str to number, optional
            What a star in each attribute costs, > 0; 1 by default.

        Returns
        -------
        costs : int64 array of shape (patterns,)
        unit : int
            A star of weight 1 costs so much.

        Raises
        ------
        ParameterError
            Where a weight is missing, is no positive number, or has too many digits to be added exactly.
        """
        exact = [Fraction(1)] * len(self.attributes) if weights is None else self._weights(weights)
        unit = lcm(*(weight.denominator for weight in exact))
        whole = [int(weight * unit) for weight in exact]
        if sum(whole) > _LARGEST_COST:
            raise ParameterError(
                f"The weights of {_OWNER} have too many digits: in their common unit they add up to more than "
                f"{_LARGEST_COST}. Round them."
            )
        return (self.starred @ np.array(whole, dtype=np.int64)).astype(np.int64), unit

    def _weights(self, weights: Mapping[str, Real | float]) -> list[Fraction]:
        if not isinstance(weights, Mapping):
            raise ParameterError(
                Subject(_OWNER, "weights"),
                f" must map every quasi-identifier to a number. Got {type(weights).__name__}.",
            )
        for name in weights:
            if name not in self.attributes:
                raise ColumnError(
                    f"There is a weight for '{name}', which is no quasi-identifier. "
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

    def __repr__(self) -> str:
        return f"ResolvedPatterns(patterns={len(self.starred)}, attributes={len(self.attributes)})"


def weights_in(text: str) -> dict[str, Any]:
    """Return the weights that a text lists.

    Examples
    --------
    >>> weights_in("age=2, zip=1/2")
    {'age': 2, 'zip': Fraction(1, 2)}
    """
    pairs = [part.partition("=") for part in text.split(",")]
    return {name.strip(): number_in(number.strip()) for name, _, number in pairs}


def _entries(pattern: object) -> tuple[str, ...]:
    """Return the names that a pattern lists."""
    entries = tuple(pattern) if isinstance(pattern, Iterable) else (None,)
    if not all(isinstance(name, str) for name in entries):
        raise ParameterError(
            f"A pattern must be a text or a list of names of attributes. Got {type(pattern).__name__}."
        )
    return entries


def _names(pattern: str | tuple[str, ...]) -> list[str]:
    """Return the attributes that a pattern keeps; names with a comma stand in quotation marks."""
    if not isinstance(pattern, str):
        return list(pattern)
    try:
        fields = next(csv.reader([pattern], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise ParameterError("The quotation marks of a pattern do not match.") from None
    return [name for field in fields if (name := field.strip())]


def _parsed(content: str, name: str, kind: str) -> Any:
    try:
        return json.loads(content) if kind == "JSON" else tomllib.loads(content)
    except ValueError as error:
        raise DataError(f"'{name}' is not {kind}: {error}.") from None


def _listed(found: Any, name: str) -> list[Any]:
    if not isinstance(found, list):
        raise DataError(f'\'{name}\' must hold a list of patterns (in TOML: patterns = ["age, zip", ""]).')
    return found
