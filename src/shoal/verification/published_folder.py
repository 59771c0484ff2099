"""A published release as its readers have it: a folder that shoal wrote, or a file that anybody wrote."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.io import read
from shoal.verification.meaning import declared_meanings, parameters_of

if TYPE_CHECKING:
    import polars as pl

    from shoal.verification.meaning import Meaning, Tree

__all__ = [
    "COUNTERFEITS",
    "columns_said",
    "file_digest",
    "find_published",
    "read_certificate",
    "read_counterfeits",
    "read_published",
    "read_release",
]

COUNTERFEITS = "counterfeits.csv"
"""The file that says how many counterfeits the groups of a release of a series have."""
_NAMES = ("release.csv", "release.parquet", "release.xlsx", "release.ods")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReadRelease:
    """A published table with what is published beside it."""

    frame: pl.DataFrame
    """The table."""
    counterfeits: pl.DataFrame | None
    """How many counterfeits its groups have; None where that is not published."""
    certificate: Mapping[str, Any]
    """The certificate; empty where there is none."""
    empty_is_missing: bool = True
    """Whether an empty text was read as a missing value, as in CSV and workbooks."""

    def columns(self, role: str) -> tuple[str, ...]:
        """Return the columns with a role ("quasi_identifiers", "sensitive") as the certificate names them."""
        return columns_said(self.certificate, role)

    def meanings(
        self,
        names: Sequence[str],
        *,
        trees: Mapping[str, Tree] | None = None,
        cells: Mapping[str, object] | None = None,
    ) -> dict[str, Meaning]:
        """Return what is said of the cells of quasi-identifiers, by the certificate and by the caller."""
        return declared_meanings(names, parameters_of(self.certificate), trees=trees, cells=cells)

    @property
    def star(self) -> str:
        """The symbol of a suppressed cell."""
        return str((self.certificate.get("parameters") or {}).get("star") or "*")

    def __repr__(self) -> str:
        return f"ReadRelease(rows={self.frame.height})"


def read_published(path: str | Path, *, delimiter: str | None = None, encoding: str | None = None) -> ReadRelease:
    """Read a release folder, or a file or database table with a published table.

    Of a folder the files are read that its certificate names, and none that lies beside them. A certificate beside a
    file counts where it has the hash of the file.

    Raises
    ------
    DataError
        Where there is no release, a file of it cannot be read, or is not the one of which the certificate has the hash.
    """
    folder = Path(path)
    if not folder.is_dir():
        frame = read(path, delimiter=delimiter, encoding=encoding)
        return ReadRelease(
            frame=frame, counterfeits=None, certificate=_beside(folder), empty_is_missing=_empty_is_missing(str(path))
        )
    path = folder / "certificate.json"
    certificate = read_certificate(path) if path.exists() else {}
    named = _named_files(certificate)
    table = folder / _table_name(folder, named)
    beside = folder / COUNTERFEITS if (COUNTERFEITS in named if named else (folder / COUNTERFEITS).exists()) else None
    for file in (table, *([] if beside is None else [beside])):
        _check_file(file, named)
    return ReadRelease(
        frame=read_release(table),
        counterfeits=None if beside is None else read_counterfeits(beside),
        certificate=certificate,
        empty_is_missing=_empty_is_missing(table.name),
    )


def _empty_is_missing(name: str) -> bool:
    """Return whether an empty text of a file or a database table is read as a missing value."""
    return "://" not in name and not name.lower().endswith((".parquet", ".pq", ".arrow", ".feather", ".ipc"))


def columns_said(certificate: Mapping[str, Any], role: str) -> tuple[str, ...]:
    """Return the columns that have a role ("quasi_identifiers", "sensitive") by a certificate."""
    return tuple((certificate.get("columns") or {}).get(role) or ())


def find_published(path: str | Path) -> tuple[str | Path, Mapping[str, Any]]:
    """Return the file of a published table, and the certificate of that very file; empty where there is none.

    Parameters
    ----------
    path : str or Path
        The folder of a release, or a file; any other source is returned as it is.

    Raises
    ------
    DataError
        Where a file of a release folder is missing, or is not the one that its certificate names.
    """
    folder = Path(path)
    if not folder.is_dir():
        return path, _beside(folder)
    certificate = read_certificate(folder / "certificate.json") if (folder / "certificate.json").is_file() else {}
    named = _named_files(certificate)
    if not named and not any((folder / name).is_file() for name in _NAMES):
        return path, {}  # a table in several files
    table = folder / _table_name(folder, named)
    _check_file(table, named)
    return table, certificate


def _beside(path: Path) -> Mapping[str, Any]:
    """Return the certificate beside a file, where it is of this very file."""
    certificate = path.with_name("certificate.json")
    if not path.is_file() or not certificate.is_file():
        return {}
    try:
        facts = read_certificate(certificate)
    except DataError:
        return {}
    return facts if _is_named(path, _named_files(facts)) else {}


def _named_files(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files that a certificate names, with what it says of each."""
    output = certificate.get("output")
    files = output.get("files") if isinstance(output, dict) else None
    return dict(files) if isinstance(files, dict) else {}


def _is_named(path: Path, named: Mapping[str, Any]) -> bool:
    """Return whether a file is the one that a certificate names: whether it has that file's hash."""
    said = named.get(path.name)
    return isinstance(said, dict) and said.get("sha256") == file_digest(path)


def _table_name(folder: Path, named: Mapping[str, Any]) -> str:
    """Return the name of the file with the published table."""
    found = [name for name in _NAMES if (name in named if named else (folder / name).exists())]
    if not found:
        raise DataError(f"The folder '{folder}' holds no table of a release ({', '.join(_NAMES)}). Name its file.")
    if len(found) > 1:
        raise DataError(
            f"The folder '{folder}' holds {' and '.join(found)}, and no certificate says which of them is the release. "
            "Name the file."
        )
    return found[0]


def _check_file(path: Path, named: Mapping[str, Any]) -> None:
    """Check that a file is there, and is the one of the certificate, where there is one."""
    if not path.is_file():
        raise DataError(f"The file '{path}', which the certificate beside it names, is not there.")
    if named and not _is_named(path, named):
        raise DataError(
            f"The file '{path}' is not the one that the certificate beside it names: it was changed after it was "
            "published, or the certificate was. To read it nevertheless, name the file itself."
        )


def read_certificate(path: Path) -> dict[str, Any]:
    """Read a certificate that shoal wrote.

    Raises
    ------
    DataError
        Where it cannot be read, or is none.
    """
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"The certificate '{path}' cannot be read: it is no JSON text.") from error
    if not isinstance(facts, dict):
        raise DataError(f"The certificate '{path}' is not one that shoal wrote.")
    return facts


def read_release(path: Path) -> pl.DataFrame:
    """Read a table that shoal wrote: nothing has to be guessed."""
    return read(path, delimiter=",", encoding="utf-8") if path.suffix == ".csv" else read(path)


def read_counterfeits(path: Path) -> pl.DataFrame:
    """Read the groups with counterfeits; a file without one is no error."""
    import polars as pl

    return pl.read_csv(path, schema_overrides={"group_id": pl.Int64, "count": pl.Int64})


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
