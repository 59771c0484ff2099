"""Temporary folders that only their owner can read, removed at the end or by the next process of the same user.

Such a folder may hold cells, such as an uploaded table or data that Spark spills. Each folder has a file that its owner
locks. The system releases the lock when the process ends in any way, so a folder with a free lock belongs to a dead
process. A process number is not enough, because another process may have it by now.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

_PURPOSES = ("studio", "spark")
"""Purposes of folders, which are a part of their names: `shoal-studio-...`."""
_NAME = re.compile(rf"shoal-({'|'.join(_PURPOSES)})-[a-z0-9_]+")
_OWNER = ".owner"
"""Name of the file in each folder that its owner locks."""


class TemporaryFolder:
    """A new temporary folder that only this user can access.

    Parameters
    ----------
    purpose : {"studio", "spark"}
        The purpose, which is a part of its name.

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
            # The file is renamed after it is locked, so that no other process finds it unlocked while this one lives.
            draft = self.path / f"{_OWNER}.new"
            draft.touch(mode=0o600)
            self._lock = take_lock(draft)
            draft.rename(self.path / _OWNER)

    def close(self) -> None:
        """Remove the folder and its content."""
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
    """Remove the folders of dead processes.

    Only folders with our names that belong to this user and that no other user can read are removed. Systems without
    such locks (Windows) keep them.
    """
    if not has_locks():
        return
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        # Only private folders with names of ours, and only if their lock is free.
        found = [Path(entry.path) for entry in entries if _NAME.fullmatch(entry.name) and _is_private(entry)]
        for folder in found:
            _remove_if_abandoned(folder)


def _is_private(entry: os.DirEntry[str]) -> bool:
    """Check whether an entry is a folder of this user that no other user can read; links are rejected."""
    try:
        kind = entry.stat(follow_symlinks=False)
    except OSError:  # removed in the meantime
        return False
    return stat.S_ISDIR(kind.st_mode) and kind.st_uid == os.geteuid() and stat.S_IMODE(kind.st_mode) == 0o700


def _remove_if_abandoned(folder: Path) -> None:
    # The lock is held during the removal, so that two processes do not race.
    lock = take_lock(folder / _OWNER)
    if lock is None:
        return
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def has_locks(path: Path | None = None) -> bool:
    """Check whether the system, and the file system of a file or folder, has the locks of `take_lock`."""
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    with suppress(OSError):
        descriptor = None if path is None else os.open(path, os.O_RDONLY)
        try:
            if descriptor is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another process has the lock
            return True
        except OSError:
            return False
        finally:
            if descriptor is not None:
                os.close(descriptor)
    return True


def take_lock(path: Path, *, wait: bool = False) -> int | None:
    """Lock a file or a folder until this process ends in any way.

    Parameters
    ----------
    path : Path
        An existing file or folder; symbolic links are rejected.
    wait : bool
        Whether to wait for another process that holds the lock.

    Returns
    -------
    int or None
        A descriptor; closing it releases the lock. None if a living process holds the lock, or if the system or the
        file system has no such locks.
    """
    if not has_locks():
        return None
    import fcntl

    descriptor = None
    try:
        # A lock that is held belongs to a living process.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor
