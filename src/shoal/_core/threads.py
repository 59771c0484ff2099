"""Work in background threads: compiled kernels and Polars release the lock of the interpreter."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")
ProgressCallback = Callable[[str, int, int], None]
"""A callback for progress, like `shoal._core.progress.Progress`."""


class _LeftError(BaseException):
    """Raised in the work when its result is no longer needed."""


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_threads(
    work: Callable[[S], T],
    items: Iterable[S],
    *,
    most: int | None = None,
    finished: Callable[[int], None] = lambda done: None,
) -> list[T]:
    """Apply work to items that do not depend on each other, by as many threads as there are cores, and `most`.

    Parameters
    ----------
    work : callable
    items : iterable
        The division into items must not depend on the number of threads, so that results do not either.
    most : int, optional
        Largest number of threads, where each of them takes memory.
    finished : callable
        Called with the number of results so far, after each one. If it fails, items that wait are left out.

    Returns
    -------
    list
        The results in the order of the items.
    """
    found: list[T] = []
    pool = ThreadPoolExecutor(max_workers=min(usable_cores(), most or usable_cores()))
    try:
        for result in pool.map(work, items):
            found.append(result)
            finished(len(found))
    finally:
        pool.shutdown(cancel_futures=True)
    return found


def start_in_thread(work: Callable[[], T]) -> Callable[[], T]:
    """Start work in a daemon thread, and return a function that waits for its result or raises its exception.

    Parameters
    ----------
    work : callable
        Work that ends soon by itself: it cannot be stopped, and the process does not wait for it at its exit.
    """
    outcome: Future[T] = Future()
    # The thread has the audience of the call.
    context = copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(work))
        except BaseException as error:  # raised in the waiting thread
            outcome.set_exception(error)

    # A daemon, so that an abandoned work does not block the exit of the process.
    threading.Thread(target=run, daemon=True).start()
    return outcome.result


@contextmanager
def run_alongside(work: Callable[[ProgressCallback], T]) -> Iterator[Callable[[], T]]:
    """Start work in a thread for the duration of a block, and yield a function that waits for its result.

    Parameters
    ----------
    work : callable
        Work that calls the given callback from time to time, which stops the work if the block has ended. The block
        waits for its end.
    """
    # Set when the result is not needed any more, and when the work has ended.
    left = threading.Event()
    ended = threading.Event()

    def report(step: str, done: int, total: int, /) -> None:
        if left.is_set():
            raise _LeftError

    def run() -> T:
        try:
            return work(report)
        finally:
            ended.set()

    result = start_in_thread(run)
    try:
        yield result
    finally:
        # The next report of progress stops the work.
        left.set()
        ended.wait()
