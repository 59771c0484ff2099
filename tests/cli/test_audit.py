"""`shoal audit` judges any table, and says it by its exit code too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SECRET = "Zyzzyva"


@pytest.fixture
def release(shoal: Any, patients: Path, roles: tuple[str, ...], tmp_path: Path) -> Path:
    assert shoal("anonymize", patients, *roles, "-l", 4, "-o", tmp_path / "out").code == 0
    return tmp_path / "out/release.csv"


def test_a_release_agrees_with_its_certificate(shoal: Any, release: Path, roles: tuple[str, ...]) -> None:
    import json

    certificate = json.loads((release.parent / "certificate.json").read_text())
    found = shoal("audit", release, *roles[:4], "--json")
    assert found.code == 0
    assert found.json["achieved"] == certificate["achieved"]
    assert found.json["violations"] == []
    assert SECRET not in found.out


def test_it_is_said_in_sentences(shoal: Any, release: Path, roles: tuple[str, ...]) -> None:
    found = shoal("audit", release, *roles[:4], "-l", 4)
    assert found.code == 0, found.err
    assert "l (frequency)" in found.out
    assert "Every record shares its quasi-identifiers with at least" in " ".join(found.out.split())
    assert SECRET not in found.out


@pytest.mark.parametrize(
    ("words", "code"), [(("-k", 2), 0), (("-k", 200), 3), (("-l", 40), 3), (("-l", 4, "-k", 2), 0)]
)
def test_the_exit_code_says_whether_a_requirement_is_met(
    shoal: Any, release: Path, roles: tuple[str, ...], words: tuple[object, ...], code: int
) -> None:
    found = shoal("audit", release, *roles[:4], *words)
    assert found.code == code, found.err
    assert bool(found.err) == (code == 3)
    as_json = shoal("audit", release, *roles[:4], *words, "--json")
    assert as_json.code == code
    assert bool(as_json.json["violations"]) == (code == 3)


def test_unique_rows_are_warned_of(shoal: Any, tmp_path: Path) -> None:
    table = tmp_path / "raw.csv"
    table.write_text(f"age,zip,disease\n1,1,{SECRET}\n1,1,{SECRET}\n2,2,flu\n3,3,flu\n")
    found = shoal("audit", table, "--qi", "age,zip", "--sensitive", "disease")
    said = " ".join(found.out.split())
    assert found.code == 0
    assert "Warning: k = 1. 2 records are unique" in said
    assert "Warning: l = 1" in said
    assert SECRET not in found.out + found.err


def test_a_spec_names_columns_and_requirement(shoal: Any, release: Path, tmp_path: Path) -> None:
    spec = tmp_path / "release.toml"
    spec.write_text(
        '[columns]\nquasi_identifiers = ["age", "gender", "zip"]\nsensitive = ["disease"]\ninsensitive = ["visit_id"]\n'
        "[privacy]\nk = 200\n"
    )
    assert shoal("audit", release, "--spec", spec).code == 3
    assert shoal("audit", release, "--spec", spec, "-k", 2).code == 0


@pytest.mark.parametrize("words", [(), ("--qi", "aeg"), ("--qi", "age", "--sensitive", "diseas")])
def test_wrong_columns(shoal: Any, release: Path, words: tuple[str, ...]) -> None:
    found = shoal("audit", release, *words)
    assert found.code == 2
    assert SECRET not in found.err


def test_a_file_that_is_not_there(shoal: Any, tmp_path: Path) -> None:
    found = shoal("audit", tmp_path / "none.csv", "--qi", "age")
    assert found.code == 2
    assert "none.csv" in found.err
