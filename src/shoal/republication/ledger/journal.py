"""Journal of publishing: how a release is recorded, completed or taken back, each in one transaction.

A release with a folder takes four steps. The ledger records the intent and the target folder. The files are written
under a hidden name. The ledger records the release as staged, together with the memory after it. The folder gets its
name, and the ledger records the release as published.

After a crash the folders show what happened. If the target folder is complete, the release is published. If both hidden
folders still hold the recorded files, the target never appeared, and the release is taken back. Otherwise the folder
may have appeared and been moved away, so the release counts as published until the publisher takes it back.

The intent is recorded before the anchor expects the release, and removed after the anchor knows the outcome. Therefore
an anchor that expects a release, and a ledger without the intent, show that the ledger was restored.
"""

from __future__ import annotations

import json
import secrets as randomness
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hmac import compare_digest
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from shoal._messages import phrase
from shoal.errors import DataError, LedgerBusyError, LedgerError
from shoal.io import is_being_written, staged_private_folder, sweep_folder
from shoal.republication.ledger.advice import TAKE_BACK
from shoal.republication.ledger.keys import Secrets, SeriesKeys
from shoal.republication.ledger.memory import compute_digest, is_kept, read_memory, write_pieces
from shoal.republication.ledger.records import (
    EDITED,
    LEDGER,
    MEMORY,
    RELEASES,
    SERIES,
    RecordedRelease,
    RecordedSeries,
    list_series,
    read_series,
    reread,
    to_release_row,
)
from shoal.republication.ledger.storage import BUSY, Database
from shoal.verification.published_folder import file_digest

_INTENT = "staging"
"""Name of the entry that holds the intent."""


def intend(connection: sa.Connection, target: Path | None, secrets: Secrets) -> str:
    """Record the intent to publish a release, and the folder for which hidden files will be written.

    Parameters
    ----------
    connection : Connection
        A writing transaction, which is committed before the anchor expects the release.
    target : Path, optional
        The target folder, so that leftovers of a crash can be removed.
    secrets : Secrets
        The secrets of the ledger.

    Returns
    -------
    str
        A random token that identifies this publish.
    """
    # There is at most one intent.
    settle(connection)
    token, folder = randomness.token_hex(16), "" if target is None else str(target)
    held = {"folder": folder, "token": token, "seal": secrets.seal("staging", folder, token)}
    connection.execute(LEDGER.insert().values(name=_INTENT, content=json.dumps(held)))
    return token


def settle(connection: sa.Connection) -> None:
    """Remove the intent, when the files have their final name or are gone."""
    connection.execute(LEDGER.delete().where(LEDGER.c.name == _INTENT))


def read_token(connection: sa.Connection, secrets: Secrets) -> str | None:
    """Read the token of the pending publish, or return None if there is none."""
    intended = _read_intent(connection, secrets)
    return None if intended is None else intended[1]


def _read_intent(connection: sa.Connection, secrets: Secrets) -> tuple[Path | None, str] | None:
    """Read the target folder and the token of the intent; its seal prevents that another folder is swept."""
    content = connection.scalar(sa.select(LEDGER.c.content).where(LEDGER.c.name == _INTENT))
    if content is None:
        return None
    try:
        held = json.loads(content)
        folder, token = str(held["folder"]), str(held["token"])
        if not compare_digest(held["seal"], secrets.seal("staging", folder, token)):
            raise ValueError("another seal")
    except (ValueError, TypeError, KeyError):
        raise LedgerError(f"The ledger's note of a folder that is being written {EDITED}") from None
    return Path(folder) if folder else None, token


def record(
    connection: sa.Connection,
    series: RecordedSeries,
    release: RecordedRelease,
    pieces: Sequence[bytes],
    keys: SeriesKeys,
    *,
    token: str,
    secrets: Secrets,
) -> RecordedSeries:
    """Record a release and the memory after it.

    Parameters
    ----------
    connection : Connection
        A writing transaction.
    series : RecordedSeries
        The series before.
    release : RecordedRelease
        The release, not yet sealed and without a digest.
    pieces : sequence of bytes
        The memory after it, encrypted (`memory.encrypt_pieces`).
    keys : SeriesKeys
        The keys of the series.
    token : str
        The result of `intend`.
    secrets : Secrets
        The secrets of the ledger.

    Returns
    -------
    RecordedSeries
        The series after.

    Raises
    ------
    LedgerBusyError
        If another process changed the series, or treated this publish as interrupted by a crash.
    """
    # A missing token: another process has resolved this publish as interrupted.
    if read_token(connection, secrets) != token:
        raise LedgerBusyError(*BUSY)
    release = replace(release, memory_digest=compute_digest(pieces, keys))
    after = series.with_releases([*series.releases, release], keys)
    _write(connection, series, after, keys)
    write_pieces(connection, after, release.number, pieces)
    # A rollback returns to the memory of the release before.
    before = series.latest
    check_written(connection, after, keys, {release.number: pieces} | ({} if before is None else {before.number: None}))
    return after


