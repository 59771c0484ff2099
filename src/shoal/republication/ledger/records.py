"""What the ledger records of a series, as typed values; how they are read, checked against their seals, and written."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hmac import compare_digest
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from shoal.errors import LedgerError
from shoal.republication.ledger.persons import Persons, joined_bytes
from shoal.republication.ledger.tables import PERSONS, RELEASES, SERIES, SIGNATURES, UNDO, VALUES
from shoal.republication.m_invariance.signatures import Signatures

if TYPE_CHECKING:
    from shoal.republication.ledger.keys import LedgerKey, SeriesKeys

__all__ = ["Memory", "RecordedRelease", "RecordedSeries", "SeriesColumns", "read_memory", "read_series", "series_names"]

_ROWS_AT_ONCE = 100_000
EDITED = (
    "was changed by something else than shoal, or restored in parts. Nothing was published. Restore the ledger from a "
    "backup, together with its key, and verify the series before you publish again: people who were published since "
    "that backup must not be published as new ones."
)


@dataclass(frozen=True, kw_only=True)
class SeriesColumns:
    """The role of every column of a series; the same in every release."""

    identifier: str
    """Names each person; never published, and known to the ledger as a keyed hash only."""
    quasi_identifiers: tuple[str, ...]
    """Columns that an adversary knows."""
    sensitive: tuple[str, ...]
    """Columns that must not be linked to a person; of several, their combination."""
    direct_identifiers: tuple[str, ...] = ()
    """Columns that are dropped."""

    @classmethod
    def of_json(cls, text: str) -> SeriesColumns:
        """Read the columns as the ledger holds them."""
        held: dict[str, Any] = json.loads(text)
        return cls(
            identifier=held["identifier"],
            quasi_identifiers=tuple(held["quasi_identifiers"]),
            sensitive=tuple(held["sensitive"]),
            direct_identifiers=tuple(held["direct_identifiers"]),
        )

    def to_json(self) -> str:
        """Return the columns as the ledger holds them."""
        return canonical(asdict(self))


@dataclass(frozen=True, kw_only=True)
class RecordedRelease:
    """One release as the ledger records it."""

    number: int
    """Counts from 1; never used twice."""
    state: str
    """"published"; "withdrawn" after a rollback; "staged" while its folder is about to appear."""
    time: str
    """When it was made (UTC)."""
    version: str
    """shoal's version."""
    seed: str | None
    """The seed that was asked for; None: randomness came from the operating system."""
    input_sha256: str
    """Keyed hash of the canonical form of the input's rows, as in the private certificate, with its key beside."""
    rows: int
    """People in the release."""
    counterfeits: int
    """Counterfeit rows beside them."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Groups, people kept, new, returned and gone, rows withheld and held back, changed quasi-identifiers, ..."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """How it was made."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """SHA-256 of every file that was written."""
    folder: str | None = None
    """Where it was written; None where it was handed over in memory only."""
    staged: str | None = None
    """The hidden folder, while the release is staged."""
    persons_digest: str = ""
    """Keyed digest of everyone's record after this release."""
    signatures_digest: str = ""
    """Keyed digest of the signatures and values after this release."""
    seal: str = ""
    """Keyed digest of this record and of the seal before."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for people and programs: without what only the ledger needs."""
        private = ("staged", "persons_digest", "signatures_digest", "seal")
        shown = {name: value for name, value in asdict(self).items() if name not in private}
        return {**shown, "seed": None if self.seed is None else int(self.seed)}

    def sealed(self, keys: SeriesKeys, before: str) -> RecordedRelease:
        """Return the record with its seal."""
        return replace(self, seal=keys.seal(canonical({**asdict(self), "seal": ""}), before))


@dataclass(frozen=True, kw_only=True, repr=False)
class RecordedSeries:
    """A series as the ledger records it, without its people."""

    id: int
    uid: str
    """Random; the keys of the series are derived from it."""
    name: str
    m: int
    columns: SeriesColumns
    created: str
    seal: str
    releases: tuple[RecordedRelease, ...]
    """All of them, in the order of their numbers."""

    @property
    def latest(self) -> RecordedRelease | None:
        """The latest release that was not withdrawn."""
        return next((one for one in reversed(self.releases) if one.state != "withdrawn"), None)

    def before(self, number: int) -> RecordedRelease | None:
        """Return the latest release before a given one that was not withdrawn."""
        earlier = [one for one in self.releases if one.number < number and one.state != "withdrawn"]
        return earlier[-1] if earlier else None

    def with_releases(self, releases: Sequence[RecordedRelease], keys: SeriesKeys) -> RecordedSeries:
        """Return the series with other releases, all of them sealed anew."""
        sealed: list[RecordedRelease] = []
        for one in releases:
            sealed.append(one.sealed(keys, sealed[-1].seal if sealed else ""))
        changed = replace(self, releases=tuple(sealed))
        return replace(changed, seal=changed._sealed(keys))

    def _sealed(self, keys: SeriesKeys) -> str:
        head = self.releases[-1].seal if self.releases else ""
        return keys.seal(self.uid, self.name, str(self.m), self.columns.to_json(), self.created, head)

    def check(self, keys: SeriesKeys) -> None:
        """Check the seals.

        Raises
        ------
        LedgerError
            Where a record is not as shoal wrote it.
        """
        again = self.with_releases(self.releases, keys)
        whole = all(
            compare_digest(one.seal, other.seal) for one, other in zip(self.releases, again.releases, strict=True)
        )
        gaps = any(later.number <= earlier.number for earlier, later in pairwise(self.releases))
        if not whole or gaps or not compare_digest(self.seal, again.seal):
            raise LedgerError(f"The series '{self.name}' in the ledger {EDITED}")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Memory:
    """What a series must remember to stay m-invariant: its sensitive values, signatures and people."""

    values: tuple[str, ...]
    """Every sensitive value that was ever in a signature, by code (JSON: one entry for each sensitive attribute)."""
    value_releases: tuple[int, ...]
    """The release that each came with."""
    signatures: Signatures
    signature_releases: tuple[int, ...]
    persons: Persons

    def signatures_digest(self, keys: SeriesKeys) -> str:
        """Return a keyed digest of the values and signatures."""
        parts = [canonical([self.values, self.value_releases, self.signature_releases])]
        return keys.seal(*parts, self.signatures.starts.tobytes(), self.signatures.values.tobytes())

    def check(self, series: RecordedSeries, keys: SeriesKeys) -> None:
        """Check that this is what the latest release left.

        Raises
        ------
        LedgerError
            Where it is not.
        """
        latest = series.latest
        people = self.persons.digest(keys) if latest or len(self.persons) else ""
        sets = self.signatures_digest(keys) if latest or len(self.signatures) or self.values else ""
        expected = (latest.persons_digest, latest.signatures_digest) if latest else ("", "")
        if not (compare_digest(people, expected[0]) and compare_digest(sets, expected[1])):
            raise LedgerError(f"What the ledger remembers of the people in the series '{series.name}' {EDITED}")

    def __repr__(self) -> str:
        return f"Memory(signatures={len(self.signatures)}, persons={len(self.persons)})"


