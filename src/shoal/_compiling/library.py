"""Machine code that is made once and called from other machine code by its name: numba's library, linked differently.

Numba links the code of a function into each of its callers, and theirs into each of their callers, and optimizes all of
it again each time. Here the callers of a kernel or step only declare it. Its name depends on the sources and on nothing
else, so that what one process compiled fits what another one did.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary

from shoal._compiling.written import Role, Written

__all__ = ["Origin", "SeparateLibrary"]


class Origin(NamedTuple):
    """What machine code was made from."""

    written: Written
    types: tuple[Any, ...]
    """Types of the arguments."""


class SeparateLibrary(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """Code of one kernel or step; those that call it declare it only.

    Parameters
    ----------
    codegen : numba's code generator
    name : str
    origin : Origin
    code : bytes, optional
        Machine code that was kept; else it will be made.
    """

    def __init__(self, codegen: Any, name: str, origin: Origin, code: bytes | None = None) -> None:
        super().__init__(codegen, name)
        self.origin = origin
        self.enable_object_caching()
        if code is not None:
            self._set_compiled_object(code)
            self._finalize_final_module()

    @property
    def needs(self) -> list[Origin]:
        """The kernels and steps that this code calls: theirs must be there before it is."""
        found = {need: None for linked in self._linking_libraries for need in _needs_of(linked)}
        return [need for need in found if need != self.origin]

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of the function that Python calls, 0 for steps, which have none."""
        self._ensure_finalized()
        if self.origin.written.role is not Role.KERNEL:
            return 0
        return int(self._codegen._engine.get_function_address(name))

    def _get_module_for_linking(self) -> Any:
        """Return what callers link: nothing. What they declare is found by its name."""
        self._ensure_finalized()
        return llvm.parse_assembly(str(self._codegen._create_empty_module(self.name)))


def _needs_of(library: Any) -> list[Origin]:
    """Return the kernels whose code must be there where a library is linked."""
    if isinstance(library, SeparateLibrary):
        return [library.origin]
    return [need for linked in library._linking_libraries for need in _needs_of(linked)]
