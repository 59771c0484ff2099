from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.hierarchy import Hierarchy
from shoal.recoding import Levels, recode
from shoal.table import Column, Schema, encode


def column_of(values: list[str | None]) -> Column:
    (column,) = encode(pl.DataFrame({"a": values}), Schema(quasi_identifiers=("a",))).quasi_identifiers
    return column


def test_a_column_without_a_hierarchy_has_values_and_a_star() -> None:
    levels = Levels.of(column_of(["b", "a", None]))
    assert (levels.height, levels.hierarchical, levels.counts.tolist()) == (1, False, [3, 1])
    assert levels.nodes.tolist() == [[0, 1, 2], [0, 0, 0]]
    assert levels.penalty.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert levels.lowest.tolist() == [[0, 0, 0], [1, 1, 1]]


def test_nodes_count_the_values_that_occur_and_short_branches_count_once() -> None:
    tree = Hierarchy.from_rows(
        [("x", "other", "all", "*"), ("a", "ab", "all", "*"), ("c", "c", "all", "*"), ("b", "ab", "all", "*")]
    )
    levels = Levels.of(column_of(["a", "b", "c", None]), tree)
    assert levels.nodes.tolist() == [[0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert levels.penalty.tolist() == [[0, 0, 0, 0], [0.5, 0.5, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert levels.lowest.tolist() == [[0, 0, 0, 0], [1, 1, 0, 0], [3, 3, 3, 0], [3, 3, 3, 3]]


def test_values_below_a_node_stand_side_by_side() -> None:
    tree = Hierarchy.from_rows([(str(v), f"mod {v % 3}", f"half {v % 3 // 2}", "*") for v in range(12)])
    levels = Levels.of(column_of([str(v) for v in range(12)]), tree)
    for nodes in levels.nodes[:, levels.order]:
        assert np.count_nonzero(np.diff(nodes)) == len(set(nodes.tolist())) - 1


def test_a_missing_value_with_a_line_of_its_own_is_a_leaf_like_the_others() -> None:
    tree = Hierarchy.from_rows([("a", "told", "*"), ("", "not told", "*"), ("-", "not told", "*")])
    levels = Levels.of(column_of(["-", "a", None]), tree)
    assert levels.nodes.tolist() == [[0, 1, 2], [0, 1, 0], [0, 0, 0]]
    assert levels.penalty.tolist() == [[0, 0, 0], [0.5, 0, 0.5], [1, 1, 1]]


def test_missing_values_of_a_hierarchy_are_counted() -> None:
    with pytest.raises(DataError, match="misses 1 of the 2 values of the column 'a'"):
        Levels.of(column_of(["a", "b"]), Hierarchy.from_rows([("a", "*")]))


@given(
    st.lists(st.sampled_from([*"abcdef", None]), min_size=1, max_size=12).filter(any),
    st.integers(0, 4),
)
def test_agrees_with_what_is_published(values: list[Any], least: int) -> None:
    # Every row alone: what it publishes at a level is what the arrays say of its value.
    rows = [
        ("a", "a", "vowel", "letter", "*"), ("b", "b c", "other", "letter", "*"), ("c", "b c", "other", "letter", "*"),
        ("d", "d", "d", "letter", "*"), ("e", "e", "vowel", "letter", "*"), ("f", "f", "other", "letter", "*"),
    ]  # fmt: skip
    tree = Hierarchy.from_rows(rows)
    table = encode(pl.DataFrame({"a": values}), Schema(quasi_identifiers=("a",)))
    (column,) = table.quasi_identifiers
    levels = Levels.of(column, tree)
    groups = np.arange(len(values), dtype=np.int32)
    asked = np.full((len(values), 1), least, dtype=np.int32)
    (made,) = recode(table, groups, len(values), method="generalization", hierarchies={"a": tree}, least=asked).columns
    assert made.penalty.tolist() == levels.penalty[least, column.codes].tolist()
    if made.levels is not None:
        assert made.levels.tolist() == levels.lowest[least, column.codes].tolist()
    same_node = levels.nodes[least, column.codes][:, None] == levels.nodes[least, column.codes][None, :]
    same_label = made.group_codes[:, None] == made.group_codes[None, :]
    starred = made.stars[:, None] & made.stars[None, :]
    assert ((same_node | starred) == same_label).all()
