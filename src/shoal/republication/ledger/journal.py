"""What a publish writes into the ledger, and how it is taken back: each in one transaction.

A release with a folder takes four steps: the ledger notes where files will be; they are written under a hidden name;
the ledger records the release as staged, with everything that it must remember; the folder gets its name, and the
ledger records the release as published. After a crash the folder tells which it is: there it is complete, and the
release is published. Where the hidden folders still are, with the files that the ledger knows, the other never
appeared, and the release is taken back. Where neither is, it may have appeared and been moved away: it counts as
published until the publisher says otherwise.

The ledger's note is there before the anchor expects the release, and goes after the anchor knows what became of it. So
an anchor that expects a release, and a ledger without the note, show that the ledger was restored.
"""

from __future__ import annotations

import json
import secrets as randomness
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from shoal.errors import LedgerBusyError, LedgerError
from shoal.io import is_being_written, staged_private_folder, sweep_folder
from shoal.republication.ledger.memory import compute_digest, is_kept, read_memory, write_pieces
from shoal.republication.ledger.records import EDITED, list_series, read_series, reread, to_release_row
from shoal.republication.ledger.storage import BUSY
from shoal.republication.ledger.tables import LEDGER, MEMORY, RELEASES, SERIES
from shoal.verification.published_folder import file_digest

if TYPE_CHECKING:
    from shoal.republication.ledger.keys import Secrets, SeriesKeys
    from shoal.republication.ledger.records import RecordedRelease, RecordedSeries
    from shoal.republication.ledger.storage import Database

__all__ = [
    "advance",
    "check_written",
    "finish",
    "intend",
    "record",
    "get_recorded_digests",
    "settle",
    "take_back",
    "read_token",
]

_INTENT = "staging"
"""Under this name the ledger notes what is being published just now, and where files are written for it."""


def intend(connection: sa.Connection, target: Path | None, secrets: Secrets) -> str:
    """Note that a release is being published, and where files will be written for it under a hidden name.

    Parameters
    ----------
    connection : Connection
        A writing transaction, which is committed before the anchor expects the release.
    target : Path, optional
        The folder that files are written for, so that a crash leaves none behind.
    secrets : Secrets
        The ledger's.

    Returns
    -------
    str
        A random token, which tells this publish from every other one.
    """
    settle(connection)
    token, folder = randomness.token_hex(16), "" if target is None else str(target)
    held = {"folder": folder, "token": token, "seal": secrets.seal("staging", folder, token)}
    connection.execute(LEDGER.insert().values(name=_INTENT, content=json.dumps(held)))
    return token


def settle(connection: sa.Connection) -> None:
    """Forget what was being published: files have their name, or are gone."""
    connection.execute(LEDGER.delete().where(LEDGER.c.name == _INTENT))


def read_token(connection: sa.Connection, secrets: Secrets) -> str | None:
    """Return the token of what was being published; None where nothing was."""
    intended = _read_intent(connection, secrets)
    return None if intended is None else intended[1]


