"""Tables as people have them, from the file to the release: dates, decimal commas, and what they become."""

from __future__ import annotations

import csv
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import DataError

BORN = [f"{1 + row * 7 % 28:02}.{1 + row * 5 % 12:02}.{1950 + row * 11 % 50}" for row in range(80)]
GERMAN = [f"{day};{row % 4},{row % 2 * 5};{'abcd'[row * 3 % 4]};{row}" for row, day in enumerate(BORN)]


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    path = tmp_path / "klinik.csv"
    path.write_bytes("\n".join(["Geburtsdatum;Größe;Diagnose;Fall", *GERMAN, ""]).encode("latin-1"))
    return path


REQUEST: dict[str, Any] = {
    "quasi_identifiers": ["Geburtsdatum", "Größe"],
    "sensitive": "Diagnose",
    "insensitive": ["Fall"],
    "privacy": shoal.KAnonymity(4),
    "seed": 1,
}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter=";"))


@pytest.mark.drawn
def test_german_dates_become_intervals_and_years(clinic: Path, tmp_path: Path) -> None:
    release = shoal.anonymize(clinic, **REQUEST, recoding="generalization")
    release.save(tmp_path / "out")
    born = {row["Geburtsdatum"] for row in rows_of(tmp_path / "out/release.csv")}
    assert not any(value.startswith("{") for value in born), "no set of birth dates"
    assert any(value.startswith("[19") for value in born)
    assert release.certificate.parameters["read_as"]["Geburtsdatum"] == {"dates": "%d.%m.%Y"}
    years = shoal.anonymize(clinic, **REQUEST, recoding="suppression", coarsen={"Geburtsdatum": shoal.DatePart("year")})
    assert set(years.data["Geburtsdatum"].drop_nulls()) <= {*map(str, range(1950, 2000)), "*"}


def test_what_is_untouched_keeps_its_form(clinic: Path, tmp_path: Path) -> None:
    untouched = shoal.anonymize(clinic, **{**REQUEST, "privacy": shoal.KAnonymity(1)})
    untouched.save(tmp_path / "all")
    before = {tuple(line.split(";")) for line in GERMAN}
    assert {tuple(row.values()) for row in rows_of(tmp_path / "all/release.csv")} == before
    starred = shoal.anonymize(clinic, recoding="suppression", **REQUEST)
    starred.save(tmp_path / "some")
    shown = {row["Größe"] for row in rows_of(tmp_path / "some/release.csv")} - {"*"}
    assert shown <= {size for _, size, _, _ in before}
    assert shown


def test_a_hierarchy_of_dates(clinic: Path) -> None:
    release = shoal.anonymize(clinic, **REQUEST, recoding="generalization", algorithm="tds")
    # Month, quarter, year, five years, decade, all.
    assert release.certificate.parameters["hierarchies"]["Geburtsdatum"]["height"] == 6


def test_pandas_gets_its_text_back(clinic: Path) -> None:
    frame = pd.read_csv(clinic, sep=";", encoding="latin-1", dtype=str)
    release = shoal.anonymize(frame, **{**REQUEST, "privacy": shoal.KAnonymity(1)})
    assert set(release.data["Geburtsdatum"]) == set(frame["Geburtsdatum"])
    assert release.data.dtypes.to_dict() == frame.dtypes.to_dict()
    assert set(release.data["Größe"]) == set(frame["Größe"])


def test_columns_that_text_is_asked_of_stay_text(clinic: Path, tmp_path: Path) -> None:
    kept = shoal.anonymize(clinic, **REQUEST, coarsen={"Geburtsdatum": shoal.Prefix(2)})
    assert "read_as" in kept.certificate.parameters
    assert "Geburtsdatum" not in kept.certificate.parameters["read_as"]
    tree = tmp_path / "tree.csv"
    tree.write_text("".join(f"{day};{day[6:]};*\n" for day in sorted({line.split(";")[0] for line in GERMAN})))
    nodes = shoal.anonymize(clinic, **REQUEST, recoding="generalization", hierarchies={"Geburtsdatum": tree})
    assert set(nodes.data["Geburtsdatum"]) <= {line.split(";")[0] for line in GERMAN} | {
        *map(str, range(1950, 2000)),
        "*",
    }


def test_sensitive_dates_have_an_order_where_a_model_asks_for_it(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"age": [row % 5 for row in range(60)], "died": [f"{1 + row % 28}.1.2020" for row in range(60)]}
    )
    asked = shoal.TCloseness(0.3, distance="ordered")
    release = shoal.anonymize(frame, quasi_identifiers=["age"], sensitive="died", privacy=asked, seed=1)
    assert set(release.data["died"]) == set(frame["died"])
    release.save(tmp_path / "out")
    words = {"quasi_identifiers": ["age"], "sensitive": "died", "privacy": asked}
    assert shoal.audit(tmp_path / "out/release.csv", **words).violations == ()
    assert shoal.audit(release.data, **words).violations == ()


