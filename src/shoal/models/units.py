"""Models that count units such as persons instead of rows: k-anonymity, k-map, average risk."""

# ruff: noqa: D102 - the methods are those of the base class

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.validation import Integer, parameter, validate_declared
from shoal.errors import InternalError
from shoal.models.anonymity import KAnonymity, rare_rows
from shoal.models.average_risk import AverageRisk
from shoal.models.base import GroupCounts, GroupModel, PrivacyModel, ReleaseRule, Rule, RuleKind
from shoal.models.linear import LinearForm
from shoal.models.population import Population
from shoal.models.presence import DeltaPresence, KMap
from shoal.models.rationals import at_most, round_up
from shoal.models.release_counts import ReleaseCounts


@dataclass(frozen=True, repr=False)
class UnitAnonymity(GroupModel):
    """k-anonymity of units: no unit has more than one in k rows of a group, so every group has at least k units.

    This is frequency l-diversity with the unit in place of the sensitive value: r(u, G) / |G| <= 1 / k, where r(u, G)
    is the number of rows of unit u in the group G. The model is monotone, and feasible if and only if no unit has more
    than n / k of all n rows. `KAnonymity(k)` is interpreted in this way if a table has a person column.
    """

    k: int = field(metadata=parameter(Integer(low=1), "Units that every group has at least."))
    """Smallest number of units of a group, >= 1; each unit has at most one in k of its rows."""

    name: ClassVar[str] = "k-anonymity of persons"
    of_units: ClassVar[bool] = True

    def __post_init__(self) -> None:
        validate_declared("UnitAnonymity", self)

    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:
        return at_most(groups.heights, int(self.k), groups.sizes, 1)

    def rules(self, table: Population) -> tuple[Rule, ...]:
        # A k above the number of rows refuses every group. It is capped, so that it fits into 64 bits.
        return (Rule(kind=RuleKind.FREQUENCY, a=min(int(self.k), table.rows + 1), b=1),)

    def to_dict(self) -> dict[str, Any]:
        return {**KAnonymity(self.k).to_dict(), "of": "persons"}

    def best_feasible(self, table: Population) -> str:
        return (
            f"one has {table.height} of the {table.rows} rows, so the largest feasible k is "
            f"{table.rows // table.height}"
        )

    def frequency_form(self) -> tuple[int, Fraction] | None:
        return 1, Fraction(int(self.k))

    @property
    def is_linear(self) -> bool:
        return True

    def linear_form(self, table: Population) -> LinearForm:
        return LinearForm(rows=rare_rows(Fraction(1, int(self.k)), table))

    def necessary_distinct(self) -> int:
        return int(self.k)


@dataclass(frozen=True, repr=False)
class UnitAverageRisk(AverageRisk):
    """Average risk of units: the number of groups over the number of units.

    Choosing one row of a group at random finds a row of unit u with probability r(u, G) / |G|. Summed over all groups,
    this bounds the probability of finding u at all, and the mean of these sums over the units is the number of groups
    divided by that of units. `AverageRisk` is interpreted in this way if a table has a person column.
    """

    def ratio(self, release: ReleaseCounts) -> tuple[int, int]:
        if release.units is None:
            raise InternalError("a model that counts units needs their number")
        return release.groups, release.units

    def measure(self, release: ReleaseCounts) -> dict[str, Any]:
        # Readers do not know the number of units, which certificates must not disclose.
        return {}

    def release_rules(self, table: Population) -> tuple[ReleaseRule, ...]:
        # groups / units <= risk, rounded down.
        return (ReleaseRule(max_groups=self.limit.numerator * table.distinct // self.limit.denominator),)

    def best_feasible(self, table: Population) -> str:
        return (
            f"the smallest feasible risk is {round_up(Fraction(1, max(table.distinct, 1)), 4)}, all rows in one group"
        )


def models_of_units(model: PrivacyModel) -> tuple[PrivacyModel, ...]:
    """Replace a model by the models to check if units are protected: its k then counts units.

    Examples
    --------
    >>> from shoal.models import AlphaKAnonymity, LDiversity
    >>> models_of_units(KAnonymity(5))
    (UnitAnonymity(5),)
    >>> models_of_units(AlphaKAnonymity(0.5, 5))
    (AlphaKAnonymity(alpha=0.5, k=5), UnitAnonymity(5))
    >>> models_of_units(LDiversity(2))
    (LDiversity(2),)
    >>> models_of_units(KMap(20, sampling_fraction=0.1))
    (UnitAnonymity(7),)
    """
    # k = 1 makes the units known to the algorithm and the verification.
    if isinstance(model, AverageRisk):
        return UnitAverageRisk(model.risk), UnitAnonymity(1)
    # k-map by a sampling fraction is k-anonymity, too.
    parts = tuple(UnitAnonymity(part.k) if isinstance(part, KAnonymity) else part for part in model.parts)
    also = isinstance(model, GroupModel) and counts_units(model) and not isinstance(model, KAnonymity)
    return (*parts, UnitAnonymity(model.k)) if also else parts  # type: ignore[attr-defined]


def counts_units(model: PrivacyModel) -> bool:
    """Check if a model counts units once units are protected: a model with a parameter k, or of people in all groups.

    A population has one row per unit, so that the models that compare with it count units.
    """
    # Models of sensitive values are about records.
    return isinstance(model, AverageRisk | KMap | DeltaPresence) or (
        isinstance(model, GroupModel) and hasattr(model, "k")
    )
