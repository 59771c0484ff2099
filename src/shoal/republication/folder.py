"""A published release as its readers have it: a folder that shoal wrote, or a file that anybody wrote."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.certificate import read_certificate
from shoal.errors import DataError
from shoal.io import read
from shoal.republication.publication import read_counterfeits, read_release
from shoal.verification.meaning import declared_meanings, parameters_of

if TYPE_CHECKING:
    import polars as pl

    from shoal.verification.meaning import Meaning, Tree

__all__ = ["ReadRelease", "read_published"]

_NAMES = ("release.csv", "release.parquet")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReadRelease:
    """A published table with what is published beside it."""

    frame: pl.DataFrame
    """The table."""
    counterfeits: pl.DataFrame | None
    """How many counterfeits its groups have; None where that is not published."""
    certificate: Mapping[str, Any]
    """The certificate; empty where there is none."""

    def columns(self, role: str) -> tuple[str, ...]:
        """Return the columns with a role ("quasi_identifiers", "sensitive") as the certificate names them."""
        said = self.certificate.get("columns") or self.certificate.get("input") or {}
        return tuple(said.get(role) or ())

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

    A certificate beside a file counts where it has the hash of the file.

    Raises
    ------
    DataError
        Where there is no release, or a file of it cannot be read.
    """
    folder = Path(path)
    if not folder.is_dir():
        frame = read(path, delimiter=delimiter, encoding=encoding)
        return ReadRelease(frame=frame, counterfeits=None, certificate=_beside(folder))
    present = [folder / name for name in _NAMES if (folder / name).exists()]
    if not present:
        raise DataError(f"The folder '{folder}' holds no release.csv or release.parquet. Name the file of the release.")
    beside, certificate = folder / "counterfeits.csv", folder / "certificate.json"
    return ReadRelease(
        frame=read_release(present[0]),
        counterfeits=read_counterfeits(beside) if beside.exists() else None,
        certificate=read_certificate(certificate) if certificate.exists() else {},
    )


def _beside(path: Path) -> Mapping[str, Any]:
    """Return the certificate beside a file, where it is of this very file."""
    certificate = path.with_name("certificate.json")
    if not path.is_file() or not certificate.is_file():
        return {}
    try:
        facts = read_certificate(certificate)
        known = facts["output"]["files"][path.name]["sha256"]
    except (DataError, KeyError, TypeError):
        return {}
    return facts if known == hashlib.sha256(path.read_bytes()).hexdigest() else {}
