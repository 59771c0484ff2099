"""The kernels of counterfeited generalization, compiled and as plain Python, against slow oracles."""

from __future__ import annotations

import numpy as np
import pytest
from tests.every import every
from tests.oracles import invariance as oracles

from shoal.republication.m_invariance import invariance_kernel as kernels


def forms(kernel):
    return (kernel, kernel.py_func)


def eligible_counts(rng, values, most, m):
    while True:
        counts = rng.integers(0, most + 1, values)
        if counts.any() and oracles.is_eligible(counts.tolist(), m):
            return counts.astype(np.int64)


def falling(counts):
    return np.argsort(-counts, kind="stable")


@pytest.mark.parametrize("form", [0, 1])
def test_slots_of_finds_the_value_in_the_signature(form):
    find_slots = forms(kernels.find_slots)[form]
    starts, values = np.array([0, 2, 5]), np.array([1, 4, 0, 1, 7], dtype=np.int32)
    signature_of = np.array([0, 0, 1, 1, 1, -1, 0, 1])
    sensitive = np.array([1, 4, 0, 1, 7, 4, 0, 8])
    assert find_slots(signature_of, sensitive, starts, values).tolist() == [0, 1, 2, 3, 4, -1, -2, -2]


def balance_slowly(deficits, values, supply, m):
    supply = list(supply)
    given = [0] * len(deficits)
    for slot, (lacking, value) in enumerate(zip(deficits, values, strict=True)):
        while given[slot] < lacking and supply[value]:
            without = [*supply[:value], supply[value] - 1, *supply[value + 1 :]]
            if not oracles.is_eligible(without, m):
                break
            supply = without
            given[slot] += 1
    return given


@every("form", [0, 1])
@every("seed", range(60))
def test_balancing_in_order_takes_a_row_whenever_the_others_stay_eligible(form, seed):
    rng = np.random.default_rng(seed)
    m, values = int(rng.integers(2, 4)), int(rng.integers(3, 7))
    supply = eligible_counts(rng, values, 6, m)
    slots = int(rng.integers(1, 8))
    deficits, of = rng.integers(0, 5, slots), rng.integers(0, values, slots).astype(np.int32)
    given = forms(kernels.balance_in_order)[form](deficits, of, supply.copy(), m)
    assert given.tolist() == balance_slowly(deficits.tolist(), of.tolist(), supply.tolist(), m)


@every("form", [0, 1])
@every("seed", range(60))
def test_the_assignment_is_the_papers(form, seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 5))
    counts = eligible_counts(rng, int(rng.integers(m, 9)), 12, m)
    alphas, betas, chosen = forms(kernels.assign_values)[form](counts, falling(counts), m)
    slow = oracles.assign(dict(enumerate(counts.tolist())), m)
    # Which of equally frequent values are taken is open, so only the first step must agree for certain.
    assert (alphas[0], betas[0]) == (slow[0][0], len(slow[0][1]))
    left, at = counts.copy(), 0
    for alpha, beta in zip(alphas.tolist(), betas.tolist(), strict=True):
        step = chosen[at : at + beta]
        at += beta
        expected = oracles.assign(dict(enumerate(left.tolist())), m)[0]
        assert (alpha, beta) == (expected[0], len(expected[1]))
        assert len(set(step.tolist())) == beta >= m
        assert min(left[step]) >= max(np.delete(left, step), default=0), "the commonest values"
        left[step] -= alpha
        assert oracles.is_eligible(left.tolist(), m)
    assert not left.any()


def test_rows_that_are_not_eligible_are_not_assigned():
    counts = np.array([5, 1, 1])
    assert all(len(part) == 0 for part in kernels.assign_values(counts, falling(counts), 2))


@every("form", [0, 1])
@every("seed", range(40))
def test_known_buckets_take_what_leaves_the_others_eligible(form, seed):
    rng = np.random.default_rng(seed)
    m, values = int(rng.integers(2, 4)), int(rng.integers(4, 8))
    counts = eligible_counts(rng, values, 20, m)
    sets = [np.sort(rng.permutation(values)[: rng.integers(m, values + 1)]) for _ in range(4)]
    starts = np.concatenate(([0], np.cumsum([len(one) for one in sets])))
    of = np.concatenate(sets).astype(np.int32)
    buckets = np.array([0, 2, 3])
    left = counts.copy()
    chosen, alphas = forms(kernels.assign_to_known)[form](
        left, falling(counts), starts, of, buckets, rng.random(3) + 0.1, rng.random(values) + 0.1, m, 50
    )
    again = counts.copy()
    for bucket, alpha in zip(chosen.tolist(), alphas.tolist(), strict=True):
        assert bucket in buckets
        assert alpha >= 1
        again[sets[bucket]] -= alpha
        assert again.min() >= 0
        assert oracles.is_eligible(again.tolist(), m)
    assert np.array_equal(left, again)
    if len(chosen) < 50:  # it ended because nothing more fits
        for bucket in buckets:
            once_more = again.copy()
            once_more[sets[bucket]] -= 1
            assert once_more.min() < 0 or not oracles.is_eligible(once_more.tolist(), m)


def random_bucket(rng):
    d, s, h = int(rng.integers(1, 4)), int(rng.integers(2, 4)), int(rng.integers(1, 6))
    codes = rng.integers(0, rng.integers(2, 9), (s * h, d)).astype(np.int32)
    full = int(rng.integers(0, s))  # in one list nobody is a counterfeit
    for which in range(s):
        if which != full:
            codes[which * h : which * h + int(rng.integers(0, h))] = -1
    return codes, s, h, rng.integers(1, 5, d).astype(np.int64)


@every("form", [0, 1])
@every("seed", range(60))
def test_the_split_is_the_best_at_every_step(form, seed):
    rng = np.random.default_rng(seed)
    codes, s, h, weights = random_bucket(rng)
    list_starts = np.arange(s + 1) * h
    sizes = codes.max(axis=0).astype(np.int64) + 1
    orders = forms(kernels.sort_lists)[form](codes, np.repeat(np.arange(s), h), list_starts, sizes)
    group_of = np.full(s * h, -1, dtype=np.int32)
    count = forms(kernels.split_buckets)[form](codes, weights, orders, np.array([0, s * h]), np.array([s]), 5, group_of)
    assert count == 5 + h
    lists = [[None if row[0] < 0 else tuple(row) for row in codes[i * h : i * h + h].tolist()] for i in range(s)]
    expected = {frozenset(w * h + p for w, p in group) for group in oracles.split(lists, weights.tolist())}
    assert {frozenset(np.flatnonzero(group_of == g).tolist()) for g in range(5, count)} == expected


def test_very_uneven_buckets_split_in_a_reasonable_time():
    # Each best split takes one row off: without a limit on the depth that is quadratic in the height.
    h = 3_000
    codes = np.repeat((np.arange(h) ** 2).astype(np.int32) // 1000, 1)[:, None]
    codes = np.concatenate((codes, codes)).astype(np.int32)
    sizes = codes.max(axis=0).astype(np.int64) + 1
    orders = kernels.sort_lists(codes, np.repeat([0, 1], h), np.array([0, h, 2 * h]), sizes)
    group_of = np.full(2 * h, -1, dtype=np.int32)
    count = kernels.split_buckets(
        codes, np.ones(1, dtype=np.int64), orders, np.array([0, 2 * h]), np.array([2]), 0, group_of
    )
    assert count == h
    assert np.array_equal(np.bincount(group_of), np.full(h, 2))
