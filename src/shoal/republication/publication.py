"""A release of a series: the published table, the counterfeits per group, the certificate, and their files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Protocol

import polars as pl

from shoal._core.unpicklable import Unpicklable
from shoal._core.validation import Constraint, OneOf, Optional, validate
from shoal.errors import ReleaseUnsafeError
from shoal.io import (
    PLAIN,
    Codebook,
    Dialect,
    Restorer,
    spreadsheet_names,
    without_categories,
    write_folder,
    write_table,
)
from shoal.release.certificate import PRIVATE
from shoal.release.certificate_files import FORMAT, SCHEMA, PublicSeriesFile, SeriesFile
from shoal.release.writer import write_text
from shoal.report import render_publication
from shoal.report.card import Card, HasCard
from shoal.report.notebook import card_of_series
from shoal.republication.ledger.records import SeriesColumns
from shoal.republication.m_invariance.verification import verify_release
from shoal.republication.queries import PublishedGroups
from shoal.verification import collect_meanings
from shoal.verification.published_folder import COUNTERFEITS, file_digest, read_counterfeits, read_release

FILE_CONSTRAINTS: dict[str, Constraint] = {
    "format": Optional(OneOf(("csv", "parquet"))),
}
"""The options of writing a release that have a few allowed values."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PublicationCertificate:
    """Facts about one release of a series; it contains no cell of the input and nothing about single people.

    The certificate is private to the publisher. `public` returns the part that readers may see.
    """

    version: str
    """Version of shoal."""
    series: str
    """Name of the series."""
    series_id: str
    """Distinguishes its releases from those of another series of the same name."""
    number: int
    """Number of the release in the series."""
    time: str
    """Time of the release (UTC)."""
    m: int
    """Requested bound: no confidence above 1/m."""
    parameters: Mapping[str, Any]
    """Options of the release."""
    seed: int | None
    """Requested seed, or None if randomness came from the operating system."""
    input: Mapping[str, Any]
    """Number of rows, roles of the columns and keyed hash of the input."""
    achieved: Mapping[str, Any]
    """Privacy measured on the published cells."""
    risk: Mapping[str, Mapping[str, Any]]
    """Re-identification risk in this release alone: `before` (in the input rows) and `after` (in the published
    cells); see `shoal.disclosure_risk.Reidentification`."""
    cost: Mapping[str, Any]
    """Number of counterfeits and of cells that were recoded."""
    guarantee: str
    """The guarantee of the series, and the adversary that it holds against, in words."""
    seconds: Mapping[str, float]
    """Wall time of each step."""
    erased: int = 0
    """Number of people who were erased from the series before this release."""
    warnings: Sequence[str] = ()
    """The warnings in spite of which it was published, as sentences."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Hash and number of rows of each written file; empty if the release is only in memory."""

    @property
    def columns(self) -> dict[str, list[str]]:
        """The roles of the published columns."""
        return {role: list(self.input[role]) for role in ("quasi_identifiers", "sensitive")}

    def to_dict(self) -> dict[str, Any]:
        """Convert the certificate to the keys of the private `certificate.json`."""
        file: SeriesFile = {
            "$schema": SCHEMA,
            "format": FORMAT,
            "shoal": self.version,
            "private": PRIVATE,
            "algorithm": "m-invariance",
            "series": {"name": self.series, "id": self.series_id, "release": self.number, "time": self.time},
            "parameters": {"m": self.m, **self.parameters},
            "seed": self.seed,
            "randomness": "the operating system" if self.seed is None else "reproducible from the seed and the ledger",
            # Facts about the input are private.
            "input": dict(self.input),
            "erased": self.erased,
            "published_despite": [*self.warnings],
            "columns": self.columns,
            "requested": [{"model": "m-invariance", "m": self.m}],
            "achieved": dict(self.achieved),
            "risk": {when: dict(figures) for when, figures in self.risk.items()},
            "cost": dict(self.cost),
            "guarantee": self._guarantee(),
            "seconds": {step: round(seconds, 4) for step, seconds in self.seconds.items()},
            "output": {"files": dict(self.files)},
        }
        return {**file}

    def to_json(self) -> str:
        """Convert the certificate to JSON text."""
        return format_json(self.to_dict())

    def public(self) -> dict[str, Any]:
        """Select the public facts: they depend only on the published files, not on the input or the ledger."""
        file: PublicSeriesFile = {
            "$schema": SCHEMA,
            "format": FORMAT,
            "shoal": self.version,
            # Publish the date only; the time of day is private.
            "series": {"name": self.series, "id": self.series_id, "release": self.number, "time": self.time[:10]},
            "parameters": {"m": self.m},
            "columns": self.columns,
            "requested": [{"model": "m-invariance", "m": self.m}],
            "achieved": dict(self.achieved),
            "risk": {"after": dict(self.risk["after"])},
            "cost": {"counterfeits": self.cost["counterfeits"]},
            "guarantee": self._guarantee(),
            "output": {"files": dict(self.files)},
        }
        return {**file}

    def _guarantee(self) -> dict[str, Any]:
        return {"text": self.guarantee, "confidence": 1 / self.m}

    def __repr__(self) -> str:
        return f"PublicationCertificate(series={self.series!r}, release={self.number}, m={self.m})"


