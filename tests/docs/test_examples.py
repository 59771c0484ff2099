"""The examples of docstrings give what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import shoal

HOME = Path(shoal.__file__).parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
ROOMS: dict[str, list[str]] = {}
for file in sorted(HOME.rglob("*.py")):
    if ">>> " in file.read_text(encoding="utf-8"):
        parts = file.relative_to(HOME.parent).with_suffix("").parts
        ROOMS.setdefault(parts[1], []).append(".".join(parts).removesuffix(".__init__"))


@pytest.mark.parametrize("room", ROOMS)
def test_examples_give_what_they_show(room: str) -> None:
    if room == "sklearn":
        pytest.importorskip("sklearn")
    for name in ROOMS[room]:
        found = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
        assert found.attempted, f"{name} shows prompts outside the docstrings that are tried"
        assert not found.failed, name
