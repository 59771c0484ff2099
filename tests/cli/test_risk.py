"""`shoal risk`: figures for programs, sentences for people, one private file for the publisher."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import polars as pl
import pytest

SECRET = "Zyzzyva"
QI = ("--qi", "age,gender,zip")


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """60 rows with weights and households, of which rows 0 and 1 are alone."""
    rows = [f"{SECRET}{at},{20 + at % 2},F,{10001 + at % 2},{1.5 + at % 3},{at // 2}" for at in range(58)]
    lines = ["name,age,gender,zip,w,home", f"{SECRET},77,M,10001,2,100", f"{SECRET},78,M,10002,30,100", *rows]
    path = tmp_path / "survey.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_one_object_of_json(shoal: Any, survey: Path) -> None:
    found = shoal("risk", survey, *QI, "--json")
    assert found.code == 0, found.err
    facts = found.json
    assert facts["rows"] == 60
    assert facts["classes"] == 4
    assert facts["smallest_class"] == 1
    assert facts["prosecutor"] == {
        "highest": 1.0,
        "average": pytest.approx(4 / 60),
        "threshold": 0.2,
        "records_above": pytest.approx(2 / 60),
    }
    assert facts["journalist"] is None
    assert facts["marketer"] is None
    assert facts["sample_uniques"] == pytest.approx(2 / 60)
    assert facts["population_uniques"] is None
    assert facts["individual"] is None
    assert facts["household"] is None
    (alone,) = [one for one in facts["quasi_identifiers"] if one["columns"] == ["age"]]
    assert alone["distinction"] == pytest.approx(4 / 60)
    assert SECRET not in found.out + found.err


def test_the_decimal_sign_of_weights_is_an_option(shoal: Any, tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_text("age;w\n" + "30;1,500\n31;2,000\n" * 3)
    words = ("risk", path, "--qi", "age", "--weights", "w", "--json")
    asked = shoal(*words)
    assert "--decimal" in asked.err or "reading.decimal" in asked.err
    found = shoal(*words, *("--set", "reading.decimal=,"))
    assert found.code == 0, found.err
    assert found.json["individual"]["highest"] > 0.2


def test_everything_that_flags_can_say(shoal: Any, survey: Path, tmp_path: Path) -> None:
    records = tmp_path / "records.csv"
    words = ("--population", survey, "--sampling-fraction", "1/20", "--weights", "w", "--household", "home")
    more = ("--suda", 2, "--log-linear", "two-way", "--threshold", "1/29", "-l", 3, "--significance", "0.05")
    found = shoal(
        "risk", survey, *QI, "--sensitive", "name", *words, *more, "--combinations", 1, "--records", records, "--json"
    )
    assert found.code == 0, found.err
    facts = found.json
    assert facts["journalist"]["highest"] == 1
    assert facts["marketer"]["average"] == pytest.approx(4 / 60)
    assert facts["prosecutor"]["records_above"] == pytest.approx(2 / 60)  # 1 / 29 is not above 1 / 29
    assert facts["k_map"]["k"] == 1
    assert facts["k_map"]["significance"] == 0.05
    assert facts["delta_presence"] == {"lowest": 1.0, "highest": 1.0}
    assert set(facts["population_uniques"]) == {"pitman", "zayatz", "snb", "dankar"}
    assert facts["individual"]["expected"] == pytest.approx(60 * facts["individual"]["global"])
    assert facts["household"]["global"] > facts["individual"]["global"]
    assert facts["log_linear"]["model"] == "two-way"
    assert facts["suda"]["size"] == 2
    assert facts["attribute_disclosure"]["name"]["threshold"] == pytest.approx(1 / 3)
    assert {len(one["columns"]) for one in facts["quasi_identifiers"]} == {1}
    frame = pl.read_csv(records)
    assert frame.columns == ["row", "prosecutor", "individual", "household", "suda", "dis_suda", "journalist"]
    assert frame["row"].to_list() == list(range(60))
    assert frame["prosecutor"].to_list()[:3] == [1, 1, 1 / 29]
    assert stat.S_IMODE(records.stat().st_mode) == 0o600
    again = shoal("risk", survey, *QI, "--records", records)
    assert again.code == 2
    assert "exists and is not replaced" in again.err


def test_sentences_for_people(shoal: Any, survey: Path) -> None:
    found = shoal("risk", survey, *QI)
    said = " ".join(found.out.split())
    assert found.code == 0, found.err
    assert "Of 60 records in the file, 2 could be found by someone who knows age, gender and zip of a person" in said
    assert "Which columns identify" in said
    assert "Assumptions" not in said
    warned = " ".join(found.err.split())
    assert "Warning: The column 'name' may hold names of people" in warned
    assert SECRET not in found.out + found.err
    explained = " ".join(shoal("risk", survey, *QI, "--explain").out.split())
    assert "Assumptions: The adversary knows the true values" in explained
    assert "doi:10.1197/jamia.M2716" in explained


def test_a_folder_with_a_page(shoal: Any, survey: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("risk", survey, *QI, "--suda", 2, "--sampling-fraction", 0.1, "-o", out)
    assert shoal(*words).code == 0
    facts = json.loads((out / "result.json").read_text())
    assert facts.pop("files") == ["report.html"]
    assert facts.pop("shoal")
    assert facts == shoal(*words, "--force", "--json").json
    page = (out / "report.html").read_text()
    assert "Of 60 records in the file, 2 could be found" in page
    assert "10.1111/1467-9868.00365" in page
    assert "<script" not in page
    assert SECRET not in page
    assert shoal(*words).code == 2


def test_stars_as_any_of_their_values(shoal: Any, tmp_path: Path) -> None:
    release, people, tree = tmp_path / "release.csv", tmp_path / "people.csv", tmp_path / "education.csv"
    release.write_text("age,zip,education\n20-29,021,low\n*,021,*\n30-39,100,high\n")
    people.write_text("age,zip,education\n20,02139,primary\n21,02144,bachelor\n35,10001,bachelor\n36,10002,primary\n")
    tree.write_text("primary;low;*\nbachelor;high;*\n")
    words = ("risk", release, "--qi", "age,zip,education", "--stars", "wildcard", "--hierarchy", f"education={tree}")
    found = shoal(*words, "--cells", "zip=prefix:3", "--population", people, "--json")
    assert found.code == 0, found.err
    facts = found.json
    assert facts["stars"] == "wildcard"
    assert facts["smallest_class"] == 1
    assert facts["prosecutor"]["average"] == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)
    assert facts["journalist"]["average"] == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert facts["delta_presence"] is None  # the first person fits two classes
    said = " ".join(shoal(*words, "--cells", "zip=prefix:3").out.split())
    assert "any of their values (wildcards)" in said
    assert "every row matches at least 1." in said
    unknown = shoal(*words[:6], "--population", people)
    assert unknown.code == 2
    assert "'education'" in unknown.err


def test_a_spec_names_the_columns(shoal: Any, survey: Path, tmp_path: Path) -> None:
    spec = tmp_path / "release.toml"
    spec.write_text('[columns]\nquasi_identifiers = ["age", "zip"]\ninsensitive = ["w"]\n[privacy]\nk = 5\n')
    assert shoal("risk", survey, "--spec", spec, "--json").json["columns"] == ["age", "zip"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Name the quasi-identifiers with --qi"),
        ((*QI, "--sampling-fraction", "2"), "--sampling-fraction must be a number > 0 and <= 1. Got 2."),
        ((*QI, "--sampling-fraction", "much"), "'much' is not a number"),
        ((*QI, "--suda", "0"), "--suda must be a whole number >= 1"),
        ((*QI, "--stars", "any"), "--stars must be one of 'own', 'wildcard'"),
        ((*QI, "--cells", "age=values"), "give --stars wildcard"),
        ((*QI, "--weights", "name"), "has no finite number in 60 row(s)"),
        ((*QI, "--weights", "v"), "There is no column 'v'"),
        ((*QI, "--household", "home"), "name the survey weights with --weights"),
        ((*QI, "--log-linear", "two-way"), "give --sampling-fraction"),
        ((*QI, "--population", "none.csv"), "There is no file 'none.csv'"),
    ],
)
def test_wrong_usage(shoal: Any, survey: Path, words: tuple[str, ...], message: str) -> None:
    found = shoal("risk", survey, *words)
    assert found.code == 2
    assert message in " ".join(found.err.replace("│", " ").split())
    assert SECRET not in found.err
