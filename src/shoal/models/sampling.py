"""Exact parameters of differential privacy by sampling: which rows stay, and which classes are large enough.

Each row stays with probability beta, and classes of fewer than k rows are left out. For a fixed coarsening this is
(epsilon, delta)-differentially private for every epsilon >= -ln(1 - beta), with gamma = (e^epsilon - 1 + beta) /
e^epsilon and delta the largest P[Bin(n, beta) > gamma n] of all n >= ceil(k / gamma - 1).

Exponentials are irrational, so that each number is replaced by a bound on the safe side: beta by a multiple of 2^-64,
gamma by two fractions, and the tails of the binomial distributions by upper bounds.

References
----------
N. Li, W. Qardaji and D. Su, "On sampling, anonymization, and differential privacy: or, k-anonymization meets
differential privacy", ASIACCS 2012, Theorem 4. doi:10.1145/2414456.2414474
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from shoal.models.rationals import logarithm, round_fraction, round_power_of_e

SAMPLING_SCALE = 2**64
"""A row stays if its random integer below this is below the threshold."""
_DOWN, _UP = Context(prec=60, rounding=ROUND_FLOOR), Context(prec=60, rounding=ROUND_CEILING)
_NEGLIGIBLE = Decimal("1e-30")
"""Share of a tail from which on its terms are replaced by a geometric series."""


def sampling_threshold(epsilon: Fraction) -> int:
    """Compute the largest T with T / 2^64 <= 1 - e^-epsilon.

    Parameters
    ----------
    epsilon : Fraction
        Above 0.

    Examples
    --------
    >>> round(sampling_threshold(Fraction(1)) / SAMPLING_SCALE, 6)
    0.632121
    """
    return math.floor((1 - 1 / _bound_exponential(epsilon)[0]) * SAMPLING_SCALE)


def least_class(epsilon: Fraction, delta: Fraction) -> int:
    """Compute the least k for which sampling and leaving out smaller classes is (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : Fraction
        Above 0.
    delta : Fraction
        Above 0 and below 1.

    Examples
    --------
    >>> least_class(Fraction(1), Fraction(1, 10**6))
    74
    """
    beta = Fraction(sampling_threshold(epsilon), SAMPLING_SCALE)
    least, greatest = (1 - (1 - beta) / power for power in _bound_exponential(epsilon))
    # A bound for all n (Chernoff): P[Bin(n, beta) > gamma n] <= e^(-n D), D the divergence of gamma from beta.
    divergence = least * (logarithm(least)[0] - logarithm(beta)[1])
    divergence += (1 - least) * (logarithm(1 - least)[0] - logarithm(1 - beta)[1])
    n = math.ceil(-logarithm(delta)[0] / divergence) + 1
    # The tails of all larger n are at most delta; the last larger one decides.
    while n > 0 and Fraction(_bound_tail(n, beta, math.floor(least * n) + 1)) <= delta:
        n -= 1
    # The least k with ceil(k / gamma - 1) > n.
    return max(1, math.floor(greatest * (n + 1)) + 1)


def _bound_exponential(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Bound e^exponent from below and above."""
    return Fraction(round_power_of_e(exponent, _DOWN)), Fraction(round_power_of_e(exponent, _UP))


def _bound_tail(n: int, beta: Fraction, first: int) -> Decimal:
    """Bound P[Bin(n, beta) >= first] from above, for `first` above the mean."""
    if first > n:
        return Decimal(0)
    up = _UP
    stays, leaves, odds = (round_fraction(one, up) for one in (beta, 1 - beta, beta / (1 - beta)))
    # The first term, rounded up in every step.
    term = up.multiply(
        up.multiply(Decimal(math.comb(n, first)), up.next_plus(up.power(stays, first))),
        up.next_plus(up.power(leaves, n - first)),
    )
    total = term
    for j in range(first, n):
        # The quotients of successive terms decrease, and the first is below 1.
        quotient = up.multiply(up.divide(Decimal(n - j), Decimal(j + 1)), odds)
        if term < total * _NEGLIGIBLE:
            return up.add(total, up.divide(up.multiply(term, quotient), _DOWN.subtract(Decimal(1), quotient)))
        term = up.multiply(term, quotient)
        total = up.add(total, term)
    return total
