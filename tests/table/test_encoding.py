"""Encoding: dictionaries in natural order, the narrowest codes, and nothing lost on the way."""

import datetime as dt
import decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.every import every, few

from shoal.errors import ColumnError, DataError
from shoal.table import Column, Schema, encode
from shoal.table.text import spell_like


def encoded(values, dtype=None, name="x"):
    frame = pl.DataFrame([pl.Series(name, values, dtype=dtype, strict=dtype is None)])
    return encode(frame, Schema(quasi_identifiers=(name,))).quasi_identifiers[0]


def dictionary(values, dtype=None):
    return encoded(values, dtype).dictionary.to_list()


class TestOrderOfDictionaries:
    @every(
        ("values", "dtype", "expected"),
        [
            ([3, -1, 2, 3], pl.Int64, [-1, 2, 3]),
            ([127, -128, 0], pl.Int8, [-128, 0, 127]),
            ([2**64 - 1, 2**63], pl.UInt64, [2**63, 2**64 - 1]),
            ([2**63 - 1, -(2**63), 0], pl.Int64, [-(2**63), 0, 2**63 - 1]),
            ([2**100, -(2**100), 5, 5], pl.Int128, [-(2**100), 5, 2**100]),
            ([0.5, -2.5, 1e300], pl.Float64, [-2.5, 0.5, 1e300]),
            (
                [decimal.Decimal("10.5"), decimal.Decimal("9.25")],
                pl.Decimal(10, 2),
                [decimal.Decimal("9.25"), decimal.Decimal("10.50")],
            ),
            ([True, False, True], pl.Boolean, [False, True]),
            ([dt.date(2020, 1, 2), dt.date(1899, 1, 1)], pl.Date, [dt.date(1899, 1, 1), dt.date(2020, 1, 2)]),
            ([dt.time(12), dt.time(1)], pl.Time, [dt.time(1), dt.time(12)]),
            ([dt.timedelta(5), dt.timedelta(-1)], pl.Duration("us"), [dt.timedelta(-1), dt.timedelta(5)]),
            (["b", "ä", "a", "B"], pl.String, ["B", "a", "b", "ä"]),
            (["high", "low"], pl.Enum(["low", "middle", "high"]), ["low", "high"]),
            (["b", "c", "a"], pl.Categorical, ["a", "b", "c"]),
        ],
    )
    @every("missing", [False, True])
    def test_natural_order_with_the_missing_value_last(self, values, dtype, expected, missing):
        column = encoded([None, *values, None] if missing else values, dtype)
        assert column.dictionary.to_list() == expected + [None] * missing
        assert column.dictionary.dtype == dtype
        assert column.has_missing is missing
        assert column.dictionary.gather(column.codes).to_list() == ([None, *values, None] if missing else values)

    def test_datetimes_keep_their_zone(self):
        values = pl.Series("x", [dt.datetime(2024, 5, 2), dt.datetime(2024, 5, 1)]).dt.replace_time_zone(
            "Europe/Berlin"
        )
        column = encode(values.to_frame(), Schema(quasi_identifiers=("x",))).quasi_identifiers[0]
        assert column.dictionary.equals(values.sort())

    def test_categories_do_not_depend_on_what_was_seen_before(self):
        pl.Series(["zebra", "yak", "ape"], dtype=pl.Categorical)
        assert dictionary(["yak", "ape", "zebra"], pl.Categorical) == ["ape", "yak", "zebra"]
        assert dictionary(["zebra", "ape"], pl.Categorical) == ["ape", "zebra"]

    def test_undeclared_categories_are_alphabetical_even_where_they_look_like_numbers(self):
        assert dictionary(["10", "9"], pl.Categorical) == ["10", "9"]


