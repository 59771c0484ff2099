"""`shoal apply`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

BINS = ("--coarsen", "age=bins:20", "--coarsen", "zip=prefix:3")


@pytest.fixture
def plan(shoal: Any, patients: Path, roles: Any, tmp_path: Path) -> Path:
    made = shoal("anonymize", patients, *roles, *BINS, "-k", 5, "-o", tmp_path / "first")
    assert made.code == 0, made.err
    return tmp_path / "first.private" / "plan.json"


def rows_of(patients: Path, tmp_path: Path, start: int, stop: int | None = None) -> Path:
    header, *lines = patients.read_text().splitlines()
    file = tmp_path / "next.csv"
    file.write_text("\n".join([header, *lines[start:stop]]) + "\n")
    return file


def test_the_next_table_is_published(shoal: Any, plan: Path, patients: Path, tmp_path: Path) -> None:
    table = rows_of(patients, tmp_path, 100)
    done = shoal("apply", plan, table, "-o", tmp_path / "next", "--seed", 1, "--json")
    assert done.code == 0, done.err
    facts = done.json
    assert facts["algorithm"] == "plan"
    assert facts["details"] == {"rows_of_unknown_classes": 0, "rows_that_became_stars": 0}
    assert facts["input"]["rows"] == 140
    public = [json.loads((tmp_path / name / "certificate.json").read_text()) for name in ("first", "next")]
    assert public[0]["parameters"] == public[1]["parameters"]
    assert (tmp_path / "next.private" / "plan.json").exists()
    checked = shoal("audit", tmp_path / "next/release.csv", "--qi", "age,gender,zip", "--sensitive", "disease", "-k", 5)
    assert checked.code == 0, checked.err
    said = shoal("apply", plan, table, "-o", tmp_path / "other")
    assert "0 rows were suppressed" in " ".join(said.out.split())
    again = shoal("apply", plan, table, "-o", tmp_path / "other")
    assert again.code == 2
    assert "exists" in again.err


def test_a_look_at_the_plan(shoal: Any, plan: Path) -> None:
    found = shoal("apply", plan)
    assert found.code == 0, found.err
    assert "published forms" in found.out
    assert "[20, 40)" in found.out
    assert "Zyzzyva" not in found.out
    assert len(shoal("apply", plan, "--json").json["forms"]) == 4


@pytest.mark.drawn
def test_a_plan_that_does_not_hold(shoal: Any, plan: Path, patients: Path, tmp_path: Path) -> None:
    table = rows_of(patients, tmp_path, 0, 17)
    refused = shoal("apply", plan, table, "-o", tmp_path / "next")
    assert refused.code == 1
    assert "--misfits suppress" in refused.err
    assert "Zyzzyva" not in refused.err
    assert not (tmp_path / "next").exists()
    done = shoal("apply", plan, table, "-o", tmp_path / "next", "--misfits", "suppress", "--json")
    assert done.code == 0, done.err
    assert done.json["details"]["rows_that_became_stars"] > 0
    named = shoal("apply", plan, table, "-o", tmp_path / "more", "-k", 3)
    assert named.code == 0, named.err


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "OUT"), "Name the table to publish"),
        (("INPUT",), "-o OUT"),
        (("INPUT", "-o", "OUT", "--misfits", "drop"), "--misfits must be one of"),
    ],
)
def test_bad_calls(shoal: Any, plan: Path, patients: Path, words: Any, said: str) -> None:
    found = shoal("apply", plan, *(patients if word == "INPUT" else word for word in words))
    assert found.code == 2
    assert said in " ".join(found.err.split())
