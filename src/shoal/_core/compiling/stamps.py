"""A stamp for all sources from which the machine code of a module is made.

Numba's cache notices changes in the file of a function, not in those of the functions that it calls.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
import sys
from typing import Any

_IMPORTED = re.compile(rb"^from (shoal\.[\w.]*_kernel) import", re.MULTILINE)
"""Kernels import kernels only, at the top of their module: a test ensures it."""
_OPTIONS = "shoal._core.compiling.dispatchers"
"""The module that decides how functions are compiled."""


@functools.cache
def source_stamp(module: str) -> str:
    """Hash the sources of a module and of all kernels that it imports, directly or not: 16 hexadecimal digits."""
    # Imports are followed transitively, because a change in any of them changes the machine code.
    names: set[str] = set()
    waiting = [_OPTIONS, module]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += (found.decode() for found in _IMPORTED.findall(_source(name)))
    hashed = hashlib.sha256()
    for name in sorted(names):
        hashed.update(name.encode() + b"\0" + hashlib.sha256(_source(name)).digest())
    return hashed.hexdigest()[:16]


@functools.cache
def _source(module: str) -> bytes:
    """Read the source of a module from a file or an archive; its bytecode if there is no source."""
    spec: Any = sys.modules[module].__spec__ if module in sys.modules else importlib.util.find_spec(module)
    return bytes(spec.loader.get_data(spec.origin))
