import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.every import first

from shoal.algorithms.hilbert.greedy_kernel import sweep_predicate

SIZE, FREQUENCY, DISTINCT = 0, 1, 2
BOTH = first([sweep_predicate, sweep_predicate.py_func])  # in Python, it has what it calls compiled for other types


def run(kernel, ranks, values, *clauses):
    """Sweep rows of one sensitive attribute; a clause is (kind, a) or (kind, a, b)."""
    codes = np.array(values, dtype=np.int32).reshape(-1, 1)
    rules = np.array([(kind, 0, a, *b, *[0] * (3 - len(b))) for kind, a, *b in clauses], dtype=np.int64)
    groups = np.full(len(values), -1, dtype=np.int32)
    starts = np.array([0, max(values) + 1], dtype=np.int64)
    points = np.array(ranks, dtype=np.int32)
    count, left = kernel(codes, points, starts, rules, np.empty(0, dtype=np.int64), 1, groups)
    return groups.tolist(), count, left


@pytest.mark.parametrize("kernel", BOTH)
def test_a_group_is_closed_as_soon_as_it_is_acceptable(kernel):
    groups, count, left = run(kernel, range(6), [0, 0, 1, 1, 2, 2], (DISTINCT, 2))
    assert groups == [0, 0, 0, 1, 1, 1]
    assert (count, left) == (2, 1)


@pytest.mark.parametrize("kernel", BOTH)
def test_the_last_rows_of_a_point_join_the_group_before_at_that_point(kernel):
    groups, count, _ = run(kernel, [0, 0, 0, 1, 1], [0, 1, 1, 0, 1], (DISTINCT, 2))
    assert groups == [0, 0, 0, 1, 1]
    assert count == 2


@pytest.mark.parametrize("kernel", BOTH)
def test_rows_left_at_the_end_join_the_nearest_group_that_stays_acceptable(kernel):
    # l = 2: the last row holds value 0; the group 2, 0 cannot take it, the group 2, 1 before it can.
    values = [0, 1, 0, 1, 2, 1, 2, 0, 0]
    groups, count, left = run(kernel, range(9), values, (SIZE, 2), (FREQUENCY, 2, 1))
    assert groups == [0, 0, 1, 1, 2, 2, 3, 3, 2]
    assert (count, left) == (4, 1)


@pytest.mark.parametrize("kernel", BOTH)
def test_what_no_group_takes_is_merged_with_the_last_groups(kernel):
    groups, count, left = run(kernel, range(6), [0, 1, 2, 3, 0, 0], (FREQUENCY, 2, 1))
    assert left == 2
    assert count == 1 + max(groups)
    for g in range(count):
        members = [v for v, group in zip([0, 1, 2, 3, 0, 0], groups, strict=True) if group == g]
        assert 2 * max(members.count(v) for v in members) <= len(members)


ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=40)


@settings(max_examples=200, deadline=None)
@given(ROWS, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_every_group_is_acceptable_and_python_agrees(rows, k, l, distinct):
    rows = sorted(rows, key=lambda row: row[0])
    ranks, values = [rank for rank, _ in rows], [value for _, value in rows]

    def fine(members):
        most = max(members.count(v) for v in members)
        return len(members) >= k and l * most <= len(members) and len(set(members)) >= distinct

    assume(fine(values))
    result = run(sweep_predicate, ranks, values, (SIZE, k), (FREQUENCY, l, 1), (DISTINCT, distinct))
    assert result == run(sweep_predicate.py_func, ranks, values, (SIZE, k), (FREQUENCY, l, 1), (DISTINCT, distinct))
    groups, count, _ = result
    assert sorted(set(groups)) == list(range(count))
    for g in range(count):
        assert fine([value for value, group in zip(values, groups, strict=True) if group == g])


def test_a_tail_of_one_value_is_shared_out_among_many_groups():
    # l = 2: each of the groups of three different values can take three rows; a merge would leave a group of thousands.
    values = [1, 2, 3] * 1000 + [0] * 900
    groups, count, left = run(sweep_predicate, range(3900), values, (SIZE, 3), (FREQUENCY, 2, 1))
    assert left == 900
    assert count == 1000
    assert np.bincount(groups).max() == 6
