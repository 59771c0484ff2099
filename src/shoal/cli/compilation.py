"""The notice that kernels are being compiled, which explains a long first run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shoal._core.compiling.notices import Stopwatch, listening

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


class _Announcer(Stopwatch):
    """Announces compilations as soon as they take long in total."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say
        self._announced = False

    def end(self) -> None:
        if not self._announced and self.passed >= _PATIENCE:
            self._announced = True
            self._say(WORDS)
        super().end()
