"""Sorting by keys and finding runs, against what NumPy and plain Python say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

from shoal.table import sorting_kernel as kernels

COMPILED = {name: getattr(kernels, name) for name in kernels.__all__ if name != "MAX_DIGIT_BITS"}
PLAIN = {name: kernel.py_func for name, kernel in COMPILED.items()}
BOTH = pytest.mark.parametrize("run", [COMPILED, PLAIN], ids=["compiled", "plain"])


def i64(values):
    return np.array(values, dtype=np.int64)


@st.composite
def keys_of_bits(draw):
    """Keys below a power of two: many alike, some with all bits, some with equal digits in a pass or two."""
    bits = draw(st.sampled_from([0, 1, 3, 10, 11, 12, 22, 23, 33, 45, 61, 62]))
    top = (1 << bits) - 1
    key = st.integers(0, top) | st.integers(0, min(top, 5)) | st.sampled_from([top, top // 2, top & ~0x7FF])
    return i64(draw(st.lists(key, max_size=60))), bits


@BOTH
@settings(max_examples=150, deadline=None)
@given(keys_of_bits())
def test_sort_is_stable_and_carries_along(run, drawn):
    keys, bits = drawn
    payload = np.arange(keys.size, dtype=np.int32)[::-1].copy()
    expected = np.argsort(keys, kind="stable")
    sorted_keys, order = run["sort_by_key"](keys.copy(), payload.copy(), bits)
    assert np.array_equal(sorted_keys, keys[expected])
    assert np.array_equal(order, payload[expected])
    assert (sorted_keys.dtype, order.dtype) == (np.int64, np.int32)


@every("bits", [1, 8, 16, 24, 40, 62])
def test_sort_of_many_keys(bits):
    keys = np.random.default_rng(bits).integers(0, 1 << bits, 50_000)
    expected = np.argsort(keys, kind="stable")
    sorted_keys, order = COMPILED["sort_by_key"](keys.copy(), np.arange(50_000, dtype=np.int32), bits)
    assert np.array_equal(order, expected)
    assert np.array_equal(sorted_keys, keys[expected])


@BOTH
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=30))
def test_dense_ranks(run, values):
    keys = i64(values)
    sorted_keys, order = run["sort_by_key"](keys.copy(), np.arange(keys.size, dtype=np.int32), 4)
    ranks, count = run["dense_ranks"](sorted_keys, order)
    distinct = sorted(set(values))
    assert ranks.tolist() == [distinct.index(value) for value in values]
    assert count == len(distinct)
    assert ranks.dtype == np.int64


@BOTH
@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 2, 5, 2**40]), st.integers(0, 6)), max_size=40), st.sampled_from([7, 50])
)
def test_cell_runs(run, pairs, radix):
    rows = sorted(pairs)
    cell_starts, cell_values, class_starts = run["cell_runs"](i64([c * radix + v for c, v in rows]), radix)
    cells = sorted(set(pairs))
    classes = sorted({c for c, _ in pairs})
    assert cell_values.tolist() == [v for _, v in cells]
    assert cell_starts.tolist() == [rows.index(cell) for cell in cells] + [len(rows)]
    assert class_starts.tolist() == [[c for c, _ in cells].index(c) for c in classes] + [len(cells)]
    assert cell_starts.dtype == cell_values.dtype == class_starts.dtype == np.int32


@BOTH
def test_one_class_without_values(run):
    # Without a sensitive attribute the radix is 1: every class is one cell.
    cell_starts, cell_values, class_starts = run["cell_runs"](i64([3, 3, 4, 9, 9, 9]), 1)
    assert cell_starts.tolist() == [0, 2, 3, 6]
    assert cell_values.tolist() == [0, 0, 0]
    assert class_starts.tolist() == [0, 1, 2, 3]
