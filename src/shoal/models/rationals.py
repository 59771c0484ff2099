"""Exact comparisons of shares with thresholds, in 64-bit arithmetic.

A share is a fraction `c / |G|` whose denominator is at most the number of rows `n`. All thresholds between two adjacent
fractions of this kind (a Farey sequence) are equivalent. Hence any threshold, no matter how many digits it has, can be
replaced by a neighbour with a denominator of at most `n` without changing a decision.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

STATED_DIGITS = 4
"""Decimals of published figures: always rounded against the publisher."""

_DIGITS = Context(prec=60)
_MARGIN = Decimal(10) ** -50
"""Relative error allowed for 60-digit logarithms and powers, which the decimal module rounds correctly."""


def neighbours(threshold: Fraction, limit: int) -> tuple[Fraction, Fraction]:
    """Return the closest fractions below and above a threshold, with denominators up to a limit.

    Parameters
    ----------
    threshold : Fraction
        At least 0.
    limit : int
        The largest denominator, at least 1.

    Returns
    -------
    tuple of Fraction
        `below <= threshold <= above`; both equal the threshold if its own denominator is within the limit.

    References
    ----------
    R. L. Graham, D. E. Knuth, O. Patashnik, *Concrete Mathematics*, 2nd edition, Section 4.5 (the Stern-Brocot tree).

    Examples
    --------
    >>> neighbours(Fraction(355, 113), 10)
    (Fraction(25, 8), Fraction(22, 7))
    """
    if threshold.denominator <= limit:
        return threshold, threshold
    # Compute convergents of the continued fraction while their denominators are within the limit.
    before, last = (0, 1), (1, 0)
    numerator, denominator = threshold.numerator, threshold.denominator
    while True:
        quotient, remainder = divmod(numerator, denominator)
        following = before[0] + quotient * last[0], before[1] + quotient * last[1]
        if following[1] > limit:
            break
        before, last = last, following
        numerator, denominator = denominator, remainder
    # The last convergent and the last allowed step towards the next one enclose the threshold, and no other fraction
    # within the limit lies between them.
    steps = (limit - before[1]) // last[1]
    convergent = Fraction(*last)
    step = Fraction(before[0] + steps * last[0], before[1] + steps * last[1])
    return (convergent, step) if convergent < step else (step, convergent)


def at_most(left: NDArray[np.int64], a: int, right: NDArray[np.int64], b: int) -> NDArray[np.bool_]:
    """Test if `a * left <= b * right` elementwise, exactly; all numbers are at least 0.

    Examples
    --------
    >>> at_most(np.array([1, 2]), 10**30, np.array([3, 3]), 5 * 10**29)
    array([ True, False])
    """
    if not len(left):
        return np.zeros(0, dtype=np.bool_)
    if max(a * max(int(left.max()), 1), b * max(int(right.max()), 1)) < 2**63:
        return a * left <= b * right
    # The products overflow 64 bits, so Python integers decide.
    products = left.astype(object) * a <= right.astype(object) * b
    return products.astype(np.bool_)


def largest_ratio(numerators: NDArray[Any], denominators: NDArray[Any]) -> Fraction:
    """Return the largest of many fractions; floats select candidates, exact fractions decide.

    Examples
    --------
    >>> largest_ratio(np.array([1, 10**17, 10**17 + 1]), np.array([2, 3 * 10**17, 3 * 10**17 + 2]))
    Fraction(1, 2)
    """
    if not len(numerators):
        return Fraction(0)
    ratios = (numerators / denominators).astype(np.float64)
    near = ratios >= ratios.max() * (1 - 1e-12)
    tops, bottoms = numerators[near], denominators[near]
    # In lowest terms, equal fractions have equal terms and are compared once.
    divisors = np.gcd(tops, bottoms)
    tops, bottoms = tops // divisors, bottoms // divisors
    largest = Fraction(0)
    while len(tops):  # once for each different fraction: few are so close to one another
        largest = max(largest, Fraction(int(tops[0]), int(bottoms[0])))
        others = (tops != tops[0]) | (bottoms != bottoms[0])
        tops, bottoms = tops[others], bottoms[others]
    return largest


def logarithm(number: Fraction) -> tuple[Fraction, Fraction]:
    """Bound the natural logarithm of a positive number; the bounds differ in the fiftieth digit.

    Examples
    --------
    >>> below, above = logarithm(Fraction(2))
    >>> below < above, float(below)
    (True, 0.6931471805599453)
    """
    if number == 1:
        return Fraction(0), Fraction(0)
    # The logarithms of both terms are subtracted, because dividing first would lose digits if the quotient is near 1.
    parts = [_DIGITS.ln(Decimal(term)) for term in (number.numerator, number.denominator)]
    exact = Fraction(parts[0]) - Fraction(parts[1])
    error = (abs(Fraction(parts[0])) + abs(Fraction(parts[1])) + 1) * Fraction(_MARGIN)
    return exact - error, exact + error


def exponential(base: int, exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Bound a power; the bounds are equal if the exponent is an integer, and differ in the fiftieth digit otherwise.

    Examples
    --------
    >>> exponential(2, Fraction(3))
    (Fraction(8, 1), Fraction(8, 1))
    """
    if exponent.denominator == 1:
        power = Fraction(base) ** exponent.numerator
        return power, power
    rounded = _DIGITS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    power = Fraction(_DIGITS.power(Decimal(base), rounded))
    error = power * Fraction(_MARGIN)
    return power - error, power + error


def round_fraction(number: Fraction, context: Context) -> Decimal:
    """Round a fraction to the digits of a context, in its direction."""
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def round_power_of_e(exponent: Fraction, context: Context) -> Decimal:
    """Compute e**exponent, for an exponent of at least 0, rounded down or up as the context says."""
    # Decimal.exp always rounds to nearest, so one unit in the last place turns it into a bound.
    nearest = context.exp(round_fraction(exponent, context))
    return context.next_minus(nearest) if context.rounding == ROUND_FLOOR else context.next_plus(nearest)


def round_down(number: Fraction, digits: int) -> float:
    """Round down to a number of decimal digits.

    Examples
    --------
    >>> round_down(Fraction(1, 3), 4), round_down(Fraction(1, 4), 4)
    (0.3333, 0.25)
    """
    return float(Decimal(math.floor(number * 10**digits)).scaleb(-digits))


def round_up(number: Fraction, digits: int) -> float:
    """Round up to a number of decimal digits.

    Examples
    --------
    >>> round_up(Fraction(1, 3), 4), round_up(Fraction(1, 4), 4)
    (0.3334, 0.25)
    """
    return float(Decimal(math.ceil(number * 10**digits)).scaleb(-digits))


def json_number(value: Real | float) -> int | float:
    """Convert a parameter to a JSON number; integers stay integers.

    Examples
    --------
    >>> json_number(Fraction(4, 2)), json_number(0.25), json_number(3.0)
    (2, 0.25, 3.0)
    """
    if isinstance(value, Rational) and value.denominator == 1:
        return int(value.numerator)
    return float(value)
