"""Individual risk: reference values, the definition in exact arithmetic, and households."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from tests.every import every

from shoal.disclosure_risk import Frequencies
from shoal.disclosure_risk.individual import household_risks, individual_risk, individual_risks, sum_weights


def risk(f: int, total: float) -> float:
    return float(individual_risks(np.array([f]), np.array([total], dtype=float))[0])


def by_definition(f: int, p: Fraction) -> float:
    """E(1/F | f) for F negative binomial: sum over h >= f of 1/h C(h - 1, f - 1) p^f (1 - p)^(h - f)."""
    with localcontext(prec=50):
        share = Decimal(p.numerator) / Decimal(p.denominator)
        term = share**f
        total = left = Decimal(0)
        h = f
        while left < 1 - Decimal(10) ** -18:
            total += term / h
            left += term
            term *= Decimal(h) / Decimal(h - f + 1) * (1 - share)
            h += 1
        return float(total)


@every(
    ("f", "total", "expected"),
    [
        (3, 108, 0.01355297),
        (1, 45.5, 0.08579129),
        (1, 123.5, 0.03931625),
        (2, 360, 0.005424520),
        (1, 215, 0.025096439),
        (2, 152, 0.012563425),
        (1, 186, 0.028247279),
        (1, 180, 0.029010932),
        (2, 262, 0.007403834),
    ],
)
def test_values_of_the_practice_guide(f, total, expected):
    digits = len(str(expected).split(".")[1])
    assert risk(f, total) == pytest.approx(expected, abs=0.6 * 10**-digits)


def test_the_global_risk_of_the_practice_guide():
    sample = np.array([2, 1, 2, 1, 1, 1, 2])
    sums = np.array([360, 215, 152, 186, 180, 215, 262], dtype=float)
    found = individual_risk(individual_risks(sample, sums), sample)
    assert found.global_ == pytest.approx(0.01582, abs=5e-6)
    assert found["global"] == found.to_dict()["global"] == found.global_
    assert found.expected == pytest.approx(10 * found.global_, rel=1e-15)


def test_the_definition():
    for f in (1, 2, 3, 7, 15, 16, 17, 40, 99, 100, 150, 1000):
        for p in (Fraction(1, 20), Fraction(1, 4), Fraction(1, 2), Fraction(51, 100), Fraction(19, 20), Fraction(1)):
            assert risk(f, float(f / p)) == pytest.approx(by_definition(f, p), rel=1e-13), (f, p)


@every(
    ("f", "p", "expected"),
    # With 60 digits by mpmath: p / f * hyp2f1(1, 1, f + 1, 1 - p). scipy 1.17 has infinity for the third one.
    [
        (1, 1e-9, 2.0723265857669679365e-8),
        (100, 1e-9, 1.0101010100907029478e-11),
        (100, 1e-2, 1.0099979598145909231e-4),
        (5000, 1e-6, 2.0004000796157630888e-10),
        (5000, 0.9, 1.8000359942406623857e-4),
    ],
)
def test_the_edges(f, p, expected):
    assert risk(f, f / p) == pytest.approx(expected, rel=4e-15)


def test_a_class_that_is_known_to_have_nobody_else():
    for f in (1, 2, 15, 16, 3000):
        assert risk(f, f) == 1 / f
        assert risk(f, np.nextafter(f, math.inf)) == pytest.approx(1 / f, rel=1e-14)


def test_risk_falls_with_the_weights_and_with_the_class():
    totals = np.geomspace(40, 1e9, 200)
    for f in (1, 2, 15, 16, 40):
        risks = individual_risks(np.full(200, f), totals)
        assert (np.diff(risks) < 0).all()
    sizes = np.arange(1, 400)
    assert (np.diff(individual_risks(sizes, sizes / 0.3)) < 0).all()


def test_households():
    risks, classes = np.array([0.02, 0.03, 0.5, 1.0]), np.array([0, 2, 1, 1, 3])
    of = np.array([0, 1, 0, 0, 2])
    assert household_risks(risks, classes, of, 3).tolist() == [pytest.approx(0.077918, abs=1e-15), 0.5, 1.0]
    tiny = household_risks(np.array([1e-12]), np.array([0, 0]), np.array([0, 0]), 1)[0]
    assert tiny == pytest.approx(2e-12, rel=1e-11)


def frequencies_of(classes):
    sizes = np.bincount(classes)
    return Frequencies(class_of=classes, rows_of=sizes, first_rows=sizes, sample=sizes)


def test_sums_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(1)
    weights, classes = rng.uniform(1, 5000, 1000), rng.integers(0, 7, 1000)
    weights[0] = np.nextafter(1, 2)
    order = rng.permutation(1000)
    sums = sum_weights(frequencies_of(classes), weights)
    assert sums.tolist() == [math.fsum(weights[classes == at].tolist()) for at in range(7)]
    assert (sums == sum_weights(frequencies_of(classes[order]), weights[order])).all()
    risks, homes = rng.random(7), rng.integers(0, 300, 1000)
    found = household_risks(risks, classes, homes, 300)
    assert (found == household_risks(risks, classes[order], homes[order], 300)).all()
    assert found == pytest.approx([1 - np.prod(1 - risks[classes[homes == at]]) for at in range(300)], rel=1e-12)
