"""The risk that a release carries on average, however it is spread over its groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from shoal._core.validation import RationalIn, exact_fraction, parameter, validate_declared
from shoal.models.base import ReleaseRule, ShareModel
from shoal.models.rationals import json_number, rounded_up

if TYPE_CHECKING:
    from shoal.models.population import Population
    from shoal.models.release_counts import ReleaseCounts

__all__ = ["AverageRisk"]


@dataclass(frozen=True, repr=False)
class AverageRisk(ShareModel):
    """On average over the records, a person who is known to be in the table is found with at most this probability.

    Whoever knows the quasi-identifiers of a person finds the record among those of its group with the probability
    1 / f, f the rows of the group (prosecutor risk). Its average over the n rows is u / n, u the number of groups.
    Single records may carry more: ask for k-anonymity as well to bound that.

    References
    ----------
    K. El Emam, *Guide to the De-Identification of Personal Health Information*, CRC Press 2013, chapter 16.

    Examples
    --------
    >>> AverageRisk(0.05)
    AverageRisk(0.05)
    """

    risk: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(1), low_included=False),
            "Average risk: the largest probability of finding the record of a person known to be in the table, on "
            "average over the records.",
            flag="--average-risk",
            metavar="NUMBER",
        )
    )
    """Largest allowed average, > 0 and <= 1; a float means its decimal number."""

    name: ClassVar[str] = "average risk"
    needs_sensitive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate_declared("AverageRisk", self)

    @property
    def limit(self) -> Fraction:  # noqa: D102
        return exact_fraction(self.risk)

    @property
    def measure(self) -> str:  # noqa: D102
        return "average_risk"

    def ratio(self, release: ReleaseCounts) -> tuple[int, int]:  # noqa: D102
        return release.groups, release.rows

    def release_rules(self, table: Population) -> tuple[ReleaseRule, ...]:  # noqa: D102
        return (ReleaseRule(most_groups=self.limit.numerator * table.rows // self.limit.denominator),)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"model": self.name, "risk": json_number(self.risk)}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        return f"the smallest feasible risk is {rounded_up(Fraction(1, max(table.rows, 1)), 4)}, all rows in one group"
