"""An open ledger: its database, secrets and anchor, and the order in which they are changed."""

from __future__ import annotations

import logging
import os
import secrets as randomness
from contextlib import contextmanager, suppress
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from shoal._messages import Phrase, phrase
from shoal.errors import LedgerError
from shoal.republication.ledger import journal
from shoal.republication.ledger.advice import ANCHOR, CREATE, KEY
from shoal.republication.ledger.anchor import Anchor, get_default_anchor, get_head, read_heads
from shoal.republication.ledger.keys import (
    ENVIRONMENT,
    LedgerKey,
    Secrets,
    get_default_key_file,
    get_pending_path,
    parse_key,
)
from shoal.republication.ledger.records import EDITED, read_series, to_canonical_json
from shoal.republication.ledger.storage import Address, Database, get_reason, now
from shoal.republication.ledger.tables import FORMAT, LEDGER, METADATA, SERIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shoal.republication.ledger.keys import SeriesKeys
    from shoal.republication.ledger.records import RecordedSeries

__all__ = ["LOG", "Store", "write_facts"]

LOG = logging.getLogger("shoal.republication")
ANCHOR_ENVIRONMENT = "SHOAL_LEDGER_ANCHOR"
"""Environment variable that may hold the path of the anchor."""
_SEALED = ("format", "uid", "created", "key_fingerprint", "secrets", "accepted")
"""Facts that the seal of the ledger covers."""


