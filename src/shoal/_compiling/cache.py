"""The machine code of a kernel as a file: what is kept of it, and how it is loaded without the compiler."""

from __future__ import annotations

import hashlib
import importlib
import pickle
import sys
from typing import TYPE_CHECKING, Any

import llvmlite
import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from shoal._compiling import notices, places, turns
from shoal._compiling.library import Origin, SeparateLibrary

if TYPE_CHECKING:
    from shoal._compiling.written import Written

__all__ = ["KernelCache"]

_CHECKED = 16
"""Bytes at the beginning of a file: a hash of the rest."""


class KernelCache(NullCache):  # type: ignore[misc]  # numba has no types
    """Keeps and finds the machine code of one function: a file for the types of its arguments.

    Parameters
    ----------
    written : Written
        A kernel or step.
    """

    def __init__(self, written: Written) -> None:
        self._written = written
        self._path = written.path
        self._name = f"{written.module.rpartition('.')[2]}.{written.name}-"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what was compiled for the types of some arguments; None where that has to be done now."""
        name = self._file_name(sig, target_context.codegen())
        loaded = self._found(name, target_context)
        if loaded is None:
            turns.take(places.places_for(self._path), name)
            loaded = self._found(name, target_context)  # another process may have made it meanwhile
            if loaded is None:
                notices.begin()
            else:
                turns.give_back(name)
        return loaded

    def _found(self, name: str, target_context: Any) -> Any:
        """Return what was kept under a name; None where nothing was that fits."""
        data = places.find(self._path, name)
        return None if data is None else _loaded(data, self._written, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for the types of some arguments."""
        notices.end()
        name = self._file_name(sig, data.codegen)
        if not data.library.has_dynamic_globals:
            places.keep(self._path, name, _kept(data), prefix=self._name, current=self._current())
        turns.give_back(name)

    def _current(self) -> str:
        """Return how the names of all files begin that were made from the sources as they are."""
        return f"{self._name}{self._written.stamp[:16]}-"

    def _file_name(self, sig: Any, codegen: Any) -> str:
        """Return a name that is different for whatever would be compiled differently."""
        versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
        facts = repr((self._written.stamp, str(sig), codegen.magic_tuple(), versions))
        return f"{self._current()}{hashlib.sha256(facts.encode()).hexdigest()[:16]}.nbc"


def _kept(compiled: Any) -> bytes:
    """Return what is kept of compiled code."""
    needs = [
        (
            need.written.module,
            need.written.name,
            need.types,
            _symbol(need.written.module, need.written.name, need.types),
        )
        for need in compiled.library.needs
    ]
    described = compiled.fndesc
    described.typemap = described.calltypes = None
    parts = (
        needs,
        compiled.library.name,
        compiled.library._get_compiled_object(),
        described,
        compiled.environment,
        compiled.signature,
        compiled._find_referenced_environments(),
    )
    body = dumps(parts)
    return _hash(body) + bytes(body)


def _loaded(data: bytes, written: Written, target_context: Any) -> Any:
    """Return the compiled code that was kept; None where it is damaged, or does not fit."""
    if _hash(data[_CHECKED:]) != data[:_CHECKED]:
        return None
    needs, name, code, described, environment, signature, environments = pickle.loads(data[_CHECKED:])
    for *needed, symbol in needs:
        if _symbol(*needed) != symbol:
            return None
    rtsys.initialize(target_context)
    library = SeparateLibrary(target_context.codegen(), name, Origin(written, tuple(signature.args)), code)
    loaded = CompileResult(
        typing_context=target_context.typing_context,
        target_context=target_context,
        entry_point=target_context.get_executable(library, described, environment),
        typing_error=None,
        type_annotation="",
        signature=signature,
        objectmode=False,
        lifted=(),
        fndesc=described,
        library=library,
        call_helper=None,
        environment=environment,
        metadata=None,
        reload_init=[],
        referenced_envs=environments,
    )
    for one in environments:
        library.codegen.set_env(one.env_name, one)
    return loaded


def _symbol(module: str, name: str, types: tuple[Any, ...]) -> str:
    """Return the name of the machine code of a kernel or step, which is there afterwards."""
    dispatcher = getattr(importlib.import_module(module), name).dispatcher
    dispatcher.compile(types)
    return str(dispatcher.overloads[types].fndesc.mangled_name)


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECKED).digest()