def _read_intent(connection: sa.Connection, secrets: Secrets) -> tuple[Path | None, str] | None:
    """Return where files were being written, and the token; who has no key cannot have another folder swept."""
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
        What the series remembers after it, encrypted (`memory.encrypt_pieces`).
    keys : SeriesKeys
        The keys of the series.
    token : str
        What `intend` returned.
    secrets : Secrets
        The ledger's.

    Returns
    -------
    RecordedSeries
        The series after.

    Raises
    ------
    LedgerBusyError
        Where something else changed the series in the meantime, or took this publish for one that a crash interrupted.
    """
    if read_token(connection, secrets) != token:
        raise LedgerBusyError(*BUSY)
    release = replace(release, memory_digest=compute_digest(pieces, keys))
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
            "changes the ledger's rows.",
            " Nothing was published. Remove what was added to the database, and verify the series before you publish "
            "again.",
        )


def _write(connection: sa.Connection, before: RecordedSeries, after: RecordedSeries, keys: SeriesKeys) -> None:
    changed = connection.execute(
        SERIES.update().where(SERIES.c.id == before.id, SERIES.c.seal == before.seal).values(seal=after.seal)
    )
    if changed.rowcount != 1:
        raise LedgerBusyError(
            f"The series '{before.name}' was changed by another process in the meantime.",
            " Nothing was published here. Try again.",
        )
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


def finish(database: Database, secrets: Secrets, judged: Callable[[], object], *, own: Path | None = None) -> list[str]:
    """Finish or take back the releases that a crash interrupted, and say what became of each; for the only publisher.

    Parameters
    ----------
    database : Database
        The ledger's.
    secrets : Secrets
        The ledger's.
    judged : callable
        Called once the database says what became of them, before the note of what was being published goes: the
        anchor learns it.
    own : Path, optional
        The hidden folder of the caller, who gave up writing it.

    Returns
    -------
    list of str
        A sentence for each interrupted release.

    Raises
    ------
    LedgerBusyError
        Where a living process still writes one: a lock did not keep it apart from the caller. Nothing is taken back.
    """
    with database.writing() as connection:
        intended = _read_intent(connection, secrets)
        folder = None if intended is None else intended[0]
        told = _resolve_interrupted(connection, secrets, folder, own)
    judged()
    if intended is None:
        return told
    # Only now: a hidden folder is what shows that a release did not appear, until the ledger knows.
    if folder is not None and sweep_folder(folder) and not told:
        told.append(
            f"A release was interrupted before the ledger knew of it. What was written for '{folder}' was removed."
        )
    with (
        suppress(LedgerError),
        database.writing() as connection,
    ):  # the note does no harm, and the next start removes it
        settle(connection)
    return told


def _resolve_interrupted(
    connection: sa.Connection, secrets: Secrets, folder: Path | None, own: Path | None
) -> list[str]:
    """Record what became of interrupted releases, for which files were written somewhere; returns what to tell."""
    told = []
    if folder is not None:
        if is_being_written(folder, own=own):
            raise LedgerBusyError(*BUSY)
        # First: a folder whose private one has its name already gets its own now, and is complete then.
        sweep_folder(folder, remove=False)
    for name in list_series(connection):
        series = read_series(connection, name, secrets)
        if series is not None and series.releases and series.releases[-1].state == "staged":
            if is_being_written(Path(series.releases[-1].folder or ""), own=own):
                raise LedgerBusyError(*BUSY)
            told.append(_settle_release(connection, series, secrets.derive_series_keys(series.uid)))
    return told


def _settle_release(connection: sa.Connection, series: RecordedSeries, keys: SeriesKeys) -> str:
    """Record what became of the latest release of a series, which was interrupted, and say it."""
    last = series.releases[-1]
    folder = Path(last.folder or "")
    whole = is_intact(folder, last.files)
    what = f"Release {last.number} of the series '{series.name}' was interrupted"
    if not whole and _never_appeared(last):
        take_back(connection, series, keys, keep=False)
        return f"{what} before its folder '{folder}' appeared. It was taken back; the ledger is as it was before."
    advance(connection, series, series.mark_published(keys), keys)
    if whole:
        return f"{what} when its folder '{folder}' had just appeared, complete. It is published."
    return (
        f"{what}, and nothing shows that its folder '{folder}' did not appear: it may have been moved or changed "
        "since. It counts as published, for the next release must fit it if anybody has seen it. Only if nobody "
        "outside has, take it back: rollback(unpublished=True) (shoal republish rollback --unpublished)."
    )


def _never_appeared(release: RecordedRelease) -> bool:
    """Return whether both hidden folders of a release are still there, with its files.

    A name alone can be made by anybody who may write beside the output, and the published files by all readers; the
    private ones only by who has them.
    """
    if not release.staged or not release.folder:
        return False
    staged = Path(release.staged)
    private = staged_private_folder(staged, Path(release.folder))
    return is_intact(staged, release.files) and is_intact(private, release.private_files)


def is_intact(folder: Path, files: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a folder holds some files with the recorded hashes."""
    try:
        return bool(files) and all(
            file_digest(folder / name) in get_recorded_digests(held) for name, held in files.items()
        )
    except OSError:
        return False


def get_recorded_digests(held: Mapping[str, Any]) -> set[str]:
    """Return the hashes that a file of a release may have: it may have been saved more than once."""
    return {held["sha256"], *held.get("others", ())}
