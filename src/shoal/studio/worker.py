"""Background jobs: a worker process that runs one job at a time, reports progress, and can be cancelled.

The process is reused, so that imports and caches stay warm. Cancelling a job ends the process, and the next job starts
another one. Only plain values pass through the pipe, never a table.
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

from shoal._core.outcome import add_outcome, describe_outcome, watching
from shoal._messages import set_audience
from shoal.errors import ShoalError, place_of
from shoal.studio.words import SCREENS, work_in_words

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from shoal._core.progress import Progress

Work = Callable[..., Any]
"""A module-level function that takes `progress` and plain values as keywords, and returns plain values."""
Given = Mapping[str, Any]
"""Arguments of a job, by name."""
_TERMINATION_TIMEOUT = 5.0
"""Seconds to wait for a terminated process before it is killed."""
_IDLE = 0.3
"""Seconds without a job after which the process warms up: a page that was opened asks for its parts at once."""
_MAX_OUTCOMES = 40
"""Maximum number of cached outcomes of jobs that change nothing."""
_PROGRESS_INTERVAL = 0.1
"""Minimum number of seconds between two progress messages of one step."""
_BROKEN = "The work ended without a word: the machine may have run out of memory."
_BUG = "Internal error: {place}. This is a bug in shoal: please report it with this line. {outcome}"
_LACK = "There is not enough memory. Leave out columns, or publish with the command line in pieces (--memory 2GB). "


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a finished job."""

    facts: Any = None
    """The returned value; None if the job failed."""
    error: str | None = None
    """The error message, phrased for the screens; None if the job succeeded."""
    parameter: str | None = None
    """The library's name of the parameter whose value was invalid, if that is why the job failed."""


@dataclass(kw_only=True)
class Job:
    """A running job."""

    key: str
    """Identifies the function and its arguments: jobs with equal keys have equal outcomes."""
    title: str
    """The title shown to users."""
    lasting: bool
    """Whether the job writes files or ledgers, so that no other job may replace it."""
    brief: bool = False
    """Whether the job fills a part of a page, so that no other brief job replaces it: a new process takes longer."""
    step: str = "starting"
    done: int = 0
    total: int = 0
    since: float = field(default_factory=time.monotonic)

    def to_dict(self) -> dict[str, Any]:
        """Return the title, the progress, and the elapsed seconds as plain values."""
        seconds = round(time.monotonic() - self.since, 1)
        return {
            "title": self.title,
            "step": work_in_words(self.step),
            "done": self.done,
            "total": self.total,
            "seconds": seconds,
        }


