from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.recoding.order import rank, sort

ROWS = st.integers(0, 30).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), max_size=3).map(
        lambda columns: (n, columns)
    )
)


@given(ROWS)
def test_sorts_and_ranks_like_tuples(drawn: tuple[int, list[list[int]]]) -> None:
    n, columns = drawn
    rows = [tuple(column[row] for column in columns) for row in range(n)]
    arrays = [(np.array(column, dtype=np.int32), 6) for column in columns]
    _, order = sort(arrays, n)
    assert order.tolist() == sorted(range(n), key=lambda row: rows[row])
    ranks, count = rank(arrays, n)
    distinct = sorted(set(rows))
    assert count == len(distinct)
    assert ranks.tolist() == [distinct.index(row) for row in rows]
