"""Covers by pairs and triples against all covers, and what is proven of them."""

from collections import Counter

import numpy as np
import pytest
from tests.every import every
from tests.oracles.covers import allowed_groups
from tests.oracles.covers import cheapest_cover as judged

from shoal.algorithms.matching import cover_search
from shoal.algorithms.matching.cover_problem import FORBIDDEN, CoverProblem, GroupPrices, split_cover
from shoal.algorithms.matching.cover_search import CoverSearch, cheapest_cover
from shoal.algorithms.matching.group_prices_kernel import UNIT, prices_of_groups
from shoal.algorithms.matching.parity_cuts import parity_cuts
from shoal.errors import InternalError


def random_problem(seed, *, rows=9, d=3, domain=3, values=None, prices=None):
    """A problem, its rows and their values."""
    chance = np.random.default_rng(seed)
    table = np.minimum(chance.integers(0, domain, (rows, d)), chance.integers(0, domain, (rows, d)))
    valued = np.zeros(rows, dtype=np.int64) if values is None else chance.integers(0, values, rows)
    distinct, counts = np.unique(np.column_stack((table, valued)), axis=0, return_counts=True)
    problem = CoverProblem(
        codes=np.ascontiguousarray(distinct[:, :d]).astype(np.int32),
        counts=counts.astype(np.int64),
        prices=GroupPrices.of_weights([1] * d) if prices is None else prices,
        values=None if values is None else distinct[:, d].astype(np.int64),
    )
    return problem, [tuple(row) for row in table.tolist()], None if values is None else valued.tolist()


def check(problem, found):
    """A cover holds every row once, in allowed groups, and costs what it says."""
    held = np.bincount(found.groups[found.groups >= 0], minlength=len(problem.counts))
    assert np.array_equal(held, problem.counts)
    assert (np.sort(np.where(found.groups < 0, 10**9, found.groups), axis=1)[found.groups >= 0] >= 0).all()
    assert found.cost == prices_of_groups(problem.codes, problem.prices.table, found.groups).sum() < FORBIDDEN
    if problem.values is not None:
        for group in found.groups.tolist():
            of_values = [int(problem.values[t]) for t in group if t >= 0]
            assert len(set(of_values)) == len(of_values)
    assert (found.groups[:, 1] >= 0).all()


def hold_to(problem, rows, values, price):
    """Compare a search with all covers; return the cheapest cover's cost."""
    expected = judged(rows, values, price)
    found = cheapest_cover(problem)
    assert found.complete
    assert found.cost == expected
    assert found.optimal is (expected is not None)
    if expected is not None:
        check(problem, found)
        assert found.bound == expected
        assert found.proof
    return expected


@every("seed", range(120))
def test_stars_against_all_covers(seed):
    problem, rows, values = random_problem(seed, rows=5 + seed % 7, values=(None, 3, 4)[seed % 3])
    hold_to(problem, rows, values, len)


@every("seed", range(40))
def test_weights_against_all_covers(seed):
    weights = np.random.default_rng(seed).integers(1, 9, 3).tolist()
    problem, rows, values = random_problem(
        seed, rows=8, values=(None, 3)[seed % 2], prices=GroupPrices.of_weights(weights)
    )
    hold_to(problem, rows, values, lambda starred: sum(weights[a] for a in starred))


@every("seed", range(80))
def test_patterns_against_all_covers(seed):
    chance = np.random.default_rng(seed)
    starred = sorted({int(mask) for mask in chance.integers(0, 8, 4)})
    prices = [int(chance.integers(2, 9)) + bin(mask).count("1") for mask in starred]
    problem, rows, values = random_problem(
        seed, rows=4 + seed % 5, domain=2 + seed % 2, prices=GroupPrices.of_patterns(3, starred, prices)
    )

    def price(differ):
        mask = sum(1 << a for a in differ)
        fitting = [cost for one, cost in zip(starred, prices, strict=True) if mask & ~one == 0]
        return min(fitting, default=None)

    hold_to(problem, rows, values, price)


def test_the_patterns_of_some_seeds_allow_no_cover():
    prices = GroupPrices.of_patterns(2, [0b01], [3])
    codes = np.array([[0, 0], [1, 0], [0, 1]], dtype=np.int32)
    found = cheapest_cover(CoverProblem(codes=codes, counts=np.ones(3, dtype=np.int64), prices=prices))
    assert (found.cost, found.complete, found.optimal, len(found.groups)) == (None, True, False, 0)
    star_of_four = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.int32)
    prices = GroupPrices.of_patterns(3, [0b001, 0b010, 0b100], [1, 1, 1])
    problem = CoverProblem(codes=star_of_four, counts=np.ones(4, dtype=np.int64), prices=prices)
    assert cheapest_cover(problem).cost is None
    # With three rows at its middle, every leaf has a partner.
    assert cheapest_cover(CoverProblem(codes=star_of_four, counts=np.array([3, 1, 1, 1]), prices=prices)).cost == 6


