"""A series of releases of one table that changes: publish, look back, verify, take back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from shoal._core.progress import Clock, Progress
from shoal._core.unpicklable import Unpicklable
from shoal._core.validation import Boolean, Constraint, Integer, OneOf, Optional, validate
from shoal._version import __version__
from shoal.errors import LedgerError, NoRowsError, OutputError, WarnedError
from shoal.io import check_free, staged_folder
from shoal.pipeline.input import open_data
from shoal.pipeline.input_hash import input_hash
from shoal.release.certificate import FORMAT
from shoal.republication.guarantee import guarantee_of
from shoal.republication.ledger import journal
from shoal.republication.ledger.memory import encrypted_pieces, read_memory
from shoal.republication.ledger.records import RecordedRelease
from shoal.republication.ledger.storage import now, reason_of
from shoal.republication.ledger.store import LOG
from shoal.republication.linkage import NOBODY, link
from shoal.republication.lookalikes import warnings_of
from shoal.republication.making import generalize_and_recode, verified_publication
from shoal.republication.overlap import check_apart
from shoal.republication.publication import FilesOf, Publication, PublicationCertificate
from shoal.republication.series_audit import SeriesAudit, audit_series, is_foreign, unknown_beside
from shoal.table import KEYED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import sqlalchemy as sa

    from shoal.io import StagedFolder
    from shoal.pipeline.input import OpenedData
    from shoal.republication.ledger.memory import Memory
    from shoal.republication.ledger.records import RecordedSeries, SeriesColumns
    from shoal.republication.ledger.store import Store
    from shoal.republication.linkage import LinkedTable

__all__ = ["Series"]

_STEPS = ("read", "ledger", "link", "generalize", "recode", "verify", "remember")

_PUBLISHED, _STAGED = "published", "staged"


class Series(Unpicklable):
    """A series of releases; started by `Ledger.start`, and opened by `Ledger.series`."""

    _holds: ClassVar[str] = "the way to a ledger, and its secrets"
    _instead: ClassVar[str] = "Open the ledger there."

    def __init__(self, store: Store, name: str, m: int, columns: SeriesColumns, *, notes: tuple[str, ...] = ()) -> None:
        self._store = store
        self.name = name
        self.m = m
        self.columns = columns
        self.notes = notes
        """What the publisher should know of the start of the series, in sentences."""

    def publish(
        self,
        data: Any,
        output: str | os.PathLike[str] | None = None,
        *,
        missing_sensitive: Literal["error", "drop"] = "error",
        overlap: Literal["error", "allow"] = "error",
        signatures: Literal["any", "near"] = "any",
        min_real: int = 1,
        strict: bool = False,
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
        missing_sensitive : {"error", "drop"}
            What to do with rows that miss a sensitive value.
        overlap : {"error", "allow"}
            What to do where people of the table are in another series of this ledger. The two know nothing of each
            other, so that the releases of both, together, may betray these people. "allow" is for another series
            that nobody outside has seen, or that protects columns which have nothing to do with those of this one.
        signatures : {"any", "near"}
            Which sets of sensitive values people get who are new, where the sets that are there do not suffice. With
            "near" these values lie near each other in their natural order (numbers by size, text by the alphabet):
            queries for ranges of values are answered far better, and the bound 1/m stays, but a set then tells about
            how large a person's number is. It is chosen for each release; who is published keeps the set that
            was given.
        min_real : int
            How many real people, at least, every combination of published quasi-identifiers stands for. A group of one
            person and counterfeits shows that person's exact quasi-identifiers; with 2 or more such groups show the
            same as others, and share their counterfeits out evenly, so that every group has that many real people
            wherever the people with its set of values suffice for it. Nobody is left out, and the bound 1/m stays.
        strict : bool, default False
            Whether to publish nothing if there is a warning: new people who may be known ones under other ids, because
            they have the data of somebody who left, or ids that differ only in how they are written.
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
            The call or the data is wrong; the message says what to change. People whose sensitive value is not the one
            that they were published with are among what is wrong.
        InfeasibleError
            The new rows allow no such release: the message names the largest m that would do, and what is safe for
            these people. Or the table has fewer than `min_real` people.
        WarnedError
            There are warnings, and `strict` was requested.
        LedgerError
            The ledger cannot be used, is not the newest, or another process publishes just now.
        ReleaseUnsafeError
            The release failed its verification. Please report it.
        """
        options: dict[str, Any] = {"missing_sensitive": missing_sensitive}
        asked = {"overlap": overlap, "signatures": signatures, "min_real": min_real}
        validate("publish", {**options, **asked, "strict": strict, "seed": seed, "format": format}, _CONSTRAINTS)
        usual, asked["min_real"] = {"overlap": "error", "signatures": "any", "min_real": 1}, int(min_real)
        options |= {name: value for name, value in asked.items() if value != usual[name]}
        if output is not None:
            # What a crash left stays: it shows the ledger what had not appeared.
            check_free(Path(output), force=force, remove=False)
        clock = Clock(_STEPS, progress)
        with clock.step("read"):
            try:
                opened = open_data(data, delimiter=delimiter, encoding=encoding)
            except NoRowsError as error:
                raise NoRowsError(f"{error} {NOBODY}") from error
        store = self._store
        with store.publishing() as told:
            with clock.step("ledger"), store.database.reading() as connection:
                series, memory = self._remembered(connection)
            keys = store.keys(series)
            if output is not None:
                _refuse_unknown(series, Path(output).expanduser().resolve())
            with clock.step("link"):
                linked = link(opened.frame, self.columns, memory, keys, missing_sensitive=missing_sensitive)
                warnings = tuple(warnings_of(linked))
                if strict and warnings:
                    raise WarnedError(
                        f"The release has {len(warnings)} warning(s), and none was to be accepted. Nothing was "
                        f"published. {' '.join(warnings)}"
                    )
                if overlap == "error":
                    check_apart(store, series, linked.ids_in(opened.frame, self.columns.identifier))
            release = RecordedRelease(
                number=series.releases[-1].number + 1 if series.releases else 1,
                state=_PUBLISHED if output is None else _STAGED,
                time=now(),
                version=__version__,
                seed=None if seed is None else str(int(seed)),
                input_sha256="",
                rows=0,
                counterfeits=0,
                parameters={"counterfeits": series.counterfeits, **options},
            )
            publication, release, pieces = self._made(linked, release, opened, clock, series)
            publication = replace(publication, notes=(*told, *warnings, *publication.notes))
            if output is None:
                with store.database.writing() as connection:
                    token = journal.intend(connection, None, store.secrets)
                with store.database.writing() as connection:
                    recorded = journal.record(
                        connection, series, release, pieces, keys, token=token, secrets=store.secrets
                    )
                    journal.settle(connection)
                    store.expect(recorded, token=token)
                store.confirm()
                return publication
            clock.progress("write", 0, 1)
            writing = FilesOf(publication, format=format, spreadsheet_safe=spreadsheet_safe)
            return self._written(writing, Path(output), release, pieces, series, force=force)

    def _written(
        self,
        writing: FilesOf,
        output: Path,
        release: RecordedRelease,
        pieces: Sequence[bytes],
        series: RecordedSeries,
        *,
        force: bool,
    ) -> Publication:
        """Write a release and record it, both or neither (`journal` tells the order)."""
        store, keys = self._store, self._store.keys(series)
        with store.database.writing() as connection:
            token = journal.intend(connection, output.expanduser().resolve(), store.secrets)
        with staged_folder(output, writing.files, private=writing.private, force=force, check=writing.verify) as staged:
            release = replace(
                release,
                files=writing.digests(staged.path),
                private_files=writing.private_digests,
                folder=str(staged.target),
                staged=str(staged.path),
            )
            with self._settling(staged, release):
                with store.database.writing() as connection:
                    recorded = journal.record(
                        connection, series, release, pieces, keys, token=token, secrets=store.secrets
                    )
                    settled = recorded.settled(keys)
                    store.expect(recorded, settled, token=token)
                staged.publish()
                with store.database.writing() as connection:
                    journal.advance(connection, recorded, settled, keys)
                    journal.settle(connection)
            store.confirm()
        return replace(writing.publication, certificate=writing.certificate, folder=staged.target)

    def history(self) -> tuple[RecordedRelease, ...]:
        """Return the releases of the series, withdrawn ones among them, in the order in which they were made.

        Raises
        ------
        LedgerError
            Where a record is not as shoal wrote it.
        """
        with self._store.database.reading() as connection:
            return self._recorded(connection).releases

    def verify(self, folders: Sequence[str | os.PathLike[str]] | None = None) -> SeriesAudit:
        """Check the whole series again: the ledger's seals, the files' hashes, and what the published cells show.

        Every group must have m different sensitive values, every signature must be one that the ledger knows, and in
        the latest release as many people must have it as the ledger remembers. The ledger must be as far as its anchor
        says, and know every release of the series that lies beside the folders that are looked at, in the present
        folder or beside its database. Nothing else may lie in a folder, and what lies in a private one must be as it
        was written.

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
        with self._store.database.reading() as connection:
            series, memory = self._remembered(connection)
            forgot = self._store.forgot(connection)
        return audit_series(
            series,
            memory,
            None if folders is None else [Path(one) for one in folders],
            forgot=[] if forgot is None else [forgot],
            nearby=self._store.nearby,
        )

    def certificate(self) -> dict[str, Any]:
        """Return what may be said in public of the series: what it promises, and the hashes of its releases' files.

        A release that was taken back is not in it, but for the number that is missing: the hash of a table that nobody
        has would let readers test what it showed.
        """
        with self._store.database.reading() as connection:
            series = self._recorded(connection)
            self._store.check(connection)
        fields = ("number", "state", "version", "rows", "counterfeits")
        return {
            "format": FORMAT,
            "shoal": __version__,
            "series": {"name": self.name, "id": series.public_id, "created": series.created[:10]},
            "requested": [{"model": "m-invariance", "m": self.m}],
            "quasi_identifiers": list(self.columns.quasi_identifiers),
            "sensitive": list(self.columns.sensitive),
            "guarantee": {"text": guarantee_of(series), "confidence": 1 / self.m},
            "releases": [
                {
                    **{name: getattr(one, name) for name in fields},
                    "time": one.time[:10],
                    "files": {name: dict(one.files[name]) for name in one.files},
                }
                for one in series.releases
                if one.state in ("published", "lost")
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
        store = self._store
        with store.publishing():
            with store.database.writing() as connection:
                series = self._recorded(connection)
                self._check_latest(series)
                after = journal.take_back(connection, series, store.keys(series), keep=True)
                store.expect(after)
            store.confirm()
        return after.releases[-1]

    def add_files(
        self,
        certificate: PublicationCertificate,
        files: Mapping[str, Mapping[str, Any]],
        private: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Let the ledger know the hashes of files that hold a release; `Publication.save` does it.

        Raises
        ------
        LedgerError
            Where the release does not stand in the ledger: it was taken back, say.
        """
        store, number = self._store, certificate.number
        with store.publishing():
            with store.database.writing() as connection:
                series = self._recorded(connection)
                _check_stands(series, certificate)
                releases = [
                    replace(
                        one,
                        files=_merged(one.files, files),
                        private_files=_merged(one.private_files, private),
                    )
                    if one.number == number
                    else one
                    for one in series.releases
                ]
                keys = store.keys(series)
                after = series.with_releases(releases, keys)
                journal.advance(connection, series, after, keys)
                store.expect(after)
            store.confirm()

    def _check_latest(self, series: RecordedSeries) -> None:
        """Check that the last release can be taken back."""
        if series.latest is None:
            raise LedgerError(f"The series '{self.name}' has no release to take back.")
        last = series.releases[-1]
        if last.state == "withdrawn":
            raise LedgerError(
                f"Release {last.number} of the series '{self.name}' was taken back already, and the ledger remembers "
                "how to take back one release only. Publish the next one."
            )
        if last.state == "lost":
            raise LedgerError(
                f"Release {last.number} of the series '{self.name}' was published, and the ledger lost what it knew of "
                "it: there is nothing to take back."
            )

    def _recorded(self, connection: sa.Connection) -> RecordedSeries:
        series = self._store.read(connection, self.name)
        if series is None:
            raise LedgerError(f"The series '{self.name}' is no longer in the ledger. Restore the ledger from a backup.")
        return series

    def _remembered(self, connection: sa.Connection) -> tuple[RecordedSeries, Memory]:
        series = self._recorded(connection)
        return series, read_memory(connection, series, self._store.keys(series), after=series.latest)

    @contextmanager
    def _settling(self, staged: StagedFolder, release: RecordedRelease) -> Iterator[None]:
        """Leave nothing half done if the work raises, and say what is true of a release whose folder has appeared.

        An error after that may not say that nothing was published. If the ledger records the release at a second
        attempt, there is no error; if it cannot, the next start does.
        """
        try:
            yield
        except BaseException as error:
            try:
                self._store.finish(own=staged.path)
            except LedgerError:
                staged.leave()  # it shows that the release did not appear
            if not journal.intact(staged.target, release.files) or not isinstance(error, LedgerError | OutputError):
                raise
            reason = reason_of(error) if isinstance(error, LedgerError) else "its folder may not be on the disk yet."
            if not self._is_published(release):
                raise LedgerError(
                    f"Release {release.number} of the series '{self.name}' is published: its folder '{staged.target}' "
                    f"is there, complete. But the ledger could not record that: {reason} Leave the folder where it is, "
                    "and do not publish the table again: the next start of a publish, or 'shoal republish recover', "
                    "records the release."
                ) from None
            LOG.warning("Release %s is published and recorded, at a second attempt: %s", release.number, reason)

    def _is_published(self, release: RecordedRelease) -> bool:
        """Return whether the ledger has recorded a release as published; False if it is out of reach."""
        try:
            releases = self.history()
        except LedgerError:
            return False
        asked = (release.number, _PUBLISHED, release.input_sha256)
        return any((one.number, one.state, one.input_sha256) == asked for one in releases)

    def _made(
        self, linked: LinkedTable, release: RecordedRelease, opened: OpenedData, clock: Clock, series: RecordedSeries
    ) -> tuple[Publication, RecordedRelease, list[bytes]]:
        """Make a release of linked rows: the publication, its record and what is remembered after it, encrypted."""
        seed = None if release.seed is None else int(release.seed)
        signatures, min_real = release.parameters.get("signatures", "any"), release.parameters.get("min_real", 1)
        recoded = generalize_and_recode(
            linked, series, signatures=signatures, min_real=min_real, seed=seed, clock=clock
        )
        made = verified_publication(recoded, clock)
        with clock.step("remember"):
            after, counts = linked.remembered(made.groups, release.number)
            keys = self._store.keys(series)
            pieces = encrypted_pieces(after.pieces(), release.number, keys)
            digest, salt = input_hash(opened.frame, linked.table)
            release = replace(
                release,
                input_sha256=digest,
                rows=linked.table.rows,
                counterfeits=made.groups.counterfeits,
                counts={**counts, "groups": made.groups.count, "signatures": len(after.signatures)},
            )
        certificate = PublicationCertificate(
            version=release.version,
            series=self.name,
            series_id=series.public_id,
            number=release.number,
            time=release.time,
            m=self.m,
            parameters=release.parameters,
            seed=seed,
            input={
                "rows": opened.frame.height,
                "rows_left_out": opened.frame.height - linked.table.rows,
                "quasi_identifiers": list(self.columns.quasi_identifiers),
                "sensitive": list(self.columns.sensitive),
                "direct_identifiers": [self.columns.identifier, *self.columns.direct_identifiers],
                "sha256": release.input_sha256,
                "keyed": KEYED,
            },
            achieved=made.achieved,
            risk=made.risk,
            cost=made.cost,
            guarantee=guarantee_of(series),
            seconds=clock.seconds(),
        )
        publication = Publication(
            series=self,
            number=release.number,
            frame=made.frame,
            counterfeit_frame=made.counterfeit_frame,
            columns=self.columns,
            certificate=certificate,
            counts=release.counts,
            notes=(*linked.notes, *_notes(release.counts)),
            salt=salt,
            source_format=opened.format,
            restore=opened.restore.of(made.frame),
        )
        return publication, release, pieces


