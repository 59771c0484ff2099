"""What the ledger records of a series and its releases; how it is read, checked against its seals, and written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from hmac import compare_digest
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from shoal.errors import LedgerError
from shoal.republication.ledger.tables import RELEASES, SERIES

if TYPE_CHECKING:
    from shoal.republication.ledger.keys import Secrets, SeriesKeys

__all__ = [
    "EDITED",
    "RecordedRelease",
    "RecordedSeries",
    "SeriesColumns",
    "to_canonical_json",
    "read_series",
    "to_release_row",
    "reread",
    "list_series",
    "to_series_row",
]

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
        return to_canonical_json(asdict(self))


@dataclass(frozen=True, kw_only=True)
class RecordedRelease:
    """One release as the ledger records it."""

    number: int
    """Counts from 1; never used twice."""
    state: str
    """"published"; "withdrawn" after a rollback; "staged" while its folder is about to appear; "lost" where the ledger
    was restored from a backup that did not know it."""
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
    """Groups, people kept, new, returned and gone, changed quasi-identifiers, ..."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """How it was made."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """SHA-256 of every file that may be published."""
    private_files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """SHA-256 of every file in the private folder."""
    folder: str | None = None
    """Where it was written; None where it was handed over in memory only."""
    staged: str | None = None
    """The hidden folder, while the release is staged."""
    memory_digest: str = ""
    """Keyed digest of what the series remembers after this release."""
    seal: str = ""
    """Keyed digest of this record and of the seal before."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for people and programs: without what only the ledger needs."""
        private = ("staged", "private_files", "memory_digest", "seal")
        shown = {name: value for name, value in asdict(self).items() if name not in private}
        return {**shown, "seed": None if self.seed is None else int(self.seed)}

    def add_seal(self, keys: SeriesKeys, before: str) -> RecordedRelease:
        """Return the record with its seal."""
        return replace(self, seal=keys.seal("release", to_canonical_json({**asdict(self), "seal": ""}), before))


@dataclass(frozen=True, kw_only=True, repr=False)
class RecordedSeries:
    """A series as the ledger records it, without its people."""

    id: int
    uid: str
    """Random; the keys of the series are derived from it."""
    name: str
    m: int
    counterfeits: str
    """How buckets are balanced: "independent", "fewest" or "paper"."""
    columns: SeriesColumns
    anew: bool = False
    """The publisher's word that releases of another series of the same name are of other people."""
    created: str
    seal: str
    releases: tuple[RecordedRelease, ...]
    """All of them, in the order of their numbers."""

    @property
    def public_id(self) -> str:
        """What tells the series' releases from those of another of the same name."""
        return sha256(self.uid.encode()).hexdigest()[:16]

    @property
    def latest(self) -> RecordedRelease | None:
        """The latest release that the ledger remembers: neither withdrawn nor lost."""
        return self.before(self.releases[-1].number + 1) if self.releases else None

    @property
    def lost(self) -> tuple[int, ...]:
        """Numbers of the releases that were published and that the ledger knows nothing of."""
        return tuple(one.number for one in self.releases if one.state == "lost")

    def before(self, number: int) -> RecordedRelease | None:
        """Return the latest release before a given one that the ledger remembers."""
        earlier = [one for one in self.releases if one.number < number and one.state not in ("withdrawn", "lost")]
        return earlier[-1] if earlier else None

    def with_releases(self, releases: Sequence[RecordedRelease], keys: SeriesKeys) -> RecordedSeries:
        """Return the series with other releases, all of them sealed anew."""
        sealed: list[RecordedRelease] = []
        for one in releases:
            sealed.append(one.add_seal(keys, sealed[-1].seal if sealed else ""))
        changed = replace(self, releases=tuple(sealed))
        return replace(changed, seal=changed._compute_seal(keys))

    def mark_published(self, keys: SeriesKeys) -> RecordedSeries:
        """Return the series with its latest release published: its folder has its name."""
        published = replace(self.releases[-1], state="published", staged=None)
        return self.with_releases([*self.releases[:-1], published], keys)

    def _compute_seal(self, keys: SeriesKeys) -> str:
        head = self.releases[-1].seal if self.releases else ""
        said = (self.uid, self.name, str(self.m), self.counterfeits, self.columns.to_json(), str(int(self.anew)))
        return keys.seal("series", *said, self.created, head)

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


def to_canonical_json(value: Any) -> str:
    """Return the one JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=dict)


def list_series(connection: sa.Connection) -> list[str]:
    """Return the names of all series."""
    return list(connection.scalars(sa.select(SERIES.c.name).order_by(SERIES.c.id)))


def read_series(connection: sa.Connection, name: str, secrets: Secrets) -> RecordedSeries | None:
    """Read a series and its releases, and check their seals; None where there is none of that name."""
    row = connection.execute(sa.select(SERIES).where(SERIES.c.name == name)).one_or_none()
    return None if row is None else _series(connection, row, secrets.derive_series_keys(row.uid))


def reread(connection: sa.Connection, series: RecordedSeries, keys: SeriesKeys) -> RecordedSeries | None:
    """Read a series again within the transaction that wrote it, and check its seals; None where it is not there."""
    row = connection.execute(sa.select(SERIES).where(SERIES.c.uid == series.uid)).one_or_none()
    return None if row is None else _series(connection, row, keys)


def _series(connection: sa.Connection, row: sa.Row[Any], keys: SeriesKeys) -> RecordedSeries:
    held = connection.execute(sa.select(RELEASES).where(RELEASES.c.series == row.id).order_by(RELEASES.c.number))
    try:
        series = RecordedSeries(
            id=row.id,
            uid=row.uid,
            name=row.name,
            m=row.m,
            counterfeits=row.counterfeits,
            columns=SeriesColumns.of_json(row.columns),
            anew=bool(row.anew),
            created=row.created,
            seal=row.seal,
            releases=tuple(_release(one._mapping, keys) for one in held),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise LedgerError(f"The series '{row.name}' in the ledger {EDITED}") from None
    series.check(keys)
    return series


_CLEAR = ("number", "state", "time", "version", "memory_digest", "seal")
"""What the database shows of a release to whoever has no key; the rest is encrypted."""


def _release(row: Mapping[Any, Any], keys: SeriesKeys) -> RecordedRelease:
    content = json.loads(keys.decrypt(bytes(row["content"]), "record", str(row["number"])))
    return RecordedRelease(**{name: row[name] for name in _CLEAR}, **content)


def to_release_row(series: RecordedSeries, one: RecordedRelease, keys: SeriesKeys) -> dict[str, Any]:
    """Return a release as its row in the database."""
    held = asdict(one)
    clear = {name: held.pop(name) for name in _CLEAR}
    content = keys.encrypt(to_canonical_json(held).encode(), "record", str(one.number))
    return {"series": series.id, **clear, "content": content}


def to_series_row(series: RecordedSeries) -> dict[str, Any]:
    """Return a series as its row in the database, without the number that this gives it."""
    held = {name: getattr(series, name) for name in ("uid", "name", "m", "counterfeits", "created", "seal")}
    return {**held, "columns": series.columns.to_json(), "anew": int(series.anew)}
