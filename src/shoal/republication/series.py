"""A series of releases of one table that changes: publish, look back, verify, take back."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal._progress import Clock, Progress
from shoal._validation import Boolean, Constraint, Integer, OneOf, Optional, validate
from shoal.certificate import FORMAT
from shoal.errors import InfeasibleError, InternalError, LedgerError, NoRowsError, OutputError
from shoal.io import staged_folder
from shoal.metrics.certainty import gcp
from shoal.publish import open_data
from shoal.republication import journal
from shoal.republication.generalization import generalize
from shoal.republication.matching import NOBODY, match
from shoal.republication.publication import FilesOf, Publication, PublicationCertificate, guarantee
from shoal.republication.published import published_tables
from shoal.republication.records import RecordedRelease, read_memory, read_series
from shoal.republication.series_audit import SeriesAudit, audit_series
from shoal.republication.storage import now
from shoal.republication.verification import verify_invariance, verify_release, verify_truth
from shoal.table import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import sqlalchemy as sa

    from shoal.publish import OpenedData
    from shoal.recoding import Recoding
    from shoal.republication.keys import SeriesKeys
    from shoal.republication.ledger import Ledger
    from shoal.republication.matching import Matched
    from shoal.republication.records import Memory, RecordedSeries, SeriesColumns

__all__ = ["Series"]

_STEPS = ("read", "ledger", "match", "generalize", "recode", "verify", "remember")

_PUBLISHED, _STAGED = "published", "staged"


class Series:
    """A series of releases; made by `Ledger.series`."""

    def __init__(self, ledger: Ledger, name: str, m: int, columns: SeriesColumns) -> None:
        self._ledger = ledger
        self.name = name
        self.m = m
        self.columns = columns

    def publish(
        self,
        data: Any,
        output: str | os.PathLike[str] | None = None,
        *,
        counterfeits: Literal["fewest", "paper"] = "fewest",
        changed_sensitive: Literal["error", "withhold"] = "error",
        missing_sensitive: Literal["error", "drop"] = "error",
        hold_back: bool = False,
        seed: int | None = None,
        force: bool = False,
        format: str | None = None,  # noqa: A002
        spreadsheet_safe: bool = False,
        delimiter: str | None = None,
        encoding: str | None = None,
        progress: Progress | None = None,
    ) -> Publication:
        """Make the next release of the series, verify it, and remember what must be remembered.

        The folder and the entry in the ledger appear together or not at all. Without a folder the release counts as
        published once this returns, whatever becomes of the object.

        Parameters
        ----------
        data : frame or path
            The table of today: everybody who is to be in the release, one row per person. A pandas, Polars or Arrow
            table, a path, or a database URL with a table.
        output : path, optional
            The folder to write.
        counterfeits : {"fewest", "paper"}
            Whether to balance buckets with the fewest counterfeits, or one after another as in the paper.
        changed_sensitive : {"error", "withhold"}
            What to do with people whose sensitive value is not the one that was published: their rows can be left out.
        missing_sensitive : {"error", "drop"}
            What to do with rows that miss a sensitive value.
        hold_back : bool
            Whether the fewest new rows may wait for the next release where the new rows are not m-eligible.
        seed : int, optional
            For reproducible experiments; by default randomness comes from the operating system.
        force, format, spreadsheet_safe
            How to write the folder: as `Publication.save` takes them.
        delimiter, encoding : str, optional
            Of a CSV file; detected by default.
        progress : callable, optional
            Called with (step, done, total) now and then.

        Returns
        -------
        Publication

        Raises
        ------
        UsageError
            The call or the data is wrong; the message says what to change.
        InfeasibleError
            The new rows allow no such release; the message names the largest m that would do.
        LedgerError
            The ledger cannot be used, or another process publishes just now.
        ReleaseUnsafeError
            The release failed its verification. Please report it.
        """
        options: dict[str, Any] = {"counterfeits": counterfeits, "changed_sensitive": changed_sensitive}
        options |= {"missing_sensitive": missing_sensitive, "hold_back": hold_back}
        validate("publish", {**options, "seed": seed, "format": format}, _CONSTRAINTS)
        if output is not None and os.path.exists(output) and not force:
            raise OutputError(
                f"'{output}' exists already and is kept. Choose another folder, or replace it with force (--force)."
            )
        clock = Clock(_STEPS, progress)
        with clock.step("read"):
            try:
                opened = open_data(data, delimiter=delimiter, encoding=encoding)
            except NoRowsError as error:
                raise NoRowsError(f"{error} {NOBODY}") from error
        with self._ledger._publishing() as told:
            with clock.step("ledger"), self._ledger._database.reading() as connection:
                series, memory = self._remembered(connection)
            with clock.step("match"):
                matched = match(
                    opened.frame,
                    self.columns,
                    memory,
                    self._keys(series),
                    changed_sensitive=changed_sensitive,
                    missing_sensitive=missing_sensitive,
                )
            release = RecordedRelease(
                number=series.releases[-1].number + 1 if series.releases else 1,
                state=_PUBLISHED if output is None else _STAGED,
                time=now(),
                version=version("shoal"),
                seed=None if seed is None else str(int(seed)),
                input_sha256="",
                rows=0,
                counterfeits=0,
                parameters=options,
            )
            publication, release, after = self._made(matched, release, opened, clock, self._keys(series))
            publication = replace(publication, notes=(*told, *publication.notes))
            if output is None:
                with self._ledger._database.writing() as connection:
                    journal.record(connection, series, release, memory, after, self._keys(series))
                return publication
            writing = FilesOf(publication, format=format, spreadsheet_safe=spreadsheet_safe)
            clock.progress("write", 0, 1)
            with self._ledger._database.writing() as connection:
                journal.intend(connection, Path(output).expanduser().resolve())
            with staged_folder(Path(output), writing.files, force=force, check=writing.verify) as staged:
                release = replace(
                    release, files=writing.digests(staged.path), folder=str(staged.target), staged=str(staged.path)
                )
                with self._settling():
                    with self._ledger._database.writing() as connection:
                        recorded = journal.record(connection, series, release, memory, after, self._keys(series))
                    staged.publish()
                    settled = replace(recorded.releases[-1], state=_PUBLISHED, staged=None)
                    with self._ledger._database.writing() as connection:
                        journal.advance(
                            connection,
                            recorded,
                            recorded.with_releases([*recorded.releases[:-1], settled], self._keys(series)),
                        )
                        journal.settle(connection)
            return replace(publication, certificate=writing.certificate, folder=staged.target)

    def history(self) -> tuple[RecordedRelease, ...]:
        """Return the releases of the series, withdrawn ones among them, in the order in which they were made.

        Raises
        ------
        LedgerError
            Where a record is not as shoal wrote it.
        """
        with self._ledger._database.reading() as connection:
            return self._recorded(connection).releases

    def verify(self, folders: Sequence[str | os.PathLike[str]] | None = None) -> SeriesAudit:
        """Check the whole series again: the ledger's seals, the files' hashes, and what the published cells show.

        Every group must have m different sensitive values, every signature must be one that the ledger knows, and in
        the latest release as many people must have it as the ledger remembers.

        Parameters
        ----------
        folders : sequence of path, optional
            Where the releases are now; by default where they were written.

        Returns
        -------
        SeriesAudit
            `problems` lists what is wrong; it names files, never cells.

        Raises
        ------
        LedgerError
            Where the ledger itself is not as shoal wrote it.
        """
        if isinstance(folders, str | os.PathLike):
            folders = [folders]
        with self._ledger._database.reading() as connection:
            series, memory = self._remembered(connection)
        return audit_series(series, memory, None if folders is None else [Path(one) for one in folders])

    def certificate(self) -> dict[str, Any]:
        """Return what may be said in public of the series: what it promises, and the hashes of its releases' files."""
        with self._ledger._database.reading() as connection:
            series = self._recorded(connection)
        fields = ("number", "state", "time", "version", "rows", "counterfeits", "input_sha256")
        return {
            "format": FORMAT,
            "shoal": version("shoal"),
            "series": {"name": self.name, "created": series.created},
            "requested": [{"model": "m-invariance", "m": self.m}],
            "quasi_identifiers": list(self.columns.quasi_identifiers),
            "sensitive": list(self.columns.sensitive),
            "guarantee": {"text": guarantee(self.m, self.columns.sensitive), "confidence": 1 / self.m},
            "releases": [
                {
                    **{name: getattr(one, name) for name in fields},
                    "files": {name: dict(one.files[name]) for name in one.files},
                }
                for one in series.releases
            ],
        }

    def __repr__(self) -> str:
        return f"Series({self.name!r}, m={self.m})"

    def rollback(self, *, unpublished: bool) -> RecordedRelease:
        """Take back the last release, as if it had never been made. Its number is not used again.

        Only for a release that nobody outside has seen: the next one would contradict it. Its folder stays; remove it.

        Parameters
        ----------
        unpublished : bool
            Your word that it was never published. False is an error.

        Returns
        -------
        RecordedRelease
            The release, as withdrawn.

        Raises
        ------
        LedgerError
            Where it cannot be taken back.
        """
        validate("rollback", {"unpublished": unpublished}, {"unpublished": Boolean()})
        if not unpublished:
            raise LedgerError(
                "A release that was published cannot be taken back: people who have it could compare it with the next "
                "one. If nobody outside has seen it, say so: rollback(unpublished=True) (--unpublished)."
            )
        with self._ledger._publishing(), self._ledger._database.writing() as connection:
            series, memory = self._remembered(connection)
            if series.latest is None:
                raise LedgerError(f"The series '{self.name}' has no release to take back.")
            if series.releases[-1].state == "withdrawn":
                raise LedgerError(
                    f"Release {series.releases[-1].number} of the series '{self.name}' was taken back already, and the "
                    "ledger remembers how to take back one release only. Publish the next one."
                )
            after = journal.take_back(connection, series, memory, self._keys(series), keep=True)
            return after.releases[-1]

    def add_files(self, number: int, files: Mapping[str, Mapping[str, Any]]) -> None:
        """Let the ledger know the hashes of files that hold a release; `Publication.save` does it."""
        with self._ledger._publishing(), self._ledger._database.writing() as connection:
            series = self._recorded(connection)
            releases = [
                replace(one, files=_merged(one.files, files)) if one.number == number else one
                for one in series.releases
            ]
            journal.advance(connection, series, series.with_releases(releases, self._keys(series)))

    def _recorded(self, connection: sa.Connection) -> RecordedSeries:
        series = read_series(connection, self.name, self._ledger._key)
        if series is None:
            raise LedgerError(f"The series '{self.name}' is no longer in the ledger. Restore the ledger from a backup.")
        return series

    def _remembered(self, connection: sa.Connection) -> tuple[RecordedSeries, Memory]:
        series = self._recorded(connection)
        return series, read_memory(connection, series, self._keys(series))

    def _keys(self, series: RecordedSeries) -> SeriesKeys:
        return self._ledger._key.of_series(series.uid)

    @contextmanager
    def _settling(self) -> Iterator[None]:
        """Leave nothing half done where the work raises; where the ledger is out of reach the next start settles it."""
        try:
            yield
        except BaseException:
            try:
                with self._ledger._database.writing() as connection:
                    journal.recover(connection, self._ledger._key)
            except LedgerError:
                pass
            raise

    def _made(
        self, matched: Matched, release: RecordedRelease, opened: OpenedData, clock: Clock, keys: SeriesKeys
    ) -> tuple[Publication, RecordedRelease, Memory]:
        """Make a release of matched rows: the publication, its record and what is remembered after it."""
        table = matched.table
        options = release.parameters
        rng = np.random.default_rng(secrets.randbits(256) if release.seed is None else int(release.seed))
        with clock.step("generalize"):
            codes = np.column_stack([column.codes.astype(np.int32) for column in table.quasi_identifiers])
            made = generalize(
                quasi_identifiers=codes,
                sensitive=matched.sensitive,
                values=len(matched.values),
                signature_of=matched.signature_of,
                signatures=matched.memory.signatures,
                m=self.m,
                rng=rng,
                balancing=options["counterfeits"],
                hold_back=options["hold_back"],
                progress=clock.progress,
            )
            if not made.count:
                raise InfeasibleError(
                    "No row is left to publish: all of them are held back, because too many new rows have the same "
                    "sensitive value. Publish later, when there are more."
                )
        with clock.step("recode"):
            shown = matched.published(made)
            frame, counterfeit_frame, recoding = published_tables(
                shown.table, shown.sensitive, matched.values, shown.made
            )
        with clock.step("verify"):
            achieved = verify_release(
                frame,
                counterfeit_frame,
                quasi_identifiers=self.columns.quasi_identifiers,
                sensitive=self.columns.sensitive,
                m=self.m,
            )
            verify_invariance(
                groups=shown.made.groups,
                sensitive=shown.sensitive,
                counterfeit_groups=made.counterfeit_groups,
                counterfeit_values=made.counterfeit_values,
                signature_of=shown.signature_of,
                signatures=[matched.memory.signatures[one] for one in range(len(matched.memory.signatures))],
            )
            verify_truth(
                frame,
                matched.frame,
                made.groups,
                quasi_identifiers=self.columns.quasi_identifiers,
                sensitive=self.columns.sensitive,
            )
            if frame.height != shown.table.rows + made.counterfeits:
                raise InternalError("a release has more or fewer rows than were to be published")
        with clock.step("remember"):
            after, counts = matched.remembered(made, release.number)
            release = replace(
                release,
                input_sha256=keys.input_digest(fingerprint(shown.table)),
                rows=shown.table.rows,
                counterfeits=made.counterfeits,
                counts={**counts, "groups": made.count, "signatures": len(after.signatures)},
            )
        certificate = PublicationCertificate(
            version=release.version,
            series=self.name,
            number=release.number,
            time=release.time,
            m=self.m,
            parameters=options,
            seed=None if release.seed is None else int(release.seed),
            input={
                "rows": opened.frame.height,
                "rows_left_out": opened.frame.height - shown.table.rows,
                "quasi_identifiers": list(self.columns.quasi_identifiers),
                "sensitive": list(self.columns.sensitive),
                "direct_identifiers": [self.columns.identifier, *self.columns.direct_identifiers],
                "sha256": release.input_sha256,
            },
            achieved=achieved,
            cost=_cost(recoding, made.counterfeits),
            seconds=clock.seconds(),
        )
        publication = Publication(
            series=self,
            number=release.number,
            frame=frame,
            counterfeit_frame=counterfeit_frame,
            columns=self.columns,
            certificate=certificate,
            counts=release.counts,
            notes=tuple(_notes(release.counts)),
            source_format=opened.format,
            restore=opened.restore,
        )
        return publication, release, after


