import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.algorithms.conftest import make_problem as problem
from tests.oracles.invariants import check_partition
from tests.oracles.oracles import cost_of_partition, optimal_partition, predicate_of
from tests.oracles.strategies import code_tables, requirements

from shoal.algorithms.hilbert.hilbert import Hilbert, hilbert_groups
from shoal.hierarchy import Hierarchy
from shoal.models import (
    KAnonymity,
    LDiversity,
    TCloseness,
)
from shoal.wording import sentence


def problem_of(codes, privacy):
    return problem(codes.quasi_identifiers.T.tolist(), [codes.values], privacy)


def test_worked_example_of_the_eligibility_condition():
    # Along one attribute: l = 2, values A A B B C C. The heads of A and B are nearest and form the first group. Then C
    # must be served, or two rows of C would be left among two; it takes the nearest other head, that of A.
    result = Hilbert().partition(problem([[10, 20, 30, 40, 50, 60]], [list("AABBCC")], LDiversity(2)))
    assert result.groups.tolist() == [0, 1, 0, 2, 1, 2]
    assert result.count == 3
    assert result.details["rows_served_because_they_must"] == 1
    assert result.guarantee.stars_ratio is None


def test_k_anonymity_is_cut_where_it_costs_fewest_stars():
    # 1 1 1 2 2 2 2: runs of two that start at the left would spoil the third 1.
    result = Hilbert().partition(problem([[1, 1, 1, 2, 2, 2, 2]], [], KAnonymity(2)))
    assert result.groups.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert result.details["stars"] == 0


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_some_of_the_rows_are_partitioned_alone(data):
    codes = data.draw(code_tables(max_rows=20))
    n = len(codes.values)
    rows = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, n))]
    privacy = data.draw(requirements(codes))
    predicates = [predicate_of(model, codes.values) for model in privacy]
    assume(all(not rows or predicate([codes.values[row] for row in rows]) for predicate in predicates))
    groups = hilbert_groups(problem_of(codes, privacy), np.array(rows, dtype=np.int32))
    assert groups.dtype == np.int32
    assert sorted(set(groups.tolist())) == list(range(len(set(groups.tolist()))))
    for g in set(groups.tolist()):
        members = [codes.values[row] for row, group in zip(rows, groups, strict=True) if group == g]
        assert all(predicate(members) for predicate in predicates)


@settings(max_examples=200, deadline=None)
@given(code_tables(max_rows=9, l=2))
def test_never_below_the_optimum_and_stars_are_counted_right(codes):
    for privacy in (LDiversity(2), KAnonymity(2)):
        result = Hilbert().partition(problem_of(codes, privacy))
        predicate = predicate_of(privacy, codes.values)
        groups = check_partition(result, rows=len(codes.values), sensitive=[codes.values], predicates=[predicate])
        cost = cost_of_partition(codes.rows, groups)
        fewest, _ = optimal_partition(codes.rows, codes.values, predicate)
        assert cost >= fewest
        assert result.details.get("stars", cost) == cost


def test_forty_attributes_need_keys_of_several_words():
    rng = np.random.default_rng(8)
    columns = rng.integers(0, 100, size=(40, 300)).tolist()
    result = Hilbert().partition(problem(columns, [rng.integers(0, 9, 300).tolist()], LDiversity(3)))
    check_partition(result, rows=300)
    assert np.bincount(result.groups).max() < 6


def test_near_rows_come_together():
    # Four clouds that are the quadrants of the plane of codes, each with every value equally often.
    corner = np.repeat([0, 1, 2, 3], 64)
    place = np.tile(np.arange(64), 4)
    x, y = 100 * (corner % 2) + place % 16, 100 * (corner // 2) + place // 4
    result = Hilbert().partition(problem([x.tolist(), y.tolist()], [(place % 4).tolist()], LDiversity(4)))
    assert result.count == 64
    assert all(len(set(corner[result.groups == g])) == 1 for g in range(64))
    spread = [np.ptp(x[result.groups == g]) + np.ptp(y[result.groups == g]) for g in range(64)]
    assert np.mean(spread) < 8


def test_stretched_domains_separate_the_values_of_a_small_one():
    # 64 ages, two sexes. Stretched, sex halves the square and the curve is through with one before the other begins;
    # as codes, the sexes alternate in a strip.
    age, sex = np.repeat(np.arange(64), 2), np.tile([0, 1], 64)
    asked = problem([age.tolist(), sex.tolist()], [(np.arange(128) // 2 % 2).tolist()], LDiversity(2))
    stretched, codes = Hilbert().partition(asked).groups, Hilbert(stretch=False).partition(asked).groups
    assert all(len(set(sex[stretched == g])) == 1 for g in range(64))
    assert any(len(set(sex[codes == g])) == 2 for g in range(64))
    assert hilbert_groups(asked, np.arange(128), stretch=False).tolist() == codes.tolist()


def test_hierarchies_keep_subtrees_together():
    # The names say nothing of the subtrees: in the order of their names, neighbours share the root alone.
    tree = Hierarchy.from_rows(
        [(letter, "odd" if place % 2 else "even", "*") for place, letter in enumerate("abcdefgh")]
    )
    column = list("abcdefgh") * 2
    result = Hilbert().partition(problem([column, [f"{n:2}" for n in range(16)]], [], KAnonymity(4), {"q0": tree}))
    assert result.details["sweep"] == "least penalty along the curve"
    for group in range(result.count):
        letters = {column[row] for row in np.flatnonzero(result.groups == group)}
        assert letters <= set("aceg") or letters <= set("bdfh")


def test_too_many_steps_leave_the_cuts_of_fewest_stars(monkeypatch):
    monkeypatch.setattr("shoal.algorithms.hilbert.hilbert._MOST_STEPS", 10)
    asked = problem([list("aabb") * 4], [], KAnonymity(4), {"q0": Hierarchy.from_rows([("a", "*"), ("b", "*")])})
    assert Hilbert().partition(asked).details == {
        "points": 2, "sweep": "optimal cuts along the curve", "groups": 4, "stars": 0
    }  # fmt: skip


def test_it_says_what_to_take_where_groups_must_be_like_the_table():
    table = [[1, 2, 3, 4]], [list("abab")]
    close = Hilbert().partition(problem(*table, [TCloseness(0.2), KAnonymity(2)]))
    assert "'sabre' and 'cluster' lose far less" in sentence(close.guarantee.promise)
    assert "sabre" not in sentence(Hilbert().partition(problem(*table, KAnonymity(2))).guarantee.promise)
