"""Equivalence classes against a plain grouping, and keys of many columns."""

from itertools import groupby
from math import prod

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.strategies import code_tables

from shoal.table import Schema, encode, mixed_radix_keys


def table_of(columns, sensitive=()):
    named = {f"q{place}": column for place, column in enumerate(columns)}
    named |= {f"s{place}": column for place, column in enumerate(sensitive)}
    names = tuple(named)
    schema = Schema(quasi_identifiers=names[: len(columns)], sensitive=names[len(columns) :])
    return encode(pl.DataFrame(named), schema)


def check_classes(classes, rows, values):
    """Compare classes with a sort of all rows by quasi-identifiers, sensitive value, and place in the table."""
    order = sorted(range(len(values)), key=lambda row: (rows[row], values[row], row))
    assert classes.order.tolist() == order, "by class, by value, and in the order of the table within a cell"
    cells = [list(group) for _, group in groupby(order, key=lambda row: (rows[row], values[row]))]
    groups = [list(group) for _, group in groupby(cells, key=lambda cell: rows[cell[0]])]
    assert classes.cell_counts.tolist() == [len(cell) for cell in cells]
    assert classes.cell_values.tolist() == [values[cell[0]] for cell in cells]
    assert np.diff(classes.class_starts).tolist() == [len(group) for group in groups]
    assert classes.class_sizes.tolist() == [sum(map(len, group)) for group in groups]
    assert classes.count == len(groups)


@settings(max_examples=150, deadline=None)
@given(code_tables(min_columns=0, max_rows=30, max_columns=4))
def test_classes_are_those_of_a_sort(codes):
    table = table_of(codes.quasi_identifiers.T.tolist(), [codes.values])
    check_classes(table.classes, codes.rows, codes.values)
    assert table.classes is table.classes, "they are grouped once"


@settings(max_examples=50, deadline=None)
@given(code_tables(max_rows=20))
def test_without_a_sensitive_attribute_every_class_is_a_cell(codes):
    classes = table_of(codes.quasi_identifiers.T.tolist()).classes
    check_classes(classes, codes.rows, [0] * len(codes.rows))
    assert len(classes.cell_values) == classes.count


def test_cells_are_those_of_the_first_sensitive_attribute():
    classes = table_of([[0, 0, 0, 0]], [[1, 0, 1, 0], [0, 1, 2, 3]]).classes
    assert classes.cell_values.tolist() == [0, 1]
    assert classes.order.tolist() == [1, 3, 0, 2]


def test_worked_example():
    # The ten rows of the paper: {1,2}, {3}, {4}, {5,...,8}, {9,10}, in the order of the values' dictionaries.
    age = [0, 0, 0, 1, 1, 1, 1, 1, 2, 2]
    gender = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    education = [2, 2, 0, 0, 0, 0, 0, 0, 1, 1]
    disease = [2, 2, 3, 0, 3, 0, 0, 3, 1, 3]
    classes = table_of([age, gender, education], [disease]).classes
    assert classes.class_sizes.tolist() == [1, 2, 4, 1, 2]
    assert classes.cell_counts.tolist() == [1, 2, 2, 2, 1, 1, 1]
    assert repr(classes) == "EquivalenceClasses(rows=10, cells=7, classes=5)"


def test_no_row():
    classes = table_of([[]], [[]]).classes
    assert (classes.count, len(classes.cell_values), len(classes.order)) == (0, 0, 0)


@st.composite
def columns_of_codes(draw):
    """Columns with declared domains, up to far more combinations than 62 bits hold."""
    rows = draw(st.integers(0, 25))
    sizes = draw(st.lists(st.sampled_from([1, 2, 9, 300, 2**16, 2**31 - 1]), max_size=6))
    columns = []
    for size in sizes:
        code = st.integers(0, size - 1) | st.integers(0, min(size - 1, 1)) | st.just(size - 1)
        column = np.array(draw(st.lists(code, min_size=rows, max_size=rows)), dtype=np.uint32)
        columns.append((column.astype(np.uint8) if size <= 256 else column, size))
    return rows, columns


@settings(max_examples=120, deadline=None)
@given(columns_of_codes())
def test_keys_sort_as_the_columns_do(drawn):
    rows, columns = drawn
    keys, bits = mixed_radix_keys(columns, rows)
    assert keys.dtype == np.int64
    assert len(keys) == rows
    assert 0 <= bits <= 62
    assert all(0 <= key < 1 << bits for key in keys.tolist())
    tuples = [tuple(int(codes[row]) for codes, _ in columns) for row in range(rows)]
    for i in range(rows):
        for j in range(i):
            assert (keys[i] < keys[j]) == (tuples[i] < tuples[j])
            assert (keys[i] == keys[j]) == (tuples[i] == tuples[j])
    if columns:
        last, size = columns[-1]
        assert (keys % size).tolist() == last.tolist(), "the last column is the least significant digit"
    if prod(size for _, size in columns) < 2**62:
        expected = [sum(code * prod(s for _, s in columns[at + 1 :]) for at, code in enumerate(row)) for row in tuples]
        assert keys.tolist() == expected, "nothing is ranked where everything fits"


@pytest.mark.parametrize("d", [4, 7])
def test_a_hundred_thousand_values_a_column(d):
    rows = 100_000
    rng = np.random.default_rng(d)
    columns = [(rng.permutation(rows).astype(np.uint32), rows) for _ in range(d)]
    keys, bits = mixed_radix_keys(columns, rows)
    assert bits <= 62
    assert np.array_equal(np.argsort(keys, kind="stable"), np.argsort(columns[0][0], kind="stable"))
    assert np.array_equal(keys % rows, columns[-1][0])


def test_codes_of_a_narrow_type_do_not_overflow():
    column = np.array([200, 255, 0], dtype=np.uint8)
    keys, _ = mixed_radix_keys([(column, 256), (column, 256), (column, 256)], 3)
    assert keys.tolist() == [200 * 65536 + 200 * 256 + 200, 2**24 - 1, 0]
    assert column.tolist() == [200, 255, 0], "the input stays as it was"


@settings(max_examples=150, deadline=None)
@given(code_tables(min_columns=0, max_rows=30, max_columns=3))
def test_rows_are_in_the_order_of_the_cells(codes):
    classes = table_of(codes.quasi_identifiers.T.tolist(), [codes.values]).classes
    order = sorted(range(len(codes.values)), key=lambda row: (codes.rows[row], codes.values[row], row))
    cells = [list(group) for _, group in groupby(order, key=lambda row: (codes.rows[row], codes.values[row]))]
    assert classes.order.tolist() == order
    assert classes.first_rows.tolist() == [cell[0] for cell in cells]
