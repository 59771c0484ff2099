"""The notice that kernels are being compiled: a first run takes long, and nobody would know why."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shoal._core.compiling.notices import listening

__all__ = ["WORDS", "announced_compilation"]

_PATIENCE = 0.3
"""Seconds of compilation that pass without a word: a kernel or two may be new to the cache."""
WORDS = "First run: compiling, which takes up to a minute. Later runs start at once."


@contextmanager
def announced_compilation(say: Callable[[str], None]) -> Iterator[None]:
    """Say once that kernels are being compiled, if they are; what comes from the cache is not.

    Parameters
    ----------
    say : callable
        Called with the words for the user, at most once.
    """
    with listening(_Announcer(say)):
        yield


class _Announcer:
    """Adds up the time of compilations, which may be within one another."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._depth = 0
        self._began = 0.0
        self._spent = 0.0
        self._told = False

    def begin(self) -> None:
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def end(self) -> None:
        self._depth -= 1
        passed = time.perf_counter() - self._began
        if not self._told and self._spent + passed >= _PATIENCE:
            self._told = True
            self._say(WORDS)
        if self._depth == 0:
            self._spent += passed
