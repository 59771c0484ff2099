"""Docstrings are written to be read as they stand; here they become what reStructuredText takes for the same."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["setup"]

_NOTE = re.compile(r"\[(\d+)\]_")
_ELSEWHERE = re.compile(r":ref:`([^`<]*?)\s*(?:<[^`>]*>)?`")
_REFERENCE = re.compile(r"^\.\. \[(\d+)\] ")


def _read(app: Any, kind: str, name: str, found: object, options: object, lines: list[str]) -> None:
    """Show references as they are numbered in their docstring, and keep bars that mean sizes."""
    for at, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            continue
        text = _NOTE.sub(r"[\1]", _REFERENCE.sub(r"\\[\1] ", line))
        parts = text.split("``")  # every second one is code
        parts[::2] = [re.sub(r"(?<!\\)\|", r"\\|", part) for part in parts[::2]]
        lines[at] = "``".join(parts)


def _alone(app: Any, kind: str, name: str, found: Any, options: object, lines: list[str]) -> None:
    """Keep the words alone where a method that comes from another package refers to pages of its own site."""
    if not str(getattr(found, "__module__", "shoal")).startswith("shoal"):
        lines[:] = [_ELSEWHERE.sub(r"\1", line) for line in lines]


def _open(app: Any, kind: str, name: str, found: object, options: object, lines: list[str]) -> None:
    """Keep the reader of numpydoc sections from taking what stands before a colon for a type."""
    if kind in ("attribute", "data", "property"):
        lines.insert(0, "")


def setup(app: Any) -> dict[str, bool]:
    """Register it with Sphinx, before and behind the reader of numpydoc sections."""
    app.connect("autodoc-process-docstring", _open, priority=100)
    app.connect("autodoc-process-docstring", _alone, priority=100)
    app.connect("autodoc-process-docstring", _read, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
