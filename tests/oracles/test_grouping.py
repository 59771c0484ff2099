"""The oracles of groupings, against what can be counted by hand."""

from __future__ import annotations

from tests.oracles.grouping import (
    divisions,
    smallest_largest_class,
    smallest_largest_interval,
    smallest_largest_rectangle,
)


def test_there_are_as_many_divisions_as_bell_counts():
    assert [sum(1 for _ in divisions(range(n))) for n in range(1, 7)] == [1, 2, 5, 15, 52, 203]


def test_small_groupings_by_hand():
    assert smallest_largest_class([3, 3, 2, 2], 5) == 5
    assert smallest_largest_class([3, 3, 2, 2], 6) == 10
    assert smallest_largest_class([1], 2) is None
    assert smallest_largest_interval([3, 3, 2, 2], 5) == 10
    assert smallest_largest_interval([3, 2, 3, 2], 5) == 5
    corners = [(0, 0), (1, 1), (0, 1), (1, 0)]
    assert smallest_largest_rectangle(corners, [1, 1, 1, 1], 2) == 2
    # Both diagonals of a square cross.
    assert smallest_largest_rectangle(corners, [1, 4, 3, 2], 5) == 10
    assert smallest_largest_rectangle(corners, [4, 4, 1, 1], 5) == 5
    assert smallest_largest_rectangle(corners, [4, 1, 4, 1], 5) == 5
    assert smallest_largest_rectangle([(0, 0)], [1], 2) is None
