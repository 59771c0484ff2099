"""The algorithms that prove an optimum: they agree with one another and with brute force, on any small table."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.invariants import check_partition, unchanged
from tests.oracles.oracles import cost_of_partition, optimal_partition, predicate_of
from tests.oracles.strategies import code_tables, requirements

from shoal.algorithms.algorithm_list import ALGORITHMS, PROVING, choose
from shoal.algorithms.bounds import lower_bound
from shoal.hierarchy import Hierarchy
from shoal.models import KAnonymity, KEAnonymity, LDiversity, TCloseness
from shoal.models.hierarchical_distance import HierarchicalDistance
from shoal.models.metric_distance import MetricDistance
from shoal.models.requirement import Requirement
from shoal.wording import sentence

PROVERS = {name: ALGORITHMS[name] for name in PROVING}
GROUNDS = [
    MetricDistance(range(4), [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]),
    HierarchicalDistance(Hierarchy.from_rows([(str(value), f"b{value // 2}", "*") for value in range(4)])),
]
HEURISTICS = {name: one for name, one in ALGORITHMS.items() if name not in PROVING}


def prove(algorithm, problem, codes, models):
    """Let an algorithm prove an optimum; check all that it returns, and return its stars and its groups."""
    arrays = [column.codes for column in (*problem.table.quasi_identifiers, *problem.table.sensitive)]
    with unchanged(*arrays):
        found = algorithm.partition(problem)
    predicates = [predicate_of(model, codes.values) for model in models]
    groups = check_partition(found, rows=len(codes.values), sensitive=[codes.values], predicates=predicates)
    stars = cost_of_partition(codes.rows, groups)
    assert found.guarantee.stars_bound == stars, "what is published is what was proven"
    assert found.guarantee.stars_ratio == 1
    assert sentence(found.guarantee.promise).endswith(".")
    assert found.guarantee.proof
    return stars, groups


def able(problem):
    """Those that can serve a problem."""
    return {name: one for name, one in PROVERS.items() if one.unsupported(problem.requirement) is None}


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_they_agree_with_brute_force(problem_of, data):
    codes = data.draw(code_tables(min_columns=0, max_rows=7, max_values=4))
    models = data.draw(requirements(codes))
    problem = problem_of(codes.quasi_identifiers.T.tolist(), [codes.values], models)
    predicates = [predicate_of(model, codes.values) for model in models]
    optimum, _ = optimal_partition(codes.rows, codes.values, lambda group: all(one(group) for one in predicates))
    for name, algorithm in able(problem).items():
        stars, _ = prove(algorithm, problem, codes, models)
        assert stars == optimum, name
    assert lower_bound(problem.table, problem.requirement, target=optimum).stars <= optimum


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_they_agree_with_one_another_and_no_heuristic_is_better(problem_of, data):
    codes = data.draw(code_tables(min_rows=9, max_rows=15, max_domain=3, max_values=4))
    models = data.draw(requirements(codes, max_models=2))
    problem = problem_of(codes.quasi_identifiers.T.tolist(), [codes.values], models)
    stars = {name: prove(algorithm, problem, codes, models)[0] for name, algorithm in able(problem).items()}
    assert len(set(stars.values())) == 1
    for name, algorithm in HEURISTICS.items():
        if algorithm.unsupported(problem.requirement) is None:
            cost = cost_of_partition(codes.rows, groups_of(algorithm.partition(problem)))
            assert cost >= stars["exact"], name


def groups_of(partition):
    return [np.flatnonzero(partition.groups == group).tolist() for group in range(partition.count)]


@pytest.mark.parametrize("algorithm", PROVERS.values(), ids=PROVERS)
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_the_order_of_the_rows_changes_nothing_that_anyone_can_see(problem_of, algorithm, data):
    codes = data.draw(code_tables(max_rows=9, max_values=3))
    models = data.draw(requirements(codes))
    if algorithm.unsupported(Requirement.of(models, ("s0",))) is not None:
        models = [KAnonymity(min(2, len(codes.values)))]
    order = data.draw(st.permutations(range(len(codes.values))))
    columns = codes.quasi_identifiers.T.tolist()
    first = algorithm.partition(problem_of(columns, [codes.values], models))
    shuffled = [[column[row] for row in order] for column in columns]
    second = algorithm.partition(problem_of(shuffled, [[codes.values[row] for row in order]], models))
    rows = list(zip(codes.rows, codes.values, strict=True))
    again = algorithm.partition(problem_of(columns, [codes.values], models))
    assert np.array_equal(again.groups, first.groups), "two runs differ"
    assert again.guarantee == first.guarantee
    bags = [
        Counter(tuple(sorted(rows[row_of[row]] for row in group)) for group in groups_of(found))
        for found, row_of in ((first, range(len(order))), (second, order))
    ]
    assert bags[0] == bags[1]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_two_sensitive_attributes(problem_of, data):
    codes = data.draw(code_tables(max_rows=7, max_values=3))
    other = data.draw(st.lists(st.integers(0, 2), min_size=len(codes.values), max_size=len(codes.values)))
    models = data.draw(requirements(codes))
    models = [model for model in models if predicate_of(model, other)(other)] or [KAnonymity(1)]
    problem = problem_of(codes.quasi_identifiers.T.tolist(), [codes.values, other], models)
    pairs = list(zip(codes.values, other, strict=True))
    sides = [(values, [predicate_of(model, values) for model in models]) for values in (codes.values, other)]

    def fine(group):
        return all(one([pair[side] for pair in group]) for side in (0, 1) for one in sides[side][1])

    optimum, _ = optimal_partition(codes.rows, pairs, fine)
    for name, algorithm in able(problem).items():
        found = algorithm.partition(problem)
        groups = groups_of(found)
        assert all(fine([pairs[row] for row in group]) for group in groups), name
        assert cost_of_partition(codes.rows, groups) == found.guarantee.stars_bound == optimum, name


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_t_closeness(problem_of, data):
    codes = data.draw(code_tables(max_rows=7, max_values=4))
    t = data.draw(st.sampled_from([0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7]))
    models = [TCloseness(t, distance=data.draw(st.sampled_from(["equal", "ordered", *GROUNDS])))]
    models += [KAnonymity(2)] * (len(codes.values) > 1 and data.draw(st.booleans()))
    problem = problem_of(codes.quasi_identifiers.T.tolist(), [codes.values], models)
    predicates = [predicate_of(model, codes.values) for model in models]
    optimum, _ = optimal_partition(codes.rows, codes.values, lambda group: all(one(group) for one in predicates))
    for name, algorithm in able(problem).items():
        assert prove(algorithm, problem, codes, models)[0] == optimum, name


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_k_anonymity_is_t_closeness_where_all_sensitive_values_differ(problem_of, data):
    # Lemma 1 of Liang and Yuan: a group of g rows is at distance 1 - g / n.
    codes = data.draw(code_tables(min_rows=2, max_rows=10, max_domain=3))
    n = len(codes.values)
    k = data.draw(st.integers(1, n))
    columns = codes.quasi_identifiers.T.tolist()
    stars = set()
    for model in (KAnonymity(k), TCloseness(1 - Fraction(k, n))):
        problem = problem_of(columns, [list(range(n))], model)
        stars |= {algorithm.partition(problem).guarantee.stars_bound for algorithm in able(problem).values()}
    assert len(stars) == 1


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_sensitive_attribute(problem_of, data):
    codes = data.draw(code_tables(max_rows=8))
    k = data.draw(st.integers(1, min(4, len(codes.values))))
    problem = problem_of(codes.quasi_identifiers.T.tolist(), [], KAnonymity(k))
    optimum, _ = optimal_partition(codes.rows, codes.values, lambda group: len(group) >= k)
    for name, algorithm in able(problem).items():
        found = algorithm.partition(problem)
        assert found.guarantee.stars_bound == optimum == cost_of_partition(codes.rows, groups_of(found)), name


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_sensitive_numbers(problem_of, data):
    codes = data.draw(code_tables(min_rows=2, max_rows=8, max_values=4))
    apart = max(codes.values)
    asked = KEAnonymity(data.draw(st.integers(1, 2)), data.draw(st.integers(0, apart)))
    problem = problem_of(codes.quasi_identifiers.T.tolist(), [codes.values], asked)
    predicate = predicate_of(asked, codes.values)
    optimum, _ = optimal_partition(codes.rows, codes.values, predicate)
    for name, algorithm in able(problem).items():
        assert prove(algorithm, problem, codes, [asked])[0] == optimum, name


def test_they_run_only_where_they_are_named(problem_of):
    for models in ([KAnonymity(3)], [LDiversity(3)], [LDiversity(2, variant="distinct")]):
        requirement = Requirement.of(models, ("s0",))
        for recoding in ("suppression", "generalization"):
            assert choose("auto", requirement, recoding)[0].name not in PROVING
