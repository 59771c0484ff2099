"""Progress of long work, told to whoever asked: the library itself never prints."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "silent"]


class Progress(Protocol):
    """Called now and then with the step's name and how much of it is done.

    An exception that it raises (a `KeyboardInterrupt`, say) ends the work; nothing is written then.
    """

    def __call__(self, step: str, done: int, total: int, /) -> None:
        """Take note that `done` of `total` units of `step` are done."""


def silent(step: str, done: int, total: int, /) -> None:
    """Ignore progress: the default."""
