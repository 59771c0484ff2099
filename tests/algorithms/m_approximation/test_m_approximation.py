"""The d-approximation for k-anonymity: the cases of its proof by hand, and its guarantee against the optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.invariants import check_guarantee, check_partition
from tests.oracles.oracles import cost_of_partition, k_anonymous, optimal_partition
from tests.oracles.strategies import code_tables

from shoal import datasets
from shoal.algorithms import MApproximation
from shoal.models import AlphaKAnonymity, KAnonymity, LDiversity
from shoal.models.requirement import Requirement

REFINED, PLAIN = MApproximation(), MApproximation(refine=False)
BOTH = pytest.mark.parametrize("algorithm", [REFINED, PLAIN], ids=["refined", "unrefined"])


def column_of_classes(*sizes):
    return [number for number, size in enumerate(sizes) for _ in range(size)]


def sizes_of(result):
    return sorted(np.bincount(result.groups).tolist())


@BOTH
def test_case_0_all_classes_are_large(problem_of, algorithm):
    result = algorithm.partition(problem_of([column_of_classes(3, 5, 3)], [], KAnonymity(3)))
    assert sizes_of(result) == [3, 3, 5]
    assert result.details == {"classes": 3, "case": 0, "mixed_group": 0}
    assert (result.guarantee.stars_ratio, result.guarantee.tuples_ratio) == (1, 1)


@BOTH
def test_case_1_the_small_classes_suffice(problem_of, algorithm):
    # k = 3: the classes of 2 and 1 rows make one group together; the others stay.
    result = algorithm.partition(problem_of([column_of_classes(2, 4, 1, 3)], [], KAnonymity(3)))
    assert sizes_of(result) == [3, 3, 4]
    assert set(result.groups[[0, 1, 6]].tolist()) == {int(result.groups[0])}
    assert (result.details["case"], result.details["mixed_group"]) == (1, 3)
    assert result.guarantee.stars_ratio == 1


@BOTH
def test_case_2_large_classes_have_enough_to_spare(problem_of, algorithm):
    # k = 4: one row is alone; 6 - 4 and 5 - 4 rows are to spare, just the three that are missing.
    result = algorithm.partition(problem_of([column_of_classes(1, 6, 5)], [], KAnonymity(4)))
    assert sizes_of(result) == [4, 4, 4]
    assert (result.details["case"], result.details["mixed_group"]) == (2, 4)
    # The optimum suppresses k rows at least: a group with the row that is alone has that many.
    assert result.guarantee.stars_ratio == 1


@BOTH
def test_case_3_a_large_class_is_given_up(problem_of, algorithm):
    # k = 4: one row is alone, only 1 + 1 rows are to spare: the smallest large class joins it.
    result = algorithm.partition(problem_of([column_of_classes(1, 5, 6)], [], KAnonymity(5)))
    assert sizes_of(result) == [6, 6]
    assert result.groups[0] == result.groups[1] != result.groups[-1]
    assert (result.details["case"], result.details["mixed_group"]) == (3, 6)
    assert result.guarantee.stars_ratio == 1


def test_the_mixed_group_takes_from_the_largest_surplus_first(problem_of):
    result = PLAIN.partition(problem_of([column_of_classes(1, 4, 9, 5)], [], KAnonymity(4)))
    assert result.details["case"] == 2
    assert np.bincount(result.groups).tolist() == [4, 6, 5, 4]


def test_one_large_class_alone_cannot_be_saved(problem_of):
    result = PLAIN.partition(problem_of([column_of_classes(1, 5)], [], KAnonymity(4)))
    assert sizes_of(result) == [6]
    assert result.details["case"] == 3


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_within_a_factor_d_of_the_optimum(problem_of, data):
    codes = data.draw(code_tables(max_rows=8))
    k = data.draw(st.integers(1, min(len(codes.values), 4)))
    fewest = {
        cost: optimal_partition(codes.rows, codes.values, lambda group: k_anonymous(group, k), cost)[0]
        for cost in ("stars", "tuples")
    }
    problem = problem_of(codes.quasi_identifiers.T.tolist(), [codes.values], KAnonymity(k))
    stars = []
    for algorithm in (REFINED, PLAIN):
        result = algorithm.partition(problem)
        groups = check_partition(
            result, rows=len(codes.values), sensitive=[codes.values], predicates=[lambda group: k_anonymous(group, k)]
        )
        check_guarantee(result.guarantee, groups, codes.rows, fewest=fewest)
        stars.append(cost_of_partition(codes.rows, groups))
        assert stars[-1] <= codes.quasi_identifiers.shape[1] * fewest["stars"]
        assert result.guarantee.stars_ratio <= max(codes.quasi_identifiers.shape[1], 1)
        if algorithm is PLAIN:
            assert cost_of_partition(codes.rows, groups, "tuples") == fewest["tuples"]
    assert stars[0] <= stars[1]


def test_other_models_are_refused():
    assert REFINED.unsupported(Requirement.of([KAnonymity(3), LDiversity(1)], ("s",))) is None
    assert REFINED.unsupported(Requirement.of(AlphaKAnonymity(1, 3), ("s",))) is None
    for asked in ([LDiversity(2)], [AlphaKAnonymity(0.99, 3)], [KAnonymity(2), LDiversity(2, variant="distinct")]):
        assert REFINED.unsupported(Requirement.of(asked, ("s",))) == "it serves k-anonymity alone"


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_refining_is_never_worse(problem_of, data):
    codes = data.draw(code_tables(max_rows=60, max_columns=5, max_domain=6))
    k = data.draw(st.integers(1, min(len(codes.values), 9)))
    problem = problem_of(codes.quasi_identifiers.T.tolist(), [], KAnonymity(k))
    refined, plain = (
        check_partition(algorithm.partition(problem), rows=len(codes.values), predicates=[lambda g: len(g) >= k])
        for algorithm in (REFINED, PLAIN)
    )
    assert cost_of_partition(codes.rows, refined) <= cost_of_partition(codes.rows, plain)


@pytest.mark.parametrize("k", [2, 5, 20])
def test_refining_pays_on_census_tables(problem_of, k):
    frame = datasets.census(2_000, quasi_identifiers=4, seed=2)
    columns = [frame.to_series(place).to_list() for place in range(4)]
    problem = problem_of(columns, [], KAnonymity(k))
    rows = list(zip(*columns, strict=True))
    refined, plain = (
        check_partition(algorithm.partition(problem), rows=2_000, predicates=[lambda group: len(group) >= k])
        for algorithm in (REFINED, PLAIN)
    )
    assert cost_of_partition(rows, refined) <= 0.6 * cost_of_partition(rows, plain)
