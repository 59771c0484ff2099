"""Work in a process of its own: one piece at a time, with progress, and with an end whenever somebody wants it.

The process stays, so that libraries are imported and tables decompressed by one that is warm; cancelling ends it and
the next piece of work gets another one. What goes over the pipe are plain facts, never a table.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError, place_of
from shoal.studio.voice import SCREENS
from shoal.studio.words import work_in_words

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["Job", "Outcome", "Workshop"]

Work = Callable[..., Any]
"""A function at the top of a module, which takes `progress` and plain values, and returns plain facts."""
_PATIENCE = 5.0
"""Seconds that a process has to end by itself."""
_REMEMBERED = 40
"""Outcomes of what was only looked at that are kept."""
_OFTEN = 0.1
"""Seconds between two messages of progress."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a piece of work ended."""

    facts: Any = None
    """What it returned; None where it failed."""
    error: str | None = None
    """Why it failed, in the words of the screens."""
    parameter: str | None = None
    """The parameter of the library that had a value which it cannot have, if it failed because of one."""


@dataclass(kw_only=True)
class Job:
    """A piece of work that runs."""

    key: str
    """What it is, and of what: the same key means the same outcome."""
    title: str
    """What people are told that it does."""
    lasting: bool
    """Whether it changes something outside, so that other work must not take its place."""
    step: str = "starting"
    done: int = 0
    total: int = 0
    since: float = field(default_factory=time.monotonic)

    def to_dict(self) -> dict[str, Any]:
        """Return how far it is."""
        seconds = round(time.monotonic() - self.since, 1)
        return {
            "title": self.title,
            "step": work_in_words(self.step),
            "done": self.done,
            "total": self.total,
            "seconds": seconds,
        }


class Workshop:
    """Runs one piece of work at a time in another process, and remembers how the last ones ended."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process: Any = None
        self._pipe: Connection | None = None
        self._outcomes: OrderedDict[str, Outcome] = OrderedDict()
        self._lasting: dict[str, Outcome] = {}
        self.job: Job | None = None

    def outcome(self, key: str) -> Outcome | None:
        """Return how a piece of work ended; None where it did not, or is forgotten."""
        with self._lock:
            return self._lasting.get(key) or self._outcomes.get(key)

    def forget(self, key: str) -> None:
        """Forget how a piece of work ended, so that it may be done again."""
        with self._lock:
            self._outcomes.pop(key, None)

    def start(self, key: str, title: str, work: Work, arguments: Mapping[str, Any], *, lasting: bool = False) -> bool:
        """Start a piece of work, in place of what is only looked at; return whether it runs now.

        Work that lasts is never stopped by other work: `False` then.
        """
        with self._lock:
            if self.job is not None and self.job.key == key:
                return True
            if self.job is not None and self.job.lasting:
                return False
            if self.job is not None:
                self._end_process()
            self.job = Job(key=key, title=title, lasting=lasting)
            pipe = self._ready()
            pipe.send((work, dict(arguments)))
            threading.Thread(target=self._listen, args=(self.job, pipe), daemon=True).start()
            return True

    def warm_up(self) -> None:
        """Start the process, so that the first piece of work need not wait for it."""
        with self._lock:
            if self.job is None:
                self._ready()

    def cancel(self) -> Job | None:
        """Stop what runs, and return it; nothing unfinished is left behind."""
        with self._lock:
            stopped, self.job = self.job, None
            if stopped is not None:
                self._end_process()
            return stopped

    def close(self) -> None:
        """Stop what runs, and the process."""
        with self._lock:
            self.job = None
            self._end_process()

    def _ready(self) -> Connection:
        """Return the pipe of a process that waits for work."""
        if self._process is None or not self._process.is_alive() or self._pipe is None:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True, name="shoal-studio")
            self._process.start()
            theirs.close()
            self._pipe = ours
        return self._pipe

    def _end_process(self) -> None:
        if self._process is None:
            return
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(_PATIENCE)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def _listen(self, job: Job, pipe: Connection) -> None:
        """Take note of what the process says of a piece of work, until it is done."""
        while True:
            try:
                kind, said = pipe.recv()
            except (EOFError, OSError):
                kind, said = "failed", ("The work ended without a word: the machine may have run out of memory.", None)
            with self._lock:
                if self.job is not job:
                    return  # it was cancelled
                if kind == "progress":
                    job.step, job.done, job.total = said
                    continue
                self.job = None
                done = Outcome(facts=said) if kind == "done" else Outcome(error=said[0], parameter=said[1])
                self._remember(job, done)
                return

    def _remember(self, job: Job, outcome: Outcome) -> None:
        (self._lasting if job.lasting else self._outcomes)[job.key] = outcome
        while len(self._outcomes) > _REMEMBERED:
            self._outcomes.popitem(last=False)


def _serve(pipe: Connection) -> None:
    """Do what comes over a pipe, until it is closed: what the process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the studio, which ends this process
    for name in ("SIGTERM", "SIGHUP"):  # the second where the terminal is closed; Windows has none
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _leave)
    import shoal.studio.jobs

    warnings.simplefilter("ignore")
    logging.getLogger("shoal").setLevel(logging.CRITICAL)  # the screens tell it, in the words of their readers
    shoal.studio.jobs.warm_up()
    while True:
        try:
            work, arguments = pipe.recv()
        except EOFError:
            return
        pipe.send(_done(work, arguments, _Telling(pipe)))


def _done(work: Work, arguments: Mapping[str, Any], progress: _Telling) -> tuple[str, Any]:
    from shoal._core.progress import interruptible

    try:
        with interruptible():
            return "done", work(progress=progress, **arguments)
    except ShoalError as error:
        return "failed", (error.render(SCREENS), getattr(error, "parameter", None))
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as bug:  # a panic of compiled code (Polars) is no Exception
        if os.environ.get("SHOAL_DEBUG") == "1":
            import traceback

            traceback.print_exception(bug)
        told = f"Internal error: {place_of(bug)}. This is a bug in shoal: please report it with this line."
        return "failed", (f"{told} Nothing was published.", None)


class _Telling:
    """Sends progress over a pipe, but not too often."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._next = 0.0
        self._step = ""

    def __call__(self, step: str, done: int, total: int, /) -> None:
        now = time.monotonic()
        if step != self._step or now >= self._next:
            self._step, self._next = step, now + _OFTEN
            self._pipe.send(("progress", (step, done, total)))


def _leave(number: int, frame: object) -> None:
    """Leave as after Ctrl-C: whatever is open is cleaned up on the way out."""
    raise SystemExit(128 + number)
