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

import numpy as np
from numpy.typing import NDArray

from shoal.disclosure_risk.figures import Figures
from shoal.disclosure_risk.frequencies import Frequencies
from shoal.table import mixed_radix_keys
from shoal.table.sorting_kernel import sort_by_key


@dataclass(frozen=True, kw_only=True)
class Individual(Figures):
    """Summary of the re-identification risk of each row."""

    global_: float
    """Mean of the individual risks."""
    expected: float
    """Sum of the individual risks: expected number of re-identified rows."""
    highest: float
    """Highest risk of any row."""


@dataclass(frozen=True, kw_only=True)
class Household(Figures):
    """Summary of the risk that a member of a row's household is re-identified, and with it the household."""

    global_: float
    """Mean over the rows."""
    expected: float
    """Sum over the rows: expected number of rows that are disclosed through a member of their household."""
    highest: float
    """Highest risk of any household."""
    households: int
    """Number of households."""


def sum_weights(frequencies: Frequencies, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the weights of the rows that each class matches, an estimate of F.

    Weights are finite and at least 1. They are added exactly, as integers (whole, multiples of 2**-26 and of 2**-52),
    so that the result does not depend on the order of the rows.
    """
    # Split each weight into three integers, so that the sums are exact.
    whole = np.floor(weights)
    large = (weights - whole) * _PART
    parts = (whole, np.floor(large), (large - np.floor(large)) * _PART)
    of_class = [np.bincount(frequencies.class_of, weights=part, minlength=frequencies.classes) for part in parts]
    sums = frequencies.matching(np.column_stack(of_class).astype(np.int64))
    return np.asarray(sums[:, 0] + (sums[:, 1] + sums[:, 2] / _PART) / _PART, dtype=np.float64)


_PART = 2.0**26
"""A float of at least 1 is a multiple of 2**-52, the square of the inverse."""


def individual_risks(sample: NDArray[np.int64], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Compute the individual risk of re-identification of each class.

    .. math:: r = E(1/F \mid f) = \frac{\hat p^f}{f} \, {}_2F_1(f, f; f + 1; 1 - \hat p)
                = \hat p \int_0^1 \frac{s^{f-1}}{\hat p + (1 - \hat p) s} \, ds, \qquad \hat p = f / \sum w

    F given f is assumed to be negative binomial with success probability p. All digits but the last two are correct,
    for every f and p.

    Parameters
    ----------
    sample : int64 array
        f of each class, at least 1.
    sums : float array
        Sum of the weights of its rows, at least f.

    Returns
    -------
    float array
        In (0, 1 / f]; 1 / f if the class is known to contain no other person.

    Examples
    --------
    >>> individual_risks(np.array([3, 1, 2]), np.array([108, 45.5, 2])).round(8).tolist()
    [0.01355297, 0.08579129, 0.5]
    """
    # Rounded weights may be a little below 1.
    p = np.minimum(sample / sums, 1.0)
    return np.minimum(p * _integrate(sample.astype(np.float64), p), 1 / sample)


def _integrate(f: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Integrate s**(f - 1) / (p + (1 - p) s) over s from 0 to 1: 2F1(1, 1; f + 1; 1 - p) / f.

    The series has positive terms, and is short if f is large or p is not small. Otherwise f is small, and a recurrence
    relates the integrals of f and f + 1: q I(f + 1) + p I(f) = 1 / f, starting at I(1) = -ln p / q.
    """
    # The series for large f or p.
    found = np.empty_like(p)
    short = (f >= _MIN_SERIES_SIZE) | (p >= 0.5)
    found[short] = _sum_series(f[short], 1 - p[short]) / f[short]
    # The recurrence for small f.
    few, small = f[~short], p[~short]
    integral = -np.log(small) / (1 - small)
    chosen = integral.copy()
    for size in range(1, _MIN_SERIES_SIZE - 1):
        integral = (1 / size - small * integral) / (1 - small)
        chosen = np.where(few == size + 1, integral, chosen)
    found[~short] = chosen
    return found


_MIN_SERIES_SIZE = 16
"""From this f the series needs at most 70 terms for any p; below, with p < 1/2, it may need millions."""


def _sum_series(f: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the series of 2F1(1, 1; f + 1; q), whose terms are k! q**k / ((f + 1) ... (f + k))."""
    total, term = np.ones_like(f), np.ones_like(f)
    k = 0
    while bool((term > total * 1e-17).any()):
        k += 1
        term = term * (k / (f + k) * q)
        total += term
    return total


def individual_risk(risks: NDArray[np.float64], rows_of: NDArray[np.int64]) -> Individual:
    """Summarize the individual risks of classes.

    Parameters
    ----------
    risks : float array
        The risk of each class.
    rows_of : int64 array
        Number of rows of each class.
    """
    expected = math.fsum((risks * rows_of).tolist())
    return Individual(global_=expected / int(rows_of.sum()), expected=expected, highest=float(risks.max()))


def household_risks(
    risks: NDArray[np.float64],
    class_of: NDArray[np.int64],
    household_of: NDArray[np.int64],
    households: int,
) -> NDArray[np.float64]:
    """Compute for each household the probability that at least one of its rows is re-identified: 1 - prod(1 - r).

    Parameters
    ----------
    risks : float array, shape (classes,)
        The individual risk of each class.
    class_of : int64 array, shape (rows,)
        The class of each row.
    household_of : int64 array, shape (rows,)
        The number of each row's household.
    households : int
        Number of households; each has a row.

    Examples
    --------
    >>> household_risks(np.array([0.02, 0.03]), np.array([0, 1, 1]), np.array([0, 0, 0]), 1).round(6).tolist()
    [0.077918]
    """
    # Sort the rows of a household by class, so that the result does not depend on the order of the rows.
    home = household_of.astype(np.uint32), households
    keys, bits = mixed_radix_keys([home, (class_of.astype(np.uint32), len(risks))], len(class_of))
    _, order = sort_by_key(keys, np.arange(len(class_of), dtype=np.int32), bits)
    with np.errstate(divide="ignore"):  # a risk of 1 makes the risk of its household 1
        safe = np.log1p(-risks)
    # The logarithm of the product of 1 - r over each household.
    kept = np.bincount(household_of[order], weights=safe[class_of[order]], minlength=households)
    return np.asarray(-np.expm1(kept))


def household_risk(risks: NDArray[np.float64], household_of: NDArray[np.int64]) -> Household:
    """Summarize the risks of households over the rows."""
    of_rows = risks[household_of]
    expected = math.fsum(of_rows.tolist())
    return Household(
        global_=expected / len(of_rows), expected=expected, highest=float(risks.max()), households=len(risks)
    )
