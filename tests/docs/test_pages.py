"""Every example of the README and of the guides runs, in the order of its page, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app

HOME = Path(shoal.__file__).parents[2]
PAGES = [HOME / "README.md", *sorted((HOME / "docs/guide").glob("*.md"))]
SHELL_SYNTAX = re.compile(r"[$|<>;&`]")


def run(example: Example) -> None:
    """Run the lines of a block, those of shoal in this process: a new one takes seconds to start."""
    lines = [line for line in re.sub(r"\\\n\s*", " ", str(example.parsed)).splitlines() if line.split("#")[0].strip()]
    if any(SHELL_SYNTAX.search(line.split("#")[0]) for line in lines):
        lines = [str(example.parsed)]
    for line in lines:
        alone = line.startswith("shoal ") and "\n" not in line
        code, said = run_here(line) if alone else run_in_shell(line)
        assert code == 0, f"{example.path}:{example.line}: {line}\n{said}"


def run_here(line: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
    return found.exit_code, found.stderr


def run_in_shell(block: str) -> tuple[int, str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block], env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(not PAGES[0].exists(), reason="an installed package has no README beside it")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_example_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/activate").touch()
    parsers: list[Any] = [SkipParser(), PythonCodeBlockParser(), CodeBlockParser(language="sh", evaluator=run)]
    document = Sybil(parsers=parsers, path=str(page.parent), patterns=[page.name]).parse(page)
    examples = list(document.examples())
    assert examples or page.stem in WORDS_ONLY, "a page without an example"
    for example in examples:
        example.evaluate()


WORDS_ONLY = ("distances", "risk-measures")
"""Pages that only explain."""
