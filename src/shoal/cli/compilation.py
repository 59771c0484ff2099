"""The notice that kernels are being compiled: a first run takes long, and nobody would know why."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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
    # Whoever asks for this is about to import numba anyway.
    from numba.core.event import Listener, install_listener

    class Announcer(Listener):
        """Adds up the time of compilations; numba tells of the beginning and the end of each, one within another."""

        depth = 0
        began = 0.0
        spent = 0.0
        told = False

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.began = time.perf_counter()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            passed = time.perf_counter() - self.began
            if not self.told and self.spent + passed >= _PATIENCE:
                self.told = True
                say(WORDS)
            if self.depth == 0:
                self.spent += passed

    with install_listener("numba:compile", Announcer()):
        yield
