"""What arguments look like to a compiled function: what numba tells apart by their types, told without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Look", "look_of"]

Look = tuple[Any, ...]
"""Equal for arguments that have the same types; its `repr` is the same in all processes."""

_NUMBERS = "biuf"
"""Kinds of the elements of arrays that are told apart; those of dates have a unit, too."""
_CONTIGUOUS, _FORTRAN, _ALIGNED, _WRITABLE = 0x1, 0x2, 0x100, 0x400
"""Flags of an array, as numpy numbers them."""


def look_of(arguments: tuple[Any, ...]) -> Look | None:
    """Return what arguments look like; None where one is none of the kinds that are told apart here."""
    try:
        return tuple([_LOOKS.get(type(argument), _named_tuple)(argument) for argument in arguments])
    except _OtherError:
        return None


class _OtherError(Exception):
    """An argument is of no kind that is told apart here."""


def _array(array: Any) -> Look:
    element = array.dtype
    if element.kind not in _NUMBERS:
        raise _OtherError
    flags = array.flags.num & (_CONTIGUOUS | _FORTRAN | _ALIGNED | _WRITABLE)
    return element.str, array.ndim, flags & ~_FORTRAN if flags & _CONTIGUOUS else flags


def _integer(number: int) -> Look:
    if not -(2**63) <= number < 2**63:
        raise _OtherError
    return ("int",)


def _named_tuple(argument: Any) -> Look:
    kind = type(argument)
    if not issubclass(kind, tuple) or not hasattr(kind, "_fields"):
        raise _OtherError
    return kind.__module__, kind.__qualname__, *_tuple(argument)


def _tuple(argument: tuple[Any, ...]) -> Look:
    return tuple([_LOOKS.get(type(one), _named_tuple)(one) for one in argument])


def _always(look: str) -> Callable[[Any], Look]:
    found = (look,)
    return lambda _: found


_LOOKS: dict[type, Callable[[Any], Look]] = {
    np.ndarray: _array,
    int: _integer,
    tuple: _tuple,
    **{kind: _always(kind.__name__) for kind in (float, bool, type(None))},
    **{kind: _always(f"numpy.{kind.__name__}") for kind in (np.bool_, np.int32, np.int64, np.uint64, np.float64)},
}
"""How each type is told apart."""
