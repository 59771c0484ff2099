"""`shoal attack`: every attack on a release of shoal, and on a hand-made one in another tool's form."""

from __future__ import annotations

import re
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
        "linking": ("--population", folder / "people.csv", "--id", "name", "--param", f"truth={folder / 'truth.csv'}"),
        "intersection": ("--population", folder / "members.csv", "--id", "name"),
        "minimality": ("--targets", folder / "members.csv", "--param", "l=2"),
        "similarity": ("--param", "within=500", *people),
        "background": ("--param", "j=2", *people),
        "refinement": ("--param", "smallest=true"),
        "singling-out": ("--targets", folder / "members.csv"),
        "skewness": ("--param", "t=0.3", "--param", "distance=ordered", *people),
    }.get(name, people)


ROLES = ("--qi", "age,job,zip", "--sensitive", "income")


@pytest.mark.drawn
def test_every_attack_on_another_tools_release(shoal: Any, hand_made: Path) -> None:
    pytest.importorskip("sklearn")
    tree = ("--hierarchy", f"job={hand_made / 'jobs.csv'}")
    for name in ATTACKS:
        call = ("attack", "--method", name, hand_made / "release.csv", *ROLES, *tree, *words_for(name, hand_made))
        found = shoal(*call, "--json").json
        assert found["attack"] == name
        assert found["columns_not_understood"] == []
        said = shoal(*call)
        assert (said.code, said.err) == (0, "")
        if name not in ("inference", "singling-out"):  # these draw at random
            assert " ".join(describe_attack(found)) in " ".join(said.out.split())
        assert set(found) >= RATES
        if name == "refinement":
            # Cells are attacked: of 80 records, the zip codes are masks and have no size.
            assert (found["attempts"], found["not_measured_columns"][0]["column"]) == (160, "zip")
            assert "Of 160 coarser cells" in " ".join(said.out.split())
            continue
        if name == "singling-out":
            assert (found["people"], found["weight"]) == (80, 1 / 8000)
            assert "exactly one of 80 people" in " ".join(said.out.split())
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
        found = shoal("attack", "--method", name, hand_made / "out", *words_for(name, hand_made), "--json").json
        assert found["attack"] == name, found
        if name == "linking":
            assert found["verified"]
        assert found["attempts"] == 80 or name in ("refinement", "singling-out")


def test_groups_need_no_people(shoal: Any, hand_made: Path) -> None:
    for name in ALONE:
        extra = ("--param", "within=500") if name == "similarity" else ()
        said = shoal("attack", "--method", name, hand_made / "release.csv", *ROLES, *extra, "--explain")
        assert said.code == 0, said.err
        assert "Reference:" in said.out
        assert "control" not in said.out


def test_what_is_not_understood_is_said(shoal: Any, hand_made: Path) -> None:
    for name in ("linking", "homogeneity", "minimality", "inference", "intersection"):
        said = shoal(
            "attack", "--method", name, hand_made / "release.csv", *ROLES, *words_for(name, hand_made), "--json"
        )
        assert said.code == 2
        assert said.json["columns_not_understood"] == ["job"]
        assert "'job'" in said.json["error"]
        assert "--hierarchy job=FILE" in said.json["error"]
        assert "nurse" not in said.out + said.err


@pytest.mark.drawn
def test_minimality_with_the_algorithm(shoal: Any, tmp_path: Path) -> None:
    people = pl.DataFrame({"q": ["a", "a", "b", "b"], "s": ["x", "x", "y", "z"]})
    people.write_csv(tmp_path / "people.csv")
    asked = ("--qi", "q", "--sensitive", "s", "-l", "2", "--algorithm", "tp", "--seed", "0")
    assert shoal("anonymize", tmp_path / "people.csv", *asked, "-o", tmp_path / "out").code == 0
    call = (
        "attack",
        tmp_path / "out",
        "--method",
        "minimality",
        "--targets",
        tmp_path / "people.csv",
        "--param",
        "l=2",
    )
    found = shoal(*call, "--param", "algorithm=tp", "--json").json
    assert (found["method"], found["tried"]) == ("enumeration", 12)
    assert found["largest_belief"] > found["largest_belief_before"] - 1e-9
    said = shoal(*call, "--param", "algorithm=tp", "--param", "limit=10")
    assert said.code == 2
    assert "--param limit" in said.err


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("homogeneity", ("--controls", "controls.csv"), "--targets and --controls"),
        ("homogeneity", ("--qi", "jobb"), "Did you mean 'job'?"),
        ("homogeneity", ("--qi", "job"), "--qi names a column twice"),
        ("background", ("--param", "j=-1"), "--param j must be a whole number >= 0"),
        ("skewness", ("--param", "t=7"), "--param t must be a number"),
        ("skewness", ("--param", "distance=far"), "--param distance must be"),
        ("similarity", (), "--param within"),
        ("similarity", ("--param", "hierarchy=jobs.csv"), "not in the hierarchy"),
        ("minimality", ("--targets", "people.csv", "--param", "l=2"), "exactly those"),
        (
            "linking",
            ("--population", "people.csv", "--id", "name", "--param", "truth=jobs.csv"),
            "names read as values",
        ),
        ("linking", (), "needs --population and --id"),
        ("homogeneity", ("--param", "j=2"), "has a parameter 'j'"),
        ("homogenity", (), "Did you mean 'homogeneity'?"),
    ],
)
def test_bad_input(shoal: Any, hand_made: Path, name: str, words: tuple[str, ...], message: str) -> None:
    given = [re.sub(r"[a-z]+\.csv", lambda file: str(hand_made / file[0]), one) for one in words]
    said = shoal("attack", "--method", name, hand_made / "release.csv", *ROLES, *given)
    assert said.code == 2
    assert message in " ".join(said.err.split())


def test_refinement_has_another_name(shoal: Any, hand_made: Path) -> None:
    tree = ("--hierarchy", f"job={hand_made / 'jobs.csv'}")
    call = (hand_made / "release.csv", *ROLES, *tree, "--param", "smallest=true", "--json")
    named = ("attack", "--method", "refinement", *call)
    assert shoal("attack", "--method", "downcoding", *call).json == shoal(*named).json
    refused = shoal(*named[:-3])
    assert refused.code == 2
    assert "--param smallest=true" in refused.err
    assert "downcoding" not in shoal("attack", "--help").out


def test_without_a_name_all_attacks_run_that_can(shoal: Any, hand_made: Path) -> None:
    call = ("attack", hand_made / "release.csv", *ROLES, "--hierarchy", f"job={hand_made / 'jobs.csv'}")
    found = shoal(*call, "--json").json
    assert [one["attack"] for one in found["attacks"]] == ["homogeneity", "background", "skewness"]
    left = {one["attack"]: one["reason"] for one in found["not_run"]}
    assert set(left) == set(ATTACKS) - {"homogeneity", "background", "skewness", "intersection"}
    assert left["linking"] == "It needs --population and --id."
    said = shoal(*call, "--targets", hand_made / "members.csv", "--param", "l=2", "--param", "within=500")
    assert said.code == 0, said.err
    for title in ("Homogeneity", "Similarity", "Singling out", "Minimality"):
        assert title in said.out
    assert "Not run: linking." in said.err
    one_page = shoal(*call, "-o", hand_made / "page")
    assert (one_page.code, "--method homogeneity" in one_page.err) == (2, True)
    old = shoal("attack", "homogeneity", hand_made / "release.csv")
    assert (old.code, "--method homogeneity" in old.err) == (2, True)
