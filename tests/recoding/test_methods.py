from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import ParameterError
from shoal.recoding import METHODS, Recoding, recode
from shoal.table import Schema, Table, encode


@pytest.fixture
def table() -> Table:
    frame = pl.DataFrame({"a": [1, 1, 2, 3], "b": ["x", "y", "x", "x"], "s": [0, 1, 0, 1]})
    return encode(frame, Schema(quasi_identifiers=("a", "b"), sensitive=("s",)))


@pytest.mark.parametrize("method", METHODS)
def test_counts(table: Table, method: Any) -> None:
    recoding = recode(table, np.array([0, 0, 1, 1], dtype=np.int32), 2, method=method)
    assert recoding.rows == 4
    assert recoding.recoded_cells == 4
    assert recoding.recoded_tuples == 4
    stars = 4 if method == "suppression" else 2
    assert recoding.stars == stars
    assert recoding.suppressed_tuples == stars
    assert recoding.classes.count == 2


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_recoded_where_groups_are_alike(table: Table, method: Any) -> None:
    recoding = recode(table, np.arange(4, dtype=np.int32), 4, method=method)
    assert recoding.stars == recoding.recoded_cells == recoding.recoded_tuples == recoding.suppressed_tuples == 0
    assert [column.labels.dtype for column in recoding.columns] == [pl.Int64, pl.String]


def test_groups_with_equal_cells_are_one_published_class() -> None:
    frame = pl.DataFrame({"a": [1, 2, 2, 1, 3, 3], "s": [0] * 6})
    table = encode(frame, Schema(quasi_identifiers=("a",), sensitive=("s",)))
    recoding = recode(table, np.array([2, 2, 0, 0, 1, 1], dtype=np.int32), 3)
    assert recoding.classes.of_group.tolist() == [1, 0, 1]
    assert recoding.classes.sizes.tolist() == [2, 4]
    assert recoding.classes.count == 2
    assert recoding.classes.of_group[recoding.classes.representatives].tolist() == [0, 1]


@pytest.mark.parametrize("method", METHODS)
def test_without_quasi_identifiers_there_is_one_class_and_no_star(method: Any) -> None:
    table = encode(pl.DataFrame({"s": [1, 2]}), Schema(quasi_identifiers=(), sensitive=("s",)))
    recoding = recode(table, np.array([0, 1], dtype=np.int32), 2, method=method)
    assert (recoding.stars, recoding.suppressed_tuples, recoding.recoded_tuples) == (0, 0, 0)
    assert recoding.classes.sizes.tolist() == [2]
    assert recoding.columns == ()


def test_a_column_with_very_many_values() -> None:
    n = 70_000
    frame = pl.DataFrame({"a": np.arange(n), "s": np.arange(n) % 2})
    table = encode(frame, Schema(quasi_identifiers=("a",), sensitive=("s",)))
    recoding: Recoding = recode(table, np.arange(n, dtype=np.int32) // 2, n // 2, method="generalization")
    assert len(recoding.columns[0].labels) == n // 2
    assert recoding.columns[0].labels[1] == "[2, 3]"


def test_bad_parameters(table: Table) -> None:
    groups = np.zeros(4, dtype=np.int32)
    with pytest.raises(
        ParameterError, match="'recoding' parameter of recode must be one of 'suppression', 'generalization'"
    ):
        recode(table, groups, 1, method="erase")  # type: ignore[arg-type]
    for star in ("", None, 7):
        with pytest.raises(ParameterError, match="'star' parameter of recode must be a text"):
            recode(table, groups, 1, star=star)  # type: ignore[arg-type]
