"""The memory of a series: what it must remember to stay m-invariant, encrypted as a whole for each release.

The memory after a release is written in several pieces. Each is encrypted with AES-SIV under a key of the series, with
the series, the release and the number of the piece as associated data. A copy of the database reveals the approximate
number of people and nothing else: neither who they are, nor when they came and left, nor which of them have anything in
common. The record of a release (`records`) is encrypted in the same way, except for its number, state and time, and
contains the digest of the pieces. The memory after the release before is kept as well, so that one release can be taken
back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hmac import compare_digest

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.errors import LedgerError
from shoal.republication.ledger.keys import SeriesKeys
from shoal.republication.ledger.records import EDITED, MEMORY, RecordedRelease, RecordedSeries, to_canonical_json
from shoal.republication.m_invariance.signatures import Signatures

RECORD = np.dtype(
    [
        ("signature", "<u4"),  # the person's signature, for life
        ("joined", "<u4"),  # the release in which the person was published first
        ("gone", "<u4"),  # 0: in the latest release; else the first release without the person since
        ("value", "<u8"),  # check of the sensitive value
        ("quasi_identifiers", "<u8"),  # keyed hash of those in the latest release with the person
        ("spelling", "<u8"),  # keyed hash of the id without what differs between ways to write it
    ]
)
"""Record of one person in the ledger; its layout is part of the ledger's format."""
TOMBSTONE = np.dtype(
    [
        ("id", "<u8", (2,)),  # keyed hash of the id
        ("spelling", "<u8"),  # keyed hash of the id without what differs between ways to write it
        ("release", "<u4"),  # the release after which the memory forgot the person
    ]
)
"""What is left of an erased person, so that the person cannot return as a new one."""
_ROW = np.dtype([("id", "<u8", (2,)), ("record", RECORD)])
_ROWS = 20_000
"""People per piece, which then has less than a megabyte."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Persons:
    """People in ascending order of the hash of their id."""

    ids: NDArray[np.uint64]
    """Hash of each id in two columns, sorted and unique."""
    records: NDArray[np.void]
    """Record of each person, with the fields of `RECORD`."""

    @classmethod
    def empty(cls) -> Persons:
        """Create an empty table of people."""
        return cls(ids=np.empty((0, 2), dtype=np.uint64), records=np.empty(0, dtype=RECORD))

    @classmethod
    def from_pieces(cls, pieces: Sequence[bytes]) -> Persons:
        """Read people from the result of `to_pieces`.

        Raises
        ------
        ValueError
            If the pieces have another layout.
        """
        held = [np.frombuffer(piece, dtype=_ROW) for piece in pieces]
        rows = np.concatenate(held) if held else np.empty(0, dtype=_ROW)
        return cls(
            ids=np.ascontiguousarray(rows["id"]).astype(np.uint64).reshape(-1, 2),
            records=np.ascontiguousarray(rows["record"]),
        )

    def to_pieces(self) -> list[bytes]:
        """Serialize the hashes and records in pieces of a size that databases handle well."""
        rows = np.empty(len(self), dtype=_ROW)
        rows["id"], rows["record"] = self.ids, self.records
        return [rows[start : start + _ROWS].tobytes() for start in range(0, len(rows), _ROWS)]

    def find(self, ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Find the index of each hash; -1 if it is unknown."""
        found = np.full(len(ids), -1, dtype=np.int64)
        if not len(self):
            return found
        high, low = np.ascontiguousarray(self.ids[:, 0]), self.ids[:, 1]
        # Search the first half of the hash, then compare the second.
        at = np.searchsorted(high, ids[:, 0])
        pending = np.arange(len(ids))
        # Repeats only for people with the same first half of the hash, which practically never happens.
        while len(pending):
            pending = pending[at[pending] < len(high)]
            pending = pending[high[at[pending]] == ids[pending, 0]]
            same = low[at[pending]] == ids[pending, 1]
            found[pending[same]] = at[pending[same]]
            pending = pending[~same]
            at[pending] += 1
        return found

    def merge(self, ids: NDArray[np.uint64], records: NDArray[np.void]) -> Persons:
        """Insert new people, none of whom is in the table."""
        all_ids = np.concatenate((self.ids, ids))
        # Keep the order of the hashes.
        order = np.lexsort((all_ids[:, 1], all_ids[:, 0]))
        return Persons(ids=all_ids[order], records=np.concatenate((self.records, records))[order])

    def drop(self, where: NDArray[np.int64]) -> Persons:
        """Remove the people at some indices."""
        return Persons(ids=np.delete(self.ids, where, axis=0), records=np.delete(self.records, where))

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Persons({len(self)})"


