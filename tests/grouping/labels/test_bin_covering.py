"""Labels: the paper's bounds with every possibility tried as the judge, and the names of the census."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every, some
from tests.oracles.grouping import divisions, smallest_largest_class

import shoal
from shoal.errors import DataError, InfeasibleError, ParameterError
from shoal.grouping import check_grouping, labels
from shoal.grouping.labels.bin_covering import METHODS
from shoal.grouping.labels.packings import (
    bound_with_bins,
    cover_bound,
    estimated_types,
    most_bins,
    packing_types,
    sharpen_bound,
    small_parts,
)


def small_instances(count: int, most: int = 7) -> list[tuple[list[int], int]]:
    choose = random.Random(20090424)
    instances = []
    for _ in range(count):
        top = choose.choice([3, 6, 10, 30, 100])
        kinds = [range(1, top + 1), [top, max(1, top - 1), top // 2 + 1, 1]][choose.random() < 0.3]
        sizes = [choose.choice(kinds) for _ in range(choose.randint(1, most))]
        instances.append((sizes, choose.randint(1, max(1, sum(sizes) // choose.choice([1, 2, 3, 4])))))
    return instances


def planted(rng: np.random.Generator, k: int, bins: int, pieces: int) -> np.ndarray:
    """Cut bins of exactly k in pieces: the optimum is k."""
    sizes = []
    for _ in range(bins):
        cuts = np.sort(rng.choice(np.arange(1, k), size=rng.integers(0, pieces), replace=False))
        sizes.extend(np.diff(np.concatenate([[0], cuts, [k]])))
    return rng.permutation(np.array(sizes))


def test_every_method_keeps_its_bound_on_small_instances():
    for sizes, k in some(small_instances(320)):
        least = smallest_largest_class(sizes, k)
        assert least is not None
        found = labels(sizes, k, seed=1)
        assert (found.cost, found.lower_bound, found.optimal) == (least, least, True)
        # Theorem 7.
        for order in ("sorted", "random"):
            folded = labels(sizes, k, method="fold", order=order, seed=1)
            assert least <= folded.cost <= max(k - 1 + max(sizes), 3 * k - 3) <= 3 * least
            assert folded.guarantee.largest >= folded.cost
            assert labels(sizes, k, method="spread-simplified", order=order, seed=1).cost >= least
        # Theorem 9.
        assert least <= labels(sizes, k, method="spread").cost <= Fraction(5, 2) * least
        for eps in (Fraction(1, 2), 1):
            # Theorem 10.
            assert least <= labels(sizes, k, method="scheme", eps=eps).cost <= (1 + eps) * (least + k)
            # Theorem 11.
            relaxed = labels(sizes, k, method="relaxed", eps=eps)
            assert relaxed.cost <= (1 + eps) * least
            assert min(relaxed.weights) >= (1 - eps) * k
            assert relaxed.optimal == (relaxed.feasible and relaxed.cost == relaxed.lower_bound)


def test_the_bounds_hold_for_every_packing():
    for sizes, k in small_instances(150, most=6):
        descending = np.sort(np.array(sizes))[::-1].copy()
        packings = [[sum(descending[i] for i in one) for one in some] for some in divisions(range(len(sizes)))]
        feasible = [levels for levels in packings if min(levels) >= k]
        assert most_bins(descending, k) >= max(map(len, feasible))
        for levels in feasible:
            assert bound_with_bins(descending, len(levels)).value <= max(levels)
        simple = cover_bound(descending, k)
        better = sharpen_bound(descending, k, simple)
        assert simple.value <= better.value <= min(map(max, feasible))


def test_the_bounds_see_more_than_the_average():
    thirds = np.array([6] * 9)
    assert most_bins(thirds, 9) == 4
    assert cover_bound(thirds, 9).value == 18
    assert labels(thirds, 9).optimal
    # Nothing adds up to 10 or 11: every class has 12.
    twelves = np.array([3] * 8)
    assert sharpen_bound(twelves, 10, cover_bound(twelves, 10)).value == 12


@every("seed", range(6))
def test_planted_optima_are_found_and_the_proven_ratios_hold(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(50, 2000))
    sizes = planted(rng, k, bins=int(rng.integers(4, 40)), pieces=12)
    assert labels(sizes, k, seed=seed).cost == k
    assert labels(sizes, k, method="fold").cost <= 3 * k - 3
    assert 2 * labels(sizes, k, method="spread").cost <= 5 * k
    for order in ("sorted", "random"):
        assert labels(sizes, k, method="spread-simplified", order=order, seed=seed).cost >= k


@every(
    ("sizes", "k", "fold", "spread", "best"),
    [
        # Three items of k - 1: the bound of Theorem 7 is met, by every method, for nothing else is feasible.
        ([9, 9, 9], 10, 27, 27, 27),
        # A last bin of three small items.
        ([9, 9, 9, 9, 9, 9, 3, 3, 3], 10, 27, 21, 18),
        # Large items in an odd number: case 2.1 swaps, case 2.2 ends as Fold.
        ([9, 8, 7, 6, 6, 3], 10, 22, 14, 14),
        # An oversize item and less than k beside it.
        ([40, 4, 3], 10, 47, 47, 47),
        ([40, 9, 8, 7], 10, 40, 40, 40),
    ],
)
def test_adversarial_inputs(sizes, k, fold, spread, best):
    assert labels(sizes, k).cost == best
    assert len(sizes) > 7 or smallest_largest_class(sizes, k) == best
    assert labels(sizes, k, method="fold").cost == fold
    assert labels(sizes, k, method="spread").cost == spread


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_nothing_beats_the_solver(data):
    sizes = data.draw(st.lists(st.integers(1, 400), min_size=1, max_size=60))
    k = data.draw(st.integers(1, sum(sizes)))
    found = labels(sizes, k, seed=0)
    check_grouping(found, np.array(sizes))
    assert found.weights.tolist() == sorted(found.weights, reverse=True)
    for method in ("fold", "spread", "spread-simplified"):
        other = labels(sizes, k, method=method)
        assert found.cost <= other.cost
        assert other.lower_bound <= found.cost


def paper_range(sizes: np.ndarray, count: int) -> list[int]:
    """Values of k from the frequency of the most common name to the one that leaves two classes."""
    return np.unique(np.linspace(sizes.max(), sizes.sum() // 2, count).astype(int)).tolist()


@pytest.mark.drawn
@pytest.mark.parametrize("table", ["male", "female", "last"])
def test_the_names_of_the_census_are_grouped_optimally(table):
    sizes = shoal.datasets.names(table)["count"].to_numpy()
    for k in paper_range(sizes, 25):
        found = labels(sizes, k, seed=0)
        assert found.optimal, k
        assert found.cost == -(-sizes.sum() // (sizes.sum() // k))
        folded = labels(sizes, k, method="fold", order="random", seed=k)
        spread = labels(sizes, k, method="spread-simplified", order="random", seed=k)
        assert found.cost <= spread.cost <= folded.cost <= 3 * k - 3


def test_lemma_8():
    choose = random.Random(8)
    for _ in range(300):
        k = choose.randint(2, 60)
        sizes: list[int] = []
        while sum(sizes) < k - 1:
            sizes.append(choose.randint(1, min(k // 2, k - 1 - sum(sizes))))
        parts = small_parts(np.array(sizes), np.arange(len(sizes)), k)
        assert sorted(np.concatenate(parts).tolist()) == list(range(len(sizes)))
        assert all(2 * sum(sizes[i] for i in part) <= k for part in parts)


def test_types_are_estimated_and_refused():
    rounded = [Fraction(2), Fraction(1), Fraction(1), Fraction(1, 2)]
    for most in (1, 2, 3, 5):
        kinds = list(packing_types(rounded, most))
        assert 0 < len(kinds) + (most == 1) <= estimated_types(rounded, most) + 1
        forms = {(count, tuple(sorted(map(tuple, divided(rounded, bins))))) for bins, count in kinds}
        assert len(forms) == len(kinds), "no type twice"
    with pytest.raises(ParameterError, match=r"would try up to .* packings.*method='best'"):
        labels([7] * 40, 20, method="scheme", eps=0.25)


def divided(rounded: list[Fraction], bins: list[int]) -> list[list[Fraction]]:
    return [sorted(rounded[i] for i, at in enumerate(bins) if at == one) for one in sorted(set(bins))]


def test_a_seed_repeats_a_random_order():
    sizes = np.arange(1, 200)
    first, again, other = (labels(sizes, 500, method="fold", order="random", seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.classes, again.classes)
    assert not np.array_equal(first.classes, other.classes)


@every("method", METHODS)
def test_one_label(method):
    found = labels([7], 7, method=method)
    assert (found.classes.tolist(), found.weights.tolist(), found.optimal) == ([0], [7], True)


@every(
    ("sizes", "k", "options", "error", "message"),
    [
        ([3, 0, 4], 2, {}, DataError, "sizes of labels must be at least 1: 1 of 3"),
        ([3, -1, 4], 2, {}, DataError, "must be at least 1"),
        ([3, 1.5], 2, {}, DataError, "whole numbers"),
        ([3, 4], 8, {}, InfeasibleError, "only 7 in all. The largest k that can be met is 7"),
        ([3, 4], 0, {}, ParameterError, "'k' parameter of labels must be an int >= 1. Got 0"),
        ([3, 4], 2, {"method": "magic"}, ParameterError, "'method' parameter of labels must be one of 'best'"),
        ([3, 4], 2, {"order": "up"}, ParameterError, "'order' parameter"),
        ([3, 4], 2, {"order": "random"}, ParameterError, "'random' for 'fold' and 'spread-simplified' only"),
        ([3, 4], 2, {"eps": 0}, ParameterError, "'eps' parameter"),
        ([3, 4], 2, {"seed": -1}, ParameterError, "'seed' parameter"),
    ],
)
def test_bad_input(sizes, k, options, error, message):
    with pytest.raises(error, match=message):
        labels(sizes, k, **options)
