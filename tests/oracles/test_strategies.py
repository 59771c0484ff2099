"""What the strategies draw, and what the invariants catch."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings

from tests.every import every, few
from tests.oracles import invariants, strategies
from tests.oracles.oracles import frequency_diverse, k_anonymous
from tests.oracles.strategies import (
    CodeTable,
    FrameTable,
    code_tables,
    frame_tables,
)

QUICK = settings(max_examples=100, deadline=None)


@QUICK
@given(table=code_tables(min_rows=2, max_rows=9, min_columns=0, max_domain=5))
def test_codes_are_dense_and_sizes_as_asked(table: CodeTable) -> None:
    n, d = table.quasi_identifiers.shape
    assert 2 <= n <= 9
    assert 0 <= d <= 4
    assert table.quasi_identifiers.dtype == table.sensitive.dtype == np.int32
    for column in [*table.quasi_identifiers.T, table.sensitive]:
        assert set(column.tolist()) == set(range(max(column.tolist()) + 1))


@pytest.mark.drawn
def test_degenerate_tables_are_among_them() -> None:
    seen = set()

    @settings(max_examples=few(400, least=150), deadline=None, derandomize=True, database=None)
    @given(table=code_tables(min_columns=0))
    def look(table: CodeTable) -> None:
        n, d = table.quasi_identifiers.shape
        several = n > 3 and d > 0
        seen.add("one row" if n == 1 else "more rows")
        seen.add("no column" if d == 0 else "columns")
        seen.add("all rows alike" if several and len(set(table.rows)) == 1 else "")
        seen.add("all rows differ" if several and len(set(table.rows)) == n else "")
        seen.add("all sensitive values differ" if several and len(set(table.values)) == n else "")
        seen.add("one sensitive value" if several and len(set(table.values)) == 1 else "")

    look()
    assert {"one row", "no column", "all rows alike", "all rows differ"} <= seen
    assert {"all sensitive values differ", "one sensitive value"} <= seen


@settings(max_examples=150, deadline=None)
@given(table=frame_tables())
def test_frames_say_the_same_as_their_codes(table: FrameTable) -> None:
    assert set(table.frame.columns) == {*table.quasi_identifiers, table.sensitive}
    assert table.frame.height == len(table.codes.values)
    assert table.frame[table.sensitive].null_count() == 0
    for name, codes in zip(table.quasi_identifiers, table.codes.quasi_identifiers.T.tolist(), strict=True):
        cells = table.frame[name].to_list()
        assert len(set(zip(cells, codes, strict=True))) == len(set(cells)) == len(set(codes))
        present = [(cell, code) for cell, code in zip(cells, codes, strict=True) if cell is not None]
        assert sorted(present) == sorted(present, key=lambda pair: pair[1])


@pytest.mark.drawn
def test_types_and_missing_cells_are_drawn() -> None:
    seen = set()

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(table=frame_tables(code_tables(min_rows=4, max_rows=6, min_columns=3, max_domain=3)))
    def look(table: FrameTable) -> None:
        seen.update((column.dtype.base_type(), column.null_count() > 0) for column in table.frame)

    look()
    assert {dtype for dtype, missing in seen if missing} == {dtype for dtype, _ in seen}
    assert len({dtype for dtype, _ in seen}) == len(strategies._KINDS)


@dataclass
class Labelled:
    groups: np.ndarray
    count: int


@dataclass
class Promised:
    tuples_ratio: int | None = None
    stars_ratio: int | None = None


def labelled(*labels: int, count: int | None = None) -> Labelled:
    return Labelled(np.array(labels, dtype=np.int32), max(labels) + 1 if count is None else count)


def two_diverse(group: list[str]) -> bool:
    return frequency_diverse(group, 2)


class TestInvariants:
    def test_a_good_partition_passes(self) -> None:
        found = invariants.check_partition(labelled(1, 0, 0, 1), rows=4, sensitive=["abab"], predicates=[two_diverse])
        assert found == [[1, 2], [0, 3]]
        assert invariants.check_partition(labelled(0, 0), rows=2, predicates=[lambda group: k_anonymous(group, 2)])

    @every(
        ("partition", "message"),
        [
            (Labelled(np.array([0, 0, 0, 0]), 1), "of type int64"),
            (labelled(0, 0, 0), "shape"),
            (labelled(0, 0, 2, 2), "0 to 2"),
            (labelled(0, 0, 0, 0, count=2), "0 to 1"),
            (labelled(0, 1, 0, 1), "group 0 of 2 rows breaks predicate 0"),
        ],
    )
    def test_a_bad_partition_is_caught(self, partition: Labelled, message: str) -> None:
        with pytest.raises(AssertionError, match=message):
            invariants.check_partition(partition, rows=4, sensitive=["abab"], predicates=[two_diverse])

    def test_every_sensitive_attribute_is_asked(self) -> None:
        with pytest.raises(AssertionError, match="of attribute 1"):
            invariants.check_partition(labelled(0, 0), rows=2, sensitive=["ab", "cc"], predicates=[two_diverse])

    def test_guarantees(self) -> None:
        rows = [(0, 0), (0, 1), (1, 0), (1, 1)]
        groups = [[0, 1], [2, 3]]
        fewest = {"stars": 4, "tuples": 4}
        invariants.check_guarantee(Promised(1, 1), groups, rows, fewest=fewest)
        invariants.check_guarantee(Promised(), [[0, 3], [1, 2]], rows, fewest=fewest)
        with pytest.raises(AssertionError, match="8 stars, promised were at most 1 times 4"):
            invariants.check_guarantee(Promised(1, 1), [[0, 3], [1, 2]], rows, fewest=fewest)
        with pytest.raises(AssertionError, match="fewer than the optimum"):
            invariants.check_guarantee(Promised(), groups, rows, fewest={"tuples": 5})

    def test_lower_bounds(self) -> None:
        invariants.check_lower_bound(3, 3)
        with pytest.raises(AssertionError, match="lower bound of 4"):
            invariants.check_lower_bound(4, 3)

    def test_changes_are_caught(self) -> None:
        array = np.arange(3)
        with invariants.unchanged(array):
            array + 1
        with pytest.raises(AssertionError, match="array 0"), invariants.unchanged(array):
            array[0] = 9


def test_largest_l() -> None:
    table = CodeTable(quasi_identifiers=np.zeros((5, 1), np.int32), sensitive=np.array([0, 0, 1, 1, 2], np.int32))
    assert table.largest_l == 2
    assert Counter(table.rows) == {(0,): 5}
