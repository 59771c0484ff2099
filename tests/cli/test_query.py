"""`shoal query` and `shoal attack intersection` from the command line."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal as package


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Two releases of a series, the people of each, and an l-diverse table."""
    first = pl.DataFrame({"id": ["a", "b", "c", "d"], "age": [20, 21, 40, 41], "disease": ["x", "y", "x", "y"]})
    second = first[:3]
    ledger = package.Ledger(tmp_path / "ledger.db", create=True)
    series = ledger.start("s", m=2, identifier="id", quasi_identifiers=["age"], sensitive="disease")
    for number, table in enumerate((first, second), start=1):
        series.publish(table, tmp_path / f"q{number}", seed=number)
        table.write_csv(tmp_path / f"people{number}.csv")
    ledger.close()
    first.with_columns(releases=pl.Series(["1-2", "1,2", "1 2", "1"])).write_csv(tmp_path / "people.csv")
    pl.DataFrame({"age": ["[20, 21]", "[20, 21]", "*"], "disease": ["x", "y", "x"]}).write_csv(tmp_path / "other.csv")
    return tmp_path


def test_a_question_to_a_folder(shoal: Any, folders: Path) -> None:
    found = shoal("query", folders / "q2", "disease = x")
    assert found.code == 0
    assert "About 1.5 people: at least 1, at most 2" in found.out
    told = shoal("query", folders / "q2", "", "--json").json
    assert told == {"question": "", "count": 3.0, "at_least": 3, "at_most": 3}


def test_a_question_to_a_file_of_any_tool(shoal: Any, folders: Path) -> None:
    needs = shoal("query", folders / "other.csv", "age = 20")
    assert needs.code == 2
    assert "--qi" in needs.err
    words = ("query", folders / "other.csv", "age = 20", "--qi", "age", "--json")
    assert shoal(*words).json["count"] == pytest.approx(1 + 1 / 2)
    assert shoal(*words, "--domain", "age=[20, 29]").json["count"] == pytest.approx(1 + 1 / 10)
    assert shoal(*words, "--domain", "age").json["exit_code"] == 2
    assert "holds no release.csv" in shoal("query", folders, "age = 20").err
    assert "character 6" in shoal("query", folders / "q1", "age = ").err


@pytest.mark.parametrize(
    ("question", "columns"),
    [
        ("disease = z", ["disease"]),
        ("disease in {x, z}", ["disease"]),
        ("disease = x and age = 20", []),
        ("disease != z", ["disease"]),
        ("age = 99", ["age"]),
        ("age = 99 and disease = z", ["age", "disease"]),
        ("age = 20.0", []),
        ("age > 99", []),
        ("", []),
    ],
)
def test_a_value_that_is_nowhere_is_pointed_out(shoal: Any, folders: Path, question: str, columns: list[str]) -> None:
    found = shoal("query", folders / "other.csv", question, "--qi", "age", "--json")
    assert found.code == 0, found.err
    assert [line.split("'")[1] for line in found.err.splitlines() if "names a value" in line] == columns
    assert set(found.json) == {"question", "count", "at_least", "at_most"}


def test_a_domain_knows_more_values_than_the_cells(shoal: Any, folders: Path) -> None:
    words = ("query", folders / "other.csv", "age = 29", "--qi", "age")
    assert "names a value" in shoal(*words).err
    assert shoal(*words, "--domain", "age=[20, 29]").err == ""


def test_of_stars_alone_nothing_is_said(shoal: Any, folders: Path) -> None:
    (folders / "stars.csv").write_text("job,disease\n*,x\n*,y\n")
    assert shoal("query", folders / "stars.csv", "job = nurse", "--qi", "job").err == ""


def test_the_attack_on_folders(shoal: Any, folders: Path) -> None:
    each = ("attack", "intersection", folders / "q1", folders / "q2", "--id", "id")
    both = ("--population", folders / "people1.csv", "--population", folders / "people2.csv")
    found = shoal(*each, *both, "--json").json
    assert (found["people"], found["vulnerable"], found["confidence"]["max"]) == (4, 0, 0.5)
    assert shoal(*each, "--population", folders / "people.csv", "--present", "releases", "--json").json == found
    assert "0 (their sensitive value is certain)" in shoal(*each, *both).out
    assert shoal(*each, "--population", folders / "people.csv", "--present", "disease").code == 2
    assert "one for each" in shoal(*each, *both, "--present", "releases").err


def test_who_is_vulnerable_goes_into_a_private_file_only(shoal: Any, folders: Path) -> None:
    words = ("attack", "intersection", folders / "other.csv", "--qi", "age", "--sensitive", "disease", "--id", "id")
    words += ("--population", folders / "people1.csv", "--persons", folders / "known.csv", "--json")
    found = shoal(*words)
    assert found.json["vulnerable"] == 2
    assert '"c"' not in json.dumps(found.json)
    assert sorted(pl.read_csv(folders / "known.csv").iter_rows()) == [("c", "x", 1), ("d", "x", 1)]
    assert stat.S_IMODE((folders / "known.csv").stat().st_mode) == 0o600
    assert "exists already" in shoal(*words).err
