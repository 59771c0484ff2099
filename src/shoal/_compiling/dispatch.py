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

__all__ = ["dispatcher_of"]

_WRITTEN: dict[Callable[..., Any], Written] = {}
"""What was made a dispatcher of, by its function."""
_NAMED: dict[tuple[str, str], Written] = {}
"""The same, by stamp and name."""


class _Pipeline(CompilerBase):  # type: ignore[misc]  # numba has no types
    """Numba's way from a function to machine code, into a library and under a name of our own."""

    def define_pipelines(self) -> list[Any]:
        state = self.state
        origin = Origin(_WRITTEN[state.func_id.func], tuple(state.args))
        state.func_id.unique_id = origin.written.stamp
        state.library = SeparateLibrary(state.targetctx.codegen(), state.func_id.func_qualname, origin)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


def dispatcher_of(written: Written) -> Any:
    """Return what numba makes of a function. Nothing is compiled before it is called.

    Compiled code runs without the interpreter's lock, so that threads can run it side by side.
    """
    options: dict[str, Any] = {
        "nogil": True,
        "no_cpython_wrapper": written.role is not Role.KERNEL,
        "no_cfunc_wrapper": True,
    }
    if written.role is Role.INLINED or _NAMED.setdefault((written.stamp, written.name), written) is not written:
        # Where a module was loaded twice its names are taken: numba makes others.
        return njit(**options)(written.function)
    _WRITTEN[written.function] = written
    dispatcher = njit(pipeline_class=_Pipeline, **options)(written.function)
    if dispatcher is not written.function:  # it is where numba was told to compile nothing
        dispatcher._cache = KernelCache(written)
    return dispatcher
