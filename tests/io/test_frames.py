"""Frames of other libraries, there and back."""

import datetime as dt
import decimal
import subprocess
import sys
from uuid import UUID

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.every import every

from shoal.errors import ColumnError, DataError
from shoal.io import open_frame


def pandas_frame(**options):
    return pd.DataFrame({"age": [41, 7, 41], "ill": ["flu", None, "gout"]}, **options)


class TestPolars:
    def test_a_frame_is_taken_and_given_as_it_is(self):
        frame = pl.DataFrame({"a": [1]})
        opened = open_frame(frame)
        assert opened.frame is frame
        assert opened.restore(frame) is frame

    def test_a_lazy_frame_is_collected(self):
        opened = open_frame(pl.LazyFrame({"a": [1, 2]}).filter(pl.col("a") > 1))
        assert opened.frame.rows() == [(2,)]
        assert isinstance(opened.restore(opened.frame), pl.DataFrame)


class TestPandasIndex:
    @every(
        "index",
        [
            [2, 0, 1],
            [5, 5, 5],
            ["x", "y", "z"],
            pd.Index([7, 8, 9], name="patient"),
            pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")], names=["age", None]),
            pd.date_range("2020-01-01", periods=3),
        ],
    )
    def test_an_index_has_no_effect_and_never_comes_back(self, index):
        plain, indexed = open_frame(pandas_frame()), open_frame(pandas_frame(index=index))
        assert indexed.frame.equals(plain.frame)
        restored = indexed.restore(indexed.frame)
        pd.testing.assert_frame_equal(restored, pandas_frame())
        assert isinstance(restored.index, pd.RangeIndex)
        assert restored.index.name is None

    def test_a_filtered_and_reordered_frame(self):
        frame = pandas_frame().iloc[[2, 0]]
        opened = open_frame(frame)
        assert opened.frame.rows() == [(41, "gout"), (41, "flu")]
        assert list(opened.restore(opened.frame).index) == [0, 1]

    def test_nothing_of_the_input_is_changed(self):
        frame = pandas_frame(index=[3, 3, 1])
        before = frame.copy(deep=True)
        restored = open_frame(frame).restore(open_frame(frame).frame)
        restored.loc[:, "age"] = 0
        pd.testing.assert_frame_equal(frame, before)

    def test_an_index_that_became_a_column_on_the_way_to_arrow(self):
        table = pa.Table.from_pandas(pandas_frame().iloc[[2, 0, 1]])
        assert "__index_level_0__" in table.column_names
        assert open_frame(table).frame.columns == ["age", "ill"]


COLUMNS = {
    "int8": np.array([1, 2], np.int8),
    "Int64": pd.array([2**60 + 1, None], dtype="Int64"),
    "float64": np.array([1.5, np.nan]),
    "Float64": pd.array([1.5, None], dtype="Float64"),
    "bool": np.array([True, False]),
    "boolean": pd.array([True, None], dtype="boolean"),
    "str": pd.array(["a", None], dtype="str"),
    "string": pd.array(["a", None], dtype="string"),
    "object text": pd.Series(["a", None], dtype=object),
    "object bool": pd.Series([True, None], dtype=object),
    "object date": pd.Series([dt.date(2020, 1, 1), None], dtype=object),
    "object decimal": pd.Series([decimal.Decimal("1.5"), None], dtype=object),
    "seconds": pd.to_datetime(["2020-01-01", None]).astype("datetime64[s]"),
    "nanoseconds": pd.to_datetime(["2020-01-01", None]).astype("datetime64[ns]"),
    "zone": pd.to_datetime(["2020-01-01", "2021-01-01"]).tz_localize("Europe/Berlin"),
    "timedelta": pd.to_timedelta(["1D", None]),
    "arrow": pd.array([1, 2], dtype="int64[pyarrow]"),
    "sparse": pd.arrays.SparseArray([0, 1]),
    "category": pd.Categorical(["b", "a"]),
    "ordered": pd.Categorical(["low", "high"], categories=["low", "high"], ordered=True),
    "numbers as categories": pd.Categorical([3, 1]),
    "dates as categories": pd.Categorical(pd.to_datetime(["2020-01-01", "2019-01-01"])),
}


