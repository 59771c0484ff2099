"""How many rows go where: the closed forms against trying everything."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.republication.m_invariance.balancing import (
    assignments,
    assignments_of_similar,
    assignments_to_known,
    fewest_counterfeits,
    largest_m,
    shared_out,
    withheld,
)
from shoal.republication.m_invariance.signatures import Signatures
from shoal.testing import invariance as oracles


def draw(seed, *, eligible=False):
    rng = np.random.default_rng(seed)
    while True:
        values = int(rng.integers(2, 5))
        m, supply, demand = int(rng.integers(2, 4)), rng.integers(0, 6, values), rng.integers(0, 6, values)
        if not eligible or oracles.is_eligible(supply.tolist(), m):
            return m, supply, demand


@pytest.mark.parametrize("seed", range(300))
def test_no_other_choice_balances_with_fewer_counterfeits(seed):
    m, supply, demand = draw(seed, eligible=True)
    taken = fewest_counterfeits(supply, demand, m)
    assert (taken >= 0).all()
    assert (taken <= np.minimum(supply, demand)).all()
    assert oracles.is_eligible((supply - taken).tolist(), m)
    assert taken.sum() == oracles.most_taken(supply.tolist(), demand.tolist(), m)


@pytest.mark.parametrize("seed", range(300))
def test_the_fewest_rows_are_held_back(seed):
    m, supply, demand = draw(seed)
    balancing, waiting = withheld(supply, demand, m)
    assert (balancing <= demand).all()
    assert oracles.is_eligible((supply - balancing - waiting).tolist(), m)
    assert waiting.sum() == oracles.fewest_withheld(supply.tolist(), demand.tolist(), m)


def test_eligible_rows_are_all_published():
    balancing, waiting = withheld(np.array([3, 3, 2]), np.array([9, 9, 9]), 2)
    assert not balancing.any()
    assert not waiting.any()


@pytest.mark.parametrize(("counts", "best"), [([2, 3, 4], 2), ([1, 1, 1], 3), ([7], 1), ([], 0), ([0, 0], 0)])
def test_the_largest_m(counts, best):
    assert largest_m(np.array(counts, dtype=np.int64)) == best


def test_rare_values_balance_first():
    # Table 2a: Ray's dyspepsia is the only one, and so it is taken rather than a flu.
    supply, demand = np.array([1, 0, 2, 2]), np.array([1, 1, 1, 0])
    assert fewest_counterfeits(supply, demand, 2).tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("seed", range(50))
def test_rows_are_shared_out_to_the_most_urgent_slots(seed):
    rng = np.random.default_rng(seed)
    signatures = Signatures.of([rng.permutation(5)[:3].tolist() for _ in range(4)])
    deficits = rng.integers(0, 4, len(signatures.values))
    demand = np.bincount(signatures.values, weights=deficits, minlength=5).astype(int)
    taken = np.array([rng.integers(0, most + 1) for most in demand])
    urgency = rng.permutation(len(deficits))
    given = shared_out(taken, deficits, signatures, urgency)
    assert ((given >= 0) & (given <= deficits)).all()
    assert np.array_equal(np.bincount(signatures.values, weights=given, minlength=5), taken)
    for slot in np.flatnonzero(given < deficits):
        later = (signatures.values == signatures.values[slot]) & (urgency < urgency[slot])
        assert not given[later].any()


@pytest.mark.parametrize("seed", range(20))
def test_known_buckets_and_then_the_papers_assignment_take_every_row(seed):
    rng = np.random.default_rng(seed)
    rest = rng.integers(5, 12, 8)
    signatures = Signatures.of([rng.permutation(8)[:3].tolist() for _ in range(3)])
    heights = np.array([9, 0, 30])
    steps = assignments_to_known(rest, signatures, heights, 3, rest * 20)
    for alpha, chosen in steps:
        rest[chosen] -= alpha
    for alpha, chosen in assignments(rest, 3):
        assert len(chosen) >= 3
        rest[chosen] -= alpha
    assert not rest.any()


@pytest.mark.parametrize("seed", range(100))
def test_buckets_of_similar_values_leave_eligible_rows(seed):
    rng = np.random.default_rng(seed)
    m, values = int(rng.integers(2, 5)), int(rng.integers(4, 15))
    rest = rng.integers(0, 60, values)
    if not oracles.is_eligible(rest.tolist(), m):
        rest[:] = rest.max()
    for alpha, chosen in assignments_of_similar(rest, rng.random((values, 2)), m):
        assert alpha >= 1
        assert len(set(chosen.tolist())) == m
        assert max(rest) in rest[chosen], "the commonest value is among them"
        rest[chosen] -= alpha
        assert rest.min() >= 0
        assert oracles.is_eligible(rest.tolist(), m)


def test_similar_values_share_a_bucket():
    profiles = np.array([[0.0], [5.0], [0.1], [5.1]])
    steps = assignments_of_similar(np.array([10, 9, 9, 9]), profiles, 2)
    assert [chosen.tolist() for _, chosen in steps][:2] == [[0, 2], [1, 3]]
