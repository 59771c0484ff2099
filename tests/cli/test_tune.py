"""`shoal tune`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

REQUEST = ("-l", 2, "--seed", 1)


def test_it_says_what_is_best_and_how_to_ask_for_it(shoal: Any, patients: Path, roles: Any, tmp_path: Path) -> None:
    found = shoal("tune", patients, *roles, *REQUEST, "--loss", "gcp")
    assert found.code == 0, found.err
    assert "settings were tried" in found.out
    assert "untouched" in found.out
    assert {file.name for file in tmp_path.iterdir()} == {"patients.csv"}


def test_the_best_release_is_published_with_its_curve(shoal: Any, patients: Path, roles: Any, tmp_path: Path) -> None:
    tree = tmp_path / "age.csv"
    tree.write_text("20;20-30;*\n30;20-30;*\n40;40-50;*\n50;40-50;*\n")
    flags = (*REQUEST, "--hierarchy", f"age={tree}", "--coarsen", "zip=prefix:4", "-o", tmp_path / "out")
    found = shoal("tune", patients, *roles, *flags, "--json")
    assert found.code == 0, found.err
    facts = found.json
    assert facts["ended"] in ("complete", "settled")
    assert facts["coarsen"]["zip"] == "prefix:4"
    assert facts["best"]["loss"] <= facts["untouched"]["loss"]
    assert facts["certificate"] == json.loads((tmp_path / "out.private" / "certificate.json").read_text())
    page = (tmp_path / "out.private" / "report.html").read_text()
    assert "How coarse was best" in page
    public = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert public["parameters"]["tuned"] is True
    assert set(public["parameters"]["coarsen"]) == {"zip"}, "what was asked for, not what was found"
    assert str(tmp_path) not in page
    words = [flag for name, said in facts["coarsen"].items() for flag in ("--coarsen", f"{name}={said}")]
    again = shoal("anonymize", patients, *roles, *REQUEST, *words, "-o", tmp_path / "again", "--json")
    assert again.code == 0, again.err
    assert again.json["output"] == facts["certificate"]["output"]
    kept = shoal("tune", patients, *roles, *flags)
    assert kept.code == 2
    assert "exists" in kept.err
    shown = shoal("tune", patients, *roles, *flags, "--force")
    assert shown.code == 0, shown.err
    assert "everything in it" in shown.out
    assert "settings were tried" in shown.out


def test_a_spec_file_asks_for_the_same(shoal: Any, patients: Path, tmp_path: Path) -> None:
    spec = tmp_path / "release.toml"
    spec.write_text(
        'input = "patients.csv"\ncolumns.quasi_identifiers = ["age", "gender", "zip"]\n'
        'columns.sensitive = ["disease"]\ncolumns.direct_identifiers = ["name"]\ncolumns.insensitive = ["visit_id"]\n'
        'privacy.l = 2\ncoarsen.age = "bins:20"\n'
    )
    assert tomllib.loads(spec.read_text())["coarsen"] == {"age": "bins:20"}
    found = shoal("tune", "--spec", spec, "--json", "--seconds", "1/10")
    assert found.code == 0, found.err
    assert found.json["coarsen"]["age"] == "bins:20"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("-l", 2, "--seconds", 0), 2, "seconds"),
        (("-l", 2, "--seconds", "soon"), 2, "not a number"),
        (("-l", 2, "--loss", "stars"), 2, "kl_divergence"),
        (("-l", 40), 1, "l"),
        ((), 2, "privacy model"),
        (("-l", 2, "--hierarchy", "disease=x.csv"), 2, "not a quasi-identifier"),
        (("-l", 2, "--coarsen", "age=bins:9", "--coarsen", "gender=any", "--coarsen", "zip=any"), 2, "made coarser"),
    ],
)
def test_bad_calls(shoal: Any, patients: Path, roles: Any, words: tuple[object, ...], code: int, said: str) -> None:
    found = shoal("tune", patients, *roles, *words)
    assert found.code == code, found.err
    assert said in found.err
    assert "Zyzzyva" not in found.err
