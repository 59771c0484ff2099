"""Files that only their owner can read (mode 0600), for everything that may hold or reveal a cell of the input."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


def open_private(path: str | os.PathLike[str], mode: str = "w", *, new: bool = False) -> IO[Any]:
    """Open an empty file for writing that only its owner can read.

    Parameters
    ----------
    path : path
    mode : {"w", "wb"}
        Text is written in UTF-8.
    new : bool
        Reject an existing file; by default it is replaced, and made private before anything is written.

    Raises
    ------
    FileExistsError
        If the file exists and must be new.
    OSError
        If the file cannot be written.
    """
    # The mode applies to new files only; an existing file is made private below.
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


@contextmanager
def draft_for(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a draft, which replaces a file when it is on the disk, so that a crash keeps the old one.

    A device such as /dev/stdout is written itself.
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        yield place
        return
    draft = place.with_name(f".{place.name}.shoal-new")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.replace(place)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def open_beside(path: str | os.PathLike[str], mode: str = "w", *, private: bool = True) -> Iterator[IO[Any]]:
    """Open the draft of a file, which only its owner can read if it is private; modes as `open_private`."""
    with (
        draft_for(path) as draft,
        open_private(draft, mode) if private else draft.open(mode, encoding=None if "b" in mode else "utf-8") as file,
    ):
        yield file


def write_private_text(path: str | os.PathLike[str], text: str, *, new: bool = False) -> None:
    """Write text to a file that only its owner can read, at once; see `open_private` for parameters and errors."""
    with open_private(path, new=True) if new else open_beside(path) as file:
        file.write(text)


def make_private_writer(write: Callable[[Path], object]) -> Callable[[Path], None]:
    """Wrap a function that writes a file so that only its owner can read the file."""

    def written(path: Path) -> None:
        # The file exists with the right mode before anything is written to it.
        open_private(path, "wb").close()
        write(path)

    return written