def format_json(facts: Mapping[str, Any]) -> str:
    """Format a certificate as JSON text."""
    return json.dumps(facts, indent=2, ensure_ascii=False)


class FileRegistry(Protocol):
    """The part of a series that a publication needs: it records which files hold a release."""

    def add_files(
        self,
        certificate: PublicationCertificate,
        files: Mapping[str, Mapping[str, Any]],
        private: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Record the hashes of files that hold a release in the ledger, if the release stands there."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Publication(Unpicklable, HasCard):
    """A release of a series that passed verification and that the ledger has recorded.

    `data`, `counterfeits` and `certificate.public()` are for readers; everything else is private to the publisher.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> import shoal
    >>> table = pl.DataFrame({"id": range(4), "age": [31, 32, 55, 58], "disease": ["flu", "cough", "flu", "cough"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with shoal.Ledger(f"{folder}/releases.db", create=True) as ledger:
    ...         series = ledger.start("visits", m=2, identifier="id", quasi_identifiers=["age"], sensitive="disease")
    ...         publication = series.publish(table)
    >>> publication
    Publication('visits', release=1, rows=4, counterfeits=0)
    >>> publication.count("disease = flu")
    2.0
    """

    _holds: ClassVar[str] = "what only the publisher may know, and the way to the ledger"
    _instead: ClassVar[str] = "Pickle its data and counterfeits, or save it to a folder."

    series: FileRegistry
    """The series."""
    number: int
    """Number of the release in the series, from 1."""
    frame: pl.DataFrame
    """The published table in Polars: group number, quasi-identifiers of the group, sensitive attributes."""
    counterfeit_frame: pl.DataFrame
    """The groups with counterfeits, and the number of counterfeits of each."""
    columns: SeriesColumns
    """The roles of the input's columns."""
    certificate: PublicationCertificate
    """Private: what was requested, achieved and guaranteed, and its cost."""
    counts: Mapping[str, int]
    """Private: numbers of people who were kept, new, returned, left, and so on."""
    notes: tuple[str, ...] = ()
    """Private: notes for the publisher, as sentences."""
    warnings: tuple[str, ...] = ()
    """Private: the notes that are warnings, which `strict` refuses."""
    salt: str = ""
    """Private: the key of the certificate's input hash, as hexadecimal digits; an argument of `shoal.provenance`."""
    source_format: str = "csv"
    """Default format of `save`: the format of the input."""
    dialect: Dialect = PLAIN
    """How CSV is written: as the input was."""
    codebook: Codebook = field(default_factory=dict)
    """The labels of the input, if it is a file of Stata, SPSS or SAS."""
    restore: Callable[[pl.DataFrame], Any] = field(default_factory=Restorer)
    """Converts the published table to the caller's kind of table."""
    folder: Path | None = None
    """The folder that `publish` wrote, or None if the release is only in memory."""

    @cached_property
    def data(self) -> Any:
        """The published table, as the same kind of table as the input."""
        return self.restore(without_categories(self.frame))

    @cached_property
    def counterfeits(self) -> Any:
        """The groups with counterfeits (`group_id`) and their numbers (`count`), as the same kind of table."""
        return self.restore(self.counterfeit_frame)

    def count(self, question: str) -> float:
        """Estimate how many people of the release satisfy some conditions, corrected for counterfeits.

        Parameters
        ----------
        question : str
            Conditions such as "age in [30, 50) and disease = flu"; `shoal.republication.questions` has the grammar.

        Returns
        -------
        float
            The expected number if the people of a group are spread evenly over its intervals and sets.

        Raises
        ------
        UsageError
            If the question cannot be parsed, or names a column that is not published.
        """
        return self._groups.count(question).estimate

    @cached_property
    def _groups(self) -> PublishedGroups:
        return PublishedGroups(
            without_categories(self.frame),
            quasi_identifiers=self.columns.quasi_identifiers,
            counterfeits=self.counterfeit_frame,
            meanings=collect_meanings(self.columns.quasi_identifiers, {}),
        )

    def save(
        self,
        folder: str | PathLike[str],
        *,
        force: bool = False,
        format: str | None = None,  # noqa: A002
        spreadsheet_safe: bool = False,
    ) -> PublicationCertificate:
        """Write the release to a public and a private folder, and record the files in the ledger.

        Both folders appear complete, or neither does.

        Parameters
        ----------
        folder : path
            The public folder. It contains `release.csv` (or `.parquet`), `counterfeits.csv`, the public
            `certificate.json` and a `report.html` of these. The private folder lies next to it, with the suffix
            ".private", and only its owner can read it. It contains the full `certificate.json` and `report.html`, and
            `salt.txt`, the key of the input hash.
        force : bool
            Whether to replace existing folders of an earlier release.
        format : {"csv", "parquet"}, optional
            By default the format of the input.
        spreadsheet_safe : bool
            Whether to quote cells that a spreadsheet would run as a formula.

        Returns
        -------
        PublicationCertificate
            The full certificate with the hashes of the files.

        Raises
        ------
        OutputError
            If a folder exists, or cannot be written.
        ReleaseUnsafeError
            If the written files differ from the verified release. No folder appears.
        LedgerError
            If the release was taken back, or the ledger cannot be used. No folder appears.
        """
        writing = PublicationFiles(self, format=format, spreadsheet_safe=spreadsheet_safe)

        def check(staged: Path) -> None:
            writing.verify(staged)
            self.series.add_files(self.certificate, writing.digests(staged), writing.private_digests)

        # The ledger records the files before the folders appear.
        write_folder(Path(folder), writing.files, private=writing.private, force=force, check=check)
        return writing.certificate

    def _card(self) -> Card:
        """Make the card of public facts."""
        return card_of_series(self.certificate.public(), without_categories(self.frame))

    def __repr__(self) -> str:
        return (
            f"Publication({self.certificate.series!r}, release={self.number}, rows={self.frame.height}, "
            f"counterfeits={self.certificate.cost['counterfeits']})"
        )


class PublicationFiles:
    """Writers of the files of a publication, and their verification."""

    def __init__(
        self,
        publication: Publication,
        *,
        format: str | None,  # noqa: A002
        spreadsheet_safe: bool,
    ) -> None:
        validate("save", {"format": format}, FILE_CONSTRAINTS)
        self.name = f"release.{format or publication.source_format}"
        self.certificate = publication.certificate
        self.publication = publication
        self.private_digests: dict[str, dict[str, Any]] = {}
        """The hash of every private file, once it is written."""
        self._dialect = replace(publication.dialect, spreadsheet_safe=spreadsheet_safe)
        self._start = time.perf_counter()

    @property
    def files(self) -> Mapping[str, Callable[[Path], None]]:
        """A writer for each public file."""
        publication = self.publication
        return {
            self.name: lambda path: write_table(
                without_categories(publication.frame),
                path,
                dialect=self._dialect,
                codebook=publication.codebook,
            ),
            COUNTERFEITS: lambda path: write_table(publication.counterfeit_frame, path),
            "certificate.json": self._write_certificate,
            "report.html": lambda path: write_text(path, self._render_report(private=False)),
        }

    @property
    def private(self) -> Mapping[str, Callable[[Path], None]]:
        """A writer for each private file; they run after the public ones."""
        return {
            "certificate.json": lambda path: self._write_private(path, self.certificate.to_json()),
            "report.html": lambda path: self._write_private(path, self._render_report(private=True)),
            "salt.txt": lambda path: self._write_private(path, self.publication.salt),
        }

    def _render_report(self, *, private: bool) -> str:
        """Render one of the reports."""
        facts = self.certificate.to_dict() if private else self.certificate.public()
        return render_publication(facts, private=private)

    def _write_private(self, path: Path, text: str) -> None:
        """Write a private file and record its hash."""
        write_text(path, text)
        self.private_digests[path.name] = {"sha256": file_digest(path)}

    def _write_certificate(self, path: Path) -> None:
        """Complete the certificate with the hashes of the written files, and write its public part."""
        publication = self.publication
        rows = {self.name: publication.frame.height, COUNTERFEITS: publication.counterfeit_frame.height}
        files = {name: {**self._describe_file(path.with_name(name)), "rows": rows[name]} for name in rows}
        # The time of writing is part of the total.
        seconds = {**publication.certificate.seconds, "write": time.perf_counter() - self._start}
        seconds["total"] = sum(taken for step, taken in seconds.items() if step != "total")
        self.certificate = replace(publication.certificate, seconds=seconds, files=files)
        write_text(path, format_json(self.certificate.public()))

    def verify(self, staged: Path) -> None:
        """Verify the written files from their cells.

        Raises
        ------
        ReleaseUnsafeError
            If they differ from the verified release.
        """
        publication = self.publication
        names = publication.frame.columns
        written = read_release(staged / self.name, self._dialect.delimiter)
        # Column names may be quoted for spreadsheets.
        safe = spreadsheet_names(names) if self._dialect.spreadsheet_safe else names
        if written.columns == list(safe):
            written.columns = names
        counterfeits = read_counterfeits(staged / COUNTERFEITS)
        # The same checks as before writing, on the cells of the files.
        achieved = verify_release(written, counterfeits, **publication.columns.published, m=publication.certificate.m)
        # The files must hold as many rows, and achieve the same.
        if written.height != publication.frame.height or achieved != publication.certificate.achieved:
            raise ReleaseUnsafeError(
                "The written files are not the release that was verified: their rows or what they achieve differ from "
                "the certificate. Nothing was published."
            )

    def digests(self, staged: Path) -> dict[str, dict[str, Any]]:
        """Compute the hash of each public file, and state how the table is written."""
        return {name: self._describe_file(staged / name) for name in self.files}

    def _describe_file(self, path: Path) -> dict[str, Any]:
        """State what readers need of a public file: in the certificate, and in the ledger."""
        table = path.name == self.name and path.suffix == ".csv"
        return {"sha256": file_digest(path), **(self._dialect.facts if table else {})}
