"""Ordered values: exact intervals, with the dynamic program over all cuts as the judge."""

from __future__ import annotations

import datetime as dt
import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every
from tests.oracles.grouping import divisions, smallest_largest_interval

from shoal.errors import DataError, InfeasibleError, InternalError, ParameterError
from shoal.grouping import ordered
from shoal.grouping.ordered import intervals_kernel as kernels
from shoal.grouping.ordered.intervals import _check_consecutive


@pytest.mark.drawn
def test_the_largest_interval_is_the_smallest_possible():
    choose = random.Random(4)
    for _ in range(400):
        sizes = [choose.randint(1, choose.choice([1, 3, 10, 40])) for _ in range(choose.randint(1, 13))]
        k = choose.randint(1, sum(sizes))
        found = ordered(np.arange(len(sizes)), k, counts=sizes)
        assert found.cost == found.lower_bound == smallest_largest_interval(sizes, k)
        assert found.optimal
        assert (np.diff(found.classes) >= 0).all()


def test_among_the_best_there_are_as_many_intervals_as_can_be():
    choose = random.Random(5)
    for _ in range(60):
        sizes = [choose.randint(1, 9) for _ in range(choose.randint(1, 7))]
        k = choose.randint(1, sum(sizes))
        found = ordered(np.arange(len(sizes)), k, counts=sizes)
        possible = [
            len(some)
            for some in divisions(range(len(sizes)))
            if all(
                max(one) - min(one) == len(one) - 1 and k <= sum(sizes[i] for i in one) <= found.cost for one in some
            )
        ]
        assert len(found.weights) == max(possible)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=80), st.data())
def test_values_may_come_in_any_order_and_repeat(values, data):
    k = data.draw(st.integers(1, len(values)))
    found = ordered(values, k)
    shuffled = data.draw(st.permutations(values))
    again = ordered(shuffled, k)
    assert dict(zip(values, found.classes.tolist(), strict=True)) == dict(
        zip(shuffled, again.classes.tolist(), strict=True)
    )
    for value, at in zip(values, found.classes, strict=True):
        assert found.lowest[int(at)] <= value <= found.highest[int(at)]
    assert found.weights.sum() == len(values)
    assert found.weights.min() >= k


@every(
    "values",
    [
        [3, 1, 2, 10],
        [0.3, 0.1, 0.2, 1.0],
        ["3", "1", "2", "10"],
        ["0.30", "0.1", "0.2", "1"],
        ["2021-03-01", "2020-12-31", "2021-01-01", "2022-01-01"],
        [dt.date(2021, 3, 1), dt.date(2020, 12, 31), dt.date(2021, 1, 1), dt.date(2022, 1, 1)],
        np.array(["2021-03", "2020-12", "2021-01", "2022-01"], dtype="datetime64[D]"),
        pl.Series(["low", "none", "some", "high"], dtype=pl.Enum(["none", "some", "low", "high"])),
    ],
)
def test_numbers_dates_and_declared_categories_have_an_order(values):
    assert ordered(values, 2).classes.tolist() == [1, 0, 0, 1]


@every(
    ("values", "k", "options", "error", "message"),
    [
        (["flu", "cold"], 1, {}, DataError, "have no order.*labels"),
        ([True, False], 1, {}, DataError, "have no order"),
        ([1, None, 3], 1, {}, DataError, "1 of the 3 values of ordered are missing"),
        ([1.0, float("nan"), 3], 1, {}, DataError, "1 of the 3 values"),
        ([1.0, float("inf")], 1, {}, DataError, "infinite"),
        ([], 1, {}, DataError, "nothing to group"),
        ([[1], [2]], 1, {}, DataError, "List"),
        (object(), 1, {}, DataError, "one column"),
        ([1, 2], 3, {}, InfeasibleError, "The largest k that can be met is 2"),
        ([1, 2], 0, {}, ParameterError, "'k' parameter of ordered"),
        ([1, 2], 1, {"counts": [1]}, DataError, "one for each value. Got 1 for 2"),
        ([1, 2], 1, {"counts": [1, 0]}, DataError, "at least 1"),
    ],
)
def test_bad_input(values, k, options, error, message):
    with pytest.raises(error, match=message):
        ordered(values, k, **options)


def test_text_stays_text():
    for values in (["9", "10", "-3"], ["9", "10.0", "-3"]):
        found = ordered(values, 3)
        assert (found.lowest.to_list(), found.highest.to_list()) == (["-3"], [values[1]])


def test_classes_that_are_no_intervals_are_a_bug():
    codes = np.array([0, 1, 2, 2])
    _check_consecutive(np.array([0, 0, 1, 1]), codes)
    for wrong in ([0, 1, 0, 0], [0, 0, 1, 0]):
        with pytest.raises(InternalError, match="no intervals"):
            _check_consecutive(np.array(wrong), codes)


def test_the_kernels_are_the_same_in_plain_python():
    rng = np.random.default_rng(2)
    for _ in range(20):
        sums = np.concatenate([[0], np.cumsum(rng.integers(1, 20, 30))])
        room = np.empty(len(sums) + 1, dtype=np.int64)
        for bound in (25, 30, 40, int(sums[-1])):
            arguments = (sums, 20, bound, room)
            assert kernels.reachable(*arguments) == kernels.reachable.py_func(*arguments)
        cost = kernels.smallest_bound(sums, 20, 20, int(sums[-1]))
        assert cost == kernels.smallest_bound.py_func(sums, 20, 20, int(sums[-1]))
        assert kernels.cut_points(sums, 20, cost).tolist() == kernels.cut_points.py_func(sums, 20, cost).tolist()
