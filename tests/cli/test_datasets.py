"""`shoal datasets` lists and writes tables to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


def test_it_lists_and_writes(shoal: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    listed = shoal("datasets")
    assert listed.code == 0
    assert "patients.csv" in listed.out
    assert "patients.csv" in shoal("datasets", "--json").json["datasets"]
    assert list(tmp_path.iterdir()) == []
    written = shoal("datasets", "patients.csv", "small.csv")
    assert written.code == 0, written.err
    assert {path.name for path in tmp_path.iterdir()} == {"patients.csv", "small.csv"}
    roles = ("--qi", "age,gender,zip", "--sensitive", "disease", "--id", "name,admitted", "--insensitive", "visit_id")
    assert shoal("anonymize", "patients.csv", *roles, "-l", 4, "-o", "out").code == 0
    (tmp_path / "small.csv").write_text("mine")
    kept = shoal("datasets", "small.csv")
    assert (kept.code, (tmp_path / "small.csv").read_text()) == (2, "mine")
    assert "--force" in kept.err
    forced = shoal("datasets", "small.csv", "--force", "--json")
    assert forced.json == {"files": ["small.csv"]}
    assert shoal("datasets", "nothing.csv").code == 2
