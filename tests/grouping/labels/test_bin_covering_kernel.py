"""The kernels of min-max bin covering, as plain Python and compiled."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.oracles.grouping import divisions

from shoal.grouping.labels import bin_covering_kernel as kernels

RNG = np.random.default_rng(4)


@pytest.fixture(params=["compiled", "python"])
def kernel(request):
    def get(name):
        function = getattr(kernels, name)
        return function if request.param == "compiled" else function.py_func

    return get


def test_next_fit_keeps_the_order(kernel):
    sizes, bin_of = np.array([2, 12, 5, 5, 1, 3]), np.empty(6, dtype=np.int64)
    assert kernel("next_fit")(sizes, np.arange(6), 10, bin_of) == (3, 4)
    assert bin_of.tolist() == [1, 0, 1, 1, 2, 2]


def test_longest_first_takes_the_lightest_bin(kernel):
    sizes = np.sort(RNG.integers(1, 50, 40))[::-1].copy()
    levels, bin_of = np.zeros(7, dtype=np.int64), np.empty(40, dtype=np.int64)
    kernel("longest_first")(sizes, levels, bin_of)
    slow = np.zeros(7, dtype=np.int64)
    for size, into in zip(sizes, bin_of, strict=True):
        assert into == np.argmin(slow)
        slow[into] += size
    assert levels.tolist() == slow.tolist()


def test_left_over_items_stay_below_the_maximum_then_go_round(kernel):
    levels, bin_of = np.array([12, 10]), np.full(4, -1)
    kernel("spread_out")(np.array([2, 1, 1, 1]), np.arange(4), levels, bin_of)
    assert bin_of.tolist() == [1, 0, 1, 0]
    assert levels.tolist() == [14, 13]


def test_bins_below_k_are_merged(kernel):
    levels, bin_of = np.array([9, 3, 4]), np.array([0, 1, 2, -1])
    found = kernel("greedy_completion")(np.array([9, 3, 4, 1]), np.array([3]), levels, 6, bin_of, True)
    assert found == (2, 9, 8)
    assert len(set(bin_of.tolist()[1:])) == 1
    assert sorted(set(bin_of.tolist())) == [0, 1]


def test_the_balance_stays_true_to_the_items(kernel):
    for _ in range(5):
        sizes = np.sort(RNG.integers(1, 300, 40))[::-1].copy()
        levels, bin_of = np.zeros(6, dtype=np.int64), np.zeros(40, dtype=np.int64)
        levels[0] = sizes.sum()
        goal = -(-int(sizes.sum()) // 6)
        kernel("balance")(sizes, bin_of, levels, goal - 1, goal, 3, 17, 1 << 16, np.array([10**7]))
        assert np.bincount(bin_of, weights=sizes, minlength=6).tolist() == levels.tolist()
        assert levels.max() <= goal + 1


def test_sums_and_pairs(kernel):
    for _ in range(30):
        sizes = np.sort(RNG.integers(1, 12, 6))[::-1].copy()
        sums = {sum(some) for r in range(7) for some in itertools.combinations(sizes.tolist(), r)}
        low, high = 7, 20
        assert kernel("first_sum")(sizes, low, high) == min((s for s in sums if low <= s <= high), default=-1)
        pairs = max(
            sum(len(one) == 2 and sizes[one].sum() >= 12 for one in some) for some in divisions(range(len(sizes)))
        )
        assert kernel("pairs_that_cover")(sizes, 12) == pairs


def test_the_search_is_exhaustive(kernel):
    for _ in range(40):
        sizes = np.sort(RNG.integers(1, 20, 6))[::-1].copy()
        k = int(RNG.integers(1, sizes.sum() + 1))
        limit = k + int(RNG.integers(0, 20))
        possible = any(all(k <= sizes[one].sum() <= limit for one in some) for some in divisions(range(len(sizes))))
        bin_of = np.empty(6, dtype=np.int64)
        assert kernel("search")(sizes, k, limit, 100_000, bin_of) == possible
        if possible:
            levels = np.bincount(bin_of, weights=sizes)
            assert k <= levels.min()
            assert levels.max() <= limit
    assert kernel("search")(np.array([2, 2, 2]), 3, 4, 2, np.empty(3, dtype=np.int64)) == -1