def _check_stands(series: RecordedSeries, certificate: PublicationCertificate) -> None:
    """Check that the ledger knows a release as published: only then does the next one fit it."""
    number = certificate.number
    held = next((one for one in series.releases if one.number == number), None)
    if held is not None and held.state == "withdrawn":
        raise LedgerError(
            f"Release {number} of the series '{series.name}' was taken back, and is not written: the next release does "
            "not fit it. Write the one that was published in its place."
        )
    if held is None or held.state != _PUBLISHED or held.input_sha256 != certificate.input["sha256"]:
        raise LedgerError(
            f"Release {number} of the series '{series.name}' is not the one that the ledger knows by this number, and "
            "is not written. If the ledger was restored from a backup, restore a newer one."
        )


def _refuse_unknown(series: RecordedSeries, target: Path) -> None:
    """Check that the ledger knows the releases of the series that lie where the next one is to be."""
    unknown = unknown_beside(series, [target])
    if unknown and is_foreign(series, unknown[0]):
        raise LedgerError(
            f"'{unknown[0]}' holds a release of another series named '{series.name}', of a ledger that this one does "
            "not know: perhaps it was lost, and this one started in its place. Nothing was published. Restore that "
            "ledger from a backup. If these are releases of other people, publish into another folder, or start a "
            "series of another name."
        )
    if unknown:
        raise LedgerError(
            f"'{unknown[0]}' holds a release of the series '{series.name}' that the ledger does not know: the ledger "
            "was restored from an older backup, or the folder is of another ledger. Nothing was published. Restore a "
            "newer backup, or take the folder away if it is not of this series."
        )


def _merged(
    held: Mapping[str, Mapping[str, Any]], added: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Return the files of a release with some more, which may have the names of earlier ones."""
    files = dict(held)
    for name, facts in added.items():
        earlier = journal.recorded_digests(held[name]) - {facts["sha256"]} if name in held else set()
        files[name] = {**facts, **({"others": sorted(earlier)} if earlier else {})}
    return files


def _notes(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield what the publisher should know of a release, in sentences."""
    told = (
        ("missing_sensitive", "{} row(s) are left out because they miss a sensitive value."),
        ("changed_quasi_identifiers", "{} people have other quasi-identifiers than the last time they were published."),
        ("returned", "{} people return after a gap; they keep the signature that they had."),
    )
    for name, sentence in told:
        if counts[name]:
            yield sentence.format(f"{counts[name]:,}")


_CONSTRAINTS: dict[str, Constraint] = {
    "missing_sensitive": OneOf(("error", "drop")),
    "overlap": OneOf(("error", "allow")),
    "signatures": OneOf(("any", "near")),
    "min_real": Integer(low=1),
    "strict": Boolean(),
    "seed": Optional(Integer(low=0)),
    "format": Optional(OneOf(("csv", "parquet"))),
}
