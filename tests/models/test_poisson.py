"""Poisson tails are decided as if exponentials were fractions."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
from tests.every import every

from shoal.models.poisson import estimate_k, smallest_class, tail_at_most

PERCENT = Fraction(1, 100)


@every(("k", "p", "expected"), [(20, Fraction(1, 10), 7), (50, Fraction(1, 10), 12), (100, Fraction(1, 20), 12)])
def test_reference_values(k, p, expected):
    assert smallest_class(k, p, PERCENT) == expected


def test_tails_agree_with_scipy_where_no_rounding_matters():
    from scipy.stats import poisson

    rng = np.random.default_rng(0)
    for _ in range(500):
        count, mean = int(rng.integers(0, 40)), Fraction(int(rng.integers(1, 3000)), 100)
        limit = Fraction(int(rng.integers(1, 999)), 1000)
        tail = min(poisson.sf(count - 1, float(mean)) / -np.expm1(-float(mean)), 1.0)
        if abs(tail - float(limit)) > 1e-9:
            assert tail_at_most(count, mean, limit) == (tail < limit)


def test_a_tail_is_told_from_a_limit_that_is_next_to_it():
    """P(X >= 2 | X >= 1) = (e - 2) / (e - 1), of which the limits are the first 60 digits, down and up."""
    with localcontext(Context(prec=80)):
        e = Decimal(1).exp()
        digits = Fraction(int(((e - 2) / (e - 1)).scaleb(60)), 10**60)
    assert not tail_at_most(2, Fraction(1), digits)
    assert tail_at_most(2, Fraction(1), digits + Fraction(1, 10**60))


def test_the_estimated_k_is_the_largest_that_the_smallest_class_allows():
    rng = np.random.default_rng(1)
    for _ in range(40):
        size, p = int(rng.integers(1, 60)), Fraction(int(rng.integers(1, 1000)), 1000)
        k = estimate_k(size, p, PERCENT)
        assert k >= size
        if k > size:
            assert smallest_class(k, p, PERCENT) <= size
        assert smallest_class(k + 1, p, PERCENT) > size


def test_a_large_class_takes_no_long_search():
    # scipy: P(X >= 10,000) = 0.01 for the mean 9768.8369.
    assert estimate_k(10_000, Fraction(1, 10), PERCENT) == 97_688
