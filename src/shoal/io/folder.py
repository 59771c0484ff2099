"""A folder of results that appears whole or not at all, alone or together with a private one beside it."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shoal._core.temporary import has_locks, take_lock
from shoal._messages import Suggestion
from shoal.errors import InternalError, OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Files = Mapping[str, Callable[[Path], object]]

__all__ = [
    "StagedFolder",
    "check_free",
    "is_being_written",
    "private_folder",
    "staged_folder",
    "staged_private_folder",
    "sweep_folder",
    "to_disk",
    "write_folder",
]

_SIGNS_OF_OURS = ("certificate.json", "result.json")
_PRIVATE = ".private"
_STAGED, _BOTH, _ASIDE = "shoal-new", "shoal-both", "shoal-old"
"""Purposes of hidden folders: one that will appear; one that will appear after its private one; one that was there."""
_REMOVALS, _IN_VAIN = 20, 3
"""How often the removal of a folder is tried, a tenth of a second apart: in all, and in a row without any change."""


def private_folder(target: str | Path) -> Path:
    """Return the folder beside an output folder that only the publisher may see: `out.private` for `out`."""
    target = Path(target)
    return target.with_name(target.name + _PRIVATE)


def staged_private_folder(staged: Path, target: Path) -> Path:
    """Return the hidden private folder that belongs to a hidden folder of a target (`StagedFolder.path`)."""
    return _places(target, staged.name[-8:], both=True)[1].staged


def write_folder(
    target: str | Path,
    files: Files,
    *,
    private: Files | None = None,
    force: bool = False,
    check: Callable[[Path], object] | None = None,
) -> Path:
    """Write a folder that appears whole or not at all, and the private one beside it, if there is one, with it.

    The files are written to hidden folders beside the target, brought to the disk, checked, and then the folders get
    their names, the private one first. A crash at any moment leaves the old folders or the new ones, or is finished by
    the next call for the same target: it puts back an old folder that had no name at that moment, gives a new folder
    its name whose private one has it already, and removes what else an earlier crash left.

    Parameters
    ----------
    target : str or Path
        The folder. Folders above it are made where they are missing.
    files : mapping of str to callable
        For each file name a function that writes the file to the path that it is given, or a folder of files there.
    private : mapping of str to callable, optional
        The same for the files of `private_folder(target)`, which nobody but its owner can read. They are written last.
    force : bool, default False
        Replace existing folders, if they look like ours: empty, or with a `certificate.json` or `result.json`.
    check : callable, optional
        Called with the path of the hidden folder once all files are in it. Nothing is published where it raises.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    OutputError
        Where a folder exists and may not be replaced, or cannot be written (no space, no permission). The old folders,
        if any, are as they were. What a file's function or `check` raises else passes through.
    """
    with staged_folder(target, files, private=private, force=force, check=check) as staged:
        staged.publish()
    return staged.target


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A folder that is about to appear: its names now and then, and that of the old one meanwhile."""

    target: Path
    token: str
    """Eight hexadecimal digits: what belongs to one attempt."""
    purpose: str = _STAGED
    private: bool = False

    @property
    def staged(self) -> Path:
        return _hidden(self.target, self.purpose, self.token)

    @property
    def aside(self) -> Path:
        return _hidden(self.target, _ASIDE, self.token)


def _places(target: Path, token: str, *, both: bool) -> tuple[_Place, ...]:
    """Return the places of one attempt, that of the public folder first."""
    if not both:
        return (_Place(target=target, token=token),)
    return (
        _Place(target=target, token=token, purpose=_BOTH),
        _Place(target=private_folder(target), token=token, private=True),
    )


@dataclass(frozen=True, kw_only=True)
class StagedFolder:
    """A folder whose files are written and on the disk, under a hidden name; so is its private one, if it has one."""

    places: tuple[_Place, ...]
    """Where it is and will be, and its private one."""
    force: bool
    """Whether it replaces an existing one."""
    shown: str
    """The target as the caller gave it."""
    _mode: int
    """Who may do what with the folder once it has its name; until then nobody but its owner can look into it."""
    _removal: ExitStack
    """Removes what has no name at the end."""

    def leave(self) -> None:
        """Keep the hidden folders as a crash would: what was noted of them elsewhere could not be taken back."""
        self._removal.pop_all()

    @property
    def path(self) -> Path:
        """The hidden folder, beside the target."""
        return self.places[0].staged

    @property
    def target(self) -> Path:
        """The folder that it will be."""
        return self.places[0].target

    def publish(self) -> None:
        """Give the folder its name, and the private one its name just before."""
        with _explaining(self.shown, self.target.parent):
            # First: whoever finishes a crash after it only gives the folder its name.
            self.path.chmod(self._mode)
            _publish(self.places, force=self.force)


