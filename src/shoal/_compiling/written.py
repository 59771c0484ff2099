"""A function as it was written, before it is compiled, and a stamp for all that it is made from."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

__all__ = ["Role", "Written"]

_IMPORTED = re.compile(rb"^from (shoal\.[\w.]*_kernel) import", re.MULTILINE)
"""Kernels import kernels only, and at the top of their module: a test holds it."""
_COMPILING = tuple(f"shoal._compiling.{name}" for name in ("cache", "dispatch", "library", "pieces"))
"""What decides how a function is compiled and kept."""


class Role(Enum):
    """Who calls a compiled function, and how."""

    KERNEL = "kernel"
    """Called from Python (and perhaps by other kernels): compiled once, and kept."""
    STEP = "kernel_step"
    """Called by kernels: compiled once, and kept. Calls of it stay calls."""
    INLINED = "inlined"
    """Compiled into each of its callers, for what is so small that a call would take longer than the work."""


@dataclass(frozen=True)
class Written:
    """A function of arrays, numbers and named tuples of them, in the part of Python that numba knows."""

    function: Callable[..., Any]
    role: Role

    @property
    def module(self) -> str:
        """The name of its module."""
        return self.function.__module__

    @property
    def name(self) -> str:
        """Its name in the module."""
        return self.function.__qualname__

    @property
    def path(self) -> Path:
        """Where its module was loaded from."""
        return Path(str(sys.modules[self.module].__file__))

    @property
    def stamp(self) -> str:
        """32 hexadecimal digits for all sources that its machine code is made from.

        They change with the source of its module, with that of any module from which a step or a constant of it may
        come, and with the way in which kernels are compiled: code of another version is never taken for that of this
        one.
        """
        return _stamp(self.module)

    @property
    def kept_prefix(self) -> str:
        """How the names of all files begin that hold machine code of the function."""
        return f"{self.module.rpartition('.')[2]}.{self.name}-"

    @property
    def kept_as(self) -> str:
        """How the names of those begin that were made from the sources as they are."""
        return f"{self.kept_prefix}{self.stamp[:16]}-"


@functools.cache
def _stamp(module: str) -> str:
    hashed = hashlib.sha256()
    for name in (*_COMPILING, *sorted(_with_imported(module))):
        hashed.update(name.encode() + b"\0" + hashlib.sha256(_source(name)).digest())
    return hashed.hexdigest()[:32]


def _with_imported(module: str) -> set[str]:
    """Return a module and all kernels that it imports, and that they import."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _imported(name)
    return found


def _imported(module: str) -> Iterator[str]:
    return (name.decode() for name in _IMPORTED.findall(_source(module)))


@functools.cache
def _source(module: str) -> bytes:
    """Return the source of a module, from a file or an archive; its bytecode where there is no source."""
    spec: Any = sys.modules[module].__spec__ if module in sys.modules else importlib.util.find_spec(module)
    return bytes(spec.loader.get_data(spec.origin))
