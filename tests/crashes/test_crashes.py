"""A short part of the trials of `harness`, which has the command for thousands of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be copied")
@pytest.mark.parametrize(("trials", "commands"), [("60", ["folder"]), ("16", ["rotate", "erase"])])
def test_kills_signals_and_failing_calls_lose_nothing_and_are_told(trials: str, commands: list[str]) -> None:
    words = [sys.executable, "-m", "tests.crashes.harness", trials, *commands]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
