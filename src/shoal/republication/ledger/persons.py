"""Everyone whom a series ever published, as arrays: one record of 28 bytes for each person, however many releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.republication.ledger.keys import SeriesKeys

__all__ = ["RECORD", "Persons"]

RECORD = np.dtype(
    [
        ("signature", "<u4"),  # the person's signature, for life
        ("joined", "<u4"),  # the release in which the person was published first
        ("gone", "<u4"),  # 0: in the latest release; else the first release without the person since
        ("value", "<u8"),  # check of the sensitive value
        ("quasi_identifiers", "<u8"),  # check of the quasi-identifiers in the latest release with the person
    ]
)
"""One person's record as the ledger holds it; its layout is a part of the ledger's format."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Persons:
    """People by the hash of their id, ascending."""

    ids: NDArray[np.uint64]
    """The hash of each id, in two columns; sorted, each once."""
    records: NDArray[np.void]
    """What is known of each, with the fields of `RECORD`."""

    @classmethod
    def none(cls) -> Persons:
        """Return nobody."""
        return cls(ids=np.empty((0, 2), dtype=np.uint64), records=np.empty(0, dtype=RECORD))

    @classmethod
    def of_bytes(cls, ids: bytes, records: bytes) -> Persons:
        """Read people from the bytes of their sorted hashes and of their records."""
        return cls(
            ids=np.frombuffer(ids, dtype=">u8").astype(np.uint64).reshape(-1, 2),
            records=np.frombuffer(records, dtype=RECORD),
        )

    def find(self, ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return where each of some hashes stands; -1 where it is unknown."""
        found = np.full(len(ids), -1, dtype=np.int64)
        if not len(self):
            return found
        high, low = np.ascontiguousarray(self.ids[:, 0]), self.ids[:, 1]
        at = np.searchsorted(high, ids[:, 0])
        pending = np.arange(len(ids))
        while len(pending):  # once more for each person with the same first half: nobody, but for a miracle
            pending = pending[at[pending] < len(high)]
            pending = pending[high[at[pending]] == ids[pending, 0]]
            same = low[at[pending]] == ids[pending, 1]
            found[pending[same]] = at[pending[same]]
            pending = pending[~same]
            at[pending] += 1
        return found

    def joined_by(self, ids: NDArray[np.uint64], records: NDArray[np.void]) -> Persons:
        """Return these people and some more, none of whom is among them yet."""
        all_ids = np.concatenate((self.ids, ids))
        order = np.lexsort((all_ids[:, 1], all_ids[:, 0]))
        return Persons(ids=all_ids[order], records=np.concatenate((self.records, records))[order])

    def changed(self, where: NDArray[np.int64], records: NDArray[np.void]) -> Persons:
        """Return these people with other records at some places."""
        copied = self.records.copy()
        copied[where] = records
        return Persons(ids=self.ids, records=copied)

    def without(self, leaving: NDArray[np.bool_]) -> Persons:
        """Return those of these people who are not marked."""
        return Persons(ids=self.ids[~leaving], records=self.records[~leaving])

    def id_bytes(self, where: NDArray[np.integer] | NDArray[np.bool_]) -> list[bytes]:
        """Return the hashes of some people, as the ledger holds them."""
        return pieces(self.ids[where].astype(">u8").tobytes(), 16)

    def record_bytes(self, where: NDArray[np.integer] | NDArray[np.bool_]) -> list[bytes]:
        """Return the records of some people, as the ledger holds them."""
        return pieces(self.records[where].tobytes(), RECORD.itemsize)

    def digest(self, keys: SeriesKeys) -> str:
        """Return a keyed digest of everyone's record."""
        return keys.seal(self.ids.astype(">u8").tobytes(), self.records.tobytes())

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Persons({len(self)})"


def pieces(content: bytes, size: int) -> list[bytes]:
    """Cut bytes into pieces of the same size."""
    return [content[start : start + size] for start in range(0, len(content), size)]


def joined_bytes(rows: Sequence[Sequence[bytes]]) -> tuple[bytes, bytes]:
    """Return the bytes of the first and of the second column of some rows, each in one piece."""
    return b"".join([row[0] for row in rows]), b"".join([row[1] for row in rows])
