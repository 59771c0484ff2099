"""Compilation is announced once, where it takes a while, and only there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shoal._core.compiling import notices
from shoal.cli import compilation


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Time as the test says: the last entry."""
    times = [0.0]
    monkeypatch.setattr(notices.time, "perf_counter", lambda: times[-1])
    return times


def compile_for(seconds: float, clock: list[float]) -> None:
    notices.begin()
    clock.append(clock[-1] + seconds)
    notices.end()


def test_it_is_said_once(clock: list[float]) -> None:
    said: list[str] = []
    with compilation.announced_compilation(said.append):
        compile_for(0.2, clock)
        assert said == []
        notices.begin()
        compile_for(0.2, clock)
        assert said == [compilation.WORDS], "while the outer function still compiles"
        notices.end()
        compile_for(9, clock)
    compile_for(9, clock)
    assert said == [compilation.WORDS]


def test_time_between_compilations_does_not_count(clock: list[float]) -> None:
    said: list[str] = []
    with compilation.announced_compilation(said.append):
        compile_for(0.1, clock)
        clock.append(clock[-1] + 60)
        compile_for(0.1, clock)
    assert said == []


@pytest.mark.parametrize("words", [("group", "ordered"), ("anonymize", "--qi", "age", "--json")], ids=" ".join)
def test_it_is_said_on_standard_error(
    shoal: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...]
) -> None:
    @contextmanager
    def at_once(say: Callable[[str], None]) -> Iterator[None]:
        say("Compiling.")
        yield

    monkeypatch.setattr(compilation, "announced_compilation", at_once)
    values = tmp_path / "values.csv"
    values.write_text("age\n" + "\n".join(str(age) for age in range(9)) + "\n")
    found = shoal(*words, values, "-k", "3", "-o", tmp_path / "out")
    assert (found.code, found.err) == (0, "Compiling.\n")
    assert "Compiling" not in found.out
