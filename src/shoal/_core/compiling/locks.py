"""Locks between processes that need the machine code of the same function at once."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, ClassVar

if sys.platform != "win32":  # Windows has no such locks: all processes compile
    import fcntl

if TYPE_CHECKING:
    from pathlib import Path

_PAUSE = 0.02
"""Seconds between two attempts."""


class FunctionLock:
    """A lock on the compilation of one function; the system releases it when its process ends.

    A process that has waited too long goes on without the lock: the others may be suspended.

    Parameters
    ----------
    folder : Path, optional
        The folder of the machine code; without one there is nothing to lock.
    name : str
        The name of the function.
    """

    patience: ClassVar[float] = 60.0
    """Seconds that this process still waits for others, all functions together; far more than one takes."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self._file = None if folder is None else folder / f"{name}.lock"
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Wait until no other process compiles the function."""
        if self._file is None or sys.platform == "win32":
            return
        try:
            self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            # The patience is shared by all functions, so that a suspended process delays others once.
            while not self._try() and FunctionLock.patience > 0:
                time.sleep(_PAUSE)
                FunctionLock.patience -= _PAUSE
        except OSError:  # a file system without locks
            self.release()

    def release(self) -> None:
        """Let other processes compile the function."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _try(self) -> bool:
        if sys.platform == "win32" or self._descriptor is None:
            return True
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
