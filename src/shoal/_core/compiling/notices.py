"""Tells who wants to know that kernels are being compiled: a first run takes long, and nobody would know why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["begin", "end", "listening"]


class Listener(Protocol):
    """What is told when the compilation of a kernel begins and ends; compilations may be within one another."""

    def begin(self) -> None:
        """Hear that a kernel was not found compiled, and is compiled now."""

    def end(self) -> None:
        """Hear that it is done."""


_LISTENERS: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell a listener of every compilation in the meantime."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def begin() -> None:
    """Tell all listeners that a compilation begins."""
    for listener in _LISTENERS:
        listener.begin()


def end() -> None:
    """Tell all listeners that a compilation ended."""
    for listener in _LISTENERS:
        listener.end()