class Store:
    """The database, secrets and anchor of a ledger.

    Parameters
    ----------
    url, key, anchor, create, wait
        See `Ledger`.

    Raises
    ------
    LedgerError
        If the ledger cannot be used or created; the message explains what to do.
    """

    def __init__(self, url: object, *, key: object, anchor: object, create: bool, wait: float) -> None:
        self.address = Address.parse(url)
        # The key: the parameter, the environment, or the file next to the ledger.
        held = parse_key(key)
        if held is None and ENVIRONMENT in os.environ:
            held = LedgerKey.parse(os.environ[ENVIRONMENT], source=f"The environment variable {ENVIRONMENT}")
        if held is None and self.address.path is not None:
            held = get_default_key_file(self.address.path)
        if held is None:
            raise LedgerError(
                "A ledger in PostgreSQL needs its key: name a file outside of the database with ",
                KEY,
                f", or set {ENVIRONMENT}.",
            )
        self.key_path = held if isinstance(held, Path) else None
        self._anchor_named = anchor is not None or ANCHOR_ENVIRONMENT in os.environ
        self._anchor_path = self._locate_anchor(anchor)
        self.database = Database(self.address, wait=wait)
        # Create the ledger on request, then open it.
        if not self._exists():
            if not create:
                raise LedgerError(
                    f"There is no ledger '{self.address.shown}'. Make one with ",
                    CREATE,
                    ", or check the name. If it was there before, restore it from a backup: without it, people who "
                    "were published would be taken for new ones.",
                )
            self._make()
        # From here on the ledger exists.
        self.database.check_file()
        self.key, self.secrets, self.uid = self._open(held)
        self.anchor = Anchor(self._anchor_path, self.uid, self.secrets)
        self.anchor.settle()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the places of the ledger, its key and its anchor, as sentences."""
        sentences = list(self.address.warnings)
        path = self.address.path
        if path is not None and self.key_path is not None and self.key_path.parent == path.parent:
            sentences.append(
                f"The key '{self.key_path}' lies in the folder of the ledger: any copy of the folder, such as a "
                "backup, has both. Keep the key, and the anchor with it, in another place that the ledger's backups do "
                "not take in, and name it with " + phrase(KEY, ".")
            )
        elif path is not None and self.anchor.path.parent == path.parent:
            sentences.append(
                f"The anchor '{self.anchor.path}' lies in the folder of the ledger: restoring the folder restores "
                "both, and nothing shows that the ledger forgot people. Keep it in another place, with "
                + phrase(ANCHOR, ".")
            )
        return tuple(sentences)

    @property
    def nearby(self) -> tuple[Path, ...]:
        """Folders that are scanned for releases: the folder of the database, and the current folder."""
        path = self.address.path
        found = [] if path is None else [path.parent]
        with suppress(FileNotFoundError):  # the present folder was removed
            found.append(Path.cwd())
        return tuple(dict.fromkeys(found))

    @contextmanager
    def publishing(self) -> Iterator[list[str]]:
        """Become the only publisher, complete interrupted releases, and yield sentences about these.

        Raises
        ------
        LedgerBusyError
            If another process publishes.
        LedgerError
            If the ledger disagrees with its anchor.
        """
        with self.database.publishing():
            with self.database.reading() as connection:
                self.check(connection)
            yield self.recover_interrupted()

    def recover_interrupted(self) -> list[str]:
        """Complete or take back interrupted releases, and log the outcome; only for the only publisher."""
        sentences = self.finish()
        for sentence in sentences:
            LOG.warning(sentence)
        return sentences

    def finish(self, *, own: Path | None = None) -> list[str]:
        """Complete or take back interrupted releases without logging; `own` is a hidden folder of the caller."""
        return journal.finish(self.database, self.secrets, self._confirm, own=own)

    def expect(self, *after: RecordedSeries, token: str | None = None) -> None:
        """Record in the anchor the possible states of a series, before a transaction is committed.

        `token` identifies a publish (`journal.intend`).
        """
        self.anchor.expect({after[0].uid: [get_head(one) for one in after]}, token)

    def confirm(self) -> None:
        """Record in the anchor the states of all series, after a commit.

        If the anchor cannot be written, a warning is logged. This does no harm, because the anchor holds the expected
        state.
        """
        try:
            self._confirm()
        except LedgerError as error:
            LOG.warning(
                "What was done stands, but the anchor does not know it for certain yet; the next start tells it. %s",
                get_reason(error),
            )

    def _confirm(self) -> None:
        """Record in the anchor the states of all series."""
        with self.database.reading() as connection:
            heads = read_heads(connection)
        self.anchor.confirm(heads)

    def explain_if_outdated(self, connection: sa.Connection) -> str | None:
        """Explain why the ledger is not current, in sentences, or return None if it is current.

        Raises
        ------
        LedgerError
            If the ledger, or the list of its series, was changed by other software than shoal.
        """
        check_facts(connection, self.secrets)
        heads, token = read_heads(connection), journal.read_token(connection, self.secrets)
        try:
            self.anchor.check(heads, token)
        except LedgerError as error:
            return str(error)
        return None

    def check(self, connection: sa.Connection) -> None:
        """Check the seals of the ledger and of the list of its series, and that the ledger agrees with its anchor.

        Raises
        ------
        LedgerError
            If a check fails.
        """
        forgot = self.explain_if_outdated(connection)
        if forgot is not None:
            raise LedgerError(forgot)

    def read(self, connection: sa.Connection, name: str) -> RecordedSeries | None:
        """Read a series and check its seals, or return None if there is no series of that name."""
        return read_series(connection, name, self.secrets)

    def keys(self, series: RecordedSeries) -> SeriesKeys:
        """Derive the keys of a series."""
        return self.secrets.derive_series_keys(series.uid)

    def anchor_for(self, key_file: Path) -> Path:
        """Get the path of the anchor if the key moves: next to the key, unless the anchor has an explicit path."""
        return self.anchor.path if self._anchor_named else get_default_anchor(key_file)

    def _locate_anchor(self, given: object) -> Path:
        """Locate the anchor: the given path, else next to the key, else next to the database."""
        # The parameter, the environment, or a default.
        if given is None:
            given = os.environ.get(ANCHOR_ENVIRONMENT)
        if given is not None:
            if not isinstance(given, str | os.PathLike) or not str(given):
                raise LedgerError(
                    f"The 'anchor' parameter of Ledger must be the path of a file. Got {type(given).__name__}."
                )
            return Path(given).expanduser().absolute()
        if self.key_path is not None:
            return get_default_anchor(self.key_path)
        if self.address.path is not None:
            return get_default_anchor(get_default_key_file(self.address.path))
        raise LedgerError(
            "A ledger in PostgreSQL whose key is in no file needs a place for its anchor, which says how far each "
            "series has come: name a file outside of the database with ",
            ANCHOR,
            f", or {ANCHOR_ENVIRONMENT}.",
        )

    def _exists(self) -> bool:
        """Check whether the ledger exists, and that its file is not empty."""
        path = self.address.path
        if path is not None and path.exists():
            if not path.is_file():
                raise LedgerError(f"'{path}' is not a file. A ledger is one file: give another name.")
            if path.stat().st_size == 0:
                raise LedgerError(
                    f"The ledger '{path}' is empty: it was truncated, or something else made the file. Restore it from "
                    "a backup. Remove the file only if there never was a ledger."
                )
        return self.database.has(LEDGER.name)

    def _make(self) -> None:
        """Create the ledger with a new key and an anchor. A crash leaves nothing that can be mistaken for a ledger."""
        held = self.key_path
        if held is None:
            raise LedgerError(
                f"There is a key, but no ledger '{self.address.shown}'. If the ledger was lost, restore it from a "
                "backup: in a new one, people who were published would be taken for new ones. A new ledger is made "
                f"together with a new key: name a file for it with ",
                KEY,
                f", without {ENVIRONMENT}; afterwards the key can be kept anywhere.",
            )
        try:
            # Two processes may create the ledger at the same time.
            with self.database.publishing():
                if self._exists():  # another process was faster
                    return
                self._refuse(held)
                key, secrets, uid = LedgerKey.new(), Secrets.new(), randomness.token_hex(16)
                # Leftovers of a crash: otherwise a ledger with this key and anchor would exist.
                for path in (held, self._anchor_path):
                    get_pending_path(path).unlink(missing_ok=True)
                key.write(get_pending_path(held))
                anchor = Anchor(self._anchor_path, uid, secrets)
                anchor.prepare({})
                # The tables appear together with the sealed facts; then the key and the anchor get their final names.
                with self.database.making() as connection:
                    METADATA.create_all(connection)
                    facts = {"format": str(FORMAT), "uid": uid, "created": now(), "accepted": "[]"}
                    write_facts(connection, key, secrets, facts)
                get_pending_path(held).rename(held)
                anchor.settle()
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else type(error).__name__
            raise LedgerError(f"The key file '{held}' or the anchor cannot be made: {reason}.") from None

    def _refuse(self, key_file: Path) -> None:
        """Check that there is no key or anchor of an earlier ledger."""
        for path, what in ((key_file, "key"), (self._anchor_path, "anchor")):
            if path.exists():
                raise LedgerError(
                    f"There is the {what} '{path}', but no ledger '{self.address.shown}'. If the ledger was lost, "
                    "restore it from a backup: in a new one, people who were published would be taken for new ones. "
                    f"A new ledger is made together with a new key and anchor; remove the {what} only if nothing was "
                    "ever published with it, or name another place."
                )

    def _open(self, held: LedgerKey | Path) -> tuple[LedgerKey, Secrets, str]:
        """Check the format and the key of the ledger, and unwrap its secrets."""
        facts = self._read_facts()
        version = facts.get("format", "")
        if not version.isdecimal() or "key_fingerprint" not in facts:
            raise LedgerError(
                f"The ledger '{self.address.shown}' is damaged: it does not say what format it has. Restore it from a "
                "backup, together with its key."
            )
        # Older and newer formats are refused.
        if int(version) != FORMAT:
            raise LedgerError(
                f"The ledger '{self.address.shown}' has format {version}; this version of shoal reads format {FORMAT}. "
                "Use the version of shoal that made the ledger, or a newer one."
            )
        key = held if isinstance(held, LedgerKey) else self._read_key(held, facts["key_fingerprint"])
        if not key.fits(facts["key_fingerprint"]):
            raise LedgerError(f"This is not the key of the ledger '{self.address.shown}'. ", _KEY_LOST)
        try:
            # Unwrap the secrets, then check the seal of the facts with them.
            wrapped, uid = bytes.fromhex(facts["secrets"]), facts["uid"]
        except (KeyError, ValueError):
            raise LedgerError(f"The ledger '{self.address.shown}' {EDITED}") from None
        secrets = key.unwrap(wrapped, uid)
        with self.database.reading() as connection:
            check_facts(connection, secrets)
        return key, secrets, uid

    def _read_facts(self) -> dict[str, str]:
        """Read the facts of the ledger."""
        with self.database.reading() as connection:
            return read_facts(connection)

    def _read_key(self, path: Path, fingerprint: str) -> LedgerKey:
        """Read the key, and complete a rotation that a crash interrupted after its commit."""
        # A pending key that fits belongs to a committed rotation.
        pending = get_pending_path(path)
        if pending.exists():
            key = LedgerKey.read(pending)
            if key.fits(fingerprint):
                with suppress(FileNotFoundError):  # another process was faster
                    pending.replace(path)
                return key
        if not path.exists():
            raise LedgerError(f"The key '{path}' of the ledger '{self.address.shown}' is not there. ", _KEY_LOST)
        return LedgerKey.read(path)


_KEY_LOST = Phrase(
    "Without the right key nobody can tell who was published before: everyone would get a new signature, and the old "
    "and new releases together could betray them. Restore the key from its backup, or name it with ",
    KEY,
    f" or {ENVIRONMENT}. If it is lost for good, the releases that are out stay as safe as they are, but do not "
    "publish the people in them again.",
)
"""Advice about a missing or wrong key."""


def read_facts(connection: sa.Connection) -> dict[str, str]:
    """Read the facts that the ledger holds about itself."""
    return {row.name: row.content for row in connection.execute(sa.select(LEDGER))}


def write_facts(connection: sa.Connection, key: LedgerKey, secrets: Secrets, facts: Mapping[str, str]) -> None:
    """Write the facts of the ledger, with its secrets and its seal.

    Parameters
    ----------
    connection : Connection
        A writing transaction.
    key : LedgerKey
        The key of the ledger from now on.
    secrets : Secrets
        The secrets of the ledger from now on.
    facts : mapping of str to str
        Format, uid, time of creation, and the log of acceptances.
    """
    held = {name: facts[name] for name in ("format", "uid", "created", "accepted")}
    held["key_fingerprint"] = key.fingerprint
    held["secrets"] = key.wrap(secrets, held["uid"]).hex()
    held["seal"] = _seal(connection, secrets, held)
    connection.execute(LEDGER.delete().where(LEDGER.c.name.in_(held)))
    connection.execute(LEDGER.insert(), [{"name": name, "content": content} for name, content in held.items()])


def check_facts(connection: sa.Connection, secrets: Secrets) -> None:
    """Check the seal of the facts and of the list of series.

    Raises
    ------
    LedgerError
        If they were changed.
    """
    held = read_facts(connection)
    if not compare_digest(held.get("seal", ""), _seal(connection, secrets, held)):
        raise LedgerError(f"The list of the series in the ledger {EDITED}")


def _seal(connection: sa.Connection, secrets: Secrets, facts: Mapping[str, str]) -> str:
    """Compute the seal of the facts and of the list of series."""
    listed = [list(row) for row in connection.execute(sa.select(SERIES.c.uid, SERIES.c.name).order_by(SERIES.c.id))]
    return secrets.seal(
        "ledger", to_canonical_json({name: facts.get(name) for name in _SEALED}), to_canonical_json(listed)
    )
