"""`shoal tradeoff`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def test_levels_side_by_side(shoal: Any, patients: Path, roles: Any, tmp_path: Path) -> None:
    found = shoal("tradeoff", patients, *roles, "--k", "2,4, 8", "--l", "1,2", "--chart", tmp_path / "c.svg")
    assert found.code == 0, found.err
    assert "k = 8, l = 2" in found.out
    assert "1 in 20" in found.out
    assert "Zyzzyva" not in found.out + found.err
    assert {file.name for file in tmp_path.iterdir()} == {"patients.csv", "c.svg"}


def test_the_chosen_level_is_published(shoal: Any, patients: Path, roles: Any, tmp_path: Path) -> None:
    flags = ("--seed", 1, "--t-distance", "equal", "-t", "0.9", "-o", tmp_path / "out", "--choose", "4")
    found = shoal("tradeoff", patients, *roles, "-k", "2,4,500", *flags, "--page", tmp_path / "p.html", "--json")
    assert found.code == 0, found.err
    facts = found.json
    assert [choice["level"] for choice in facts["choices"]] == ["k = 2", "k = 4", "k = 500"]
    assert "-k 500" in facts["choices"][2]["error"] or "k = 500" in facts["choices"][2]["error"]
    assert facts["certificate"]["requested"][0]["k"] == 4
    assert facts["certificate"] == json.loads((tmp_path / "out.private" / "certificate.json").read_text())
    assert facts["choices"][1]["highest_risk"] == facts["certificate"]["risk"]["after"]["highest"]
    assert "Protection and loss" in (tmp_path / "out.private" / "report.html").read_text()
    same = ("-k", 4, "-t", "0.9", "--t-distance", "equal", "--seed", 1, "-o", tmp_path / "same")
    again = shoal("anonymize", patients, *roles, *same)
    assert again.code == 0, again.err
    for name in ("release.csv", "certificate.json", "report.html"):
        assert (tmp_path / "same" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    kept = shoal("tradeoff", patients, *roles, "-k", "2,4", *flags)
    assert kept.code == 2
    assert "exists" in kept.err


def test_a_spec_file_says_what_holds_at_every_level(shoal: Any, patients: Path, tmp_path: Path) -> None:
    spec = tmp_path / "release.toml"
    spec.write_text(
        'input = "patients.csv"\ncolumns.quasi_identifiers = ["age", "gender", "zip"]\n'
        'columns.sensitive = ["disease"]\ncolumns.direct_identifiers = ["name"]\ncolumns.insensitive = ["visit_id"]\n'
        "privacy.k = 4\nprivacy.alpha = 0.9\n"
    )
    found = shoal("tradeoff", "--spec", spec, "--json")
    assert found.code == 0, found.err
    assert [choice["k"] for choice in found.json["choices"]] == [3, 4, 5, 10, 20, 50]
    assert {choice["requested"][0]["alpha"] for choice in found.json["choices"]} == {0.9}
    by_l = shoal("tradeoff", "--spec", spec, "-l", "2,3", "--json")
    assert [(choice["k"], choice["l"]) for choice in by_l.json["choices"]] == [(None, 2), (None, 3)]
    assert [{model.get("k") for model in choice["requested"]} for choice in by_l.json["choices"]] == [{None, 4}] * 2
    alone = shoal("tradeoff", "--spec", spec, "-l", "2,3", "--choose", "3", "-o", tmp_path / "out")
    assert alone.code == 0, alone.err
    assert "l = 3" in alone.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--k", "few"), 2, "not a number"),
        (("--k", "0"), 2, "-k must be"),
        (("--k", "2,500", "--choose", "500", "-o", "OUT"), 1, "500"),
        (("--k", "500"), 1, "500"),
        (("--choose", "5"), 2, "-o OUT"),
        (("-o", "OUT"), 2, "--choose"),
        (("--choose", "5,2,1", "-o", "OUT"), 2, "more than one"),
        (("--k", "2,4", "--choose", "5", "-o", "OUT"), 2, "no such level: k = 2 or k = 4"),
        (("--chart", "x.gif"), 2, ".svg"),
        (("--page", "x.pdf"), 2, ".html"),
        (("--alpha", "2"), 2, "--model alpha must be"),
    ],
)
def test_bad_calls(
    shoal: Any, patients: Path, roles: Any, words: Any, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(patients.parent)
    found = shoal("tradeoff", patients, *roles, *words)
    assert found.code == code, found.err
    assert said in " ".join(found.err.split())
    assert "Zyzzyva" not in found.err
    assert not (patients.parent / "OUT").exists()
