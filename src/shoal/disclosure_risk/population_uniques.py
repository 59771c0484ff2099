"""How many people are alone in the population, by every estimate of `shoal.models.unique_estimates`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.disclosure_risk.figures import Figures
from shoal.models.unique_estimates import estimates

if TYPE_CHECKING:
    from fractions import Fraction

    from shoal.models.unique_estimates import SampleHistogram

__all__ = ["PopulationUniques", "population_uniques"]


@dataclass(frozen=True, kw_only=True)
class PopulationUniques(Figures):
    """Estimated shares of people who are alone in the population; None where a model does not fit the sample."""

    pitman: float | None
    """By Pitman's model."""
    zayatz: float
    """By Zayatz' estimate."""
    snb: float | None
    """By the slide negative binomial model."""
    dankar: float
    """The one of these that the rule of Dankar et al. takes."""


def population_uniques(sample: SampleHistogram, p: Fraction) -> PopulationUniques:
    """Return every estimate for a sample of at least one class; p is the sampling fraction, in (0, 1]."""
    found: dict[str, Any] = estimates(sample, p)
    return PopulationUniques(**found)
