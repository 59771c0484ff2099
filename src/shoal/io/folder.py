"""A folder of results that appears whole or not at all, whatever goes wrong while it is written."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InternalError, OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["StagedFolder", "staged_folder", "sweep_folder", "write_folder"]

_SIGNS_OF_OURS = ("certificate.json", "result.json")
_STAGED, _ASIDE = "shoal-new", "shoal-old"


def write_folder(
    target: str | Path,
    files: Mapping[str, Callable[[Path], object]],
    *,
    force: bool = False,
    check: Callable[[Path], object] | None = None,
) -> Path:
    """Write a folder that appears whole or not at all.

    The files are written to a hidden folder beside the target, brought to the disk, checked, and then the folder gets
    its name. A crash at any moment leaves the old folder or the new one; the next call for the same target puts back
    an old one that had no name at that moment, and removes what else an earlier crash left.

    Parameters
    ----------
    target : str or Path
        The folder. Folders above it are made where they are missing.
    files : mapping of str to callable
        For each file name a function that writes the file to the path that it is given.
    force : bool, default False
        Replace an existing folder, if it looks like one of ours: empty, or with a `certificate.json` or `result.json`.
    check : callable, optional
        Called with the path of the hidden folder once all files are in it. Nothing is published where it raises.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    OutputError
        Where the folder exists and may not be replaced, or cannot be written (no space, no permission). The old folder,
        if any, is as it was. What a file's function or `check` raises else passes through.
    """
    with staged_folder(target, files, force=force, check=check) as staged:
        staged.publish()
    return staged.target


@dataclass(frozen=True, kw_only=True)
class StagedFolder:
    """A folder whose files are written and on the disk, under a hidden name."""

    path: Path
    """The hidden folder, beside the target."""
    target: Path
    """The folder that it will be."""
    force: bool
    """Whether it replaces an existing one."""
    shown: str
    """The target as the caller gave it."""

    def publish(self) -> None:
        """Give the folder its name."""
        with _explaining(self.shown, self.target.parent):
            _publish(self.path, self.target, force=self.force)


@contextmanager
def staged_folder(
    target: str | Path,
    files: Mapping[str, Callable[[Path], object]],
    *,
    force: bool = False,
    check: Callable[[Path], object] | None = None,
) -> Iterator[StagedFolder]:
    """Write a folder under a hidden name, which it keeps until its `publish` is called.

    For callers who must note elsewhere, before the folder appears, that it is about to. The parameters are those of
    `write_folder`. A folder that was not published is removed at the end.

    Yields
    ------
    StagedFolder
    """
    shown = str(target)
    if "\0" in shown:
        raise OutputError("The name of the output folder holds a NUL character. Choose another name.")
    target = Path(target).expanduser()
    with _explaining(shown, target.parent):
        target = target.resolve()
        created = [parent for parent in target.parents if not parent.exists()]
    try:
        with _explaining(shown, target.parent):
            _recover(target)
            _refuse(target, force=force, shown=shown)
            target.parent.mkdir(parents=True, exist_ok=True)
        with _staging(target, shown) as staged:
            with _explaining(shown, target.parent):
                _fill(staged, files)
                if check is not None:
                    check(staged)
            yield StagedFolder(path=staged, target=target, force=force, shown=shown)
    except BaseException:
        for parent in created:
            with suppress(OSError):
                parent.rmdir()
        raise


def sweep_folder(target: Path) -> bool:
    """Finish what a crash left beside a folder, and return whether there was anything.

    What `write_folder` does first for the same target: an old folder that had no name gets it back, and hidden folders
    that no living process writes are removed.
    """
    before = _leftovers(target)
    with suppress(OSError):
        _recover(target)
    return before != _leftovers(target)


def _leftovers(target: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(path for kind in (_ASIDE, _STAGED) for path in target.parent.glob(_pattern(target, kind)))
    return []


def _refuse(target: Path, *, force: bool, shown: str) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise OutputError(f"'{shown}' is a file; the output is a folder. Choose another name.")
    if not force:
        raise OutputError(
            f"'{shown}' exists already and is kept. Choose another folder, or replace it with force (--force)."
        )
    with _explaining(shown, target):
        names = os.listdir(target)
    if names and not any(sign in names for sign in _SIGNS_OF_OURS):
        raise OutputError(
            f"'{shown}' does not look like an output of shoal (it has no {' or '.join(_SIGNS_OF_OURS)}), so it is not "
            "replaced, even with force. Choose another folder, or remove it yourself."
        )
    here = Path.cwd()
    if target == here or target in here.parents:
        raise OutputError(f"'{shown}' is the folder that you are in, or above it, and is not replaced. Choose another.")


def _fill(staged: Path, files: Mapping[str, Callable[[Path], object]]) -> None:
    for name, write in files.items():
        if name == ".." or Path(name).name != name:
            raise InternalError(f"'{name}' is not a plain file name")
        path = staged / name
        write(path)
        if not path.is_file():
            raise InternalError(f"nothing was written to '{name}'")
        _to_disk(path)
    _to_disk(staged)


def _publish(staged: Path, target: Path, *, force: bool) -> None:
    if not (force and target.exists()):
        staged.rename(target)
        _to_disk(target.parent)
        return
    aside = _sibling(target, _ASIDE)
    try:
        target.rename(aside)
        staged.rename(target)
        _to_disk(target.parent)
    finally:
        if not target.exists():
            aside.rename(target)
        shutil.rmtree(aside, ignore_errors=True)


def _recover(target: Path) -> None:
    """Finish what an earlier crash interrupted."""
    if not target.parent.is_dir():
        return
    for aside in sorted(target.parent.glob(_pattern(target, _ASIDE))):
        if target.exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.rename(target)
    for staged in target.parent.glob(_pattern(target, _STAGED)):
        lock = _lock(staged)
        if lock is not None:
            shutil.rmtree(staged, ignore_errors=True)
            os.close(lock)


@contextmanager
def _staging(target: Path, shown: str) -> Iterator[Path]:
    """Make a hidden folder beside the target, and remove it at the end if it is still there."""
    staged = _sibling(target, _STAGED)
    lock = None
    try:
        with _explaining(shown, target.parent):
            staged.mkdir()
            lock = _lock(staged)
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Take a lock on a folder that ends with this process, however it ends, or when the descriptor is closed.

    None where a living process holds it, or where the system has no such locks: leftovers of a crash stay there.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    descriptor = None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor


def _sibling(target: Path, purpose: str) -> Path:
    return target.with_name(f".{target.name}.{purpose}-{secrets.token_hex(4)}")


def _pattern(target: Path, purpose: str) -> str:
    from glob import escape

    return escape(f".{target.name}.{purpose}-") + "[0-9a-f]" * 8


def _to_disk(path: Path) -> None:
    if path.is_dir() and os.name == "nt":  # pragma: no cover
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explaining(shown: str, where: Path) -> Iterator[None]:
    """Turn an error of the operating system into one that says what to do."""
    try:
        yield
    except OSError as error:
        raise OutputError(_advice(error, shown, where)) from error


def _advice(error: OSError, shown: str, where: Path) -> str:
    outcome = "Nothing was published, and nothing that was there was changed."
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return f"There is not enough space on the disk for '{shown}'. Free some, or choose another disk. {outcome}"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return f"There is no permission to write '{shown}' in '{where}'. Choose another folder. {outcome}"
        case errno.ENOTEMPTY | errno.EEXIST | errno.ENOTDIR:
            return (
                f"'{shown}' cannot be made: something of that name came up, or a part of the path is a file. {outcome}"
            )
        case _:
            reason = os.strerror(error.errno) if error.errno else type(error).__name__
            return f"'{shown}' cannot be written: {reason}. {outcome}"
