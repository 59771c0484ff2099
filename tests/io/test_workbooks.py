"""Workbooks: sheets by name, dates as dates, formulas never written as formulas."""

from __future__ import annotations

import datetime as dt
import zipfile
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

import shoal
from shoal.errors import ColumnError, DataError, NoRowsError, ParameterError
from shoal.io import read, read_table, write_table

SECRET = "Zyzzyva"
FRAME = pl.DataFrame(
    {
        "day": [dt.date(2020, 1, 31), dt.date(1980, 12, 1), None],
        "moment": [dt.datetime(2020, 1, 31, 10, 30), dt.datetime(2020, 2, 1), None],
        "whole": [1, -2, None],
        "part": [1.5, 0.25, None],
        "text": ["=1+1", "-5", "007"],
        "truth": [True, False, None],
        "odd": [" a  b ", "x\ny<&>\"'", None],
        "link": ["http://example.org", "mailto:a@b", "1"],
    }
)


@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_what_is_written_is_read_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"release.{ending}"
    write_table(FRAME, path)
    found = read_table(path)
    assert (found.format, found.sheet, found.encoding) == (ending, "release", None)
    assert found.frame.with_columns(pl.col("moment").cast(pl.Datetime("us"))).rows() == FRAME.rows()
    assert found.frame.schema["day"] == pl.Date
    assert found.frame.schema["whole"] == pl.Int64
    before = path.read_bytes()
    write_table(FRAME, path)
    assert path.read_bytes() == before, "the same table makes the same file"


@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_nothing_is_a_formula(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"release.{ending}"
    write_table(pl.DataFrame({"=a": ["=1+1", "+1", "@SUM(1)", "-1"]}), path)
    with zipfile.ZipFile(path) as archive:
        parts = [archive.read(name).decode() for name in archive.namelist()]
    assert not any("<f>" in part or "table:formula" in part for part in parts)
    assert read(path).columns == ["=a"]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), min_size=1, max_size=8),
            st.integers(-(2**52), 2**52) | st.none(),
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(["xlsx", "ods"]),
)
def test_any_text_and_whole_numbers_come_back(tmp_path_factory, rows, ending):
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.Int64}, orient="row").with_columns(c=pl.lit(1))
    path = tmp_path_factory.mktemp("out") / f"t.{ending}"
    write_table(frame, path)
    found = read(path)
    assert found["a"].to_list() == frame["a"].to_list()
    assert found["b"].to_list() == frame["b"].to_list()


def test_days_and_times_that_sheets_cannot_count_are_text(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "old": [dt.date(1820, 1, 31), dt.date(1980, 12, 1)],
            "fine": [dt.datetime(2020, 1, 1, 0, 0, 0, 7)] * 2,
            "time": [dt.time(10, 3), None],
            "nan": [float("nan"), 1.0],
        }
    )
    write_table(frame, tmp_path / "t.xlsx")
    found = read(tmp_path / "t.xlsx")
    assert found["old"].to_list() == ["1820-01-31", "1980-12-01"]
    assert found["fine"][0].startswith("2020-01-01T00:00:00.000007")
    assert found["time"].to_list() == ["10:03:00", None]
    assert found["nan"].to_list() == [None, 1]


@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_times_of_a_zone_have_their_offset(tmp_path: Path, ending: str) -> None:
    """When clocks are set back an hour comes twice."""
    moments = [dt.datetime(2020, 10, 25, hour, 30, tzinfo=dt.UTC) for hour in (0, 1)]
    frame = pl.DataFrame({"at": pl.Series(moments, dtype=pl.Datetime("us", "Europe/Berlin"))})
    write_table(frame, tmp_path / f"t.{ending}")
    assert read(tmp_path / f"t.{ending}")["at"].to_list() == ["2020-10-25T02:30:00+02:00", "2020-10-25T02:30:00+01:00"]


