"""What a publish writes into the ledger, and how it is taken back: each in one transaction.

A release with a folder takes four steps: the ledger notes where files will be; they are written under a hidden name;
the ledger records the release as staged, with everything that it must remember; the folder gets its name, and the
ledger records the release as published. After a crash the folder tells which it is: there it is complete, and the
release is published; else it is taken back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from shoal.errors import LedgerBusyError, LedgerError
from shoal.io import sweep_folder
from shoal.republication.ledger.records import (
    EDITED,
    Memory,
    canonical,
    read_memory,
    read_series,
    read_undo,
    release_row,
    series_names,
)
from shoal.republication.ledger.tables import LEDGER, PERSONS, RELEASES, SERIES, SIGNATURES, UNDO, VALUES
from shoal.republication.m_invariance.signatures import Signatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.republication.ledger.keys import LedgerKey, SeriesKeys
    from shoal.republication.ledger.persons import Persons
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


def intend(connection: sa.Connection, target: Path) -> None:
    """Note where files will be written under a hidden name, so that a crash leaves none behind."""
    settle(connection)
    connection.execute(LEDGER.insert().values(name=_INTENT, content=str(target)))


def settle(connection: sa.Connection) -> None:
    """Forget where files were written: they have their name, or are gone."""
    connection.execute(LEDGER.delete().where(LEDGER.c.name == _INTENT))


def record(
    connection: sa.Connection,
    series: RecordedSeries,
    release: RecordedRelease,
    old: Memory,
    new: Memory,
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
        The release, not yet sealed and without digests.
    old, new : Memory
        What the series remembered before, and after.
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
    release = replace(release, persons_digest=new.persons.digest(keys), signatures_digest=new.signatures_digest(keys))
    after = series.with_releases([*series.releases, release], keys)
    advance(connection, series, after)
    connection.execute(RELEASES.insert(), release_row(after, after.releases[-1]))
    known = len(old.values)
    _insert(
        connection,
        VALUES,
        [
            {"series": series.id, "code": code, "content": content, "release": release.number}
            for code, content in enumerate(new.values[known:], start=known)
        ],
    )
    known = len(old.signatures)
    _insert(
        connection,
        SIGNATURES,
        [
            {
                "series": series.id,
                "number": n,
                "codes": canonical(new.signatures[n].tolist()),
                "release": release.number,
            }
            for n in range(known, len(new.signatures))
        ],
    )
    connection.execute(UNDO.delete().where(UNDO.c.series == series.id))
    where = new.persons.find(old.persons.ids)
    altered = np.flatnonzero(new.persons.records[where] != old.persons.records)
    _insert(connection, UNDO, _rows(series, old.persons, altered))
    _change(connection, series, new.persons, where[altered])
    joined = np.ones(len(new.persons), dtype=np.bool_)
    joined[where] = False
    _insert(connection, PERSONS, _rows(series, new.persons, np.flatnonzero(joined)))
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


def take_back(
    connection: sa.Connection, series: RecordedSeries, memory: Memory, keys: SeriesKeys, *, keep: bool
) -> RecordedSeries:
    """Take back the last release: remember what was remembered before it.

    Parameters
    ----------
    connection : Connection
        A writing transaction.
    series : RecordedSeries
        The series, the last of whose releases is taken back.
    memory : Memory
        What it remembers now.
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
    joined = memory.persons.records["joined"] == last.number
    undone = read_undo(connection, series)
    people = memory.persons.without(joined)
    where = people.find(undone.ids)
    if (where < 0).any():
        raise LedgerError(f"What the ledger remembers of the people in the series '{series.name}' {EDITED}")
    people = people.changed(where, undone.records)
    values = sum(release < last.number for release in memory.value_releases)
    sets = sum(release < last.number for release in memory.signature_releases)
    earlier = Memory(
        values=memory.values[:values],
        value_releases=memory.value_releases[:values],
        signatures=Signatures.of(()).extended([memory.signatures[number] for number in range(sets)]),
        signature_releases=memory.signature_releases[:sets],
        persons=people,
    )
    withdrawn = replace(last, state="withdrawn", staged=None)
    after = series.with_releases([*series.releases[:-1], *([withdrawn] if keep else [])], keys)
    earlier.check(after, keys)
    advance(connection, series, after)
    _delete(connection, series, memory.persons, np.flatnonzero(joined))
    _change(connection, series, people, where)
    for table in (UNDO, VALUES, SIGNATURES):
        of_release = [] if table is UNDO else [table.c.release == last.number]
        connection.execute(table.delete().where(table.c.series == series.id, *of_release))
    if not keep:
        connection.execute(RELEASES.delete().where(RELEASES.c.series == series.id, RELEASES.c.number == last.number))
    return after


def recover(connection: sa.Connection, key: LedgerKey) -> list[str]:
    """Finish or take back the releases that a crash interrupted, and say what became of each.

    Parameters
    ----------
    connection : Connection
        A writing transaction of the only publisher.
    key : LedgerKey
        The key of the ledger.

    Returns
    -------
    list of str
        A sentence for each interrupted release.
    """
    told = []
    intended = connection.scalar(sa.select(LEDGER.c.content).where(LEDGER.c.name == _INTENT))
    # First: a folder whose private one has its name already gets its own now, and is complete then.
    swept = intended is not None and sweep_folder(Path(intended))
    for name in series_names(connection):
        series = read_series(connection, name, key)
        if series is None or not series.releases or series.releases[-1].state != "staged":
            continue
        keys = key.of_series(series.uid)
        last = series.releases[-1]
        folder = Path(last.folder or "")
        if intact(folder, last.files):
            published = replace(last, state="published", staged=None)
            advance(connection, series, series.with_releases([*series.releases[:-1], published], keys))
            told.append(
                f"Release {last.number} of the series '{name}' was interrupted when its folder '{folder}' had just "
                "appeared, complete. It is published."
            )
        else:
            take_back(connection, series, read_memory(connection, series, keys), keys, keep=False)
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


def _rows(series: RecordedSeries, people: Persons, where: NDArray[np.integer]) -> list[dict[str, Any]]:
    number = series.id
    return [
        {"series": number, "person": person, "record": content}
        for person, content in zip(people.id_bytes(where), people.record_bytes(where), strict=True)
    ]


def _insert(connection: sa.Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    if connection.dialect.positional:  # straight to the driver: half the time for hundreds of thousands of people
        statement = table.insert().compile(dialect=connection.dialect, column_keys=list(rows[0]))
        connection.exec_driver_sql(str(statement), [tuple(row.values()) for row in rows])
        return
    connection.execute(table.insert(), rows)


def _change(connection: sa.Connection, series: RecordedSeries, people: Persons, where: NDArray[np.integer]) -> None:
    rows = [{"whose": row["person"], "what": row["record"]} for row in _rows(series, people, where)]
    if rows:
        connection.execute(
            PERSONS.update()
            .where(PERSONS.c.series == series.id, PERSONS.c.person == sa.bindparam("whose"))
            .values(record=sa.bindparam("what")),
            rows,
        )


def _delete(connection: sa.Connection, series: RecordedSeries, people: Persons, where: NDArray[np.integer]) -> None:
    rows = [{"whose": person} for person in people.id_bytes(where)]
    if rows:
        connection.execute(
            PERSONS.delete().where(PERSONS.c.series == series.id, PERSONS.c.person == sa.bindparam("whose")), rows
        )
