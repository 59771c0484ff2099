"""A model that bounds the average re-identification risk of a release."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar

from shoal._core.validation import RationalIn, exact_fraction, parameter, validate_declared
from shoal.models.base import ReleaseRule, ShareModel
from shoal.models.population import Population
from shoal.models.rationals import json_number, round_up
from shoal.models.release_counts import ReleaseCounts


@dataclass(frozen=True, repr=False)
class AverageRisk(ShareModel):
    """Average risk: on average over the records, a known participant is re-identified with at most this probability.

    An attacker who knows the quasi-identifiers of a person finds that person's record with probability 1 / f, where f
    is the number of rows of its group (prosecutor risk). The average over the n rows is u / n, where u is the number of
    groups. Single records may have a higher risk; request k-anonymity as well to bound it.

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
    """Largest allowed average, > 0 and <= 1; a float denotes its decimal number."""

    name: ClassVar[str] = "average risk"
    needs_sensitive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate_declared("AverageRisk", self)

    @property
    def limit(self) -> Fraction:  # noqa: D102
        return exact_fraction(self.risk)

    @property
    def measure_name(self) -> str:  # noqa: D102
        return "average_risk"

    def ratio(self, release: ReleaseCounts) -> tuple[int, int]:  # noqa: D102
        return release.groups, release.rows

    def release_rules(self, table: Population) -> tuple[ReleaseRule, ...]:  # noqa: D102
        # u / n <= risk bounds the number of groups: u <= risk * n, rounded down.
        return (ReleaseRule(max_groups=self.limit.numerator * table.rows // self.limit.denominator),)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"model": self.name, "risk": json_number(self.risk)}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        return f"the smallest feasible risk is {round_up(Fraction(1, max(table.rows, 1)), 4)}, all rows in one group"
