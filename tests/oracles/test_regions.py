"""The oracle for regions is right where the answer is plain."""

from __future__ import annotations

from tests.oracles.regions import connected, lowest_tree_degree, smallest_largest_part, spanning_tree_degree

PATH = [(0, 1), (1, 2), (2, 3)]


def test_connected():
    assert connected([0, 1, 2], PATH)
    assert not connected([0, 2], PATH)
    assert connected([3], PATH)
    assert not connected([], PATH)


def test_smallest_largest_part():
    assert smallest_largest_part(PATH, [1, 1, 1, 1], 2) == 2
    assert smallest_largest_part(PATH, [1, 3, 3, 1], 2) == 4
    assert smallest_largest_part(PATH, [1, 1, 1, 1], 3) == 4
    assert smallest_largest_part(PATH, [1, 1, 1, 1], 5) is None
    assert smallest_largest_part([(0, 1)], [1, 0, 4], 2) is None


def test_degrees_of_trees():
    star = [(0, 1), (0, 2), (0, 3)]
    assert spanning_tree_degree(4, star) == 3
    assert spanning_tree_degree(4, star[:2]) is None
    assert spanning_tree_degree(1, []) == 0
    assert lowest_tree_degree(4, [*star, (1, 2), (2, 3)]) == 2
    assert lowest_tree_degree(4, star) == 3
