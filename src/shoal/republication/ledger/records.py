"""Records of a series and its releases in the ledger: tables, reading, sealing, encryption and writing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from hmac import compare_digest
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from shoal.errors import LedgerError
from shoal.republication.ledger.keys import Secrets, SeriesKeys

FORMAT = 1
"""Version of the ledger's format: the tables and the meaning of their cells. Other versions are refused."""

METADATA = sa.MetaData()

LEDGER = sa.Table(
    "shoal_ledger",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),  # format, uid, created, key_fingerprint, secrets, accepted, seal
    sa.Column("content", sa.Text, nullable=False),
)

SERIES = sa.Table(
    "shoal_series",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("uid", sa.Text, nullable=False),  # random; the keys of the series are derived from it
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("m", sa.Integer, nullable=False),
    sa.Column("counterfeits", sa.Text, nullable=False),  # how buckets are balanced
    sa.Column("columns", sa.Text, nullable=False),  # JSON: the role of every column
    sa.Column("anew", sa.Integer, nullable=False),  # 1: releases of another series of its name are of other people
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("seal", sa.Text, nullable=False),  # keyed digest of this row and of the latest release's seal
)

RELEASES = sa.Table(
    "shoal_releases",
    METADATA,
    sa.Column("series", sa.Integer, sa.ForeignKey("shoal_series.id"), primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("state", sa.Text, nullable=False),  # staged, published, withdrawn, lost
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),  # encrypted JSON: everything else of the record
    sa.Column("memory_digest", sa.Text, nullable=False),  # of what the series remembers after this release
    sa.Column("seal", sa.Text, nullable=False),  # keyed digest of this row and of the seal before
)

MEMORY = sa.Table(
    "shoal_memory",
    METADATA,
    sa.Column("series", sa.Integer, sa.ForeignKey("shoal_series.id"), primary_key=True, autoincrement=False),
    sa.Column("release", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("content", sa.LargeBinary, nullable=False),  # encrypted
)
"""Memory of each series after its latest release and after the one before, so that one release can be taken back."""


EDITED = (
    "was changed by something else than shoal, or restored in parts. Restore the ledger from a "
    "backup, together with its key, and verify the series before you publish again: people who were published since "
    "that backup must not be published as new ones."
)
"""End of the message about content that was changed by other software."""


@dataclass(frozen=True, kw_only=True)
class SeriesColumns:
    """The role of every column of a series, the same in all releases."""

    identifier: str
    """Column that identifies a person; it is never published, and the ledger keeps only a keyed hash."""
    quasi_identifiers: tuple[str, ...]
    """Columns that an adversary knows."""
    sensitive: tuple[str, ...]
    """Columns that must not be linked to a person; if there are several, their combination."""
    direct_identifiers: tuple[str, ...] = ()
    """Columns that are dropped."""

    @property
    def published(self) -> dict[str, Any]:
        """The roles of the published columns."""
        return {"quasi_identifiers": self.quasi_identifiers, "sensitive": self.sensitive}

    @classmethod
    def of_json(cls, text: str) -> SeriesColumns:
        """Parse the columns from the ledger's JSON."""
        held: dict[str, Any] = json.loads(text)
        return cls(identifier=held.pop("identifier"), **{role: tuple(names) for role, names in held.items()})

    def to_json(self) -> str:
        """Convert the columns to the ledger's JSON."""
        return to_canonical_json(asdict(self))


@dataclass(frozen=True, kw_only=True)
class RecordedRelease:
    """The record of a release in the ledger.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> import shoal
    >>> table = pl.DataFrame({"id": range(4), "age": [31, 32, 55, 58], "disease": ["flu", "cough", "flu", "cough"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with shoal.Ledger(f"{folder}/releases.db", create=True) as ledger:
    ...         series = ledger.start("visits", m=2, identifier="id", quasi_identifiers=["age"], sensitive="disease")
    ...         publication = series.publish(table)
    ...         (release,) = series.history()
    >>> release.number, release.state, release.rows
    (1, 'published', 4)
    """

    number: int
    """Number of the release, from 1; never used twice."""
    state: str
    """"published"; "withdrawn" after a rollback; "staged" while its folder is about to appear; "lost" if the ledger
    was restored from a backup that did not know it."""
    time: str
    """Time of the release (UTC)."""
    version: str
    """Version of shoal."""
    seed: str | None
    """Requested seed, or None if randomness came from the operating system."""
    input_sha256: str
    """Keyed hash of the canonical form of the input's rows, the same as in the private certificate."""
    rows: int
    """Number of people in the release."""
    counterfeits: int
    """Number of counterfeit rows."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Numbers of groups, of people kept, new, returned and gone, of changed quasi-identifiers, and so on."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Options of the release."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """SHA-256 of each public file."""
    private_files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """SHA-256 of each file in the private folder."""
    folder: str | None = None
    """Folder of the release, or None if the release was returned in memory only."""
    staged: str | None = None
    """Hidden folder of a staged release."""
    memory_digest: str = ""
    """Keyed digest of the memory after this release."""
    seal: str = ""
    """Keyed digest of this record and of the seal before."""

    def to_dict(self) -> dict[str, Any]:
        """Convert the record to the keys of its JSON form, without fields that only the ledger needs."""
        private = ("staged", "private_files", "memory_digest", "seal")
        shown = {name: value for name, value in asdict(self).items() if name not in private}
        return {**shown, "seed": None if self.seed is None else int(self.seed)}


@dataclass(frozen=True, kw_only=True, repr=False)
class RecordedSeries:
    """The record of a series in the ledger, without its people."""

    id: int
    uid: str
    """Random; the keys of the series are derived from it."""
    name: str
    m: int
    counterfeits: str
    """How buckets are balanced: "independent", "fewest" or "paper"."""
    columns: SeriesColumns
    anew: bool = False
    """Whether the publisher asserted that releases of another series of the same name are of other people."""
    created: str
    seal: str
    releases: tuple[RecordedRelease, ...]
    """All releases, in ascending order of their numbers."""

    @property
    def public_id(self) -> str:
        """Distinguishes the releases of the series from those of another series of the same name."""
        return sha256(self.uid.encode()).hexdigest()[:16]

    @property
    def latest(self) -> RecordedRelease | None:
        """The latest release that the ledger remembers: neither withdrawn nor lost."""
        return self.before(self.releases[-1].number + 1) if self.releases else None

    @property
    def lost(self) -> tuple[int, ...]:
        """Numbers of the published releases that the ledger has lost."""
        return tuple(one.number for one in self.releases if one.state == "lost")

    def before(self, number: int) -> RecordedRelease | None:
        """Find the latest remembered release before a given number."""
        earlier = [one for one in self.releases if one.number < number and one.state not in ("withdrawn", "lost")]
        return earlier[-1] if earlier else None

    def with_releases(self, releases: Sequence[RecordedRelease], keys: SeriesKeys) -> RecordedSeries:
        """Replace the releases, and compute all seals."""
        # Each seal covers the one before.
        sealed, before = [], ""
        for one in releases:
            before = keys.seal("release", to_canonical_json({**asdict(one), "seal": ""}), before)
            sealed.append(replace(one, seal=before))
        changed = replace(self, releases=tuple(sealed))
        return replace(changed, seal=changed._compute_seal(keys))

    def mark_published(self, keys: SeriesKeys) -> RecordedSeries:
        """Mark the latest release as published, because its folder has its final name."""
        published = replace(self.releases[-1], state="published", staged=None)
        return self.with_releases([*self.releases[:-1], published], keys)

    def _compute_seal(self, keys: SeriesKeys) -> str:
        """Compute the seal of the series, which covers the seal of its last release."""
        head = self.releases[-1].seal if self.releases else ""
        facts = (self.uid, self.name, str(self.m), self.counterfeits, self.columns.to_json(), str(int(self.anew)))
        return keys.seal("series", *facts, self.created, head)

    def check(self, keys: SeriesKeys) -> None:
        """Check the seals.

        Raises
        ------
        LedgerError
            If a record was changed by other software than shoal.
        """
        # Compute all seals again, and compare in constant time.
        again = self.with_releases(self.releases, keys)
        whole = all(
            compare_digest(one.seal, other.seal) for one, other in zip(self.releases, again.releases, strict=True)
        )
        gaps = any(later.number <= earlier.number for earlier, later in pairwise(self.releases))
        if not whole or gaps or not compare_digest(self.seal, again.seal):
            raise LedgerError(f"The series '{self.name}' in the ledger {EDITED}")


def to_canonical_json(value: Any) -> str:
    """Convert a value to canonical JSON text, which is unique for each value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=dict)


