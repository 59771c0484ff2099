"""Exact decisions about Poisson tails: from which size of a sample class a large population class can be inferred.

With the sampling fraction `p`, a population class of `k` members contributes about `p k` rows to a sample; this number
is modelled as Poisson with mean `p k`, without zero: a class that is looked at has rows. If a sample class has at least
`k'` rows, and `P(X >= k' | X >= 1) <= a`, the hypothesis that its population class has only `k` members is rejected at
significance level `a`. A k'-anonymous release is then k-map anonymous, up to that error.

Exponentials are irrational, so comparisons use bounds that are refined until they are conclusive.

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

from shoal.models.rationals import round_fraction, round_power_of_e

_FIRST_DIGITS = 40
"""Precision of the first bounds in digits; it is doubled until the bounds are conclusive."""


def tail_at_most(count: int, mean: Fraction, limit: Fraction) -> bool:
    """Test if P(X >= count | X >= 1) <= limit, exactly.

    Parameters
    ----------
    count : int
        At least 0.
    mean : Fraction
        Mean of the Poisson distribution, above 0.
    limit : Fraction
        Above 0 and below 1.

    Examples
    --------
    >>> tail_at_most(7, Fraction(2), Fraction(1, 100)), tail_at_most(6, Fraction(2), Fraction(1, 100))
    (True, False)
    """
    if count <= 1:
        return False  # the probability is 1
    # (1 - S / e^m) / (1 - 1 / e^m) <= a with S the sum of m^j / j! over j < count.
    digits = _FIRST_DIGITS
    while True:
        down, up = Context(prec=digits, rounding=ROUND_FLOOR), Context(prec=digits, rounding=ROUND_CEILING)
        below = down.subtract(_partial_sum(count, mean, down), round_fraction(limit, up))
        above = up.subtract(_partial_sum(count, mean, up), round_fraction(limit, down))
        # Both sides enclosed by bounds; overlapping enclosures call for more digits.
        least = down.multiply(round_fraction(1 - limit, down), round_power_of_e(mean, down))
        greatest = up.multiply(round_fraction(1 - limit, up), round_power_of_e(mean, up))
        if below >= greatest:
            return True
        if above < least:
            return False
        digits *= 2


def smallest_class(k: int, sampling_fraction: Fraction, significance: Fraction) -> int:
    """Return the smallest sample class size from which at least `k` population members are inferred.

    This is the smallest k' with P(X >= k' | X >= 1) <= significance, for X Poisson with mean `sampling_fraction * k`,
    but at most `k`: a class of k rows has k members.

    Parameters
    ----------
    k : int
        Number of population members, at least 1.
    sampling_fraction : Fraction
        Above 0, at most 1.
    significance : Fraction
        Allowed error probability, above 0 and below 1.

    Examples
    --------
    >>> smallest_class(20, Fraction(1, 10), Fraction(1, 100)), smallest_class(50, Fraction(1, 10), Fraction(1, 100))
    (7, 12)
    """
    mean = sampling_fraction * k
    # The normal approximation is close to the answer.
    guess = float(mean) + _deviations(significance) * math.sqrt(mean)
    return min(k, _find_first(lambda count: tail_at_most(count, mean, significance), round(guess)))


def estimate_k(size: int, sampling_fraction: Fraction, significance: Fraction) -> int:
    """Estimate the largest k for which a sample with classes of at least `size` rows is k-map anonymous.

    The result is at least `size`, because a population class contains its rows of the sample.

    Parameters
    ----------
    size : int
        Number of rows of the smallest class of the sample, at least 1.
    sampling_fraction, significance
        As for `smallest_class`.

    Examples
    --------
    >>> estimate_k(7, Fraction(1, 10), Fraction(1, 100)) >= 20
    True
    """

    def fails(k: int) -> bool:
        return not tail_at_most(size, sampling_fraction * k, significance)

    # Inverse of the normal approximation; the exact search corrects it.
    guess = (size - _deviations(significance) * math.sqrt(size)) / sampling_fraction
    return max(size, _find_first(fails, round(guess)) - 1)


def _deviations(significance: Fraction) -> float:
    """Return the normal quantile of the significance, in standard deviations: a first guess."""
    return NormalDist().inv_cdf(min(max(1 - float(significance), 0.5), 1 - 1e-12))


def _find_first(holds: Callable[[int], bool], guess: int) -> int:
    """Return the smallest positive integer for which a monotone predicate holds.

    The search starts at a guess and doubles its steps, because each evaluation is slow.
    """
    low, high, step = 0, max(guess, 1), 1  # it does not hold at `low`
    # Bracket the answer: the predicate fails at `low` and holds at `high`.
    if holds(high):
        while high - step > 0 and holds(high - step):
            high, step = high - step, 2 * step
        low = max(high - step, 0)
    else:
        low, high = high, high + step
        while not holds(high):
            step *= 2
            low, high = high, high + step
    # Bisect the bracket.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _partial_sum(count: int, mean: Fraction, context: Context) -> Decimal:
    """Sum mean**j / j! over j < count, rounded in the direction of the context."""
    step = round_fraction(mean, context)
    term = total = Decimal(1)
    for j in range(1, count):
        term = context.divide(context.multiply(term, step), Decimal(j))
        total = context.add(total, term)
    return total
