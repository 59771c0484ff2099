"""Rotation of a ledger's key, such as when the old key may have been seen or a colleague leaves the team."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from shoal._core.outcome import reason_of
from shoal.errors import InternalError, LedgerError
from shoal.republication.ledger import journal
from shoal.republication.ledger.anchor import Anchor, read_heads
from shoal.republication.ledger.keys import LedgerKey, Secrets, get_pending_path
from shoal.republication.ledger.memory import rewrite_memories
from shoal.republication.ledger.records import list_series
from shoal.republication.ledger.store import LOG, Store, read_facts, write_facts

if TYPE_CHECKING:
    import sqlalchemy as sa


def rotate(store: Store, key_file: Path, anchor_file: Path) -> None:
    """Give a ledger a new key, and encrypt and seal its whole content with it.

    A crash leaves the old key or the new one. The new key has a pending name until the ledger is committed.

    Parameters
    ----------
    store : Store
        The ledger; it uses the new key afterwards.
    key_file : Path
        The file for the new key: the file of the old one, or a file that does not exist.
    anchor_file : Path
        The file for the anchor.

    Raises
    ------
    LedgerError
        If the key file is another existing file, or the ledger is damaged.
    """
    with store.lock_for_publishing():
        if key_file != store.key_path and key_file.exists():
            raise LedgerError(f"There is a file '{key_file}' already. Name another place for the new key.")
        key, secrets = LedgerKey.new(), store.secrets.renew()
        anchor = Anchor(anchor_file, store.uid, secrets)
        pending = get_pending_path(key_file)
        # Write the new key under its pending name.
        try:
            pending.unlink(missing_ok=True)  # of a crash: the ledger would know it
            key.write(pending)
        except OSError as error:
            raise LedgerError(f"The key file '{key_file}' cannot be made: {reason_of(error)}.") from None
        # Renew all series in one transaction, and prepare the anchor before its commit.
        with store.database.open_for_writing() as connection:
            for name in list_series(connection):
                _renew(connection, store, name, secrets)
            write_facts(connection, key, secrets, read_facts(connection))
            anchor.prepare(read_heads(connection))
        # The ledger is committed: the new key and anchor get their final names, now or when it is opened again.
        try:
            pending.replace(key_file)
        except FileNotFoundError:  # another process that opened the ledger was faster
            pass
        except OSError as error:
            LOG.warning(
                "The ledger has its new key, which is '%s' until the next command with the ledger renames it to '%s': "
                "renaming failed now (%s).",
                pending,
                key_file,
                reason_of(error),
            )
        anchor.settle()
        # The store works with the new key, and the old anchor is obsolete.
        old = store.anchor.path
        store.key, store.secrets, store.anchor, store.key_path = key, secrets, anchor, key_file
        if old != anchor_file:
            with suppress(OSError):
                old.unlink()


def _renew(connection: sa.Connection, store: Store, name: str, secrets: Secrets) -> None:
    """Encrypt and seal a series with other secrets."""
    series = store.read_series(connection, name)
    if series is None:
        raise InternalError("a series vanished while its ledger was locked")
    old, new = store.derive_keys(series), secrets.derive_series_keys(series.uid)
    releases, _ = rewrite_memories(connection, series, old, new)
    journal.advance(connection, series, series.with_releases(releases, new), new)
