"""The first format of the ledger."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "shoal_ledger",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("content", sa.Text(), nullable=False),
    )
    op.create_table(
        "shoal_series",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, unique=True),
        sa.Column("m", sa.Integer(), nullable=False),
        sa.Column("columns", sa.Text(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("seal", sa.Text(), nullable=False),
    )
    op.create_table(
        "shoal_releases",
        _series(),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("time", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("seed", sa.Text()),
        sa.Column("input_sha256", sa.Text(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("counterfeits", sa.Integer(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.Column("files", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text()),
        sa.Column("staged", sa.Text()),
        sa.Column("persons_digest", sa.Text(), nullable=False),
        sa.Column("signatures_digest", sa.Text(), nullable=False),
        sa.Column("seal", sa.Text(), nullable=False),
    )
    op.create_table(
        "shoal_values",
        _series(),
        sa.Column("code", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("release", sa.Integer(), nullable=False),
    )
    op.create_table(
        "shoal_signatures",
        _series(),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("codes", sa.Text(), nullable=False),
        sa.Column("release", sa.Integer(), nullable=False),
    )
    for name in ("shoal_persons", "shoal_undo"):
        op.create_table(
            name,
            _series(),
            sa.Column("person", sa.LargeBinary(16), primary_key=True),
            sa.Column("record", sa.LargeBinary(28), nullable=False),
            sqlite_with_rowid=False,
        )


def _series() -> sa.Column[int]:
    return sa.Column("series", sa.Integer(), sa.ForeignKey("shoal_series.id"), primary_key=True, autoincrement=False)
