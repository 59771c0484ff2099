"""Compiling ahead leaves what later runs load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.algorithms import ALGORITHMS
from shoal.cli.warm_up import _tasks

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_what_was_compiled_is_kept(shoal: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert shoal("warm-up", "risk", "--json").json["compiled"] == ["risk"]
    assert [path for path in tmp_path.rglob("*.nbc") if path.name.startswith("suda_kernel")]


def test_all_algorithms_can_be_named_and_others_cannot(shoal: Any) -> None:
    assert set(_tasks()) == {*ALGORITHMS, "grouping", "risk", "republish"}
    found = shoal("warm-up", "mondrain")
    assert (found.code, found.out) == (2, "")
    assert "mondrian" in found.err