@every(
    ("column", "message"),
    [
        ([[1]], "has the type List"),
        ([2**60], "spreadsheets round"),
        ([Decimal("1234567890123456.25")], "decimals that spreadsheets round"),
        ([1.5, float("inf")], "infinite numbers"),
        (["x" * 40_000], "longer texts"),
        (["", None], "missing values and empty texts"),
    ],
)
def test_what_a_sheet_cannot_hold_is_refused(tmp_path: Path, column: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        write_table(pl.DataFrame({"a": column}), tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="holds carriage returns"):
        write_table(pl.DataFrame({"a": ["x\ry"]}), tmp_path / "t.ods")
    with pytest.raises(DataError, match="holds tabs"):
        write_table(pl.DataFrame({"a": ["x\ty"]}), tmp_path / "t.ods")


@pytest.fixture
def book(tmp_path: Path):
    """Write a workbook of sheets, each a list of rows; dates have a German format."""

    def write(**sheets: list[list[object]]) -> Path:
        path = tmp_path / "book.xlsx"
        with xlsxwriter.Workbook(str(path)) as made:
            day = made.add_format({"num_format": "dd.mm.yyyy"})
            for name, rows in sheets.items():
                sheet = made.add_worksheet(name)
                for row, cells in enumerate(rows):
                    for column, cell in enumerate(cells):
                        if isinstance(cell, dt.date):
                            sheet.write_datetime(row, column, cell, day)
                        elif cell is not None:
                            sheet.write(row, column, cell)
        return path

    return write


def test_sheets_have_names(book) -> None:
    path = book(Patients=[["age", "born"], [39, dt.date(1980, 12, 31)], [40, None]], Notes=[["note"], ["x"]])
    with pytest.raises(
        ParameterError, match=r"2 sheets: 'Patients', 'Notes'\. Name one, such as the longest: sheet='Patients'"
    ):
        read(path)
    with pytest.raises(ParameterError, match=r"no sheet 'Patient'\. Did you mean 'Patients'\?"):
        read(path, sheet="Patient")
    found = read(path, sheet="Patients")
    assert found.rows() == [(39, dt.date(1980, 12, 31)), (40, None)]
    assert read(path, sheet="Notes").rows() == [("x",)]


def test_results_of_formulas_and_mixed_columns(book) -> None:
    rows = [["a", "mixed", "blank"], [1, "x", None], [2.5, 7, None], ["=1+1", 1.5, None]]
    found = read(book(one=rows))
    assert found["mixed"].to_list() == ["x", "7", "1.5"]
    assert found["blank"].null_count() == 3
    assert "=" not in str(found["a"].to_list())


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (
            [["a", "a"], [1, 2]],
            ColumnError,
            "2 of 2 columns have the name of another one in the first row .*: column 1, 2",
        ),
        ([["a", None], [1, 2]], ColumnError, "1 of 2 columns have no name in the first row .*: column 2"),
        ([["note", None], ["a", "b"], [1, 2]], ColumnError, "no name .*Row 2 looks like"),
        ([["a", "b"], [1, 2], [None, None], [SECRET, 4]], DataError, "Row 3 of the table in the sheet 'one'"),
        ([["a", "b"]], NoRowsError, "has a header but no rows"),
        ([], DataError, "nothing in the first row"),
    ],
)
def test_sheets_that_are_no_tables(book, rows, error, message) -> None:
    with pytest.raises(error, match=message) as raised:
        read(book(one=rows))
    assert SECRET not in str(raised.value)


def test_empty_rows_at_the_end_are_no_people(tmp_path: Path, book) -> None:
    assert read(book(one=[["a", "b"], [1, 2], ["", None], [None, None]])).height == 1
    (tmp_path / "bad.xlsx").write_text(SECRET)
    with pytest.raises(DataError, match=r"'bad\.xlsx' cannot be read as a workbook"):
        read(tmp_path / "bad.xlsx")
    for options in ({"delimiter": ","}, {"encoding": "utf-8"}):
        with pytest.raises(ParameterError, match="is for delimited text only"):
            read(book(one=[["a"], [1]]), **options)
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(ParameterError, match="'sheet' parameter of read is for workbooks only"):
        read(tmp_path / "t.csv", sheet="one")


