"""Models that bound the share of unique records, in the release or in the population."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.validation import RationalIn, exact_fraction, parameter, validate_declared
from shoal.models.base import ReleaseRule, ShareModel
from shoal.models.population import Population
from shoal.models.rationals import json_number
from shoal.models.release_counts import ReleaseCounts
from shoal.models.unique_estimates import SampleHistogram, estimates

SAMPLING_FRACTION = parameter(
    RationalIn(low=Fraction(0), high=Fraction(1), low_included=False),
    "The share of the population that is in the table (0.01, 1/100).",
    flag="--sampling-fraction",
    metavar="SHARE",
)
"""Declaration of the sampling fraction, shared by several models."""

_ROUNDING = Fraction(1, 10**9)
"""Bound on the relative floating-point error of an estimate; estimates are increased by it."""


@dataclass(frozen=True, repr=False)
class SampleUniqueness(ShareModel):
    """Sample uniqueness: at most this share of the records has unique quasi-identifiers in the release.

    The share is c_1 / n, where c_1 is the number of groups of one row. Other groups may still be small; request
    k-anonymity to bound their size.

    References
    ----------
    G. Chen and S. Keller-McNulty, "Estimation of identification disclosure risk in microdata", Journal of Official
    Statistics 14(1), 1998.

    Examples
    --------
    >>> SampleUniqueness(0.01)
    SampleUniqueness(0.01)
    """

    share: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(1)),
            "Sample uniqueness: the largest share of records whose quasi-identifiers are unique in the release.",
            flag="--sample-uniqueness",
            metavar="SHARE",
        )
    )
    """Largest share of the rows, >= 0 and <= 1; a float denotes its decimal number."""

    name: ClassVar[str] = "sample uniqueness"
    needs_sensitive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate_declared("SampleUniqueness", self)

    @property
    def limit(self) -> Fraction:  # noqa: D102
        return exact_fraction(self.share)

    @property
    def measure_name(self) -> str:  # noqa: D102
        return "sample_uniqueness"

    def ratio(self, release: ReleaseCounts) -> tuple[int, int]:  # noqa: D102
        return release.uniques, release.rows

    def release_rules(self, table: Population) -> tuple[ReleaseRule, ...]:  # noqa: D102
        return (ReleaseRule(max_uniques=self.limit.numerator * table.rows // self.limit.denominator),)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"model": self.name, "share": json_number(self.share)}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        return "the table has a single row, which is unique in any release"


@dataclass(frozen=True, repr=False)
class PopulationUniqueness(ShareModel):
    """Population uniqueness: at most this share of the population is estimated to be unique.

    The estimate is the one that performed best in the simulations of Dankar et al.: Pitman's model up to a sampling
    fraction of 0.1, otherwise the smaller of Zayatz' estimate and the slide negative binomial model. If a model does
    not fit, Zayatz' estimate is used. Merging groups may increase the estimate. It is an estimate, not a bound: see
    `shoal.risk` for its assumptions.

    References
    ----------
    F. K. Dankar, K. El Emam, A. Neisa and T. Roffey, "Estimating the re-identification risk of clinical data sets", BMC
    Medical Informatics and Decision Making 12:66, 2012. doi:10.1186/1472-6947-12-66

    Examples
    --------
    >>> PopulationUniqueness(0.001, sampling_fraction=0.05)
    PopulationUniqueness(share=0.001, sampling_fraction=0.05)
    """

    share: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(1)),
            "Population uniqueness, with --sampling-fraction: the largest estimated share of people who are alone in "
            "the population.",
            flag="--population-uniqueness",
            metavar="SHARE",
        )
    )
    """Largest estimated share of the population, >= 0 and <= 1; a float denotes its decimal number."""
    sampling_fraction: Real | float = field(metadata=SAMPLING_FRACTION)
    """Share of the population that is in the table, > 0 and <= 1."""

    name: ClassVar[str] = "population uniqueness"
    needs_sensitive: ClassVar[bool] = False
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate_declared("PopulationUniqueness", self)

    @property
    def limit(self) -> Fraction:  # noqa: D102
        return exact_fraction(self.share)

    @property
    def measure_name(self) -> str:  # noqa: D102
        return "population_uniqueness"

    def ratio(self, release: ReleaseCounts) -> tuple[int, int]:
        """Return the estimate, increased by a bound on its floating-point error."""
        p = exact_fraction(self.sampling_fraction)
        if p == 1:  # every estimate is that, exactly
            return release.uniques, release.rows
        # The histogram in ascending order of sizes, as the estimators expect.
        sizes = np.array(sorted(release.sizes), dtype=np.int64)
        counts = np.array([release.sizes[int(size)] for size in sizes], dtype=np.int64)
        # Estimates above 1 are cut, because they are shares.
        found = Fraction(estimates(SampleHistogram(sizes=sizes, counts=counts), p)["dankar"] or 0.0)
        cautious = min(found * (1 + _ROUNDING), Fraction(1))
        return cautious.numerator, cautious.denominator

    def release_rules(self, table: Population) -> tuple[ReleaseRule, ...]:  # noqa: D102
        return (ReleaseRule(sizes=self._accepts),)

    def _accepts(self, sizes: NDArray[np.int64]) -> bool:
        return self.satisfied(ReleaseCounts.of(sizes))

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        parameters = {"share": self.share, "sampling_fraction": self.sampling_fraction}
        return {"model": self.name, **{name: json_number(value) for name, value in parameters.items()}}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        return "ask for a larger share"
