"""Progress of long work, reported to a callback: the library itself never prints."""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WIDTH = 24
"""Number of characters of a bar."""


class Progress(Protocol):
    """Callback that is called repeatedly with the name of a step and its progress.

    If it raises an exception, such as `KeyboardInterrupt`, the work ends and nothing is written.
    """

    def __call__(self, step: str, done: int, total: int, /) -> None:
        """Report that `done` of `total` pieces of `step` are done."""


def silent(step: str, done: int, total: int, /) -> None:
    """Ignore progress (the default)."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise the exception of a signal (Ctrl-C, termination) even if compiled code loses or replaces it.

    On the return from a compiled function Python sees a result together with an exception, and raises one or several
    nested `SystemError` instead. Where Polars asks for the type of an object, it drops the exception and fails.
    """
    came, former = list[int](), dict[int, Any]()

    def note(number: int, frame: object) -> None:
        came.append(number)
        former[number](number, frame)

    if threading.current_thread() is threading.main_thread():
        for one in (signal.SIGINT, signal.SIGTERM):
            if callable(signal.getsignal(one)):
                former[one] = signal.signal(one, note)
    try:
        yield
    except (TypeError, SystemError) as error:
        # The exception of the signal is the innermost cause.
        cause: BaseException | None = error
        while isinstance(cause, SystemError):
            cause = cause.__cause__
        if isinstance(cause, SystemExit) or signal.SIGTERM in came:
            raise SystemExit(cause.code if isinstance(cause, SystemExit) else 128 + signal.SIGTERM) from error
        if isinstance(cause, KeyboardInterrupt) or came:
            raise KeyboardInterrupt from error
        raise
    finally:
        for number, handler in former.items():
            if signal.getsignal(number) is note:
                signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back signals that end the process (Ctrl-C, termination) until the end of a short block.

    Handlers run in the main thread, so blocks in other threads need no protection.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    holding, held = True, list[int]()
    before: dict[int, Any] = {}

    def hold(number: int, frame: object) -> None:
        if holding:
            held.append(number)
        else:  # the former handler, in case that a signal came before it was put back
            signal.signal(number, before[number])
            signal.raise_signal(number)

    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) not in (None, signal.SIG_IGN):
                before[number] = signal.getsignal(number)
                signal.signal(number, hold)
        yield
    finally:
        holding = False
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(held):
            signal.raise_signal(number)


_BEGAN: ContextVar[float | None] = ContextVar("began", default=None)
"""Start of the process, by `time.perf_counter`, until its first work begins."""


def count_time_from(moment: float) -> None:
    """Count the time since a moment, by `time.perf_counter`, as the start of the next work."""
    _BEGAN.set(moment)


class Clock:
    """Wall time of the steps of a long work, which also reports progress when a step begins.

    If it listens to the compilation of kernels (`shoal._core.compiling.notices`), compilation is a step of its own.

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
        # The first work of a process includes its start.
        now, since = time.perf_counter(), _BEGAN.get()
        self._since = now if since is None else since
        if since is not None:
            self._seconds["start"] = now - since
            _BEGAN.set(None)
        self._lock = threading.Lock()
        self._compiling = 0
        self._compiling_since = 0.0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure a step, or another part of a step that began before, and report progress once."""
        if name not in self._seconds:
            self.progress(name, self._steps.index(name), len(self._steps))
        # Compilation within the step is not counted twice.
        start, before = self._read()
        with interruptible():
            yield
        end, compiled = self._read()
        self._seconds[name] = self._seconds.get(name, 0.0) + end - start - (compiled - before)

    def _read(self) -> tuple[float, float]:
        """Return the time, and the seconds of compilation until then, with those of one that goes on in any thread."""
        with self._lock:
            now = time.perf_counter()
            running = now - self._compiling_since if self._compiling else 0.0
            return now, self._seconds.get("compile", 0.0) + running

    def begin(self) -> None:
        """Note that the compilation of a kernel begins, possibly within another one."""
        with self._lock:
            self._compiling += 1
            if self._compiling == 1:
                self._compiling_since = time.perf_counter()

    def end(self) -> None:
        """Note that a compilation ended."""
        # Only the outermost compilation is measured.
        with self._lock:
            self._compiling -= 1
            if self._compiling == 0:
                passed = time.perf_counter() - self._compiling_since
                self._seconds["compile"] = self._seconds.get("compile", 0.0) + passed

    def seconds(self) -> dict[str, float]:
        """List the seconds of each finished step, and in total since the start of the work or its process."""
        return {**self._seconds, "total": time.perf_counter() - self._since}


@contextmanager
def display_progress(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """Report progress to a given callback, or draw a line with the current step if True.

    The line is drawn on standard error: in terminals and notebooks over the previous one, elsewhere once for each step.
    """
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    # Logs would keep every line, so elsewhere only new steps are shown.
    over_itself = sys.stderr.isatty() or "ipykernel" in sys.modules
    shown = ""

    def draw(step: str, done: int, total: int, /) -> None:
        nonlocal shown
        # A line is drawn only if it differs from the last one.
        share = min(max(done / total, 0.0), 1.0) if total > 0 else 0.0
        full = int(share * _WIDTH)
        line = f"{step:<12.24} [{'#' * full}{'.' * (_WIDTH - full)}] {share:4.0%}" if over_itself else step
        if line == shown:
            return
        sys.stderr.write(f"\r{line:<{len(shown)}}" if over_itself else f"{line}\n")
        sys.stderr.flush()
        shown = line

    try:
        yield draw
    finally:
        if over_itself and shown:
            sys.stderr.write(f"\r{'':<{len(shown)}}\r")
            sys.stderr.flush()
