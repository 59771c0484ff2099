"""The row with the names of the columns, in CSV files and workbooks, in memory and in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import ColumnError, DataError, ParameterError
from shoal.io import check_column_names, scan_table
from shoal.io.readers import read_table

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [("age", "zip", "disease"), *((20 + at % 30, 10001 + at % 3, f"d{at % 4}") for at in range(60))]


def write_csv(path: Path, above: str) -> Path:
    path.write_text(above + "\n".join(";".join(map(str, row)) for row in ROWS) + "\n")
    return path


def write_book(path: Path, *, title: bool) -> Path:
    import xlsxwriter

    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet("Ward")
        if title:
            sheet.write_string(0, 0, "Report of the ward")
        for row, values in enumerate(ROWS):
            for place, value in enumerate(values):
                sheet.write(row + 2, place, value)
    return path


@pytest.mark.parametrize("above", ["Report, of the ward\n\n", 'One "quote\nWard;7;;;;\n', "a\r\nb\r\n", "\ufeffa\n\n"])
def test_lines_above_the_names_are_skipped(tmp_path, above):
    path = write_csv(tmp_path / "a.csv", above)
    found = read_table(path, header_row=3)
    assert found.frame.columns == ["age", "zip", "disease"]
    assert found.frame.height == 60
    assert found.frame.rows()[0] == ("20", "10001", "d0")
    scanned = scan_table(path, header_row=3)
    assert scanned.lazy.collect().equals(found.frame)


@pytest.mark.parametrize("title", [True, False])
def test_rows_of_a_sheet_above_the_names_are_skipped(tmp_path, title):
    path = write_book(tmp_path / "a.xlsx", title=title)
    found = read_table(path, header_row=3).frame
    assert found.rows() == ROWS[1:]


def test_errors_name_the_line_of_the_file_and_the_row_that_looks_like_names(tmp_path):
    path = write_csv(tmp_path / "a.csv", "Report\n\n")
    path.write_text(path.read_text().replace("21;10002;d1", "21;10002", 1))
    with pytest.raises(DataError, match=r"Line 5 of 'a.csv' has 2 field"):
        read_table(path, header_row=3)
    with pytest.raises(DataError, match=r"Line 5 of 'a.csv' has 2 field"):
        scan_table(path, header_row=3)
    with pytest.raises(DataError, match="has no line 99"):
        read_table(path, header_row=99)
    with pytest.raises(DataError, match=r"has no name in line 2 .* choose it with the 'header_row' parameter"):
        read_table(write_csv(tmp_path / "b.csv", "Report\n;;\n"), header_row=2)
    with pytest.raises(DataError, match=r"Row 3 looks like the names of columns. Try header_row=3"):
        read_table(write_book(tmp_path / "a.xlsx", title=True))


def test_only_text_and_workbooks_have_such_a_row(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    for read in (read_table, scan_table):
        with pytest.raises(ParameterError, match="header_row"):
            read(tmp_path / "a.parquet", header_row=2)
    with pytest.raises(ParameterError, match="header_row"):
        shoal.anonymize(pl.DataFrame({"a": [1]}), quasi_identifiers=["a"], k=1, header_row=0)


def test_a_release_of_such_a_table_and_its_audit(tmp_path):
    path = write_csv(tmp_path / "a.csv", "Report\n\n")
    asked = {"quasi_identifiers": ["age", "zip"], "sensitive": "disease", "k": 5, "seed": 1}
    release = shoal.anonymize(path, header_row=3, **asked)
    streamed = shoal.anonymize(path, header_row=3, engine="stream", **asked)
    assert release.data.height == 60
    assert streamed.certificate.achieved["k"] >= 5
    assert [one.name for one in shoal.inspect(path, header_row=3).columns] == ["age", "zip", "disease"]
    assert "header_row = 3" in shoal.inspect(path, header_row=3).to_toml()
    assert shoal.risk(path, header_row=3, quasi_identifiers=["age"]).rows == 60


def test_provenance_reads_the_table_as_the_release_did(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Ward 7,\nage,disease\n30,flu\n30,gout\n41,flu\n41,gout\n")
    request: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "disease", "k": 2}
    made = shoal.anonymize(tmp_path / "t.csv", header_row=2, **request)
    assert shoal.provenance(tmp_path / "t.csv", made.certificate.to_dict(), salt=made.salt, header_row=2)


def test_a_table_without_a_line_of_names_is_refused_in_every_door(tmp_path):
    rows = [f"Ann Example{at},{1950 + at % 40}-03-{at % 28 + 1:02},{at % 5 + 10115:05},flu" for at in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    pl.read_csv(tmp_path / "a.csv", infer_schema_length=0).write_excel(tmp_path / "a.xlsx")
    doors: list[tuple[Any, dict[str, Any]]] = [
        (tmp_path / "a.csv", {}),
        (tmp_path / "a.csv", {"engine": "stream"}),
        (tmp_path / "a.xlsx", {}),
        (pl.read_csv(tmp_path / "a.csv"), {}),
        (pl.scan_csv(tmp_path / "a.csv"), {"engine": "stream"}),
        (pd.read_csv(tmp_path / "a.csv"), {}),
    ]
    for data, options in doors:
        # No name is shown, because it is a cell, also if a column is asked for that is not there.
        with pytest.raises(ColumnError, match=r"3 of 4 column names read as values .* header_row=1") as caught:
            shoal.anonymize(data, quasi_identifiers=["age"], k=2, **options)
        assert not any(cell in str(caught.value) for cell in rows[0].split(","))
    for call in (shoal.inspect, lambda data: shoal.risk(data, quasi_identifiers=["x"])):
        with pytest.raises(ColumnError, match="read as values"):
            call(tmp_path / "a.csv")
    # The row of the names is found below, or was missed by one.
    path = tmp_path / "b.csv"
    path.write_text("1,2,3\nage,zip,disease\n" + "".join(f"{at},{at % 5 + 40},d{at}\n" for at in range(30)))
    for row, found in ((None, 2), (3, 2)):
        with pytest.raises(ColumnError, match=f"Row {found} seems to hold the names .* header_row={found}"):
            shoal.inspect(path, header_row=row)
    assert shoal.inspect(path, header_row=2).rows == 30


@pytest.mark.drawn
def test_names_that_read_as_values_are_confirmed(tmp_path):
    # Numbers of children in each year: the names are years.
    frame = pl.DataFrame({"town": ["a", "b"] * 10, "2019": [1, 2] * 10, "2020": ["1", "2"] * 10})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_csv(tmp_path / "a.csv")
    for data in (frame, tmp_path / "a.parquet", tmp_path / "a.csv"):
        for engine in ("memory", "stream"):
            asked = {"quasi_identifiers": ["2019", "2020"], "direct_identifiers": ["town"], "k": 2, "engine": engine}
            with pytest.raises(ColumnError, match="2 of 3 column names"):
                shoal.anonymize(data, **asked)
            release = shoal.anonymize(data, **asked, header_row=1)
            release.save(tmp_path / engine, force=True)
        assert shoal.audit(tmp_path / "memory", header_row=1, k=2).violations == ()


def test_usual_names_are_no_values():
    for names in (["zip", "smoker"], ["HIV", "sex"], ["Q1", "a1c", "x2020", "2nd_dose"]):
        frame = pl.DataFrame({name: ["smoker", "never", "HIV", "x"] * 5 for name in names})
        check_column_names(frame.with_columns(age=pl.Series(range(20))))
    for table in (
        *(make(200) for make in (shoal.datasets.census, shoal.datasets.patients)),
        shoal.datasets.demo().frame,
    ):
        check_column_names(table)
