"""Tables of the ledger's database."""

from __future__ import annotations

import sqlalchemy as sa

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
