import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.common.predicate_kernel import Predicate
from shoal.algorithms.mondrian import cuts_kernel as mondrian
from shoal.algorithms.mondrian.cuts_kernel import (
    LEAVES,
    MEASURED,
    OPEN,
    ROWS_DONE,
    STACK_DEPTH,
    Domains,
    Parts,
    cut_records,
)


def cut(kernel, codes, values, k, l, *, relaxed=False, budget=10**9, ordered=True):
    """Cut rows until none waits; return the group of each, and how often the kernel was called."""
    n = len(codes)
    records = np.column_stack([codes, values, np.arange(n)]).astype(np.int32)
    sizes = codes.max(axis=0) + 1
    domains = Domains(
        positions=np.concatenate([np.arange(size, dtype=np.float64) for size in sizes]),
        offsets=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        ranges=np.maximum(sizes - 1.0, 1.0) * ordered,
        marks=np.full(sizes.sum(), -1, dtype=np.int32),
    )
    starts = np.array([0, values.max() + 1], dtype=np.int64)
    rules = np.array([(0, 0, k, 0, 0, 0), (1, 0, l, 1, 0, 0)], dtype=np.int64)
    predicate = Predicate(starts, rules, np.empty(0, dtype=np.int64), 1)
    stack = np.zeros((STACK_DEPTH, 2), dtype=np.int64)
    stack[0, 1] = n
    state = np.zeros(4, dtype=np.int64)
    state[OPEN] = 1
    groups = np.full(n, -1, dtype=np.int32)
    parts = Parts(stack, state, groups)
    calls = 0
    while state[OPEN]:
        kernel(records, np.empty_like(records), domains, predicate, relaxed, parts, budget)
        calls += 1
    assert state[ROWS_DONE] == n
    assert sorted(set(groups.tolist())) == list(range(state[LEAVES]))
    assert state[MEASURED] >= state[LEAVES] - 1
    return groups, calls


def table(seed, n=120, d=3):
    rng = np.random.default_rng(seed)
    return rng.integers(0, rng.integers(1, 9, d), (n, d)), rng.integers(0, 6, n)


@pytest.mark.parametrize("kernel", [cut_records, cut_records.py_func])
def test_one_attribute_is_cut_at_medians(kernel):
    codes = np.arange(8).reshape(-1, 1)
    groups, _ = cut(kernel, codes, np.zeros(8, dtype=int), 2, 1)
    assert len(set(groups.tolist())) == 4
    assert all(groups[2 * j] == groups[2 * j + 1] for j in range(4))


@pytest.mark.parametrize("kernel", [cut_records, cut_records.py_func])
def test_a_cut_beside_the_median_is_tried_where_the_median_cut_is_not_allowed(kernel):
    # l = 2: the halves 0 1 0 | 0 1 1 are not eligible; two rows from the left, 0 1 | 0 0 1 1 are.
    codes = np.arange(6).reshape(-1, 1)
    groups, _ = cut(kernel, codes, np.array([0, 1, 0, 0, 1, 1]), 1, 2)
    assert groups.tolist() == [0, 0, 1, 1, 1, 1]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 3), st.booleans(), st.booleans())
def test_python_and_compiled_cuts_agree(seed, k, l, relaxed, ordered):
    codes, values = table(seed, n=30)
    fast, _ = cut(cut_records, codes, values, k, l, relaxed=relaxed, ordered=ordered)
    slow, _ = cut(cut_records.py_func, codes, values, k, l, relaxed=relaxed, ordered=ordered)
    assert (fast == slow).all()


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_small_budget_makes_many_calls_and_the_same_groups(relaxed):
    codes, values = table(1)
    whole, calls = cut(cut_records, codes, values, 3, 2, relaxed=relaxed)
    parts, many = cut(cut_records, codes, values, 3, 2, relaxed=relaxed, budget=1)
    assert calls == 1
    assert many > 5
    assert (whole == parts).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 5000), min_size=1, max_size=40))
def test_the_median_of_codes_is_found_digit_by_digit(codes):
    records = np.array(codes, dtype=np.int32).reshape(-1, 1)
    expected = sorted(codes)[(len(codes) - 1) // 2]
    for form in (mondrian._median, mondrian._median.py_func):
        assert form(records, 0, len(codes), 0, min(codes), max(codes)) == expected


def test_waiting_ranges_stay_few_when_cuts_are_lopsided():
    # Values that halve: each cut takes half of the rows, and the rest waits.
    codes = np.repeat(np.arange(16), 2 ** np.arange(16)[::-1]).reshape(-1, 1)
    groups, _ = cut(cut_records, codes, np.zeros(len(codes), dtype=int), 1, 1)
    assert len(set(groups.tolist())) == 16
