"""Groups are the rows whose published quasi-identifiers read alike, whatever the type of the columns."""

from collections import Counter, defaultdict
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

from shoal.errors import ColumnError, DataError
from shoal.verification import MeasuredTable
from shoal.verification.counting import code_cells

TEXT = st.sampled_from(["*", "a", "b", "", "[1, 2]", None])
ROWS = st.lists(st.tuples(TEXT, TEXT, TEXT, TEXT), min_size=1, max_size=25)

COLUMNS = {
    "text": pl.Series(["a", "b", None, "b"]),
    "categories": pl.Series(["a", "b", None, "b"], dtype=pl.Categorical),
    "enum": pl.Series(["a", "b", None, "b"], dtype=pl.Enum(["c", "b", "a"])),
    "booleans": pl.Series([True, False, None, False]),
    "small": pl.Series([-128, 127, None, 127], dtype=pl.Int8),
    "unsigned": pl.Series([2**64 - 1, 0, None, 0], dtype=pl.UInt64),
    "huge": pl.Series([2**100, -1, None, -1], dtype=pl.Int128),
    "wide": pl.Series([-(2**62), 2**62, None, 2**62]),
    "floats": pl.Series([1.5, 0.0, float("nan"), -0.0]),
    "decimals": pl.Series([Decimal("1.5"), Decimal("0.00"), None, Decimal(0)]),
    "dates": pl.Series([date(1, 1, 1), date(2020, 2, 29), None, date(2020, 2, 29)]),
    "moments": pl.Series([datetime(1, 1, 1), datetime(2020, 2, 29), None, datetime(2020, 2, 29)]),
    "times": pl.Series([time(1), time(2), None, time(2)]),
    "spans": pl.Series([timedelta(1), timedelta(2), None, timedelta(2)]),
    "bytes": pl.Series([b"a", b"b", None, b"b"]),
}


@settings(max_examples=300, deadline=None)
@given(rows=ROWS, d=st.integers(0, 2))
def test_counts_are_those_of_a_dictionary_of_rows(rows, d):
    frame = pl.DataFrame(rows, schema=dict.fromkeys("pqst", pl.String), orient="row")
    first, second = MeasuredTable(frame, "pq"[:d], "st").counts
    for groups, place in ((first, 2), (second, 3)):
        inside, overall = defaultdict(Counter), Counter(row[place] for row in rows)
        for row in rows:
            inside[row[:d]][row[place]] += 1
        # A group is known by its size and, for each of its values, the count here and in the whole table.
        expected = sorted(
            (sum(counts.values()), sorted((count, overall[value]) for value, count in counts.items()))
            for counts in inside.values()
        )
        found = sorted(
            (size, sorted(zip(groups.counts[a:b].tolist(), groups.totals[groups.values[a:b]].tolist(), strict=True)))
            for size, (a, b) in zip(groups.sizes.tolist(), pairwise(groups.starts.tolist()), strict=True)
        )
        assert found == expected
        assert sorted(groups.totals.tolist()) == sorted(overall.values())
    assert first.sizes.tolist() == second.sizes.tolist()


@every("kind", COLUMNS)
def test_every_type_of_column_groups_by_its_values(kind):
    column = COLUMNS[kind].alias("column")
    frame = pl.DataFrame({"column": column, "other": [1, 2, 3, 2]})
    (as_identifier,) = MeasuredTable(frame, ["column"], ["other"]).counts
    assert sorted(as_identifier.sizes.tolist()) == [1, 1, 2]
    assert as_identifier.distinct.tolist() == [1, 1, 1]
    (as_sensitive,) = MeasuredTable(frame, ["other"], ["column"]).counts
    assert sorted(as_sensitive.totals.tolist()) == [1, 1, 2]
    assert as_sensitive.heights.tolist() == as_sensitive.sizes.tolist()


def test_a_column_without_any_value_is_one_group():
    frame = pl.DataFrame({"nothing": [None, None], "disease": ["flu", "HIV"]})
    assert MeasuredTable(frame, ["nothing"], ["disease"]).counts[0].sizes.tolist() == [2]


def test_missing_cells_are_a_value_of_their_own():
    frame = pl.DataFrame({"age": [None, None, 0, 0, 1], "disease": ["flu"] * 5})
    assert sorted(MeasuredTable(frame, ["age"], ["disease"]).counts[0].sizes.tolist()) == [1, 2, 2]


def test_without_sensitive_attribute_only_sizes_count():
    (groups,) = MeasuredTable(pl.DataFrame({"age": [1, 1, 2]}), ["age"], []).counts
    assert groups.sizes.tolist() == [2, 1]
    assert (groups.totals.tolist(), groups.distinct.tolist()) == ([3], [1, 1])


