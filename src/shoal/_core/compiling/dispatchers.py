"""Make numba's dispatchers: plain `njit(cache=True)`, in a folder of our choice, shared safely between processes."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba

from shoal._core.compiling import folders, notices
from shoal._core.compiling.locks import FunctionLock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def make_dispatcher(function: Callable[..., Any], *, kept: bool, from_python: bool, allocates: bool) -> Any:
    """Make numba's dispatcher of a function.

    Compiled code runs without the interpreter's lock, so that threads can run it in parallel. Wrappers that nothing
    calls are left out: those for C, and for steps also those for Python. They would take a third of the compilation.
    References to arrays are counted only where arrays are made: otherwise each call counts those of all of its arrays
    up and down, which takes most of the time of short steps, and more if threads share the arrays.

    Parameters
    ----------
    function : callable
    kept : bool
        Whether its machine code is kept.
    from_python : bool
        Whether Python calls it.
    allocates : bool
        Whether it may make or return arrays; otherwise numba refuses to compile code that makes some.
    """
    folder = folders.code_folder(function) if kept else None
    options = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": not from_python, "_nrt": allocates}
    with _cache_dir(folder):
        try:
            dispatcher = numba.njit(cache=folder is not None, **options)(function)
        except RuntimeError:  # numba does not cache it, because its source is not a file
            dispatcher = numba.njit(**options)(function)
    # NUMBA_DISABLE_JIT returns the function itself, which has no cache.
    if kept and hasattr(dispatcher, "_cache"):
        dispatcher._cache = _SharedCache(dispatcher._cache, FunctionLock(folder, function.__qualname__))
    return dispatcher


@contextlib.contextmanager
def _cache_dir(folder: Path | None) -> Iterator[None]:
    """Have numba cache in a folder what is decorated in this context."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = before if folder is None else str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


class _SharedCache:
    """Numba's cache of one function, guarded against other processes, damaged files and full disks.

    If two processes compiled one function for different types at once, numba's index could name the file of the one
    for the types of the other. Therefore one process at a time compiles a function; the others wait, and load it if
    it was compiled for their types.

    Parameters
    ----------
    cache : numba's cache
        Its `load_overload`, `save_overload` and `flush` are called.
    lock : FunctionLock
    """

    def __init__(self, cache: Any, lock: FunctionLock) -> None:
        self._cache = cache
        self._lock = lock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the machine code for the types of some arguments; None if it must be compiled now."""
        loaded = self._load(sig, target_context)
        if loaded is None:
            self._lock.acquire()
            loaded = self._load(sig, target_context)  # another process may have compiled it in the meantime
            if loaded is None:
                notices.begin()
            else:
                self._lock.release()
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the machine code for the types of some arguments, if that is possible."""
        notices.end()
        try:
            self._cache.save_overload(sig, data)
        except OSError as error:
            folders.warn_once(
                f"Compiled code could not be written ({error.strerror}), so that the next run compiles again. Free "
                "some space, or set NUMBA_CACHE_DIR to a folder of your own."
            )
        finally:
            self._lock.release()

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            return self._cache.load_overload(sig, target_context)
        except Exception:  # a damaged file: it is written again
            with contextlib.suppress(OSError):
                self._cache.flush()
            return None
