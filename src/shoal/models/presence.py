"""Models that compare a release with a population: k-map and delta-presence."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar

from shoal._core.validation import (
    Integer,
    Optional,
    RationalIn,
    exact_fraction,
    find_rounded,
    parameter,
    validate_declared,
)
from shoal._messages import Audience, Suggestion
from shoal.errors import InternalError, ParameterError
from shoal.models.anonymity import KAnonymity
from shoal.models.base import PrivacyModel, ReleaseRule, TableModel
from shoal.models.poisson import smallest_class
from shoal.models.population import Population
from shoal.models.population_table import PopulationTable
from shoal.models.rationals import json_number, round_down, round_up
from shoal.models.release_counts import PeopleCounts, ReleaseCounts
from shoal.models.uniqueness import SAMPLING_FRACTION

_POPULATION = parameter(
    None,
    "A table of the whole population, including the people of the input table, with the same quasi-identifiers.",
    flag="--population",
    metavar="FILE",
)
_DIGITS = 4


def _people(release: ReleaseCounts) -> PeopleCounts:
    if release.people is None:
        raise InternalError("a model that refers to a population needs the counts of its members")
    return release.people


@dataclass(frozen=True, repr=False)
class KMap(TableModel):
    """k-map: every group matches at least k members of the population, whether they are in the table or not.

    If the population is given, its members are counted: F >= k, where F is the number of members that match the cells
    of a group. If all cells of a group are stars, F counts the members that match no other group. If only the sampling
    fraction p is known, the model becomes k'-anonymity: a population class of fewer than k members contributes k' or
    more rows to a sample in which it occurs with probability at most `significance`. Here k' is the smallest number
    with P(X >= k' | X >= 1) <= significance, for X Poisson with mean p k; it is at least 2 if k is, and at most k,
    because a group of k rows fits k members.

    References
    ----------
    L. Sweeney, "k-anonymity: a model for protecting privacy", IJUFKS 10(5), 2002. doi:10.1142/S0218488502001648
    K. El Emam and F. K. Dankar, "Protecting privacy using k-anonymity", JAMIA 15(5), 2008. doi:10.1197/jamia.M2716

    Examples
    --------
    >>> KMap(20, sampling_fraction=0.1).parts
    (KMap(20, sampling_fraction=0.1) as KAnonymity(7),)
    """

    k: int = field(
        metadata=parameter(
            Integer(low=1),
            "k-map, with --population or --sampling-fraction: the minimum number of people who match each group.",
            flag="--k-map",
            metavar="NUMBER",
        )
    )
    """Smallest number of population members that match a group, >= 1."""
    population: Any = field(default=None, metadata=_POPULATION)
    """A frame or a path with one row per member and the quasi-identifiers before any recoding."""
    sampling_fraction: Real | float | None = field(
        default=None,
        metadata=parameter(
            Optional(SAMPLING_FRACTION["parameter"].constraint),  # type: ignore[arg-type]
            SAMPLING_FRACTION["parameter"].help,
            flag="--sampling-fraction",
            metavar="SHARE",
        ),
    )
    """Share of the population that is in the table, > 0 and <= 1; an alternative to `population`."""
    significance: Real | float = field(
        default=0.01,
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(99, 100), low_included=False),
            "The allowed error probability of the estimated k-map for a group; 0.01 by default.",
            flag="--significance",
            metavar="NUMBER",
        ),
    )
    """With `sampling_fraction`: the allowed error probability for a group, > 0 and <= 0.99."""

    name: ClassVar[str] = "k-map"
    needs_sensitive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate_declared("KMap", self)
        # Exactly one description of the population is required.
        if (self.population is None) == (self.sampling_fraction is None):
            known = "none of the two" if self.population is None else "both"
            raise ParameterError(
                "k-map needs to know the population: give the table of it with ",
                Suggestion("population", owner="KMap"),
                ", or the share of it that is in the table with ",
                Suggestion("sampling_fraction", owner="KMap"),
                f". Got {known}.",
            )
        if self.population is not None:
            object.__setattr__(self, "population", PopulationTable.of(self.population, "KMap"))

    @property
    def parts(self) -> tuple[PrivacyModel, ...]:  # noqa: D102
        # With a population table, the model is checked as it is.
        if self.sampling_fraction is None:
            return (self,)
        # Without one, k-map follows from k'-anonymity with the error probability that the user allows.
        p, a = exact_fraction(self.sampling_fraction), exact_fraction(self.significance)
        return (_InferredAnonymity(k=smallest_class(int(self.k), p, a), requested=self),)

    def satisfied(self, release: ReleaseCounts) -> bool:  # noqa: D102
        return self._fewest(release) >= self.k

    def _fewest(self, release: ReleaseCounts) -> int:
        return min(people for _, people in _people(release).counted)

    def measure(self, release: ReleaseCounts) -> dict[str, Any]:  # noqa: D102
        return {"k_map": self._fewest(release)}

    def describe(self, release: ReleaseCounts) -> str:  # noqa: D102
        fewest = self._fewest(release)
        people = "1 person" if fewest == 1 else f"{fewest:,} people"
        return f"the cells of some group fit {people} of the population only"

    @property
    def people(self) -> PopulationTable | None:  # noqa: D102
        return self.population if isinstance(self.population, PopulationTable) else None

    def release_rules(self, table: Population) -> tuple[ReleaseRule, ...]:  # noqa: D102
        return (ReleaseRule(min_people=int(self.k)),)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        parameters: dict[str, Any] = {"model": self.name, "k": int(self.k)}
        if self.sampling_fraction is None:
            return parameters | {"population": True}
        numbers = {"sampling_fraction": self.sampling_fraction, "significance": self.significance}
        parameters |= {name: json_number(value) for name, value in numbers.items()}
        return parameters | {"least_group": next(part.k for part in self.parts)}  # type: ignore[attr-defined]

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        return "the population has fewer people than that"


@dataclass(frozen=True, repr=False)
class _InferredAnonymity(KAnonymity):
    """k'-anonymity, from which k-map is inferred."""

    requested: KMap | None = None

    @property
    def words(self) -> str:
        assert self.requested is not None
        return f"{self.requested.words}, for which every group needs {self.k} records"

    def render(self, audience: Audience) -> str:
        assert self.requested is not None
        return f"{self.requested.render(audience)}, for which every group needs {self.k} records"

    def to_dict(self) -> dict[str, Any]:
        # Certificates state the requested model, not the inferred one.
        assert self.requested is not None
        return self.requested.to_dict()

    def __repr__(self) -> str:
        return f"{self.requested!r} as KAnonymity({self.k})"


@dataclass(frozen=True, repr=False)
class DeltaPresence(TableModel):
    """delta-presence: for every population member, the probability of being in the release is between two bounds.

    For the members that match a group this probability is f / F, where f is the number of rows of the group and F the
    number of members that match it. For members that match no group it is 0. If all cells of a group are stars, F
    counts the members that match no other group. A release in which a member matches several groups is always refused,
    because the counts do not determine the probabilities.

    References
    ----------
    M. E. Nergiz, M. Atzori and C. Clifton, "Hiding the presence of individuals from shared databases", SIGMOD 2007.
    doi:10.1145/1247480.1247554

    Examples
    --------
    >>> DeltaPresence(low=0, high=0.5, population="registry.csv")
    DeltaPresence(low=0, high=0.5, population='registry.csv')
    """

    low: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(1)),
            "Delta-presence, with --presence-high: the smallest allowed probability that a person of the population "
            "is in the table.",
            flag="--presence-low",
            metavar="NUMBER",
        ),
    )
    """Smallest allowed f / F, >= 0 and <= high."""
    high: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(1), low_included=False),
            "Delta-presence, with --population: the largest probability that a person of it is in the table.",
            flag="--presence-high",
            metavar="NUMBER",
        )
    )
    """Largest allowed f / F, > 0 and <= 1; a float denotes its decimal number."""
    population: Any = field(metadata=_POPULATION)
    """A frame or a path with one row per member and the quasi-identifiers before any recoding."""

    name: ClassVar[str] = "delta-presence"
    needs_sensitive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate_declared("DeltaPresence", self)
        if exact_fraction(self.low) > exact_fraction(self.high):
            raise ParameterError.refusing("DeltaPresence", "low", "at most high", got=str(self.low))
        if self.population is None:
            raise ParameterError(
                "delta-presence needs the table of the population: give ",
                Suggestion("population", owner="DeltaPresence"),
                ".",
            )
        object.__setattr__(self, "population", PopulationTable.of(self.population, "DeltaPresence"))

    @property
    def _bounds(self) -> tuple[Fraction, Fraction]:
        return exact_fraction(self.low), exact_fraction(self.high)

    @staticmethod
    def _presence(people: PeopleCounts) -> tuple[Fraction, Fraction]:
        # f / F of each group, as exact fractions: the bounds are compared without rounding.
        shares = [Fraction(rows, big) for rows, big in people.counted]
        # Members outside of all groups have probability 0.
        return (Fraction(0) if people.outside else min(shares)), max(shares)

    def satisfied(self, release: ReleaseCounts) -> bool:  # noqa: D102
        people = _people(release)
        # Fewer members than rows mean that the population does not contain the table.
        if people.overlapping or any(big < rows for rows, big in people.counted):
            return False
        (low, high), (least, greatest) = self._bounds, self._presence(people)
        return low <= least and greatest <= high

    def measure(self, release: ReleaseCounts) -> dict[str, Any]:  # noqa: D102
        people = _people(release)
        # No probabilities are defined in this case.
        if people.overlapping or any(big < rows for rows, big in people.counted):
            return {"delta_presence": None}
        least, greatest = self._presence(people)
        return {"delta_presence": {"low": round_down(least, _DIGITS), "high": round_up(greatest, _DIGITS)}}

    def describe(self, release: ReleaseCounts) -> str:  # noqa: D102
        measured = self.measure(release)["delta_presence"]
        if measured is None:
            return "people fit several groups, or fewer people fit a group than it has rows"
        return f"it is from {measured['low']} to {measured['high']}{self._rounded}"

    @property
    def people(self) -> PopulationTable | None:  # noqa: D102
        return self.population if isinstance(self.population, PopulationTable) else None

    def release_rules(self, table: Population) -> tuple[ReleaseRule, ...]:  # noqa: D102
        return (ReleaseRule(presence=self._bounds),)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"model": self.name, "low": json_number(self.low), "high": json_number(self.high), "population": True}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        return f"the share of the population that is in the table lies outside of these bounds{self._rounded}"

    @property
    def _rounded(self) -> str:
        """Advice if a bound is a float that was rounded from a fraction, which a share may meet exactly."""
        exact = {name: find_rounded(getattr(self, name)) for name in ("low", "high")}
        return "".join(
            f"; write {name}=Fraction({one.numerator}, {one.denominator}), because a float is not exactly {one}"
            for name, one in exact.items()
            if one is not None
        )
