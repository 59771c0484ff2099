"""Write a folder of results that appears completely or not at all, optionally together with a private folder."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from shoal._core.outcome import Standing, get_reads, reason_of, watch
from shoal._core.progress import uninterrupted
from shoal._core.temporary import has_locks, take_lock
from shoal._messages import Suggestion
from shoal.errors import InternalError, OutputError

Files = Mapping[str, Callable[[Path], object]]


_ADDRESS = re.compile(r"[A-Za-z][\w+.-]+:/")
"""How an address such as `s3a://bucket` begins; drives of Windows have one letter."""
_SIGNS = ("certificate.json", "result.json")
"""The files that name the others of their folder."""
_OF_RELEASES = ("report.html", "report.json", "salt.txt", "plan.json")
"""Files of a release that its certificate does not name."""
_PRIVATE = ".private"
_STAGED, _BOTH, _ASIDE, _GONE = "shoal-new", "shoal-both", "shoal-old", "shoal-gone"
"""Purposes of hidden folders: to appear, to appear after its private folder, to keep the previous folder until the new
one is there, and to be removed."""
_REMOVALS, _IN_VAIN = 20, 3
"""Attempts to remove a folder, a tenth of a second apart: in total, and in succession without any change."""


def private_folder(target: str | Path) -> Path:
    """Name the folder next to an output folder that only the publisher may see: `out.private` for `out`."""
    target = Path(target)
    return target.with_name(target.name + _PRIVATE)


def staged_private_folder(staged: Path, target: Path) -> Path:
    """Name the hidden private folder that belongs to a hidden folder of a target (`StagedFolder.path`)."""
    return _places(target, staged.name[-8:], both=True)[1].staged


def write_folder(
    target: str | Path,
    files: Files,
    *,
    private: Files | None = None,
    force: bool = False,
    check: Callable[[Path], object] | None = None,
) -> Path:
    """Write a folder that appears completely or not at all, together with its private folder if there is one.

    The files are written to hidden folders next to the target, flushed to the disk and checked. Then the folders are
    renamed, the private one first. A crash at any moment leaves the old folders or the new ones, or is repaired by the
    next call for the same target: it restores an old folder that was set aside, renames a new folder if its private
    one was renamed already, and removes other remains of the crash. Signals wait while folders are renamed or undone,
    and so do other writers of the same place.

    Parameters
    ----------
    target : str or Path
        The folder. Missing parent folders are created.
    files : mapping of str to callable
        For each file name, a function that writes a file, or a folder of files, to the given path.
    private : mapping of str to callable, optional
        The same for the files of `private_folder(target)`, which only their owner can read. They are written last.
    force : bool, default False
        Replace existing folders, if each of their files is named by a `certificate.json` or `result.json` of ours.
    check : callable, optional
        Called with the path of the hidden folder after all files are written. If it raises, nothing is published.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    OutputError
        If a folder exists and may not be replaced, or cannot be written (no space, no permission). Old folders are left
        unchanged. Other exceptions of the functions and of `check` are passed on.
    """
    with staged_folder(target, files, private=private, force=force, check=check) as staged:
        staged.publish()
    return staged.target


@dataclass(frozen=True, kw_only=True)
class _Place:
    """The names of a folder in one attempt: target, hidden name, and hidden name of the previous folder."""

    target: Path
    token: str
    """Eight hexadecimal digits that identify the attempt."""
    purpose: str = _STAGED
    private: bool = False

    @property
    def staged(self) -> Path:
        return _hidden(self.target, self.purpose, self.token)

    @property
    def aside(self) -> Path:
        return _hidden(self.target, _ASIDE, self.token)

    @property
    def gone(self) -> Path:
        return _hidden(self.target, _GONE, self.token)


def _places(target: Path, token: str, *, both: bool) -> tuple[_Place, ...]:
    """List the places of one attempt, that of the public folder first."""
    if not both:
        return (_Place(target=target, token=token),)
    return (
        _Place(target=target, token=token, purpose=_BOTH),
        _Place(target=private_folder(target), token=token, private=True),
    )


@dataclass(frozen=True, kw_only=True)
class StagedFolder:
    """A folder written to the disk under a hidden name, together with its private folder if it has one."""

    places: tuple[_Place, ...]
    """The place of the folder, and that of its private folder."""
    force: bool
    """Whether it replaces an existing folder."""
    shown: str
    """The target as the caller gave it."""
    _mode: int
    """Permissions of the folder once it is renamed; until then only its owner can access it."""
    _removal: ExitStack
    """Removes the hidden folders at the end."""
    _look: Callable[[], Standing]
    """Looks at what is there now, and describes it."""

    def leave(self) -> None:
        """Keep the hidden folders, as a crash would, because external notes of them cannot be undone."""
        self._removal.pop_all()

    @property
    def path(self) -> Path:
        """The hidden folder, next to the target."""
        return self.places[0].staged

    @property
    def target(self) -> Path:
        """The folder to be published."""
        return self.places[0].target

    def publish(self) -> None:
        """Rename the folder to its target, and the private one immediately before."""
        # Signals wait: an undo that is interrupted would leave one folder of each attempt.
        with _explaining(self.shown, self.target.parent, self._look), uninterrupted():
            with _alone(self.target.parent):
                # Again, because another writer may have been faster.
                _refuse(self.target, both=len(self.places) > 1, force=self.force, shown=self.shown)
                # First, because the repair after a crash only renames the folder.
                self.path.chmod(self._mode)
                try:
                    _rename(self.places)
                finally:
                    if self.path.exists() and not _take_back(self.places):
                        self.leave()  # the next call restores what could not be restored now
            try:
                to_disk(self.target.parent)
            finally:
                _discard(self.places)


@contextmanager
def staged_folder(
    target: str | Path,
    files: Files,
    *,
    private: Files | None = None,
    force: bool = False,
    check: Callable[[Path], object] | None = None,
) -> Iterator[StagedFolder]:
    """Write a folder under a hidden name, which it keeps until `publish` is called.

    For callers that must record elsewhere, before the folder appears, that it is about to appear. The parameters are
    those of `write_folder`. A folder that was not published is removed at the end.

    Yields
    ------
    StagedFolder
    """
    shown = str(target)
    both = private is not None
    target = _resolved(target, shown)
    # Parents created here are removed again if nothing is published.
    created = [parent for parent in target.parents if not parent.exists()]
    try:
        with _explaining(shown, target.parent):
            _recover(target)
            with _alone(target.parent):
                _refuse(target, both=both, force=force, shown=shown)
            target.parent.mkdir(parents=True, exist_ok=True)
        places = _places(target, secrets.token_hex(4), both=both)
        with _staging(places, shown) as (removal, mode):
            look = _watch(places, shown)
            with _explaining(shown, target.parent, look):
                # Private files last: they may describe the public ones.
                for place, content in zip(places, (files, private or {}), strict=False):
                    _fill(place, content)
                if check is not None:
                    check(places[0].staged)
            # Also for the caller's own calls of the system.
            with _explaining(shown, target.parent, look):
                yield StagedFolder(places=places, force=force, shown=shown, _mode=mode, _removal=removal, _look=look)
    except BaseException:
        with uninterrupted():
            for parent in created:
                with suppress(OSError):
                    parent.rmdir()
        raise


def check_free(
    target: str | Path, *, private: bool = True, force: bool = False, remove: bool = True, reads: object = ()
) -> None:
    """Check before the work, rather than after it, that an output folder and its private folder can be written.

    Remains of a crash are repaired as by `sweep_folder`, which also takes `remove`.

    Parameters
    ----------
    reads : object
        What the work reads: paths, or texts and collections that may hold paths. No folder with one of them is
        replaced.

    Raises
    ------
    OutputError
        If they cannot be written; see `write_folder`.
    """
    shown = str(target)
    target = _resolved(target, shown)
    with _explaining(shown, target.parent):
        _recover(target, remove=remove)
        with _alone(target.parent):
            _refuse(target, both=private, force=force, shown=shown, reads=reads)
        # A folder can be made there, above a part of the path that may be missing.
        above = next(one for one in (target.parent, *target.parents) if one.exists())
        if above.is_dir() and not os.access(above, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, shown)


def paths_in(reads: object) -> Iterator[Path]:
    """List the existing files that values may name, such as `zip=file:zip.csv`, and folders that are a whole value."""
    if isinstance(reads, str | os.PathLike):
        text = os.fspath(reads)
        whole = {text, text.partition("=")[2]}
        for name in {*whole, *re.split("[=:,]", text), text.rpartition(":")[2]} - {""}:
            with suppress(OSError, ValueError):
                path = Path(name).expanduser().resolve()
                # A folder with the name of a part, such as a column, is not meant.
                if path.is_file() or (name in whole and path.exists()):
                    yield path
    elif isinstance(reads, Mapping):
        yield from paths_in([*reads.values()])
    elif isinstance(reads, list | tuple | set | frozenset):
        for one in reads:
            yield from paths_in(one)


def sweep_folder(target: Path, *, remove: bool = True) -> bool:
    """Repair the remains of a crash next to a folder, and report whether there were any.

    `write_folder` does this first for the same target: a new folder is renamed if its private one was, an old folder
    that was set aside is restored, and hidden folders that no living process writes are removed.

    Parameters
    ----------
    target : Path
        The folder.
    remove : bool, default True
        Whether hidden folders are removed. A hidden folder shows that the folder did not appear.
    """
    before = _leftovers(target)
    with suppress(OSError):
        _recover(target, remove=remove)
    return before != _leftovers(target)


def is_being_written(target: Path, *, own: Path | None = None) -> bool:
    """Check whether a living process writes a folder under a hidden name; False on systems without locks (Windows).

    Parameters
    ----------
    target : Path
        The folder.
    own : Path, optional
        A hidden folder that is ignored, because the caller writes it.
    """
    if not has_locks(target.parent):
        return False
    for path in _leftovers(target):
        if re.search(f"[.]({_ASIDE}|{_GONE})-", path.name) or (own is not None and path.name[-8:] == own.name[-8:]):
            continue
        # A lock that can be taken belongs to no living process.
        lock = take_lock(path)
        if lock is None and path.exists():
            return True
        if lock is not None:
            os.close(lock)
    return False


def _resolved(target: str | Path, shown: str) -> Path:
    if "\0" in shown:
        raise OutputError("The name of the output folder holds a NUL character. Choose another name.")
    if _ADDRESS.match(shown):
        raise OutputError(
            f"'{shown}' is an address. A release is written to a folder of this machine, so that both of its folders "
            "appear whole or not at all. Name a folder here, and copy the public one from there."
        )
    path = Path(target).expanduser()
    with _explaining(shown, path.parent):
        # Symbolic links are resolved now, so that the hidden folder is on the same file system.
        path = path.resolve()
    if not path.name:
        raise OutputError(f"'{shown}' is the root of the file system, not an output folder. Name a folder within it.")
    return path


def _refuse(target: Path, *, both: bool, force: bool, shown: str, reads: object = ()) -> None:
    if both and target.name.endswith(_PRIVATE):
        raise OutputError(
            f"'{shown}' ends in {_PRIVATE}, as private folders do; this one may be published. Choose another name."
        )
    _refuse_one(target, force=force, shown=shown)
    if both:
        _refuse_one(private_folder(target), force=force, shown=f"{shown.rstrip('/')}{_PRIVATE}")
    replaced = [one for one in (target, private_folder(target))[: 1 + both] if one.exists()]
    for path in paths_in([reads, *get_reads()]) if replaced else ():
        if any(one == path or one in path.parents for one in replaced):
            raise OutputError(
                f"'{path}' is read, and would be removed with the folder that is to be replaced. Choose another folder "
                "for the output."
            )


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
    # The working directory cannot be replaced under a running shell.
    here = Path.cwd()
    if target == here or target in here.parents:
        raise OutputError(f"'{shown}' is the folder that you are in, or above it, and is not replaced. Choose another.")
    with _explaining(shown, target):
        # Only what a file of shoal names is replaced.
        others = _others(target)
    if others:
        raise OutputError(
            f"'{shown}' has {len(others)} file{'s' if len(others) > 1 else ''} that no certificate.json or result.json "
            f"of shoal in it names, such as '{others[0]}', so it is not replaced, even with force. Choose another "
            "folder, or move these files."
        )


def _others(folder: Path) -> list[str]:
    """List the files and empty folders within a folder that no file of shoal in it names."""
    names: set[str] = set()
    for sign in _SIGNS:
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            held = json.loads((folder / sign).read_bytes())
            if isinstance(held["shoal"], str):
                files = {**held.get("output", {})}.get("files", ()) if sign == _SIGNS[0] else held.get("files", ())
                names |= {sign, *map(str, files), *(_OF_RELEASES if sign == _SIGNS[0] else ())}
    names |= {f".{name}.{_STAGED}" for name in names}  # of a page that is replaced (`write_beside`)
    found = []
    for path, folders, files in os.walk(folder, onerror=_raise):
        inside = [Path(path, name).relative_to(folder).as_posix() for name in files]
        links = [Path(path, name).relative_to(folder).as_posix() for name in folders if Path(path, name).is_symlink()]
        empty = [] if folders or files or Path(path) == folder else [Path(path).relative_to(folder).as_posix()]
        found += [name for name in (*inside, *links, *empty) if name not in names]
    return sorted(found)


def _raise(error: OSError) -> None:
    raise error


def _fill(place: _Place, files: Files) -> None:
    """Write files into a hidden folder, and flush each of them to the disk."""
    for name, write in files.items():
        # A name must not lead out of the hidden folder.
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


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from renaming output folders within a folder, if its file system has locks."""
    lock = take_lock(folder, wait=True)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _rename(places: Sequence[_Place]) -> None:
    """Rename the folders, the public one last: after that there is no way back."""
    for place in places:
        if place.target.exists():
            place.target.rename(place.aside)
    for place in reversed(places):
        place.staged.rename(place.target)
        if place.private:
            to_disk(place.target.parent)


