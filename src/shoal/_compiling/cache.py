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
from shoal._compiling.pieces import Piece
from shoal._compiling.written import Role

if TYPE_CHECKING:
    from shoal._compiling.written import Written

__all__ = ["KernelCache"]


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

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what was compiled for the types of some arguments; None where that has to be done now."""
        name = self.file_name(sig, target_context.codegen())
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
        name = self.file_name(sig, data.codegen)
        if not data.library.has_dynamic_globals:
            places.keep(self._path, name, _kept(data), prefix=self._written.kept_prefix, current=self._written.kept_as)
        turns.give_back(name)

    def file_name(self, sig: Any, codegen: Any) -> str:
        """Return a name that is different for whatever would be compiled differently."""
        versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
        facts = repr((self._written.stamp, str(sig), codegen.magic_tuple(), versions))
        return f"{self._written.kept_as}{hashlib.sha256(facts.encode()).hexdigest()[:16]}.nbc"


def _kept(compiled: Any) -> bytes:
    """Return what is kept of compiled code."""
    library, described, environments = compiled.library, compiled.fndesc, compiled._find_referenced_environments()
    described.typemap = described.calltypes = None
    needs = [(need.written, need.types) for need in library.needs]
    named = [
        (written.module, written.name, types, _symbol(written.module, written.name, types)) for written, types in needs
    ]
    files = tuple((written.module, KernelCache(written).file_name(types, library.codegen)) for written, types in needs)
    piece = Piece(
        needs=files,
        symbol=described.llvm_cpython_wrapper_name if library.origin.written.role is Role.KERNEL else "",
        environments=tuple((one.env_name, tuple(one.consts)) for one in environments),
        code=library._get_compiled_object(),
        rest=dumps((named, library.name, described, compiled.environment, compiled.signature, environments)),
    )
    return bytes(dumps(tuple(piece)))


def _loaded(data: bytes, written: Written, target_context: Any) -> Any:
    """Return the compiled code that was kept; None where it does not fit."""
    piece = Piece(*pickle.loads(data))
    needs, name, described, environment, signature, environments = pickle.loads(piece.rest)
    for *needed, symbol in needs:
        if _symbol(*needed) != symbol:
            return None
    rtsys.initialize(target_context)
    library = SeparateLibrary(target_context.codegen(), name, Origin(written, tuple(signature.args)), piece.code)
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
