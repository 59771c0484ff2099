"""Everything public says what it is: names, attributes and parameters, these with their unit and their range."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.every import every

import shoal
from shoal._core.validation import Integer, Optional, RationalIn, parameters_of


def public() -> Iterator[tuple[str, Any]]:
    """Every public name: those of shoal, and those of its packages of names."""
    for name in shoal.__all__:
        found = getattr(shoal, name)
        if inspect.ismodule(found):
            yield from ((f"{name}.{inner}", getattr(found, inner)) for inner in found.__all__)
        elif not name.startswith("_"):
            yield name, found


@cache  # when they are asked for, since every process collects this file: the classes of scikit-learn take seconds
def classes() -> dict[str, Any]:
    return {name: found for name, found in public() if inspect.isclass(found)}


def functions() -> dict[str, Any]:
    return {name: found for name, found in public() if inspect.isfunction(found)}


@cache
def classes_in(file: str) -> dict[str, ast.ClassDef]:
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def sections(docstring: str | None) -> dict[str, str]:
    """What the numpydoc sections of a docstring say of each name."""
    found: dict[str, str] = {}
    names: list[str] = []
    listed = False
    lines = inspect.cleandoc(docstring or "").splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below and set(below) == {"-"}:
            listed, names = line in ("Parameters", "Attributes"), []
        elif listed and line and not line.startswith((" ", "-")):
            names = [name.strip(" *") for name in line.partition(" : ")[0].split(",")]
            found |= dict.fromkeys(names, line)
        elif listed:
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found


def attributes(kind: type[Any]) -> dict[str, str]:
    """The public attributes that a class declares, with what is said of them there, or in one that it is made of."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if not one.__module__.startswith("shoal"):
            continue
        body = classes_in(inspect.getsourcefile(one) or "")[one.__name__].body
        said = sections(one.__doc__)
        for node, below in zip(body, [*body[1:], ast.Pass()], strict=True):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
                told = (
                    below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
                )
                # Fields of requests are described where they are declared.
                declared = vars(one).get("__dataclass_fields__", {}).get(name)
                doc = getattr(declared.metadata.get("parameter"), "doc", "") if declared is not None else ""
                found[name] = str(told) or said.get(name, "") or doc or found.get(name, "")
    return {name: told for name, told in found.items() if not name.startswith("_")}


def members(kind: type[Any]) -> Iterator[tuple[str, str | None]]:
    """The public methods and properties of a class, with their docstrings."""
    for name in dir(kind):
        raw = inspect.getattr_static(kind, name)
        if isinstance(raw, classmethod | staticmethod) or inspect.isfunction(raw):
            yield name, inspect.getdoc(getattr(kind, name))
        elif isinstance(raw, property):
            yield name, inspect.getdoc(raw)


def test_every_name_says_what_it_is() -> None:
    assert len(classes()) > 60
    silent = [name for name, found in (classes() | functions()).items() if not found.__doc__]
    silent += [
        f"{name}.{member}"
        for name, kind in classes().items()
        for member, told in members(kind)
        if not member.startswith("_") and not told
    ]
    silent += [
        f"{name}.{one}" for name, kind in classes().items() for one, told in attributes(kind).items() if not told
    ]
    assert silent == []


def test_every_parameter_of_a_function_is_described() -> None:
    silent = [
        f"{name}({one})"
        for name, function in functions().items()
        for one in inspect.signature(function).parameters
        if one not in sections(function.__doc__) and not one.startswith("_")
    ]
    assert silent == []


RANGE = re.compile(r"[<>]=?|\bat (?:least|most)\b|\bfrom\b.*\bto\b|\bbetween\b|\bpositive\b")


@every("name", lambda: [name for name, kind in classes().items() if parameters_of(kind)])
def test_numbers_have_a_range_and_times_a_unit(name: str) -> None:
    said = attributes(classes()[name])
    for parameter, declared in parameters_of(classes()[name]).items():
        allowed = declared.constraint
        allowed = allowed.constraint if isinstance(allowed, Optional) else allowed
        if isinstance(allowed, Integer | RationalIn):
            assert RANGE.search(said[parameter]), f"{parameter}: {said[parameter]}"
        if parameter.startswith(("time", "seconds")):
            assert "econd" in said[parameter], f"{parameter}: {said[parameter]}"
