"""Processes that need the same machine code at once: one compiles it, and the others wait and load it.

A turn is a lock on one byte of a file in the folder that the code will be kept in. The system gives it back when its
process ends, however it ends. Whoever waits too long compiles, too: both write the same.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from typing import TYPE_CHECKING

if sys.platform != "win32":  # there are no such locks: everybody compiles
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["FILE", "give_back", "take"]

FILE = "compiling.lock"
"""The file in each folder of compiled code; it stays empty."""
_PATIENCE = 60.0
"""Seconds that a process waits for all the others together; far more than any function takes alone."""
_PAUSE = 0.02
"""Seconds between two looks."""
_OPEN: dict[Path, int] = {}
"""Descriptors by file: one each, as the system gives all locks of a file back when any descriptor of it is closed."""


class _Patience:
    """What is left of it in this process."""

    left = _PATIENCE


def take(folders: Iterable[Path], name: str) -> None:
    """Wait until no other process compiles what will be kept under a name.

    Parameters
    ----------
    folders : iterable of Path
        Where it may be kept; the turns are those of the first one that can be written.
    name : str
        Of the file.
    """
    for folder in folders:
        while (taken := _locked(folder / FILE, name)) is False and _Patience.left > 0:
            time.sleep(_PAUSE)
            _Patience.left -= _PAUSE
        if taken is not None:
            return


def give_back(name: str) -> None:
    """End the turn of this process, if it has one."""
    for descriptor in _OPEN.values() if sys.platform != "win32" else ():
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, _byte(name))


def _locked(file: Path, name: str) -> bool | None:
    """Return whether this process has the turn now; None where there are none."""
    if sys.platform == "win32":
        return None
    if file not in _OPEN:
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _OPEN[file] = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            return None
    try:
        fcntl.lockf(_OPEN[file], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(name))
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _byte(name: str) -> int:
    """Return the byte that stands for a name; it need not exist."""
    return zlib.crc32(name.encode()) >> 1
