from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.oracles.strategies import FrameTable, dense, frame_tables

from shoal.errors import DataError
from shoal.recoding import publish_frame, recode
from shoal.table import Schema, encode

METHODS = st.sampled_from(["suppression", "generalization"])
EXTRAS = st.sampled_from(
    [
        [3, 1, None],
        [0.0, -0.0, float("nan"), None, 1.5],
        ["b", "a", None],
        [[1, 2], [1], None],
        [True, False, None],
        [None],
    ]
)


def published(frame: pl.DataFrame, schema: Schema, groups: list[int], **options: Any) -> tuple[pl.DataFrame, list[int]]:
    table = encode(frame, schema)
    codes = np.array(groups, dtype=np.int32)
    recoding = recode(table, codes, max(groups) + 1, method=options.pop("method", "suppression"))
    result, rows = publish_frame(table, recoding, codes, **options)
    return result, rows.tolist()


@settings(max_examples=200, deadline=None)
@given(data=st.data(), drawn=frame_tables(), method=METHODS, extra=EXTRAS)
def test_the_order_of_the_input_does_not_show(
    data: st.DataObject, drawn: FrameTable, method: str, extra: list[Any]
) -> None:
    n = drawn.frame.height
    frame = drawn.frame.with_columns(
        pl.Series("note", data.draw(st.lists(st.sampled_from(extra), min_size=n, max_size=n)), strict=False)
    )
    schema = Schema(quasi_identifiers=drawn.quasi_identifiers, sensitive=("s",), insensitive=("note",))
    groups = dense(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    order = data.draw(st.permutations(range(n)))
    number = data.draw(st.permutations(range(max(groups) + 1)))
    first, _ = published(frame, schema, groups, method=method)
    second, _ = published(frame[list(order)], schema, [number[groups[row]] for row in order], method=method)
    assert_frame_equal(first, second)
    assert repr(first.rows()) == repr(second.rows())  # -0.0 is not 0.0 here


@settings(max_examples=150, deadline=None)
@given(data=st.data(), drawn=frame_tables(), method=METHODS, keep_order=st.booleans())
def test_rows_lead_back_to_the_original(data: st.DataObject, drawn: FrameTable, method: str, keep_order: bool) -> None:
    n = drawn.frame.height
    frame = drawn.frame.with_columns(visit=pl.Series(data.draw(st.permutations(range(n)))))
    schema = Schema(quasi_identifiers=drawn.quasi_identifiers, sensitive=("s",), insensitive=("visit",))
    groups = dense(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    result, rows = published(frame, schema, groups, method=method, keep_order=keep_order)
    assert result.columns == list(schema.published)
    assert sorted(rows) == list(range(n))
    if keep_order:
        assert rows == list(range(n))
    assert_frame_equal(result.select("s", "visit"), frame.select("s", "visit")[rows])
    plain, _ = published(frame, schema, groups, method=method, keep_order=True)
    assert_frame_equal(result, plain[rows])
    for name in drawn.quasi_identifiers:
        if result.schema[name] == frame.schema[name] != pl.String:
            assert result[name].to_list() == frame[name].gather(rows).to_list()


def test_rows_are_sorted_by_published_cells_then_sensitive_value_then_the_rest() -> None:
    frame = pl.DataFrame({"q": [10, 9, 10, 9, 1, 2], "s": ["b", "a", "a", "a", "z", "y"], "v": [1, 3, 2, None, 0, 0]})
    schema = Schema(quasi_identifiers=("q",), sensitive=("s",), insensitive=("v",))
    result, rows = published(frame, schema, [0, 1, 0, 1, 2, 2])
    assert result.rows() == [
        ("9", "a", None),
        ("9", "a", 3),
        ("10", "a", 2),
        ("10", "b", 1),
        ("*", "y", 0),
        ("*", "z", 0),
    ]
    assert rows == [3, 1, 2, 0, 5, 4]


def test_without_quasi_identifiers_or_any_column_the_rows_remain() -> None:
    frame = pl.DataFrame({"s": [2, 1, 2], "name": ["x", "y", "z"]})
    schema = Schema(quasi_identifiers=(), sensitive=("s",), direct_identifiers=("name",))
    for keep_order, values in ((False, [1, 2, 2]), (True, [2, 1, 2])):
        result, rows = published(frame, schema, [0, 0, 0], keep_order=keep_order)
        assert result["s"].to_list() == values
        assert rows == ([0, 1, 2] if keep_order else [1, 0, 2])
    nothing, rows = published(frame, Schema(quasi_identifiers=(), direct_identifiers=("s", "name")), [0, 0, 0])
    assert nothing.shape == (3, 0)
    assert rows == [0, 1, 2]


def test_one_row() -> None:
    frame = pl.DataFrame({"q": [True], "s": [1]})
    result, rows = published(frame, Schema(quasi_identifiers=("q",), sensitive=("s",)), [0])
    assert_frame_equal(result, frame)
    assert rows == [0]


def test_several_sensitive_columns_keep_values_and_types() -> None:
    frame = pl.DataFrame({"t": [1.5, 0.5, 1.5], "q": ["a", "a", "a"], "s": [True, True, False]})
    schema = Schema(quasi_identifiers=("q",), sensitive=("s", "t"))
    result, _ = published(frame, schema, [0, 0, 0])
    assert result.columns == ["q", "s", "t"]
    assert result.rows() == [("a", False, 1.5), ("a", True, 0.5), ("a", True, 1.5)]
    assert result.dtypes == [pl.String, pl.Boolean, pl.Float64]


def test_the_input_is_not_changed() -> None:
    frame = pl.DataFrame({"q": [1, 2, 2], "s": [1, 2, 3]})
    before = frame.clone()
    published(frame, Schema(quasi_identifiers=("q",), sensitive=("s",)), [0, 0, 0])
    assert_frame_equal(frame, before)


def test_insensitive_objects_cannot_be_put_in_order() -> None:
    frame = pl.DataFrame({"q": [1, 2], "s": [1, 2]}).with_columns(pl.Series("thing", [{1}, {2}], dtype=pl.Object))
    schema = Schema(quasi_identifiers=("q",), sensitive=("s",), insensitive=("thing",))
    with pytest.raises(DataError, match="insensitive column 'thing'"):
        published(frame, schema, [0, 0])
