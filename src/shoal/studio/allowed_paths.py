"""Paths that the studio may read or write: its start folder, and the folders and files allowed at the start."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal._core.file_formats import LISTED, READABLE
from shoal._core.temporary import TemporaryFolder
from shoal.errors import UsageError
from shoal.studio.rejected_forms import FieldError

LEDGERS = (".db", ".sqlite")
"""File name endings of ledgers."""
_SQLITE = b"SQLite format 3\x00"
_DATABASE = re.compile(
    r"(?:sqlite:///(?P<file>[^\r\n:]+?)|postgresql(?:\+psycopg)?://(?P<where>[^\r\n]+?))::(?P<what>[^\r\n]+)"
)
"""Supported database addresses: an SQLite file, or PostgreSQL."""
_MAX_LISTED = 100
_MAX_RELEASES = 20
_MAX_NAME_LENGTH = 100
_MAX_BYTES = 255
"""Longest name of a file in bytes that common file systems take."""


@dataclass(frozen=True, kw_only=True)
class FoundTable:
    """A table in the studio's folder."""

    name: str
    bytes: int


@dataclass(kw_only=True)
class AllowedPaths:
    """The files and folders that the studio has access to."""

    home: Path
    """The start folder: relative paths are resolved against it, and releases are written to it."""
    allowed: tuple[Path, ...] = ()
    """Other folders and files that may be read."""
    _uploads: list[TemporaryFolder] = field(default_factory=list, init=False)
    """Temporary folders of uploaded tables, one for each; readable by the owner only."""
    _hierarchies: TemporaryFolder | None = field(default=None, init=False)
    """Temporary folder of hierarchies made in the studio; readable by the owner only."""

    def __post_init__(self) -> None:
        # Resolved once, because paths are compared after symbolic links are followed.
        self.home = self.home.resolve()
        self.allowed = tuple(one.resolve() for one in self.allowed)

    def table(self, given: str) -> Path:
        """Resolve a typed path to a table.

        Raises
        ------
        UsageError
            If it lies outside the allowed folders, is not a file, or does not have the name of a table.
        """
        path = self._resolve_allowed(given)
        # A mistyped name is more likely than a file of another kind.
        if not path.exists():
            raise UsageError("There is no such file in this folder. Look at its name, or drop the file into the page.")
        if not path.name.lower().endswith(READABLE) or not path.is_file():
            raise UsageError(f"The studio opens files whose names end in {', '.join(LISTED)}.")
        return path

    def published(self, given: str) -> Path:
        """Resolve a typed path to a published table: the folder of a release, or a table.

        Raises
        ------
        UsageError
            If it lies outside the allowed folders, or is neither.
        """
        path = self._resolve_allowed(given)
        if not path.exists():
            raise UsageError("There is no such file or folder. Look at its name.")
        return path if path.is_dir() and given.strip() else self.table(given)

    def folder(self, given: str) -> Path:
        """Resolve a typed name to a new folder for a release, inside the start folder.

        Raises
        ------
        FieldError
            If the name is invalid or taken.
        """
        name = given.strip()
        # One visible component; a leading dash would be an option in commands.
        if not name or name in (".", "..") or "/" in name or "\\" in name or name.startswith((".", "-")):
            raise FieldError(
                "Name the folder for the release with one word: it is made in the folder of the studio.", field="folder"
            )
        if not name.isprintable() or len(name) > _MAX_NAME_LENGTH:
            raise FieldError(
                f"The name of the folder must be printable, and have {_MAX_NAME_LENGTH} characters at most.",
                field="folder",
            )
        path = self.home / name
        # `lexists` also sees broken symbolic links, which would redirect what is written.
        if any(os.path.lexists(one) for one in (path, path.with_name(f"{name}.private"))):
            raise FieldError("There is a folder of that name, or its private one. Choose another name.", field="folder")
        return path

    def free_folder(self, wish: str = "release") -> str:
        """Find an unused name for a folder, beginning with `wish`."""
        # The name of the private folder must be unused, too.
        names = (wish if count == 1 else f"{wish}-{count}" for count in range(1, 10_000))
        taken = set(os.listdir(self.home))
        return next(name for name in names if not {name, f"{name}.private"} & taken)

    def listed(self) -> list[FoundTable]:
        """List the tables of the start folder, sorted by name."""
        found = [
            FoundTable(name=entry.name, bytes=entry.stat().st_size)
            for entry in self._entries()
            if entry.is_file() and self._contains(Path(entry.path).resolve())
        ]
        return sorted(found, key=lambda one: one.name)[:_MAX_LISTED]

    def folders(self) -> list[Path]:
        """List the visible folders of the start folder, sorted by name."""
        with os.scandir(self.home) as entries:
            found = [
                Path(entry.path)
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and entry.name.isprintable()
            ]
        return sorted(found)[:_MAX_LISTED]

    def releases(self) -> list[Path]:
        """List the folders of the start folder that hold a release with a report, the newest first."""
        # The private folder of a release has a certificate and a report, too.
        found = [
            (file.stat().st_mtime, one)
            for one in self.folders()
            if not one.name.endswith(".private")
            and (file := one / "certificate.json").is_file()
            and self.report(one.name, "public")
        ]
        return [one for _, one in sorted(found, reverse=True)][:_MAX_RELEASES]

    def report(self, name: str, side: str) -> Path | None:
        """Find the public or private report, or the table, of a release in the start folder; None if there is none."""
        folder = next((one for one in self.folders() if one.name == name), None)
        if folder is None or side not in ("public", "private", "table"):
            return None
        path = (folder.with_name(f"{name}.private") if side == "private" else folder) / "report.html"
        if side == "table":
            path = next((one for one in sorted(folder.glob("release.*"))), path.with_name("release.csv"))
        is_link = path.is_symlink() or path.parent.is_symlink()
        return path if path.is_file() and not is_link else None

    def ledger(self, given: str) -> Path:
        """Resolve a typed name to a ledger, existing or new, inside the start folder.

        Raises
        ------
        UsageError
            If the name is invalid, or the path is not a regular file.
        """
        name = given.strip()
        plain = name.isprintable() and not {"/", "\\", ":"} & set(name) and not name.startswith((".", "-"))
        if not plain or not name.endswith(LEDGERS) or len(name) > _MAX_NAME_LENGTH:
            raise UsageError(f"Name the ledger with one word that ends in one of: {', '.join(LEDGERS)}.")
        path = self.home / name
        # A symbolic link could lead out of the folder.
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise UsageError("That is no ledger of this folder.")
        return path

    def ledger_key(self, given: str) -> Path:
        """Resolve a typed path to the key of a ledger, existing or new, in any existing folder.

        Raises
        ------
        FieldError
            If it does not end in ".key", or its folder does not exist.
        """
        path = self.home / os.path.expanduser(given.strip())
        # A path that is too long is none of a folder.
        possible = given.strip().endswith(".key") and given.isprintable() and len(os.fsencode(path.name)) <= _MAX_BYTES
        if not possible or not os.path.isdir(path.parent):
            raise FieldError("Name a file that ends in .key, in a folder that exists.", field="key")
        return path

    def ledgers(self) -> list[str]:
        """List the names of possible ledgers, which are SQLite databases, sorted."""
        return sorted(name for name in os.listdir(self.home) if name.endswith(LEDGERS) and self._is_database(name))

    def _is_database(self, name: str) -> bool:
        path = self.home / name
        if not name.isprintable() or path.is_symlink() or not path.is_file():
            return False
        # The first bytes decide, so that other files of that ending are not offered.
        try:
            with path.open("rb") as file:
                return file.read(len(_SQLITE)) == _SQLITE
        except OSError:
            return False

    def database(self, given: str) -> tuple[str, str]:
        """Check a typed database address; return it for the worker and as it is shown in commands.

        Raises
        ------
        UsageError
            If the kind of database is unsupported, its file lies elsewhere, or the address contains a password.
        """
        match = _DATABASE.fullmatch(given.strip())
        if match is None:
            raise UsageError(
                "A table of a database is written as sqlite:///FILE.db::TABLE or postgresql://USER@HOST/DATABASE::TABLE."
            )
        # SQLite: the file must lie inside the allowed folders like every other table.
        if match["file"] is not None:
            path = self._resolve_allowed(match["file"])
            if not path.is_file() or "?" in match["file"]:
                raise UsageError("There is no such file in this folder. Look at its name.")
            return f"sqlite:///{path}::{match['what']}", given.strip()
        # PostgreSQL: a password would be shown in commands and stored in the history.
        if ":" in match["where"].partition("@")[0] and "@" in match["where"]:
            raise UsageError(
                "Leave the password out of the address: it would stand in commands and in the history. Put it into the "
                "environment (PGPASSWORD) before the studio is started, or into the file .pgpass."
            )
        if "password=" in match["where"].casefold():
            raise UsageError("Leave the password out of the address: it would stand in commands and in the history.")
        return given.strip(), given.strip()

    def create_upload_path(self, name: str) -> Path:
        """Choose the path of an uploaded table, in a temporary folder of its own.

        Raises
        ------
        UsageError
            If it does not have the name of a table.
        """
        # The browser chooses the name, so it is not trusted.
        safe = _plain_name(name)
        if not safe.lower().endswith(READABLE):
            raise UsageError(f"The studio opens files whose names end in {', '.join(LISTED)}.")
        self._uploads.append(TemporaryFolder("studio"))
        return self._uploads[-1].path / safe

    def remove_uploads_except(self, used: Collection[str]) -> None:
        """Remove all uploaded tables except those with a path in `used`."""
        # Each upload is alone in its folder: removing the folder removes nothing else.
        folders = {Path(one).parent for one in used if one}
        for folder in [one for one in self._uploads if one.path not in folders]:
            folder.close()
            self._uploads.remove(folder)

    def create_hierarchy_path(self, key: str, name: str) -> Path:
        """Choose the temporary path of a hierarchy: a folder for its key, and its name."""
        if self._hierarchies is None:
            self._hierarchies = TemporaryFolder("studio")
        return self._hierarchies.path / key / _plain_name(name)

    def close(self) -> None:
        """Remove all temporary files."""
        self.remove_uploads_except(())
        if self._hierarchies is not None:
            self._hierarchies.close()
            self._hierarchies = None

    def check_named(self, said: Mapping[str, Any], *, own: Collection[str] = ()) -> None:
        """Check the files that the words of a request read.

        Parameters
        ----------
        said : mapping of str to object
            The words, as in `Words.said`.
        own : collection of str
            Names of hierarchies made in the studio.

        Raises
        ------
        UsageError
            If a file lies outside the allowed folders or does not exist.
        """
        from shoal.request.words import Words

        def check(file: str) -> str:
            # A map may be followed by the name of a column.
            paths = (
                [] if file in own else [self._resolve_allowed(one) for one in {file, file.rpartition(":")[0] or file}]
            )
            if paths and not any(path.is_file() for path in paths):
                raise UsageError("There is no such file in this folder. Look at its name.")
            return file

        Words(said).with_files(check)

    def is_upload(self, path: Path) -> bool:
        """Check whether a table was uploaded, so that it is removed when the studio closes."""
        return any(path.is_relative_to(one.path) for one in self._uploads)

    def _resolve_allowed(self, given: str) -> Path:
        # Symbolic links are resolved before the path is compared with the allowed folders.
        try:
            path = (self.home / Path(given.strip()).expanduser()).resolve()
            path.exists()  # raises if the path is too long
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
                name = one.name.encode(errors="replace").decode()  # a name that is not valid Unicode cannot be shown
                if name == one.name and not name.startswith(".") and name.lower().endswith(READABLE):
                    yield one


def without_password(address: str) -> str:
    """Remove a password from the address of a database, so that the address can be shown again.

    Examples
    --------
    >>> without_password("postgresql://me:se@cret@host/db::t"), without_password("postgresql://host/db?Password=x::t")
    ('postgresql://me@host/db::t', 'postgresql://host/db')
    """
    # A password may contain "@" or ":", so everything up to the last "@" is removed.
    return re.sub(r"(?i)[?&]password=.*", "", re.sub(r"(://[^:/@]*):.*@", r"\1@", address))


def _plain_name(name: str) -> str:
    r"""Take the last part of a path and replace characters that could steer a terminal or a path.

    Examples
    --------
    >>> _plain_name("../../etc/pass\u202ewd.csv")
    'pass_wd.csv'
    """
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    plain = "".join(one if one.isprintable() else "_" for one in last).lstrip(".-~ ")
    # A long name is shortened in the middle, because its ending states the format.
    stem, ending = plain[: -_MAX_NAME_LENGTH // 2], plain[-_MAX_NAME_LENGTH // 2 :]
    return stem[: _MAX_NAME_LENGTH // 2] + ending
