"""The language of docstrings and comments, measured: words that obscure, conditions and riddles.

The bounds are those at which a native reader no longer stumbles; ordinary scientific Python keeps them without effort.
Packages listed in `UNFINISHED` have not been revised yet. The entry of a package is removed as soon as its revision is
complete, so the list only becomes shorter.
"""

import ast
import inspect
import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

import pytest

import shoal
from tests.every import every
from tests.test_house import SOURCES, nodes_of

ROOT = Path(shoal.__file__).parent
pytestmark = pytest.mark.xdist_group("house")  # whose process has parsed every module

UNFINISHED: set[str] = set()
"""Packages below `shoal` whose docstrings and comments are still to be revised."""

BANNED = ("nobody", "whoever", "everybody", "anew", "meanwhile", "whatever", "beside", "will not do", "as it came")
"""Words of no technical writer, at least not in these senses; the parameter `anew : bool` of a ledger is not prose."""
SPEECH = ("say", "says", "said", "tell", "tells", "told")
"""Data, cells and files do not speak: they state, report, hold, or name."""
RIDDLE = re.compile(r"Return (?:what|how|where|which|whether|those|some)\b")
"""How a docstring begins that names no thing; "Check whether" or "Return the number of" does."""


def docstrings_of(nodes: Iterable[ast.AST]) -> list[str]:
    """List the docstrings of a module, its classes, functions, constants and fields, each text once."""
    found = {}
    for node in nodes:
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                found[statement.value.value] = None
    return [text for text in found if isinstance(text, str)]


STRING_OR_COMMENT = re.compile(
    r"""('{3}|"{3})(?:\\.|[^\\])*?\1|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|(\#[^\n]*)""", re.DOTALL
)


def comments_of(source: str) -> list[str]:
    """List the comments of a module; to make its tokens takes ten times as long."""
    return [found[2] for found in STRING_OR_COMMENT.finditer(source) if found[2]]


def measure(modules: Iterable[tuple[str, Iterable[ast.AST]]]) -> Counter[str]:
    """Count the words of docstrings and comments of modules, given as texts with what they are made of."""
    counts: Counter[str] = Counter()
    for source, nodes in modules:
        docstrings, comments = docstrings_of(nodes), comments_of(source)
        text = " ".join("\n".join([*docstrings, *comments]).lower().split())
        words = re.findall(r"[a-z']+", text)
        counts.update(word for word in words if word in ("if", "where"))
        counts.update(
            words=len(words),
            speech=sum(word in SPEECH for word in words),
            riddles=sum(RIDDLE.match(one) is not None for one in docstrings),
        )
        counts.update({f"banned {one}": len(re.findall(rf"\b{one}\b(?! : bool)", text)) for one in BANNED})
    return counts


def list_packages() -> dict[str, list[str]]:
    """List the modules of each package, and of each algorithm's package on its own."""
    files: dict[str, list[str]] = {}
    for name in SOURCES:
        folders = Path(name).parts[1:-1]
        package = "/".join(folders[:2] if folders[:1] == ("algorithms",) else folders[:1]) or "."
        files.setdefault(package, []).append(name)
    return files


PACKAGES = list_packages()
FINISHED = sorted(PACKAGES.keys() - UNFINISHED)


@cache
def measure_package(name: str) -> Counter[str]:
    """Measure the files of a package, once in a process and not in collecting, since it takes seconds."""
    return measure((SOURCES[module].read_text(encoding="utf-8"), nodes_of(module)) for module in PACKAGES[name])


def test_every_unfinished_package_exists():
    assert UNFINISHED - PACKAGES.keys() == set()
    assert len(FINISHED) >= 10


@every("name", FINISHED)
def test_no_word_obscures(name):
    counts = measure_package(name)
    assert {one: counts[one] for one in counts if one.startswith("banned") and counts[one]} == {}
    assert counts["speech"] <= 1 + counts["words"] * 8 / 10_000, "cells and files do not speak"


def sentences_of(nodes: Collection[ast.AST]) -> str:
    """Join the strings of a module that readers may see: those of several words that are no docstrings."""
    docstrings = set(docstrings_of(nodes))
    texts = [one.value for one in nodes if isinstance(one, ast.Constant)]
    return "\n".join(one for one in texts if isinstance(one, str) and " " in one and one not in docstrings)


@every("name", FINISHED)
def test_no_word_obscures_a_message(name):
    """Help, messages, reports and screens keep to the words that docstrings keep to."""
    texts = [sentences_of(nodes_of(module)) for module in PACKAGES[name]]
    folder = ROOT / name
    texts += [
        path.read_text(encoding="utf-8") for kind in ("json", "html") for path in sorted(folder.glob(f"**/*.{kind}"))
    ]
    words = re.compile(rf"\b(?:{'|'.join(BANNED)}|somebody|anybody)\b")
    found = Counter(word for text in texts for word in words.findall(re.sub("<[^>]*>", "", text.lower())))
    assert found == {}, name


@every("name", FINISHED)
def test_conditions_begin_with_if(name):
    counts = measure_package(name)
    assert counts["where"] <= 2 + counts["words"] * 30 / 10_000
    assert counts["where"] <= max(counts["if"], 2)


@every("name", FINISHED)
def test_docstrings_name_what_is_returned(name):
    assert measure_package(name)["riddles"] <= 2


def test_the_finished_packages_together():
    together = sum((measure_package(name) for name in FINISHED), Counter())
    per = 10_000 / together["words"]
    assert together["if"] * per > 50
    assert together["where"] * per < 30
    assert together["speech"] * per < 8
    assert together["riddles"] <= 40


def test_the_measurement_sees_what_it_should():
    source = '"""Return what it says, where asked."""\n\n# A line; nobody reads it.\nx = 1  # if so\n'
    counts = measure([(source, [*ast.walk(ast.parse(source))])])
    figures = {"words": 13, "where": 1, "if": 1, "speech": 1, "riddles": 1, "banned nobody": 1}
    assert counts == Counter(figures)


def public_objects() -> list[tuple[str, object]]:
    """List the public classes and functions of the package and of its public subpackages, without errors."""
    named = [(name, getattr(shoal, name)) for name in shoal.__all__]
    for module, package in [(name, one) for name, one in named if inspect.ismodule(one)]:
        named += [(f"{module}.{name}", getattr(package, name)) for name in getattr(package, "__all__", ())]
    return [
        (name, one)
        for name, one in named
        if inspect.isfunction(one) or (inspect.isclass(one) and not issubclass(one, BaseException))
    ]


def test_every_public_name_has_an_example():
    objects = public_objects()
    assert len(objects) > 90
    assert [name for name, one in objects if ">>> " not in (one.__doc__ or "")] == []