def test_without_quasi_identifiers_all_rows_are_one_group():
    (groups,) = MeasuredTable(pl.DataFrame({"disease": ["flu", "HIV", "flu"]}), [], ["disease"]).counts
    assert groups.sizes.tolist() == [3]
    assert sorted(groups.counts.tolist()) == [1, 2]


def test_a_table_without_rows_has_no_groups():
    frame = pl.DataFrame(schema={"age": pl.Int64, "name": pl.String, "disease": pl.String})
    (groups,) = MeasuredTable(frame, ["age", "name"], ["disease"]).counts
    assert len(groups.sizes) == len(groups.counts) == 0
    assert groups.starts.tolist() == [0]


def test_combinations_beyond_64_bits_are_still_told_apart():
    rng = np.random.default_rng(7)
    rows = 500
    # Eleven columns of 500 values each: 500^11 combinations. Pairs of rows differ in one cell only.
    columns = {f"q{j}": rng.permutation(rows) for j in range(11)}
    frame = pl.DataFrame(columns)
    changed = frame.with_columns(q5=(pl.col("q5") + 1) % rows)
    both = pl.concat([frame, frame, changed]).with_columns(disease=pl.Series([f"d{i % 7}" for i in range(3 * rows)]))
    (groups,) = MeasuredTable(both, list(columns), ["disease"]).counts
    assert sorted(groups.sizes.tolist()) == [1] * rows + [2] * rows


def test_several_sensitive_attributes_keep_the_order_of_the_groups_beyond_64_bits():
    rows = 3000
    rng = np.random.default_rng(8)
    columns = {f"q{j}": rng.integers(0, rows, rows) for j in range(5)}
    frame = pl.DataFrame(columns | {"same": np.zeros(rows, dtype=np.int64), "row": np.arange(rows)})
    frame = pl.concat([frame, frame.head(100)])
    same, row = MeasuredTable(frame, list(columns), ["same", "row"]).counts
    assert same.sizes.tolist() == row.sizes.tolist()
    assert sum(same.sizes == 2) == 100


@every(
    ("column", "numbers"),
    [
        (pl.Series([3, 1, None], dtype=pl.UInt8), {3, 1, None}),
        (pl.Series([0.1, -2.0, float("inf")]), {Fraction(1, 10), Fraction(-2), None}),
        (pl.Series([Decimal("0.10"), Decimal("3.25"), None]), {Fraction(1, 10), Fraction(13, 4), None}),
        (pl.Series(["12", "-0.50", None]), {12, Fraction(-1, 2), None}),
        (pl.Series(["12", "-3", "0"], dtype=pl.Categorical), {12, -3, 0}),
        (pl.Series(["12", "007"]), None),
        (pl.Series(["12", "*"]), None),
        (pl.Series([True, False]), None),
        (pl.Series([date(2020, 1, 1), date(2020, 1, 2)]), None),
    ],
)
def test_numbers_are_read_exactly_and_only_where_there_are_some(column, numbers):
    frame = pl.DataFrame({"income": column})
    (groups,) = MeasuredTable(frame, [], ["income"]).counts
    assert (None if groups.population.numbers is None else set(groups.population.numbers)) == numbers


def test_each_code_has_the_number_of_its_rows():
    frame = pl.DataFrame({"row": [0, 1, 2, 3], "income": ["30", "4", "30", "5.0"]})
    (groups,) = MeasuredTable(frame, ["row"], ["income"]).counts
    assert [groups.population.numbers[value] for value in groups.values] == [30, 4, 30, 5]


def test_unknown_columns_and_values_that_cannot_be_compared_are_refused():
    frame = pl.DataFrame({"age": [1], "visits": [[1, 2]]})
    with pytest.raises(ColumnError, match=r"There is no column 'aeg'\. Did you mean 'age'"):
        _ = MeasuredTable(frame, ["aeg"], []).counts
    with pytest.raises(DataError, match="'visits' has the type List"):
        _ = MeasuredTable(frame, ["visits"], []).counts
    objects = pl.DataFrame({"thing": pl.Series([object()], dtype=pl.Object)})
    with pytest.raises(DataError, match="'thing' has the type Object"):
        _ = MeasuredTable(objects, ["thing"], []).counts


def test_codes_of_numbers_that_just_fill_their_type_do_not_wrap_around():
    """The codes of these are 1 and 2**31: one more than an Int32 holds."""
    frame = pl.DataFrame({"a": [-(2**30), 2**30 - 1, None, -(2**30)]})
    codes, below = code_cells(frame["a"])
    assert codes.tolist() == [1, 2**31, 0, 1]
    assert below == 2**31 + 1
    assert sorted(MeasuredTable(frame, ["a"], []).counts[0].sizes.tolist()) == [1, 1, 2]
