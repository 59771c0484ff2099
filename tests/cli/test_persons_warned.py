"""Commands that compare releases before one is made warn of persons with several records, as the release would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

QUICK = {
    "algorithms": ("--algorithms", "mondrian"),
    "coarsenings": ("--coarsenings", "--seconds", 0.1, "--algorithm", "mondrian"),
}


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Sixty people with five visits each."""
    people = [person for person in range(60) for _ in range(5)]
    table = {
        "visit": range(300),
        "pcode": [f"P{person:03}" for person in people],
        "age": [20 + person for person in people],
        "gender": ["mf"[person % 2] for person in people],
        "zip": [str(10000 + 37 * person) for person in people],
        "disease": list("abcde") * 60,
    }
    pl.DataFrame(table).write_csv(tmp_path / "visits.csv")
    return tmp_path / "visits.csv"


@pytest.mark.drawn
@pytest.mark.parametrize("varied", QUICK)
def test_persons_with_several_records_are_warned_of(shoal: Any, visits: Path, varied: str) -> None:
    words = ("explore", visits, "--qi", "age,gender,zip", "--sensitive", "disease", *QUICK[varied])
    found = shoal(*words, "--id", "visit,pcode", "-k", 5)
    assert found.code == 0, found.err
    assert "Warning: The column 'pcode' repeats as the number or name of a person would" in found.out.replace("\n", " ")
    assert "--person pcode" in found.out.replace("\n", " ")
    person = "--id", "visit", "--person", "pcode"
    protected = shoal(*words, *person, "-k", 5, "--json")
    assert protected.json["warnings"] == []
    uncounted = shoal(*words, *person, "-l", 1, "--json")
    assert [one["code"] for one in uncounted.json["warnings"]] == ["uncounted_persons"]
    wrong = shoal(*words, "--id", "pcode", "--person", "visit", "-k", 5, "--json")
    assert [(one["code"], one["column"]) for one in wrong.json["warnings"]] == [("repeated_person", "pcode")]


@pytest.mark.drawn
def test_a_plan_that_names_no_persons_is_warned_of(shoal: Any, visits: Path, tmp_path: Path) -> None:
    once = pl.read_csv(visits).unique("pcode", maintain_order=True)
    once.write_csv(tmp_path / "once.csv")
    words = "--qi", "age,gender,zip", "--sensitive", "disease", "--id", "visit,pcode", "-k", 5
    made = shoal("anonymize", tmp_path / "once.csv", *words, "--recoding", "generalization", "-o", tmp_path / "first")
    assert made.code == 0, made.err
    plan = tmp_path / "first.private/plan.json"
    applied = shoal("apply", plan, visits, "-o", tmp_path / "second")
    assert applied.code == 0, applied.err
    said = " ".join(applied.out.split())
    assert "The column 'pcode' repeats" in said
    assert "Name the column of persons, shoal anonymize --person pcode: " in said
    refused = shoal("apply", plan, visits, "-o", tmp_path / "third", "--strict")
    assert refused.code == 1
    assert not (tmp_path / "third").exists()


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("roles", "counted"),
    [(("--id", "pcode"), "Records"), (("--person", "pcode"), "Persons"), (("--person", "pcode", "--link"), "Persons")],
)
def test_the_unit_that_was_counted_is_stated(
    shoal: Any, visits: Path, tmp_path: Path, roles: Any, counted: str
) -> None:
    words = ("anonymize", visits, "--qi", "age,gender,zip", "--sensitive", "disease", "-k", 3, "-o", tmp_path / "out")
    made = shoal(*words, "--id", "visit", *roles)
    assert made.code == 0, made.err
    assert f"counts {counted} are counted." in " ".join(made.out.split())
    assert f"{counted} are counted." in (tmp_path / "out/report.html").read_text("utf-8")
    audited = shoal("audit", tmp_path / "out")
    assert audited.code == 0, audited.err
    # Persons are not in the public folder.
    assert ("records are counted" in " ".join(audited.out.lower().split())) == ("--link" not in roles)
