"""Where compiled code is kept: folders that nobody else can write, for whoever can write there runs code here."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import uuid
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["find", "is_private", "keep", "places_for"]

_ROOT = Path(__file__).resolve().parent.parent
"""The folder of the package."""
_CHECKED = 16
"""Bytes at the beginning of a file: a hash of the rest."""
_TOLD: set[str] = set()
"""What was warned of in this process."""


def find(source: Path, name: str) -> bytes | None:
    """Return what was kept under a name for a module, None where there is nothing, or it is damaged.

    Parameters
    ----------
    source : Path
        The file that the module was loaded from.
    name : str
        Of the file to look for.
    """
    for place in places_for(source):
        with contextlib.suppress(OSError):
            found = (place / name).read_bytes()
            return found[_CHECKED:] if _hash(found[_CHECKED:]) == found[:_CHECKED] else None
    return None


def keep(source: Path, name: str, data: bytes, *, prefix: str, current: str) -> None:
    """Keep something under a name for a module, in the first folder that can be written.

    The file is there as a whole or not at all, whoever else writes or reads it. Where no folder can be written nothing
    is kept, and a warning says so once.

    Parameters
    ----------
    source, name
        As for `find`.
    data : bytes
    prefix, current : str
        Files of that folder that begin with the first but not with the second are of no use any more: they are removed.
    """
    for place in places_for(source):
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o755 if place == _beside(source) else 0o700)
            if not is_private(place):
                continue  # somebody else made it meanwhile
            _write(place / name, _hash(data) + data)
        except OSError:
            continue
        for old in place.iterdir():
            if old.name.startswith(prefix) and not old.name.startswith(current):
                with contextlib.suppress(OSError):
                    old.unlink()
        if place.is_relative_to(_temporary()):
            _warn(
                f"Compiled code is kept in {_temporary()} and may be gone soon: neither the folder of shoal nor the "
                "user's cache folder can be written. Name a folder of your own with NUMBA_CACHE_DIR."
            )
        return
    _warn(
        "Compiled code cannot be kept, so that each run compiles again: no folder can be written by this user alone. "
        "Name a folder of your own with NUMBA_CACHE_DIR."
    )


def places_for(source: Path) -> Iterator[Path]:
    """Generate the folders that may hold compiled code of a module, those to look at first come first.

    Beside the module, or the folder that NUMBA_CACHE_DIR names instead; then the user's cache folder; then a folder of
    this user among the temporary files. Folders that others can write are left out.
    """
    inside = _inside(source)
    for base in (_asked, _of_user, _temporary):
        with contextlib.suppress(OSError):  # there is no such folder at all
            found = base()
            place = _beside(source) if found is None else found / inside
            if is_private(place):
                yield place


def is_private(folder: Path) -> bool:
    """Return whether nobody but this user and the administrator can write a folder, or put another in its place.

    A folder that does not exist is judged by the one that it would be made in.
    """
    if os.name != "posix":
        return True  # their modes tell nothing
    trusted = (0, os.geteuid())
    try:
        links = [one.lstat().st_uid for one in (folder, *folder.parents) if one.is_symlink()]
        real = folder.resolve()
        kinds = [(one, one.stat()) for one in (real, *real.parents) if one.exists()]
    except OSError:
        return False
    return all(user in trusted for user in links) and all(
        stat.S_ISDIR(kind.st_mode)
        and kind.st_uid in trusted
        # In a sticky folder, such as that of temporary files, nobody can touch what others own.
        and not (kind.st_mode & 0o022 and (one == real or not kind.st_mode & stat.S_ISVTX))
        for one, kind in kinds
    )


def _write(path: Path, data: bytes) -> None:
    """Write a file in one step, as others see it."""
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECKED).digest()


def _beside(source: Path) -> Path:
    return source.parent / "__pycache__"


def _inside(source: Path) -> Path:
    """Return the folder of a module within a folder for all: installations do not remove each other's files."""
    folder = source.parent
    kept = folder.relative_to(_ROOT) if folder.is_relative_to(_ROOT) else Path(_digest(folder))
    return Path(_digest(_ROOT)) / kept


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def _asked() -> Path | None:
    asked = os.environ.get("NUMBA_CACHE_DIR")
    return Path(asked).absolute() if asked else None


def _of_user() -> Path:
    from platformdirs import user_cache_path

    return Path(user_cache_path("shoal", appauthor=False))


def _temporary() -> Path:
    """Return the folder of this user among the temporary files."""
    user = os.geteuid() if os.name == "posix" else "user"
    return Path(tempfile.gettempdir()) / f"shoal-{user}"


def _warn(text: str) -> None:
    if text not in _TOLD:
        _TOLD.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)