@contextmanager
def staged_folder(
    target: str | Path,
    files: Files,
    *,
    private: Files | None = None,
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
    both = private is not None
    target = _resolved(target, shown)
    created = [parent for parent in target.parents if not parent.exists()]
    try:
        with _explaining(shown, target.parent):
            _recover(target)
            _refuse(target, both=both, force=force, shown=shown)
            target.parent.mkdir(parents=True, exist_ok=True)
        places = _places(target, secrets.token_hex(4), both=both)
        with _staging(places, shown) as (removal, mode):
            with _explaining(shown, target.parent):
                for place, content in zip(places, (files, private or {}), strict=False):
                    _fill(place, content)
                if check is not None:
                    check(places[0].staged)
            yield StagedFolder(places=places, force=force, shown=shown, _mode=mode, _removal=removal)
    except BaseException:
        for parent in created:
            with suppress(OSError):
                parent.rmdir()
        raise


def check_free(target: str | Path, *, private: bool = True, force: bool = False, remove: bool = True) -> None:
    """Say before the work, rather than after it, that an output folder cannot be written, or the private one beside it.

    What a crash left beside it is finished as by `sweep_folder`, which also takes `remove`.

    Raises
    ------
    OutputError
        As `write_folder` raises it.
    """
    shown = str(target)
    target = _resolved(target, shown)
    with _explaining(shown, target.parent):
        _recover(target, remove=remove)
        _refuse(target, both=private, force=force, shown=shown)


def sweep_folder(target: Path, *, remove: bool = True) -> bool:
    """Finish what a crash left beside a folder, and return whether there was anything.

    What `write_folder` does first for the same target: a new folder gets its name where its private one has it, an old
    folder that had no name gets it back, and hidden folders that no living process writes are removed.

    Parameters
    ----------
    target : Path
        The folder.
    remove : bool, default True
        Whether hidden folders are removed. While one is there, it shows that the folder did not appear.
    """
    before = _leftovers(target)
    with suppress(OSError):
        _recover(target, remove=remove)
    return before != _leftovers(target)


def is_being_written(target: Path, *, own: Path | None = None) -> bool:
    """Return whether a living process writes a folder under a hidden name; False if the system cannot tell (Windows).

    Parameters
    ----------
    target : Path
        The folder.
    own : Path, optional
        A hidden folder that does not count: the caller writes it.
    """
    if not has_locks():
        return False
    aside = f".{_ASIDE}-"
    for path in _leftovers(target):
        if aside in path.name or (own is not None and path.name[-8:] == own.name[-8:]):
            continue
        lock = take_lock(path)
        if lock is None and path.exists():
            return True
        if lock is not None:
            os.close(lock)
    return False


def _resolved(target: str | Path, shown: str) -> Path:
    if "\0" in shown:
        raise OutputError("The name of the output folder holds a NUL character. Choose another name.")
    path = Path(target).expanduser()
    with _explaining(shown, path.parent):
        path = path.resolve()
    if not path.name:
        raise OutputError(f"'{shown}' is the root of the file system, and no output folder. Name one within it.")
    return path


def _refuse(target: Path, *, both: bool, force: bool, shown: str) -> None:
    if both and target.name.endswith(_PRIVATE):
        raise OutputError(
            f"'{shown}' ends in {_PRIVATE}, as private folders do; this one may be published. Choose another name."
        )
    _refuse_one(target, force=force, shown=shown)
    if both:
        _refuse_one(private_folder(target), force=force, shown=f"{shown.rstrip('/')}{_PRIVATE}")


def _refuse_one(target: Path, *, force: bool, shown: str) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise OutputError(f"'{shown}' is a file; the output is a folder. Choose another name.")
    if not force:
        raise OutputError(
            f"'{shown}' exists already and is kept. Choose another folder, or replace it with ",
            Suggestion("force", True),
            ".",
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


def _fill(place: _Place, files: Files) -> None:
    for name, write in files.items():
        if name == ".." or Path(name).name != name:
            raise InternalError(f"'{name}' is not a plain file name")
        path = place.staged / name
        write(path)
        parts = sorted(path.iterdir()) if path.is_dir() else [path]
        if not parts or not all(part.is_file() for part in parts):
            raise InternalError(f"nothing was written to '{name}'")
        for part in parts:
            if place.private:
                part.chmod(0o600)
            to_disk(part)
        if path.is_dir():
            to_disk(path)
    to_disk(place.staged)


def _publish(places: Sequence[_Place], *, force: bool) -> None:
    """Give folders their names, the public one last: once it has it, there is no way back."""
    try:
        for place in places:
            if force and place.target.exists():
                place.target.rename(place.aside)
        for place in reversed(places):
            place.staged.rename(place.target)
            to_disk(place.target.parent)
    finally:
        if places[0].staged.exists():
            _take_back(places)
        for place in places:
            _remove(place.aside)


def _take_back(places: Sequence[_Place]) -> None:
    """Take the name from a new private folder whose public one did not get it, and give old folders theirs back."""
    for place in places:
        if place.private and not place.staged.exists():
            place.target.rename(place.staged)
        if place.aside.exists() and not place.target.exists():
            place.aside.rename(place.target)


def _recover(target: Path, *, remove: bool = True) -> None:
    """Finish what earlier crashes interrupted."""
    if target.parent.is_dir():
        for token in sorted({path.name[-8:] for path in _leftovers(target)}):
            _finish(target, token, remove=remove)


def _finish(target: Path, token: str, *, remove: bool) -> None:
    """Finish an attempt that no living process is making."""
    public, private = _places(target, token, both=True)
    # In the order in which they are removed: a public one without its private one would seem to be about to appear.
    staged = [path for path in (public.staged, _hidden(target, _STAGED, token), private.staged) if path.exists()]
    locks = [take_lock(path) for path in staged]
    try:
        if has_locks() and None in locks:
            return
        halfway = public.staged.exists() and not private.staged.exists()
        if halfway and private.target.exists() and not public.target.exists():
            public.staged.rename(public.target)
        for place in (public, private):
            if place.aside.exists() and place.target.exists():
                _remove(place.aside)
            elif place.aside.exists():
                place.aside.rename(place.target)
        for path in staged if remove and has_locks() else ():
            _remove(path)
    finally:
        for lock in locks:
            if lock is not None:
                os.close(lock)


@contextmanager
def _staging(places: Sequence[_Place], shown: str) -> Iterator[tuple[ExitStack, int]]:
    """Make hidden folders, the private one first, and remove what is still there at the end, the private one last.

    What is in them is not verified yet, so only their owner can look into them. The mode that the public one will have
    is yielded beside what removes them: that of a new folder.
    """
    locks = []
    removal = ExitStack()
    try:
        with _explaining(shown, places[0].target.parent):
            for place in reversed(places):
                place.staged.mkdir(0o700 if place.private else 0o777)
                removal.callback(_remove, place.staged)
                mode = stat.S_IMODE(place.staged.stat().st_mode)  # the public one is the last
                place.staged.chmod(0o700)
                locks.append(take_lock(place.staged))
        yield removal, mode
    finally:
        removal.close()
        for lock in locks:
            if lock is not None:
                os.close(lock)


def _hidden(target: Path, purpose: str, token: str) -> Path:
    return target.with_name(f".{target.name}.{purpose}-{token}")


def _leftovers(target: Path) -> list[Path]:
    """Return the hidden folders of a target and of its private one."""
    names = "|".join(re.escape(place.name) for place in (target, private_folder(target)))
    ours = re.compile(rf"\.({names})\.({_STAGED}|{_BOTH}|{_ASIDE})-[0-9a-f]{{8}}")
    with suppress(OSError):
        return sorted(target.parent / name for name in os.listdir(target.parent) if ours.fullmatch(name))
    return []


def _remove(folder: Path) -> None:
    """Remove a folder. A writer that has not seen yet that it was stopped may put a file there meanwhile: once more."""
    before: dict[str, int] = {}
    in_vain = 0
    for _ in range(_REMOVALS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        now = _state(folder)
        in_vain = in_vain + 1 if now == before else 1
        if in_vain == _IN_VAIN:
            return
        before = now
        time.sleep(0.1)


def _state(folder: Path) -> dict[str, int]:
    """Return when something was put into each folder, or taken out of it, last."""
    state = {}
    for path, _, _ in os.walk(folder):
        with suppress(OSError):
            state[path] = Path(path).stat().st_mtime_ns
    return state


def to_disk(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder."""
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
