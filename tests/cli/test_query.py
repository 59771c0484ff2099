"""`shoal series query` and `shoal attack intersection` from the command line."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal as package
from shoal.republication.questions import read_question


@pytest.fixture(scope="module")
def two_releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases of a series, the people of each, and an l-diverse table."""
    tmp_path = tmp_path_factory.mktemp("series")
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


@pytest.fixture
def folders(two_releases: Path, tmp_path: Path) -> Path:
    """A copy of them for one test."""
    return shutil.copytree(two_releases, tmp_path / "copy")


def test_a_question_to_a_folder(shoal: Any, folders: Path) -> None:
    found = shoal("series", "query", folders / "q2", "disease = x")
    assert found.code == 0
    assert "About 1.5 people: at least 1, at most 2" in found.out
    told = shoal("series", "query", folders / "q2", "", "--json").json
    assert told == {"question": "", "count": 3.0, "at_least": 3, "at_most": 3}


def test_a_question_to_a_file_of_any_tool(shoal: Any, folders: Path) -> None:
    needs = shoal("series", "query", folders / "other.csv", "age = 20")
    assert needs.code == 2
    assert "--qi" in needs.err
    words = ("series", "query", folders / "other.csv", "age = 20", "--qi", "age", "--json")
    assert shoal(*words).json["count"] == pytest.approx(1 + 1 / 2)
    assert shoal(*words, "--domain", "age=[20, 29]").json["count"] == pytest.approx(1 + 1 / 10)
    assert shoal(*words, "--domain", "age").json["exit_code"] == 2
    assert "holds no table of a release" in shoal("series", "query", folders, "age = 20").err
    assert "character 6" in shoal("series", "query", folders / "q1", "age = ").err


@pytest.mark.drawn
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
    found = shoal("series", "query", folders / "other.csv", question, "--qi", "age", "--json")
    assert found.code == 0, found.err
    assert [line.split("'")[1] for line in found.err.splitlines() if "names a value" in line] == columns
    assert set(found.json) == {"question", "count", "at_least", "at_most"}


def test_a_domain_knows_more_values_than_the_cells(shoal: Any, folders: Path) -> None:
    words = ("series", "query", folders / "other.csv", "age = 29", "--qi", "age")
    assert "names a value" in shoal(*words).err
    assert shoal(*words, "--domain", "age=[20, 29]").err == ""


def test_of_stars_alone_nothing_is_said(shoal: Any, folders: Path) -> None:
    (folders / "stars.csv").write_text("job,disease\n*,x\n*,y\n")
    assert shoal("series", "query", folders / "stars.csv", "job = nurse", "--qi", "job").err == ""


