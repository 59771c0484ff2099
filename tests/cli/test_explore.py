"""`shoal explore` and `shoal demo`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.every import THOROUGH

SEARCH = ("-l", 2, "--seed", 1, "--coarsenings")
SPEC = """input = "patients.csv"
columns.quasi_identifiers = ["age", "gender", "zip"]
columns.sensitive = ["disease"]
columns.direct_identifiers = ["name"]
columns.insensitive = ["visit_id"]
"""


@pytest.mark.drawn
def test_levels_side_by_side(shoal: Any, patients: Path, roles: Any, tmp_path: Path) -> None:
    levels = ("--levels", "k=2,4, 8", "--levels", "l=1,2")
    found = shoal("explore", patients, *roles, *levels, "--chart", tmp_path / "c.svg", "-o", tmp_path / "p.html")
    assert found.code == 0, found.err
    assert "k = 8, l = 2" in found.out
    assert "1 in 20" in found.out
    assert "Zyzzyva" not in found.out + found.err + (tmp_path / "p.html").read_text()
    assert {file.name for file in tmp_path.iterdir()} == {"patients.csv", "c.svg", "p.html"}


@pytest.mark.drawn
def test_the_chosen_level_is_published(shoal: Any, patients: Path, roles: Any, tmp_path: Path) -> None:
    others = ("--seed", 1, "--t-distance", "equal", "-t", "0.9")
    words = (*others, "--levels", "k=2,4,500", "-o", tmp_path / "out", "--choose", "k=4")
    found = shoal("explore", patients, *roles, *words, "--json")
    assert found.code == 0, found.err
    facts = found.json
    assert [row["text"] for row in facts["rows"]] == ["k = 2", "k = 4", "k = 500"]
    assert "-k 500" in facts["rows"][2]["error"] or "k = 500" in facts["rows"][2]["error"]
    assert facts["certificate"]["requested"][0]["k"] == 4
    assert facts["certificate"] == json.loads((tmp_path / "out.private" / "certificate.json").read_text())
    assert facts["rows"][1]["highest_risk"] == facts["certificate"]["risk"]["after"]["highest"]
    assert "Protection and loss" in (tmp_path / "out.private" / "report.html").read_text()
    again = shoal("anonymize", patients, *roles, "-k", 4, *others, "-o", tmp_path / "same")
    assert again.code == 0, again.err
    for name in ("release.csv", "certificate.json", "report.html"):
        assert (tmp_path / "same" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    kept = shoal("explore", patients, *roles, *words)
    assert kept.code == 2
    assert "exists" in kept.err


@pytest.mark.drawn
def test_a_spec_file_says_what_holds_at_every_level(shoal: Any, patients: Path, tmp_path: Path) -> None:
    spec = tmp_path / "release.toml"
    spec.write_text(f"{SPEC}privacy.k = 4\nprivacy.alpha = 0.9\n")
    found = shoal("explore", "--spec", spec, "--levels", "k=3,4", "--json").json["rows"]
    assert [(row["k"], row["requested"][0]["alpha"]) for row in found] == [(3, 0.9), (4, 0.9)]
    by_l = shoal("explore", "--spec", spec, "--levels", "l=2,3", "--json").json["rows"]
    assert [(row["k"], row["l"]) for row in by_l] == [(None, 2), (None, 3)]
    assert [{model.get("k") for model in row["requested"]} for row in by_l] == [{None, 4}] * 2
    alone = shoal("explore", "--spec", spec, "--levels", "l=2,3", "--choose", "l=3", "-o", tmp_path / "out")
    assert alone.code == 0, alone.err
    assert "l = 3" in alone.out


@pytest.mark.drawn
def test_every_algorithm_has_a_row(shoal: Any, patients: Path, roles: Any, tmp_path: Path) -> None:
    found = shoal("explore", patients, *roles, "-l", 4)
    assert found.code == 0, found.err
    assert all(name in found.out for name in ("tp", "tp+", "hilbert", "mondrian", "stars", "loss"))
    words = (*roles, "-l", 2, "--l-variant", "distinct", "--algorithms", "tp,mondrian,hilbert", "--loss", "stars")
    rows = shoal("explore", patients, *words, "--chart", tmp_path / "c.svg", "--json").json["rows"]
    assert [row["algorithm"] for row in rows] == ["tp", "mondrian", "hilbert"]
    assert rows[0]["error"]
    assert rows[1]["error"] is None
    assert rows[1]["loss"] == rows[1]["stars"] >= 0
    assert "tp: " in shoal("explore", patients, *words).out
    assert {file.name for file in tmp_path.iterdir()} == {"patients.csv", "c.svg"}


@pytest.mark.drawn
def test_the_best_coarsening_is_published_with_its_curve(
    shoal: Any, patients: Path, roles: Any, tmp_path: Path
) -> None:
    tree = tmp_path / "age.csv"
    tree.write_text("20;20-30;*\n30;20-30;*\n40;40-50;*\n50;40-50;*\n")
    flags = ("--hierarchy", f"age={tree}", "--coarsen", "zip=prefix:4", "--choose", "best", "-o", tmp_path / "out")
    found = shoal("explore", patients, *roles, *SEARCH, *flags, "--json")
    assert found.code == 0, found.err
    facts = found.json
    assert facts["ended"] in ("complete", "settled")
    assert facts["coarsen"]["zip"] == "prefix:4"
    assert {row["text"]: row["loss"] for row in facts["rows"]}[facts["best"]] <= facts["rows"][0]["loss"]
    assert facts["certificate"] == json.loads((tmp_path / "out.private" / "certificate.json").read_text())
    page = (tmp_path / "out.private" / "report.html").read_text()
    assert "How coarse was best" in page
    assert str(tmp_path) not in page
    public = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert public["parameters"]["tuned"] is True
    assert set(public["parameters"]["coarsen"]) == {"zip"}, "what was requested, not what was found"
    words = [flag for name, said in facts["coarsen"].items() for flag in ("--coarsen", f"{name}={said}")]
    again = shoal("anonymize", patients, *roles, *SEARCH[:-1], *words, "-o", tmp_path / "again", "--json")
    assert again.code == 0, again.err
    assert again.json["output"] == facts["certificate"]["output"]
    shown = shoal("explore", patients, *roles, *SEARCH, *flags, "--force")
    assert shown.code == 0, shown.err
    assert "everything in it" in shown.out
    assert "settings were tried" in shown.out
    spec = tmp_path / "release.toml"
    spec.write_text(f'{SPEC}privacy.l = 2\ncoarsen.age = "bins:20"\n')
    timed = shoal("explore", "--spec", spec, "--json", "--coarsenings", "--seconds", "1/10")
    assert timed.json["coarsen"]["age"] == "bins:20"


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--levels", "k=few"), 2, "not a number"),
        (("--levels", "few"), 2, "--levels has the form NAME=VALUE, such as"),
        (("--levels", "k=0"), 2, "-k must be"),
        (("--levels", "k=2,500", "--choose", "k=500", "-o", "OUT"), 1, "500"),
        (("--levels", "k=500"), 1, "500"),
        (("--choose", "k=5"), 2, "-o OUT"),
        (("-o", "OUT"), 2, "--choose"),
        (("--choose", "5,2,1", "-o", "OUT"), 2, "--choose has the form"),
        (("--levels", "k=2,4", "--choose", "k=5", "-o", "OUT"), 2, "no such candidate: k = 2 or k = 4"),
        (("--chart", "x.gif"), 2, ".svg"),
        (("--levels", "k=2", "--model", "alpha=2"), 2, "--model alpha must be"),
        (("--algorithms", "magic", "-l", 4), 2, "magic"),
        (("-l", 40), 1, "l"),
        (("-l", 4, "--loss", "l2"), 2, "--loss must be one of"),
        ((*SEARCH, "--seconds", 0), 2, "seconds"),
        ((*SEARCH, "--seconds", "soon"), 2, "not a number"),
        ((*SEARCH, "--loss", "stars"), 2, "kl_divergence"),
        (("--coarsenings",), 2, "privacy model"),
        ((*SEARCH, "--hierarchy", "disease=x.csv"), 2, "not a quasi-identifier"),
        ((*SEARCH, "--coarsen", "age=bins:9", "--coarsen", "gender=any", "--coarsen", "zip=any"), 2, "made coarser"),
    ],
)
def test_bad_calls(
    shoal: Any, patients: Path, roles: Any, words: Any, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(patients.parent)
    found = shoal("explore", patients, *roles, *words)
    assert found.code == code, found.err
    assert said in " ".join(found.err.split())
    assert "Zyzzyva" not in found.err
    assert not (patients.parent / "OUT").exists()


def test_the_demo_makes_a_release_of_a_real_table(shoal: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = shoal("demo", "--seed", 7)
    assert found.code == 0, found.err
    assert {file.name for file in (tmp_path / "demo-release").iterdir()} == {
        "release.csv",
        "certificate.json",
        "report.html",
        "report.json",
    }
    assert "demo-release.private/report.html" in found.out
    again = shoal("demo")
    assert again.code == 2
    if THOROUGH:
        forced = shoal("demo", "--force", "--json")
        assert forced.json == json.loads((tmp_path / "demo-release.private/certificate.json").read_text())
