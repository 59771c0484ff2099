"""A short part of the trials of `harness`, which has the command for thousands of them."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tests.every import few


@pytest.mark.skipif(
    not (sys.platform == "linux" and shutil.which("cc")), reason="needs a library that is loaded before others"
)
@pytest.mark.parametrize(
    ("trials", "commands"),
    [
        pytest.param("each", ["folder"], marks=pytest.mark.thorough),
        (str(few(30, least=6)), ["rotate", "erase", "series", "folder"]),
    ],
)
def test_kills_signals_and_failing_calls_lose_nothing_and_are_told(trials: str, commands: list[str]) -> None:
    words = [sys.executable, "-m", "tests.crashes.harness", trials, *commands]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
