"""Kernels hand each other numbers, not literals: for each literal numba would compile the callee once more."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import shoal
from tests.every import every

pytestmark = pytest.mark.xdist_group("house")

_ROOT = Path(shoal.__file__).parent
_SOURCES = {str(path.relative_to(_ROOT)): path for path in sorted(_ROOT.rglob("*_kernel.py"))}


@cache
def _trees() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in _SOURCES.items()}


def compiled(tree: ast.Module) -> list[ast.FunctionDef]:
    return [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.decorator_list]


@cache
def _called() -> set[str]:
    return {one.name for tree in _trees().values() for one in compiled(tree)}


def is_literal(value: ast.expr) -> bool:
    """Whether an expression is made of whole numbers and truth values that are written down."""
    parts = ast.walk(value)
    return all(
        isinstance(part.value, int) if isinstance(part, ast.Constant) else not isinstance(part, ast.Name | ast.Call)
        for part in parts
    )


def literals_in(tree: ast.Module) -> list[str]:
    """Return the calls of kernels with a literal, or a name that starts as one."""
    constants = {
        target.id
        for statement in tree.body
        if isinstance(statement, ast.Assign) and is_literal(statement.value)
        for target in ast.walk(statement.targets[0])
        if isinstance(target, ast.Name)
    }
    found = []
    for function in compiled(tree):
        starting = constants | {
            target.id
            for statement in ast.walk(function)
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant | ast.UnaryOp)
            if is_literal(statement.value)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _called():
                wrong = [
                    given
                    for given in call.args
                    if (given.id in starting if isinstance(given, ast.Name) else is_literal(given))
                ]
                found += [f"line {call.lineno}: {call.func.id}(... {ast.unparse(one)} ...)" for one in wrong]
    return found


@every("name", _SOURCES)
def test_kernels_are_called_with_numbers(name: str) -> None:
    """Start counters as `ZERO` of `whole_kernel`, or `np.int64(0)`, and hand such numbers over."""
    assert literals_in(_trees()[name]) == []


def test_literals_are_found() -> None:
    tree = ast.parse(
        "LIMIT = 3\n"
        "@kernel\n"
        "def outer(a):\n"
        "    i = 0\n"
        "    j = np.int64(0)\n"
        "    acceptable(i, j, 1, -1, LIMIT, a, a + 1, np.int64(1), a[0])\n"
    )
    assert [line.split("... ")[1].split(" ")[0] for line in literals_in(tree)] == ["i", "1", "-1", "LIMIT"]
