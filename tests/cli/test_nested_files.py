"""Files of somebody else that are nested too deep to be read are wrong input, not a bug."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NESTED = "[" * 100_000
ANONYMIZE = "anonymize patients.csv --qi age --id name,gender,zip,disease,visit_id -k 2"


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("release.toml", f"a = {NESTED}", "anonymize patients.csv --spec release.toml -o out"),
        ("certificate.json", NESTED, "audit ."),
        ("plan.json", NESTED, "apply plan.json patients.csv -o out"),
        ("found.json", NESTED, "audit patients.csv --qi age --attack found.json"),
        ("some.json", NESTED, f"{ANONYMIZE} --algorithm patterns --patterns some.json -o out"),
    ],
)
def test_a_file_that_is_nested_too_deep_is_wrong_input(
    shoal: Any, patients: Path, monkeypatch: pytest.MonkeyPatch, file: str, content: str, words: str
) -> None:
    monkeypatch.chdir(patients.parent)
    Path(file).write_text(content)
    found = shoal(*words.split())
    assert found.code == 2, found.err
    assert file in found.err
