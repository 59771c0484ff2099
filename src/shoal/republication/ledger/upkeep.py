"""Work on a whole ledger: a new key, and acceptance of a ledger that is not current, which is logged in the ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from shoal._core.outcome import reason_of
from shoal._version import __version__
from shoal.errors import InternalError, LedgerError
from shoal.republication.ledger import journal
from shoal.republication.ledger.anchor import Anchor, get_head, read_heads
from shoal.republication.ledger.keys import LedgerKey, Secrets, get_pending_path
from shoal.republication.ledger.memory import rewrite_memories
from shoal.republication.ledger.records import RecordedRelease, list_series, to_canonical_json
from shoal.republication.ledger.storage import now
from shoal.republication.ledger.store import LOG, Store, check_facts, read_facts, write_facts

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


ACCEPTANCE_RISK = (
    "People who were first published in a lost release are taken for new ones, with other sets of values, and the "
    "releases together may betray each of them. Those published before keep what they had. No software can mend that: "
    "a newer backup can, or another series for other people."
)
"""The risk of publishing with a ledger that lost releases."""


def accept(store: Store, last: Mapping[str, int]) -> list[str]:
    """Accept the ledger as current, and rewrite the anchor.

    Published releases that the ledger does not know stay in the history as lost: their numbers are not used again, and
    the guarantee of the series names them. The acceptance is logged in the ledger, sealed.

    Parameters
    ----------
    store : Store
        The ledger.
    last : mapping of str to int
        The number of the last published release of each series that the anchor does not know.

    Returns
    -------
    list of str
        What was accepted, as sentences; empty if the ledger was current.
    """
    with store.database.lock_publishers():
        store.watch()
        with store.database.open_for_reading() as connection:
            check_facts(connection, store.secrets)
            # Nothing to accept if the ledger agrees with its anchor.
            unknown = set(last) - set(list_series(connection))
            if unknown:
                raise LedgerError(f"There is no series '{min(unknown)}' in the ledger.")
            # Compare the ledger with its anchor before anything is changed.
            forgot = store.explain_if_outdated(connection)
        if forgot is None and not last:
            return store.complete_interrupted()
        # Read the anchor before interrupted releases are resolved, because it may expect them.
        anchored = store.anchor.read_expected_heads()
        # The anchor is rewritten below, so it need not follow here.
        finished = journal.complete_interrupted(store.database, store.secrets, lambda: None)
        # Record the lost releases of each series.
        with store.database.open_for_writing() as connection:
            before = read_heads(connection)
            numbers = {head.name: head.number for head in (anchored or {}).values()} | dict(last)
            accepted = [
                f"The series '{head.name}' with {head.number} release(s) is no longer in the ledger. Its people are "
                "not known."
                for uid, head in (anchored or {}).items()
                if uid not in before
            ]
            for head in before.values():
                accepted += _accept_series(connection, store, head.name, numbers.get(head.name))
            if anchored is None:
                accepted.append(f"The anchor '{store.anchor.path}' was lost or damaged, and is replaced by a new one.")
            # Log the acceptance, then let the anchor follow.
            facts = read_facts(connection)
            log = [*json.loads(facts["accepted"]), {"time": now(), "what": accepted}]
            write_facts(connection, store.key, store.secrets, {**facts, "accepted": to_canonical_json(log)})
            heads = read_heads(connection)
        store.anchor.replace(heads)
    return [*finished, *accepted]


def _accept_series(connection: sa.Connection, store: Store, name: str, number: int | None) -> list[str]:
    """Record the releases of a series that were lost, up to a number, and describe the result."""
    series = store.read_series(connection, name)
    if series is None:
        raise InternalError("a series vanished while its ledger was locked")
    # The ledger is level with the anchor, or ahead of it.
    known = get_head(series).number
    if number is None or number == known:
        return [f"The series '{name}' is taken as it is, with {known} release(s)."]
    if number < known:
        return [f"The series '{name}' is taken as it is, with {known} release(s); {number} were known elsewhere."]
    # Lost releases keep their numbers.
    lost = [
        RecordedRelease(
            number=one,
            state="lost",
            time=now(),
            version=__version__,
            seed=None,
            input_sha256="",
            rows=0,
            counterfeits=0,
        )
        for one in range(known + 1, number + 1)
    ]
    keys = store.derive_keys(series)
    journal.advance(connection, series, series.with_releases([*series.releases, *lost], keys), keys)
    return [f"The series '{name}' lost release {known + 1} to {number}: the ledger does not know whom they showed."]
