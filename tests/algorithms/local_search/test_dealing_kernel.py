from itertools import pairwise

import numpy as np
import pytest
from tests.every import every

from shoal.algorithms.local_search.dealing_kernel import count_failures, deal, deal_in_two, free_failing, join_failing
from shoal.algorithms.local_search.group_state_kernel import Predicate


def asked_of(sensitive, k, l, values):
    """At least k rows and l different values."""
    return Predicate(
        sensitive=sensitive,
        starts=np.array([0, values], dtype=np.int64),
        rules=np.array([(0, 0, k, 0, 0, 0), (2, 0, l, 0, 0, 0)], dtype=np.int64),
        bounds=np.empty(0, dtype=np.int64),
    )


def accepts(group, k, l):
    return len(group) >= k and len(set(group)) >= l


@pytest.mark.parametrize("seed", range(4))
def test_failures_are_counted(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (40, 1)).astype(np.int32)
    order = rng.permutation(40).astype(np.int32)
    for count in (1, 3, 8, 13, 40):
        begins = np.linspace(0, 40, count + 1).astype(np.int64)
        groups = [values[order[first:last], 0].tolist() for first, last in pairwise(begins)]
        failures = sum(not accepts(group, 3, 3) for group in groups)
        predicate = order, begins, asked_of(values, 3, 3, 4)
        assert count_failures(*predicate, 100) == failures
        assert count_failures(*predicate, 0) == min(failures, 1)


@every("kernel", [free_failing, free_failing.py_func])
@every("seed", range(4))
def test_rows_of_failing_groups_are_freed(kernel, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (40, 1)).astype(np.int32)
    order = rng.permutation(40).astype(np.int32)
    begins = np.array([0, 4, 9, 12, 20, 30, 33, 40], dtype=np.int64)
    labels = np.empty(40, dtype=np.int32)
    labels[order] = np.repeat(np.arange(7, dtype=np.int32), np.diff(begins))
    before = labels.copy()
    kernel(order, begins, asked_of(values, 4, 3, 4), labels)
    freed = 0
    for g in range(7):
        kept = accepts(values[before == g, 0].tolist(), 4, 3)
        assert (labels[before == g] == (g if kept else -1)).all()
        freed += not kept
    assert 0 < freed < 7


@every("kernel", [deal, deal.py_func])
@every("seed", range(6))
def test_every_group_gets_its_share_of_every_bucket(kernel, seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, [3, 9, 30, 90][seed % 4], 7)
    n = sizes.sum()
    rows = rng.permutation(n).astype(np.int32)
    begins = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    for count in (1, 2, 3, n // 2, n):
        labels = np.full(n, -1, dtype=np.int32)
        kernel(rows, begins, max(count, 1), labels)
        of_bucket = [labels[rows[first:last]] for first, last in pairwise(begins)]
        for dealt in of_bucket:
            assert (np.diff(dealt) >= 0).all(), "like rows go to the same groups"
            taken = np.searchsorted(dealt, np.arange(1, count + 1))
            shares = np.arange(1, count + 1) * len(dealt) / max(count, 1)
            assert (abs(taken - shares) < 1).all(), "the first groups together have their share of every bucket"


def test_dealt_groups_of_whole_shares_are_the_table():
    rows = np.arange(60, dtype=np.int32)
    labels = np.empty(60, dtype=np.int32)
    deal(rows, np.array([0, 18, 36, 60]), 6, labels)
    for g in range(6):
        assert np.bincount(np.searchsorted([18, 36, 60], rows[labels == g], side="right"), minlength=3).tolist() == [
            3,
            3,
            4,
        ]


@every("kernel", [join_failing, join_failing.py_func])
@every("seed", range(8))
def test_joined_groups_are_stretches_that_are_acceptable(kernel, seed):
    rng = np.random.default_rng(seed)
    n = 30
    values = rng.integers(0, 5, (n, 1)).astype(np.int32)
    values[: 3 + seed] = np.arange(3 + seed).reshape(-1, 1) % 5  # together they have three values
    labels = np.sort(rng.integers(0, 12, n))
    labels = np.unique(labels, return_inverse=True)[1]
    count = labels.max() + 1
    order = rng.permutation(n).astype(np.int32)
    begins = np.searchsorted(labels, np.arange(count + 1)).astype(np.int64)
    joined = np.empty(count, dtype=np.int32)
    left = kernel(order, begins, asked_of(values, 4, 3, 5), joined)
    assert (np.diff(joined) >= 0).all()
    assert sorted(set(joined.tolist())) == list(range(left))
    for g in range(left):
        assert accepts(values[order[joined[labels] == g], 0].tolist(), 4, 3)
    if all(accepts(values[order[labels == g], 0].tolist(), 4, 3) for g in range(count)):
        assert left == count


@every("kernel", [deal_in_two, deal_in_two.py_func])
@every("seed", range(4))
def test_halves_share_every_kind(kernel, seed):
    rng = np.random.default_rng(seed)
    n = 48
    kinds = rng.integers(0, 4, n).astype(np.int32)
    begins = np.array([0, 20, 24, 48], dtype=np.int64)
    standing = rng.permutation(n).astype(np.int32)
    members = rng.permutation(n)
    order = np.concatenate(
        [part[np.lexsort((standing[part], kinds[part]))] for part in np.split(members, begins[1:-1])]
    )
    labels = np.empty(n, dtype=np.int32)
    count = kernel(order.astype(np.int32), begins, kinds, asked_of(kinds.reshape(-1, 1), 3, 2, 4), 3, labels)
    assert sorted(set(labels.tolist())) == list(range(count))
    assert count >= 3
    assert (labels[order[20:24]] == 1).all(), "too small to be cut"
    for begin, size in ((0, 20), (24, 24)):
        rows = order[begin : begin + size]
        parts = [rows[labels[rows] == g] for g in sorted(set(labels[rows].tolist()))]
        for part in parts:
            assert accepts(kinds[part].tolist(), 3, 2)
        if len(parts) == 2:
            for kind in range(4):
                first, second = (part[kinds[part] == kind] for part in parts)
                assert abs(len(first) - len(second)) <= 1
                if len(first) and len(second):
                    assert standing[first].max() < standing[second].min()
            assert abs(len(parts[0]) - len(parts[1])) <= 1
    assert count > 3
