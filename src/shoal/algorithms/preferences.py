"""Preferences of the publisher beyond privacy: weights of attributes, limits of levels, a limit of suppressed rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from math import gcd, lcm
from types import MappingProxyType
from typing import Any

from shoal._core.facts import Fact
from shoal._core.validation import Integer, RationalIn, exact_fraction, format_value, parameters_of
from shoal._messages import Subject
from shoal.errors import ColumnError, ParameterError, near_matches

PREFERENCES = ("weights", "limits", "suppression_limit")
"""Parameter names of the preferences."""

MAX_COPIES = 64
"""Largest number of columns, with repetitions, that stand for weights; the time of a search grows with it."""
_NONE: Mapping[str, Any] = MappingProxyType({})
_WEIGHT = RationalIn(low=Fraction(0), low_included=False)
_LEVEL = Integer(low=0)
SUPPRESSION_LIMIT = "suppression_limit"
"""Name of the parameter of algorithms that limit the share of suppressed rows."""


@dataclass(frozen=True, kw_only=True)
class Preferences:
    """Preferences of the publisher. Algorithms that cannot serve one of them are refused with a reason."""

    names: tuple[str, ...] = ()
    """Names of the quasi-identifiers."""
    weights: Mapping[str, Fraction] = field(default_factory=lambda: _NONE)
    """Weight of the loss of each attribute, > 0; attributes that are not listed have weight 1."""
    limits: Mapping[str, tuple[int, int]] = field(default_factory=lambda: _NONE)
    """Lowest and highest hierarchy level at which each attribute may be published."""
    suppression_limit: object = None
    """Largest share of rows that may be suppressed, from 0 to 1; None if there is no such preference."""
    of_given_levels: bool = True
    """Whether all limits are of levels that the request defines, not of hierarchies that are built automatically."""

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        *,
        weights: object = None,
        limits: object = None,
        suppression_limit: object = None,
        with_levels: Collection[str] | None = None,
    ) -> Preferences:
        """Validate preferences.

        Parameters
        ----------
        names : sequence of str
            Names of the quasi-identifiers.
        weights, limits, suppression_limit
            The parameters of `shoal.anonymize`.
        with_levels : collection of str, optional
            Names of the quasi-identifiers whose levels the request defines; None: all.

        Raises
        ------
        UsageError
            If a column is not a quasi-identifier, a weight is not a number above 0, or a limit is not a pair of levels.
        """
        # Weights are kept as exact fractions.
        found_weights, found_limits = {}, {}
        for name, weight in _validate_mapping("weights", weights, names):
            if not _WEIGHT.accepts(weight):
                raise ParameterError.refusing("anonymize", "weights", "numbers > 0", got=format_value(weight))
            found_weights[name] = exact_fraction(weight)  # type: ignore[arg-type]
        # A limit is a pair of levels, the lowest and the highest.
        for name, pair in _validate_mapping("limits", limits, names):
            levels = tuple(pair) if isinstance(pair, list | tuple) else ()
            if len(levels) != 2 or not all(map(_LEVEL.accepts, levels)) or levels[0] > levels[1]:
                raise ParameterError.refusing(
                    "anonymize",
                    "limits",
                    "pairs of levels, the lowest and the highest, from 0 on",
                    got=format_value(pair),
                )
            found_limits[name] = (int(levels[0]), int(levels[1]))
        return cls(
            names=tuple(names),
            weights=found_weights,
            limits=found_limits,
            suppression_limit=suppression_limit,
            of_given_levels=with_levels is None or set(found_limits) <= set(with_levels),
        )

    def __bool__(self) -> bool:
        """Return True if there is any preference."""
        return bool(self.weights or self.limits or self.suppression_limit is not None)

    @property
    def as_fact(self) -> Fact | None:
        """The kinds of preferences, for certificates; None if there are none."""
        requested = {
            "weights": self.weights,
            "limits": self.limits,
            "suppression_limit": self.suppression_limit is not None,
        }
        kinds = [Fact(code) for code in requested if requested[code]]
        return reduce(lambda one, other: Fact("both", one=one, other=other), kinds) if kinds else None

    def apply_to(self, algorithm: Any) -> Any:
        """Return a copy of an algorithm in which the preferences replace its parameters of the same name."""
        own: dict[str, Any] = {}
        if self.suppression_limit is not None:
            own[SUPPRESSION_LIMIT] = self.suppression_limit
        # Attributes that are not listed have weight 1.
        if self.weights and "weights" in parameters_of(algorithm):
            own["weights"] = {name: self.weights.get(name, Fraction(1)) for name in self.names}
        return replace(algorithm, **own) if own else algorithm

    @property
    def copies(self) -> tuple[int, ...] | None:
        """How often each quasi-identifier is repeated so that a sum over columns has these weights.

        None if that needs more than `MAX_COPIES` columns. The weights then are not small multiples of one another.

        Examples
        --------
        >>> Preferences.of(["age", "zip"], weights={"age": 1.5}).copies
        (3, 2)
        """
        weights = [self.weights.get(name, Fraction(1)) for name in self.names]
        # The common unit of all weights is their greatest common divisor.
        denominator = lcm(*(weight.denominator for weight in weights))
        whole = [int(weight * denominator) for weight in weights]
        unit = gcd(*whole) or 1
        copies = tuple(number // unit for number in whole)
        return copies if sum(copies) <= MAX_COPIES else None

    def check_heights(self, heights: Mapping[str, int]) -> None:
        """Check the limits against the heights of the hierarchies.

        Raises
        ------
        ParameterError
            If a limit is above the highest level.
        """
        for name, (_, highest) in self.limits.items():
            if highest > heights[name]:
                raise ParameterError(
                    Subject("anonymize", "limits"),
                    f" names level {highest} of '{name}', whose levels go from 0 (its values) to {heights[name]} (a "
                    "star). Name one of these.",
                )

    def to_dict(self) -> dict[str, Any]:
        """Return the weights and limits for a certificate; keys without a preference are left out."""
        stated: dict[str, Any] = {}
        if self.weights:
            stated["weights"] = {
                name: int(weight) if weight.denominator == 1 else float(weight) for name, weight in self.weights.items()
            }
        if self.limits:
            stated["limits"] = {name: list(pair) for name, pair in self.limits.items()}
        return stated


NO_PREFERENCES = Preferences()
"""The absence of any preference."""


def _validate_mapping(parameter: str, given: object, names: Sequence[str]) -> list[tuple[str, object]]:
    """Validate that a parameter maps quasi-identifiers to something; return the items."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise ParameterError.refusing("anonymize", parameter, "a mapping of names of columns", got=type(given).__name__)
    for name in given:
        if name not in names:
            raise ColumnError(
                Subject("anonymize", parameter),
                f" names the column '{name}', which is not a quasi-identifier. {near_matches(str(name), names)}",
            )
    return list(given.items())
