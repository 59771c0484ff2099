"""One release of a series: the table, how many counterfeits each group has, the certificate, and how they are saved."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._validation import OneOf, Optional, validate
from shoal.certificate import FORMAT
from shoal.errors import ReleaseUnsafeError
from shoal.io import read, spreadsheet_names, write_folder, write_table
from shoal.report import render_publication
from shoal.republication.journal import file_digest
from shoal.republication.published import COUNT, GROUP
from shoal.republication.queries import PublishedGroups
from shoal.republication.verification import verify_release
from shoal.verification import declared_meanings

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl

    from shoal.republication.records import SeriesColumns
    from shoal.republication.series import Series

__all__ = [
    "COUNTERFEITS",
    "FilesOf",
    "Publication",
    "PublicationCertificate",
    "guarantee",
    "read_counterfeits",
    "read_release",
]

COUNTERFEITS = "counterfeits.csv"


@dataclass(frozen=True, kw_only=True, repr=False)
class PublicationCertificate:
    """What is known of one release of a series; it holds no cell of the input, and nothing of single people."""

    version: str
    """shoal's version."""
    series: str
    """Name of the series."""
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
    cost: Mapping[str, Any]
    """Counterfeits, and cells published less precisely."""
    seconds: Mapping[str, float]
    """Wall time of each step."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Hash and rows of every file written; empty while the release is in memory only."""

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate with the keys of `certificate.json`."""
        return {
            "format": FORMAT,
            "shoal": self.version,
            "algorithm": "m-invariance",
            "series": {"name": self.series, "release": self.number, "time": self.time},
            "parameters": {"m": self.m, **self.parameters},
            "seed": self.seed,
            "randomness": "the operating system" if self.seed is None else "reproducible from the seed and the ledger",
            "input": dict(self.input),
            "requested": [{"model": "m-invariance", "m": self.m}],
            "achieved": dict(self.achieved),
            "cost": dict(self.cost),
            "guarantee": {
                "text": guarantee(self.m, self.input["sensitive"]),
                "confidence": 1 / self.m,
                "tuples_ratio": None,
                "stars_ratio": None,
            },
            "seconds": {step: round(seconds, 4) for step, seconds in self.seconds.items()},
            "output": {"files": {name: dict(facts) for name, facts in self.files.items()}},
        }

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def __repr__(self) -> str:
        return f"PublicationCertificate(series={self.series!r}, release={self.number}, m={self.m})"


def guarantee(m: int, sensitive: Sequence[str]) -> str:
    """Return what holds for everyone in a series, in words."""
    names = " and ".join(f"'{name}'" for name in sensitive)
    what = names if len(sensitive) == 1 else f"the combination of {names} (one of them alone may be surer)"
    return (
        f"m-invariance with m = {m}: nobody can tell {what} of a person with a confidence above 1/{m}, even with all "
        "releases of the series, the exact quasi-identifiers of everybody, and the knowledge of who is in which "
        "release (Xiao and Tao 2007, Lemma 3). It holds as long as all releases of these people come from one ledger."
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Publication:
    """A release of a series. It was verified, and the ledger knows it, before this object was made."""

    series: Series
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
    """What was asked, achieved and guaranteed."""
    counts: Mapping[str, int]
    """Private: what happened to the people of the series: kept, new, returned, left, withheld, held back, ..."""
    notes: tuple[str, ...] = ()
    """Private: what the publisher should know, in sentences."""
    source_format: str = "csv"
    """The format that `save` writes unless told otherwise: the input's."""
    restore: Callable[[pl.DataFrame], Any] = field(default=lambda frame: frame)
    """Makes the caller's kind of table of the published one."""
    folder: Path | None = None
    """Where it was written by `publish`; None where it is in memory only."""

    @cached_property
    def data(self) -> Any:
        """The published table, as the same kind of table that came in."""
        return self.restore(_plain(self.frame))

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
            _plain(self.frame),
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
        """Write the release to a folder, which appears whole or not at all, and let the ledger know its files.

        Parameters
        ----------
        folder : path
            Where to; `release.csv` (or `.parquet`), `counterfeits.csv`, `certificate.json` and `report.html` will be in
            it.
        force : bool
            Whether to replace an existing folder of an earlier release.
        format : {"csv", "parquet"}, optional
            By default as the input was.
        spreadsheet_safe : bool
            Whether to quote cells that a spreadsheet would run as a formula.

        Returns
        -------
        PublicationCertificate
            With the hashes of the files.

        Raises
        ------
        OutputError
            The folder exists, or cannot be written.
        ReleaseUnsafeError
            What was written is not the release that was verified; nothing appears.
        """
        writing = FilesOf(self, format=format, spreadsheet_safe=spreadsheet_safe)

        def check(staged: Path) -> None:
            writing.verify(staged)
            self.series.add_files(self.number, writing.digests(staged))

        write_folder(Path(folder), writing.files, force=force, check=check)
        return writing.certificate

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
        self._publication = publication
        self._spreadsheet_safe = spreadsheet_safe
        self._start = time.perf_counter()

    @property
    def files(self) -> Mapping[str, Callable[[Path], None]]:
        """For each file a function that writes it."""
        publication = self._publication
        return {
            self.name: lambda path: write_table(
                _plain(publication.frame), path, spreadsheet_safe=self._spreadsheet_safe
            ),
            COUNTERFEITS: lambda path: write_table(publication.counterfeit_frame, path),
            "certificate.json": self._write_certificate,
            "report.html": lambda path: _write_text(path, render_publication(self.certificate.to_dict())),
        }

    def _write_certificate(self, path: Path) -> None:
        publication = self._publication
        rows = {self.name: publication.frame.height, COUNTERFEITS: publication.counterfeit_frame.height}
        files = {name: {"sha256": file_digest(path.with_name(name)), "rows": rows[name]} for name in rows}
        seconds = {**publication.certificate.seconds, "write": time.perf_counter() - self._start}
        seconds["total"] = sum(taken for step, taken in seconds.items() if step != "total")
        self.certificate = replace(publication.certificate, seconds=seconds, files=files)
        _write_text(path, self.certificate.to_json() + "\n")

    def verify(self, staged: Path) -> None:
        """Verify the written files from their cells.

        Raises
        ------
        ReleaseUnsafeError
            Where they are not the release that was verified.
        """
        publication = self._publication
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
        """Return the hash of every written file."""
        return {name: {"sha256": file_digest(staged / name)} for name in self.files}


def read_release(path: Path) -> pl.DataFrame:
    """Read a table that shoal wrote: nothing has to be guessed."""
    return read(path, delimiter=",", encoding="utf-8") if path.suffix == ".csv" else read(path)


def read_counterfeits(path: Path) -> pl.DataFrame:
    """Read the groups with counterfeits; a file without one is no error."""
    import polars as pl

    return pl.read_csv(path, schema_overrides={GROUP: pl.Int64, COUNT: pl.Int64})


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