def list_series(connection: sa.Connection) -> list[str]:
    """List the names of all series."""
    return list(connection.scalars(sa.select(SERIES.c.name).order_by(SERIES.c.id)))


def read_series(connection: sa.Connection, name: str, secrets: Secrets) -> RecordedSeries | None:
    """Read a series and its releases and check their seals, or return None if there is no series of that name."""
    row = connection.execute(sa.select(SERIES).where(SERIES.c.name == name)).one_or_none()
    return None if row is None else _series(connection, row, secrets.derive_series_keys(row.uid))


def reread(connection: sa.Connection, series: RecordedSeries, keys: SeriesKeys) -> RecordedSeries | None:
    """Read back a series within the transaction that wrote it and check its seals, or return None if it is missing."""
    row = connection.execute(sa.select(SERIES).where(SERIES.c.uid == series.uid)).one_or_none()
    return None if row is None else _series(connection, row, keys)


def _series(connection: sa.Connection, row: sa.Row[Any], keys: SeriesKeys) -> RecordedSeries:
    """Decode the rows of a series and of its releases, and check their seals."""
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
    # Decryption or parsing failed: the content is not what was written.
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise LedgerError(f"The series '{row.name}' in the ledger {EDITED}") from None
    series.check(keys)
    return series


_CLEAR = ("number", "state", "time", "version", "memory_digest", "seal")
"""Fields of a release that the database holds in clear; all others are encrypted."""


def _release(row: Mapping[Any, Any], keys: SeriesKeys) -> RecordedRelease:
    """Decrypt the record of a release."""
    content = json.loads(keys.decrypt(bytes(row["content"]), "record", str(row["number"])))
    return RecordedRelease(**{name: row[name] for name in _CLEAR}, **content)


def to_release_row(series: RecordedSeries, one: RecordedRelease, keys: SeriesKeys) -> dict[str, Any]:
    """Convert a release to its row in the database."""
    held = asdict(one)
    clear = {name: held.pop(name) for name in _CLEAR}
    content = keys.encrypt(to_canonical_json(held).encode(), "record", str(one.number))
    return {"series": series.id, **clear, "content": content}


def to_series_row(series: RecordedSeries) -> dict[str, Any]:
    """Convert a series to its row in the database, without the id, which the database assigns."""
    held = {name: getattr(series, name) for name in ("uid", "name", "m", "counterfeits", "created", "seal")}
    return {**held, "columns": series.columns.to_json(), "anew": int(series.anew)}
