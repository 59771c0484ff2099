"""Notify listeners when kernels are compiled, because a first run takes long without an apparent reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["begin", "end", "listening"]


class Listener(Protocol):
    """An object that is notified when the compilation of a kernel begins and ends; compilations may be nested."""

    def begin(self) -> None:
        """Note that a kernel is not cached and is being compiled."""

    def end(self) -> None:
        """Note that the compilation ended."""


_LISTENERS: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Notify a listener of every compilation for the duration of the context."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def begin() -> None:
    """Notify all listeners that a compilation begins."""
    for listener in _LISTENERS:
        listener.begin()


def end() -> None:
    """Notify all listeners that a compilation ended."""
    for listener in _LISTENERS:
        listener.end()