def canonical(value: Any) -> str:
    """Return the one JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=dict)


def series_names(connection: sa.Connection) -> list[str]:
    """Return the names of all series."""
    return list(connection.scalars(sa.select(SERIES.c.name).order_by(SERIES.c.id)))


def read_series(connection: sa.Connection, name: str, key: LedgerKey) -> RecordedSeries | None:
    """Read a series and its releases, and check their seals; None where there is none of that name."""
    row = connection.execute(sa.select(SERIES).where(SERIES.c.name == name)).one_or_none()
    if row is None:
        return None
    held = connection.execute(sa.select(RELEASES).where(RELEASES.c.series == row.id).order_by(RELEASES.c.number))
    with _meaning(f"The series '{name}' in the ledger"):
        series = RecordedSeries(
            id=row.id,
            uid=row.uid,
            name=row.name,
            m=row.m,
            columns=SeriesColumns.of_json(row.columns),
            created=row.created,
            seal=row.seal,
            releases=tuple(_release(dict(one._mapping)) for one in held),
        )
    series.check(key.of_series(series.uid))
    return series


def _release(row: Mapping[Any, Any]) -> RecordedRelease:
    read = {name: value for name, value in row.items() if name != "series"}
    return RecordedRelease(**{**read, **{name: json.loads(read[name]) for name in ("counts", "parameters", "files")}})


def release_row(series: RecordedSeries, one: RecordedRelease) -> dict[str, Any]:
    """Return a release as its row in the database."""
    texts = {name: canonical(getattr(one, name)) for name in ("counts", "parameters", "files")}
    return {"series": series.id, **asdict(one), **texts}


def series_row(series: RecordedSeries) -> dict[str, Any]:
    """Return a series as its row in the database, without the number that this gives it."""
    held = {name: getattr(series, name) for name in ("uid", "name", "m", "created", "seal")}
    return {**held, "columns": series.columns.to_json()}


def read_memory(connection: sa.Connection, series: RecordedSeries, keys: SeriesKeys) -> Memory:
    """Read what a series remembers, and check it."""
    values = connection.execute(
        sa.select(VALUES.c.content, VALUES.c.release).where(VALUES.c.series == series.id).order_by(VALUES.c.code)
    ).all()
    sets = connection.execute(
        sa.select(SIGNATURES.c.codes, SIGNATURES.c.release)
        .where(SIGNATURES.c.series == series.id)
        .order_by(SIGNATURES.c.number)
    ).all()
    with _meaning(f"What the ledger remembers of the people in the series '{series.name}'"):
        memory = Memory(
            values=tuple(content for content, _ in values),
            value_releases=tuple(release for _, release in values),
            signatures=Signatures.of(()).extended([np.array(json.loads(codes), dtype=np.int32) for codes, _ in sets]),
            signature_releases=tuple(release for _, release in sets),
            persons=Persons.of_bytes(*_people(connection, PERSONS, series.id)),
        )
    memory.check(series, keys)
    return memory


def read_undo(connection: sa.Connection, series: RecordedSeries) -> Persons:
    """Read the records that the latest release changed, as they were before."""
    with _meaning(f"What the ledger remembers of the people in the series '{series.name}'"):
        return Persons.of_bytes(*_people(connection, UNDO, series.id))


def _people(connection: sa.Connection, table: sa.Table, series: int) -> tuple[bytes, bytes]:
    """Return the hashes and records of a table, in the order of the hashes, each in one piece."""
    statement = (
        sa.select(table.c.person, table.c.record).where(table.c.series == int(series)).order_by(table.c.person)
    ).compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
    # The driver's own cursor: a row object of ours for each of millions of people takes longer than to read them.
    cursor: Any = connection.exec_driver_sql(str(statement)).cursor
    people: list[bytes] = []
    records: list[bytes] = []
    with _no_collection():
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            one, other = joined_bytes(rows)
            people.append(one)
            records.append(other)
    return b"".join(people), b"".join(records)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from looking through millions of new tuples again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _meaning(subject: str) -> Iterator[None]:
    """Turn what cannot be read as a record into an error that says what to do."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise LedgerError(f"{subject} {EDITED}") from None
