"""How many rows go where: the closed forms against trying everything."""

from __future__ import annotations

import numpy as np
from tests.every import every
from tests.oracles import invariance as oracles

from shoal.republication.m_invariance.balancing import (
    find_largest_m,
    minimize_counterfeits,
    plan_assignments,
    plan_assignments_to_known,
    share_out,
)
from shoal.republication.m_invariance.signatures import Signatures


def draw(seed):
    rng = np.random.default_rng(seed)
    while True:
        values = int(rng.integers(2, 5))
        m, supply, demand = int(rng.integers(2, 4)), rng.integers(0, 6, values), rng.integers(0, 6, values)
        if oracles.is_eligible(supply.tolist(), m):
            return m, supply, demand


@every("seed", range(300))
def test_no_other_choice_balances_with_fewer_counterfeits(seed):
    m, supply, demand = draw(seed)
    taken = minimize_counterfeits(supply, demand, m)
    assert (taken >= 0).all()
    assert (taken <= np.minimum(supply, demand)).all()
    assert oracles.is_eligible((supply - taken).tolist(), m)
    assert taken.sum() == oracles.most_taken(supply.tolist(), demand.tolist(), m)


@every(("counts", "best"), [([2, 3, 4], 2), ([1, 1, 1], 3), ([7], 1), ([], 0), ([0, 0], 0)])
def test_the_largest_m(counts, best):
    assert find_largest_m(np.array(counts, dtype=np.int64)) == best


def test_rare_values_balance_first():
    # Table 2a: Ray's dyspepsia is the only one, and so it is taken rather than a flu.
    supply, demand = np.array([1, 0, 2, 2]), np.array([1, 1, 1, 0])
    assert minimize_counterfeits(supply, demand, 2).tolist() == [1, 0, 0, 0]


@every("seed", range(50))
def test_rows_are_shared_out_to_the_most_urgent_slots(seed):
    rng = np.random.default_rng(seed)
    signatures = Signatures.of([rng.permutation(5)[:3].tolist() for _ in range(4)])
    deficits = rng.integers(0, 4, len(signatures.values))
    demand = np.bincount(signatures.values, weights=deficits, minlength=5).astype(int)
    taken = np.array([rng.integers(0, most + 1) for most in demand])
    urgency = rng.permutation(len(deficits))
    given = share_out(taken, deficits, signatures, urgency)
    assert ((given >= 0) & (given <= deficits)).all()
    assert np.array_equal(np.bincount(signatures.values, weights=given, minlength=5), taken)
    for slot in np.flatnonzero(given < deficits):
        later = (signatures.values == signatures.values[slot]) & (urgency < urgency[slot])
        assert not given[later].any()


@every("seed", range(20))
def test_known_buckets_and_then_the_papers_assignment_take_every_row(seed):
    rng = np.random.default_rng(seed)
    rest = rng.integers(5, 12, 8)
    signatures = Signatures.of([rng.permutation(8)[:3].tolist() for _ in range(3)])
    heights = np.array([9, 0, 30])
    steps = plan_assignments_to_known(rest, signatures, heights, 3, rest * 20)
    for alpha, chosen in steps:
        rest[chosen] -= alpha
    for alpha, chosen in plan_assignments(rest, 3, rng):
        assert len(chosen) >= 3
        rest[chosen] -= alpha
    assert not rest.any()
