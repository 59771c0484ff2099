"""Completing a residue: the phases, and whole groups as a last resort."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.tp.cascade import complete_residue
from shoal.errors import InternalError
from shoal.models.requirement import FrequencyForm


def form(k=1, l=1):
    return FrequencyForm(k=k, l=Fraction(l), sensitive=0 if l > 1 else None)


def cells(groups):
    values = [v for group in groups for v, count in enumerate(group) if count]
    counts = [count for group in groups for count in group if count]
    starts = np.cumsum([0, *(sum(map(bool, group)) for group in groups)])
    return np.array(counts, dtype=np.int32), np.array(values, dtype=np.int32), starts.astype(np.int32)


def residue(*counts):
    return np.array(counts, dtype=np.int64)


def test_an_acceptable_residue_stays_as_it_is():
    for moved in (residue(0, 0), residue(3, 3)):
        keep, values, starts = cells([[2, 2]])
        assert complete_residue(keep, values, starts, form(l=2), moved) == 1
        assert keep.tolist() == [2, 2]


def test_phases_two_and_three():
    keep, values, starts = cells([[0, 3, 3]])
    moved = residue(2, 0, 0)
    assert complete_residue(keep, values, starts, form(l=2), moved) == 2
    keep, values, starts = cells([[3, 1, 2, 3, 3], [1, 3, 2, 3, 3]])
    moved = residue(4, 4, 4, 0, 0)
    assert complete_residue(keep, values, starts, form(l=4), moved) == 3
    assert (moved.sum(), moved.max()) == (20, 5)


def test_the_smallest_groups_are_dissolved_first_where_nothing_can_be_spared():
    # k = 4: every group has just four rows, so that none can lose one; the residue has one.
    keep, values, starts = cells([[4, 0, 0], [0, 4, 0], [0, 0, 5]])
    moved = residue(1, 1, 0)
    assert complete_residue(keep, values, starts, form(k=4), moved) in (2, 3, 4)
    assert moved.sum() >= 4
    assert all(size in (0, 4, 5) for size in np.add.reduceat(keep, starts[:-1]))


def test_a_table_that_is_not_feasible_is_a_bug_of_the_caller():
    keep, values, starts = cells([[2, 2]])
    with pytest.raises(InternalError, match="could not be completed although the whole table is acceptable"):
        complete_residue(keep, values, starts, form(l=2), residue(9, 0))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_everything_is_acceptable_in_the_end(data):
    m = data.draw(st.integers(1, 5))
    fraction = data.draw(st.sampled_from([Fraction(1), Fraction(4, 3), Fraction(2), Fraction(5, 2), Fraction(3)]))
    k = data.draw(st.integers(1, 9))

    def acceptable(counts):
        return fraction * max(counts) <= sum(counts) and sum(counts) >= k

    counts = st.lists(st.integers(0, 5), min_size=m, max_size=m)
    groups = data.draw(st.lists(counts.filter(acceptable), max_size=6)) if fraction <= m else []
    moved = np.array(data.draw(counts), dtype=np.int64)
    totals = np.sum([moved, *groups], axis=0).tolist()
    if not groups or not acceptable(totals):
        return
    keep, values, starts = cells(groups)
    phase = complete_residue(keep, values, starts, form(k, fraction), moved)
    assert phase in (1, 2, 3, 4)
    assert moved.sum() == 0 or acceptable(moved.tolist())
    left = np.zeros((len(groups), m), dtype=np.int64)
    left[np.repeat(np.arange(len(groups)), np.diff(starts)), values] = keep
    assert all(not any(group) or acceptable(group) for group in left.tolist())
    assert (left.sum(axis=0) + moved).tolist() == totals
    if fraction.denominator == 1 and k <= fraction:
        assert phase < 4, "Lemma 5.18"
