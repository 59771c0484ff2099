"""What a publish writes into the ledger, and how it is taken back: each in one transaction.

A release with a folder takes four steps: the ledger notes where files will be; they are written under a hidden name;
the ledger records the release as staged, with everything that it must remember; the folder gets its name, and the
ledger records the release as published. After a crash the folder tells which it is: there it is complete, and the
release is published; else it is taken back.
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
from shoal.republication.ledger.memory import digest_of, read_memory, write_pieces
from shoal.republication.ledger.records import EDITED, read_series, release_row, series_names
from shoal.republication.ledger.tables import LEDGER, MEMORY, RELEASES, SERIES

if TYPE_CHECKING:
    from shoal.republication.ledger.keys import Secrets, SeriesKeys
    from shoal.republication.ledger.records import RecordedRelease, RecordedSeries

__all__ = [
    "advance",
    "file_digest",
    "intact",
    "intend",
    "record",
    "recorded_digests",
    "recover",
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
    advance(connection, series, after)
    connection.execute(RELEASES.insert(), release_row(after, after.releases[-1]))
    write_pieces(connection, after, release.number, pieces)
    return after


def advance(connection: sa.Connection, before: RecordedSeries, after: RecordedSeries) -> None:
    """Write the seal of a series, and of its releases where they differ, if nobody else did in the meantime."""
    changed = connection.execute(
        SERIES.update().where(SERIES.c.id == before.id, SERIES.c.seal == before.seal).values(seal=after.seal)
    )
    if changed.rowcount != 1:
        raise LedgerBusyError(
            f"The series '{before.name}' was changed by another process in the meantime. Nothing was published here. "
            "Try again."
        )
    held = {one.number: one for one in before.releases}
    for one in after.releases:
        if one.number in held and one != held[one.number]:
            row = release_row(after, one)
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
    advance(connection, series, after)
    connection.execute(MEMORY.delete().where(MEMORY.c.series == series.id, MEMORY.c.release == last.number))
    if not keep:
        connection.execute(RELEASES.delete().where(RELEASES.c.series == series.id, RELEASES.c.number == last.number))
    return after


def recover(connection: sa.Connection, secrets: Secrets) -> list[str]:
    """Finish or take back the releases that a crash interrupted, and say what became of each.

    Parameters
    ----------
    connection : Connection
        A writing transaction of the only publisher.
    secrets : Secrets
        The ledger's.

    Returns
    -------
    list of str
        A sentence for each interrupted release.
    """
    told = []
    intended = _intended(connection, secrets)
    # First: a folder whose private one has its name already gets its own now, and is complete then.
    swept = intended is not None and sweep_folder(intended)
    for name in series_names(connection):
        series = read_series(connection, name, secrets)
        if series is None or not series.releases or series.releases[-1].state != "staged":
            continue
        keys = secrets.of_series(series.uid)
        last = series.releases[-1]
        folder = Path(last.folder or "")
        if intact(folder, last.files):
            advance(connection, series, series.settled(keys))
            told.append(
                f"Release {last.number} of the series '{name}' was interrupted when its folder '{folder}' had just "
                "appeared, complete. It is published."
            )
        else:
            take_back(connection, series, keys, keep=False)
            told.append(
                f"Release {last.number} of the series '{name}' was interrupted before its folder '{folder}' appeared. "
                "It was taken back; the ledger is as it was before."
            )
    if intended is not None:
        if swept and not told:
            told.append(
                f"A release was interrupted before the ledger knew of it. What was written for '{intended}' was "
                "removed."
            )
        settle(connection)
    return told


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
