"""What a ledger of the first format holds, read as that format had it, and checked against its seals.

An edited ledger must not become a whole one by being brought up to date.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from shoal.errors import LedgerError
from shoal.republication.ledger.memory import Memory
from shoal.republication.ledger.persons import RECORD, Persons
from shoal.republication.ledger.records import EDITED, RecordedRelease, RecordedSeries, SeriesColumns, canonical
from shoal.republication.m_invariance.signatures import Signatures

if TYPE_CHECKING:
    from shoal.republication.ledger.keys import LedgerKey

__all__ = ["SeriesOfFormat1", "read_format_1"]

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class SeriesOfFormat1:
    """A series of the first format."""

    series: RecordedSeries
    """The series and its releases."""
    memories: Mapping[int, Memory]
    """What it remembers after its latest release, and after the one before it, by the release."""


def read_format_1(connection: sa.Connection, key: LedgerKey) -> list[SeriesOfFormat1]:
    """Read all series.

    Parameters
    ----------
    connection : Connection
        A transaction on a database with the tables of the first format.
    key : LedgerKey
        The key of the ledger.

    Raises
    ------
    LedgerError
        Where something is not as shoal wrote it.
    """
    read = []
    for row in _rows(connection, "SELECT * FROM shoal_series ORDER BY id"):
        try:
            read.append(_Reader(connection, row, key).read())
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            raise LedgerError(f"The series '{row['name']}' in the ledger {EDITED}") from None
    return read


def _rows(connection: sa.Connection, statement: str, **given: Any) -> list[Row]:
    return [dict(row._mapping) for row in connection.execute(sa.text(statement), given)]


class _Reader:
    """Reads one series."""

    def __init__(self, connection: sa.Connection, row: Row, key: LedgerKey) -> None:
        self._connection = connection
        self._row = row
        self._key = blake2b(f"records\0{row['uid']}".encode(), key=key.secret, digest_size=32).digest()

    def read(self) -> SeriesOfFormat1:
        releases = self._releases()
        latest = next((one for one in reversed(releases) if one["state"] != "withdrawn"), None)
        memory = self._memory()
        self._check_memory(memory, latest)
        memories = {}
        if latest is not None:
            memories[latest["number"]] = _now(memory)
            earlier = [one for one in releases if one["number"] < latest["number"] and one["state"] != "withdrawn"]
            before = self._before(memory, latest["number"])
            # A release that was taken back leaves nothing to take back further.
            if earlier and before is not None and self._is_memory(before, earlier[-1]):
                memories[earlier[-1]["number"]] = _now(before)
        row = self._row
        series = RecordedSeries(
            id=row["id"],
            uid=row["uid"],
            name=row["name"],
            m=row["m"],
            counterfeits="fewest",
            columns=SeriesColumns.of_json(row["columns"]),
            created=row["created"],
            seal="",
            releases=tuple(_release(one) for one in releases),
        )
        return SeriesOfFormat1(series=series, memories=memories)

    def _seal(self, *parts: str | bytes) -> str:
        digest = blake2b(key=self._key, digest_size=16)
        for part in parts:
            content = part.encode() if isinstance(part, str) else part
            digest.update(len(content).to_bytes(8, "little"))
            digest.update(content)
        return digest.hexdigest()

    def _releases(self) -> list[dict[str, Any]]:
        """Return the releases, as the seals have them."""
        found = _rows(
            self._connection,
            "SELECT * FROM shoal_releases WHERE series = :series ORDER BY number",
            series=self._row["id"],
        )
        releases, seal = [], ""
        for row in found:
            one = {name: value for name, value in row.items() if name != "series"}
            one |= {name: json.loads(one[name]) for name in ("counts", "parameters", "files")}
            seal = self._seal(canonical({**one, "seal": ""}), seal)
            _agree(one["seal"], seal)
            releases.append(one)
        row = self._row
        columns = SeriesColumns.of_json(row["columns"]).to_json()
        _agree(row["seal"], self._seal(row["uid"], row["name"], str(row["m"]), columns, row["created"], seal))
        return releases

    def _memory(self) -> Memory:
        series = self._row["id"]
        values = _rows(
            self._connection, "SELECT * FROM shoal_values WHERE series = :series ORDER BY code", series=series
        )
        sets = _rows(
            self._connection, "SELECT * FROM shoal_signatures WHERE series = :series ORDER BY number", series=series
        )
        return Memory(
            values=tuple(one["content"] for one in values),
            value_releases=tuple(one["release"] for one in values),
            signatures=Signatures.of(()).extended([np.array(json.loads(one["codes"]), dtype=np.int32) for one in sets]),
            signature_releases=tuple(one["release"] for one in sets),
            persons=self._people("shoal_persons"),
        )

    def _people(self, table: str) -> Persons:
        rows = _rows(
            self._connection,
            f"SELECT person, record FROM {table} WHERE series = :series ORDER BY person",
            series=self._row["id"],
        )
        return Persons(
            ids=np.frombuffer(b"".join(bytes(one["person"]) for one in rows), dtype=">u8")
            .astype(np.uint64)
            .reshape(-1, 2),
            records=np.frombuffer(b"".join(bytes(one["record"]) for one in rows), dtype=RECORD),
        )

    def _digests(self, memory: Memory) -> tuple[str, str]:
        general = canonical([memory.values, memory.value_releases, memory.signature_releases])
        return (
            self._seal(memory.persons.ids.astype(">u8").tobytes(), memory.persons.records.tobytes()),
            self._seal(general, memory.signatures.starts.tobytes(), memory.signatures.values.tobytes()),
        )

    def _is_memory(self, memory: Memory, release: Row) -> bool:
        return self._digests(memory) == (release["persons_digest"], release["signatures_digest"])

    def _check_memory(self, memory: Memory, latest: Row | None) -> None:
        nothing = not (len(memory.persons) or len(memory.signatures) or memory.values)
        if not (nothing if latest is None else self._is_memory(memory, latest)):
            raise ValueError("other people")

    def _before(self, memory: Memory, number: int) -> Memory | None:
        """Return what the series remembered before its latest release; None where that is not known."""
        undone = self._people("shoal_undo")
        stayed = memory.persons.records["joined"] != number
        people = Persons(ids=memory.persons.ids[stayed], records=memory.persons.records[stayed])
        where = people.find(undone.ids)
        if (where < 0).any():
            return None
        values = sum(release < number for release in memory.value_releases)
        sets = sum(release < number for release in memory.signature_releases)
        return Memory(
            values=memory.values[:values],
            value_releases=memory.value_releases[:values],
            signatures=Signatures.of(()).extended([memory.signatures[one] for one in range(sets)]),
            signature_releases=memory.signature_releases[:sets],
            persons=people.changed(where, undone.records),
        )


def _now(memory: Memory) -> Memory:
    """Return a memory as it is from now on: the checks of quasi-identifiers are not known until people are seen."""
    records = memory.persons.records.copy()
    records["quasi_identifiers"] = 0
    return replace(memory, persons=Persons(ids=memory.persons.ids, records=records))


def _agree(held: str, seal: str) -> None:
    if not compare_digest(held, seal):
        raise ValueError("another seal")


def _release(row: Row) -> RecordedRelease:
    dropped = ("persons_digest", "signatures_digest", "seal")
    return RecordedRelease(**{name: value for name, value in row.items() if name not in dropped})