def _take_back(places: Sequence[_Place]) -> bool:
    """Undo `_rename` in reverse order, so that `_finish` repairs each step; report whether all was undone."""
    with suppress(OSError):
        for place in reversed(places):
            if place.private and not place.staged.exists():
                place.target.rename(place.staged)
            if place.aside.exists():
                place.aside.rename(place.target)
        return True
    return False


def _discard(places: Sequence[_Place]) -> None:
    """Remove the previous folders, first their names, so that none is restored when it is half removed."""
    for place in places:
        with suppress(OSError):
            place.aside.rename(place.gone)
    for place in places:
        _remove(place.gone)


def _recover(target: Path, *, remove: bool = True) -> None:
    """Repair the remains of earlier crashes."""
    if _leftovers(target):
        with uninterrupted(), _alone(target.parent):
            for token in sorted({path.name[-8:] for path in _leftovers(target)}):
                _finish(target, token, remove=remove)


def _finish(target: Path, token: str, *, remove: bool) -> None:
    """Repair one attempt, unless a living process is still making it."""
    public, private = _places(target, token, both=True)
    # In the order of removal: a public folder without its private one would look as if it was about to appear.
    staged = [path for path in (public.staged, _hidden(target, _STAGED, token), private.staged) if path.exists()]
    locks = [take_lock(path) for path in staged]
    safe = has_locks(target.parent)
    try:
        if safe and None in locks:
            return
        # The private folder was renamed and the public one was not: the crash came between both.
        halfway = public.staged.exists() and not private.staged.exists()
        if halfway and private.target.exists() and not public.target.exists():
            public.staged.rename(public.target)
        # Both old folders are removed once the new public one got its name, and both restored otherwise.
        published = not any(path.exists() for path in staged if path != private.staged)
        published &= any(path.exists() for place in (public, private) for path in (place.target, place.gone))
        for place in (private, public):
            if place.aside.exists() and not place.target.exists() and not published:
                place.aside.rename(place.target)
        if published:
            _discard((public, private))
        for path in staged if remove and safe else ():
            _remove(path)
    finally:
        for lock in locks:
            if lock is not None:
                os.close(lock)