def test_prices():
    assert GroupPrices.of_weights([1, 5]).by_mask.tolist() == [0, 1, 5, 6]
    assert GroupPrices.of_weights([1, 5]).highest == 6
    assert GroupPrices.of_weights([2] * 17).by_mask.size == 0
    assert GroupPrices.of_weights([2] * 17).highest == 34
    patterns = GroupPrices.of_patterns(2, [0b00, 0b01, 0b01], [1, 4, 3])
    assert patterns.by_mask.tolist() == [1, 3, FORBIDDEN, FORBIDDEN]
    assert patterns.highest == 3


def test_many_attributes_are_added_up_one_by_one():
    chance = np.random.default_rng(4)
    table = chance.integers(0, 2, (9, 40))
    table[:, :30] = 0
    few = cheapest_cover(
        CoverProblem(codes=table[:, 30:].astype(np.int32), counts=np.ones(9, dtype=np.int64),
                     prices=GroupPrices.of_weights([1] * 10))
    )  # fmt: skip
    many = cheapest_cover(
        CoverProblem(codes=table.astype(np.int32), counts=np.ones(9, dtype=np.int64),
                     prices=GroupPrices.of_weights([1] * 40))
    )  # fmt: skip
    assert many.cost == few.cost == judged([tuple(row) for row in table.tolist()], None, len)


@pytest.mark.parametrize("values", [None, 4])
def test_without_time_the_start_comes_back_with_a_bound(values):
    problem, _, _ = random_problem(8, rows=30, values=values, d=5)
    start = split_cover(problem, [np.repeat(np.arange(len(problem.counts)), problem.counts)])
    at_once = cheapest_cover(problem, start=start, time_limit=0)
    assert np.array_equal(at_once.groups, start)
    paid = prices_of_groups(problem.codes, problem.prices.table, start).sum()
    assert (at_once.cost, at_once.bound, at_once.complete) == (paid, 0, False)
    nothing = cheapest_cover(problem, time_limit=0)
    assert (nothing.cost, len(nothing.groups), nothing.optimal, nothing.complete) == (None, 0, False, False)
    found = cheapest_cover(problem, start=start)
    assert found.bound == found.cost <= at_once.cost


@every("steps", [1, 2, 3, 5, 8])
def test_an_interrupt_returns_what_is_known(steps):
    problem, _, _ = random_problem(3, rows=60, values=5, d=6, domain=4)
    start = split_cover(problem, [np.repeat(np.arange(len(problem.counts)), problem.counts)])
    optimum = cheapest_cover(problem).cost
    told = []

    def progress(*step):
        told.append(step)
        if len(told) == steps:
            raise KeyboardInterrupt

    found = cheapest_cover(problem, start=start, progress=progress)
    check(problem, found)
    assert found.bound <= optimum <= found.cost
    # On a busy machine the last of ten steps may come when the proof is complete.
    if steps < 8 or found.cost > optimum:
        assert not found.complete
    else:
        assert not found.complete or found.bound == optimum


def test_a_start_that_is_no_cover_is_refused():
    problem, _, _ = random_problem(3, rows=6, values=3)
    start = split_cover(problem, [np.repeat(np.arange(len(problem.counts)), problem.counts)])
    with pytest.raises(InternalError, match="every row once"):
        cheapest_cover(problem, start=start[1:])
    same = CoverProblem(
        codes=problem.codes, counts=problem.counts, prices=problem.prices, values=np.zeros_like(problem.values)
    )
    with pytest.raises(InternalError, match="repeated value"):
        cheapest_cover(same, start=start)


