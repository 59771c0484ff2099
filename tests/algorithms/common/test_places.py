"""Hierarchies over places of a walk: nodes are runs of places, and intervals that a halving curve keeps whole."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.hierarchies import common_ancestor
from tests.oracles.strategies import hierarchy_rows

from shoal.algorithms.common import trees_kernel as trees
from shoal.algorithms.common.tree_arrays import aligned_places, flat_trees
from shoal.hierarchy import Hierarchy
from shoal.recoding import Levels
from shoal.table import Schema, encode


@st.composite
def hierarchies(draw):
    """Rows of a hierarchy and the levels of a column of its values, some of which may be missing."""
    values = [f"value {leaf}" for leaf in range(draw(st.integers(1, 9)))]
    rows = draw(hierarchy_rows(values))
    column = [*draw(st.lists(st.sampled_from(values), min_size=1)), *draw(st.sampled_from([[], [None]]))]
    table = encode(pl.DataFrame({"a": column}), Schema(quasi_identifiers=("a",)))
    return rows, table.quasi_identifiers[0], Levels.of(table.quasi_identifiers[0], Hierarchy.from_rows(rows))


@settings(deadline=None)
@given(hierarchies())
@pytest.mark.parametrize("form", [lambda kernel: kernel, lambda kernel: kernel.py_func], ids=["compiled", "python"])
def test_meeting_levels_are_those_of_lowest_common_ancestors(form, drawn):
    rows, column, levels = drawn
    paths = {row[0]: row for row in rows}
    flat = flat_trees([Levels.of(column), levels], every=False)
    assert flat.heights.tolist() == [0, levels.height]
    values = column.dictionary.to_list()
    for low, high in combinations(range(column.size), 2):
        pair = [paths.get(values[levels.order[place]]) for place in (low, high)]
        level = form(trees.meeting_level)(flat, 1, low, high)
        name, expected = common_ancestor(pair, rows)
        # Where the only node of a level stands for everything, it is published as a star, as the root is.
        assert level == expected or (name == "*" and expected == levels.height)
        met = levels.nodes[:, levels.order[low]] == levels.nodes[:, levels.order[high]]
        assert level == np.flatnonzero(met)[0]
        assert form(trees.node_penalty)(flat, 1, low, high) == levels.penalty[level, levels.order[low]]


@given(hierarchies())
def test_every_node_has_an_interval_of_its_own(drawn):
    levels = drawn[-1]
    begin, bits = aligned_places(levels)
    assert (np.diff(begin[levels.order]) > 0).all()
    assert (begin * 2**bits == np.floor(begin * 2**bits)).all()
    for nodes in levels.nodes:
        for node in range(nodes.max() + 1):
            inside, outside = begin[nodes == node], begin[nodes != node]
            length = next(2.0**-b for b in range(bits, -1, -1) if np.ptp(np.floor(inside * 2**b)) == 0)
            assert not (np.floor(outside / length) == np.floor(inside[0] / length)).any()


def test_children_share_their_parents_interval_evenly():
    tree = Hierarchy.from_rows([(leaf, "left" if leaf in "abc" else "right", "*") for leaf in "abcd"])
    (column,) = encode(pl.DataFrame({"a": list("dcba")}), Schema(quasi_identifiers=("a",))).quasi_identifiers
    begin, bits = aligned_places(Levels.of(column, tree))
    assert begin.tolist() == [0, 0.125, 0.25, 0.5]
    assert bits == 3
