"""The row with the names of the columns, in CSV files and workbooks, in memory and in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import app
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
    uneven = write_csv(tmp_path / "c.csv", "Report\n\n")
    uneven.write_text("Report\n\nage;zip;disease\n20;10001;d0\n21;10002\n22;10003;d1;d2\n")
    with pytest.raises(DataError, match=r"Line 5 of 'c.csv' has 2 field"):  # also where the number of fields is right
        read_table(uneven, header_row=3)
    with pytest.raises(DataError, match="has no line 99"):
        read_table(path, header_row=99)
    with pytest.raises(ColumnError, match=r"have no name in line 2 .* choose it with the 'header_row' parameter"):
        read_table(write_csv(tmp_path / "b.csv", "Report\n;;\n"), header_row=2)
    with pytest.raises(ColumnError, match=r"Row 3 looks like the names of columns. Try header_row=3"):
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


FIRST = ["Zyzzyva Ann", "1957-03-09", "07431", "Zyzzyvitis"]
"""The first row of a table without a line of names: none of it may be seen."""
COMMANDS = [
    ("inspect", "TABLE"),
    ("inspect", "TABLE", "--json"),
    ("inspect", "TABLE", "--spec-out", "OUT.toml"),
    *(("anonymize", "TABLE", "--qi", "a", "-k", 3, "-o", "OUT", "--engine", engine) for engine in ("memory", "stream")),
    ("explore", "TABLE", "--qi", "a", "--sensitive", "b", "-k", 3, "-o", "OUT.html"),
    ("risk", "TABLE", "--qi", "a", "-o", "OUT"),
    ("audit", "TABLE", "--qi", "a", "-k", 2, "-o", "OUT"),
    ("hierarchy", "TABLE", "--column", "a", "--as", "dates", "-o", "OUT.csv"),
]
SIDES = [
    ("attack", "TABLE", "--qi", "a", "--population", "GOOD", "--id", "name", "--method", "linking", "-o", "OUT"),
    ("risk", "GOOD", "--qi", "born", "--population", "TABLE", "-o", "OUT"),
    ("attack", "GOOD", "--qi", "born", "--population", "TABLE", "--id", "name", "--method", "linking", "-o", "OUT"),
    (
        *("anonymize", "GOOD", "--qi", "born", "--sensitive", "disease", "--id", "name,zip"),
        *("--set", "privacy.k_map=2", "--population", "TABLE", "-o", "OUT"),
    ),
    ("group", "ordered", "TABLE", "--column", "born", "-k", 3, "-o", "OUT.csv"),
    ("group", "labels", "TABLE", "-k", 3, "-o", "OUT.csv"),
]
"""Doors that read another file with options of its own, or none."""


def test_a_table_without_a_line_of_names_shows_no_cell_in_any_door(tmp_path, caplog):
    caplog.set_level(0)
    rows = [
        FIRST,
        *(
            [f"Ann Example{at}", f"{1950 + at % 40}-03-{at % 28 + 1:02}", f"{at % 5 + 10115:05}", "flu"]
            for at in range(60)
        ),
    ]
    given = [*map(list, zip(*rows, strict=True))]
    named = pl.DataFrame(given, schema=["name", "born", "zip", "disease"])
    bare = named.tail(60).rename(dict(zip(named.columns, FIRST, strict=True)))
    named.tail(60).write_csv(tmp_path / "good.csv")
    for frame, stem in ((named, "named"), (bare, "bare")):
        frame.write_csv(tmp_path / f"{stem}.csv")
        frame.write_excel(tmp_path / f"{stem}.xlsx")
    bare.write_parquet(tmp_path / "bare.parquet")
    inputs = {*tmp_path.iterdir()}

    def silent(text: str, why: str) -> None:
        assert "read as values of their columns" in text, (why, text)
        assert not any(cell in text + caplog.text for cell in FIRST), why
        assert {*tmp_path.iterdir()} == inputs, why

    # The row is taken for the names by mistake: it is the first, or the one that was chosen.
    off = ("named.csv", "named.xlsx")
    for source in ("bare.csv", "bare.xlsx", "bare.parquet", *off):
        words = {"TABLE": tmp_path / source, "GOOD": tmp_path / "good.csv", "OUT": tmp_path / "out"}
        for command in (*COMMANDS, *(SIDES if source not in off else ())):
            if "stream" in command and source.endswith("xlsx"):
                continue
            said = [str(word) for word in command]
            for word, path in words.items():
                said = [one.replace(word, str(path)) for one in said]
            said += ["--set", "reading.header_row=2"] if source in off else []
            outcome = CliRunner().invoke(app, said)
            assert outcome.exit_code == 2, (said, outcome.output)
            silent(" ".join(outcome.output.split()), " ".join(said))
        options: dict[str, Any] = {"header_row": 2} if source in off else {}
        for verb in (shoal.inspect, shoal.anonymize, shoal.risk, shoal.audit):
            asked = {} if verb is shoal.inspect else {"quasi_identifiers": [FIRST[1]]}
            asked |= {"k": 2} if verb is shoal.anonymize else {}
            with pytest.raises(ColumnError) as caught:
                verb(tmp_path / source, **asked, **options)
            silent(str(caught.value), f"{verb.__name__} {source}")
    frames = (bare, bare.to_pandas(), pd.read_csv(tmp_path / "bare.csv"), pl.scan_csv(tmp_path / "bare.csv"))
    for frame in frames:
        for options in ({}, {"engine": "stream"}):
            if options and isinstance(frame, pd.DataFrame):
                continue
            with pytest.raises(ColumnError) as caught:
                shoal.anonymize(frame, quasi_identifiers=[FIRST[1]], sensitive=FIRST[3], k=2, **options)
            silent(str(caught.value), f"{type(frame)} {options}")


def test_the_row_of_the_names_is_found(tmp_path):
    # It is below, or was missed by one.
    path = tmp_path / "b.csv"
    path.write_text("1,2,3\nage,zip,disease\n" + "".join(f"{at},{at % 5 + 40},d{at}\n" for at in range(30)))
    for row, found in ((None, 2), (3, 2)):
        with pytest.raises(ColumnError, match=f"Row {found} seems to hold the names .* header_row={found}"):
            shoal.inspect(path, header_row=row)
    assert shoal.inspect(path, header_row=2).rows == 30
    # An audit of the command line takes the row that was said.
    said = ["audit", str(path), "--qi", "zip", "-k", "5", "--set", "reading.header_row=2"]
    assert CliRunner().invoke(app, said).exit_code == 0


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


N = 40
"""Rows of an ordinary table."""


def over(*values: Any) -> list[Any]:
    return (list(values) * N)[:N]


ages, text, days = [20 + at * 7 % 50 for at in range(N)], over("a", "b", "c"), [f"19{50 + at}-03-07" for at in range(N)]
people = [f"Person {at}" for at in range(N)]
ORDINARY: list[dict[str, list[Any]]] = [
    {"town": people, "2019": over("low", "high"), "2020": over("low", "mid"), "2021": over("high", "low")},
    {"2019": over("yes", "no"), "2020": over("no", "yes")},
    {"1": over("x", "y"), "2": over("y", "z"), "3": text},
    {"x": ages, "y": [a / 3 for a in ages]},
    {"x": [str(a) for a in ages], "y": text},
    {"q1": over("1", "2"), "q2": over("2", "3"), "q3": over("A", "B")},
    {"age": ["34"], "zip": ["10115"], "disease": ["flu"]},
    {"name": ["Ann"], "town": ["Ulm"]},
    {"a": [1], "b": [2]},
    {"sex": ["f", "m"], "smoker": ["yes", "no"]},
    {"Größe": ages, "Geschlecht": over("männlich", "weiblich"), "名前": people, "возраст": ages},
    {"😀": text, "age": ages},
    {"smoker": over("HIV", "never"), "HIV": over("yes", "no"), "status": over("smoker", "x")},
    {"red": over("0", "1"), "green": over("1", "0"), "blue": over("0", "0", "1")},
    {"red": over("red", ""), "green": over("", "green"), "blue": over("blue", "", "")},
    {"flu": over(True, False), "gout": over(False, True)},
    {"date_of_birth": days, "postal_code": [f"{i * 37 % 99999:05}" for i in range(N)]},
    {"V1": ages, "V2": ages, "V3": text},
    {"X1": ages, "X2.1": ages, "X.3": text},
    {"#": list(range(N)), "%": ages, "$": ages},
    {"weight (kg)": ages, "5-HT": ages, "CO2": ages, "2nd dose": days, "24h urine": ages},
    {"25-OH-D": ages, "T3": ages, "B12": ages, "HbA1c": ages},
    {"true": over("a", "b"), "false": text},
    {"How old are you? (in years)": ages, "1. Do you smoke?": over("yes", "no"), "2. How much?": ages},
    {"Jan": ages, "Feb": ages, "Mar": ages, "Apr": ages},
    {"Q1 2020": ages, "Q2 2020": ages},
    {"ICD10": over("E11", "I10"), "E11": over(0, 1), "I10": over(1, 0)},
    {"A": over("A", "B"), "B": ages, "C": text, "D": ages},
    {"A": over("x", "y"), "B": over("y", "x")},
    {"m": over(0, 1), "f": over(1, 0)},
    {" age ": ages, " sex": over("f", "m")},
    {"2020-01-01": over("in", "out"), "2020-01-02": over("out", "in"), "id": people},
    {"08:00": over("sleep", "work"), "09:00": over("work", "sport")},
    {"Unnamed: 0": list(range(N)), "age": ages},
    {"": list(range(N)), "age": ages},
    {"age": ages, "note": [None] * N},
    {"country": ["DE"] * N, "age": ages},
    {"other": over("flu", "other"), "age": ages, "zip": days},
    {"yes": over("yes", "no"), "age": ages, "sex": over("f", "m")},
    {"item1": over(1, 2, 3, 4, 5), "item2": over("1", "2", "3")},
    {"BRCA1": over("0", "1"), "TP53": over("1", "0"), "rs12345": over("AA", "AG", "GG")},
    {"Yes/No": over("Yes", "No"), "N/A": over("N/A", "x"), "age": ages},
    {"drugs": over("a;b", "c"), " n": ages},
    {"age": ages},
    {"disease": over("flu", "gout")},
    {f"c{i}": [(i * j) % 7 for j in range(N)] for i in range(60)},
    {"PLZ": [f"{i:05}" for i in range(N)], "ORT": text},
    {"age": ["20", "n/a"] * (N // 2), "zip": ["1", "x"] * (N // 2)},
    {"I": ages, "II": ages, "III": ages},
    {"lat": [50 + i / 7 for i in range(N)], "lon": [8 + i / 9 for i in range(N)]},
    {"-": text, "+": text},
    {"a.b": ages, "1.a": ages},
    {"sha": [f"{i * 2654435761 % 2**32:08x}" for i in range(N)], "n": ages},
]
"""Tables with odd but true names: years, months, options of a question, codes, words that other columns have."""


@pytest.mark.drawn
def test_ordinary_tables_raise_no_false_alarm(tmp_path):
    files = [name for name in shoal.datasets.FILES if not name.startswith("patients-")]  # those are hierarchies
    tables = [read_table(shoal.datasets.write_dataset(name, tmp_path)).frame for name in files]
    tables += [shoal.datasets.demo().frame, shoal.datasets.attendance(), *shoal.datasets.quarters()]
    tables += map(pl.DataFrame, ORDINARY)
    assert len(tables) >= 60
    for table in tables:
        for frame in (table, table.select(pl.all().cast(pl.String))):
            check_column_names(frame)
