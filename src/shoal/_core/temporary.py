"""Temporary folders that only their owner can read, removed at the end or by the next process of the same user.

Such a folder may hold cells: a dropped table, the pieces that Spark spills. Each has a file that its owner keeps locked
as long as it lives. The system gives the lock back when the process ends, however it ends, so a folder whose lock is
free belongs to a process that was killed (a process number alone could be that of another process by now).
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["TemporaryFolder", "has_locks", "sweep_temporary_folders", "take_lock"]

_PURPOSES = ("studio", "spark")
"""What folders are made for, as their names say it: `shoal-studio-...`."""
_NAME = re.compile(rf"shoal-({'|'.join(_PURPOSES)})-[a-z0-9_]+")
_OWNER = ".owner"
"""The file in each folder that its owner keeps locked."""


class TemporaryFolder:
    """A new folder among the temporary files, for this user alone.

    Parameters
    ----------
    purpose : {"studio", "spark"}
        What it is for; a part of its name.

    Examples
    --------
    >>> with TemporaryFolder("studio") as folder:
    ...     (folder.path / "table.csv").touch()
    >>> folder.path.exists()
    False
    """

    def __init__(self, purpose: str) -> None:
        assert purpose in _PURPOSES
        self.path = Path(tempfile.mkdtemp(prefix=f"shoal-{purpose}-"))  # with mode 0700
        self._lock: int | None = None
        if has_locks():
            # The file gets its name once it is locked: no other process ever finds it unlocked while this one lives.
            draft = self.path / f"{_OWNER}.new"
            draft.touch(mode=0o600)
            self._lock = take_lock(draft)
            draft.rename(self.path / _OWNER)

    def close(self) -> None:
        """Remove the folder and everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> TemporaryFolder:
        """Return the folder."""
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the folder."""
        self.close()


def sweep_temporary_folders() -> None:
    """Remove the folders of processes that were killed.

    Only folders named like ours that belong to this user, that nobody else can read, and whose owner is gone. Systems
    without such locks (Windows) keep them.
    """
    if not has_locks():
        return
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        found = [Path(entry.path) for entry in entries if _NAME.fullmatch(entry.name) and _is_private(entry)]
        for folder in found:
            _remove_if_abandoned(folder)


def _is_private(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder of this user that nobody else can read; a link to one is not."""
    try:
        kind = entry.stat(follow_symlinks=False)
    except OSError:  # it is gone meanwhile
        return False
    return stat.S_ISDIR(kind.st_mode) and kind.st_uid == os.geteuid() and stat.S_IMODE(kind.st_mode) == 0o700


def _remove_if_abandoned(folder: Path) -> None:
    lock = take_lock(folder / _OWNER)
    if lock is None:
        return
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def has_locks() -> bool:
    """Return whether the system has the locks of `take_lock`; Windows has none."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        return False
    return True


def take_lock(path: Path) -> int | None:
    """Take a lock on a file or a folder that ends with this process, however it ends.

    Parameters
    ----------
    path : Path
        A file or a folder that exists; a symbolic link is refused.

    Returns
    -------
    int or None
        A descriptor; closing it ends the lock, too. None if a living process holds the lock, or if the system or the
        file system has no such locks.
    """
    if not has_locks():
        return None
    import fcntl

    descriptor = None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor
