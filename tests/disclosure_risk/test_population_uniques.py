"""Estimates of population uniques: reference values, likelihoods, and samples of populations that are known."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.oracles.disclosure_risk import pitman_likelihood
from tests.oracles.disclosure_risk import zayatz as zayatz_by_definition

import shoal
from shoal.disclosure_risk.log_linear import population_uniques
from shoal.models.unique_estimates import (
    SampleHistogram,
    _digamma,
    _gamma_ratio,
    _root,
    classes_in_population,
    dankar,
    fit_pitman,
    fit_snb,
    pitman,
    slide_negative_binomial,
    zayatz,
)

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult" / "adult.csv"


def sizes_of(frame: pl.DataFrame, columns: list[str]) -> np.ndarray:
    return frame.group_by(columns).len()["len"].to_numpy().astype(np.int64)


def sample_of(sizes: np.ndarray, rows: int, rng: np.random.Generator) -> SampleHistogram:
    drawn = rng.multivariate_hypergeometric(sizes, rows, method="marginals")
    return SampleHistogram.of(drawn[drawn > 0])


@pytest.mark.skipif(not ADULT.exists(), reason="there is no copy of Adult here")
def test_adult_has_the_values_of_a_leading_tool():
    frame = pl.read_csv(ADULT, separator=";")
    histogram = SampleHistogram.of(sizes_of(frame, frame.columns))
    assert (histogram.rows, histogram.classes) == (30_162, 19_502)
    tenth = Fraction(1, 10)
    # The maximum of the likelihood was found with 40 digits; the other tool has 11 of them right.
    assert pitman(histogram, tenth) == pytest.approx(0.27684993883653597, rel=1e-11)
    assert pitman(histogram, tenth) == pytest.approx(0.2768499388381085624520448520042240992142, rel=3e-15)
    theta, alpha = fit_pitman(histogram) or (0, 0)
    assert theta == pytest.approx(3176.233517902991596029151718622726038671, rel=1e-13)
    assert alpha == pytest.approx(0.7179489482476444317005240964116630699088, rel=1e-14)
    assert zayatz(histogram, tenth) == pytest.approx(0.3207402393466189, rel=1e-15)
    assert zayatz(histogram, Fraction(1)) == histogram.of_size(1) / histogram.rows


def test_zayatz_is_his_formula():
    rng = np.random.default_rng(1)
    for _ in range(200):
        sizes = rng.geometric(rng.uniform(0.2, 0.9), rng.integers(1, 12))
        histogram = SampleHistogram.of(sizes.astype(np.int64))
        p = Fraction(int(rng.integers(1, 20)), 20)
        if not (sizes == 1).any():
            assert zayatz(histogram, p) == 0
            continue
        exact = zayatz_by_definition(sizes.tolist(), round(histogram.rows / p))
        assert zayatz(histogram, p) == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.drawn
def test_pitmans_parameters_are_the_most_likely_ones():
    rng = np.random.default_rng(2)
    inside = edge = 0
    for _ in range(40):
        sizes = rng.zipf(rng.uniform(1.5, 3.5), rng.integers(4, 40)).clip(max=60)
        histogram = SampleHistogram.of(sizes.astype(np.int64))
        fitted = fit_pitman(histogram)
        if fitted is None:
            assert (sizes == 1).all()  # all different: the likelihood grows for ever
            continue
        theta, alpha = fitted
        likelihood = pitman_likelihood(sizes.tolist())
        best = likelihood(theta, alpha)
        grid = [
            likelihood(t, a)
            for a in np.linspace(0, 0.99, 12)
            for t in np.concatenate([np.geomspace(1e-3, 1e4, 16), -a + np.geomspace(1e-3, 1, 5)])
            if t + a > 1e-9 and t > -1
        ]
        assert best >= max(grid) - 1e-9
        inside, edge = inside + (alpha > 0), edge + (alpha == 0)
    assert inside > 12
    assert edge > 0


def test_nothing_fits_a_sample_whose_rows_all_differ_or_are_all_alike():
    tenth = Fraction(1, 10)
    for sizes in ([1, 1, 1], [7]):
        histogram = SampleHistogram.of(np.array(sizes))
        found = population_uniques(histogram, tenth)
        assert found.pitman is None
        assert found.snb is None
        assert found.dankar == found.zayatz
    assert zayatz(SampleHistogram.of(np.array([7])), tenth) == 0


def test_the_slide_negative_binomial_recovers_its_parameters():
    rng = np.random.default_rng(3)
    for _ in range(100):
        classes, alpha, beta, q = 1000.0, rng.uniform(0.05, 4), rng.uniform(0.02, 0.9), rng.uniform(0.02, 0.95)
        # Expected numbers of classes of one and two rows, from the probabilities of F and of f given F.
        size = np.arange(1, 4000)
        logs = np.concatenate(([0.0], np.cumsum(np.log((alpha + size[:-1] - 1) / size[:-1] * (1 - beta)))))
        share = np.exp(alpha * np.log(beta) + logs)
        uniques = classes * (share * size * q * (1 - q) ** (size - 1)).sum()
        pairs = classes * (share * size * (size - 1) / 2 * q**2 * (1 - q) ** (size - 2.0)).sum()
        fitted = fit_snb(classes, uniques, pairs, Fraction(q))
        assert fitted == (pytest.approx(alpha, rel=1e-5), pytest.approx(beta, rel=1e-5))


def test_few_pairs_are_fitted_too():
    """In a sample of a hundredth less than one class of two rows may be expected; K is known here."""
    alpha, beta, q, classes = 0.8, 0.3, 0.01, 1000.0
    inner = 1 - (1 - q) * (1 - beta)
    w = (1 - beta) / inner
    m, common = (1 - q) * w, classes * (beta / inner) ** alpha
    uniques, pairs = common * q * (1 + alpha * m), common * q**2 / 2 * alpha * w * (2 + (1 + alpha) * m)
    assert 0 < pairs < 1
    assert fit_snb(classes, uniques, pairs, Fraction(1, 100)) == pytest.approx((alpha, beta), rel=1e-5)


def test_the_classes_of_the_population_are_by_the_formula():
    rng = np.random.default_rng(5)
    for _ in range(50):
        sizes, p = rng.integers(1, 9, 30), Fraction(int(rng.integers(1, 19)), 20)
        counted = {int(i): int(c) for i, c in zip(*np.unique(sizes, return_counts=True), strict=True)}
        first = sum(i * p**2 * (1 - p**2) ** (i - 1) * c for i, c in counted.items())
        second = sum((1 - p) ** i * ((1 + p) ** i - 1) * c for i, c in counted.items())
        third = sum((1 - p) ** i * c for i, c in counted.items())
        fourth = sum(i * p * (1 - p) ** (i - 1) * c for i, c in counted.items())
        expected = len(sizes) + counted.get(1, 0) * first / second * (third / fourth) ** 2
        assert classes_in_population(SampleHistogram.of(sizes), p) == pytest.approx(float(expected), rel=1e-9)


def test_a_ratio_of_gamma_functions_is_theirs():
    for theta in (-0.2, 0.0, 0.5, 3.0, 39.5, 100.0):
        for alpha in (0.0, 0.25, 0.5, 0.9, 1.0):
            if theta + alpha > 0:
                expected = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha))
                assert _gamma_ratio(theta, alpha) == pytest.approx(expected, rel=1e-12)


def test_the_digamma_function_is_that_of_scipy():
    special = pytest.importorskip("scipy.special")
    x = 10.0 ** np.linspace(-9, 9, 400)
    np.testing.assert_allclose(_digamma(x), special.digamma(x), rtol=1e-14, atol=1e-14)
    # At n + 1 it is the n-th harmonic number without Euler's constant.
    assert _digamma(11) - _digamma(1) == pytest.approx(sum(1 / i for i in range(1, 11)), rel=1e-14)


def test_a_root_is_found_between_two_signs():
    rng = np.random.default_rng(4)
    for zero, left, right in zip(rng.normal(size=100), 20 * rng.random(100), 20 * rng.random(100), strict=True):
        for power in (1, 3):
            found = _root(lambda x: math.atan(x - zero) + (x - zero) ** power, zero - left, zero + right, 1e-12)  # noqa: B023
            assert found == pytest.approx(zero, abs=1e-11)
    assert _root(lambda x: x - 1, 1, 3, 1e-12) == 1
    assert _root(lambda x: x - 3, 1, 3, 1e-12) == 3
    with pytest.raises(ValueError, match="no change of sign"):
        _root(lambda x: x * x + 1, -1, 1, 1e-12)


def test_of_a_whole_population_everything_is_known():
    histogram = SampleHistogram.of(np.array([1, 1, 1, 2, 3, 3, 7]))
    assert slide_negative_binomial(histogram, Fraction(1)) == zayatz(histogram, Fraction(1)) == 3 / 18
    assert classes_in_population(histogram, Fraction(1)) == histogram.classes


def test_the_rule_of_dankar_and_others():
    known = {"pitman": 0.3, "zayatz": 0.5, "snb": 0.4}
    assert dankar(Fraction(1, 10), **known) == 0.3
    assert dankar(Fraction(11, 100), **known) == 0.4
    assert dankar(Fraction(1, 2), **{**known, "zayatz": 0.2}) == 0.2
    assert dankar(Fraction(1, 10), **{**known, "pitman": None}) == 0.5
    assert dankar(Fraction(1, 2), **{**known, "snb": None}) == 0.5


@pytest.mark.drawn
def test_estimates_of_samples_of_a_known_population_are_close():
    """Biases over 8 samples of 200,000 made-up people."""
    people = shoal.datasets.census(200_000, quasi_identifiers=5, seed=1)
    sizes = sizes_of(people, people.columns[:5])
    true = float((sizes == 1).sum() / sizes.sum())
    rng = np.random.default_rng(4)
    for p, name, bias in (
        (Fraction(1, 20), "pitman", 0.15),
        (Fraction(1, 10), "pitman", 0.12),
        (Fraction(1, 5), "snb", 0.10),
        (Fraction(1, 2), "snb", 0.10),
        (Fraction(1, 2), "zayatz", 0.10),
        (Fraction(1, 2), "dankar", 0.10),
    ):
        found = [getattr(population_uniques(sample_of(sizes, int(200_000 * p), rng), p), name) for _ in range(8)]
        assert abs(np.mean(found) / true - 1) < bias, (p, name)