class Worker:
    """Runs one job at a time in another process, and caches the latest outcomes."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process: Any = None
        self._pipe: Connection | None = None
        self._outcomes: OrderedDict[str, Outcome] = OrderedDict()
        self._lasting: dict[str, Outcome] = {}
        self.job: Job | None = None

    def outcome(self, key: str) -> Outcome | None:
        """Return the outcome of a job; None if it has not finished, or its outcome was discarded."""
        with self._lock:
            return self._lasting.get(key) or self._outcomes.get(key)

    def forget(self, key: str) -> None:
        """Discard the outcome of a job, so that it may run again."""
        with self._lock:
            self._outcomes.pop(key, None)

    def start(
        self, key: str, title: str, work: Work, arguments: Given, *, lasting: bool = False, brief: bool = False
    ) -> bool:
        """Start a job and cancel the current one, unless that is lasting; return whether the job runs now.

        A lasting job is never replaced, and a brief one not by another: the return value is False while it runs.
        """
        with self._lock:
            # The same job runs already: share it.
            if self.job is not None and self.job.key == key:
                return True
            if self.job is not None and (self.job.lasting or (self.job.brief and brief)):
                return False
            if self.job is not None:
                self._end_process()
            # One thread for each job listens for its messages, so requests never wait for the worker.
            self.job = Job(key=key, title=title, lasting=lasting, brief=brief)
            pipe = self._ensure_process()
            pipe.send((work, dict(arguments)))
            threading.Thread(target=self._listen, args=(self.job, pipe), daemon=True).start()
            return True

    def warm_up(self) -> None:
        """Start the process, so that the first job need not wait for it."""
        with self._lock:
            # A running job has its process already.
            if self.job is None:
                self._ensure_process()

    def cancel(self) -> Job | None:
        """Cancel the current job and return it; unfinished files are removed."""
        with self._lock:
            stopped, self.job = self.job, None
            if stopped is not None:
                self._end_process()
            return stopped

    def close(self) -> None:
        """Cancel the current job and end the process."""
        with self._lock:
            self.job = None
            self._end_process()

    def _ensure_process(self) -> Connection:
        """Return the pipe to an idle process; start a process if none is alive."""
        if self._process is None or not self._process.is_alive() or self._pipe is None:
            # "spawn": a forked child would inherit the locks of the server's threads.
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True, name="shoal-studio")
            self._process.start()
            # Without this copy the pipe breaks when the process dies, which `_listen` relies on.
            theirs.close()
            self._pipe = ours
        return self._pipe

    def _end_process(self) -> None:
        if self._process is None:
            return
        # Ask first, so that the process removes unfinished files; kill it only if it does not react.
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(_TERMINATION_TIMEOUT)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def _listen(self, job: Job, pipe: Connection) -> None:
        """Receive the messages of a job until it ends, and store its outcome."""
        while True:
            try:
                kind, body = pipe.recv()
            except (EOFError, OSError):
                kind, body = "broken", (_BROKEN, None)
            with self._lock:
                if self.job is not job:
                    return  # the job was cancelled
                if kind == "broken":
                    self._end_process()  # a process that has closed its pipe may still seem alive
                if kind == "progress":
                    job.step, job.done, job.total = body
                    continue
                # The job has ended, one way or another.
                self.job = None
                done = Outcome(facts=body) if kind == "done" else Outcome(error=body[0], parameter=body[1])
                self._remember(job, done)
                return

    def _remember(self, job: Job, outcome: Outcome) -> None:
        (self._lasting if job.lasting else self._outcomes)[job.key] = outcome
        # Outcomes of lasting jobs are never discarded: they cannot be computed again.
        while len(self._outcomes) > _MAX_OUTCOMES:
            self._outcomes.popitem(last=False)


def _serve(pipe: Connection) -> None:
    """Run jobs received through a pipe until it is closed: the main function of the worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the studio, which ends this process
    for name in ("SIGTERM", "SIGHUP"):  # SIGHUP: the terminal was closed; Windows has no such signal
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _exit_on_signal)
    # Imported in the worker only: the server's first screen loads no table library.
    from shoal._core.progress import silent
    from shoal.studio.jobs.tables import WARM_UP

    warnings.simplefilter("ignore")
    logging.getLogger("shoal").setLevel(logging.CRITICAL)  # the screens show warnings in their own words
    waiting = [*WARM_UP]
    while True:
        try:
            while waiting and not pipe.poll(_IDLE):
                _run_job(waiting.pop(0), {}, silent)
            work, arguments = pipe.recv()
        except (EOFError, BrokenPipeError):
            return
        with watching():
            outcome = _run_job(work, arguments, _ProgressSender(pipe))
        pipe.send(outcome)


def _run_job(work: Work, arguments: Mapping[str, Any], progress: Progress) -> tuple[str, Any]:
    """Run a job; return "done" and its value, or "failed" with the error message and the invalid parameter."""
    from shoal._core.progress import interruptible

    try:
        with interruptible(), set_audience(SCREENS):
            return "done", work(progress=progress, **arguments)
    except ShoalError as error:
        return "failed", (add_outcome(error.render(SCREENS), error), getattr(error, "parameter", None))
    except (SystemExit, KeyboardInterrupt):
        raise
    except MemoryError:
        return "failed", (_LACK + describe_outcome(), None)
    except BaseException as bug:  # a panic of compiled code (Polars) is not an Exception
        # The message of an unexpected error may quote cells, so users see only its location.
        if os.environ.get("SHOAL_DEBUG") == "1":
            import traceback

            traceback.print_exception(bug)
        return "failed", (_BUG.format(place=place_of(bug), outcome=describe_outcome()), None)


class _ProgressSender:
    """Sends progress through a pipe, at a limited rate."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._next = 0.0
        self._step = ""

    def __call__(self, step: str, done: int, total: int, /) -> None:
        now = time.monotonic()
        # A new step is always reported.
        if step != self._step or now >= self._next:
            self._step, self._next = step, now + _PROGRESS_INTERVAL
            self._pipe.send(("progress", (step, done, total)))


def _exit_on_signal(number: int, frame: object) -> None:
    """Exit through `SystemExit`, so that context managers and `finally` clauses clean up."""
    raise SystemExit(128 + number)
