"""Files that only their owner can read (0600): whatever may hold or reveal a cell of the input."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

__all__ = ["open_private", "privately", "write_private_text"]


def open_private(path: str | os.PathLike[str], mode: str = "w", *, new: bool = False) -> IO[Any]:
    """Open a file for writing, empty, that only its owner can read.

    Parameters
    ----------
    path : path
    mode : {"w", "wb"}
        Text is written in UTF-8.
    new : bool
        Refuse a file that exists; by default it is replaced, and closed to others before anything is written.

    Raises
    ------
    FileExistsError
        The file exists and must be new.
    OSError
        The file cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if new else os.O_TRUNC) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        # A device such as /dev/stdout keeps its mode.
        if hasattr(os, "fchmod") and stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, 0o600)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8")


def write_private_text(path: str | os.PathLike[str], text: str, *, new: bool = False) -> None:
    """Write text to a file that only its owner can read; parameters and errors as those of `open_private`."""
    with open_private(path, new=new) as file:
        file.write(text)


def privately(write: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return a function that writes the same file so that only its owner can read it."""

    def written(path: Path) -> None:
        open_private(path, "wb").close()
        write(path)

    return written
