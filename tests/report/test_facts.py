"""Bins cover every group once, in order, and fit on a page."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.report import size_bins


@given(st.lists(st.integers(1, 1_000_000), max_size=200))
def test_bins_cover_every_group_once(sizes: list[int]) -> None:
    bins = size_bins(sizes)
    assert sum(one.groups for one in bins) == len(sizes)
    assert sum(one.rows for one in bins) == sum(sizes)
    for one in bins:
        assert one.groups == sum(one.low <= size <= one.high for size in sizes) > 0
    assert all(before.high < after.low for before, after in itertools.pairwise(bins))
    assert len(bins) <= 21


def test_few_sizes_get_a_bin_each() -> None:
    assert [(one.low, one.high) for one in size_bins(np.array([7, 3, 3]))] == [(3, 3), (7, 7)]


@pytest.mark.parametrize(("most", "growth"), [(60, 1.25), (400, 1.5), (100_000, 2.0)])
def test_bounds_grow_as_slowly_as_the_page_allows(most: int, growth: float) -> None:
    bins = size_bins(range(10, most))
    assert len(bins) <= 14
    assert all(one.high + 1 <= growth * one.low + 1 for one in bins)


def test_no_groups() -> None:
    assert size_bins([]) == ()
