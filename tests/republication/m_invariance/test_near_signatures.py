"""Signatures of values near each other: against the program over all sets, its invariants, and whole releases."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest
from tests.every import every

import shoal
from shoal.republication import Signatures, generalize
from shoal.republication.m_invariance import generalization, near_signatures
from shoal.republication.m_invariance.balancing import find_largest_m, plan_assignments


def random_counts(rng, values, m):
    """Return m-eligible numbers of rows."""
    while True:
        counts = rng.integers(20, 200, values)
        if find_largest_m(counts) >= m:
            return counts


def mean_reach(steps):
    rows = sum(alpha for alpha, _ in steps)
    return sum(alpha * (chosen.max() - chosen.min()) for alpha, chosen in steps) / rows


@every("seed", range(30))
def test_the_program_is_as_good_as_the_one_over_all_sets(seed):
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 5))
    counts = random_counts(rng, int(rng.integers(m + 1, 8)), m)
    sets, heights = near_signatures._solve_program(counts, m)
    found = sum(height * (max(one) - min(one)) for one, height in zip(sets, heights, strict=True))
    every = [
        one
        for one in itertools.combinations(range(len(counts)), m)
        if one[-1] - one[0] < near_signatures._MAX_REACH * m
    ]
    takes = np.array([[value in one for one in every] for value in range(len(counts))], dtype=float)
    best = linprog([one[-1] - one[0] for one in every], A_eq=takes, b_eq=counts)
    assert found == pytest.approx(best.fun)


@every("seed", range(30))
def test_what_is_left_after_each_step_is_eligible_and_reaches_are_shorter_than_in_the_papers_way(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 6))
    counts = random_counts(rng, int(rng.integers(2 * m, 30)), m)
    steps = near_signatures.plan_near_assignments(counts, m)
    left = counts.copy()
    for alpha, chosen in steps:
        assert len(chosen) == m
        assert (np.diff(chosen) > 0).all()
        left[chosen] -= alpha
        assert left.min() >= 0
        assert not left.any() or find_largest_m(left) >= m
    assert left.sum() < 0.05 * counts.sum()
    assert mean_reach(steps) < mean_reach(plan_assignments(counts, m, rng))


def test_a_value_whose_partners_are_far_away_keeps_enough_of_them():
    counts = np.array([1_000, *[30] * 5, *[40] * 25])  # most of the first value's rows need partners beyond any window
    steps = near_signatures.plan_near_assignments(counts, 2)
    left = counts.copy()
    for alpha, chosen in steps:
        left[chosen] -= alpha
        assert find_largest_m(left) >= 2
    assert steps
    assert left[0] > 500


def test_few_rows_and_few_values_are_left_to_the_papers_way():
    assert near_signatures.plan_near_assignments(np.array([9, 9, 9, 9, 9]), 2) == []
    assert near_signatures.plan_near_assignments(np.array([0, 900, 900, 0]), 2) == []


def test_the_order_that_is_given_decides_which_values_are_near():
    rng = np.random.default_rng(1)
    order = rng.permutation(12)
    sensitive = np.repeat(order, 50)
    made = generalize(
        quasi_identifiers=np.zeros((600, 1), dtype=np.int32),
        sensitive=sensitive,
        values=12,
        signature_of=np.full(600, -1),
        signatures=Signatures.of([]),
        m=3,
        rng=rng,
        near=order,
    )
    found = {tuple(sorted(order.tolist().index(value) for value in made.signatures[n])) for n in range(4)}
    assert len(made.signatures) == 4
    assert found == {(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)}


def test_positions_are_shares_of_the_rows():
    codes = np.array([[0, 3], [0, 3], [0, 3], [2, 3], [5, 3], [5, 3]])
    positions = generalization._compute_positions(codes)
    # The middles of the rows with the codes 0, 2 and 5 lie behind 1.5, 3.5 and 5 of the six rows.
    assert positions[:, 0].tolist() == [0, 0, 0, int(generalization._FINEST * 2 / 3.5), *[generalization._FINEST] * 2]
    assert not positions[:, 1].any()
    assert generalization._compute_positions(codes[:0]).shape == (0, 2)


@pytest.mark.parametrize(("order", "partner"), [(None, 3), (np.arange(4), 2)])
def test_the_splits_of_near_values_measure_boxes_by_shares_of_the_people(order, partner):
    """Of ten values of the first attribute two have nearly everybody; of three of the second, the last one."""
    crowd = [[row // 2 % 2, 2] for row in range(58)] + [[9, 2], [9, 2]]
    codes = np.array([[0, 0], [1, 1], [0, 1], [1, 0], *crowd], dtype=np.int32)
    made = generalize(
        quasi_identifiers=codes,
        sensitive=np.array([0, 0, 1, 1, *[2, 3] * 30]),
        values=4,
        signature_of=np.array([*[0] * 4, *[1] * 60]),
        signatures=Signatures.of([{0, 1}, {2, 3}]),
        m=2,
        rng=np.random.default_rng(1),
        near=order,
    )
    assert np.flatnonzero(made.groups == made.groups[0]).tolist() == [0, partner]


@pytest.mark.drawn
def test_a_series_gives_near_values_to_new_people_and_stays_invariant(tmp_path):
    rng = np.random.default_rng(3)
    income = rng.integers(8, 20, 900) * 10  # 80, 90, 100: in the order of the alphabet 100 is first
    people = pl.DataFrame({"id": [f"p{n}" for n in range(900)], "age": rng.integers(20, 60, 900), "income": income})
    reaches = {}
    for signatures in ("any", "near"):
        with shoal.Ledger(tmp_path / f"{signatures}.db", create=True) as ledger:
            series = ledger.start(signatures, m=3, identifier="id", quasi_identifiers=["age"], sensitive="income")
            first = series.publish(people.head(700), tmp_path / f"{signatures}-1", signatures=signatures, seed=1)
            second = series.publish(people.tail(700), tmp_path / f"{signatures}-2", signatures=signatures, seed=2)
            assert series.verify().problems == ()
        assert first.certificate.parameters.get("signatures", "any") == signatures
        assert "signatures" not in second.certificate.public()["parameters"]
        wide = first.frame.group_by("group_id").agg((pl.max("income") - pl.min("income")).alias("reach"))
        reaches[signatures] = wide["reach"].mean()
    assert reaches["near"] < 30
    assert reaches["near"] < reaches["any"] / 2


def test_another_word_is_an_error(tmp_path):
    with shoal.Ledger(tmp_path / "a.db", create=True) as ledger:
        series = ledger.start("s", m=2, identifier="id", quasi_identifiers=["age"], sensitive="income")
        with pytest.raises(shoal.errors.ParameterError, match="The 'signatures' parameter of publish must be"):
            series.publish(pl.DataFrame({"id": [1], "age": [2], "income": [3]}), signatures="far")


@pytest.fixture
def cached_solve_program(monkeypatch):
    """Let small tables have near values, too, and remember what the program found for some numbers of rows."""
    monkeypatch.setattr(near_signatures, "_MIN_ROWS_PER_VALUE", 0)
    program, asked = near_signatures._solve_program, []

    @cache
    def of(counts, m):
        asked.append(counts)
        return program(np.array(counts), m)

    monkeypatch.setattr(near_signatures, "_solve_program", lambda counts, m: of(tuple(counts.tolist()), m))
    return asked


@every(
    "tables",
    [
        [[0, 1, 2, 3, 4]],  # one release
        [[0, 1, 2, 3], [0, 2, 4, 5]],  # half are new
        [[0, 1], [0], [0, 2, 3, 4, 5]],  # one stays alone
    ],
    drawn=True,
)
def test_near_values_leave_one_in_m_to_somebody_who_knows_the_algorithm(tables, cached_solve_program):
    from tests.republication.m_invariance.test_posterior import LINE, greatest_confidence

    assert greatest_confidence(LINE, tables, kinds=3, m=2, near=np.arange(3)) == Fraction(1, 2)
    assert cached_solve_program, "the program chose signatures"
