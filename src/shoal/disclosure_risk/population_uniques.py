"""Estimates of the number of population uniques, by every estimator of `shoal.models.unique_estimates`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.disclosure_risk.figures import Figures
from shoal.models.unique_estimates import SampleHistogram, estimates


@dataclass(frozen=True, kw_only=True)
class PopulationUniques(Figures):
    """Estimated shares of people who are unique in the population; None if a model does not fit the sample."""

    pitman: float | None
    """Pitman's model."""
    zayatz: float
    """Zayatz' estimator."""
    snb: float | None
    """Slide negative binomial model."""
    dankar: float
    """The estimate that the decision rule of Dankar et al. selects."""


def population_uniques(sample: SampleHistogram, p: Fraction) -> PopulationUniques:
    """Compute every estimate for a sample of at least one class; p is the sampling fraction, in (0, 1]."""
    found: dict[str, Any] = estimates(sample, p)
    return PopulationUniques(**found)
