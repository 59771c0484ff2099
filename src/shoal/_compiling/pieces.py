"""The machine code of one function as it is kept: what linking it takes, and what only numba understands."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Piece"]


class Piece(NamedTuple):
    """What is kept of a compiled function."""

    needs: tuple[tuple[str, str], ...]
    """The functions that it calls: the module of each, and the name of its file."""
    symbol: str
    """The name of what Python calls; steps have none."""
    environments: tuple[tuple[str, tuple[object, ...]], ...]
    """The constants that are Python's objects, by the name of the symbol that points to them."""
    code: bytes
    """Machine code that is not linked."""
    rest: bytes
    """What numba wants to know of it, as `numba.core.serialize` writes it."""