def _merged(
    held: Mapping[str, Mapping[str, Any]], added: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Return the files of a release with some more, which may have the names of earlier ones."""
    files = dict(held)
    for name, facts in added.items():
        earlier = journal.recorded_digests(held[name]) - {facts["sha256"]} if name in held else set()
        files[name] = {**facts, **({"others": sorted(earlier)} if earlier else {})}
    return files


def _cost(recoding: Recoding, counterfeits: int) -> dict[str, Any]:
    """Return the cost of a release with the keys of a certificate."""
    return {
        "counterfeits": counterfeits,
        "stars": recoding.stars,
        "suppressed_tuples": recoding.suppressed_tuples,
        "recoded_cells": recoding.recoded_cells,
        "recoded_tuples": recoding.recoded_tuples,
        "gcp": round(gcp(recoding), 6),
        "lower_bound": {"stars": 0, "suppressed_tuples": 0, "counterfeits": 0, "why": "none is known for m-invariance"},
        "optimal": False,
    }


def _notes(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield what the publisher should know of a release, in sentences."""
    told = (
        ("withheld", "{} row(s) are withheld: their sensitive value is not the one that was published before."),
        ("held_back", "{} new row(s) are held back until a later release: too many of the new rows had their value."),
        ("missing_sensitive", "{} row(s) are left out because they miss a sensitive value."),
        ("changed_quasi_identifiers", "{} people have other quasi-identifiers than the last time they were published."),
        ("returned", "{} people return after a gap; they keep the signature that they had."),
    )
    for name, sentence in told:
        if counts[name]:
            yield sentence.format(f"{counts[name]:,}")


_CONSTRAINTS: dict[str, Constraint] = {
    "counterfeits": OneOf(("fewest", "paper")),
    "changed_sensitive": OneOf(("error", "withhold")),
    "missing_sensitive": OneOf(("error", "drop")),
    "hold_back": Boolean(),
    "seed": Optional(Integer(low=0)),
    "format": Optional(OneOf(("csv", "parquet"))),
}