def test_an_ambiguous_column_asks_in_every_verb(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text(
        "seen,ill\n" + "".join(f"0{1 + row % 9}/0{1 + row % 7}/2020,{'ab'[row % 2]}\n" for row in range(40))
    )
    words: dict[str, Any] = {"quasi_identifiers": ["seen"], "sensitive": "ill", "privacy": shoal.KAnonymity(4)}
    for verb in (shoal.anonymize, shoal.explore):
        with pytest.raises(DataError, match=r"as in dates=\{'seen': '%d/%m/%Y'\}"):
            verb(path, **words)
    formats = {"dates": {"seen": "%m/%d/%Y"}}
    release = shoal.anonymize(path, **words, **formats, recoding="generalization", seed=1)
    assert release.certificate.parameters["read_as"] == {"seen": {"dates": "%m/%d/%Y"}}
    assert shoal.explore(path, **words, **formats, algorithms=["mondrian"]).rows[0].error is None
    year = shoal.anonymize(path, **words, coarsen={"seen": shoal.DatePart("month", format="%d/%m/%Y")}, seed=1)
    assert set(year.data["seen"]) <= {f"2020-0{month}" for month in range(1, 8)} | {"*"}


@pytest.mark.drawn
def test_the_command_line_says_how_it_reads(clinic: Path, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from shoal.cli.main import app

    words = ["anonymize", str(clinic), "--qi", "Geburtsdatum,Größe", "--sensitive", "Diagnose", "--insensitive", "Fall"]
    words += ["-k", "4", "--coarsen", "Geburtsdatum=date:year", "--json"]
    found = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out")])
    said = " ".join(found.stderr.split())
    assert found.exit_code == 0, found.stderr
    assert "Warning: 'klinik.csv' is not UTF-8; it is read as cp1252." in said
    assert "The column 'Geburtsdatum' is read as dates written like %d.%m.%Y." in said
    assert "The column 'Größe' is read as numbers with a decimal ','." in said
    odd = tmp_path / "odd.csv"
    odd.write_text("born,ill\n" + "31.12.1980,a\n1.1.1981,b\n" * 20 + "unknown,a\n")
    words = ["anonymize", str(odd), "--qi", "born", "-k", "1", "--insensitive", "ill", "-o", str(tmp_path / "odd")]
    warned = CliRunner().invoke(app, words)
    said = " ".join(warned.stderr.split())
    assert "Warning: The column 'born' looks like dates, but 1 of its values is none, the first in row 41" in said
    assert "or say the format, as in --set reading.dates.born=%d.%m.%Y." in said
    spec = tmp_path / "release.toml"
    spec.write_bytes(
        "\ufeff".encode()
        + b'privacy.k = 4\nreading = {encoding = "latin-1", decimal = ",", dates.Geburtsdatum = "%d.%m.%Y"}\n'
        + 'columns.quasi_identifiers = ["Geburtsdatum", "Größe"]\ncolumns.sensitive = ["Diagnose"]\n'.encode()
        + b'columns.insensitive = ["Fall"]\n'
    )
    again = CliRunner().invoke(
        app, ["anonymize", str(clinic), "--spec", str(spec), "--json", "-o", str(tmp_path / "b")]
    )
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["parameters"]["read_as"]["Größe"] == {"decimal": ",", "thousands": ""}
    assert "UTF-8" not in again.stderr


@pytest.mark.drawn
@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_a_workbook_in_and_out(tmp_path: Path, ending: str) -> None:
    from click.testing import CliRunner

    from shoal.cli.main import app
    from shoal.io import read, write_table

    rows = range(40)
    frame = pl.DataFrame(
        {
            "born": [dt.date(1950 + row % 9, 1 + row % 12, 1) for row in rows],
            "plz": [f"0{row % 5}" for row in rows],
            "ill": [f"={'abcd'[row * 3 % 4]}" for row in rows],
        }
    )
    write_table(frame, tmp_path / f"book.{ending}")
    words = ["anonymize", str(tmp_path / f"book.{ending}"), "--sheet", "release", "--qi", "born,plz"]
    words += ["--sensitive", "ill", "-k", "4", "--recoding", "generalization", "--algorithm", "mondrian", "--json"]
    found = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out")])
    assert found.exit_code == 0, found.stderr
    published = read(tmp_path / f"out/release.{ending}")
    assert (published.height, published.columns) == (40, ["born", "plz", "ill"])
    assert sorted(published["ill"].to_list()) == sorted(frame["ill"].to_list())
    assert any(value.startswith("[19") for value in published["born"].cast(pl.String).to_list())
    other = CliRunner().invoke(app, [*words, "--format", "csv", "--spreadsheet-safe", "-o", str(tmp_path / "csv")])
    assert other.exit_code == 0, other.stderr
    assert (tmp_path / "csv/release.csv").exists()
    audited = CliRunner().invoke(
        app, ["audit", str(tmp_path / f"out/release.{ending}"), "--qi", "born,plz", "--sensitive", "ill", "-k", "4"]
    )
    assert audited.exit_code == 0, audited.stderr


def test_standard_input_at_the_command_line(clinic: Path, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from shoal.cli.main import app

    words = ["anonymize", "-", "--qi", "Geburtsdatum,Größe", "--sensitive", "Diagnose", "--insensitive", "Fall"]
    words += ["-k", "4", "--encoding", "latin-1", "-o", str(tmp_path / "out"), "--json"]
    found = CliRunner().invoke(app, words, input=clinic.read_bytes())
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["input"]["rows"] == 80
