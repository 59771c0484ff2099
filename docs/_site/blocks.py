"""Run the blocks of a page as a reader types them: the build shows what they print, the tests that they succeed."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["run_python", "run_shell"]

_SHELL_SYNTAX = re.compile(r"[$|<>;&`*]")
_DOCUMENT = re.compile(r"<<'(\w+)'.*?^\1$", re.DOTALL | re.MULTILINE)
_STATEMENT = re.compile(rf"^[^\n]*{_DOCUMENT.pattern}|^[^\n]+", re.DOTALL | re.MULTILINE)
_TOGETHER = re.compile(r"[$]|^\s*(?:cd|if|for|while|export)\b", re.MULTILINE)
"""What makes lines depend on those before them: variables, folders, loops."""


def run_shell(block: str) -> tuple[int, str, str]:
    """Run a block of shell lines, those of shoal in this process: a new one takes seconds to start.

    Returns
    -------
    tuple
        The exit code of the first line that failed or 0, what was printed, and what was said on standard error.
    """
    printed = said = ""
    for line in _statements(block):
        code, out, err = (
            _run_here(line) if line.startswith("shoal ") and not _needs_a_shell(line) else _run_in_shell(line)
        )
        printed, said = printed + out, said + err
        if code:
            return code, printed, f"{line}\n{said}"
    return 0, printed, said


def _statements(block: str) -> list[str]:
    """Return the lines of a block, a document within it with its line; all of it in one where lines need each other."""
    text = re.sub(r"\\\n\s*", " ", block)
    if _TOGETHER.search(_DOCUMENT.sub("", text)):
        return [block]
    return [one[0] for one in _STATEMENT.finditer(text) if one[0].split("#")[0].strip()]


def _needs_a_shell(line: str) -> bool:
    return bool(_SHELL_SYNTAX.search(re.sub(r"\"[^\"$`]*\"|'[^']*'", "", line).split("#")[0]))


def _run_here(line: str) -> tuple[int, str, str]:
    from click.testing import CliRunner

    from shoal.cli.main import app

    found = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
    return found.exit_code, found.stdout, found.stderr


def _run_in_shell(block: str) -> tuple[int, str, str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block], env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def run_python(block: str, names: dict[str, Any]) -> str:
    """Run a block of Python, and return what it prints and what its last expression shows, as in a notebook."""
    tree = ast.parse(block)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<page>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<page>", "eval"), names)
            if value is not None:
                print(repr(value))  # noqa: T201 - what a notebook would show
    return printed.getvalue()
