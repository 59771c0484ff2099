"""Progress of long work, told to whoever asked: the library itself never prints."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Clock", "Progress", "began", "interruptible", "shown_progress", "silent"]

_WIDTH = 24
"""Characters of a bar."""


class Progress(Protocol):
    """Called now and then with the step's name and how much of it is done.

    An exception that it raises (a `KeyboardInterrupt`, say) ends the work; nothing is written then.
    """

    def __call__(self, step: str, done: int, total: int, /) -> None:
        """Take note that `done` of `total` units of `step` are done."""


def silent(step: str, done: int, total: int, /) -> None:
    """Ignore progress: the default."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise what a signal raised (Ctrl-C, termination) also where it struck on the way out of a compiled function.

    Python sees a result and an exception together then, and makes a `SystemError` of them, or several on the way.
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):
            cause = cause.__cause__
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        if isinstance(cause, SystemExit):
            raise SystemExit(cause.code) from error
        raise


_BEGAN: ContextVar[float | None] = ContextVar("began", default=None)
"""When the process began whose first work is yet to come, as `time.perf_counter` counts."""


def began(moment: float) -> None:
    """Count what passed since a moment, as `time.perf_counter` counts, as the start of the next work."""
    _BEGAN.set(moment)


class Clock:
    """Wall time of the steps of a long work, with progress told as each begins.

    It may listen to the compilation of kernels (`shoal._core.compiling.notices`), which is a step of its own then.

    Parameters
    ----------
    steps : sequence of str
        The steps in their order.
    progress : Progress, optional
    """

    def __init__(self, steps: Sequence[str], progress: Progress | None = None) -> None:
        self.progress: Progress = progress or silent
        self._steps = tuple(steps)
        self._seconds: dict[str, float] = {}
        now, since = time.perf_counter(), _BEGAN.get()
        self._since = now if since is None else since
        if since is not None:
            self._seconds["start"] = now - since
            _BEGAN.set(None)
        self._compiling = 0
        self._compiling_since = 0.0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Take the time of a step, or of another part of one that began before: progress is told once."""
        if name not in self._seconds:
            self.progress(name, self._steps.index(name), len(self._steps))
        start, before = time.perf_counter(), self._seconds.get("compile", 0.0)
        with interruptible():
            yield
        compiled = self._seconds.get("compile", 0.0) - before
        self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - start - compiled

    def begin(self) -> None:
        """Hear that a kernel is compiled, perhaps for another one that is."""
        self._compiling += 1
        if self._compiling == 1:
            self._compiling_since = time.perf_counter()

    def end(self) -> None:
        """Hear that it is done."""
        self._compiling -= 1
        if self._compiling == 0:
            passed = time.perf_counter() - self._compiling_since
            self._seconds["compile"] = self._seconds.get("compile", 0.0) + passed

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each step that ended, and what passed since the work began, or its process."""
        return {**self._seconds, "total": time.perf_counter() - self._since}


@contextmanager
def shown_progress(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """Tell progress to whom a caller names; draw a line with the steps while the work lasts where that is True.

    It is drawn on standard error: over itself in terminals and notebooks, once for each step elsewhere.
    """
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    over_itself = sys.stderr.isatty() or "ipykernel" in sys.modules
    shown = ""

    def told(step: str, done: int, total: int, /) -> None:
        nonlocal shown
        share = min(max(done / total, 0.0), 1.0) if total > 0 else 0.0
        full = int(share * _WIDTH)
        line = f"{step:<12.24} [{'#' * full}{'.' * (_WIDTH - full)}] {share:4.0%}" if over_itself else step
        if line == shown:
            return
        sys.stderr.write(f"\r{line:<{len(shown)}}" if over_itself else f"{line}\n")
        sys.stderr.flush()
        shown = line

    try:
        yield told
    finally:
        if over_itself and shown:
            sys.stderr.write(f"\r{'':<{len(shown)}}\r")
            sys.stderr.flush()
