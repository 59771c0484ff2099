"""One release of a series: the table, how many counterfeits each group has, the certificate, and how they are saved."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from shoal._core.unpicklable import Unpicklable
from shoal._core.validation import OneOf, Optional, validate
from shoal.errors import ReleaseUnsafeError
from shoal.io import Restorer, spreadsheet_names, without_categories, write_folder, write_table
from shoal.release.certificate import FORMAT, PRIVATE
from shoal.release.writer import write_text
from shoal.report import render_publication
from shoal.republication.m_invariance.verification import verify_release
from shoal.republication.queries import PublishedGroups
from shoal.verification import declared_meanings
from shoal.verification.published_folder import COUNTERFEITS, file_digest, read_counterfeits, read_release

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl

    from shoal.republication.ledger.records import SeriesColumns

__all__ = [
    "FilesOf",
    "Publication",
    "PublicationCertificate",
]


@dataclass(frozen=True, kw_only=True, repr=False)
class PublicationCertificate:
    """What is known of one release of a series; it holds no cell of the input, and nothing of single people.

    It is the publisher's: what readers may know is in `public`.
    """

    version: str
    """shoal's version."""
    series: str
    """Name of the series."""
    series_id: str
    """What tells its releases from those of another series of the same name."""
    number: int
    """Number of the release in it."""
    time: str
    """When it was made (UTC)."""
    m: int
    """What was asked: no confidence above 1/m."""
    parameters: Mapping[str, Any]
    """How it was made."""
    seed: int | None
    """The seed that was asked for; None: randomness came from the operating system."""
    input: Mapping[str, Any]
    """Rows, roles and keyed hash of the input."""
    achieved: Mapping[str, Any]
    """The privacy measured on the published cells."""
    risk: Mapping[str, Mapping[str, Any]]
    """How easily a person's row is found in this release alone: `before`, in the rows as they came, and `after`, in the
    published cells; see `shoal.disclosure_risk.Reidentification`."""
    cost: Mapping[str, Any]
    """Counterfeits, and cells published less precisely."""
    guarantee: str
    """What holds for everyone in the series, and against whom, in words."""
    seconds: Mapping[str, float]
    """Wall time of each step."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Hash and rows of every file written; empty while the release is in memory only."""

    @property
    def columns(self) -> dict[str, list[str]]:
        """The roles of the published columns."""
        return {role: list(self.input[role]) for role in ("quasi_identifiers", "sensitive")}

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate with the keys of the private `certificate.json`."""
        return {
            "format": FORMAT,
            "shoal": self.version,
            "private": PRIVATE,
            "algorithm": "m-invariance",
            "series": {"name": self.series, "id": self.series_id, "release": self.number, "time": self.time},
            "parameters": {"m": self.m, **self.parameters},
            "seed": self.seed,
            "randomness": "the operating system" if self.seed is None else "reproducible from the seed and the ledger",
            "input": dict(self.input),
            "columns": self.columns,
            "requested": [{"model": "m-invariance", "m": self.m}],
            "achieved": dict(self.achieved),
            "risk": {when: dict(figures) for when, figures in self.risk.items()},
            "cost": dict(self.cost),
            "guarantee": self._guarantee(),
            "seconds": {step: round(seconds, 4) for step, seconds in self.seconds.items()},
            "output": {"files": {name: dict(facts) for name, facts in self.files.items()}},
        }

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return as_json(self.to_dict())

    def public(self) -> dict[str, Any]:
        """Return what may be published: the same for every input and ledger that give the same published files."""
        return {
            "format": FORMAT,
            "shoal": self.version,
            "series": {"name": self.series, "id": self.series_id, "release": self.number, "time": self.time[:10]},
            "parameters": {"m": self.m},
            "columns": self.columns,
            "requested": [{"model": "m-invariance", "m": self.m}],
            "achieved": dict(self.achieved),
            "risk": {"after": dict(self.risk["after"])},
            "cost": {"counterfeits": self.cost["counterfeits"]},
            "guarantee": self._guarantee(),
            "output": {"files": {name: dict(facts) for name, facts in self.files.items()}},
        }

    def _guarantee(self) -> dict[str, Any]:
        return {"text": self.guarantee, "confidence": 1 / self.m}

    def __repr__(self) -> str:
        return f"PublicationCertificate(series={self.series!r}, release={self.number}, m={self.m})"


def as_json(facts: Mapping[str, Any]) -> str:
    """Return a certificate as JSON text."""
    return json.dumps(facts, indent=2, ensure_ascii=False)


class KnowsFiles(Protocol):
    """A series, as far as a publication needs it: it remembers which files hold a release."""

    def add_files(
        self,
        certificate: PublicationCertificate,
        files: Mapping[str, Mapping[str, Any]],
        private: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Let the ledger know the hashes of files that hold a release, if it stands there."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Publication(Unpicklable):
    """A release of a series. It was verified, and the ledger knows it, before this object was made.

    `data`, `counterfeits` and `certificate.public()` are for readers; the rest is the publisher's.
    """

    _holds: ClassVar[str] = "what only the publisher may know, and the way to the ledger"
    _instead: ClassVar[str] = "Pickle its data and counterfeits, or save it to a folder."

    series: KnowsFiles
    """The series."""
    number: int
    """Its number in the series, from 1."""
    frame: pl.DataFrame
    """The published table as Polars: a group number, the quasi-identifiers of the group, the sensitive attribute."""
    counterfeit_frame: pl.DataFrame
    """The groups with counterfeits, and how many each has."""
    columns: SeriesColumns
    """The roles of the input's columns."""
    certificate: PublicationCertificate
    """Private: what was asked, achieved and guaranteed, and what it cost."""
    counts: Mapping[str, int]
    """Private: what happened to the people of the series: kept, new, returned, left, ..."""
    notes: tuple[str, ...] = ()
    """Private: what the publisher should know, in sentences."""
    salt: str = ""
    """Private: the key of the certificate's hash of the input, as hexadecimal digits; `shoal.provenance` takes it."""
    source_format: str = "csv"
    """The format that `save` writes unless told otherwise: the input's."""
    restore: Callable[[pl.DataFrame], Any] = field(default_factory=Restorer)
    """Makes the caller's kind of table of the published one."""
    folder: Path | None = None
    """Where it was written by `publish`; None where it is in memory only."""

    @cached_property
    def data(self) -> Any:
        """The published table, as the same kind of table that came in."""
        return self.restore(without_categories(self.frame))

    @cached_property
    def counterfeits(self) -> Any:
        """The groups with counterfeits (`group_id`) and how many each has (`count`), as that kind of table."""
        return self.restore(self.counterfeit_frame)

    def count(self, question: str) -> float:
        """Return about how many people of the release fulfil some conditions, counterfeits taken into account.

        Parameters
        ----------
        question : str
            Such as "age in [30, 50) and disease = flu" (`shoal.republication.questions` has the grammar).

        Returns
        -------
        float
            As if the people of a group were spread evenly over its intervals and sets.

        Raises
        ------
        UsageError
            Where the question cannot be read, or names a column that is not published.
        """
        return self._groups.count(question).estimate

    @cached_property
    def _groups(self) -> PublishedGroups:
        return PublishedGroups(
            without_categories(self.frame),
            quasi_identifiers=self.columns.quasi_identifiers,
            counterfeits=self.counterfeit_frame,
            meanings=declared_meanings(self.columns.quasi_identifiers, {}),
        )

    def save(
        self,
        folder: str | PathLike[str],
        *,
        force: bool = False,
        format: str | None = None,  # noqa: A002
        spreadsheet_safe: bool = False,
    ) -> PublicationCertificate:
        """Write the release to a folder and a private one, both whole or neither, and let the ledger know its files.

        Parameters
        ----------
        folder : path
            Where to. All of it may be published: `release.csv` (or `.parquet`), `counterfeits.csv`, the public
            `certificate.json` and a `report.html` made of these. The private folder lies beside it, with ".private"
            behind its name, and only its owner can read it: the full `certificate.json` and `report.html`, and
            `salt.txt`, the key of the hash of the input.
        force : bool
            Whether to replace existing folders of an earlier release.
        format : {"csv", "parquet"}, optional
            By default as the input was.
        spreadsheet_safe : bool
            Whether to quote cells that a spreadsheet would run as a formula.

        Returns
        -------
        PublicationCertificate
            The full one, with the hashes of the files.

        Raises
        ------
        OutputError
            A folder exists, or cannot be written.
        ReleaseUnsafeError
            What was written is not the release that was verified; nothing appears.
        LedgerError
            The release was taken back, or the ledger cannot be used; nothing appears.
        """
        writing = FilesOf(self, format=format, spreadsheet_safe=spreadsheet_safe)

        def check(staged: Path) -> None:
            writing.verify(staged)
            self.series.add_files(self.certificate, writing.digests(staged), writing.private_digests)

        write_folder(Path(folder), writing.files, private=writing.private, force=force, check=check)
        return writing.certificate

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it: no more than what is published tells."""
        from shoal.report.notebook import card_of_series

        return card_of_series(self.certificate.public(), without_categories(self.frame))

    def __repr__(self) -> str:
        return (
            f"Publication({self.certificate.series!r}, release={self.number}, rows={self.frame.height}, "
            f"counterfeits={self.certificate.cost['counterfeits']})"
        )


class FilesOf:
    """The files of a publication: how each is written, and how they are verified."""

    def __init__(
        self,
        publication: Publication,
        *,
        format: str | None,  # noqa: A002
        spreadsheet_safe: bool,
    ) -> None:
        validate("save", {"format": format}, {"format": Optional(OneOf(("csv", "parquet")))})
        self.name = f"release.{format or publication.source_format}"
        self.certificate = publication.certificate
        self.publication = publication
        self.private_digests: dict[str, dict[str, Any]] = {}
        """The hash of every private file, once it is written."""
        self._spreadsheet_safe = spreadsheet_safe
        self._start = time.perf_counter()

    @property
    def files(self) -> Mapping[str, Callable[[Path], None]]:
        """For each file that may be published a function that writes it."""
        publication = self.publication
        return {
            self.name: lambda path: write_table(
                without_categories(publication.frame), path, spreadsheet_safe=self._spreadsheet_safe
            ),
            COUNTERFEITS: lambda path: write_table(publication.counterfeit_frame, path),
            "certificate.json": self._write_certificate,
            "report.html": lambda path: write_text(path, render_publication(self.certificate.public(), private=False)),
        }

    @property
    def private(self) -> Mapping[str, Callable[[Path], None]]:
        """The same for the publisher's own files, which are written after the others."""
        return {
            "certificate.json": lambda path: self._write_private(path, self.certificate.to_json()),
            "report.html": lambda path: self._write_private(
                path, render_publication(self.certificate.to_dict(), private=True)
            ),
            "salt.txt": lambda path: self._write_private(path, self.publication.salt),
        }

    def _write_private(self, path: Path, text: str) -> None:
        write_text(path, text)
        self.private_digests[path.name] = {"sha256": file_digest(path)}

    def _write_certificate(self, path: Path) -> None:
        publication = self.publication
        rows = {self.name: publication.frame.height, COUNTERFEITS: publication.counterfeit_frame.height}
        files = {name: {"sha256": file_digest(path.with_name(name)), "rows": rows[name]} for name in rows}
        seconds = {**publication.certificate.seconds, "write": time.perf_counter() - self._start}
        seconds["total"] = sum(taken for step, taken in seconds.items() if step != "total")
        self.certificate = replace(publication.certificate, seconds=seconds, files=files)
        write_text(path, as_json(self.certificate.public()))

    def verify(self, staged: Path) -> None:
        """Verify the written files from their cells.

        Raises
        ------
        ReleaseUnsafeError
            Where they are not the release that was verified.
        """
        publication = self.publication
        columns = publication.columns
        names = publication.frame.columns
        written = read_release(staged / self.name)
        safe = spreadsheet_names(names) if self._spreadsheet_safe else names
        if written.columns == list(safe):
            written.columns = names
        counterfeits = read_counterfeits(staged / COUNTERFEITS)
        achieved = verify_release(
            written,
            counterfeits,
            quasi_identifiers=columns.quasi_identifiers,
            sensitive=columns.sensitive,
            m=publication.certificate.m,
        )
        if written.height != publication.frame.height or achieved != publication.certificate.achieved:
            raise ReleaseUnsafeError(
                "The written files are not the release that was verified: their rows or what they achieve differ from "
                "the certificate. Nothing was published."
            )

    def digests(self, staged: Path) -> dict[str, dict[str, Any]]:
        """Return the hash of every file that may be published."""
        return {name: {"sha256": file_digest(staged / name)} for name in self.files}
