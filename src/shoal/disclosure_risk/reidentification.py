"""Prosecutor, journalist and marketer risk, uniques and small classes, k-map and delta-presence: risk by counting.

References
----------
K. El Emam and F. K. Dankar, "Protecting privacy using k-anonymity", Journal of the American Medical Informatics
Association 15(5), 2008. doi:10.1197/jamia.M2716

K. El Emam, *Guide to the De-Identification of Personal Health Information*, CRC Press 2013, chapters 15 and 16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shoal.disclosure_risk.figures import Figures, Threshold
from shoal.models.poisson import estimate_k
from shoal.models.rationals import at_most

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from shoal.disclosure_risk.frequencies import Frequencies

__all__ = [
    "PresenceFigures",
    "KMapFigures",
    "Marketer",
    "Reidentification",
    "delta_presence",
    "journalist_risk",
    "k_map",
    "marketer_risk",
    "prosecutor_risk",
    "reidentification",
    "sample_uniques",
    "share_above",
    "small_classes",
]

ACCEPTABLE = Fraction(1, 5)
"""The risk of re-identification that is taken as acceptable where nobody says another one."""


@dataclass(frozen=True, kw_only=True)
class Reidentification(Threshold):
    """How easily the row of a person who is known to be in a table is found: prosecutor risk and sample uniques."""

    sample_uniques: float
    """Share of the rows that are alone with their quasi-identifiers."""


@dataclass(frozen=True, kw_only=True)
class Marketer(Figures):
    """How many people an adversary finds who tries to find all."""

    average: float
    """Expected share of the rows that are matched with the right person."""


@dataclass(frozen=True, kw_only=True)
class KMapFigures(Figures):
    """The people of the population among whom a row cannot be told apart."""

    k: int | None = None
    """The smallest F of a class, counted; None without the population."""
    estimated: int | None = None
    """The largest k that the smallest class of the sample lets infer, by the Poisson law; None without a sampling
    fraction."""
    estimated_without_zero: int | None = None
    """The same by the Poisson law without zero."""
    significance: float | None = None
    """The error that the estimates are allowed."""


@dataclass(frozen=True, kw_only=True)
class PresenceFigures(Figures):
    """How sure somebody who knows a person of the population can be that the person is in the table."""

    lowest: float
    """The least f / F over the classes of the population; 0 where some people match no class of the table."""
    highest: float
    """The greatest."""


def prosecutor_risk(sample: NDArray[np.int64], rows_of: NDArray[np.int64], threshold: Fraction) -> Threshold:
    """Return the risk of a row whose person is known to be in the table: 1 / f.

    Parameters
    ----------
    sample : int64 array
        f of each class.
    rows_of : int64 array
        Rows of each class: f again where a star is a value of its own.
    threshold : Fraction
        The risk that is still acceptable, above 0.
    """
    rows = int(rows_of.sum())
    return Threshold(
        highest=1 / int(sample.min()),
        average=_mean_of_ratios(rows_of, sample, rows),
        threshold=float(threshold),
        records_above=share_above(np.ones_like(sample), sample, rows_of, threshold),
    )


def reidentification(class_sizes: Mapping[int, int], *, k: int = 1) -> Reidentification:
    """Return how easily the rows of a table are found, from the sizes of its classes alone.

    Parameters
    ----------
    class_sizes : mapping of int to int
        For each size of a class, at least 1, how many classes have it; at least one class.
    k : int
        What a privacy model asks for: a risk of 1 / k is acceptable, and one of 1 / 5 where it asks for nothing (1).

    Examples
    --------
    >>> found = reidentification({1: 2, 8: 1}, k=3)
    >>> found.highest, found.average, found.records_above, found.sample_uniques
    (1.0, 0.3, 0.2, 0.2)
    """
    sizes, counts = (np.array(part, dtype=np.int64) for part in zip(*sorted(class_sizes.items()), strict=True))
    rows_of = sizes * counts
    found = prosecutor_risk(sizes, rows_of, Fraction(1, k) if k > 1 else ACCEPTABLE)
    return Reidentification(
        highest=found.highest,
        average=found.average,
        threshold=found.threshold,
        records_above=found.records_above,
        sample_uniques=sample_uniques(sizes, rows_of),
    )


def journalist_risk(frequencies: Frequencies, threshold: Fraction) -> Threshold:
    """Return the risk of a row whose person is known to be in the population: 1 / F.

    The average is the greater of two: that of an adversary who starts from people of the population, `u / sum F`, and
    that of one who starts from rows, `sum(f / F) / n`.
    """
    population, rows_of = _population(frequencies), frequencies.rows_of
    return Threshold(
        highest=1 / int(population.min()),
        average=max(
            frequencies.classes / int(population.sum()), _mean_of_ratios(rows_of, population, frequencies.rows)
        ),
        threshold=float(threshold),
        records_above=share_above(np.ones_like(population), population, rows_of, threshold),
    )


def marketer_risk(frequencies: Frequencies) -> Marketer:
    """Return the share of the rows that somebody matches rightly who matches all with the population: sum(f/F)/n."""
    return Marketer(average=_mean_of_ratios(frequencies.rows_of, _population(frequencies), frequencies.rows))


def sample_uniques(sample: NDArray[np.int64], rows_of: NDArray[np.int64]) -> float:
    """Return the share of the rows that are alone in the table: c_1 / n."""
    return int(rows_of[sample == 1].sum()) / int(rows_of.sum())


def small_classes(sample: NDArray[np.int64], rows_of: NDArray[np.int64], sizes: Sequence[int]) -> dict[int, float]:
    """Return the share of the rows in classes of fewer than k rows, for some k."""
    rows = int(rows_of.sum())
    return {k: int(rows_of[sample < k].sum()) / rows for k in sizes}


def k_map(frequencies: Frequencies, sampling_fraction: Fraction | None, significance: Fraction) -> KMapFigures:
    """Return among how many people of the population a row is hidden, counted where they are known, and estimated.

    References
    ----------
    L. Sweeney, "k-anonymity: a model for protecting privacy", International Journal of Uncertainty, Fuzziness and
    Knowledge-Based Systems 10(5), 2002. doi:10.1142/S0218488502001648; for the estimate see `shoal.models.poisson`.
    """
    counted = None if frequencies.population is None else int(frequencies.population.min())
    if sampling_fraction is None:
        return KMapFigures(k=counted)
    smallest = int(frequencies.sample.min())
    return KMapFigures(
        k=counted,
        estimated=estimate_k(smallest, sampling_fraction, significance),
        estimated_without_zero=estimate_k(smallest, sampling_fraction, significance, with_zero=False),
        significance=float(significance),
    )


def delta_presence(frequencies: Frequencies) -> PresenceFigures | None:
    """Return the least and the greatest f / F of the classes of the population; None where classes overlap.

    With wildcards the classes of the population are the people who fit the cells of each class of the table.

    References
    ----------
    M. E. Nergiz, M. Atzori and C. Clifton, "Hiding the presence of individuals from shared databases", SIGMOD 2007.
    doi:10.1145/1247480.1247554
    """
    if frequencies.overlapping:
        return None
    shares = frequencies.rows_of / _population(frequencies)
    return PresenceFigures(lowest=0.0 if frequencies.outside else float(shares.min()), highest=float(shares.max()))


def share_above(
    part: NDArray[np.int64], whole: NDArray[np.int64], rows_of: NDArray[np.int64], threshold: Fraction
) -> float:
    """Return the share of the rows in classes where `part / whole` is above a threshold, decided in integers."""
    acceptable = at_most(part, threshold.denominator, whole, threshold.numerator)
    return int(rows_of[~acceptable].sum()) / int(rows_of.sum())


def _population(frequencies: Frequencies) -> NDArray[np.int64]:
    assert frequencies.population is not None, "asked of tables with a population only"
    return frequencies.population


def _mean_of_ratios(part: NDArray[np.int64], whole: NDArray[np.int64], rows: int) -> float:
    """Return sum(part / whole) / rows; the sum is rounded once, so that no order of the classes changes it."""
    if np.array_equal(part, whole):
        return len(part) / rows
    return math.fsum((part / whole).tolist()) / rows
