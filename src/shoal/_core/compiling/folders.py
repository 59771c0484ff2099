"""Folders for compiled code that only their user can write: a process runs the code that it finds there."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import inspect
import os
import shutil
import stat
import tempfile
import uuid
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._core.compiling.stamps import source_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROOT = Path(__file__).resolve().parent.parent
"""The folder of the package."""
_MOST_LINKS = 40
"""Symbolic links that are followed on the way to a folder, as Linux does."""
_WARNED: set[str] = set()
"""Warnings of this process."""


def private_folder(source: Path, name: str, stamp: str) -> Path | None:
    """Make a folder for code that was compiled from a source, and remove those with other stamps.

    The first that can be written is chosen: next to the source, or in the folder that NUMBA_CACHE_DIR names instead;
    in the user's cache folder; in a folder of this user among the temporary files. Folders that others can write are
    left out. If there is none, the process warns once.

    Parameters
    ----------
    source : Path
        The file of the module.
    name, stamp : str
        What is compiled, and a hash of all that it is compiled from.
    """
    # Places in the order of preference; a read-only folder of the administrator is copied.
    installed: Path | None = None
    for place in _places(source):
        folder = place / f"{name}-{stamp}"
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o755 if place == _beside(source) else 0o700)
            if not folder.exists():
                _create(folder, installed)
        except OSError:
            continue
        if not is_private(folder):
            continue  # another user made it in the meantime
        if not os.access(folder, os.W_OK):
            installed = installed or folder  # compiled by the administrator
            continue
        _remove_others(place, name, folder)
        if place.is_relative_to(_temporary()):
            warn_once(
                f"Compiled code is kept in {_temporary()} and may be gone soon: neither the folder of shoal nor the "
                "user's cache folder can be written. Set NUMBA_CACHE_DIR to a folder of your own."
            )
        return folder
    warn_once(
        "Compiled code cannot be kept, so that each run compiles again: no folder can be written by this user alone. "
        "Set NUMBA_CACHE_DIR to a folder of your own."
    )
    return None


def code_folder(function: Callable[..., Any]) -> Path | None:
    """Choose the folder for the machine code of a function's module, a new one for each version of its sources."""
    return _folder_of_module(function.__module__, Path(inspect.getfile(function)))


@functools.cache
def _folder_of_module(module: str, source: Path) -> Path | None:
    return private_folder(source, module.rpartition(".")[2], source_stamp(module))


def warn_once(text: str) -> None:
    """Issue a warning, once in a process."""
    if text not in _WARNED:
        _WARNED.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def _create(folder: Path, copied: Path | None) -> None:
    """Make a folder, with the files of another one if there is one; users of its group may not write what is in it."""
    if copied is None:
        folder.mkdir(exist_ok=True)
        if folder.stat().st_mode & 0o022:
            folder.chmod(0o700)
        return
    # Copied under another name first, so that no process sees half of it.
    draft = folder.with_name(f"{folder.name}.{uuid.uuid4().hex[:12]}")
    shutil.copytree(copied, draft, copy_function=shutil.copyfile)
    for made in (draft, *draft.glob("*/")):
        made.chmod(0o700)
    with contextlib.suppress(OSError):  # another process was faster
        draft.rename(folder)
    shutil.rmtree(draft, ignore_errors=True)


def _remove_others(place: Path, name: str, folder: Path) -> None:
    """Remove what was compiled from other sources."""
    for other in place.glob(f"{name}-*"):
        if other != folder and len(other.name) == len(folder.name):
            shutil.rmtree(other, ignore_errors=True)


def _places(source: Path) -> Iterator[Path]:
    """Generate the folders that may hold compiled code of a module, in the order of preference."""
    inside = _inside(source)
    for base in (_requested, _of_user, _temporary):
        with contextlib.suppress(OSError):  # there is no such folder at all
            found = base()
            place = _beside(source) if found is None else found / inside
            if is_private(place):
                yield place


def is_private(folder: Path) -> bool:
    """Check that only this user and the administrator can write a folder, or replace it.

    A folder that does not exist is judged by the one that it would be made in.
    """
    if os.name != "posix":
        return True  # their modes are not those of POSIX
    # Every folder and link on the way counts, because its owner could replace the rest.
    trusted = (0, os.geteuid())
    try:
        real = Path(os.path.realpath(folder))  # `resolve` fails at links without end
        kinds = [(one, one.lstat()) for one in _passed(folder) if os.path.lexists(one)]
    except OSError:
        return False
    return all(
        kind.st_uid in trusted
        and (
            stat.S_ISLNK(kind.st_mode)
            or (
                stat.S_ISDIR(kind.st_mode)
                # In a sticky folder, such as that of temporary files, only the owner of an entry can replace it.
                and not (kind.st_mode & 0o022 and (one == real or not kind.st_mode & stat.S_ISVTX))
            )
        )
        for one, kind in kinds
    )


def _passed(folder: Path) -> Iterator[Path]:
    """Generate the folders and symbolic links on the way to a folder, those behind links included.

    Raises
    ------
    OSError
        The links have no end.
    """
    here, ahead, links = Path(), list(reversed(folder.absolute().parts)), 0
    while ahead:
        # Links are followed by hand, so that their own folders are checked as well.
        part = ahead.pop()
        if part == "..":
            here = here.parent
            continue
        here /= part
        yield here
        if here.is_symlink():
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            ahead += reversed(here.readlink().parts)
            here = here.parent


def _beside(source: Path) -> Path:
    return source.parent / "__pycache__"


def _inside(source: Path) -> Path:
    """Return the folder of a module within a folder for all: installations do not remove each other's files."""
    folder = source.parent
    kept = folder.relative_to(_ROOT) if folder.is_relative_to(_ROOT) else Path(_digest(folder))
    return Path(_digest(_ROOT)) / kept


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def _requested() -> Path | None:
    name = os.environ.get("NUMBA_CACHE_DIR")
    return Path(name).absolute() if name else None


def _of_user() -> Path:
    from platformdirs import user_cache_path

    return Path(user_cache_path("shoal", appauthor=False))


def _temporary() -> Path:
    """Return the folder of this user among the temporary files."""
    user = os.geteuid() if os.name == "posix" else "user"
    return Path(tempfile.gettempdir()) / f"shoal-{user}"
