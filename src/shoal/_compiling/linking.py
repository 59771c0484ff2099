"""Machine code that was kept, linked into this process without numba: its import takes longer than a small table.

What the code calls of numba is in three extension modules, which are loaded by themselves; they stay those of numba
when it is imported later. The code that `shoal._compiling.cache` kept is found by what the arguments look like, in a
file that `note` wrote when numba had told their types. Where anything is missing, or numba was configured, it does all
by itself.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import hashlib
import importlib.machinery
import importlib.util
import os
import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._compiling import places
from shoal._compiling.pieces import Piece

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from shoal._compiling.looks import Look
    from shoal._compiling.written import Written

__all__ = ["linked", "note"]

_HARMLESS = ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS")
"""Settings of numba that do not matter here."""
_CONFIGURATION = ".numba_config.yaml"
"""A file of settings in the current folder."""


def linked(written: Written, look: Look) -> Callable[..., Any] | None:
    """Return the compiled form of a kernel for arguments that look so; None where that is not there.

    Parameters
    ----------
    written : Written
        A kernel.
    look : tuple
        As `look_of` returns it.
    """
    if _is_configured() or written.function.__defaults__:
        return None
    noted = places.find(written.path, _note_name(written, look))
    return None if noted is None else _engine().function(written, noted.decode())


def note(written: Written, look: Look, file: str) -> None:
    """Note in which file the compiled form of a kernel is kept, for arguments that look so.

    Parameters
    ----------
    written, look
        As for `linked`.
    file : str
        Its name.
    """
    name = _note_name(written, look)
    if not _is_configured() and places.find(written.path, name) is None:
        places.keep(written.path, name, file.encode(), prefix=written.kept_prefix, current=written.kept_as)


def _is_configured() -> bool:
    """Return whether numba was asked to compile differently."""
    asked = (name for name in os.environ if name.startswith("NUMBA_") and name not in _HARMLESS)
    return any(asked) or os.path.exists(_CONFIGURATION)


def _note_name(written: Written, look: Look) -> str:
    facts = hashlib.sha256(repr((written.stamp, look, _here())).encode()).hexdigest()
    return f"{written.kept_as}{facts[:16]}.nbl"


@functools.cache
def _here() -> tuple[Any, ...]:
    """Return what tells apart where machine code fits: versions and the processor."""
    import llvmlite
    import llvmlite.binding as llvm

    version = hashlib.sha256((_numba() / "_version.py").read_bytes()).hexdigest()
    processor = (llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return sys.implementation.cache_tag, version, llvmlite.__version__, *processor


@functools.cache
def _numba() -> Path:
    """Return the folder of numba, which is not imported."""
    found = importlib.util.find_spec("numba")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _extension(name: str) -> ModuleType:
    """Return an extension module of numba, without the packages that it is in."""
    whole = f"numba.{name}"
    if whole not in sys.modules:
        *folders, last = name.split(".")
        found = importlib.machinery.PathFinder.find_spec(last, [str(_numba().joinpath(*folders))])
        assert found is not None
        assert found.origin is not None
        spec = importlib.util.spec_from_file_location(whole, found.origin)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[whole] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[whole])
    return sys.modules[whole]


@functools.cache
def _engine() -> _Engine:
    return _Engine()


class _Engine:
    """The linker of this process for what was kept."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._llvm = llvm
        self._dynamic = _extension("_dynfunc")
        self._define()
        machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
        self._linker = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._pieces: dict[tuple[str, str], str] = {}
        """The symbol of each piece that is linked, by its module and its file."""
        self._environments: list[Any] = []

    def function(self, written: Written, file: str) -> Callable[..., Any] | None:
        """Return what Python calls; None where some of its machine code is missing or damaged."""
        found: dict[tuple[str, str], Piece] = {}
        if not self._find(written.module, file, found):
            return None
        for (module, name), piece in found.items():
            self._linker.add_object_file(self._llvm.ObjectFileRef.from_data(piece.code))
            self._pieces[module, name] = piece.symbol
        self._linker.finalize_object()
        own = self._dynamic.Environment(sys.modules[written.module].__dict__)
        for (module, _), piece in found.items():
            for symbol, constants in piece.environments:
                environment = self._dynamic.Environment(sys.modules[module].__dict__)
                environment.consts.extend(constants)
                self._environments.append(environment)
                place = self._linker.get_global_value_address(symbol)
                ctypes.c_void_p.from_address(place).value = id(environment)
        address = self._linker.get_function_address(self._pieces[written.module, file])
        made: Callable[..., Any] = self._dynamic.make_function(
            sys.modules[written.module], written.name, written.function.__doc__ or "", address, own, (self,)
        )
        return made

    def _find(self, module: str, file: str, found: dict[tuple[str, str], Piece]) -> bool:
        """Read a piece and all that it needs and that is not linked yet; return whether all was there."""
        if (module, file) in self._pieces or (module, file) in found:
            return True
        data = places.find(Path(str(sys.modules[module].__file__)), file)
        if data is None:
            return False
        found[module, file] = piece = Piece(*pickle.loads(data))
        return all(self._find(*need, found) for need in piece.needs)

    def _define(self) -> None:
        """Tell the linker what the code calls: numba's own, and exceptions."""
        runtime = _extension("core.runtime._nrt_python")
        runtime.memsys_use_cpython_allocator()
        named = {"_Py_NoneStruct": id(None)}
        for name, address in runtime.c_helpers.items():
            named[name if name.startswith("_") else f"NRT_{name}"] = address
        for module in (_extension("_helperlib"), self._dynamic):
            named |= {f"numba_{name}": address for name, address in module.c_helpers.items()}
        for name, kind in vars(builtins).items():
            if isinstance(kind, type) and issubclass(kind, BaseException):
                named[f"PyExc_{name}"] = id(kind)
        self._unpickle = _UNPICKLE(_unpickled)
        named["numba_unpickle"] = ctypes.cast(self._unpickle, ctypes.c_void_p).value or 0
        for name, address in named.items():
            self._llvm.add_symbol(name, address)


def _unpickled(place: int, length: int, _hashed: int) -> Any:
    """Return a class that a kernel returns or raises; numba's own way there imports all of it."""
    return pickle.loads(ctypes.string_at(place, length))


_UNPICKLE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
