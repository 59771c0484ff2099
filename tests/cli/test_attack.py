"""`shoal attack`: every attack on a release of shoal, and on a hand-made one in another tool's form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.attacks import ATTACKS
from shoal.report import describe_attack

RATES = {"attack", "attempts", "successes", "rate", "low", "high", "baseline", "control", "columns_not_understood"}
ALONE = ("homogeneity", "background", "skewness", "similarity")


@pytest.fixture
def hand_made(tmp_path: Path) -> Path:
    """A release as another tool writes it, with half-open intervals, nodes of a hierarchy and stars; and people."""
    rng = np.random.default_rng(4)
    age, job = rng.integers(20, 40, 120), rng.choice(["nurse", "doctor", "baker", "smith"], 120)
    zip_code, income = rng.choice(["47601", "47602", "47905"], 120), rng.integers(1, 9, 120) * 500
    people = pl.DataFrame({"name": [f"p{one}" for one in range(120)], "age": age, "job": job, "zip": zip_code})
    people = people.with_columns(income=pl.Series(income))
    people[:80].write_csv(tmp_path / "members.csv")
    people[80:].write_csv(tmp_path / "controls.csv")
    people.write_csv(tmp_path / "people.csv")
    people[:80].select("name").write_csv(tmp_path / "truth.csv")
    tree = {"nurse": "health", "doctor": "health", "baker": "craft", "smith": "craft"}
    (tmp_path / "jobs.csv").write_text("".join(f"{leaf};{node};*\n" for leaf, node in tree.items()))
    people[:80].select(
        pl.Series("age", [f"[{one // 10 * 10}, {one // 10 * 10 + 10}[" for one in age[:80].tolist()]),
        pl.Series("job", [tree[one] for one in job[:80].tolist()]),
        pl.Series("zip", [one[:3] + "**" for one in zip_code[:80].tolist()]),
        "income",
    ).write_csv(tmp_path / "release.csv", separator=";")
    return tmp_path


def words_for(name: str, folder: Path) -> tuple[object, ...]:
    """Return what an attack needs beside the release."""
    people = ("--targets", folder / "members.csv", "--controls", folder / "controls.csv")
    return {
        "linking": ("--population", folder / "people.csv", "--id", "name", "--truth", folder / "truth.csv"),
        "intersection": ("--population", folder / "members.csv", "--id", "name"),
        "minimality": ("--people", folder / "members.csv", "-l", "2"),
        "similarity": ("--within", "500", *people),
        "background": ("-j", "2", *people),
        "refinement": ("--smallest",),
        "singling-out": ("--targets", folder / "members.csv"),
        "skewness": ("-t", "0.3", "--t-distance", "ordered", *people),
    }.get(name, people)


ROLES = ("--qi", "age,job,zip", "--sensitive", "income")


def test_every_attack_on_another_tools_release(shoal: Any, hand_made: Path) -> None:
    pytest.importorskip("sklearn")
    tree = ("--hierarchy", f"job={hand_made / 'jobs.csv'}")
    for name in ATTACKS:
        call = ("attack", name, hand_made / "release.csv", *ROLES, *tree, *words_for(name, hand_made))
        found = shoal(*call, "--json").json
        assert found["attack"] == name
        assert found["columns_not_understood"] == []
        said = shoal(*call)
        assert (said.code, said.err) == (0, "")
        if name not in ("inference", "singling-out"):  # these draw at random
            assert " ".join(said.out.split()).startswith(" ".join(describe_attack(found)))
        assert set(found) >= RATES
        if name == "refinement":
            # Cells are attacked: of 80 records, the zip codes are masks and have no size.
            assert (found["attempts"], found["not_measured_columns"][0]["column"]) == (160, "zip")
            assert "Of 160 hidden cells" in " ".join(said.out.split())
            continue
        if name == "singling-out":
            assert (found["people"], found["weight"]) == (80, 1 / 8000)
            assert "of exactly one of 80 people" in " ".join(said.out.split())
            assert found["by_kind"][0]["attempts"] > found["by_kind"][0]["successes"]
            continue
        assert found["attempts"] == 80
        assert found["low"] <= found["rate"] <= found["high"]
        if name != "intersection":
            assert " Of 80 " in f" {said.out}".replace("\n", " ")
        for cell in ("nurse", "47601", "p17", "health"):
            assert cell not in said.out + said.err


def test_every_attack_on_a_release_of_shoal(shoal: Any, hand_made: Path) -> None:
    pytest.importorskip("sklearn")
    made = shoal(
        *("anonymize", hand_made / "members.csv", *ROLES, "--id", "name", "-l", "2", "--keep-order"),
        *("--algorithm", "mondrian", "--recoding", "generalization", "-o", hand_made / "out"),
    )
    assert made.code == 0, made.err
    for name in ATTACKS:
        found = shoal("attack", name, hand_made / "out", *words_for(name, hand_made), "--json").json
        assert found["attack"] == name, found
        if name == "linking":
            assert found["verified"]
        assert found["attempts"] == 80 or name in ("refinement", "singling-out")


def test_groups_need_no_people(shoal: Any, hand_made: Path) -> None:
    for name in ALONE:
        extra = ("--within", "500") if name == "similarity" else ()
        said = shoal("attack", name, hand_made / "release.csv", *ROLES, *extra, "--explain")
        assert said.code == 0, said.err
        assert "Reference:" in said.out
        assert "control" not in said.out


def test_what_is_not_understood_is_said(shoal: Any, hand_made: Path) -> None:
    for name in ("linking", "homogeneity", "minimality", "inference", "intersection"):
        said = shoal("attack", name, hand_made / "release.csv", *ROLES, *words_for(name, hand_made), "--json")
        assert said.code == 2
        assert said.json["columns_not_understood"] == ["job"]
        assert "'job'" in said.json["error"]
        assert "--hierarchy job=FILE" in said.json["error"]
        assert "nurse" not in said.out + said.err


def test_minimality_with_the_algorithm(shoal: Any, tmp_path: Path) -> None:
    people = pl.DataFrame({"q": ["a", "a", "b", "b", "b", "b"], "s": ["x", "x", "y", "y", "z", "z"]})
    people.write_csv(tmp_path / "people.csv")
    asked = ("--qi", "q", "--sensitive", "s", "-l", "2", "--algorithm", "tp", "--seed", "0")
    assert shoal("anonymize", tmp_path / "people.csv", *asked, "-o", tmp_path / "out").code == 0
    call = ("attack", "minimality", tmp_path / "out", "--people", tmp_path / "people.csv", "-l", "2")
    found = shoal(*call, "--algorithm", "tp", "--json").json
    assert (found["method"], found["tried"]) == ("enumeration", 90)
    assert found["largest_belief"] > found["largest_belief_before"] - 1e-9
    said = shoal(*call, "--algorithm", "tp", "--limit", "10")
    assert said.code == 2
    assert "--limit" in said.err


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("homogeneity", ("--controls", "controls.csv"), "--targets and --controls"),
        ("homogeneity", ("--qi", "jobb"), "Did you mean 'job'?"),
        ("homogeneity", ("--qi", "job"), "--qi names a column twice"),
        ("background", ("-j", "-1"), "-j must be a whole number >= 0"),
        ("skewness", ("-t", "7"), "-t must be a number"),
        ("skewness", ("--t-distance", "far"), "--t-distance must be"),
        ("similarity", (), "--within"),
        ("similarity", ("--sensitive-hierarchy", "jobs.csv"), "not in the hierarchy"),
        ("minimality", ("--people", "people.csv", "-l", "2"), "exactly those"),
        ("linking", ("--population", "people.csv", "--id", "name", "--truth", "jobs.csv"), "no column 'name'"),
    ],
)
def test_bad_input(shoal: Any, hand_made: Path, name: str, words: tuple[str, ...], message: str) -> None:
    given = [hand_made / one if one.endswith(".csv") else one for one in words]
    said = shoal("attack", name, hand_made / "release.csv", *ROLES, *given)
    assert said.code == 2
    assert message in " ".join(said.err.split())


def test_refinement_has_another_name(shoal: Any, hand_made: Path) -> None:
    call = (hand_made / "release.csv", *ROLES, "--hierarchy", f"job={hand_made / 'jobs.csv'}", "--smallest", "--json")
    assert shoal("attack", "downcoding", *call).json == shoal("attack", "refinement", *call).json
    refused = shoal("attack", "refinement", *call[:-2])
    assert refused.code == 2
    assert "--smallest" in refused.err
    assert "downcoding" not in shoal("attack", "--help").out
