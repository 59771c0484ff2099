"""Every example of the README and of the site runs, in the order of its page, in an empty folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

import shoal
from shoal.models.model_list import MODELS

HOME = Path(shoal.__file__).parents[2]
DOCS = HOME / "docs"
PAGES = [  # none where the package is installed without its checkout
    *HOME.glob("README.md"),
    *(page for page in sorted(DOCS.rglob("*.md")) if not {"decisions", "generated", "_build"} & set(page.parts)),
]


def name_of(page: Path) -> str:
    return page.stem if page.parent in (HOME, DOCS / "guide") else page.relative_to(DOCS).with_suffix("").as_posix()


def run(example: Example) -> None:
    """Run the lines of a block."""
    from _site.blocks import run_shell

    code, _, said = run_shell(str(example.parsed))
    assert code == 0, f"{example.path}:{example.line}: {said}"


def with_marks(page: Path) -> Any:
    """A page; that of Spark in the group of the tests that share a session."""
    return pytest.param(page, marks=[pytest.mark.xdist_group("spark")] if page.stem == "spark" else [])


@pytest.mark.parametrize("page", [with_marks(page) for page in PAGES if "```" in page.read_text("utf-8")], ids=name_of)
def test_every_example_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if page.stem == "spark":
        request.getfixturevalue("spark")
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/activate").touch()
    parsers: list[Any] = [SkipParser(), PythonCodeBlockParser(), CodeBlockParser(language="sh", evaluator=run)]
    document = Sybil(parsers=parsers, path=str(page.parent), patterns=[page.name]).parse(page)
    for example in document.examples():
        example.evaluate()


@pytest.mark.skipif(not DOCS.is_dir(), reason="the checkout has the pages")
def test_every_model_has_a_page() -> None:
    pages = [page.read_text("utf-8") for page in (DOCS / "explanation/models").glob("*.md")]
    for model in MODELS.values():
        assert any(f"`{model.__name__}(" in page for page in pages), model.__name__


@pytest.mark.skipif(not DOCS.is_dir(), reason="the checkout has the pages")
def test_every_guide_has_a_line_in_their_list() -> None:
    listed = (DOCS / "guide/index.md").read_text("utf-8")
    assert [page.name for page in (DOCS / "guide").glob("*.md") if f"({page.name}): " not in listed] == ["index.md"]
