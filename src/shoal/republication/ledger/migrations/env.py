"""Where alembic starts: it runs this file under the name `env_py` with a connection that the ledger gives it."""

from __future__ import annotations

from alembic import context


def migrate() -> None:
    """Bring the database of the connection to the newest format, all in one transaction."""
    context.configure(
        connection=context.config.attributes["connection"], version_table="shoal_migrations", transactional_ddl=True
    )
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":
    migrate()