def test_a_time_of_day_is_not_of_1899(tmp_path: Path) -> None:
    path = tmp_path / "times.xlsx"
    with xlsxwriter.Workbook(str(path)) as made:
        sheet, clock = made.add_worksheet(), made.add_format({"num_format": "hh:mm"})
        for row, cells in enumerate(
            [["at", "mixed"], [dt.time(8, 30), dt.time(8)], [dt.time(0), dt.datetime(2020, 1, 1)]]
        ):
            for column, cell in enumerate(cells):
                if row:
                    sheet.write_datetime(row, column, cell, clock)
                else:
                    sheet.write(row, column, cell)
    found = read(path)
    assert found["at"].to_list() == [dt.time(8, 30), dt.time(0)]
    assert found["mixed"].dtype != pl.Time


def test_notes_and_sums_below_a_sheet_are_not_records(book) -> None:
    names, record = ["ward", "age", "born", "ill"], ["a", 30, "x", 1]
    end: list = [None] * 4
    for below, left in (
        ([end, ["Summe", None, None, 4]], 2),
        ([end, ["Source: a ward", None, None, None], ["2024", None, None, "v2"]], 3),
        ([end, end, ["Totaal:", 120, None, 4]], 3),
        ([["Total", None, None, 4]], 1),
        ([["Total", None, None, 4], end, ["a note"]], 3),
    ):
        found = read_table(book(one=[names, *[record] * 4, *below]))
        assert (found.below, found.frame.rows()) == (left, [tuple(record)] * 4)
        assert found.frame.schema["ill"].is_integer(), "the types are those of the records"
    # A row that may be a record is never left out; a release is read as a whole.
    with pytest.raises(DataError, match=r"Row 6 .* is empty, and some of the 2 rows below it may be records"):
        read_table(book(one=[names, *[record] * 4, end, ["Summe", None, None, 4], ["b", 30, "y"]]))
    for row in (["Total", 30, "x", 1], ["b", None, None, None], [None, None, None, 4]):
        assert read_table(book(one=[names, *[record] * 4, row])).frame.height == 5
    assert read(book(one=[names, *[record] * 4, ["Total", None, None, 4]])).height == 5
    with pytest.raises(DataError, match="is empty"):
        read(book(one=[names, *[record] * 4, end, ["Summe"]]))


def test_a_column_without_a_name_and_a_cell_is_space(book) -> None:
    found = read_table(book(one=[["a", None, "b"], [1, None, 2], [3, None, 4]]))
    assert found.frame.rows() == [(1, 2), (3, 4)]
    with pytest.raises(ColumnError, match="1 of 3 columns have no name"):
        read_table(book(one=[["a", None, "b"], [1, 5, 2], [3, None, 4]]))


def test_a_report_with_a_title_and_a_sum_is_released_as_proposed(tmp_path: Path, book) -> None:
    rows: list = [[f"{1950 + row % 40}", "fm"[row % 2], "abc"[row % 3], 10.5 * (row % 7)] for row in range(120)]
    path = book(one=[["Ward 7"], ["born", "sex", "district", "debts"], *rows, [], ["Summe", None, None, 3_780.0]])
    found = shoal.inspect(path, header_row=2)
    (tmp_path / "plan.toml").write_text(found.to_toml())
    assert (found.rows, [one.code for one in found.warnings]) == (120, ["rows_below"])
    release = shoal.anonymize(path, shoal.Request.from_toml(tmp_path / "plan.toml"), seed=1)
    assert release.data.height == 120
    told = next(one.text for one in release.certificate.warnings if one.code == "rows_below")
    assert told.startswith("2 row(s) below the table are left out: notes or sums, not records. If they are")
