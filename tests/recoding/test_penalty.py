from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import every

from shoal.recoding.penalty import distances, interval_penalty, set_penalty
from shoal.table import Column, Schema, encode


def column_of(values: Any, dtype: Any = None) -> Column:
    frame = pl.DataFrame({"a": pl.Series(values, dtype=dtype)})
    return encode(frame, Schema(quasi_identifiers=("a",))).quasi_identifiers[0]


@every(
    ("values", "dtype", "expected"),
    [
        ([0, 1, 4], pl.Int64, [0, 0.25, 1]),
        ([0, 1, 4], pl.UInt8, [0, 0.25, 1]),
        ([10**18, 10**18 + 1, 10**18 + 2], pl.Int64, [0, 0.5, 1]),
        ([-(2**63), 0, 2**63 - 1], pl.Int64, [0, 0.5, 1]),
        ([-1.7e308, 0.0, 1.7e308], pl.Float64, [0, 0.5, 1]),
        ([1.5, 2.0, 3.5], pl.Float32, [0, 0.25, 1]),
        ([Decimal("0.1"), Decimal("0.2"), Decimal("0.5")], pl.Decimal(10, 1), [0, 0.25, 1]),
        ([date(2020, 1, 1), date(2020, 1, 2), date(2020, 1, 5)], None, [0, 0.25, 1]),
        ([datetime(2020, 1, 1), datetime(2020, 1, 1, 6), datetime(2020, 1, 2)], None, [0, 0.25, 1]),
        (["x", "b", "y"], pl.Enum(["x", "b", "y"]), [0, 0.5, 1]),
        ([False, True], pl.Boolean, [0, 1]),
        (["0", "1", "4"], pl.String, [0, 0.25, 1]),
        (["-0.5", "0", "1.5"], pl.String, [0, 0.25, 1]),
        (["1000000000000000000", "1000000000000000001", "1000000000000000004"], pl.String, [0, 0.25, 1]),
        (["2020-01-31", "2020-02-01", "2020-02-04"], pl.String, [0, 0.25, 1]),
        (["1", "1.0"], pl.String, [0, 1]),
        ([7], pl.Int64, [0]),
        ([1, None, 3], pl.Int64, [0, 1]),
        ([None], pl.Int64, []),
    ],
)
def test_distances_of_every_ordered_type(values: Any, dtype: Any, expected: list[float]) -> None:
    distance = distances(column_of(values, dtype))
    assert (distance / max([*distance, 1e-9])).tolist() == pytest.approx(expected)


def test_an_infinite_domain_is_measured_by_rank() -> None:
    dictionary = pl.Series([float("-inf"), 0.0, 1.0])
    column = Column(name="a", codes=np.arange(3, dtype=np.uint8), dictionary=dictionary, ordered=True, numbers=None)
    assert distances(column).tolist() == [0, 1, 2]


def test_interval_is_its_length_over_that_of_the_domain() -> None:
    column = column_of([20, 25, 30, 60])
    low, high = np.array([0, 1, 2], dtype=np.int32), np.array([1, 3, 2], dtype=np.int32)
    assert interval_penalty(column, low, high).tolist() == [0.125, 0.875, 0.0]


def test_set_is_its_size_less_one_over_that_of_the_domain() -> None:
    assert set_penalty(np.array([1, 2, 5]), 5).tolist() == [0, 0.25, 1]
    assert set_penalty(np.array([1]), 1).tolist() == [0]


def test_wide_domains_charge_a_set_for_what_it_shows():
    # Up to 17 values nothing changes; beyond, the domain does not make a set cheaper.
    assert set_penalty(np.array([2, 16]), 17, 16).tolist() == set_penalty(np.array([2, 16]), 17).tolist()
    assert set_penalty(np.array([1, 2, 9, 16, 17]), 5000, 16).tolist() == [0, 1 / 16, 0.5, 15 / 16, 1]
