"""CSV and Parquet as they are written: what is in them, and what is not."""

import datetime as dt
import decimal
import errno
import random
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.every import every

from shoal.errors import DataError, OutputError
from shoal.io import Dialect, read, write_repeated, write_table


def csv_of(tmp_path, data, **options):
    frame = data if isinstance(data, pl.DataFrame) else pl.DataFrame(data)
    before = frame.clone()
    write_table(frame, tmp_path / "t.csv", **options)
    assert frame.equals(before)
    return (tmp_path / "t.csv").read_bytes().decode()


class TestCsv:
    def test_its_form(self, tmp_path):
        text = csv_of(tmp_path, {"a": ["x", None, "é, ü"], "b,c": [1, None, -3]})
        assert text == 'a,"b,c"\nx,1\n,\n"é, ü",-3\n'

    def test_missing_and_empty_fields(self, tmp_path):
        assert csv_of(tmp_path, {"a": ["", "x"], "b": [None, "y"]}) == 'a,b\n"",\nx,y\n'

    def test_a_column_may_not_hold_both(self, tmp_path):
        with pytest.raises(DataError, match="'b' holds missing values and empty texts"):
            csv_of(tmp_path, {"a": ["x", "y"], "b": [None, ""]})
        assert not (tmp_path / "t.csv").exists()

    def test_types(self, tmp_path):
        row = {
            "f": [0.1], "nan": [float("nan")], "b": [True], "d": [dt.date(2020, 1, 2)],
            "t": [dt.datetime(2020, 1, 2, 3, 4, 5)], "u": [dt.timedelta(days=1, seconds=1)],
            "n": [decimal.Decimal("1.50")],
            "c": pl.Series(["x"], dtype=pl.Categorical), "e": pl.Series(["y"], dtype=pl.Enum(["x", "y"])),
        }  # fmt: skip
        values = csv_of(tmp_path, row).splitlines()[1].split(",")
        assert values == ["0.1", "", "true", "2020-01-02", "2020-01-02T03:04:05.000000", "P1DT1S", "1.50", "x", "y"]

    @every("values", [[[1]], [{"a": 1}], [b"SECRET"], [object()], ["SEC\0RET"]])
    def test_what_it_cannot_hold(self, tmp_path, values):
        with pytest.raises(DataError, match="The column 'x'") as raised:
            csv_of(tmp_path, {"x": values})
        assert "SECRET" not in str(raised.value)

    def test_a_column_without_a_name(self, tmp_path):
        with pytest.raises(DataError, match="has no name"):
            csv_of(tmp_path, {"": [1]})

    def test_an_existing_file_is_replaced(self, tmp_path):
        (tmp_path / "t.csv").write_text("something much longer than what comes" * 9)
        assert csv_of(tmp_path, {"a": [1]}) == "a\n1\n"


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=5)


@settings(deadline=None)
@given(
    columns=st.lists(
        st.tuples(TEXT.filter(str.strip), st.lists(st.none() | TEXT, min_size=4, max_size=4)),  # blanks are no name
        min_size=1,
        max_size=3,
        unique_by=lambda pair: pair[0],
    ),
    suffix=st.sampled_from(["csv", "parquet"]),
)
@example(columns=[("^$", [None, "a", None, "b"])], suffix="csv")
def test_what_is_written_is_read_back(tmp_path_factory, columns, suffix):
    frame = pl.DataFrame({name: pl.Series(values, dtype=pl.String) for name, values in columns})
    path = tmp_path_factory.mktemp("out") / f"t.{suffix}"
    write_table(frame, path)
    options = {"delimiter": ",", "encoding": "utf-8"} if suffix == "csv" else {}
    assert read(path, **options, header_row=1).equals(frame)


class TestSpreadsheetSafe:
    @every(
        "cell",
        [
            "=1+1",
            "+cmd",
            "-cmd|x",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\n=1",
            "=",
            "-",
            "+",
            "-1+2",
            "\uff1d1",
            "'=1",
            "-1",
            "+1",
            "-1,5",
        ],
    )
    def test_formulas_are_quoted(self, tmp_path, cell):
        csv_of(tmp_path, {"a": [cell], "b": ["x"]}, dialect=Dialect(spreadsheet_safe=True))
        assert read(tmp_path / "t.csv", delimiter=",").rows() == [("'" + cell, "x")]

    @every("cell", ["a=b", "[-5, 3]", "{+, -}", "*", "'tis", "5-3", " =1"])
    def test_other_text_stays(self, tmp_path, cell):
        csv_of(tmp_path, {"a": [cell], "b": ["x"]}, dialect=Dialect(spreadsheet_safe=True))
        assert read(tmp_path / "t.csv", delimiter=",").rows() == [(cell, "x")]

    def test_only_on_request(self, tmp_path):
        assert csv_of(tmp_path, {"a": ["=1"]}) == "a\n=1\n"

    def test_names_and_other_columns(self, tmp_path):
        text = csv_of(
            tmp_path,
            {"=a": [-5], "b": [None], "c": pl.Series(["@x"], dtype=pl.Categorical)},
            dialect=Dialect(spreadsheet_safe=True),
        )
        assert text == "'=a,b,c\n-5,,'@x\n"

    def test_different_texts_stay_different(self, tmp_path):
        cells = ["=1", "'=1", "''=1", "1", "'1"]
        csv_of(tmp_path, {"a": cells, "b": ["x"] * 5}, dialect=Dialect(spreadsheet_safe=True))
        assert read(tmp_path / "t.csv", delimiter=",")["a"].n_unique() == len(cells)


