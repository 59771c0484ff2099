"""Which files the studio may read, and where it may write: the folder that it was started in, and what was allowed."""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shoal._core.temporary import TemporaryFolder
from shoal.errors import OutputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["ENDINGS", "WORKBOOKS", "Places", "without_password"]

_TEXT = (".csv", ".tsv", ".txt")
_PACKED = (".gz", ".zst", ".zstd")
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
"""What the names of workbooks end in, which may have several sheets."""
_OTHERS = (".parquet", ".pq", ".arrow", ".feather", ".ipc", *WORKBOOKS)
ENDINGS = (*_TEXT, *(text + packed for packed in _PACKED for text in _TEXT), *_OTHERS)
"""What the names of tables end in that the studio lists and takes."""
_SHOWN_ENDINGS = ", ".join((*_TEXT, ".csv.gz", *_OTHERS))
LEDGERS = (".db", ".sqlite")
"""What the names of ledgers end in."""
_SQLITE = b"SQLite format 3\x00"
_DATABASE = re.compile(
    r"(?:sqlite:///(?P<file>[^\r\n:]+?)|postgresql(?:\+psycopg)?://(?P<where>[^\r\n]+?))::(?P<what>[^\r\n]+)"
)
"""Addresses of databases: one that is a file, or PostgreSQL."""
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
    _dropped: list[TemporaryFolder] = field(default_factory=list, init=False)
    """Where dropped tables are as long as the studio runs, a folder each; only its owner can read them."""
    _beside: TemporaryFolder | None = field(default=None, init=False)
    """Where the hierarchies are that were made here, as long as the studio runs; only its owner can read it."""

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

    def folders(self) -> list[Path]:
        """Return the folders of the folder that may be looked into, by name."""
        with os.scandir(self.home) as entries:
            found = [
                Path(entry.path)
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and entry.name.isprintable()
            ]
        return sorted(found)[:_LISTED]

    def ledger(self, given: str) -> Path:
        """Return the file of a ledger, which lies in the folder that the studio was started in, or is made there.

        Raises
        ------
        UsageError
            Where the name is none of such a file.
        """
        name = given.strip()
        plain = name.isprintable() and not {"/", "\\", ":"} & set(name) and not name.startswith((".", "-"))
        if not plain or not name.endswith(LEDGERS) or len(name) > _LONGEST_NAME:
            raise UsageError(f"Name the ledger with one word that ends in {' or '.join(LEDGERS)}.")
        path = self.home / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise UsageError("That is no ledger of this folder.")
        return path

    def ledgers(self) -> list[str]:
        """Return the names of the files that may be ledgers: databases of SQLite, by name."""
        return sorted(name for name in os.listdir(self.home) if name.endswith(LEDGERS) and self._is_database(name))

    def _is_database(self, name: str) -> bool:
        path = self.home / name
        if not name.isprintable() or path.is_symlink() or not path.is_file():
            return False
        try:
            with path.open("rb") as file:
                return file.read(len(_SQLITE)) == _SQLITE
        except OSError:
            return False

    def database(self, given: str) -> tuple[str, str]:
        """Return the address of a database that somebody typed, as the worker takes it and as commands name it.

        Raises
        ------
        UsageError
            Where it is of a kind that the studio does not open, lies elsewhere, or has a password in it.
        """
        match = _DATABASE.fullmatch(given.strip())
        if match is None:
            raise UsageError(
                "A table of a database is written as sqlite:///FILE.db::TABLE or postgresql://USER@HOST/DATABASE::TABLE."
            )
        if match["file"] is not None:
            path = self._inside(match["file"])
            if not path.is_file() or "?" in match["file"]:
                raise UsageError("There is no such file in this folder. Look at its name.")
            return f"sqlite:///{path}::{match['what']}", given.strip()
        if ":" in match["where"].partition("@")[0] and "@" in match["where"]:
            raise UsageError(
                "Leave the password out of the address: it would stand in commands and in the history. Put it into the "
                "environment (PGPASSWORD) before the studio is started, or into the file .pgpass."
            )
        if "password=" in match["where"].casefold():
            raise UsageError("Leave the password out of the address: it would stand in commands and in the history.")
        return given.strip(), given.strip()

    def kept(self, name: str) -> Path:
        """Return where a dropped table of a name is put.

        Raises
        ------
        UsageError
            Where the name is none of a table.
        """
        safe = _plain_name(name)
        if not safe.lower().endswith(ENDINGS):
            raise UsageError(f"The studio opens files whose names end in {_SHOWN_ENDINGS}.")
        self._dropped.append(TemporaryFolder("studio"))
        return self._dropped[-1].path / safe

    def forget_but(self, used: Collection[str]) -> None:
        """Remove the dropped tables but some, which are named by their paths."""
        folders = {Path(one).parent for one in used if one}
        for folder in [one for one in self._dropped if one.path not in folders]:
            folder.close()
            self._dropped.remove(folder)

    def kept_beside(self, key: str, name: str) -> Path:
        """Return where a hierarchy is kept as long as the studio runs: in a folder of its own, under its name."""
        if self._beside is None:
            self._beside = TemporaryFolder("studio")
        return self._beside.path / key / _plain_name(name)

    def close(self) -> None:
        """Remove everything that was kept as long as the studio runs."""
        self.forget_but(())
        if self._beside is not None:
            self._beside.close()
            self._beside = None

    def check_named(self, words: str) -> None:
        """Refuse a coarsening whose file lies elsewhere, or is none.

        Raises
        ------
        UsageError
            Where it does.
        """
        kind, _, rest = words.partition(":")
        if kind not in ("level", "regions"):
            return
        file = rest.rpartition(":")[0] or rest
        candidates = [file, file.rpartition(":")[0]] if kind == "regions" and ":" in file else [file]
        for one in candidates:  # a map may name its column behind the file
            if not self._inside(one).is_file() and one == candidates[-1]:
                raise UsageError("There is no such file in this folder. Look at its name.")

    def is_kept(self, path: Path) -> bool:
        """Whether a table was dropped, and is gone when the studio is closed."""
        return any(path.is_relative_to(one.path) for one in self._dropped)

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


def without_password(address: str) -> str:
    """Return the address of a database without a password: what was typed is shown again, and a password is not.

    Examples
    --------
    >>> without_password("postgresql://me:se@cret@host/db::t"), without_password("postgresql://host/db?Password=x::t")
    ('postgresql://me@host/db::t', 'postgresql://host/db')
    """
    return re.sub(r"(?i)[?&]password=.*", "", re.sub(r"(://[^:/@]*):.*@", r"\1@", address))


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