@pytest.fixture(scope="module")
def coarsened(shoal: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of coarsened columns, with the table that it was made of."""
    tmp_path = tmp_path_factory.mktemp("coarse")
    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {
            "yrs": rng.integers(0, 70, 200),
            "age": rng.integers(17, 89, 200),
            "zip": rng.choice(["10456", "10001", "90210", "03601"], 200),
            "came": pl.Series(rng.integers(12_053, 12_418, 200)).cast(pl.Date),
            "name": [f"p{row}" for row in range(200)],
            "ill": rng.choice(["flu", "gout"], 200),
        }
    ).with_columns(yrs=pl.when(pl.int_range(200) < 8).then(103).otherwise("yrs"))
    table = table.with_columns(age=pl.when(pl.int_range(200) > 194).then(93).otherwise("age"))
    table.write_csv(tmp_path / "table.csv")
    made = shoal(
        *("anonymize", tmp_path / "table.csv", "--qi", "yrs,age,zip,came", "--id", "name", "--sensitive", "ill"),
        *("--coarsen", "yrs=cuts:4,65", "--coarsen", "zip=prefix:2", "--coarsen", "came=date:quarter"),
        *("-k", "6", "--algorithm", "mondrian", "--seed", "1", "-o", tmp_path / "out", "--recoding", "suppression"),
    )
    assert made.code == 0, made.err
    return tmp_path


@pytest.fixture
def coarse(coarsened: Path, tmp_path: Path) -> Path:
    """A copy of them for one test."""
    return shutil.copytree(coarsened, tmp_path / "copy")


@pytest.mark.drawn
@pytest.mark.parametrize(
    "question",
    [
        "yrs > 101",
        "yrs < 4",
        "yrs in [4, 65)",
        "zip = 10456",
        "zip != 10456",
        "age > 90",
        "came >= 2003-09-01",
        "zip = 11111",
    ],
)
def test_bounds_of_a_coarsened_release_are_true(shoal: Any, coarse: Path, question: str) -> None:
    table = pl.read_csv(coarse / "table.csv", infer_schema_length=0)
    (condition,) = read_question(question)
    truth = sum(condition.holds(text) for text in table[condition.column])
    for source in (coarse / "out", coarse / "out" / "release.csv"):
        found = shoal("series", "query", source, question, "--qi", "yrs,age,zip,came", "--json").json
        assert found["at_least"] <= truth <= found["at_most"]
        assert truth > 0 or question == "zip = 11111"


def test_without_a_certificate_prefixes_have_to_be_said(shoal: Any, coarse: Path) -> None:
    (coarse / "alone.csv").write_bytes((coarse / "out" / "release.csv").read_bytes())
    words = ("series", "query", coarse / "alone.csv", "zip = 10456", "--qi", "yrs,age,zip,came", "--json")
    refused = shoal(*words)
    assert refused.code == 2
    assert "--cells zip=prefix:3" in refused.err
    said = shoal(*words, "--cells", "zip=prefix:2").json
    assert said == shoal("series", "query", coarse / "out", "zip = 10456", "--json").json
    assert shoal(*words, "--cells", "zip=values").json["at_most"] < said["at_most"]
    assert shoal(*words, "--cells", "town=values").code == 2
    assert shoal(*words, "--cells", "zip=nonsense:2").code == 2


def test_the_attack_says_what_it_did_not_understand(shoal: Any, coarse: Path) -> None:
    people = coarse / "table.csv"
    attack = ("attack", "--method", "intersection", "--population", people, "--id", "name", "--json")
    found = shoal(*attack, coarse / "out").json
    assert found["not_covered"] == [0]
    assert found["columns_not_understood"] == []
    (coarse / "alone.csv").write_bytes((coarse / "out" / "release.csv").read_bytes())
    words = (*attack, coarse / "alone.csv", "--qi", "yrs,age,zip,came", "--sensitive", "ill")
    refused = shoal(*words)
    assert refused.code == 2
    assert "'zip': 200 of 200 people" in refused.err
    assert "vulnerable" not in refused.out
    assert shoal(*words, "--cells", "zip=prefix:2").json["not_covered"] == [0]


def test_the_attack_on_nodes_of_a_hierarchy(shoal: Any, tmp_path: Path) -> None:
    tree = "".join(f"{age};{'young' if age < 30 else 'old'};*\n" for age in range(20, 60))
    (tmp_path / "age.csv").write_text(tree)
    pl.DataFrame({"id": ["a", "b", "c", "d"], "age": [21, 25, 31, 59]}).write_csv(tmp_path / "people.csv")
    (tmp_path / "release.csv").write_text("age,ill\nyoung,flu\nyoung,flu\nold,flu\nold,gout\n")
    words = (
        "attack",
        "--method",
        "intersection",
        tmp_path / "release.csv",
        "--population",
        tmp_path / "people.csv",
        "--id",
        "id",
    )
    words += ("--qi", "age", "--sensitive", "ill", "--json")
    assert shoal(*words).code == 2
    assert shoal(*words, "--hierarchy", f"age={tmp_path / 'age.csv'}").json["vulnerable"] == 2
    question = ("series", "query", tmp_path / "release.csv", "age < 30", "--qi", "age", "--json")
    assert shoal(*question, "--hierarchy", f"age={tmp_path / 'age.csv'}").json["at_least"] == 2


def test_the_attack_on_folders(shoal: Any, folders: Path) -> None:
    each = ("attack", "--method", "intersection", folders / "q1", folders / "q2", "--id", "id")
    both = ("--population", folders / "people1.csv", "--population", folders / "people2.csv")
    found = shoal(*each, *both, "--json").json
    assert (found["people"], found["vulnerable"], found["confidence"]["max"]) == (4, 0, 0.5)
    assert shoal(*each, "--population", folders / "people.csv", "--param", "present=releases", "--json").json == found
    assert "0 (their sensitive value is certain)" in shoal(*each, *both).out
    assert shoal(*each, "--population", folders / "people.csv", "--param", "present=disease").code == 2
    assert "one for each" in shoal(*each, *both, "--param", "present=releases").err


def test_who_is_vulnerable_goes_into_a_private_file_only(shoal: Any, folders: Path) -> None:
    words = (
        "attack",
        "--method",
        "intersection",
        folders / "other.csv",
        "--qi",
        "age",
        "--sensitive",
        "disease",
        "--id",
        "id",
    )
    words += ("--population", folders / "people1.csv", "--persons", folders / "known.csv", "--json")
    found = shoal(*words)
    assert found.json["vulnerable"] == 2
    assert '"c"' not in json.dumps(found.json)
    assert sorted(pl.read_csv(folders / "known.csv").iter_rows()) == [("c", "x", 1), ("d", "x", 1)]
    assert stat.S_IMODE((folders / "known.csv").stat().st_mode) == 0o600
    assert "exists and is not replaced" in shoal(*words).err