@every("seed", range(12))
def test_the_bound_of_the_program_needs_no_whole_numbers(seed):
    """Lowered to integers, the duals price no pair and no triple below zero."""
    problem, rows, values = random_problem(seed, rows=16, values=(None, 4)[seed % 2], d=4)
    search = CoverSearch(problem, start=None, time_limit=None, progress=lambda *_: None)
    found = search.run()
    duals = search._duals
    type_of = {}
    for t, codes in enumerate(problem.codes.tolist()):
        type_of[(*codes, 0 if values is None else int(problem.values[t]))] = t
    types = [type_of[(*row, 0 if values is None else values[place])] for place, row in enumerate(rows)]
    for group, cost in allowed_groups(rows, values, len).items():
        members = [types[row] for row in group]
        paid = sum(int(duals.types[t]) for t in members)
        for cut, dual in zip(search._cuts, duals.cuts, strict=False):
            paid += int(dual) * (sum(t in cut for t in members) % 2)
        assert paid <= cost * UNIT
    proven = int(duals.types @ problem.counts) + int(duals.cuts.sum())
    assert proven == duals.bound
    assert -(-proven // UNIT) <= found.cost


def triangle(counts=(1, 1, 1)):
    """Three types, each pair of them used half a time."""
    groups = np.array([[0, 1, -1], [0, 2, -1], [1, 2, -1]], dtype=np.int64)
    return groups, np.full(3, 0.5), np.array(counts, dtype=np.int64)


def test_an_odd_cycle_violates_a_parity_cut():
    groups, solution, counts = triangle()
    (cut,) = parity_cuts(groups, solution, counts, known=[])
    assert cut.tolist() == [0, 1, 2]
    assert parity_cuts(groups, solution, counts, known=[cut]) == []
    # Two rows of each type: the cover is twice as much, and whole.
    assert parity_cuts(groups, 2 * solution, 2 * counts, known=[]) == []
    assert parity_cuts(groups, solution, 2 * counts, known=[]) == []


@every("seed", range(30))
def test_parity_cuts_are_violated_and_no_cover_violates_them(seed):
    problem, _, _ = random_problem(seed, rows=11, d=4)
    search = CoverSearch(problem, start=None, time_limit=None, progress=lambda *_: None)
    found = search.run()
    for cut in search._cuts:
        assert problem.counts[cut].sum() % 2 == 1
        odd = sum(sum(t in cut for t in group) % 2 for group in found.groups.tolist())
        assert odd >= 1


@every("seed", range(5))
@every("values", [None, 5])
def test_large_problems(monkeypatch, values, seed):
    """A problem of 90 rows that counts as large goes the way of large ones, to the same cost."""
    problem, _, _ = random_problem(seed, rows=90, values=values, d=6, domain=4)
    expected = cheapest_cover(problem)
    monkeypatch.setattr(cover_search, "_MAX_SMALL_ROWS", 28)
    monkeypatch.setattr(cover_search, "_MAX_ROWS_TO_ROUND", 14)
    found = cheapest_cover(problem)
    check(problem, found)
    assert found.cost == expected.cost == found.bound == expected.bound


def test_a_program_with_too_many_groups_is_left_with_its_gap(monkeypatch):
    problem, _, _ = random_problem(5, rows=41, d=4)
    start = split_cover(problem, [np.repeat(np.arange(len(problem.counts)), problem.counts)])
    monkeypatch.setattr(cover_search, "_MAX_GROUPS", 0)
    monkeypatch.setattr(cover_search, "_MAX_CUT_ROUNDS", 0)
    found = cheapest_cover(problem, start=start)
    check(problem, found)
    assert found.bound <= found.cost
    assert found.complete is found.optimal


def test_long_groups_are_split_without_repeating_values():
    chance = np.random.default_rng(2)
    for values, rows in ((2, 200), (3, 201), (9, 333), (None, 151)):
        problem, _, _ = random_problem(int(chance.integers(99)), rows=rows, values=values, d=2)
        members = np.repeat(np.arange(len(problem.counts)), problem.counts)
        if values is not None:
            held = np.bincount(problem.values[members])
            spare = np.flatnonzero(problem.values[members] == held.argmax())
            surplus = max(0, 2 * int(held.max()) - len(members))
            members = np.delete(members, spare[:surplus])
        groups = split_cover(problem, [members])
        assert Counter(groups[groups >= 0].tolist()) == Counter(members.tolist())
        if values is not None:
            of_values = problem.values[groups]
            for one, other in ((0, 1), (0, 2), (1, 2)):
                both = groups[:, other] >= 0
                assert (of_values[both, one] != of_values[both, other]).all()


def test_progress():
    problem, _, _ = random_problem(1, rows=20, d=4)
    told = []
    cheapest_cover(problem, time_limit=1000, progress=lambda *step: told.append(step))
    assert {step[0] for step in told} == {"matching"}
    assert all(0 <= done <= total == 1000 for _, done, total in told)
