"""What is asked of an algorithm beyond privacy: weights of attributes, limits of levels, a limit of suppressed rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from shoal._core.facts import Fact
from shoal._core.validation import Integer, RationalIn, exact_fraction, parameters_of, spoken
from shoal._messages import Subject
from shoal.errors import ColumnError, ParameterError, near_matches

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NO_PREFERENCES", "PREFERENCES", "SUPPRESSION_LIMIT", "Preferences"]

PREFERENCES = ("weights", "limits", "suppression_limit")
"""What they are called where they are parameters."""

_NONE: Mapping[str, Any] = MappingProxyType({})
_WEIGHT = RationalIn(low=Fraction(0), low_included=False)
_LEVEL = Integer(low=0)
SUPPRESSION_LIMIT = "suppression_limit"


@dataclass(frozen=True, kw_only=True)
class Preferences:
    """What the publisher prefers; an algorithm that cannot serve something of it says so."""

    names: tuple[str, ...] = ()
    """The quasi-identifiers."""
    weights: Mapping[str, Fraction] = field(default_factory=lambda: _NONE)
    """How much the loss of each attribute counts, relative to 1, the weight of those that are not named; each > 0."""
    limits: Mapping[str, tuple[int, int]] = field(default_factory=lambda: _NONE)
    """The lowest and the highest level of its hierarchy at which an attribute may be published."""
    suppression_limit: object = None
    """The largest share of rows that may be suppressed, from 0 to 1; None where nothing was said."""

    @classmethod
    def of(
        cls, names: Sequence[str], *, weights: object = None, limits: object = None, suppression_limit: object = None
    ) -> Preferences:
        """Return what was asked for, checked.

        Parameters
        ----------
        names : sequence of str
            The quasi-identifiers.
        weights, limits, suppression_limit
            As for `shoal.anonymize`.

        Raises
        ------
        UsageError
            A column is no quasi-identifier, a weight no number above 0, or a limit no pair of levels.
        """
        found_weights, found_limits = {}, {}
        for name, weight in _by_column("weights", weights, names):
            if not _WEIGHT.accepts(weight):
                raise ParameterError.refusing("anonymize", "weights", "numbers > 0", got=spoken(weight))
            found_weights[name] = exact_fraction(weight)  # type: ignore[arg-type]
        for name, pair in _by_column("limits", limits, names):
            levels = tuple(pair) if isinstance(pair, list | tuple) else ()
            if len(levels) != 2 or not all(map(_LEVEL.accepts, levels)) or levels[0] > levels[1]:
                raise ParameterError.refusing(
                    "anonymize", "limits", "pairs of levels, the lowest and the highest, from 0 on", got=spoken(pair)
                )
            found_limits[name] = (int(levels[0]), int(levels[1]))
        return cls(names=tuple(names), weights=found_weights, limits=found_limits, suppression_limit=suppression_limit)

    def __bool__(self) -> bool:
        """Return whether anything was asked for."""
        return bool(self.weights or self.limits or self.suppression_limit is not None)

    @property
    def as_fact(self) -> Fact:
        """What was requested, for certificates; something was."""
        requested = {
            "weights": self.weights,
            "limits": self.limits,
            "suppression_limit": self.suppression_limit is not None,
        }
        return reduce(
            lambda one, other: Fact("both", one=one, other=other), (Fact(code) for code in requested if requested[code])
        )

    def served_by(self, algorithm: Any) -> Any:
        """Return an algorithm that can serve them with what of them is a parameter of its own."""
        own: dict[str, Any] = {}
        if self.suppression_limit is not None:
            own[SUPPRESSION_LIMIT] = self.suppression_limit
        if self.weights and "weights" in parameters_of(algorithm):
            own["weights"] = {name: self.weights.get(name, Fraction(1)) for name in self.names}
        return replace(algorithm, **own) if own else algorithm

    def check_heights(self, heights: Mapping[str, int]) -> None:
        """Check limits against how many levels attributes have above their values.

        Raises
        ------
        ParameterError
            A limit is above the last level.
        """
        for name, (_, highest) in self.limits.items():
            if highest > heights[name]:
                raise ParameterError(
                    Subject("anonymize", "limits"),
                    f" names level {highest} of '{name}', whose levels go from 0 (its values) to {heights[name]} (a "
                    "star). Name one of these.",
                )

    def to_dict(self) -> dict[str, Any]:
        """Return weights and limits as they appear in a certificate; what was not asked for is not there."""
        said: dict[str, Any] = {}
        if self.weights:
            said["weights"] = {name: _plain(weight) for name, weight in self.weights.items()}
        if self.limits:
            said["limits"] = {name: list(pair) for name, pair in self.limits.items()}
        return said


NO_PREFERENCES = Preferences()
"""Nothing is preferred."""


def _plain(number: Fraction) -> float | int:
    return int(number) if number.denominator == 1 else float(number)


def _by_column(parameter: str, given: object, names: Sequence[str]) -> list[tuple[str, object]]:
    """Return what was said of each column."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise ParameterError.refusing("anonymize", parameter, "a mapping of names of columns", got=type(given).__name__)
    for name in given:
        if name not in names:
            raise ColumnError(
                Subject("anonymize", parameter),
                f" names the column '{name}', which is no quasi-identifier. {near_matches(str(name), names)}",
            )
    return list(given.items())
