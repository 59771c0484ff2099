"""Notify listeners when kernels are compiled, because a first run takes long without an apparent reason."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Listener(Protocol):
    """An object that is notified when the compilation of a kernel begins and ends; compilations may be nested."""

    def begin(self) -> None:
        """Note that a kernel is not cached and is being compiled."""

    def end(self) -> None:
        """Note that the compilation ended."""


class Stopwatch:
    """A listener that measures how long compilations take, of which the outermost ones are timed."""

    def __init__(self) -> None:
        self.spent = 0.0
        """Seconds of all compilations that ended."""
        self._depth = 0
        self._began = 0.0

    def begin(self) -> None:
        """Note that a compilation begins."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def end(self) -> None:
        """Note that a compilation ended."""
        self._depth -= 1
        if self._depth == 0:
            self.spent += time.perf_counter() - self._began

    @property
    def passed(self) -> float:
        """Seconds of all compilations, including the current one."""
        return self.spent + (time.perf_counter() - self._began if self._depth else 0.0)


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
