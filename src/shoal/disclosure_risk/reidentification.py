"""Counting measures of risk: prosecutor, journalist and marketer risk, uniques, small classes, k-map, delta-presence.

References
----------
K. El Emam and F. K. Dankar, "Protecting privacy using k-anonymity", Journal of the American Medical Informatics
Association 15(5), 2008. doi:10.1197/jamia.M2716

K. El Emam, *Guide to the De-Identification of Personal Health Information*, CRC Press 2013, chapters 15 and 16.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.disclosure_risk.figures import Figures, Threshold
from shoal.disclosure_risk.frequencies import Frequencies
from shoal.models.poisson import estimate_k
from shoal.models.rationals import at_most

ACCEPTABLE = Fraction(1, 5)
"""Default for the largest acceptable risk of re-identification."""


@dataclass(frozen=True, kw_only=True)
class Reidentification(Threshold):
    """Prosecutor risk and sample uniques: the risk of a person who is known to be in a table."""

    sample_uniques: float
    """Share of the rows that are unique in their quasi-identifiers."""


@dataclass(frozen=True, kw_only=True)
class Marketer(Figures):
    """Marketer risk: an adversary tries to find all people."""

    average: float
    """Expected share of the rows that are matched with the right person."""


@dataclass(frozen=True, kw_only=True)
class KMapFigures(Figures):
    """k-map: the number of people of the population from whom a row cannot be distinguished."""

    k: int | None = None
    """Smallest F of a class, counted; None without a population."""
    estimated: int | None = None
    """Largest k that can be inferred from the smallest class of the sample by the Poisson law without zero;
    None without a sampling fraction."""
    significance: float | None = None
    """Allowed error of the estimates."""


@dataclass(frozen=True, kw_only=True)
class PresenceFigures(Figures):
    """Delta-presence: the confidence that a known person of the population is in the table."""

    lowest: float
    """Smallest f / F over the classes of the population; 0 if some people match no class of the table."""
    highest: float
    """Largest f / F."""


def prosecutor_risk(sample: NDArray[np.int64], rows_of: NDArray[np.int64], threshold: Fraction) -> Threshold:
    """Measure the risk of a row if its person is known to be in the table: 1 / f.

    Parameters
    ----------
    sample : int64 array
        f of each class.
    rows_of : int64 array
        Number of rows of each class; equal to f if a star is a value of its own.
    threshold : Fraction
        Largest acceptable risk, above 0.
    """
    rows = int(rows_of.sum())
    return Threshold(
        highest=1 / int(sample.min()),
        average=_mean_of_ratios(rows_of, sample, rows),
        threshold=float(threshold),
        records_above=compute_share_above(np.ones_like(sample), sample, rows_of, threshold),
    )


def reidentification(class_sizes: Mapping[int, int], *, k: int = 1) -> Reidentification:
    """Measure the risk of re-identification from the sizes of the classes alone.

    Parameters
    ----------
    class_sizes : mapping of int to int
        Number of classes of each size; at least one class.
    k : int
        Requirement of a privacy model: a risk of 1 / k is acceptable, or 1 / 5 if there is no requirement (1).

    Examples
    --------
    >>> found = reidentification({1: 2, 8: 1}, k=3)
    >>> found.highest, found.average, found.records_above, found.sample_uniques
    (1.0, 0.3, 0.2, 0.2)
    """
    # All classes of one size count as one.
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


def reidentification_of_persons(
    groups: NDArray[np.integer], persons: NDArray[np.integer], *, k: int = 1
) -> Reidentification:
    """Measure the risk of re-identification of persons, who have the highest risk of any of their rows.

    Parameters
    ----------
    groups, persons : integer arrays
        The group and the person of each pair of them that occurs: each pair once.
    k : int
        As for `reidentification`.

    Examples
    --------
    >>> found = reidentification_of_persons(np.array([0, 0, 1]), np.array([7, 8, 8]))
    >>> found.highest, found.average, found.sample_uniques
    (1.0, 0.75, 0.5)
    """
    _, person_of = np.unique(persons, return_inverse=True)
    fewest = np.full(int(person_of.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(fewest, person_of, np.bincount(groups)[groups])
    # A person in a group of f persons counts like a share of 1 / f of such a class.
    sizes, rows_of = np.unique(fewest, return_counts=True)
    found = prosecutor_risk(sizes, rows_of, Fraction(1, k) if k > 1 else ACCEPTABLE)
    return Reidentification(
        highest=found.highest,
        average=math.fsum((rows_of / sizes).tolist()) / len(fewest),
        threshold=found.threshold,
        records_above=found.records_above,
        sample_uniques=sample_uniques(sizes, rows_of),
    )


def journalist_risk(frequencies: Frequencies, threshold: Fraction) -> Threshold:
    """Measure the risk of a row if its person is known to be in the population: 1 / F.

    The average is the greater of two averages: that of an adversary who starts from people of the population,
    `u / sum F`, and that of one who starts from rows, `sum(f / F) / n`.
    """
    # The adversary may start from the population or from the rows.
    population, rows_of = _population(frequencies), frequencies.rows_of
    return Threshold(
        highest=1 / int(population.min()),
        average=max(
            frequencies.classes / int(population.sum()), _mean_of_ratios(rows_of, population, frequencies.rows)
        ),
        threshold=float(threshold),
        records_above=compute_share_above(np.ones_like(population), population, rows_of, threshold),
    )


def marketer_risk(frequencies: Frequencies) -> Marketer:
    """Measure the share of the rows that are matched correctly with the population: sum(f / F) / n."""
    return Marketer(average=_mean_of_ratios(frequencies.rows_of, _population(frequencies), frequencies.rows))


def sample_uniques(sample: NDArray[np.int64], rows_of: NDArray[np.int64]) -> float:
    """Compute the share of the rows that are unique in the table: c_1 / n."""
    return int(rows_of[sample == 1].sum()) / int(rows_of.sum())


def small_classes(sample: NDArray[np.int64], rows_of: NDArray[np.int64], sizes: Sequence[int]) -> dict[int, float]:
    """Compute the share of the rows in classes of fewer than k rows, for each k in `sizes`."""
    rows = int(rows_of.sum())
    return {k: int(rows_of[sample < k].sum()) / rows for k in sizes}


def k_map(frequencies: Frequencies, sampling_fraction: Fraction | None, significance: Fraction) -> KMapFigures:
    """Compute the smallest number of people who match a row: counted if the population is known, and estimated.

    References
    ----------
    L. Sweeney, "k-anonymity: a model for protecting privacy", International Journal of Uncertainty, Fuzziness and
    Knowledge-Based Systems 10(5), 2002. doi:10.1142/S0218488502001648; for the estimate see `shoal.models.poisson`.
    """
    counted = None if frequencies.population is None else int(frequencies.population.min())
    if sampling_fraction is None:
        return KMapFigures(k=counted)
    # The estimates depend only on the smallest class of the sample.
    smallest = int(frequencies.sample.min())
    return KMapFigures(
        k=counted,
        estimated=estimate_k(smallest, sampling_fraction, significance),
        significance=float(significance),
    )


def delta_presence(frequencies: Frequencies) -> PresenceFigures | None:
    """Compute the smallest and largest f / F of the classes of the population, or None if classes overlap.

    If stars are wildcards, the classes of the population are the people who fit the cells of each class of the table.

    References
    ----------
    M. E. Nergiz, M. Atzori and C. Clifton, "Hiding the presence of individuals from shared databases", SIGMOD 2007.
    doi:10.1145/1247480.1247554
    """
    if frequencies.overlapping:
        return None
    # People who match no class are certainly not in the table.
    shares = frequencies.rows_of / _population(frequencies)
    return PresenceFigures(lowest=0.0 if frequencies.outside else float(shares.min()), highest=float(shares.max()))


def compute_share_above(
    part: NDArray[np.int64], whole: NDArray[np.int64], rows_of: NDArray[np.int64], threshold: Fraction
) -> float:
    """Compute the share of the rows in classes with `part / whole` above a threshold, decided in integers."""
    acceptable = at_most(part, threshold.denominator, whole, threshold.numerator)
    return int(rows_of[~acceptable].sum()) / int(rows_of.sum())


def _population(frequencies: Frequencies) -> NDArray[np.int64]:
    """Get F of each class."""
    assert frequencies.population is not None, "only tables with a population have frequencies in it"
    return frequencies.population


def _mean_of_ratios(part: NDArray[np.int64], whole: NDArray[np.int64], rows: int) -> float:
    """Compute sum(part / whole) / rows; the sum is rounded once, so that the order of the classes does not matter."""
    if np.array_equal(part, whole):
        return len(part) / rows
    return math.fsum((part / whole).tolist()) / rows
