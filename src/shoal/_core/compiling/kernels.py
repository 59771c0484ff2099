"""The decorators of compiled functions."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, ClassVar

from shoal._core.compiling.folders import code_folder

_LOCK = threading.RLock()
_SMALL = 10_000
"""Elements of the arrays of a call that runs as Python while its function is not compiled: tables of a hundred rows."""
_LINEAR = 150_000
"""The same for kernels with linear work, which takes tenths of a second then: tables of some thousand rows."""
_PATIENCE = 10.0
"""Seconds of such calls of a function in a process before it is compiled, which takes some ten with what it calls."""
_PATIENCE_LINEAR = 1.5
"""The same for kernels with linear work, which take about a second to compile."""


@contextmanager
def compiling() -> Iterator[None]:
    """Compile each kernel when it is called, however small its arrays are, for the duration of the context."""
    before, Kernel.interprets = Kernel.interprets, False
    try:
        yield
    finally:
        Kernel.interprets = before


def _sizes(arguments: Iterable[Any]) -> Iterator[int]:
    """Yield the number of elements of each array, also of those in tuples."""
    for one in arguments:
        if isinstance(one, tuple):
            yield from _sizes(one)
        elif hasattr(one, "ndim") and one.ndim:
            yield one.size


class Role(Enum):
    """The callers of a compiled function."""

    KERNEL = "kernel"
    """Python, and perhaps other kernels."""
    STEP = "kernel_step"
    """Kernels and steps."""
    ALLOCATING = "allocating_step"
    """Kernels and allocating steps; it makes arrays."""
    INLINED = "inlined"
    """Kernels and steps; so small that its machine code is only kept as a part of theirs."""


class Kernel:
    """A function that numba compiles, or loads if an earlier process compiled it, when it is first called.

    A call with small arrays runs as Python if the function was not compiled before: compiling takes seconds, and the
    result is the same.

    Steps and inlined functions cannot be called compiled from Python: if Python calls them, for example when a test
    runs the `py_func` of a kernel, they run uncompiled.

    Parameters
    ----------
    function : callable
        A function of arrays, numbers and named tuples of them, in the subset of Python that numba supports.
    role : Role
    linear : bool
        Whether its work grows about as the number of elements: then calls with more of them run as Python.
    """

    interprets: ClassVar[bool] = "NUMBA_BOUNDSCHECK" not in os.environ
    """Whether calls with small arrays run as Python before it is compiled; not if indices are checked."""

    def __init__(self, function: Callable[..., Any], role: Role, *, linear: bool = False) -> None:
        self.py_func = function
        """The uncompiled function."""
        self.role = role
        """Who calls it."""
        self._dispatcher: Any = None
        self._bound, self._patience = (_LINEAR, _PATIENCE_LINEAR) if linear else (_SMALL, _PATIENCE)
        self._interpreted = 0.0
        self._called = self._call_first if role is Role.KERNEL else function
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Call the function, compiled if it is a kernel."""
        return self._called(*arguments)

    def __repr__(self) -> str:
        return f"<{self.role.value} {self.py_func.__module__}.{self.py_func.__qualname__}>"

    @property
    def dispatcher(self) -> Any:
        """Numba's compiled function, made on first use. Nothing is compiled before it is called."""
        with _LOCK:
            if self._dispatcher is None:
                from shoal._core.compiling.dispatchers import make_dispatcher

                # Inlined functions are compiled into their callers, steps without a wrapper for Python.
                self._dispatcher = make_dispatcher(
                    self.py_func,
                    kept=self.role is not Role.INLINED,
                    from_python=self.role is Role.KERNEL,
                    allocates=self.role in (Role.KERNEL, Role.ALLOCATING),
                )
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """The type by which numba resolves the name of this object in a compiled function."""
        return self.dispatcher._numba_type_

    def _call_first(self, *arguments: Any) -> Any:
        sizes = [*_sizes(arguments)]
        small = sizes and sum(sizes) <= self._bound and self._interpreted < self._patience
        if small and self.interprets and not self.is_kept:
            import numpy as np

            since = time.thread_time()
            try:
                with np.errstate(over="ignore"):  # hashes and random numbers are modular
                    return self.py_func(*arguments)
            finally:
                self._interpreted += time.thread_time() - since
        self._called = self.dispatcher
        return self._called(*arguments)

    @functools.cached_property
    def is_kept(self) -> bool:
        """Whether an earlier process compiled the function and kept its machine code."""
        folder, module = code_folder(self.py_func), self.py_func.__module__.rpartition(".")[2]
        return folder is not None and any(folder.glob(f"*/{module}.{self.py_func.__qualname__}-*.nbi"))


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile a function that is called from Python."""
    return Kernel(function, Role.KERNEL)


def linear_kernel(function: Callable[..., Any]) -> Kernel:
    """Compile a function that is called from Python, and whose work grows about as the number of elements."""
    return Kernel(function, Role.KERNEL, linear=True)


def kernel_step(function: Callable[..., Any]) -> Kernel:
    """Compile a function that kernels call. It makes no array and returns none."""
    return Kernel(function, Role.STEP)


def allocating_step(function: Callable[..., Any]) -> Kernel:
    """Compile a function that kernels call and that makes arrays."""
    return Kernel(function, Role.ALLOCATING)


def inlined(function: Callable[..., Any]) -> Kernel:
    """Compile a small function as a part of each kernel that calls it. It makes no array and returns none."""
    return Kernel(function, Role.INLINED)
