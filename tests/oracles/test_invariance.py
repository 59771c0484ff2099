"""The oracles for m-invariance on the paper's own example."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.oracles.invariance import (
    Group,
    Person,
    assign,
    candidate_set,
    disclosure_risk,
    is_eligible,
    most_taken,
    split,
)

D, B, F, G = "dyspepsia", "bronchitis", "flu", "gastritis"


def group(ages, zips, *values, counterfeits=0):
    return Group(
        extents=(range(ages[0], ages[1] + 1), range(zips[0], zips[1] + 1)), values=values, counterfeits=counterfeits
    )


BOB = Person(quasi_identifiers=(21, 12), releases=frozenset({0, 1}), value=D)
ALICE = Person(quasi_identifiers=(22, 14), releases=frozenset({0}), value=B)
DAVID = Person(quasi_identifiers=(23, 25), releases=frozenset({1}), value=G)
FIRST = [group((21, 22), (12, 14), D, B)]
SECOND_WITHOUT = [group((21, 23), (12, 25), D, G)]
SECOND_WITH = [group((21, 22), (12, 14), D, B, counterfeits=1)]


def test_bobs_candidate_sets_of_example_5():
    assert candidate_set(BOB, FIRST) == {D, B}
    assert candidate_set(BOB, SECOND_WITHOUT) == {D, G}


def test_bobs_risk_is_one_with_table_2b_and_a_half_with_table_3a():
    assert disclosure_risk([FIRST, SECOND_WITHOUT], [BOB, ALICE, DAVID], invariant=False) == [1, 1, 1]
    assert disclosure_risk([FIRST, SECOND_WITH], [BOB, ALICE], invariant=True) == [Fraction(1, 2)] * 2


def test_no_reasonable_surjection_is_no_risk_but_a_contradiction():
    stranger = Person(quasi_identifiers=(90, 99), releases=frozenset({0}), value=D)
    assert disclosure_risk([FIRST], [BOB, stranger], invariant=True) is None


def test_eligible_and_taken():
    assert is_eligible([2, 2, 1], 2)
    assert not is_eligible([2, 1], 2)
    # S of Table 2a: after Ray's dyspepsia no flu can go, since gastritis would be 2 of 3
    assert most_taken([1, 0, 2, 2], [1, 1, 1, 0], 2) == 1


def test_the_assignment_of_the_running_example():
    assert assign({2: 2, 3: 2}, 2) == [(2, frozenset({2, 3}))]


@pytest.mark.parametrize("lists", [[[(1,), (9,)], [(8,), (2,)]]])
def test_the_best_split_of_two(lists):
    groups = {frozenset(one) for one in split(lists, [1])}
    assert groups == {frozenset({(0, 0), (1, 1)}), frozenset({(0, 1), (1, 0)})}
