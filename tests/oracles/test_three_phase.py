"""The slow reference of the three-phase algorithm: the paper's examples, and its theorems on small tables."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from tests.every import every
from tests.oracles.oracles import frequency_diverse, optimal_partition
from tests.oracles.strategies import group_counts
from tests.oracles.three_phase import State, eligible, phase_one, phase_three, phase_two, pillars, three_phase


def test_first_example_ends_in_phase_one() -> None:
    # HIV, pneumonia, bronchitis, dyspepsia in the groups {1,2}, {3}, {4}, {5,6,7,8}, {9,10}.
    state = three_phase([[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 2, 2, 0], [0, 1, 0, 1]], 2)
    assert state.phase == 1
    assert state.groups == [[0] * 4, [0] * 4, [0] * 4, [0, 2, 2, 0], [0, 1, 0, 1]]
    assert state.residue == [2, 1, 1, 0]


def test_second_example_ends_in_phase_two() -> None:
    groups = [[3, 1, 1, 2, 3], [0, 2, 2, 4, 4], [4, 4, 0, 0, 0]]
    assert [phase_one(group, 3) for group in groups] == [groups[0], groups[1], [0] * 5]
    state = three_phase(groups, 3)
    assert state.phase == 2
    assert state.residue == [4, 4, 2, 1, 1]
    assert state.groups[:2] == [[3, 1, 0, 2, 3], [0, 2, 1, 3, 3]], "the paper's choices are the first ones"
    for seed in range(20):
        other = three_phase(groups, 3, random.Random(seed).choice)
        assert (other.phase, max(other.residue)) == (2, 4)
        assert 12 <= sum(other.residue) <= 14


@every("seed", range(20))
def test_third_example_ends_in_phase_three(seed: int) -> None:
    state = State(groups=[[3, 1, 2, 3, 3], [1, 3, 2, 3, 3]], residue=[4, 4, 4, 0, 0], l=4)
    choose = random.Random(seed).choice
    phase_two(state, choose)
    assert state.residue == [4, 4, 4, 0, 0], "all groups are dead, so phase two moves nothing"
    phase_three(state, choose)
    assert (sum(state.residue), max(state.residue)) == (20, 5)
    assert (state.phase, state.rounds) == (3, 1)


@every(
    ("before", "l", "after"),
    [
        ([4, 4, 0], 3, [0, 0, 0]),
        ([5, 1, 1], 2, [2, 1, 1]),
        ([5, 5, 2], 2, [5, 5, 2]),
        ([3], 1, [3]),
        ([9, 2, 1, 1], 3, [2, 2, 1, 1]),
    ],
)
def test_phase_one_by_hand(before: list[int], l: int, after: list[int]) -> None:
    assert phase_one(before, l) == after


@settings(max_examples=100, deadline=None)
@given(counts=st.lists(st.integers(0, 7), min_size=1, max_size=6), l=st.integers(1, 5), seed=st.integers(0, 9))
def test_phase_one_is_unique_and_cuts_at_one_height(counts: list[int], l: int, seed: int) -> None:
    left = phase_one(counts, l, random.Random(seed).choice)
    feasible = [h for h in range(max(counts) + 1) if sum(min(h, count) for count in counts) >= l * h]
    assert left == [min(count, max(feasible)) for count in counts]


def test_pillars() -> None:
    assert pillars([1, 3, 0, 3]) == [1, 3]
    assert pillars([0, 0]) == []
    assert eligible([], 3)


def test_a_table_that_is_not_eligible_is_refused() -> None:
    with pytest.raises(AssertionError, match="not l-eligible"):
        three_phase([[2, 1]], 2)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), l=st.integers(2, 4), seed=st.integers(0, 99))
def test_theorems_of_the_paper(data: st.DataObject, l: int, seed: int) -> None:
    groups = data.draw(group_counts(l=l))
    state = three_phase(groups, l, random.Random(seed).choice)
    assert all(eligible(group, l) for group in state.groups)
    assert eligible(state.residue, l)
    for value, column in enumerate(zip(*groups, strict=True)):
        assert sum(column) == sum(group[value] for group in state.groups) + state.residue[value]
    first = [phase_one(group, l) for group in groups]
    after_one = [sum(h - left for h, left in zip(*columns, strict=True)) for columns in _by_value(groups, first)]
    bound = max(sum(after_one), l * max(after_one))
    assert sum(state.residue) >= bound
    if state.phase == 1:
        assert sum(state.residue) == sum(after_one)
    if state.phase == 2:
        assert max(state.residue) == max(after_one), "Lemma 5.11"
        assert sum(state.residue) <= l * max(after_one) + l - 1, "Lemma 5.12"
    if state.phase == 3:
        assert l > 2, "Theorem 5.16"
        assert state.rounds <= max(after_one), "Lemma 5.18"
    assert sum(state.residue) <= l * bound, "Theorem 5.19"


def _by_value(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> list[tuple[tuple[int, ...], ...]]:
    return list(zip(zip(*before, strict=True), zip(*after, strict=True), strict=True))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), l=st.integers(2, 3))
def test_the_optimum_is_kept_in_sight(data: st.DataObject, l: int) -> None:
    groups = data.draw(
        group_counts(l=l, max_groups=3, max_values=3, max_count=2).filter(lambda g: sum(map(sum, g)) <= 9)
    )
    rows = [(number,) for number, group in enumerate(groups) for count in group for _ in range(count)]
    values = [value for group in groups for value, count in enumerate(group) for _ in range(count)]
    best = optimal_partition(rows, values, lambda group: frequency_diverse(group, l), "tuples")
    assert best is not None
    state = three_phase(groups, l)
    residue = sum(state.residue)
    assert best[0] <= residue
    assert residue <= {1: best[0], 2: best[0] + l - 1, 3: l * best[0]}[state.phase]


def test_third_example_from_the_start() -> None:
    state = three_phase([[3, 1, 2, 3, 3], [1, 3, 2, 3, 3], [4, 4, 4, 0, 0]], 4)
    assert state.phase == 3
    assert (sum(state.residue), max(state.residue)) == (20, 5)


def test_the_strategy_reaches_phase_three() -> None:
    # Else the theorems above would say nothing about it.
    quick = settings(max_examples=5000, database=None, phases=[Phase.generate])
    found = find(group_counts(l=3), lambda groups: three_phase(groups, 3).phase == 3, settings=quick)
    assert three_phase(found, 3).rounds >= 1
