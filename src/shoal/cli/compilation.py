"""The notice that kernels are being compiled, which explains a long first run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shoal._core.compiling.notices import listening

__all__ = ["WORDS", "announced_compilation"]

_PATIENCE = 0.3
"""Seconds of compilation without a notice: one or two new kernels need no explanation."""
WORDS = "First run: compiling, which takes up to a minute. Later runs start at once."


@contextmanager
def announced_compilation(say: Callable[[str], None]) -> Iterator[None]:
    """Announce the compilation of kernels once, if there is any; loading from the cache does not count.

    Parameters
    ----------
    say : callable
        Called with the notice for the user, at most once.
    """
    with listening(_Announcer(say)):
        yield


class _Announcer:
    """Measures the total time of compilations, which may be nested."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._depth = 0
        self._began = 0.0
        self._spent = 0.0
        self._announced = False

    def begin(self) -> None:
        # Compilations may be nested; only the outermost one is timed.
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def end(self) -> None:
        self._depth -= 1
        # Announce as soon as the total exceeds the patience.
        passed = time.perf_counter() - self._began
        if not self._announced and self._spent + passed >= _PATIENCE:
            self._announced = True
            self._say(WORDS)
        if self._depth == 0:
            self._spent += passed