@every("kind", list(COLUMNS))
def test_pandas_types_come_back(kind):
    frame = pd.DataFrame({"x": COLUMNS[kind]})
    opened = open_frame(frame)
    pd.testing.assert_frame_equal(opened.restore(opened.frame), frame)


class TestPandasCategories:
    def test_declared_order_is_kept(self):
        frame = pd.DataFrame(
            {"x": pd.Categorical(["high", None, "low"], categories=["low", "mid", "high"], ordered=True)}
        )
        opened = open_frame(frame).frame["x"]
        assert opened.dtype == pl.Enum(["low", "mid", "high"])
        assert opened.to_list() == ["high", None, "low"]

    def test_categories_that_do_not_occur_are_not_given_back(self):
        frame = pd.DataFrame({"x": pd.Categorical(["b", "c"], categories=["a", "b", "c"])})
        opened = open_frame(frame)
        assert list(opened.restore(opened.frame)["x"].cat.categories) == ["b", "c"]

    def test_numbers_are_numbers_unless_their_order_is_another(self):
        def dtype(*categories):
            return (
                open_frame(pd.DataFrame({"x": pd.Categorical([3, 1], categories=categories, ordered=True)}))
                .frame["x"]
                .dtype
            )

        assert dtype(1, 3) == pl.Int64
        assert dtype(3, 1) == pl.Enum(["3", "1"])

    @pytest.mark.parametrize(
        ("column", "texts"),
        [
            (pd.cut(pd.Series([9, 1, None]), [0, 5, 10]), ["(5, 10]", "(0, 5]", None]),
            (pd.Series(pd.arrays.IntervalArray.from_tuples([(9, 10), (0, 1)])), ["(9, 10]", "(0, 1]"]),
            (pd.Series(pd.PeriodIndex(["2021-02", "2020-11", None], freq="M")), ["2021-02", "2020-11", None]),
        ],
    )
    def test_intervals_and_periods_are_text_in_their_order(self, column, texts):
        opened = open_frame(pd.DataFrame({"x": column}))
        assert opened.frame["x"].to_list() == texts
        assert isinstance(opened.frame["x"].dtype, pl.Enum)
        restored = opened.restore(opened.frame)["x"]
        assert restored[0] == opened.frame["x"][0]


class TestArrow:
    def test_types_come_back_and_metadata_does_not(self):
        table = pa.table(
            {
                "text": ["a", None],
                "small": pa.array([1, 2], pa.int8()),
                "decimal": pa.array([decimal.Decimal("1.50"), None], pa.decimal128(5, 2)),
                "date": pa.array([dt.date(2020, 1, 1)] * 2, pa.date64()),
                "moment": pa.array([dt.datetime(2020, 1, 1)] * 2, pa.timestamp("s")),
                "words": pa.array(["x", "y"]).dictionary_encode(),
                "codes": pa.array([7, 7]).dictionary_encode(),
                "list": [[1], [2]],
            }
        ).replace_schema_metadata({"pandas": "secret"})
        opened = open_frame(pa.concat_tables([table, table]))
        restored = opened.restore(opened.frame)
        assert restored.equals(pa.concat_tables([table, table]).unify_dictionaries())
        assert restored.schema.metadata is None

    def test_ordered_dictionaries_keep_their_order_and_lose_what_does_not_occur(self):
        words = pa.DictionaryArray.from_arrays(pa.array([2, None, 0]), pa.array(["low", "mid", "high"]), ordered=True)
        opened = open_frame(pa.table({"x": words}))
        assert opened.frame["x"].dtype == pl.Enum(["low", "mid", "high"])
        restored = opened.restore(opened.frame)["x"]
        assert restored.type == words.type
        assert restored.chunk(0).dictionary.to_pylist() == ["low", "high"]
        assert restored.to_pylist() == ["high", None, "low"]

    def test_a_column_of_another_type_than_it_had_stays_as_it_is(self):
        opened = open_frame(pa.table({"x": [1, 2]}))
        assert opened.restore(pl.DataFrame({"x": ["*", "2"]}))["x"].to_pylist() == ["*", "2"]


