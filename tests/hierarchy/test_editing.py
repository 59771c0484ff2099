"""Hierarchies changed by hand: what is joined is below one node, all else is as it was, and the result is a tree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, ParameterError
from shoal.hierarchy import Hierarchy, flat_hierarchy, frequency_hierarchy, insert_level, join_nodes

VALUES = [f"v{number}" for number in range(9)]


@given(st.lists(st.tuples(st.sets(st.sampled_from(VALUES), min_size=1), st.sampled_from("xyz")), max_size=6))
def test_joined_values_are_below_their_node_and_others_stay(steps):
    tree = insert_level(flat_hierarchy(VALUES), 1)
    expected = {value: value for value in VALUES}
    for chosen, name in steps:
        tree = join_nodes(tree, sorted(chosen), name)
        expected |= dict.fromkeys(chosen, name)
    assert {row[0]: row[1] for row in tree.rows()} == expected
    assert {row[2] for row in tree.rows()} == {"*"}


def test_a_node_that_takes_others_in_keeps_what_is_above_it():
    tree = Hierarchy.from_rows([
        ("a", "left", "north", "*"),
        ("b", "left", "north", "*"),
        ("c", "right", "south", "*"),
        ("d", "other", "south", "*"),
    ])  # fmt: skip
    joined = join_nodes(tree, ["b"], "right")
    assert joined.rows() == [
        ("a", "left", "north", "*"),
        ("b", "right", "south", "*"),
        ("c", "right", "south", "*"),
        ("d", "other", "south", "*"),
    ]
    above = join_nodes(tree, ["left", "other"], "mixed", level=2)
    assert {row[1]: row[2] for row in above.rows()} == {"left": "mixed", "right": "south", "other": "mixed"}


def test_a_level_more_changes_no_group():
    tree = frequency_hierarchy(["a"] * 3 + ["b"] * 5 + ["c", "d"])
    for level in range(1, tree.height + 1):
        more = insert_level(tree, level)
        assert more.height == tree.height + 1
        assert [(*row[:level], *row[level + 1 :]) for row in more.rows()] == tree.rows()


def test_what_is_no_hierarchy_is_refused_without_a_value():
    tree = insert_level(flat_hierarchy(["a", "b", "c"]), 1)
    with pytest.raises(DataError, match="stands for different values") as error:
        join_nodes(tree, ["a", "b"], "c")  # the name of a value that is not among them
    assert "'c'" not in str(error.value)
    with pytest.raises(ParameterError, match="names of nodes of level 0"):
        join_nodes(tree, ["z"], "x")
    with pytest.raises(ParameterError, match="the name of the node"):
        join_nodes(tree, ["a"], " ")
    with pytest.raises(ParameterError, match="no level to join"):
        join_nodes(flat_hierarchy(["a", "b"]), ["a"], "x")
    with pytest.raises(ParameterError, match="level"):
        insert_level(tree, 5)
    with pytest.raises(DataError, match="none"):
        flat_hierarchy([None, None])


def test_a_value_that_is_a_star_does_not_become_the_root():
    assert flat_hierarchy(["*", "a"]).rows() == [("*", "**"), ("a", "**")]
