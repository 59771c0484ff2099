"""Thresholds may be exchanged for short fractions without changing a decision."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.models.rationals import at_most, exponential, json_number, logarithm, neighbours, round_down, round_up

FRACTIONS = st.fractions(min_value=0, max_value=5, max_denominator=10**6)


@given(threshold=FRACTIONS, limit=st.integers(1, 40))
def test_neighbours_enclose_a_threshold_with_nothing_between(threshold, limit):
    below, above = neighbours(threshold, limit)
    candidates = {Fraction(n, d) for d in range(1, limit + 1) for n in (int(threshold * d), int(threshold * d) + 1)}
    assert below == max(candidate for candidate in candidates if candidate <= threshold)
    assert above == min(candidate for candidate in candidates if candidate >= threshold)


@given(
    pairs=st.lists(st.tuples(st.integers(0, 2**31), st.integers(0, 2**31)), min_size=1, max_size=8),
    a=st.integers(0, 2**80),
    b=st.integers(0, 2**80),
)
def test_products_are_compared_exactly_whatever_their_size(pairs, a, b):
    left, right = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    assert at_most(left, a, right, b).tolist() == [a * x <= b * y for x, y in pairs]


def test_no_products_give_no_answers():
    none = np.empty(0, dtype=np.int64)
    assert at_most(none, 1, none, 1).shape == (0,)


@pytest.mark.parametrize(
    ("number", "digits"),
    # The first digits as published in tables of logarithms.
    [(2, "0.693147180559945309417232121458"), (10, "2.302585092994045684017991454684"), (1, "0")],
)
def test_logarithms_are_enclosed(number, digits):
    below, above = logarithm(Fraction(number))
    assert below <= Fraction(digits) + Fraction(1, 10**29)
    assert above >= Fraction(digits)
    assert above - below <= Fraction(1, 10**45)


def test_powers_are_exact_where_the_exponent_is_whole_and_enclosed_elsewhere():
    assert exponential(2, Fraction(-3)) == (Fraction(1, 8), Fraction(1, 8))
    below, above = exponential(2, Fraction(1, 2))
    assert below**2 < 2 < above**2
    assert above - below <= Fraction(1, 10**45)


@given(number=FRACTIONS)
def test_rounding_goes_one_way_by_less_than_a_unit(number):
    down, up = Fraction(repr(round_down(number, 4))), Fraction(repr(round_up(number, 4)))
    unit = Fraction(1, 10**4)
    assert number - unit < down <= number <= up < number + unit


def test_numbers_for_json_are_plain():
    numbers = [json_number(value) for value in (np.int64(3), np.float64(0.5), Fraction(1, 4), Fraction(8, 2), 10**400)]
    assert numbers == [3, 0.5, 0.25, 4, 10**400]
    assert [type(number) for number in numbers] == [int, float, float, int, int]
