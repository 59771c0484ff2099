"""The second format of the ledger: what a series remembers is encrypted whole, and every seal has its own label."""

from __future__ import annotations

import secrets as randomness
from dataclasses import replace

import sqlalchemy as sa
from alembic import context, op

from shoal.republication.ledger.format_1 import SeriesOfFormat1, read_format_1
from shoal.republication.ledger.keys import LedgerKey, Secrets
from shoal.republication.ledger.memory import digest_of, encrypted_pieces, write_pieces
from shoal.republication.ledger.records import release_row
from shoal.republication.ledger.storage import now
from shoal.republication.ledger.store import read_facts, write_facts
from shoal.republication.ledger.tables import RELEASES, SERIES

revision = "2"
down_revision = "1"

_ENCRYPTED = (
    *("persons_digest", "signatures_digest"),  # replaced
    *("seed", "input_sha256", "rows", "counterfeits", "counts", "parameters", "files", "folder", "staged"),
)
"""Columns of the first format whose content is encrypted now, in one."""


def upgrade() -> None:
    """Read everything of the first format, checked against its seals; make the new tables; write it into them."""
    connection = op.get_bind()
    key: LedgerKey = context.config.attributes["key"]
    facts = read_facts(connection)
    held = read_format_1(connection, key)
    for name in ("shoal_undo", "shoal_persons", "shoal_signatures", "shoal_values"):
        op.drop_table(name)
    op.create_table(
        "shoal_memory",
        sa.Column("series", sa.Integer(), sa.ForeignKey("shoal_series.id"), primary_key=True, autoincrement=False),
        sa.Column("release", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("part", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
    )
    # A series of the first format balanced its buckets with new rows.
    op.add_column("shoal_series", sa.Column("counterfeits", sa.Text(), nullable=False, server_default="fewest"))
    op.add_column("shoal_releases", sa.Column("memory_digest", sa.Text(), nullable=False, server_default=""))
    op.add_column("shoal_series", sa.Column("anew", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("shoal_releases", sa.Column("content", sa.LargeBinary(), nullable=False, server_default=""))
    for name in _ENCRYPTED:
        op.drop_column("shoal_releases", name)
    if not facts:  # the ledger is just being made
        return
    # The old key names people for life; seals and encryption get secrets of their own.
    secrets = Secrets(people=key.secret, records=randomness.token_bytes(32))
    for one in held:
        _write(connection, one, secrets)
    uid, created = randomness.token_hex(16), facts.get("created", now())
    write_facts(connection, key, secrets, {"format": "2", "uid": uid, "created": created, "accepted": "[]"})


def _write(connection: sa.Connection, one: SeriesOfFormat1, secrets: Secrets) -> None:
    """Write a series as the second format has it."""
    keys = secrets.of_series(one.series.uid)
    pieces = {number: encrypted_pieces(memory.pieces(), number, keys) for number, memory in one.memories.items()}
    releases = [
        replace(release, memory_digest=digest_of(pieces[release.number], keys)) if release.number in pieces else release
        for release in one.series.releases
    ]
    series = one.series.with_releases(releases, keys)
    connection.execute(SERIES.update().where(SERIES.c.id == series.id).values(seal=series.seal))
    for release in series.releases:
        where = (RELEASES.c.series == series.id, RELEASES.c.number == release.number)
        connection.execute(RELEASES.update().where(*where).values(**release_row(series, release, keys)))
    for number in sorted(pieces):
        write_pieces(connection, series, number, pieces[number])
