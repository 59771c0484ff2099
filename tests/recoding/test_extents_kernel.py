from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.recoding.extents_kernel import group_extents

BOTH = pytest.mark.parametrize("kernel", [group_extents, group_extents.py_func], ids=["compiled", "python"])


@BOTH
@settings(deadline=None)  # the first call compiles
@given(rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=30))
def test_smallest_and_largest_code_of_every_group(kernel: Callable[..., Any], rows: list[tuple[int, int]]) -> None:
    numbers = {group: number for number, group in enumerate(sorted({group for group, _ in rows}))}
    groups = np.array([numbers[group] for group, _ in rows], dtype=np.int32)
    codes = np.array([code for _, code in rows], dtype=np.int32)
    low, high = kernel(codes, groups, len(numbers))
    members = [[code for group, code in rows if numbers[group] == number] for number in numbers.values()]
    assert low.tolist() == [min(codes) for codes in members]
    assert high.tolist() == [max(codes) for codes in members]
