"""A series of releases of a table that changes: publish, verify, list and take back releases."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from shoal._core.progress import Clock, Progress, uninterrupted
from shoal._core.unpicklable import Unpicklable
from shoal._core.validation import Boolean, Constraint, Integer, OneOf, Optional, validate
from shoal._messages import Part, phrase
from shoal._version import __version__
from shoal.errors import LedgerError, NoRowsError, OutputError, WarnedError
from shoal.findings import warn_caller
from shoal.io import StagedFolder, check_free, staged_folder
from shoal.pipeline.input import OpenedData, open_data
from shoal.pipeline.input_hash import compute_input_hash
from shoal.release.certificate_files import FORMAT
from shoal.republication.erasure import erase_people, parse_ids
from shoal.republication.ledger import journal
from shoal.republication.ledger.advice import RECOVER, TAKE_BACK
from shoal.republication.ledger.memory import Memory, encrypt_pieces, read_memory
from shoal.republication.ledger.records import RecordedRelease, RecordedSeries, SeriesColumns
from shoal.republication.ledger.storage import get_reason, now
from shoal.republication.ledger.store import LOG, Store
from shoal.republication.linkage import NO_ROWS_HINT, LinkedTable, link
from shoal.republication.lookalikes import check_overlap, describe_doubtful_ids
from shoal.republication.publication import FILE_CONSTRAINTS, Publication, PublicationCertificate, PublicationFiles
from shoal.republication.release_checks import (
    check_latest,
    check_stands,
    describe_counts,
    describe_guarantee,
    merge_files,
    refuse_unknown_releases,
)
from shoal.republication.release_stages import make_release
from shoal.republication.series_audit import SeriesAudit, audit_series
from shoal.table import KEYED

if TYPE_CHECKING:
    import sqlalchemy as sa

_STEPS = ("read", "ledger", "link", "generalize", "recode", "verify", "remember")

_PUBLISHED, _STAGED = "published", "staged"


class Series(Unpicklable):
    """A series of releases; `Ledger.start` starts it and `Ledger.series` opens it.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> import shoal
    >>> table = pl.DataFrame({"id": range(4), "age": [31, 32, 55, 58], "disease": ["flu", "cough", "flu", "cough"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with shoal.Ledger(f"{folder}/releases.db", create=True) as ledger:
    ...         series = ledger.start("visits", m=2, identifier="id", quasi_identifiers=["age"], sensitive="disease")
    ...         first = series.publish(table)
    ...         second = series.publish(table.head(3))
    ...         print([release.counterfeits for release in series.history()])
    [0, 1]
    >>> second.counterfeits["count"].to_list()
    [1]
    """

    _holds: ClassVar[str] = "the way to a ledger, and its secrets"
    _instead: ClassVar[str] = "Open the ledger there."

    def __init__(self, store: Store, name: str, m: int, columns: SeriesColumns, *, notes: tuple[str, ...] = ()) -> None:
        self._store = store
        self.name = name
        self.m = m
        self.columns = columns
        self.notes = notes
        """Notes for the publisher about the start of the series, as sentences."""

    def publish(
        self,
        data: Any,
        output: str | os.PathLike[str] | None = None,
        *,
        missing_sensitive: Literal["error", "drop"] = "error",
        leave_out: object = None,
        overlap: Literal["error", "allow"] = "error",
        signatures: Literal["any", "near"] = "any",
        min_real: int = 2,
        strict: bool = False,
        seed: int | None = None,
        force: bool = False,
        format: str | None = None,  # noqa: A002
        spreadsheet_safe: bool = False,
        delimiter: str | None = None,
        encoding: str | None = None,
        header_row: int | None = None,
        progress: Progress | None = None,
    ) -> Publication:
        """Publish the next release of the series: verify it, and record it in the ledger.

        The folder and the entry in the ledger appear together or not at all. Without a folder the release counts as
        published when this method returns, even if the object is discarded.

        Parameters
        ----------
        data : frame or path
            The current table: all people of the release, one row per person. A pandas, Polars or Arrow table, a path,
            or a database URL with a table.
        output : path, optional
            The folder to write.
        missing_sensitive : {"error", "drop"}
            How to treat rows without a sensitive value.
        leave_out : sequence, optional
            The ids of people of the table who are left out of this release, such as the `ids` of a `PeopleError`. The
            private certificate has their number.
        overlap : {"error", "allow"}
            How to treat people who are in another series of this ledger. The two series do not know each other, so
            their releases together may disclose these people's values. Use "allow" only if no reader outside has the
            releases of the other series, or if its columns are unrelated to those of this one.
        signatures : {"any", "near"}
            How to choose signatures of new people if no known signature fits. With "near" their values lie near each
            other in natural order (numbers by size, text alphabetically). Range queries on values are then answered far
            better and the bound 1/m still holds, but a signature reveals the approximate size of a person's number. The
            option applies to this release; people who were published before keep their signature.
        min_real : int
            Minimum number of real people for every combination of published quasi-identifiers. With 1, a group of one
            person and counterfeits shows the exact quasi-identifiers of that person. With 2 or more such groups show
            the same cells as other groups and share their counterfeits evenly, so that every group has that many real
            people if there are enough with its signature. No person is left out, and the bound 1/m still holds.
        strict : bool, default False
            Whether to raise an error instead of publishing if there is a warning, such as new people who may be known
            people under other ids, because they match a person who left or because ids differ only in spelling.
        seed : int, optional
            For reproducible experiments; by default randomness comes from the operating system.
        force, format, spreadsheet_safe
            How to write the folder, see `Publication.save`.
        delimiter, encoding : str, optional
            Of a CSV file; detected by default.
        header_row : int, optional
            Of a CSV file or a workbook: the row with the names of the columns. 1 confirms names that look like values.
        progress : callable, optional
            Called with (step, done, total) from time to time.

        Returns
        -------
        Publication

        Raises
        ------
        UsageError
            If the call or the data is invalid; the message explains what to change. One such case is a person whose
            sensitive value differs from the value of an earlier release.
        InfeasibleError
            If the new rows allow no such release; the message gives the largest feasible m, and what is safe for these
            people. Also if the table has fewer than `min_real` people.
        WarnedError
            If there are warnings, and `strict` was requested.
        LedgerError
            If the ledger cannot be used, is not current, or is in use by another process that publishes.
        ReleaseUnsafeError
            If the release fails verification. Please report it.
        """
        # Only options that differ from their default are recorded.
        options: dict[str, Any] = {"missing_sensitive": missing_sensitive}
        asked = {"overlap": overlap, "signatures": signatures, "min_real": min_real}
        validate("publish", {**options, **asked, "strict": strict, "seed": seed, "format": format}, _CONSTRAINTS)
        usual, asked["min_real"] = {"overlap": "error", "signatures": "any", "min_real": 1}, int(min_real)
        further = {name: value for name, value in asked.items() if value != usual[name]}
        ids = None if leave_out is None else parse_ids(leave_out, of="publish", name="leave_out")
        if output is not None:
            # Keep the leftovers of a crash: they show which release did not appear.
            check_free(Path(output), force=force, remove=False, reads=data)
        store, clock = self._store, Clock(_STEPS, progress)
        with clock.step("read"):
            try:
                opened = open_data(data, delimiter=delimiter, encoding=encoding, header_row=header_row)
            except NoRowsError as error:
                raise NoRowsError(*error.args, " ", NO_ROWS_HINT) from error
        # From here to the end this process is the only publisher.
        with store.lock_for_publishing() as recovered:
            with clock.step("ledger"), store.database.open_for_reading() as connection:
                series, memory = self._read_memory(connection)
            keys = store.derive_keys(series)
            if output is not None:
                refuse_unknown_releases(series, Path(output).expanduser().resolve())
            with clock.step("link"):
                matched = link(opened.frame, self.columns, memory, keys, leave_out=ids, **options)
                warnings = tuple(describe_doubtful_ids(matched, opened.frame, self.columns, made=not strict))
                if strict and warnings:
                    raise WarnedError("No warning was to be accepted, and nothing was published.", warnings)
                if overlap == "error":
                    check_overlap(store, series, matched.select_ids(opened.frame, self.columns.identifier))
            # The record of the release; the counts follow when it is made.
            release = RecordedRelease(
                number=series.releases[-1].number + 1 if series.releases else 1,
                state=_PUBLISHED if output is None else _STAGED,
                time=now(),
                version=__version__,
                seed=None if seed is None else str(int(seed)),
                input_sha256="",
                rows=0,
                counterfeits=0,
                parameters={"counterfeits": series.counterfeits, **options, **further},
            )
            publication, release, pieces = self._make_release(matched, release, opened, clock, series, warnings)
            warn_caller(publication.warnings)
            publication = replace(publication, notes=(*recovered, *publication.notes))
            # In memory: note the intent, then record the release, each in a transaction of its own.
            if output is None:
                with store.database.open_for_writing() as connection:
                    token = journal.intend(connection, None, store.secrets)
                with store.database.open_for_writing() as connection:
                    recorded = journal.record(
                        connection, series, release, pieces, keys, token=token, secrets=store.secrets
                    )
                    journal.settle(connection)
                    store.expect(recorded, token=token)
                store.confirm()
                return publication
            clock.progress("write", 0, 1)
            writing = PublicationFiles(publication, format=format, spreadsheet_safe=spreadsheet_safe)
            return self._write(writing, Path(output), release, pieces, series, force=force)

    def _write(
        self,
        writing: PublicationFiles,
        output: Path,
        release: RecordedRelease,
        pieces: Sequence[bytes],
        series: RecordedSeries,
        *,
        force: bool,
    ) -> Publication:
        """Write a release and record it, both or neither; `journal` explains the order."""
        store, keys = self._store, self._store.derive_keys(series)
        with store.database.open_for_writing() as connection:
            token = journal.intend(connection, output.expanduser().resolve(), store.secrets)
        with staged_folder(output, writing.files, private=writing.private, force=force, check=writing.verify) as staged:
            # The record names the hidden folders, so that a crash can be resolved.
            release = replace(
                release,
                files=writing.digests(staged.path),
                private_files=writing.private_digests,
                folder=str(staged.target),
                staged=str(staged.path),
            )
            # Record the release as staged before the folder appears, and as published afterwards.
            with self._settling(staged, release):
                with store.database.open_for_writing() as connection:
                    recorded = journal.record(
                        connection, series, release, pieces, keys, token=token, secrets=store.secrets
                    )
                    settled = recorded.mark_published(keys)
                    store.expect(recorded, settled, token=token)
                staged.publish()
                with store.database.open_for_writing() as connection:
                    journal.advance(connection, recorded, settled, keys)
                    journal.settle(connection)
            store.confirm()
        return replace(writing.publication, certificate=writing.certificate, folder=staged.target)

    def history(self) -> tuple[RecordedRelease, ...]:
        """List the releases of the series in the order in which they were made, including withdrawn ones.

        Raises
        ------
        LedgerError
            If a record was changed by other software than shoal.
        """
        return self._store.read(self._read_series).releases

    def verify(self, folders: Sequence[str | os.PathLike[str]] | None = None) -> SeriesAudit:
        """Verify the whole series: the seals of the ledger, the hashes of the files, and the published cells.

        Every group must have m different sensitive values, and every signature must be known to the ledger; in the
        latest release it must have as many people as the ledger remembers. The ledger must agree with its anchor. It
        must know every release of the series that lies next to the checked folders, in the current folder or next to
        the database. A folder must contain no other file, and a private folder must be unchanged.

        Parameters
        ----------
        folders : sequence of path, optional
            The current folders of the releases; by default the folders that were written.

        Returns
        -------
        SeriesAudit
            `problems` states what is wrong; it names files, never cells.

        Raises
        ------
        LedgerError
            If the ledger itself was changed by other software than shoal.
        """
        if isinstance(folders, str | os.PathLike):
            folders = [folders]
        # An outdated ledger is a problem of the audit, not an error.
        (series, memory), forgot = self._store.read(
            lambda connection: (self._read_memory(connection), self._store.explain_if_outdated(connection))
        )
        return audit_series(
            series,
            memory,
            None if folders is None else [Path(one) for one in folders],
            forgot=[] if forgot is None else [forgot],
            nearby=self._store.release_folders,
        )

    def certificate(self) -> dict[str, Any]:
        """Build the public certificate of the series: its guarantee, and the hashes of the files of its releases.

        Releases that were taken back are omitted; only their numbers are missing. The hash of a table that readers do
        not have would let them test guesses about its content.
        """

        def read_checked(connection: sa.Connection) -> RecordedSeries:
            series = self._read_series(connection)
            self._store.check(connection)
            return series

        series = self._store.read(read_checked)
        # Only what readers may know: no private files, no options, dates without the time of day.
        fields = ("number", "state", "version", "rows", "counterfeits")
        return {
            "format": FORMAT,
            "shoal": __version__,
            "series": {"name": self.name, "id": series.public_id, "created": series.created[:10]},
            "requested": [{"model": "m-invariance", "m": self.m}],
            **{role: list(names) for role, names in self.columns.published.items()},
            "guarantee": {"text": describe_guarantee(series), "confidence": 1 / self.m},
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

        Use this only if no reader outside has seen the release, because the next release would contradict it. The
        folder is not removed.

        Parameters
        ----------
        unpublished : bool
            Confirms that the release was never published. False is an error.

        Returns
        -------
        RecordedRelease
            The release in state "withdrawn".

        Raises
        ------
        LedgerError
            If the release cannot be taken back.
        """
        validate("rollback", {"unpublished": unpublished}, {"unpublished": Boolean()})
        if not unpublished:
            raise LedgerError(
                "A release that was published cannot be taken back: people who have it could compare it with the next "
                "one. If no one outside has seen it, confirm that with ",
                TAKE_BACK,
                ".",
            )
        store = self._store
        with store.lock_for_publishing():
            with store.database.open_for_writing() as connection:
                # Only the last release can be taken back, because only one earlier memory is kept.
                series = self._read_series(connection)
                keys = store.derive_keys(series)
                check_latest(series, read_memory(connection, series, keys, after=series.latest))
                after = journal.take_back(connection, series, keys, keep=True)
                store.expect(after)
            # After the commit, the anchor holds the confirmed state.
            store.confirm()
        return after.releases[-1]

    def erase(self, ids: object) -> int:
        """Erase people from the ledger, such as on their request. They cannot be published in the series again.

        Their signatures and values go from every memory of the ledger. A keyed hash of each id stays as a tombstone,
        so that a later release with such a person is refused. Published files, other copies and backups of the ledger
        are not changed.

        Parameters
        ----------
        ids : sequence
            The ids of the people, as in the tables of the series. An id that was erased already is ignored.

        Returns
        -------
        int
            Number of people who are erased from the series in all.

        Raises
        ------
        DataError
            If the series does not know one of them; nothing is erased.
        """
        texts, store = parse_ids(ids), self._store
        with store.lock_for_publishing():
            with store.database.open_for_writing() as connection:
                series = self._read_series(connection)
                after = erase_people(connection, series, texts, store.derive_keys(series))
                _, memory = self._read_memory(connection)
                store.expect(after)
            store.confirm()
        return len(memory.erased)

    def add_files(
        self,
        certificate: PublicationCertificate,
        files: Mapping[str, Mapping[str, Any]],
        private: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Record the hashes of files that hold a release in the ledger, as `Publication.save` does.

        Raises
        ------
        LedgerError
            If the release does not stand in the ledger, for example because it was taken back.
        """
        store, number = self._store, certificate.number
        with store.lock_for_publishing():
            with store.database.open_for_writing() as connection:
                series = self._read_series(connection)
                check_stands(series, certificate)
                # The release gets the hashes of the new files, all others stay as they are.
                releases = [
                    replace(
                        one,
                        files=merge_files(one.files, files),
                        private_files=merge_files(one.private_files, private),
                    )
                    if one.number == number
                    else one
                    for one in series.releases
                ]
                keys = store.derive_keys(series)
                after = series.with_releases(releases, keys)
                journal.advance(connection, series, after, keys)
                store.expect(after)
            store.confirm()

    def _read_series(self, connection: sa.Connection) -> RecordedSeries:
        """Read the record of the series."""
        series = self._store.read_series(connection, self.name)
        if series is None:
            raise LedgerError(f"The series '{self.name}' is no longer in the ledger. Restore the ledger from a backup.")
        return series

    def _read_memory(self, connection: sa.Connection) -> tuple[RecordedSeries, Memory]:
        """Read the record of the series, and its memory after the latest release."""
        series = self._read_series(connection)
        return series, read_memory(connection, series, self._store.derive_keys(series), after=series.latest)

    @contextmanager
    def _settling(self, staged: StagedFolder, release: RecordedRelease) -> Iterator[None]:
        """Clean up if the block raises, and report correctly if the folder of the release has appeared.

        After the folder appeared, an error must not claim that nothing was published. If the ledger records the release
        at a second attempt, no error is raised; if that fails, the next start records it.
        """
        try:
            yield
        except BaseException as error:
            # Another signal waits: the hidden folder proves that the release did not appear, until that is recorded.
            with uninterrupted():
                try:
                    # Resolve the release as after a crash.
                    self._store.complete_interrupted(own=staged.path)
                except LedgerError:
                    staged.leave()
            if not journal.is_intact(staged.target, release.files):
                if isinstance(error, LedgerError):  # one of the folder says this already
                    raise type(error)(*error.args, " Nothing was published.") from None
                raise
            if not isinstance(error, LedgerError | OutputError):
                raise
            # The folder is complete, so the release is published.
            reason = get_reason(error) if isinstance(error, LedgerError) else "its folder may not be on the disk yet."
            if not self._is_published(release):
                raise LedgerError(
                    f"Release {release.number} of the series '{self.name}' is published: its folder '{staged.target}' "
                    f"is there, complete. But the ledger could not record that: {reason} Leave the folder where it is, "
                    "and do not publish the table again: the next start of a publish, or ",
                    RECOVER,
                    ", records the release.",
                ) from None
            LOG.warning("Release %s is published and recorded, at a second attempt: %s", release.number, reason)

    def _is_published(self, release: RecordedRelease) -> bool:
        """Check whether the ledger has recorded a release as published; False if the ledger cannot be read."""
        try:
            releases = self.history()
        except LedgerError:
            return False
        asked = (release.number, _PUBLISHED, release.input_sha256)
        return any((one.number, one.state, one.input_sha256) == asked for one in releases)

    def _make_release(
        self,
        matched: LinkedTable,
        release: RecordedRelease,
        opened: OpenedData,
        clock: Clock,
        series: RecordedSeries,
        warnings: Sequence[Part],
    ) -> tuple[Publication, RecordedRelease, list[bytes]]:
        """Make a release from linked rows.

        Returns
        -------
        publication : Publication
            The verified release.
        release : RecordedRelease
            Its record, not yet sealed.
        pieces : list of bytes
            The memory after it, encrypted.
        """
        seed = None if release.seed is None else int(release.seed)
        signatures, min_real = release.parameters.get("signatures", "any"), release.parameters.get("min_real", 1)
        made = make_release(matched, series, signatures=signatures, min_real=min_real, seed=seed, clock=clock)
        # The memory after the release, and the record with its counts.
        with clock.step("remember"):
            after, counts = matched.remember(made.groups, release.number)
            keys = self._store.derive_keys(series)
            pieces = encrypt_pieces(after.to_pieces(), release.number, keys)
            digest, salt = compute_input_hash(opened.frame, matched.table)
            release = replace(
                release,
                input_sha256=digest,
                rows=matched.table.rows,
                counterfeits=made.groups.counterfeits,
                counts={**counts, "groups": made.groups.count, "signatures": len(after.signatures)},
            )
        # The private certificate has the warnings in spite of which the release was made.
        sentences = tuple(phrase(one) for one in warnings)
        certificate = PublicationCertificate(
            version=release.version,
            series=self.name,
            series_id=series.public_id,
            number=release.number,
            time=release.time,
            m=self.m,
            parameters=release.parameters,
            seed=seed,
            erased=release.counts["erased"],
            input={
                "rows": opened.frame.height,
                "rows_left_out": opened.frame.height - matched.table.rows,
                "people_left_out": matched.left_out,
                **{role: list(names) for role, names in self.columns.published.items()},
                "direct_identifiers": [self.columns.identifier, *self.columns.direct_identifiers],
                "sha256": release.input_sha256,
                "keyed": KEYED,
            },
            achieved=made.achieved,
            risk=made.risk,
            cost=made.cost,
            guarantee=describe_guarantee(series),
            warnings=sentences,
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
            notes=(
                *sentences,
                *matched.notes,
                *describe_counts({**release.counts, "shown_alone": made.achieved["shown_alone"]}),
            ),
            warnings=sentences,
            salt=salt,
            source_format=opened.format,
            dialect=opened.dialect,
            codebook=opened.codebook,
            restore=opened.restore.of(made.frame),
        )
        return publication, release, pieces


_CONSTRAINTS: dict[str, Constraint] = {
    "missing_sensitive": OneOf(("error", "drop")),
    "overlap": OneOf(("error", "allow")),
    "signatures": OneOf(("any", "near")),
    "min_real": Integer(low=1),
    "strict": Boolean(),
    "seed": Optional(Integer(low=0)),
    **FILE_CONSTRAINTS,
}
