"""Poisson tails, decided exactly: how large a class of a sample must be for its class of the population to be large.

A class of `k` people in the population shows about `p k` of them in a sample with the sampling fraction `p`; the number
is taken as Poisson with that mean. A class of the sample with at least `k'` rows, where `P(X >= k') <= a`, refutes at
the significance level `a` that its class of the population has only `k` people: a release that is k'-anonymous is
k-map anonymous, but for that error.

Exponentials are irrational, so the comparison is decided with bounds that are refined until they agree.

References
----------
K. El Emam and F. K. Dankar, "Protecting privacy using k-anonymity", Journal of the American Medical Informatics
Association 15(5), 2008, "Hypothesis testing approach". doi:10.1197/jamia.M2716
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from statistics import NormalDist

__all__ = ["estimated_k", "smallest_class", "tail_at_most"]

_FIRST_DIGITS = 40
"""Digits of the first bounds; they are doubled until the bounds agree."""


def tail_at_most(count: int, mean: Fraction, limit: Fraction, *, with_zero: bool = True) -> bool:
    """Return whether P(X >= count) <= limit, exactly.

    Parameters
    ----------
    count : int
        At least 0.
    mean : Fraction
        Of the Poisson law, above 0.
    limit : Fraction
        Above 0 and below 1.
    with_zero : bool
        False for the law without zero, P(X >= count | X >= 1).

    Examples
    --------
    >>> tail_at_most(7, Fraction(2), Fraction(1, 100)), tail_at_most(6, Fraction(2), Fraction(1, 100))
    (True, False)
    """
    if count <= (0 if with_zero else 1):
        return False  # the probability is 1
    # 1 - S / e^m <= a for S = sum of m^j / j! below `count`; without zero (1 - S / e^m) / (1 - 1 / e^m) <= a.
    digits = _FIRST_DIGITS
    while True:
        down, up = Context(prec=digits, rounding=ROUND_FLOOR), Context(prec=digits, rounding=ROUND_CEILING)
        below, above = _partial_sum(count, mean, down), _partial_sum(count, mean, up)
        if not with_zero:
            below = down.subtract(below, _rounded(limit, up))
            above = up.subtract(above, _rounded(limit, down))
        least = down.multiply(_rounded(1 - limit, down), _exponential(mean, down))
        greatest = up.multiply(_rounded(1 - limit, up), _exponential(mean, up))
        if below >= greatest:
            return True
        if above < least:
            return False
        digits *= 2


def smallest_class(k: int, sampling_fraction: Fraction, significance: Fraction, *, with_zero: bool = True) -> int:
    """Return the smallest size of a class of the sample from which at least `k` people in the population are inferred.

    That is the smallest k' with P(X >= k') <= significance, X Poisson with the mean `sampling_fraction * k`.

    Parameters
    ----------
    k : int
        People in the population, at least 1.
    sampling_fraction : Fraction
        Above 0, at most 1.
    significance : Fraction
        The error that is allowed, above 0 and below 1.
    with_zero : bool
        False for the law of classes that are in the sample at all: without zero.

    Examples
    --------
    >>> smallest_class(20, Fraction(1, 10), Fraction(1, 100)), smallest_class(50, Fraction(1, 10), Fraction(1, 100))
    (7, 12)
    """
    mean = sampling_fraction * k
    guess = float(mean) + _deviations(significance) * math.sqrt(mean)
    return _first(lambda count: tail_at_most(count, mean, significance, with_zero=with_zero), round(guess))


def estimated_k(size: int, sampling_fraction: Fraction, significance: Fraction, *, with_zero: bool = True) -> int:
    """Return the largest k for which classes of a sample that have at least `size` rows count as k-map anonymous.

    At least `size`: a class of the population has at least the rows that are in the sample.

    Parameters
    ----------
    size : int
        Rows of the smallest class of the sample, at least 1.
    sampling_fraction, significance, with_zero
        As for `smallest_class`.

    Examples
    --------
    >>> estimated_k(7, Fraction(1, 10), Fraction(1, 100)) >= 20
    True
    """

    def fails(k: int) -> bool:
        return not tail_at_most(size, sampling_fraction * k, significance, with_zero=with_zero)

    guess = (size - _deviations(significance) * math.sqrt(size)) / sampling_fraction
    return max(size, _first(fails, round(guess)) - 1)


def _deviations(significance: Fraction) -> float:
    """Return how many standard deviations a normal law exceeds with this probability: where a search may begin."""
    return NormalDist().inv_cdf(min(max(1 - float(significance), 0.5), 1 - 1e-12))


def _first(holds: Callable[[int], bool], guess: int) -> int:
    """Return the first number from 1 on for which something holds that holds for all greater ones.

    The search begins at a guess and doubles its steps from there, for each question takes long.
    """
    low, high, step = 0, max(guess, 1), 1  # it does not hold at `low`
    if holds(high):
        while high - step > 0 and holds(high - step):
            high, step = high - step, 2 * step
        low = max(high - step, 0)
    else:
        low, high = high, high + step
        while not holds(high):
            step *= 2
            low, high = high, high + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _partial_sum(count: int, mean: Fraction, context: Context) -> Decimal:
    """Return the sum of mean**j / j! over j < count, rounded in the direction of the context."""
    step = _rounded(mean, context)
    term = total = Decimal(1)
    for j in range(1, count):
        term = context.divide(context.multiply(term, step), Decimal(j))
        total = context.add(total, term)
    return total


def _rounded(number: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _exponential(exponent: Fraction, context: Context) -> Decimal:
    """Return e**exponent, rounded in the direction of the context."""
    # Decimal.exp rounds to nearest, whatever the context: a unit in the last place makes a bound of it.
    nearest = context.exp(_rounded(exponent, context))
    return context.next_minus(nearest) if context.rounding == ROUND_FLOOR else context.next_plus(nearest)
