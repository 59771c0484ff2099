"""The page for contributors names files and functions that exist."""

import re
from pathlib import Path

from tests.every import every

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "project" / "how-it-works-inside.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([a-z_/]+\.pyi?)`", PAGE)))


@every("name", NAMED)
def test_files_of_the_page_exist(name: str) -> None:
    assert any(
        (ROOT / folder / name).exists()
        for folder in (".", "src/shoal", "src/shoal/pipeline", "src/shoal/algorithms/common")
    )


def test_names_of_the_page_are_defined() -> None:
    assert len(NAMED) > 20
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "shoal").rglob("*.py"))
    names = set(re.findall(r"`([A-Za-z_]{4,})(?:\([a-z_, ]*\))?`", PAGE)) - {"NAME"}
    assert names - {*re.findall(r"\w+", code)} <= {"SAME_AS_FLAGS", "ASKED", "make"}
