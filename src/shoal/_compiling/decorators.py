"""The decorators of compiled functions."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from shoal._compiling.linking import linked, note
from shoal._compiling.looks import Look, look_of
from shoal._compiling.written import Role, Written

__all__ = ["Kernel", "inlined", "kernel", "kernel_step"]

_MAKING = threading.RLock()


class Kernel:
    """A function that numba compiles when it is first called; what was compiled before is loaded.

    Steps and inlined functions have no compiled form that Python could call: where it calls them, as tests do that run
    a kernel as it was written, they run as they were written.

    Parameters
    ----------
    written : Written
        The function, and who calls it.
    """

    def __init__(self, written: Written) -> None:
        self.written = written
        self.py_func = written.function
        """The function as it was written, for tests and for reading."""
        self._dispatcher: Any = None
        self._called = self._compiled if written.role is Role.KERNEL else written.function
        self._forms: dict[Look, Callable[..., Any]] = {}
        functools.update_wrapper(self, written.function)

    def __call__(self, *arguments: Any) -> Any:
        """Call the function, compiled if it is a kernel."""
        return self._called(*arguments)

    def __repr__(self) -> str:
        return f"<{self.written.role.value} {self.written.module}.{self.written.name}>"

    @property
    def dispatcher(self) -> Any:
        """What numba calls the compiled function; made when it is first needed."""
        if self._dispatcher is None:
            from shoal._compiling.dispatch import dispatcher_of

            with _MAKING:
                if self._dispatcher is None:  # another thread may have made it meanwhile
                    self._dispatcher = dispatcher_of(self.written)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """How numba sees a name that stands for this object in a compiled function."""
        return self.dispatcher._numba_type_

    def _compiled(self, *arguments: Any) -> Any:
        look = look_of(arguments)
        form = None if look is None else self._forms.get(look)
        return (self._form(look, arguments) if form is None else form)(*arguments)

    def _form(self, look: Look | None, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the compiled form for some arguments: linked where it was kept, else from numba, and noted."""
        if look is None:
            return self.dispatcher  # type: ignore[no-any-return]
        with _MAKING:
            if look not in self._forms:
                self._forms[look] = linked(self.written, look) or self._noted(look, arguments)
        return self._forms[look]

    def _noted(self, look: Look, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        from shoal._compiling.dispatch import compile_for

        file = compile_for(self.dispatcher, arguments)
        if file is not None:
            note(self.written, look, file)
        return self.dispatcher  # type: ignore[no-any-return]


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile a function that is called from Python."""
    return Kernel(Written(function, Role.KERNEL))


def kernel_step(function: Callable[..., Any]) -> Kernel:
    """Compile a function that kernels call, once for all of them."""
    return Kernel(Written(function, Role.STEP))


def inlined(function: Callable[..., Any]) -> Kernel:
    """Compile a small function into each of its callers."""
    return Kernel(Written(function, Role.INLINED))