def test_pandas_columns_that_a_release_changed():
    opened = open_frame(pandas_frame())
    restored = opened.restore(pl.DataFrame({"ill": ["gout"], "age": ["*"]}))
    assert restored.to_dict("list") == {"ill": ["gout"], "age": ["*"]}


def test_any_eager_frame_that_narwhals_takes():
    native = nw.from_native(pandas_frame(index=[4, 4, 1]))
    opened = open_frame(native)
    restored = opened.restore(opened.frame)
    assert isinstance(restored, nw.DataFrame)
    assert list(restored.to_native().index) == [0, 1, 2]


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        "frame",
        [
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            pa.table([[1], [2]], names=["a", "a"]),
        ],
    )
    def test_repeated_names(self, frame):
        with pytest.raises(ColumnError, match="2 of 2 columns have the name of another one: column 1, 2"):
            open_frame(frame)

    @pytest.mark.parametrize(
        "columns", [[0, 1], ["a", None], pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]), [dt.date(2020, 1, 1), "a"]]
    )
    def test_names_that_are_not_text(self, columns):
        with pytest.raises(ColumnError, match="are not text"):
            open_frame(pd.DataFrame([[1, 2]], columns=columns))

    @every("data", [{"a": [1]}, [1], np.ones((2, 2)), None, pl.Series([1]), pd.Series([1]), pa.array([1]), 5, object()])
    def test_what_is_no_frame(self, data):
        with pytest.raises(DataError, match=r"cannot read a table from .* pandas or Polars DataFrame, an Arrow Table"):
            open_frame(data)

    @pytest.mark.parametrize("values", [["SECRET", 1], [object(), object()], [1j, 2j], [2**70, "SECRET"]])
    def test_columns_that_mix_types(self, values):
        with pytest.raises(DataError, match=r"'x' .* do not form one type") as raised:
            open_frame(pd.DataFrame({"x": pd.Series(values)}))
        assert "SECRET" not in str(raised.value)


def test_uuids_and_wide_decimals_and_json_come_back_as_they_are():
    ids = [UUID(int=number) for number in (3, 1, 3)]
    for values in (ids, [*ids[:2], None]):
        data = pd.DataFrame({"x": pd.Series(values, dtype=object)})
        opened = open_frame(data)
        assert opened.frame["x"].to_list() == [None if one is None else str(one) for one in values]
        assert opened.restore(opened.frame)["x"].to_list() == values
    stars = pl.DataFrame({"x": ["*", str(ids[0])]})
    assert opened.restore(stars)["x"].to_list() == ["*", str(ids[0])]
    wide = pa.array([decimal.Decimal(1), None], pa.decimal256(50, 2))
    text = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}', None]))
    table = pa.table({"wide": wide, "text": text})
    opened = open_frame(table)
    assert opened.restore(opened.frame) == table


@pytest.mark.parametrize("kind", [object, "category"])
def test_text_that_is_no_unicode(kind):
    """The error that Python raises holds the cell; ours must not lead to it."""
    cells = pd.Series(np.array(["CELL\ud800", "b"], dtype=object), dtype=object)
    column = cells if kind is object else pd.Series(pd.Categorical(pd.Index(cells, dtype=object)))
    with pytest.raises(DataError, match="'name' holds text that is not Unicode") as raised:
        open_frame(pd.DataFrame({"name": column}))
    assert raised.value.__context__ is None


@pytest.mark.drawn
def test_pandas_is_not_imported_for_those_who_do_not_use_it():
    code = (
        "import sys, polars; from shoal.io import open_frame; open_frame(polars.DataFrame({'a': [1]}));"
        "assert not {'pandas', 'narwhals', 'sqlalchemy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_repr_shows_no_cell():
    assert repr(open_frame(pl.DataFrame({"a": ["SECRET"]}))) == "OpenedFrame(rows=1, columns=1)"
