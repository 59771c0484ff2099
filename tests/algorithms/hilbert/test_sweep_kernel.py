from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.algorithms.common.trees_kernel import Trees
from shoal.algorithms.hilbert.sweep_kernel import sweep_lists, sweep_penalties, sweep_sizes

INF = float("inf")


def i32(values):
    return np.array(values, dtype=np.int32)


def lists_of(ranks, values):
    """Cells of rows given by their points (ascending) and values, list by list, and where each list starts."""
    cells = {}
    for row, cell in enumerate(zip(values, ranks, strict=True)):
        cells.setdefault(cell, []).append(row)
    ordered = sorted(cells)
    starts = [sum(value < v for value, _ in ordered) for v in range(max(values) + 2)]
    ranks_of = i32([rank for _, rank in ordered])
    return ranks_of, i32([cells[c][0] for c in ordered]), i32([len(cells[c]) for c in ordered]), i32(starts)


def run_lists(kernel, ranks, values, l, k):
    groups = i32([-1] * len(ranks))
    count, forced = kernel(*lists_of(ranks, values), l.numerator, l.denominator, k, groups)
    return groups.tolist(), count, forced


def slow_lists(ranks, values, l, k):
    """The sweep in plain Python: the same rules, every list looked at for every row."""
    lists = {v: [row for row, value in enumerate(values) if value == v] for v in sorted(set(values))}
    smallest = max(k, -(-l.numerator // l.denominator))
    groups = [-1] * len(values)
    number = 0
    while any(lists.values()):
        left = sum(map(len, lists.values()))
        sizes, size, step = [], smallest, 1
        while left - size >= smallest:
            sizes.append(size)
            step = size if size >= 2 * smallest + l // 1 + 64 else step
            size += step
        for size in [*sizes, left]:
            cap, keep = (size // l, (left - size) // l) if size < left else (left, 0)
            needs = {v: max(len(rows) - keep, 0) for v, rows in lists.items()} if size < left else {}
            supply = sum(min(len(rows), cap) for rows in lists.values())
            if all(need <= cap for need in needs.values()) and sum(needs.values()) <= size <= supply:
                break
        taken = {v: needs.get(v, 0) for v in lists}
        chosen = [lists[v].pop(0) for v, need in taken.items() for _ in range(need)]
        while len(chosen) < size:
            heads = []
            for v, rows in lists.items():
                if rows and taken[v] < cap:
                    rank = ranks[rows[0]]
                    heads.append((rank, -sum(ranks[row] == rank for row in rows), v))
            v = min(heads)[2]
            taken[v] += 1
            chosen.append(lists[v].pop(0))
        for row in chosen:
            groups[row] = number
        number += 1
    return groups


@pytest.mark.parametrize("kernel", [sweep_lists, sweep_lists.py_func])
def test_a_list_is_served_first_when_the_rest_would_not_be_eligible(kernel):
    # l = 2, values A A B B C C along a line. The first group takes the nearest heads, A and B. Then 1 A, 1 B, 2 C
    # remain: a group without a C would leave two of them among two rows.
    groups, count, forced = run_lists(kernel, [0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2], Fraction(2), 1)
    assert groups == [0, 1, 0, 2, 1, 2]
    assert (count, forced) == (3, 1)


@pytest.mark.parametrize("kernel", [sweep_lists, sweep_lists.py_func])
def test_among_heads_at_one_point_the_longest_run_goes_first(kernel):
    # At point 0: one row of value 0, one of 1, two of 2. Taking 2 first makes two groups within the point.
    groups, count, _ = run_lists(kernel, [0, 0, 0, 0, 1, 1], [0, 1, 2, 2, 0, 1], Fraction(2), 1)
    assert count == 3
    assert {groups[2], groups[3]} == {groups[0], groups[1]}


@pytest.mark.parametrize("kernel", [sweep_lists, sweep_lists.py_func])
def test_a_group_grows_where_too_many_lists_must_be_served(kernel):
    # l = 2, three values with one row each: no group of two leaves anything eligible.
    assert run_lists(kernel, [0, 1, 2], [0, 1, 2], Fraction(2), 1)[0] == [0, 0, 0]


ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5)), min_size=1, max_size=40)
LS = st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5, 2), Fraction(3), Fraction(37, 10)])


@settings(max_examples=200, deadline=None)
@given(ROWS, LS, st.integers(1, 7))
def test_lists_agree_with_the_plain_sweep_and_groups_are_eligible(rows, l, k):
    rows = sorted(rows)
    ranks, values = [rank for rank, _ in rows], [value for _, value in rows]
    assume(len(rows) >= k and l * max(values.count(v) for v in values) <= len(rows))
    groups, count, _ = run_lists(sweep_lists, ranks, values, l, k)
    assert groups == slow_lists(ranks, values, l, k)
    assert sorted(set(groups)) == list(range(count))
    for g in range(count):
        members = [values[row] for row in range(len(rows)) if groups[row] == g]
        assert len(members) >= k
        assert l * max(members.count(v) for v in members) <= len(members)


