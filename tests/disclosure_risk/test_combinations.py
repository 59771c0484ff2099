"""Distinction and separation of combinations, all of them and by sampling."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from tests.oracles.disclosure_risk import distinction_and_separation

import shoal
from shoal.disclosure_risk import rank_combinations
from shoal.errors import ParameterError
from shoal.table import Schema, encode


def columns_of(frame):
    return encode(frame, Schema(quasi_identifiers=tuple(frame.columns))).quasi_identifiers


def test_five_rows():
    frame = pl.DataFrame({"age": [20, 30, 40, 20, 40], "sex": list("FFFMM"), "state": ["CA", "CA", "TX", "NY", "CA"]})
    found = {one.columns: (one.distinction, one.separation) for one in rank_combinations(columns_of(frame))}
    assert found["sex",] == (0.4, 0.6)
    assert found["state",] == (0.6, 0.7)
    assert found["age",] == (0.6, 0.8)
    assert found["sex", "state"] == (0.8, 0.9)
    assert next(iter(found)) == ("age", "sex")  # of the combinations that tell all apart the shortest
    assert len(found) == 7


def test_hundreds_of_random_tables():
    rng = np.random.default_rng(7)
    for _ in range(150):
        rows, count = int(rng.integers(1, 20)), int(rng.integers(1, 5))
        frame = pl.DataFrame({f"q{at}": rng.integers(0, rng.integers(1, 8), rows) for at in range(count)})
        size = int(rng.integers(1, count + 1))
        ranked = rank_combinations(columns_of(frame), size=size)
        assert len(ranked) == sum(1 for k in range(1, size + 1) for _ in itertools.combinations(range(count), k))
        for one in ranked:
            places = [frame.columns.index(name) for name in one.columns]
            distinction, separation = distinction_and_separation(frame.rows(), places)
            assert one.distinction == float(distinction)
            assert one.separation == (None if separation is None else float(separation))
            assert one.error == 0
        told = [one.separation or 0 for one in ranked]
        assert told == sorted(told, reverse=True)


def test_wide_domains_are_counted_too():
    """More combinations of values than fit into an array, and into 64 bits."""
    rng = np.random.default_rng(8)
    frame = pl.DataFrame({f"q{at}": rng.permutation(3_000) for at in range(6)})
    frame = frame.vstack(frame.head(10))
    ranked = rank_combinations(columns_of(frame), size=6)
    for one in ranked:
        assert one.distinction == 3_000 / 3_010
        assert one.separation == 1 - 10 / (3_010 * 3_009 / 2)


def test_a_sample_is_within_its_error():
    frame = shoal.datasets.census(120_000, quasi_identifiers=6, seed=3)[:, :6]
    exact = {one.columns: one for one in rank_combinations(columns_of(frame))}
    sampled = rank_combinations(columns_of(frame), work=200_000)
    assert set(exact) == {one.columns for one in sampled}
    few = [one for one in sampled if one.error]
    assert len(few) > 30
    for one in sampled:
        true = exact[one.columns]
        if one.error:
            assert one.distinction is None
            assert abs((one.separation or 0) - (true.separation or 0)) <= one.error < 0.02
        else:
            assert one == true
    # The combinations that lead are those that were measured with all rows.
    assert sampled[0].error == 0
    # The sample depends on the table, not on the order of its rows.
    assert rank_combinations(columns_of(frame.sample(fraction=1, shuffle=True, seed=9)), work=200_000) == sampled


def test_the_size_follows_the_number_of_columns():
    frame = pl.DataFrame({f"q{at}": [0, at % 2] for at in range(60)})
    assert max(len(one.columns) for one in rank_combinations(columns_of(frame))) == 2
    with pytest.raises(ParameterError, match="at most 100,000"):
        rank_combinations(columns_of(frame), size=5)