@contextmanager
def _staging(places: Sequence[_Place], shown: str) -> Iterator[tuple[ExitStack, int]]:
    """Create hidden folders, the private one first, and remove the remaining ones at the end, the private one last.

    Their content is not verified yet, so only their owner can access them. Yields the stack that removes them, and the
    mode of a new folder, which the public one will get.
    """
    locks = []
    removal = ExitStack()
    try:
        # Another writer must not find a folder that is not locked yet.
        parent = places[0].target.parent
        with _explaining(shown, parent), uninterrupted(), _alone(parent):
            for place in reversed(places):
                place.staged.mkdir(0o700 if place.private else 0o777)
                removal.callback(_remove, place.staged)
                mode = stat.S_IMODE(place.staged.stat().st_mode)  # the public folder is the last one
                place.staged.chmod(0o700)
                locks.append(take_lock(place.staged))
        yield removal, mode
    finally:
        with uninterrupted():
            removal.close()
        for lock in locks:
            if lock is not None:
                os.close(lock)


def _hidden(target: Path, purpose: str, token: str) -> Path:
    return target.with_name(f".{target.name}.{purpose}-{token}")


def _leftovers(target: Path) -> list[Path]:
    """List the hidden folders of a target and of its private folder."""
    names = "|".join(re.escape(place.name) for place in (target, private_folder(target)))
    ours = re.compile(rf"\.({names})\.({_STAGED}|{_BOTH}|{_ASIDE}|{_GONE})-[0-9a-f]{{8}}")
    with suppress(OSError):
        return sorted(target.parent / name for name in os.listdir(target.parent) if ours.fullmatch(name))
    return []