class TestText:
    def test_canonical_numbers_are_ordered_by_size(self):
        column = encoded(["10", "9", "-3", "2.5", None])
        assert column.dictionary.to_list() == ["-3", "2.5", "9", "10", None]
        assert column.ordered
        assert column.numbers == (Fraction(-3), Fraction(5, 2), Fraction(9), Fraction(10))

    def test_two_texts_of_one_number_are_two_values(self):
        column = encoded(["1.0", "0", "1", "1.00"])
        assert column.dictionary.to_list() == ["0", "1", "1.0", "1.00"]
        assert column.numbers == (0, 1, 1, 1)

    @every("odd", ["007", "+1", "1e5", "", " 1", "1.", ".5", "-0", "1,5", "NaN", "1\n", "٣", "9" * 101])
    def test_one_value_that_is_no_canonical_number_makes_it_text(self, odd):
        column = encoded(["10", "9", odd])
        assert column.dictionary.to_list() == sorted(["10", "9", odd])
        assert not column.ordered
        assert column.numbers is None

    def test_numbers_beyond_the_precision_of_floats_are_in_exact_order(self):
        texts = [
            "100000000000000000001",
            "100000000000000000000",
            "99999999999999999999.5",
            "9007199254740993",
            "9007199254740992",
        ]
        assert dictionary(texts) == sorted(texts, key=Fraction)

    def test_iso_dates_are_ordered_but_are_no_numbers(self):
        column = encoded(["2024-02-29", None, "1999-12-31"])
        assert column.dictionary.to_list() == ["1999-12-31", "2024-02-29", None]
        assert column.ordered
        assert column.numbers is None

    def test_impossible_dates_are_text(self):
        assert not encoded(["2023-02-29", "1999-12-31"]).ordered

    def test_only_missing_text_is_neither_ordered_nor_numeric(self):
        column = encoded([None, None], pl.String)
        assert (column.size, column.ordered, column.numbers) == (1, False, None)

    @given(
        st.lists(
            st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda number: f"{number:f}"), min_size=1
        )
    )
    def test_numeric_text_is_sorted_by_exact_value(self, texts):
        column = encoded(texts, pl.String)
        if column.numbers is not None:
            assert list(column.numbers) == sorted(column.numbers)
            assert column.dictionary.to_list() == sorted(set(texts), key=lambda text: (Fraction(text), text))


class TestNumbers:
    def test_floats_are_the_decimal_numbers_that_they_are_printed_as(self):
        assert encoded([0.1, 1e-7, 1e22]).numbers == (Fraction(1, 10**7), Fraction(1, 10), Fraction(10**22))

    def test_narrow_floats_too(self):
        assert encoded([0.1], pl.Float32).numbers == (Fraction(1, 10),)

    def test_decimals_and_integers_are_exact(self):
        assert encoded([decimal.Decimal("0.10")]).numbers == (Fraction(1, 10),)
        assert encoded([2**62 + 1, None]).numbers == (Fraction(2**62 + 1),)

    @pytest.mark.parametrize(
        ("values", "dtype"), [([True], pl.Boolean), ([dt.date(2020, 1, 1)], pl.Date), (["a"], pl.String)]
    )
    def test_other_values_have_none(self, values, dtype):
        assert encoded(values, dtype).numbers is None

    def test_what_is_ordered(self):
        ordered = {
            dtype: encoded(values, dtype).ordered
            for values, dtype in [
                ([1], pl.Int8), ([1.5], pl.Float64), ([dt.date(2020, 1, 1)], pl.Date), (["a"], pl.Enum(["a"])),
                ([True], pl.Boolean), (["a"], pl.Categorical), (["a"], pl.String), ([None], pl.Null),
            ]
        }  # fmt: skip
        assert list(ordered.values()) == [True, True, True, True, False, False, False, False]

    def test_numbers_may_be_given_or_asked_for_later(self):
        calls = []
        later = Column(
            name="x",
            codes=np.zeros(1, np.uint8),
            dictionary=pl.Series([1]),
            ordered=True,
            numbers=lambda: calls.append(1) or (Fraction(1),),
        )
        assert calls == []
        assert later.numbers == later.numbers == (1,)
        assert calls == [1]
        given = Column(
            name="x", codes=np.zeros(1, np.uint8), dictionary=pl.Series([1]), ordered=True, numbers=(Fraction(1),)
        )
        assert given.numbers == (1,)


