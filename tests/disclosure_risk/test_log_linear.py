"""Log-linear models: fits, and the risk of samples of a population that follows one."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from shoal.disclosure_risk import count_frequencies, log_linear_risk
from shoal.disclosure_risk.log_linear import expected_frequencies
from shoal.errors import ParameterError
from shoal.table import Schema, encode


def columns_of(frame):
    return encode(frame, Schema(quasi_identifiers=tuple(frame.columns))).quasi_identifiers


def every_cell(columns):
    grid = np.indices([column.size for column in columns])
    return [axis.ravel() for axis in grid]


def test_independence_is_the_product_of_shares():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"a": rng.integers(0, 3, 50), "b": rng.integers(0, 4, 50)})
    columns = columns_of(frame)
    found = expected_frequencies(columns, count_frequencies(columns), every_cell(columns), model="independence")
    shares = [np.bincount(column.codes) / 50 for column in columns]
    assert found == pytest.approx(50 * np.outer(*shares).ravel())


def test_two_way_margins_are_met_and_nothing_more_is_fitted():
    """The margins are those of the table; no interaction of three is left: odds ratios are the same in all layers."""
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"a": rng.integers(0, 2, 400), "b": rng.integers(0, 2, 400), "c": rng.integers(0, 3, 400)})
    columns = columns_of(frame)
    frequencies = count_frequencies(columns)
    fitted = expected_frequencies(columns, frequencies, every_cell(columns), model="two-way").reshape(2, 2, 3)
    observed = np.zeros((2, 2, 3))
    np.add.at(observed, tuple(column.codes for column in columns), 1)
    for axis in range(3):
        assert fitted.sum(axis=axis) == pytest.approx(observed.sum(axis=axis), abs=1e-3)
    ratios = fitted[0, 0] * fitted[1, 1] / (fitted[0, 1] * fitted[1, 0])
    assert ratios == pytest.approx(np.full(3, ratios[0]), rel=1e-4)


def test_two_columns_two_way_is_the_table_itself():
    frame = pl.DataFrame({"a": [0, 0, 1, 1, 1], "b": [0, 1, 1, 1, 0]})
    columns = columns_of(frame)
    fitted = expected_frequencies(columns, count_frequencies(columns), every_cell(columns), model="two-way")
    assert fitted == pytest.approx([1, 1, 1, 2])


def test_the_formulas():
    """Rows 0..2 are unique: mu = 4 * (2/4) * (1/4) for (0, 1) and so on."""
    frame = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 2, 2]})
    columns = columns_of(frame)
    p = Fraction(1, 4)
    found = log_linear_risk(columns, count_frequencies(columns), p, model="independence")
    rate = 4 * 0.5 * 0.25 / 0.25 * 0.75
    assert found.tau_1 == pytest.approx(2 * math.exp(-rate), rel=1e-15)
    assert found.tau_2 == pytest.approx(2 * (1 - math.exp(-rate)) / rate, rel=1e-15)
    everybody = log_linear_risk(columns, count_frequencies(columns), Fraction(1), model="independence")
    assert (everybody.tau_1, everybody.tau_2) == (2, 2)


def test_samples_of_a_population_that_follows_the_model():
    """Both estimates are within 6 percent of the truth, on average over ten populations and samples."""
    rng = np.random.default_rng(3)
    shares = [rng.dirichlet(np.full(size, 2.0)) for size in (12, 10, 8, 6)]
    means = 40_000 * functools.reduce(np.multiply.outer, shares).ravel()
    p = 0.05
    estimated, true = np.zeros(2), np.zeros(2)
    for _ in range(10):
        population = rng.poisson(means)
        sample = rng.binomial(population, p)
        cells = np.repeat(np.arange(len(means)), sample)
        codes = np.unravel_index(cells, (12, 10, 8, 6))
        columns = columns_of(pl.DataFrame({f"q{at}": code for at, code in enumerate(codes)}))
        found = log_linear_risk(columns, count_frequencies(columns), Fraction(1, 20), model="independence")
        estimated += (found.tau_1, found.tau_2)
        alone = sample == 1
        true += ((population[alone] == 1).sum(), (1 / population[alone]).sum())
    assert np.abs(estimated / true - 1).max() < 0.06


def test_a_model_of_too_many_cells_is_refused():
    frame = pl.DataFrame({f"q{at}": range(300) for at in range(3)})
    columns = columns_of(frame)
    with pytest.raises(ParameterError, match="27,000,000 here; at most 5,000,000"):
        log_linear_risk(columns, count_frequencies(columns), Fraction(1, 2), model="two-way")
