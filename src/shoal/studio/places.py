"""Which files the studio may read, and where it may write: the folder that it was started in, and what was allowed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import OutputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ENDINGS", "FoundTable", "Places"]

_TEXT = (".csv", ".tsv", ".txt")
_PACKED = (".gz", ".zst", ".zstd")
_OTHERS = (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".xlsx", ".xlsm", ".xls", ".ods")
ENDINGS = (*_TEXT, *(text + packed for packed in _PACKED for text in _TEXT), *_OTHERS)
"""What the names of tables end in that the studio lists and takes."""
_SHOWN_ENDINGS = ", ".join((*_TEXT, ".csv.gz", *_OTHERS))
_LISTED = 100
_LONGEST_NAME = 100


@dataclass(frozen=True, kw_only=True)
class FoundTable:
    """A table that may be opened."""

    name: str
    bytes: int


@dataclass(kw_only=True)
class Places:
    """The folders that the studio may touch."""

    home: Path
    """Where it was started: paths start from here, and releases go here."""
    allowed: tuple[Path, ...] = ()
    """Other folders, and files, that may be read."""
    _private: Path | None = field(default=None, init=False)
    """Where dropped tables are as long as the studio runs; only its owner can read it."""

    def __post_init__(self) -> None:
        self.home = self.home.resolve()
        self.allowed = tuple(one.resolve() for one in self.allowed)

    def table(self, given: str) -> Path:
        """Return the file of a path that somebody typed.

        Raises
        ------
        UsageError
            Where it lies elsewhere, is no file, or is no table by its name.
        """
        path = self._inside(given)
        if not path.name.lower().endswith(ENDINGS):
            raise UsageError(f"The studio opens files whose names end in {_SHOWN_ENDINGS}.")
        if not path.is_file():
            raise UsageError("There is no such file in this folder. Look at its name, or drop the file into the page.")
        return path

    def folder(self, given: str) -> Path:
        """Return the folder for a release, which is a new one in the folder that the studio was started in.

        Raises
        ------
        OutputError
            Where it is not.
        """
        name = given.strip()
        if not name or name in (".", "..") or "/" in name or "\\" in name or name.startswith((".", "-")):
            raise OutputError("Name the folder for the release with one word: it is made in the folder of the studio.")
        if not name.isprintable() or len(name) > _LONGEST_NAME:
            raise OutputError(f"The name of the folder must be printable, and have {_LONGEST_NAME} characters at most.")
        path = self.home / name
        if any(os.path.lexists(one) for one in (path, path.with_name(f"{name}.private"))):
            raise OutputError("There is a folder of that name, or the private one beside it. Choose another name.")
        return path

    def free_folder(self, wish: str = "release") -> str:
        """Return a name that no folder has yet."""
        names = (wish if count == 1 else f"{wish}-{count}" for count in range(1, 10_000))
        taken = set(os.listdir(self.home))
        return next(name for name in names if not {name, f"{name}.private"} & taken)

    def listed(self) -> list[FoundTable]:
        """Return the tables of the folder, by name."""
        found = [
            FoundTable(name=entry.name, bytes=entry.stat().st_size)
            for entry in self._entries()
            if entry.is_file() and self._contains(Path(entry.path).resolve())
        ]
        return sorted(found, key=lambda one: one.name)[:_LISTED]

    def kept(self, name: str) -> Path:
        """Return where a dropped table of a name is put; what was dropped before is removed.

        Raises
        ------
        UsageError
            Where the name is no table's.
        """
        safe = _plain_name(name)
        if not safe.lower().endswith(ENDINGS):
            raise UsageError(f"The studio opens files whose names end in {_SHOWN_ENDINGS}.")
        self.forget()
        self._private = Path(tempfile.mkdtemp(prefix="shoal-studio-"))  # only its owner can read it
        return self._private / safe

    def forget(self) -> None:
        """Remove what was dropped."""
        if self._private is not None:
            shutil.rmtree(self._private, ignore_errors=True)
            self._private = None

    def is_kept(self, path: Path) -> bool:
        """Whether a table was dropped, and is gone when the studio is closed."""
        return self._private is not None and path.is_relative_to(self._private)

    def _inside(self, given: str) -> Path:
        try:
            path = (self.home / Path(given.strip()).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError):
            path = None
        if path is None or not self._contains(path):
            raise UsageError(
                "That is outside the folder that the studio was started in, and is not opened. Start the studio in its "
                "folder, allow the folder when you start it, or drop the file into the page."
            )
        return path

    def _contains(self, path: Path) -> bool:
        return any(path == one or path.is_relative_to(one) for one in (self.home, *self.allowed))

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        with os.scandir(self.home) as entries:
            for one in entries:
                name = one.name.encode(errors="replace").decode()  # a page cannot say a name that is no text
                if name == one.name and not name.startswith(".") and name.lower().endswith(ENDINGS):
                    yield one


def _plain_name(name: str) -> str:
    r"""Return the last part of a name, without what could steer a terminal or a path.

    Examples
    --------
    >>> _plain_name("../../etc/pass\u202ewd.csv")
    'pass_wd.csv'
    """
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    plain = "".join(one if one.isprintable() else "_" for one in last).lstrip(".-~ ")
    stem, ending = plain[: -_LONGEST_NAME // 2], plain[-_LONGEST_NAME // 2 :]
    return stem[: _LONGEST_NAME // 2] + ending