class TestFloats:
    def test_minus_zero_is_zero(self):
        column = encoded([-0.0, 0.0, -0.0])
        assert column.size == 1
        assert str(column.dictionary[0]) == "0.0"

    def test_nan_is_a_missing_value(self):
        column = encoded([float("nan"), None, 1.5])
        assert column.dictionary.to_list() == [1.5, None]
        assert column.codes.tolist() == [1, 1, 0]

    @pytest.mark.parametrize("odd", [float("inf"), float("-inf")])
    def test_infinity_is_refused_by_the_name_of_its_column(self, odd):
        with pytest.raises(DataError, match="'x' holds an infinite number"):
            encoded([1.0, odd])


class TestTypesOfCodes:
    @every(
        ("size", "missing", "kind"),
        [
            (256, 0, "u1"),
            (255, 1, "u1"),
            (256, 1, "u2"),
            (257, 0, "u2"),
            (65536, 0, "u2"),
            (65536, 1, "u4"),
            (65537, 0, "u4"),
        ],
    )
    @every("text", [False, True])
    def test_the_narrowest(self, size, missing, kind, text):
        values = [str(number) if text else number for number in range(size)]
        column = encoded(values + [None] * missing)
        assert column.codes.dtype == np.dtype(kind)
        assert column.size == size + missing

    @pytest.mark.parametrize("spread", [1, 3, 10**13])
    def test_small_and_large_gaps_between_integers(self, spread):
        values = [(7 * row % 50) * spread - 20 for row in range(200)]
        assert dictionary(values) == sorted(set(values))

    def test_values_that_appear_late_in_a_long_column(self):
        values = np.zeros(200_000, dtype=np.int16)
        values[-1], values[150_000] = 5, 2
        column = encoded(values)
        assert column.dictionary.to_list() == [0, 2, 5]
        assert np.array_equal(column.dictionary.to_numpy()[column.codes], values)


SCALARS = {
    pl.Int8(): st.integers(-128, 127),
    pl.Int64(): st.integers(-(2**63), 2**63 - 1),
    pl.UInt16(): st.integers(0, 2**16 - 1),
    pl.UInt64(): st.integers(0, 2**64 - 1),
    pl.Int128(): st.integers(-(2**127) + 1, 2**127 - 1),
    pl.Float32(): st.floats(width=32, allow_nan=False, allow_infinity=False),
    pl.Float64(): st.floats(allow_nan=False, allow_infinity=False),
    pl.Decimal(12, 3): st.decimals(-(10**8), 10**8, places=3),
    pl.Boolean(): st.booleans(),
    pl.String(): st.text(max_size=4) | st.integers().map(str),
    pl.Categorical(): st.sampled_from(["red", "green", "blue", ""]),
    pl.Enum(["z", "m", "a"]): st.sampled_from(["z", "m", "a"]),
    pl.Date(): st.dates(),
    pl.Datetime("us"): st.datetimes(),
    pl.Datetime("ms", "UTC"): st.datetimes(dt.datetime(1900, 1, 1), timezones=st.just(dt.UTC)).map(
        lambda moment: moment.replace(microsecond=0)
    ),
    pl.Duration("us"): st.timedeltas(dt.timedelta(-(10**5)), dt.timedelta(10**5)),
    pl.Time(): st.times(),
}


@given(st.data())
def test_decoding_gives_the_original_back(data):
    kinds = data.draw(st.lists(st.sampled_from(list(SCALARS)), min_size=1, max_size=3))
    rows = data.draw(st.integers(0, 12))
    frame = pl.DataFrame(
        [
            pl.Series(
                f"c{at}", data.draw(st.lists(SCALARS[kind] | st.none(), min_size=rows, max_size=rows)), dtype=kind
            )
            for at, kind in enumerate(kinds)
        ]
    )
    before = frame.clone()
    table = encode(frame, Schema(quasi_identifiers=tuple(frame.columns[1:]), sensitive=(frame.columns[0],)))
    assert frame.equals(before)
    for column in table.quasi_identifiers + table.sensitive:
        original = frame[column.name]
        assert column.dictionary.gather(column.codes).equals(original)
        assert set(column.codes.tolist()) == set(range(column.size))
        assert column.dictionary.name == column.name
        known = column.dictionary.drop_nulls()
        assert column.dictionary[: len(known)].null_count() == 0
        if original.dtype.is_numeric() or original.dtype.is_temporal():
            assert known.is_sorted()