@settings(max_examples=200, deadline=None)
@given(ROWS, st.integers(2, 5))
def test_for_a_whole_l_no_group_reaches_twice_l(rows, l):
    rows = sorted(rows)
    ranks, values = [rank for rank, _ in rows], [value for _, value in rows]
    l = min(l, len(rows) // max(values.count(v) for v in values))
    groups, count, _ = run_lists(sweep_lists, ranks, values, Fraction(l), 1)
    assert max(groups.count(g) for g in range(count)) < 2 * l


def test_python_and_compiled_lists_agree():
    rng = np.random.default_rng(5)
    ranks, values = np.sort(rng.integers(0, 30, 200)).tolist(), rng.integers(0, 9, 200).tolist()
    for l, k in [(Fraction(3), 1), (Fraction(5, 2), 6)]:
        assert run_lists(sweep_lists, ranks, values, l, k) == run_lists(sweep_lists.py_func, ranks, values, l, k)


def test_many_values_cost_no_more_than_few():
    # 200,000 rows that all differ: a scan of all lists for every group would take minutes.
    n = 200_000
    groups = np.empty(n, dtype=np.int32)
    each = np.arange(n, dtype=np.int32)
    ones = np.ones(n, dtype=np.int32)
    count, forced = sweep_lists(each, each, ones, np.arange(n + 1, dtype=np.int32), 4, 1, 4, groups)
    assert (count, forced) == (n // 4, 0)
    assert (groups == each // 4).all()


def stars(codes, begin, end):
    part = codes[begin:end]
    return len(part) * int((part != part[0]).any(axis=0).sum())


def fewest_stars(codes, k):
    """The best cuts by trying all of them, groups of any size."""
    n = len(codes)
    cost = [0.0] + [INF] * n
    for end in range(k, n + 1):
        cost[end] = min(cost[begin] + stars(codes, begin, end) for begin in range(end - k + 1))
    return cost[n]


def run_sizes(kernel, codes, k):
    changes = np.zeros(codes.shape, dtype=np.bool_)
    changes[1:] = codes[1:] != codes[:-1]
    groups = np.full(len(codes), -1, dtype=np.int32)
    count, cost = kernel(changes, k, groups)
    return groups, count, cost


CODES = st.integers(0, 3).flatmap(
    lambda d: st.lists(st.lists(st.integers(0, 2), min_size=d, max_size=d), min_size=1, max_size=30)
)


@settings(max_examples=200, deadline=None)
@given(CODES, st.integers(1, 6), st.booleans())
def test_cuts_by_size_leave_the_fewest_stars(rows, k, ascending):
    rows = sorted(rows) if ascending else rows
    codes = np.array(rows, dtype=np.int32).reshape(len(rows), -1)
    assume(len(rows) >= k)
    groups, count, cost = run_sizes(sweep_sizes, codes, k)
    assert (np.diff(groups) >= 0).all()
    sizes = np.bincount(groups, minlength=count)
    assert len(sizes) == count
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    ends = np.cumsum(sizes)
    assert cost == sum(stars(codes, end - size, end) for end, size in zip(ends, sizes, strict=True))
    assert cost == fewest_stars(codes, k)


def test_python_and_compiled_sizes_agree():
    codes = np.sort(np.random.default_rng(3).integers(0, 12, (150, 2)), axis=0)
    for k in (1, 4, 20, 150):
        fast, slow = run_sizes(sweep_sizes, codes, k), run_sizes(sweep_sizes.py_func, codes, k)
        assert (fast[0] == slow[0]).all()
        assert fast[1:] == slow[1:]


# Eight values: pairs, then fours, then all; a second attribute of three values below a star.
NODES = [[0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 1, 1, 2, 2, 3, 3], [0] * 4 + [1] * 4, [0] * 8, [0, 1, 2], [0] * 3]
PENALTY = [[0.0] * 8, [1 / 7] * 8, [3 / 7] * 8, [1.0] * 8, [0.0] * 3, [1.0] * 3]
TREES = Trees(
    heights=np.array([3, 1]),
    begins=np.array([0, 32]),
    sizes=np.array([8, 3]),
    nodes=i32([node for level in NODES for node in level]),
    penalty=np.array([penalty for level in PENALTY for penalty in level]),
)


def lost(places, begin, end):
    """What the cells of a run lose, by the definition of a lowest common ancestor."""
    total = 0.0
    for a, first in ((0, 0), (1, 4)):
        inside = {place[a] for place in places[begin:end]}
        level = next(up for up in range(first, len(NODES)) if len({NODES[up][place] for place in inside}) == 1)
        total += PENALTY[level][0]
    return (end - begin) * total


def least_lost(places, k):
    """The best cuts by trying all of them, groups of any size."""
    cost = [0.0] + [INF] * len(places)
    for end in range(k, len(places) + 1):
        cost[end] = min(cost[begin] + lost(places, begin, end) for begin in range(end - k + 1))
    return cost[-1]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2)), min_size=1, max_size=25), st.integers(1, 6))
@pytest.mark.parametrize("kernel", [sweep_penalties, sweep_penalties.py_func])
def test_cuts_by_size_lose_least_in_hierarchies(kernel, places, k):
    assume(len(places) >= k)
    groups = np.full(len(places), -1, dtype=np.int32)
    count, penalty = kernel(i32(places), TREES, k, groups)
    assert (np.diff(groups) >= 0).all()
    sizes = np.bincount(groups, minlength=count)
    assert len(sizes) == count
    assert k <= sizes.min() <= sizes.max() < 2 * k
    ends = np.cumsum(sizes)
    made = sum(lost(places, end - size, end) for end, size in zip(ends.tolist(), sizes.tolist(), strict=True))
    assert penalty == pytest.approx(made)
    assert penalty == pytest.approx(least_lost(places, k))
