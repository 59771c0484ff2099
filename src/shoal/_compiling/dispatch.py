"""What numba calls a compiled function, made of a function as it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import njit
from numba.core.compiler import CompilerBase, DefaultPassBuilder

from shoal._compiling.cache import KernelCache
from shoal._compiling.library import Origin, SeparateLibrary
from shoal._compiling.written import Role, Written

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["compile_for", "dispatcher_of"]

_WRITTEN: dict[Callable[..., Any], Written] = {}
"""What was made a dispatcher of, by its function."""
_NAMED: dict[tuple[str, str], Written] = {}
"""The same, by stamp and name."""


class _Pipeline(CompilerBase):  # type: ignore[misc]  # numba has no types
    """Numba's way from a function to machine code, into a library and under a name of our own."""

    def define_pipelines(self) -> list[Any]:
        state = self.state
        written = _WRITTEN[state.func_id.func]
        # What differs between our functions is set here and not as an option: numba would compile whatever of its own
        # they use once for each combination of options.
        state.flags.no_cfunc_wrapper = True
        state.flags.no_cpython_wrapper = written.role is not Role.KERNEL
        if written.role is not Role.INLINED and _is_first(written):
            state.func_id.unique_id = written.stamp
            origin = Origin(written, tuple(state.args))
            state.library = SeparateLibrary(state.targetctx.codegen(), state.func_id.func_qualname, origin)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


def _load_without_scipy() -> None:
    """Import the part of numba that looks for scipy's linear algebra, as if it had looked: nothing here calls that.

    The import of `scipy.linalg` would take a tenth of a short run.
    """
    from numba.np import linalg

    looks = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath

        arraymath.ensure_blas = looks
    finally:
        linalg.ensure_blas = looks


_load_without_scipy()


def dispatcher_of(written: Written) -> Any:
    """Return what numba makes of a function. Nothing is compiled before it is called.

    Compiled code runs without the interpreter's lock, so that threads can run it side by side.
    """
    _WRITTEN[written.function] = written
    dispatcher = njit(pipeline_class=_Pipeline, nogil=True)(written.function)
    # It is the function itself where numba was told to compile nothing.
    if dispatcher is not written.function and written.role is not Role.INLINED and _is_first(written):
        dispatcher._cache = KernelCache(written)
    return dispatcher


def compile_for(dispatcher: Any, arguments: tuple[Any, ...]) -> str | None:
    """Compile a function for the types of some arguments, or load it; return the name of the file that it is kept in.

    None: it is not kept, as numba was told to compile nothing, or another function has the name.
    """
    cache = getattr(dispatcher, "_cache", None)
    if not isinstance(cache, KernelCache):
        return None
    types = tuple(dispatcher.typeof_pyval(argument) for argument in arguments)
    dispatcher.compile(types)
    return cache.file_name(types, dispatcher.targetctx.codegen())


def _is_first(written: Written) -> bool:
    """Return whether no other function has the name; where a module is loaded twice, numba has to make another name."""
    return _NAMED.setdefault((written.stamp, written.name), written) is written
