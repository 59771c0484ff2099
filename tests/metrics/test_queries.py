"""The query workload error against the formula in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from tests.every import every

from shoal.metrics import queries_kernel as kernels
from shoal.metrics import random_ranges, workload_error


def test_ranges_have_the_length_that_the_selectivity_asks_for():
    low, high = random_ranges([100, 3, 50], 0.125, 1_000, np.random.default_rng(0))
    assert set(map(tuple, (high - low + 1)[:, [0, 2]])) == {(50, 25)}
    assert set(high[:, 1] - low[:, 1] + 1) == {1, 2}
    assert abs((high - low + 1)[:, 1].mean() - 1.5) < 0.1
    assert low.min() == 0
    assert (high.max(axis=0) == [99, 2, 49]).all()
    low, high = random_ranges([7, 3], 1.0, 5, np.random.default_rng(0))
    assert (low == 0).all()
    assert (high == [6, 2]).all()


@pytest.mark.drawn
@every("seed", range(20))
def test_the_error_is_the_papers(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (30, 3)).astype(np.int32)
    group_of = rng.permutation(np.arange(30) % 6)
    members = [codes[group_of == g] for g in range(6)]
    first = np.array([rows[:, :2].min(axis=0) for rows in members])
    last = np.array([rows[:, :2].max(axis=0) for rows in members])
    values = np.array([np.bincount(rows[:, 2], minlength=6) for rows in members])
    values[0, 3] += 1  # a counterfeit
    queries = random_ranges([6, 6, 6], 0.4, 15, rng)
    errors = []
    for low, high in zip(*queries, strict=True):
        true = sum(all(a <= c <= b for a, c, b in zip(low, row, high, strict=True)) for row in codes)
        estimated = 0.0
        for g, rows in enumerate(members):
            share = 1.0
            for a in range(2):
                common = set(range(low[a], high[a] + 1)) & set(range(first[g, a], last[g, a] + 1))
                share *= len(common) / (last[g, a] - first[g, a] + 1)
            estimated += len(rows) * share * values[g, low[2] : high[2] + 1].sum() / values[g].sum()
        if true:
            errors.append(abs(true - estimated) / true)
    people = np.array([len(rows) for rows in members])
    assert workload_error(codes, (first, last), people, values, queries) == pytest.approx(np.median(errors))
    below = np.concatenate((np.zeros((6, 1), dtype=np.int64), np.cumsum(values, axis=1)), axis=1)
    arguments = (first, last, people, below, *queries)
    assert np.allclose(kernels.estimate_rows(*arguments), kernels.estimate_rows.py_func(*arguments))
    assert np.array_equal(kernels.count_rows(codes, *queries), kernels.count_rows.py_func(codes, *queries))


def test_single_rows_as_groups_have_no_error():
    codes = np.random.default_rng(1).integers(0, 5, (40, 2)).astype(np.int32)
    values = np.eye(5, dtype=np.int64)[codes[:, 1]]
    queries = random_ranges([5, 5], 0.3, 10, np.random.default_rng(2))
    assert workload_error(codes, (codes[:, :1], codes[:, :1]), np.ones(40, dtype=int), values, queries) == 0
    assert workload_error(codes[:0], (codes[:, :1], codes[:, :1]), np.ones(40, dtype=int), values, queries) == 0
