from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles.invariants import check_partition
from tests.oracles.oracles import cost_of_partition, optimal_partition, predicate_of
from tests.oracles.strategies import code_tables, models, requirements

from shoal.algorithms.base import Problem
from shoal.algorithms.hilbert.hilbert import Hilbert, hilbert_groups
from shoal.errors import ParameterError
from shoal.hierarchy import Hierarchy
from shoal.models import (
    AlphaKAnonymity,
    BetaLikeness,
    KAnonymity,
    KEAnonymity,
    LDiversity,
    MUniqueness,
    Requirement,
    TCloseness,
)
from shoal.table import Schema, encode
from shoal.wording import sentence


def problem(columns, sensitive, privacy, progress=lambda *_: None):
    """A problem of columns of values; `sensitive` is a list of columns."""
    frame = pl.DataFrame(
        {f"q{j}": column for j, column in enumerate(columns)} | dict(zip("st", sensitive, strict=False))
    )
    names = tuple(f"q{j}" for j in range(len(columns)))
    schema = Schema(quasi_identifiers=names, sensitive=tuple(frame.columns[len(names) :]))
    return Problem(
        table=encode(frame, schema),
        requirement=Requirement.of(privacy, schema.sensitive),
        rng=np.random.default_rng(0),
        progress=progress,
    )


def problem_of(codes, privacy):
    return problem(codes.quasi_identifiers.T.tolist(), [codes.values], privacy)


def signature(codes, groups):
    """The partition as it is seen without row numbers: how often each group occurs, as a bag of rows."""
    rows = list(zip(codes.rows, codes.values, strict=True))
    return Counter(tuple(sorted(rows[row] for row in group)) for group in groups)


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
def test_every_group_is_acceptable_for_every_monotone_requirement(data):
    codes = data.draw(code_tables(min_columns=0, max_rows=25, max_domain=5))
    privacy = data.draw(requirements(codes))
    result = Hilbert().partition(problem_of(codes, privacy))
    predicates = [predicate_of(model, codes.values) for model in privacy]
    groups = check_partition(result, rows=len(codes.values), sensitive=[codes.values], predicates=predicates)
    shuffled = data.draw(st.permutations(range(len(codes.values))))
    other = type(codes)(quasi_identifiers=codes.quasi_identifiers[shuffled], sensitive=codes.sensitive[shuffled])
    again = Hilbert().partition(problem_of(other, privacy))
    assert signature(other, check_partition(again, rows=len(shuffled))) == signature(codes, groups)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_two_sensitive_attributes_and_numbers(data):
    codes = data.draw(code_tables(max_rows=20))
    n = len(codes.values)
    second = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    both = [codes.values, second]
    used_lists = data.draw(st.lists(models(monotone=True, numeric=True), min_size=1, max_size=3))
    privacy = [m for m in used_lists if all(predicate_of(m, v)(v) for v in both)]
    assume(privacy)
    result = Hilbert().partition(problem(codes.quasi_identifiers.T.tolist(), both, privacy))
    for values in both:
        check_partition(
            result, rows=n, sensitive=[values], predicates=[predicate_of(model, values) for model in privacy]
        )


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


@pytest.mark.parametrize("privacy", [KAnonymity(1), LDiversity(1), LDiversity(1, variant="entropy")])
def test_one_row(privacy):
    result = Hilbert().partition(problem([[7], ["x"]], [["flu"]], privacy))
    assert result.groups.tolist() == [0]
    assert result.count == 1


def test_no_quasi_identifier_costs_no_star():
    result = Hilbert().partition(problem([], [list("abcabcab")], LDiversity(2)))
    assert check_partition(
        result, rows=8, sensitive=[list("abcabcab")], predicates=[lambda g: 2 * max(Counter(g).values()) <= len(g)]
    )
    assert result.count == 1


def test_no_row():
    result = Hilbert().partition(problem([[]], [], KAnonymity(1)))
    assert (result.count, result.groups.shape) == (0, (0,))


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


