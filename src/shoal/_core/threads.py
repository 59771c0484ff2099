"""Work that another thread does meanwhile: compiled kernels and Polars release the lock of the interpreter."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

__all__ = ["Told", "begun", "beside"]

T = TypeVar("T")
Told = Callable[[str, int, int], None]
"""What hears of progress, as `shoal._core.progress.Progress` does."""


class _LeftError(BaseException):
    """Nobody waits for the work any more."""


def begun(work: Callable[[], T]) -> Callable[[], T]:
    """Begin some work in a thread of its own, and return what waits for its result, or raises what it raised.

    Parameters
    ----------
    work : callable
        It ends by itself, soon: nothing stops it, and the process does not wait for it when it leaves.
    """
    outcome: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(work))
        except BaseException as error:  # of which the thread that waits is told
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome.result


@contextmanager
def beside(work: Callable[[Told], T]) -> Iterator[Callable[[], T]]:
    """Begin some work in a thread of its own, and yield what waits for its result, or raises what it raised.

    Parameters
    ----------
    work : callable
        It is given what it tells of its progress to, now and then: that ends it where the block was left before. The
        work ends before the block does.
    """
    left = threading.Event()
    ended = threading.Event()

    def told(step: str, done: int, total: int, /) -> None:
        if left.is_set():
            raise _LeftError

    def run() -> T:
        try:
            return work(told)
        finally:
            ended.set()

    result = begun(run)
    try:
        yield result
    finally:
        left.set()
        ended.wait()
