"""Individual risk from survey weights, the global risk, and the risk of households.

References
----------
R. Benedetti and L. Franconi, "Statistical and technological solutions for controlled data dissemination",
Pre-proceedings of New Techniques and Technologies for Statistics, 1998.

S. Polettini, "Some remarks on the individual risk methodology", Joint ECE/Eurostat work session on statistical data
confidentiality, Luxembourg 2003, working paper 18.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.disclosure_risk.figures import Figures
from shoal.table import mixed_radix_keys
from shoal.table.sorting_kernel import sort_by_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.disclosure_risk.frequencies import Frequencies

__all__ = [
    "Household",
    "Individual",
    "household_risk",
    "household_risks",
    "individual_risk",
    "individual_risks",
    "sums_of_weights",
]


@dataclass(frozen=True, kw_only=True)
class Individual(Figures):
    """The risk of re-identification of each row, summed up."""

    global_: float
    """Mean of the individual risks."""
    expected: float
    """Their sum: how many rows are expected to be re-identified."""
    highest: float
    """The risk of the row at greatest risk."""


@dataclass(frozen=True, kw_only=True)
class Household(Figures):
    """The risk that somebody of a row's household is re-identified, and with them the household."""

    global_: float
    """Mean over the rows."""
    expected: float
    """Sum over the rows: how many rows are expected to be disclosed through somebody of their household."""
    highest: float
    """The risk of the household at greatest risk."""
    households: int
    """Number of households."""


def sums_of_weights(frequencies: Frequencies, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each class the sum of the weights of the rows that it matches: so many people may be meant.

    Weights are finite and at least 1. They are added as whole numbers of parts (units, 2**-26, 2**-52), exactly, so
    that the order of the rows does not change a digit.
    """
    units = np.floor(weights)
    large = (weights - units) * _PART
    parts = (units, np.floor(large), (large - np.floor(large)) * _PART)
    of_class = [np.bincount(frequencies.class_of, weights=part, minlength=frequencies.classes) for part in parts]
    sums = frequencies.matching(np.column_stack(of_class).astype(np.int64))
    return np.asarray(sums[:, 0] + (sums[:, 1] + sums[:, 2] / _PART) / _PART, dtype=np.float64)


_PART = 2.0**26
"""A float of at least 1 is a whole number of 2**-52, the square of the inverse."""


def individual_risks(sample: NDArray[np.int64], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return the individual risk of re-identification of each class.

    .. math:: r = E(1/F \mid f) = \frac{\hat p^f}{f} \, {}_2F_1(f, f; f + 1; 1 - \hat p)
                = \hat p \int_0^1 \frac{s^{f-1}}{\hat p + (1 - \hat p) s} \, ds, \qquad \hat p = f / \sum w

    F given f is taken as negative binomial with success probability p. All digits are right but the last two, for every
    f and p.

    Parameters
    ----------
    sample : int64 array
        f of each class, at least 1.
    sums : float array
        Sum of the weights of its rows, at least f.

    Returns
    -------
    float array
        In (0, 1 / f]; 1 / f where the class is known to have nobody else.

    Examples
    --------
    >>> individual_risks(np.array([3, 1, 2]), np.array([108, 45.5, 2])).round(8).tolist()
    [0.01355297, 0.08579129, 0.5]
    """
    p = np.minimum(sample / sums, 1.0)
    return np.minimum(p * _integral(sample.astype(np.float64), p), 1 / sample)


def _integral(f: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the integral of s**(f - 1) / (p + (1 - p) s) over s from 0 to 1: 2F1(1, 1; f + 1; 1 - p) / f.

    The series has positive terms, and is short where f is large or p is not small. Elsewhere f is small, and the
    integrals of f and f + 1 differ by a term of the next size: q I(f + 1) + p I(f) = 1 / f, from I(1) = -ln p / q.
    """
    found = np.empty_like(p)
    short = (f >= _LONG) | (p >= 0.5)
    found[short] = _series(f[short], 1 - p[short]) / f[short]
    few, small = f[~short], p[~short]
    integral = -np.log(small) / (1 - small)
    chosen = integral.copy()
    for size in range(1, _LONG - 1):
        integral = (1 / size - small * integral) / (1 - small)
        chosen = np.where(few == size + 1, integral, chosen)
    found[~short] = chosen
    return found


_LONG = 16
"""From this f on the series needs at most 70 terms whatever p is; below, with p < 1/2, it may need millions."""


def _series(f: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 2F1(1, 1; f + 1; q) by its series, whose terms are k! q**k / ((f + 1) ... (f + k))."""
    total, term = np.ones_like(f), np.ones_like(f)
    k = 0
    while bool((term > total * 1e-17).any()):
        k += 1
        term = term * (k / (f + k) * q)
        total += term
    return total


def individual_risk(risks: NDArray[np.float64], rows_of: NDArray[np.int64]) -> Individual:
    """Sum up the individual risks of classes.

    Parameters
    ----------
    risks : float array
        The risk of each class.
    rows_of : int64 array
        Its rows.
    """
    expected = math.fsum((risks * rows_of).tolist())
    return Individual(global_=expected / int(rows_of.sum()), expected=expected, highest=float(risks.max()))


def household_risks(
    risks: NDArray[np.float64],
    class_of: NDArray[np.int64],
    household_of: NDArray[np.int64],
    households: int,
) -> NDArray[np.float64]:
    """Return for each household the probability that at least one of its rows is re-identified: 1 - prod(1 - r).

    Parameters
    ----------
    risks : float array, shape (classes,)
        The individual risk of each class.
    class_of : int64 array, shape (rows,)
        The class of each row.
    household_of : int64 array, shape (rows,)
        The number of each row's household.
    households : int
        How many households there are; each has a row.

    Examples
    --------
    >>> household_risks(np.array([0.02, 0.03]), np.array([0, 1, 1]), np.array([0, 0, 0]), 1).round(6).tolist()
    [0.077918]
    """
    # Within a household in the order of the classes, so that the order of the rows does not change a digit.
    home = household_of.astype(np.uint32), households
    keys, bits = mixed_radix_keys([home, (class_of.astype(np.uint32), len(risks))], len(class_of))
    _, order = sort_by_key(keys, np.arange(len(class_of), dtype=np.int32), bits)
    with np.errstate(divide="ignore"):  # a risk of 1 makes the risk of its household 1
        safe = np.log1p(-risks)
    kept = np.bincount(household_of[order], weights=safe[class_of[order]], minlength=households)
    return np.asarray(-np.expm1(kept))


def household_risk(risks: NDArray[np.float64], household_of: NDArray[np.int64]) -> Household:
    """Sum up the risks of households over the rows."""
    of_rows = risks[household_of]
    expected = math.fsum(of_rows.tolist())
    return Household(
        global_=expected / len(of_rows), expected=expected, highest=float(risks.max()), households=len(risks)
    )
