"""`shoal compare` and `shoal demo`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def test_every_algorithm_has_a_row(shoal: Any, patients: Path, roles: tuple[str, ...], tmp_path: Path) -> None:
    found = shoal("compare", patients, *roles, "-l", 4, "--algorithms", "tp,tp+,mondrian", "--json")
    assert found.code == 0, found.err
    rows = found.json["rows"]
    assert [row["algorithm"] for row in rows] == ["tp", "tp+", "mondrian"]
    assert all(row["error"] is None and row["stars"] >= 0 and row["groups"] >= 1 for row in rows)
    assert {file.name for file in tmp_path.iterdir()} == {"patients.csv"}


def test_the_table_shows_all(shoal: Any, patients: Path, roles: tuple[str, ...]) -> None:
    found = shoal("compare", patients, *roles, "-l", 4)
    assert found.code == 0, found.err
    assert all(name in found.out for name in ("tp", "tp+", "hilbert", "mondrian", "stars", "GCP"))


def test_an_algorithm_that_cannot_serve_says_so(shoal: Any, patients: Path, roles: tuple[str, ...]) -> None:
    words = (*roles, "-l", 2, "--l-variant", "distinct", "--algorithms", "tp,mondrian")
    found = shoal("compare", patients, *words)
    assert found.code == 0, found.err
    rows = shoal("compare", patients, *words, "--json").json["rows"]
    assert rows[0]["error"]
    assert rows[1]["error"] is None
    assert "tp: " in found.out


def test_a_chart_in_a_file_and_on_the_terminal(
    shoal: Any, patients: Path, roles: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*roles, "-l", 4, "--algorithms", "tp,tp+", "--loss", "kl_divergence")
    found = shoal("compare", patients, *words, "--chart", tmp_path / "chart.svg", "--json")
    assert found.code == 0, found.err
    assert found.json["loss"] == "kl_divergence"
    assert "KL-divergence" in (tmp_path / "chart.svg").read_text()
    monkeypatch.setenv("COLUMNS", "100")
    assert "KL-divergence" in shoal("compare", patients, *words).out
    monkeypatch.setenv("COLUMNS", "60")
    assert "KL-divergence" not in shoal("compare", patients, *words).out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--algorithms", "magic", "-l", 4), 2),
        (("-l", 40), 1),
        (("-l", 4, "--loss", "l2"), 2),
        (("-l", 4, "--chart", "chart.pdf"), 2),
    ],
)
def test_what_cannot_be_compared(shoal: Any, patients: Path, roles: Any, words: tuple[object, ...], code: int) -> None:
    assert shoal("compare", patients, *roles, *words).code == code


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
    forced = shoal("demo", "--force", "--json")
    assert forced.json == json.loads((tmp_path / "demo-release.private/certificate.json").read_text())
