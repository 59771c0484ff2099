"""Compiling ahead runs whatever there is to compile, in processes of its own."""

from __future__ import annotations

from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.cli.warm_up import _tasks


def test_what_is_named_runs_to_its_end(shoal: Any) -> None:
    found = shoal("warm-up", "republish", "--processes", 1, "--json")
    assert found.code == 0, found.err
    assert found.json["compiled"] == ["republish"]


def test_all_algorithms_can_be_named_and_others_cannot(shoal: Any) -> None:
    assert set(_tasks()) == {*ALGORITHMS, "grouping", "risk", "republish"}
    found = shoal("warm-up", "mondrain")
    assert (found.code, found.out) == (2, "")
    assert "mondrian" in found.err