_TAG = 16
"""Length of the AES-SIV tag before a text; it depends on the whole text and the associated data."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Memory:
    """The memory of a series: its sensitive values, signatures and people."""

    values: tuple[str, ...]
    """Every sensitive value that was ever in a signature, by code (JSON: one entry for each sensitive attribute)."""
    value_releases: tuple[int, ...]
    """The release that introduced each value."""
    signatures: Signatures
    """Every signature, by number."""
    signature_releases: tuple[int, ...]
    """The release that introduced each signature."""
    persons: Persons
    """Every person who was ever published, except for erased ones."""
    erased: NDArray[np.void] = field(default_factory=lambda: np.empty(0, dtype=TOMBSTONE))
    """A tombstone of each erased person."""

    @classmethod
    def empty(cls) -> Memory:
        """Create the memory of a series without a release."""
        return cls(
            values=(),
            value_releases=(),
            signatures=Signatures.of(()),
            signature_releases=(),
            persons=Persons.empty(),
        )

    @classmethod
    def from_pieces(cls, pieces: Sequence[bytes]) -> Memory:
        """Read a memory from its pieces.

        Raises
        ------
        ValueError, KeyError, TypeError
            If the pieces are not a memory.
        """
        held = json.loads(pieces[0])
        # The number of people guards against lost pieces.
        persons = Persons.from_pieces(pieces[1:])
        if len(persons) != held["people"]:
            raise ValueError("people are missing")
        return cls(
            values=tuple(held["values"]),
            value_releases=tuple(held["value_releases"]),
            signatures=Signatures.of(()).extend([np.array(one, dtype=np.int32) for one in held["signatures"]]),
            signature_releases=tuple(held["signature_releases"]),
            persons=persons,
            erased=np.array([((high, low), *rest) for high, low, *rest in held.get("erased", [])], dtype=TOMBSTONE),
        )

    def to_pieces(self) -> list[bytes]:
        """Serialize the memory: general facts first, followed by the people."""
        sets = [self.signatures[number].tolist() for number in range(len(self.signatures))]
        general = {
            "values": self.values,
            "value_releases": self.value_releases,
            "signatures": sets,
            "signature_releases": self.signature_releases,
            "people": len(self.persons),
            "erased": [[*one["id"].tolist(), int(one["spelling"]), int(one["release"])] for one in self.erased],
        }
        return [to_canonical_json(general).encode(), *self.persons.to_pieces()]

    def erase(self, ids: NDArray[np.uint64], spellings: NDArray[np.uint64], number: int) -> Memory:
        """Remove people, and keep a tombstone of each.

        Parameters
        ----------
        ids : array
            Hashes of their ids, in two columns.
        spellings : array
            Hash of each id in its normalized spelling.
        number : int
            The release after which this memory was written.
        """
        # A second request of the same person adds no second tombstone.
        fresh = ~self.find_erased(ids)
        stones = np.zeros(int(fresh.sum()), dtype=TOMBSTONE)
        stones["id"], stones["spelling"], stones["release"] = ids[fresh], spellings[fresh], number
        known = self.persons.find(ids)
        return replace(self, persons=self.persons.drop(known[known >= 0]), erased=np.concatenate((self.erased, stones)))

    def find_erased(self, ids: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Find the ids of erased people, by their hashes."""
        # Half of the hash suffices: 64 bits, without the key of which a collision cannot be searched for.
        return np.isin(ids[:, 0], self.erased["id"][:, 0])

    def __repr__(self) -> str:
        return f"Memory(signatures={len(self.signatures)}, persons={len(self.persons)})"


def encrypt_pieces(pieces: Sequence[bytes], number: int, keys: SeriesKeys) -> list[bytes]:
    """Encrypt the pieces of the memory after a release."""
    return [keys.encrypt(piece, "memory", str(number), str(place)) for place, piece in enumerate(pieces)]


def compute_digest(pieces: Sequence[bytes], keys: SeriesKeys) -> str:
    """Compute a keyed digest of encrypted pieces."""
    return keys.seal("memory", *(piece[:_TAG] for piece in pieces))


def write_pieces(connection: sa.Connection, series: RecordedSeries, number: int, pieces: Sequence[bytes]) -> None:
    """Write the memory after a release, and delete all others except that of the release before."""
    # Keep the memory of this release and of the one before.
    before = series.before(number)
    kept = [number] if before is None else [number, before.number]
    connection.execute(MEMORY.delete().where(MEMORY.c.series == series.id, MEMORY.c.release.not_in(kept)))
    connection.execute(
        MEMORY.insert(),
        [
            {"series": series.id, "release": number, "part": place, "content": piece}
            for place, piece in enumerate(pieces)
        ],
    )