def test_what_it_says_of_itself():
    assert (Hilbert().name, Hilbert().parameters()) == ("hilbert", {"stretch": True})
    assert Hilbert(stretch=False).parameters() == {"stretch": False}
    with pytest.raises(ParameterError, match="'stretch' parameter of hilbert"):
        Hilbert(stretch=1)
    assert Hilbert() == Hilbert()
    served = [KAnonymity(2), LDiversity(2), AlphaKAnonymity(0.5, 2), KEAnonymity(2, 1), BetaLikeness(1)]
    assert Hilbert().unsupported(Requirement.of(served, ["s"])) is None
    why = Hilbert().unsupported(Requirement.of([KAnonymity(2), MUniqueness(2)], ["s"]))
    assert why is not None
    assert "monotone" in why


def test_progress_ends_and_may_stop_the_work():
    told = []
    Hilbert().partition(problem([[1, 2, 3]], [], KAnonymity(2), lambda *call: told.append(call)))
    assert told[0] == ("hilbert", 0, 3)
    assert told[-1] == ("hilbert", 3, 3)

    def stop(step, done, total):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Hilbert().partition(problem([[1, 2, 3]], [], KAnonymity(2), stop))


def test_the_table_is_not_changed():
    asked = problem([[3, 1, 2, 2]], [list("abab")], LDiversity(2))
    before = [column.codes.copy() for column in (*asked.table.quasi_identifiers, *asked.table.sensitive)]
    order = asked.table.classes.order.copy()
    first = Hilbert().partition(asked)
    assert (Hilbert().partition(asked).groups == first.groups).all()
    after = [column.codes for column in (*asked.table.quasi_identifiers, *asked.table.sensitive)]
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
    assert (order == asked.table.classes.order).all()


def test_hierarchies_keep_subtrees_together():
    # The names say nothing of the subtrees: in the order of their names, neighbours share the root alone.
    tree = Hierarchy.from_rows(
        [(letter, "odd" if place % 2 else "even", "*") for place, letter in enumerate("abcdefgh")]
    )
    columns, rows = [list("abcdefgh") * 2, list("xy") * 8], 16
    frame = pl.DataFrame({"q0": columns[0], "q1": [f"{n:2}" for n in range(rows)]})
    asked = Problem(
        table=encode(frame, Schema(quasi_identifiers=("q0", "q1"))),
        requirement=Requirement.of(KAnonymity(4), ()),
        rng=np.random.default_rng(0),
        recoding="generalization",
        hierarchies={"q0": tree},
    )
    result = Hilbert().partition(asked)
    assert result.details["sweep"] == "least penalty along the curve"
    for group in range(result.count):
        letters = {columns[0][row] for row in np.flatnonzero(result.groups == group)}
        assert letters <= set("aceg") or letters <= set("bdfh")


def test_too_many_steps_leave_the_cuts_of_fewest_stars(monkeypatch):
    monkeypatch.setattr("shoal.algorithms.hilbert.hilbert._MOST_STEPS", 10)
    frame = pl.DataFrame({"q0": list("aabb") * 4})
    asked = Problem(
        table=encode(frame, Schema(quasi_identifiers=("q0",))),
        requirement=Requirement.of(KAnonymity(4), ()),
        rng=np.random.default_rng(0),
        recoding="generalization",
        hierarchies={"q0": Hierarchy.from_rows([("a", "*"), ("b", "*")])},
    )
    assert Hilbert().partition(asked).details == {
        "points": 2, "sweep": "optimal cuts along the curve", "groups": 4, "stars": 0
    }  # fmt: skip


def test_it_says_what_to_take_where_groups_must_be_like_the_table():
    table = [[1, 2, 3, 4]], [list("abab")]
    close = Hilbert().partition(problem(*table, [TCloseness(0.2), KAnonymity(2)]))
    assert "'sabre' and 'cluster' lose far less" in sentence(close.guarantee.promise)
    assert "sabre" not in sentence(Hilbert().partition(problem(*table, KAnonymity(2))).guarantee.promise)