class TestParquet:
    def test_types_are_kept_and_categories_are_text(self, tmp_path):
        frame = pl.DataFrame(
            {"a": [1, None], "d": [dt.date(2020, 1, 1)] * 2, "c": pl.Series(["x", "y"], dtype=pl.Categorical)}
        )
        write_table(frame, tmp_path / "t.parquet")
        assert read(tmp_path / "t.parquet").equals(frame.with_columns(pl.col("c").cast(pl.String)))

    def test_nothing_else_is_in_it(self, tmp_path):
        kind = pl.Enum(["x", "SECRET"])
        pl.Series(["SECRET"], dtype=pl.Categorical)
        frame = pl.DataFrame({"e": pl.Series(["x"], dtype=kind), "c": pl.Series(["x"], dtype=pl.Categorical)})
        write_table(frame, tmp_path / "t.parquet")
        assert b"SECRET" not in (tmp_path / "t.parquet").read_bytes()
        # The types of the columns, in Arrow's words, and no other key; no index, and no metadata of pandas.
        assert set(pq.read_metadata(tmp_path / "t.parquet").metadata) == {b"ARROW:schema"}
        assert pq.read_schema(tmp_path / "t.parquet").metadata is None
        assert pq.read_schema(tmp_path / "t.parquet").names == ["e", "c"]

    def test_objects_are_refused(self, tmp_path):
        with pytest.raises(DataError, match="Python objects"):
            write_table(pl.DataFrame({"x": [object()]}), tmp_path / "t.parquet")


@pytest.mark.parametrize("name", ["t.docx", "t", "t.csv.gz"])
def test_other_formats_are_refused(tmp_path, name):
    with pytest.raises(OutputError, match="none of csv, parquet, xlsx, ods"):
        write_table(pl.DataFrame({"a": [1]}), tmp_path / name)


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_full_disk_is_an_error_of_the_system_with_its_number(tmp_path, suffix):
    chance = random.Random(1)
    frame = pl.DataFrame({"a": [chance.random() for _ in range(50_000)]})
    with pytest.raises(OSError, match="too large") as raised:
        write_table(frame, tmp_path / f"t.{suffix}")
    assert raised.value.errno == errno.EFBIG


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_table(pl.DataFrame({"a": [1]}), tmp_path / "none" / "t.csv")


@every("kind", [pl.String, pl.Enum(["a", "b", "never"]), pl.Int16, pl.Boolean, pl.Date])
def test_repeated_rows_are_those_of_a_table_that_has_them_all(tmp_path, kind):
    values = {pl.Date: [0, 9, None], pl.Boolean: [True, False, None], pl.Int16: [3, -4, None]}.get(
        kind, ["a", "b", None]
    )
    frame = pl.DataFrame({"x": pl.Series(values, dtype=kind), "y": ["é", "", "*"]})
    times = np.array([2, 1, 70_000])
    write_repeated(frame, times, tmp_path / "runs.parquet")
    write_table(frame[np.repeat(np.arange(3), times)], tmp_path / "rows.parquet")
    runs, rows = (pl.read_parquet(tmp_path / name) for name in ("runs.parquet", "rows.parquet"))
    assert_frame_equal(runs, rows)
    content = (tmp_path / "runs.parquet").read_bytes()
    assert b"never" not in content, "categories that no row has are not written"
    write_repeated(frame, times, tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == content


def test_repeated_rows_that_no_file_can_hold_are_refused(tmp_path):
    with pytest.raises(DataError, match="pandas index"):
        write_repeated(pl.DataFrame({"__index_level_0__": [1]}), np.array([2]), tmp_path / "t.parquet")
    with pytest.raises(OSError, match="No such file"):
        write_repeated(pl.DataFrame({"a": [1]}), np.array([2]), tmp_path / "none" / "t.parquet")


def test_every_format_without_types_refuses_what_it_cannot_hold_in_one_sentence(tmp_path: Path) -> None:
    columns = {
        "missing values and empty texts, which readers of .* cannot tell apart": [None, "", "a"],
        "the type List, which .* cannot hold": [[1], [2], [3]],
    }
    for reason, values in columns.items():
        for suffix in ("csv", "xlsx", "ods", "dta", "sav", "xpt"):
            with pytest.raises(DataError, match=f"The column 'a' (holds|has) {reason}"):
                write_table(pl.DataFrame({"a": values}), tmp_path / f"a.{suffix}")
