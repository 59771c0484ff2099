"""A table of patients, and a way to call the command line in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shoal.cli.main import app


@dataclass(frozen=True, kw_only=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output; fails where there is anything else."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


Shoal = Callable[..., Outcome]


@pytest.fixture(scope="session")
def shoal() -> Shoal:
    def call(*words: object, stdin: str | None = None) -> Outcome:
        result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
        return Outcome(code=result.exit_code, out=result.stdout, err=result.stderr)

    return call


ROWS = 240
SECRET = "Zyzzyva"
"""Part of every name and disease of the table: it must not appear where cells must not."""


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    """A CSV of 240 patients: 24 combinations of quasi-identifiers, 6 diseases."""
    lines = ["name,age,gender,zip,disease,visit_id"]
    for row in range(ROWS):
        age, gender, zip_code = 20 + row % 4 * 10, "FM"[row % 2], 10001 + row % 3
        lines.append(f"{SECRET}{row},{age},{gender},{zip_code},{SECRET}-disease-{row * 7 % 11 % 6},{900_000 + row}")
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


ROLES = ("--qi", "age,gender,zip", "--sensitive", "disease", "--id", "name", "--insensitive", "visit_id")


@pytest.fixture
def roles() -> tuple[str, ...]:
    return ROLES