def _rewrite_pieces(connection: sa.Connection, series: RecordedSeries, number: int, pieces: Sequence[bytes]) -> None:
    """Replace the pieces of the memory after a release by at most as many others."""
    own = (MEMORY.c.series == series.id, MEMORY.c.release == number)
    for place, piece in enumerate(pieces):
        connection.execute(MEMORY.update().where(*own, MEMORY.c.part == place).values(content=piece))
    connection.execute(MEMORY.delete().where(*own, MEMORY.c.part >= len(pieces)))


def rewrite_memories(
    connection: sa.Connection,
    series: RecordedSeries,
    old: SeriesKeys,
    new: SeriesKeys,
    change: Callable[[list[bytes], int], list[bytes]] = lambda pieces, _: pieces,
) -> tuple[list[RecordedRelease], dict[int, list[bytes]]]:
    """Encrypt every kept memory of a series once more.

    Parameters
    ----------
    connection : Connection
        A writing transaction.
    series : RecordedSeries
        The series; only its last two releases have a memory.
    old, new : SeriesKeys
        The keys to read and to write with.
    change : callable
        Changes the pieces of the memory after a release, by its number.

    Returns
    -------
    releases : list of RecordedRelease
        The releases with the digests of their new memories, not yet sealed.
    written : dict of int to list of bytes
        The encrypted memories, by the number of the release.
    """
    releases, written = [], {}
    for release in series.releases:
        pieces = decrypt_pieces(connection, series, release, old)
        if pieces:
            written[release.number] = encrypt_pieces(change(pieces, release.number), release.number, new)
            release = replace(release, memory_digest=compute_digest(written[release.number], new))  # noqa: PLW2901
            _rewrite_pieces(connection, series, release.number, written[release.number])
        releases.append(release)
    return releases, written


def read_memory(
    connection: sa.Connection, series: RecordedSeries, keys: SeriesKeys, *, after: RecordedRelease | None
) -> Memory:
    """Read and check the memory of a series after a release.

    Parameters
    ----------
    connection : Connection
        A transaction.
    series : RecordedSeries
        The series.
    keys : SeriesKeys
        The keys of the series.
    after : RecordedRelease, optional
        The release, or None for the memory before the first release.

    Raises
    ------
    LedgerError
        If it was changed by other software than shoal.
    """
    if after is None:
        return Memory.empty()
    try:
        return Memory.from_pieces(decrypt_pieces(connection, series, after, keys))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError):
        raise _make_edited_error(series) from None


def decrypt_pieces(
    connection: sa.Connection, series: RecordedSeries, after: RecordedRelease, keys: SeriesKeys
) -> list[bytes]:
    """Read and decrypt the pieces of the memory after a release; empty if it is no longer kept.

    Raises
    ------
    LedgerError
        If they were changed by other software than shoal.
    """
    pieces = _read_pieces(connection, series, after.number)
    try:
        # The digest is sealed in the record; associated data bind each piece to its place.
        if pieces and not compare_digest(compute_digest(pieces, keys), after.memory_digest):
            raise ValueError("other pieces")
        number = str(after.number)
        return [keys.decrypt(piece, "memory", number, str(place)) for place, piece in enumerate(pieces)]
    except (ValueError, TypeError):
        raise _make_edited_error(series) from None


def is_kept(
    connection: sa.Connection,
    series: RecordedSeries,
    memories: Mapping[int, Sequence[bytes] | None],
    keys: SeriesKeys,
) -> bool:
    """Check whether the database holds some memories of a series.

    Parameters
    ----------
    connection : Connection
        The transaction that wrote them.
    series : RecordedSeries
        The series.
    memories : mapping of int to sequence of bytes
        The written pieces, by the number of the release; None if they were not written, so that only the digest in the
        record of the release is compared.
    keys : SeriesKeys
        The keys of the series.
    """
    digests = {one.number: one.memory_digest for one in series.releases}
    for number, pieces in memories.items():
        if pieces is not None and _read_pieces(connection, series, number) != list(pieces):
            return False
        # The first bytes of each piece suffice for the digest, which is in the sealed record.
        if compute_digest(_read_pieces(connection, series, number, most=_TAG), keys) != digests[number]:
            return False
    return True


def _read_pieces(
    connection: sa.Connection, series: RecordedSeries, number: int, *, most: int | None = None
) -> list[bytes]:
    """Read the pieces after a release, or the first bytes of each."""
    content = MEMORY.c.content if most is None else sa.func.substr(MEMORY.c.content, 1, most)
    statement = (
        sa.select(content).where(MEMORY.c.series == series.id, MEMORY.c.release == number).order_by(MEMORY.c.part)
    )
    return [bytes(piece) for piece in connection.scalars(statement)]


def _make_edited_error(series: RecordedSeries) -> LedgerError:
    """Create the error for a memory that was changed."""
    return LedgerError(f"What the ledger remembers of the people in the series '{series.name}' {EDITED}")