def _remove(folder: Path) -> None:
    """Remove a folder, repeatedly, because a writer that is being stopped may still create a file."""
    # The removal is repeated as long as it makes progress.
    before: dict[str, int] = {}
    in_vain = 0
    for _ in range(_REMOVALS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        # Give up when nothing changes any more: then no writer is at work, and the system refuses.
        now = _state(folder)
        in_vain = in_vain + 1 if now == before else 1
        if in_vain == _IN_VAIN:
            return
        before = now
        time.sleep(0.1)


def _state(folder: Path) -> dict[str, int]:
    """Map each folder to the time of its last change."""
    state = {}
    for path, _, _ in os.walk(folder):
        with suppress(OSError):
            state[path] = Path(path).stat().st_mtime_ns
    return state


def to_disk(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    if path.is_dir() and os.name == "nt":  # pragma: no cover
        return
    folder = path.is_dir()
    descriptor = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot flush folders.
        if not folder or error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


def _watch(places: Sequence[_Place], shown: str) -> Callable[[], Standing]:
    """Look at the folders of an attempt now, and return a function that looks again and describes what is there."""
    made = _identity(places[0].staged)
    before = {place.target: _identity(place.target) for place in places}

    def look() -> Standing:
        if _identity(places[0].target) == made:
            private = f", and so is '{places[1].target}'" if len(places) > 1 else ""
            return Standing(f"'{shown}' is in place, complete{private}.", changed=True)
        if any(_identity(path) != known for path, known in before.items()):
            return Standing(f"'{shown}' is not as it was. The next command that writes to it restores what was there.")
        remains = " Hidden remains are removed by the next command that writes to it." if _leftovers(target) else ""
        return Standing(_UNTOUCHED + remains)

    target = places[0].target
    watch(look)
    return look


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return the device and inode of a folder, which identify it; None if there is no folder."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_UNTOUCHED = "Nothing was published, and nothing that was there was changed."


@contextmanager
def _explaining(shown: str, where: Path, look: Callable[[], object] = lambda: _UNTOUCHED) -> Iterator[None]:
    """Convert an error of the operating system into an `OutputError` with advice and what is there now."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{_advice(error, shown, where)} {look()}") from error


def _advice(error: OSError, shown: str, where: Path) -> str:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return f"There is not enough space on the disk for '{shown}'. Free some, or choose another disk."
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return f"There is no permission to write '{shown}' in '{where}'. Choose another folder."
        case errno.ENOTEMPTY | errno.EEXIST | errno.ENOTDIR:
            return f"'{shown}' cannot be made: something of that name came up, or a part of the path is a file."
        case _:
            return f"'{shown}' cannot be written: {reason_of(error)}."
