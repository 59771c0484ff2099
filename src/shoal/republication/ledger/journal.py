"""What a publish writes into the ledger, and how it is taken back: each in one transaction.

A release with a folder takes four steps: the ledger notes where files will be; they are written under a hidden name;
the ledger records the release as staged, with everything that it must remember; the folder gets its name, and the
ledger records the release as published. After a crash the folder tells which it is: there it is complete, and the
release is published. Where the hidden folder still is, the other never appeared, and the release is taken back. Where
neither is, it may have appeared and been moved away: it counts as published until the publisher says otherwise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from shoal.errors import LedgerBusyError, LedgerError
from shoal.io import sweep_folder
from shoal.republication.ledger.memory import digest_of, is_kept, read_memory, write_pieces
from shoal.republication.ledger.records import EDITED, read_series, release_row, reread, series_names
from shoal.republication.ledger.tables import LEDGER, MEMORY, RELEASES, SERIES

if TYPE_CHECKING:
    from shoal.republication.ledger.keys import Secrets, SeriesKeys
    from shoal.republication.ledger.records import RecordedRelease, RecordedSeries
    from shoal.republication.ledger.storage import Database

__all__ = [
    "advance",
    "check_written",
    "file_digest",
    "finish",
    "intact",
    "intend",
    "record",
    "recorded_digests",
    "settle",
    "take_back",
]

_INTENT = "staging"
"""Under this name the ledger notes where a publisher writes files just now."""


def intend(connection: sa.Connection, target: Path, secrets: Secrets) -> None:
    """Note where files will be written under a hidden name, so that a crash leaves none behind."""
    settle(connection)
    held = {"folder": str(target), "seal": secrets.seal("staging", str(target))}
    connection.execute(LEDGER.insert().values(name=_INTENT, content=json.dumps(held)))


def settle(connection: sa.Connection) -> None:
    """Forget where files were written: they have their name, or are gone."""
    connection.execute(LEDGER.delete().where(LEDGER.c.name == _INTENT))


def _intended(connection: sa.Connection, secrets: Secrets) -> Path | None:
    """Return where files were being written; whoever has no key cannot have another folder swept."""
    content = connection.scalar(sa.select(LEDGER.c.content).where(LEDGER.c.name == _INTENT))
    if content is None:
        return None
    try:
        held = json.loads(content)
        folder = str(held["folder"])
        if not compare_digest(held["seal"], secrets.seal("staging", folder)):
            raise ValueError("another seal")
    except (ValueError, TypeError, KeyError):
        raise LedgerError(f"The ledger's note of a folder that is being written {EDITED}") from None
    return Path(folder)


def record(
    connection: sa.Connection,
    series: RecordedSeries,
    release: RecordedRelease,
    pieces: Sequence[bytes],
    keys: SeriesKeys,
) -> RecordedSeries:
    """Record a release and what the series remembers after it.

    Parameters
    ----------
    connection : Connection
        A writing transaction.
    series : RecordedSeries
        The series before.
    release : RecordedRelease
        The release, not yet sealed and without a digest.
    pieces : sequence of bytes
        What the series remembers after it, encrypted (`memory.encrypted_pieces`).
    keys : SeriesKeys
        The keys of the series.

    Returns
    -------
    RecordedSeries
        The series after.

    Raises
    ------
    LedgerBusyError
        Where something else changed the series in the meantime.
    """
    release = replace(release, memory_digest=digest_of(pieces, keys))
    after = series.with_releases([*series.releases, release], keys)
    _write(connection, series, after, keys)
    write_pieces(connection, after, release.number, pieces)
    check_written(connection, after, keys, pieces)
    return after


def advance(connection: sa.Connection, before: RecordedSeries, after: RecordedSeries, keys: SeriesKeys) -> None:
    """Write a series and its releases where they differ, if nobody else did in the meantime, and read them again.

    Raises
    ------
    LedgerBusyError
        Where something else changed the series in the meantime.
    LedgerError
        Where the database does not hold what was written.
    """
    _write(connection, before, after, keys)
    check_written(connection, after, keys)


def check_written(
    connection: sa.Connection, after: RecordedSeries, keys: SeriesKeys, pieces: Sequence[bytes] | None = None
) -> None:
    """Read again what a transaction wrote: a trigger of the database may have changed or removed it.

    Parameters
    ----------
    connection : Connection
        The transaction, before it is committed.
    after : RecordedSeries
        The series as it was written.
    keys : SeriesKeys
        Its keys.
    pieces : sequence of bytes, optional
        What it remembers, if that was written.

    Raises
    ------
    LedgerError
        Where the database does not hold it.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SET CONSTRAINTS ALL IMMEDIATE"))  # triggers that wait for the commit act now
    held = reread(connection, after, keys)
    if held is None or held.seal != after.seal or not is_kept(connection, held, pieces, keys):
        raise LedgerError(
            f"The database does not hold what was written of the series '{after.name}': a trigger or a rule in it "
            "changes the ledger's rows. Nothing was published. Remove what was added to the database, and verify the "
            "series before you publish again."
        )


