"""Cells with counts are compared with the rows of a table, whatever counted them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from tests.every import every, few, some

from shoal.errors import ReleaseUnsafeError
from shoal.verification import check_same_rows

if TYPE_CHECKING:
    import pytest


def held(cells: pl.DataFrame, times: list[int], table: pl.DataFrame) -> bool:
    """Return whether they are taken for the rows of a table."""
    try:
        check_same_rows(cells, np.array(times, dtype=np.int64), table)
    except ReleaseUnsafeError:
        return False
    return True


@every("seed", range(30))
def test_a_sum_of_hashes_tells_what_comparing_the_rows_tells(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [(int(a), "xyz"[b]) for a, b in zip(rng.integers(0, 3, 12), rng.integers(0, 3, 12), strict=True)]
    table = pl.DataFrame(rows, schema=["a", "b"], orient="row")
    for _ in range(few(60)):
        cells = [(int(rng.integers(0, 3)), "xyz"[rng.integers(0, 3)]) for _ in range(int(rng.integers(1, 9)))]
        times = rng.integers(1, 5, len(cells)).tolist()
        if rng.random() < 0.5:  # nearly the table: one row is changed, or none
            cells, times = list(rows), [1] * len(rows)
            cells[int(rng.integers(0, 12))] = (int(rng.integers(0, 3)), "xyz"[rng.integers(0, 3)])
        repeated = itertools.chain.from_iterable([row] * count for row, count in zip(cells, times, strict=True))
        same = sorted(repeated) == sorted(rows)
        assert held(pl.DataFrame(cells, schema=["a", "b"], orient="row"), times, table) == same


def test_two_rows_that_exchange_a_value_are_other_rows() -> None:
    # What is combined by "exclusive or", or added up, is the same before and after for some of so many exchanges.
    names = [str(number) for number in range(60)]
    for one, other in some(list(itertools.combinations(range(60), 2))):
        table = pl.DataFrame({"a": [one, other], "b": [names[one], names[other]]})
        assert held(table, [1, 1], table[::-1])
        assert not held(table, [1, 1], table.with_columns(pl.col("b").reverse()))


def test_more_rows_than_are_hashed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.verification.same_rows._ROWS_PER_BLOCK", 3)
    table = pl.DataFrame({"a": [1, 2, 1, 3, 1, 2, 4], "b": list("xyxzxyw")})
    cells = pl.DataFrame({"a": [4, 3, 2, 1], "b": list("wzyx")})
    assert held(cells, [1, 1, 2, 3], table)
    assert not held(cells, [1, 2, 1, 3], table)


def test_the_sum_of_the_counts_and_each_count_are_looked_at() -> None:
    table = pl.DataFrame({"a": [1, 1, 2]})
    cells = pl.DataFrame({"a": [1, 2, 3]})
    assert held(cells[:2], [2, 1], table)
    assert not held(cells, [2, 1, 0], table)
    assert not held(cells[:2], [2], table)
    assert not held(cells[:2], [2, 2], table)
    assert not held(cells, [2, 2, -1], table)
