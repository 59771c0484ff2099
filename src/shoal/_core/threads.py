"""Work in background threads: compiled kernels and Polars release the lock of the interpreter."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

__all__ = ["ProgressCallback", "run_alongside", "start_in_thread"]

T = TypeVar("T")
ProgressCallback = Callable[[str, int, int], None]
"""A callback for progress, like `shoal._core.progress.Progress`."""


class _LeftError(BaseException):
    """Raised in the work when its result is no longer needed."""


def start_in_thread(work: Callable[[], T]) -> Callable[[], T]:
    """Start work in a daemon thread, and return a function that waits for its result or raises its exception.

    Parameters
    ----------
    work : callable
        Work that ends soon by itself: it cannot be stopped, and the process does not wait for it at its exit.
    """
    outcome: Future[T] = Future()
    # The thread has the language and the audience of the call.
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