def advance(connection: sa.Connection, before: RecordedSeries, after: RecordedSeries, keys: SeriesKeys) -> None:
    """Write the changed records of a series, unless another process changed it, and read them back.

    Raises
    ------
    LedgerBusyError
        If another process changed the series.
    LedgerError
        If the database does not hold what was written.
    """
    _write(connection, before, after, keys)
    check_written(connection, after, keys)


def check_written(
    connection: sa.Connection,
    after: RecordedSeries,
    keys: SeriesKeys,
    memories: Mapping[int, Sequence[bytes] | None] | None = None,
) -> None:
    """Read back what a transaction wrote, because a trigger of the database may have changed or removed it.

    Parameters
    ----------
    connection : Connection
        The transaction, before it is committed.
    after : RecordedSeries
        The series as it was written.
    keys : SeriesKeys
        The keys of the series.
    memories : mapping of int to sequence of bytes, optional
        The memories that were written or must still be there, as for `memory.is_kept`; that after the latest release
        by default.

    Raises
    ------
    LedgerError
        If the database does not hold it.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SET CONSTRAINTS ALL IMMEDIATE"))  # triggers that wait for the commit act now
    if memories is None:
        memories = {} if after.latest is None else {after.latest.number: None}
    held = reread(connection, after, keys)
    if held is None or held.seal != after.seal or not is_kept(connection, held, memories, keys):
        raise LedgerError(
            f"The database does not hold what was written of the series '{after.name}': a trigger or a rule in it "
            "changes the ledger's rows.",
            " Remove what was added to the database, and verify the series before you publish again.",
        )


def _write(connection: sa.Connection, before: RecordedSeries, after: RecordedSeries, keys: SeriesKeys) -> None:
    """Write the records that differ. The seal of the series before guards against concurrent changes."""
    # Optimistic lock: the seal of the series must be unchanged.
    changed = connection.execute(
        SERIES.update().where(SERIES.c.id == before.id, SERIES.c.seal == before.seal).values(seal=after.seal)
    )
    if changed.rowcount != 1:
        raise LedgerBusyError(
            f"The series '{before.name}' was changed by another process in the meantime.",
            " Try again.",
        )
    # Delete, insert or update the releases that differ.
    held = {one.number: one for one in before.releases}
    stay = {one.number for one in after.releases}
    for number in held.keys() - stay:
        connection.execute(RELEASES.delete().where(RELEASES.c.series == before.id, RELEASES.c.number == number))
    for one in after.releases:
        if one.number not in held:
            connection.execute(RELEASES.insert(), to_release_row(after, one, keys))
        elif one != held[one.number]:
            row = to_release_row(after, one, keys)
            connection.execute(
                RELEASES.update().where(RELEASES.c.series == after.id, RELEASES.c.number == one.number).values(**row)
            )


def take_back(connection: sa.Connection, series: RecordedSeries, keys: SeriesKeys, *, keep: bool) -> RecordedSeries:
    """Take back the latest release: the series has the memory of the release before.

    Parameters
    ----------
    connection : Connection
        A writing transaction.
    series : RecordedSeries
        The series whose latest release is to be taken back.
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
        If the memory of the release before is missing or was changed.
    """
    last = series.releases[-1]
    # Check the memory of the release before, which the series needs from now on.
    read_memory(connection, series, keys, after=series.before(last.number))
    withdrawn = replace(last, state="withdrawn", staged=None)
    after = series.with_releases([*series.releases[:-1], *([withdrawn] if keep else [])], keys)
    connection.execute(MEMORY.delete().where(MEMORY.c.series == series.id, MEMORY.c.release == last.number))
    advance(connection, series, after, keys)
    return after


def complete_interrupted(
    database: Database, secrets: Secrets, confirm: Callable[[], object], *, own: Path | None = None
) -> list[str]:
    """Complete or take back the releases that a crash interrupted. The caller holds the publishers' lock.

    Parameters
    ----------
    database : Database
        The database of the ledger.
    secrets : Secrets
        The secrets of the ledger.
    confirm : callable
        Called when the database has recorded the outcome and the intent still exists, so that the anchor can follow.
    own : Path, optional
        A hidden folder that the caller was writing and has given up.

    Returns
    -------
    list of str
        A sentence for each interrupted release.

    Raises
    ------
    LedgerBusyError
        If a running process still writes a release, because a lock failed to keep it apart. Nothing is taken back.
    """
    with database.open_for_writing() as connection:
        intended = _read_intent(connection, secrets)
        folder = None if intended is None else intended[0]
        sentences = _resolve_interrupted(connection, secrets, folder, own)
    # Let the anchor follow before the proof is removed.
    confirm()
    if intended is None:
        return sentences
    # Sweep only now: a hidden folder is the proof that a release did not appear, until the ledger has recorded it.
    if folder is not None and sweep_folder(folder) and not sentences:
        sentences.append(
            f"A release was interrupted before the ledger knew of it. What was written for '{folder}' was removed."
        )
    with (
        suppress(LedgerError),
        database.open_for_writing() as connection,
    ):  # the note does no harm, and the next start removes it
        settle(connection)
    return sentences


def _resolve_interrupted(
    connection: sa.Connection, secrets: Secrets, folder: Path | None, own: Path | None
) -> list[str]:
    """Record the outcome of interrupted releases, and describe it in sentences."""
    sentences = []
    if folder is not None:
        # A living process holds the lock of its hidden folder.
        if is_being_written(folder, own=own):
            raise LedgerBusyError(*BUSY)
        # Complete a pair of folders first: if the private one has its final name, the public one gets its own now.
        sweep_folder(folder, remove=False)
    for name in list_series(connection):
        series = read_series(connection, name, secrets)
        if series is not None and series.releases and series.releases[-1].state == "staged":
            if is_being_written(Path(series.releases[-1].folder or ""), own=own):
                raise LedgerBusyError(*BUSY)
            sentences.append(_settle_release(connection, series, secrets.derive_series_keys(series.uid)))
    return sentences


def _settle_release(connection: sa.Connection, series: RecordedSeries, keys: SeriesKeys) -> str:
    """Record the outcome of the interrupted latest release of a series, and describe it."""
    last = series.releases[-1]
    folder = Path(last.folder or "")
    complete = is_intact(folder, last.files)
    what = f"Release {last.number} of the series '{series.name}' was interrupted"
    # The folder never appeared: take the release back.
    if not complete and _never_appeared(last):
        take_back(connection, series, keys, keep=False)
        return f"{what} before its folder '{folder}' appeared. It was taken back; the ledger is as it was before."
    advance(connection, series, series.mark_published(keys), keys)
    if complete:
        return f"{what} when its folder '{folder}' had just appeared, complete. It is published."
    return (
        f"{what}, and nothing shows that its folder '{folder}' did not appear: it may have been moved or changed "
        "since. It counts as published, because the next release must fit it if anyone has seen it. Only if no reader "
        f"outside has, take it back with {phrase(TAKE_BACK)}."
    )


def _never_appeared(release: RecordedRelease) -> bool:
    """Check whether both hidden folders of a release still contain its files.

    Any user with access to the output's parent can create a folder of that name, and all readers have the public files.
    Only the publisher has the private ones.
    """
    if not release.staged or not release.folder:
        return False
    staged = Path(release.staged)
    private = staged_private_folder(staged, Path(release.folder))
    return is_intact(staged, release.files) and is_intact(private, release.private_files)


def is_intact(folder: Path, files: Mapping[str, Mapping[str, Any]]) -> bool:
    """Check whether a folder contains all files with the recorded hashes."""
    try:
        return bool(files) and all(
            file_digest(folder / name) in get_recorded_digests(held) for name, held in files.items()
        )
    except DataError:
        return False


def get_recorded_digests(held: Mapping[str, Any]) -> set[str]:
    """Get the hashes that a file of a release may have, because it may have been saved more than once."""
    return {held["sha256"], *held.get("others", ())}
