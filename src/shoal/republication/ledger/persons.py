"""All people whom a series ever published, as arrays: 52 bytes per person, independent of the number of releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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

    def replace_records(self, where: NDArray[np.int64], records: NDArray[np.void]) -> Persons:
        """Replace the records at some indices."""
        copied = self.records.copy()
        copied[where] = records
        return Persons(ids=self.ids, records=copied)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Persons({len(self)})"
