"""The common result of all groupings, and the check that shares nothing with what makes them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.every import every

from shoal.errors import DataError, InfeasibleError, InternalError, ParameterError
from shoal.grouping import Grouping, GroupingGuarantee, check_grouping, simple_lower_bound
from shoal.grouping.base import check_feasible, check_k, validate_weights

SIZES = np.array([3, 4, 5, 6], dtype=np.int64)
GROUPING = Grouping(
    kind="labels",
    classes=np.array([0, 1, 1, 0], dtype=np.int32),
    weights=np.array([9, 9], dtype=np.int64),
    k=9,
    lower_bound=9,
    lower_bound_why="every class has at least k records",
    method="best",
)


def test_what_a_grouping_says_of_itself():
    assert check_grouping(GROUPING, SIZES) is GROUPING
    assert (GROUPING.cost, GROUPING.optimal, GROUPING.overfull_ratio, GROUPING.gap) == (9, True, 1.0, 0.0)
    assert repr(GROUPING) == "Grouping('labels', k=9, classes=2, largest=9, optimal, method='best')"
    facts = GROUPING.to_dict()
    promised = {"k", "classes", "largest", "smallest", "lower_bound", "optimal", "overfull_ratio", "method", "seconds"}
    assert promised <= set(facts)
    assert (facts["classes"], facts["largest"], facts["smallest"], facts["records"]) == (2, 9, 9, 18)


def test_a_relaxed_grouping_is_never_optimal():
    relaxed = replace(GROUPING, k=10, least=9, lower_bound=9)
    assert check_grouping(relaxed, SIZES) is relaxed
    assert not relaxed.optimal
    assert not relaxed.to_dict()["k_anonymous"]


def test_items_may_be_left_out():
    left_out = replace(GROUPING, classes=np.array([0, -1, -1, 0], dtype=np.int32), weights=np.array([9]))
    assert check_grouping(left_out, SIZES).to_dict()["items_left_out"] == 2


@every(
    ("wrong", "message"),
    [
        ({"classes": np.array([0, 1, 1, 2], dtype=np.int32)}, "without a class"),
        ({"classes": np.array([0, 1, 1, -2], dtype=np.int32)}, "without a class"),
        ({"classes": np.array([0, 1, 1, 1], dtype=np.int32)}, "not those of its items"),
        ({"classes": np.array([0, 1, 1], dtype=np.int32)}, "one class for each item"),
        ({"classes": np.array([0, 1, 1, 0])}, "not made of"),
        ({"weights": np.array([9, 9, 0])}, "too few records"),
        ({"k": 10}, "too few records"),
        ({"lower_bound": 10}, "below its lower bound"),
        ({"guarantee": GroupingGuarantee(text="it is said", largest=8)}, "above the guarantee of its method"),
    ],
)
def test_a_wrong_grouping_is_a_bug(wrong, message):
    with pytest.raises(InternalError, match=message):
        check_grouping(replace(GROUPING, **wrong), SIZES)


def test_items_of_one_record_are_counted():
    grouping = replace(GROUPING, weights=np.array([2, 2]), k=2, lower_bound=2)
    assert check_grouping(grouping).optimal
    with pytest.raises(InternalError):
        check_grouping(replace(grouping, weights=np.array([1, 3]), k=1))


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(1, 40))
def test_no_classes_beat_the_simple_bound(sizes, k):
    total, largest = sum(sizes), max(sizes)
    bound = simple_lower_bound(largest, total, k).value
    if total < k:
        assert bound == max(largest, k)
        return
    # With m classes the largest has at least the average, and m classes of k records need m k records.
    averages = [Fraction(total, m) for m in range(1, total + 1) if m * k <= total]
    assert bound >= max(largest, k)
    assert bound == max(largest, k, -(-min(averages).numerator // min(averages).denominator))


@every("k", [0, -1, 2.0, True, "3", None])
def test_k_is_a_whole_number(k):
    with pytest.raises(ParameterError, match="'k' parameter of labels must be an int >= 1"):
        check_k("labels", k)


@every(
    ("weights", "message"),
    [
        ([], "nothing to group"),
        ([[1, 2]], "one-dimensional"),
        (["a"], "whole numbers"),
        ([1.5, 2.0], "1 of 2 are not"),
        ([np.nan, 2.0], "1 of 2 are not"),
        ([0, 7], "must be at least 1: 1 of 2 is less"),
        ([-3, 7, 0], "2 of 3 are less"),
        ([2**53 - 1, 1], "add up to 2"),
        ([2**63], "add up to 2"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(DataError, match=message):
        validate_weights("labels", weights, what="sizes", least=1)


def test_weights_may_be_whole_floats_and_zero_where_allowed():
    assert validate_weights("regions", [1.0, 0.0], what="weights", least=0).tolist() == [1, 0]


def test_too_few_records_name_the_best_k():
    with pytest.raises(InfeasibleError, match="largest k that can be met is 7"):
        check_feasible("labels", 7, 8)
    check_feasible("labels", 8, 8)


@pytest.mark.drawn
def test_it_draws_itself(tmp_path):
    assert GROUPING.plot().get_ylim()[0] == 0
    for name in ("picture.svg", "picture.png"):
        GROUPING.save_picture(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
