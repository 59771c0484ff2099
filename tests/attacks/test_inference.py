"""Inference: what a classifier learns of people in a release, and of others."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest

from shoal.attacks import inference_attack
from shoal.attacks.inference import _draw_ranks
from shoal.errors import ParameterError
from shoal.verification.covered_ranks import CoveredRanks, RankSet

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")
READING = {"quasi_identifiers": ["age", "town"], "sensitive": "ill"}


def tables(seed, *, related):
    """Return a release of 400 people in which those of five neighbouring ages look alike, people in it, and others."""
    rng = np.random.default_rng(seed)
    age, town = rng.integers(20, 60, 800), rng.choice(["A", "B"], 800)
    ill = np.where(age < 40, "young", "old") if related else rng.choice(["x", "y"], 800)
    people = pl.DataFrame({"age": age, "town": town, "ill": ill})
    low = age[:400] // 5 * 5
    cells = [f"[{one}, {one + 4}]" for one in low]
    return people[:400].with_columns(age=pl.Series(cells), town=pl.lit("*")), people[:400], people[400:]


@pytest.mark.drawn
def test_statistics_are_no_disclosure():
    release, members, others = tables(0, related=True)
    found = inference_attack(release, targets=members, controls=others, seed=1, **READING)
    assert found.rate > 0.95
    assert found.baseline.rate < 0.7
    assert found.control.rate > 0.95
    assert found.residual["low"] <= 0
    assert "tells nothing more" in found.sentences()[-1]


@pytest.mark.drawn
def test_what_is_learned_by_heart_is():
    release, members, others = tables(0, related=False)
    exact = members.with_columns(pl.col("age").cast(pl.String))
    found = inference_attack(exact, targets=members, controls=others, seed=1, **READING)
    again = inference_attack(exact, targets=members, controls=others, seed=1, **READING)
    assert found.to_dict() == again.to_dict()
    assert found.residual["low"] > 0
    coarse = inference_attack(release, targets=members, controls=others, seed=1, **READING)
    assert coarse.rate < found.rate


def test_a_seed_gives_the_same_draws_whatever_codes_the_cells_have():
    ranks = np.arange(6, dtype=np.int32)
    sets = [RankSet.of([0, 2, 5]), RankSet.of([1, 4]), RankSet.of([2, 3])]
    cells, drawn = np.array([1, 0, 2, 0, 1, 1, 0]), set()
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        covered, codes = CoveredRanks.of([sets[at] for at in order]), np.argsort(order)[cells]
        drawn.add(tuple(_draw_ranks(covered, codes, ranks, np.random.default_rng(3)).tolist()))
    assert len(drawn) == 1


def test_bad_input():
    release, members, _ = tables(0, related=True)
    with pytest.raises(ParameterError, match="controls"):
        inference_attack(release, targets=members, controls=None, **READING)
    with pytest.raises(ParameterError, match="seed"):
        inference_attack(release, targets=members, controls=members, seed=-1, **READING)