def _write(connection: sa.Connection, before: RecordedSeries, after: RecordedSeries, keys: SeriesKeys) -> None:
    changed = connection.execute(
        SERIES.update().where(SERIES.c.id == before.id, SERIES.c.seal == before.seal).values(seal=after.seal)
    )
    if changed.rowcount != 1:
        raise LedgerBusyError(
            f"The series '{before.name}' was changed by another process in the meantime. Nothing was published here. "
            "Try again."
        )
    held = {one.number: one for one in before.releases}
    stay = {one.number for one in after.releases}
    for number in held.keys() - stay:
        connection.execute(RELEASES.delete().where(RELEASES.c.series == before.id, RELEASES.c.number == number))
    for one in after.releases:
        if one.number not in held:
            connection.execute(RELEASES.insert(), release_row(after, one, keys))
        elif one != held[one.number]:
            row = release_row(after, one, keys)
            connection.execute(
                RELEASES.update().where(RELEASES.c.series == after.id, RELEASES.c.number == one.number).values(**row)
            )


def take_back(connection: sa.Connection, series: RecordedSeries, keys: SeriesKeys, *, keep: bool) -> RecordedSeries:
    """Take the latest release back: the series remembers what it did before it.

    Parameters
    ----------
    connection : Connection
        A writing transaction.
    series : RecordedSeries
        The series, whose latest release is to be taken back.
    keys : SeriesKeys
        The keys of the series.
    keep : bool
        Whether the release stays in the history, as withdrawn.

    Returns
    -------
    RecordedSeries
        The series after.

    Raises
    ------
    LedgerError
        Where the ledger does not hold what is needed, unchanged.
    """
    last = series.releases[-1]
    read_memory(connection, series, keys, after=series.before(last.number))
    withdrawn = replace(last, state="withdrawn", staged=None)
    after = series.with_releases([*series.releases[:-1], *([withdrawn] if keep else [])], keys)
    connection.execute(MEMORY.delete().where(MEMORY.c.series == series.id, MEMORY.c.release == last.number))
    advance(connection, series, after, keys)
    return after


def finish(database: Database, secrets: Secrets) -> list[str]:
    """Finish or take back the releases that a crash interrupted, and say what became of each; for the only publisher.

    Parameters
    ----------
    database : Database
        The ledger's.
    secrets : Secrets
        The ledger's.

    Returns
    -------
    list of str
        A sentence for each interrupted release.
    """
    with database.writing() as connection:
        told, intended = _judged(connection, secrets)
    if intended is None:
        return told
    # Only now: a hidden folder is what shows that a release did not appear, until the ledger knows.
    if sweep_folder(intended) and not told:
        told.append(
            f"A release was interrupted before the ledger knew of it. What was written for '{intended}' was removed."
        )
    with database.writing() as connection:
        settle(connection)
    return told


def _judged(connection: sa.Connection, secrets: Secrets) -> tuple[list[str], Path | None]:
    """Record what became of interrupted releases; returns what to tell, and where files were being written."""
    told = []
    intended = _intended(connection, secrets)
    if intended is not None:
        # First: a folder whose private one has its name already gets its own now, and is complete then.
        sweep_folder(intended, remove=False)
    for name in series_names(connection):
        series = read_series(connection, name, secrets)
        if series is not None and series.releases and series.releases[-1].state == "staged":
            told.append(_settled(connection, series, secrets.of_series(series.uid)))
    return told, intended


def _settled(connection: sa.Connection, series: RecordedSeries, keys: SeriesKeys) -> str:
    """Record what became of the latest release of a series, which was interrupted, and say it."""
    last = series.releases[-1]
    folder = Path(last.folder or "")
    whole = intact(folder, last.files)
    what = f"Release {last.number} of the series '{series.name}' was interrupted"
    if not whole and last.staged and Path(last.staged).is_dir():
        take_back(connection, series, keys, keep=False)
        return f"{what} before its folder '{folder}' appeared. It was taken back; the ledger is as it was before."
    advance(connection, series, series.settled(keys), keys)
    if whole:
        return f"{what} when its folder '{folder}' had just appeared, complete. It is published."
    return (
        f"{what}, and nothing shows that its folder '{folder}' did not appear: it may have been moved or changed "
        "since. It counts as published, for the next release must fit it if anybody has seen it. Only if nobody "
        "outside has, take it back: rollback(unpublished=True) (shoal republish rollback --unpublished)."
    )


def intact(folder: Path, files: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a folder holds some files with the recorded hashes."""
    try:
        return bool(files) and all(file_digest(folder / name) in recorded_digests(held) for name, held in files.items())
    except OSError:
        return False


def recorded_digests(held: Mapping[str, Any]) -> set[str]:
    """Return the hashes that a file of a release may have: it may have been saved more than once."""
    return {held["sha256"], *held.get("others", ())}


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