class TestTables:
    def test_roles_decide_where_a_column_goes(self):
        frame = pl.DataFrame({"name": ["a"], "age": [1], "ill": ["x"], "visit": [[1, 2]]})
        schema = Schema(
            quasi_identifiers=("age",), sensitive=("ill",), direct_identifiers=("name",), insensitive=("visit",)
        )
        table = encode(frame, schema)
        assert [column.name for column in table.quasi_identifiers + table.sensitive] == ["age", "ill"]
        assert table.insensitive.equals(frame.select("visit"))
        assert table.rows == 1

    def test_a_column_without_a_role_is_an_error(self):
        with pytest.raises(ColumnError, match="no role"):
            encode(pl.DataFrame({"a": [1], "b": [1]}), Schema(quasi_identifiers=("a",)))

    @pytest.mark.parametrize("values", [[[1, 2]], [{"a": 1}], [b"secret"], [object()]])
    def test_columns_without_values_to_group_are_refused(self, values):
        with pytest.raises(DataError, match=r"'x' (has the type|holds values that do not form one type)") as raised:
            encoded(values)
        assert "secret" not in str(raised.value)

    @every("dtype", [pl.Int64, pl.String, pl.Float64, pl.Categorical, pl.Enum(["a"]), pl.Date, pl.Null, pl.Boolean])
    def test_no_row(self, dtype):
        column = encoded([], dtype)
        assert (column.size, len(column.codes), column.has_missing) == (0, 0, False)
        assert column.numbers in ((), None)

    @every("dtype", [pl.Int64, pl.String, pl.Float64, pl.Categorical, pl.Enum(["a"]), pl.Date, pl.Null, pl.Boolean])
    def test_only_missing_values(self, dtype):
        column = encoded([None, None], dtype)
        assert column.codes.tolist() == [0, 0]
        assert column.dictionary.to_list() == [None]

    def test_slices_and_chunks_are_columns_like_others(self):
        frame = pl.DataFrame({"x": ["b", "a", "c", "b"], "y": [1, None, 3, 1]})
        pieces = pl.concat([frame.head(3), frame.tail(3)], rechunk=False).slice(1, 4)
        table = encode(pieces, Schema(quasi_identifiers=("x", "y")))
        for column in table.quasi_identifiers:
            assert column.dictionary.gather(column.codes).equals(pieces[column.name])

    def test_long_text_columns_are_encoded_side_by_side(self):
        rows = 70_000
        frame = pl.DataFrame(
            {name: [f"{name}{row % size}" for row in range(rows)] for name, size in [("a", 7), ("b", 300), ("c", 2)]}
        )
        table = encode(frame.with_columns(d=pl.lit(1)), Schema(quasi_identifiers=("a", "d", "b"), sensitive=("c",)))
        for column in table.quasi_identifiers[::2] + table.sensitive:
            assert column.dictionary.gather(column.codes).equals(frame[column.name])

    def test_two_calls_do_not_influence_each_other(self):
        first = encoded(["b", "a"], pl.Categorical)
        encoded(["c", "a", "0"], pl.Categorical)
        again = encoded(["b", "a"], pl.Categorical)
        assert first.dictionary.to_list() == again.dictionary.to_list()
        assert first.codes.tolist() == again.codes.tolist()

    @pytest.mark.drawn
    @pytest.mark.parametrize("kind", ["floats", "integers", "text"])
    def test_many_distinct_values_have_wide_codes(self, kind):
        numbers = np.random.default_rng(1).permutation(few(700_000))
        values = {"floats": numbers / 7, "integers": numbers * 10**9, "text": pl.Series(numbers).cast(pl.String)}[kind]
        column = encoded(values)
        assert column.size == few(700_000)
        assert column.codes.dtype == np.uint32

    def test_a_repr_shows_no_cell(self):
        table = encode(pl.DataFrame({"x": ["secret"]}), Schema(quasi_identifiers=("x",)))
        assert "secret" not in repr(table) + repr(table.quasi_identifiers[0])


def test_a_value_of_a_side_table_that_the_table_has_keeps_its_spelling():
    numbers = [str(number) for number in range(1, 100)]
    table = pl.Series([*numbers, *(f"+{number}" for number in numbers), "0.5"])
    assert spell_like(pl.Series([*numbers, "0,5"]), table).to_list() == [*numbers, "0.5"]
