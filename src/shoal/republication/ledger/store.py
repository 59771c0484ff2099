"""An open ledger: its database, its secrets and its anchor, and the order in which they are changed.

The anchor is a small sealed file outside of the database that records the latest release of each series (`anchor`).
"""

from __future__ import annotations

import logging
import os
import secrets as randomness
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hmac import compare_digest
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from shoal._core.outcome import Standing, reason_of, watch
from shoal._messages import Phrase, current_audience, phrase
from shoal.errors import LedgerError
from shoal.republication.ledger import journal, records
from shoal.republication.ledger.advice import ANCHOR, CREATE, KEY
from shoal.republication.ledger.anchor import Anchor, get_default_anchor, get_head, read_heads
from shoal.republication.ledger.keys import (
    ENVIRONMENT,
    LedgerKey,
    Secrets,
    SeriesKeys,
    get_default_key_file,
    get_pending_path,
    parse_key,
)
from shoal.republication.ledger.records import (
    EDITED,
    FORMAT,
    LEDGER,
    METADATA,
    RELEASES,
    SERIES,
    RecordedSeries,
    to_canonical_json,
)
from shoal.republication.ledger.storage import Address, Database, get_reason, now

_Read = TypeVar("_Read")
LOG = logging.getLogger("shoal.republication")
ANCHOR_ENVIRONMENT = "SHOAL_LEDGER_ANCHOR"
"""Environment variable that may hold the path of the anchor."""
_SEALED = ("format", "uid", "created", "key_fingerprint", "secrets", "accepted")
"""Metadata that the seal of the ledger covers."""


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

    Attributes
    ----------
    address : Address
        The path or URL of the database.
    key_path : Path or None
        The file with the key; None if the key has another source.
    key, secrets, uid
        The key, the secrets that it encrypts, and the random identifier of the ledger.
    """

    def __init__(self, url: object, *, key: object, anchor: object, create: bool, wait: float) -> None:
        self.address = Address.parse(url)
        # The key: the parameter, the environment, or the file next to the ledger.
        key_source = parse_key(key)
        if key_source is None and ENVIRONMENT in os.environ:
            key_source = LedgerKey.parse(os.environ[ENVIRONMENT], source=f"The environment variable {ENVIRONMENT}")
        if key_source is None and self.address.path is not None:
            key_source = get_default_key_file(self.address.path)
        if key_source is None:
            raise LedgerError(
                "A ledger in PostgreSQL needs its key: name a file outside of the database with ",
                KEY,
                f", or set {ENVIRONMENT}.",
            )
        self.key_path = key_source if isinstance(key_source, Path) else None
        self._anchor_is_explicit = anchor is not None or ANCHOR_ENVIRONMENT in os.environ
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
            self._create()
        # From here on the ledger exists.
        self.database.check_file()
        self.key, self.secrets, self.uid = self._open(key_source)
        self.anchor = Anchor(self._anchor_path, self.uid, self.secrets)
        self.anchor.settle()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the locations of the ledger, its key and its anchor, as sentences."""
        # One warning about the key or the anchor is enough: the key is the greater risk.
        sentences = list(self.address.warnings)
        path = self.address.path
        if path is not None and self.key_path is not None and self.key_path.parent == path.parent:
            sentences.append(
                phrase(
                    f"The key '{self.key_path}' lies in the folder of the ledger: any copy of the "
                    "folder, such as a backup, has both. Keep the key, and the anchor with it, in "
                    "another place that the ledger's backups do not take in, and name it with ",
                    KEY,
                    ".",
                )
            )
        elif path is not None and self.anchor.path.parent == path.parent:
            sentences.append(
                phrase(
                    f"The anchor '{self.anchor.path}' lies in the folder of the ledger: restoring the folder restores "
                    "both, and nothing shows that the ledger forgot people. Keep it in another place, with ",
                    ANCHOR,
                    ".",
                )
            )
        return tuple(sentences)

    @property
    def release_folders(self) -> tuple[Path, ...]:
        """Folders that may contain releases: the folder of the database, and the current folder."""
        path = self.address.path
        found = [] if path is None else [path.parent]
        # The current folder may have been removed.
        with suppress(FileNotFoundError):
            found.append(Path.cwd())
        return tuple(dict.fromkeys(found))

    @contextmanager
    def lock_for_publishing(self) -> Iterator[list[str]]:
        """Hold the publishers' lock, complete interrupted releases, and yield a sentence about each of these.

        Raises
        ------
        LedgerBusyError
            If another process holds the lock.
        LedgerError
            If the ledger disagrees with its anchor.
        """
        with self.database.lock_publishers():
            self._follow_rotation()
            # The key is not being rotated now, so that a pending key or anchor is one of a rotation that failed.
            for path in (self.key_path, self.anchor.path):
                with suppress(OSError):
                    if path is not None:
                        get_pending_path(path).unlink()
            with self.database.open_for_reading() as connection:
                self.check(connection)
            recovered = self.recover_interrupted()
            self.watch()
            yield recovered

    def read(self, work: Callable[[sa.Connection], _Read]) -> _Read:
        """Do some work in a reading transaction, and again if another process gave the ledger a new key."""
        while True:
            try:
                with self.database.open_for_reading() as connection:
                    return work(connection)
            except LedgerError:
                if not self._follow_rotation():
                    raise

    def _follow_rotation(self) -> bool:
        """Open the ledger again if another process has given it a new key, and report whether one has."""
        if self.key.fits(self._read_facts().get("key_fingerprint", "")):
            return False
        self.key, self.secrets, self.uid = self._open(self.key_path or self.key)
        self.anchor = Anchor(self.anchor.path, self.uid, self.secrets)
        self.anchor.settle()
        return True

    def watch(self) -> None:
        """Read the state of the ledger now, so that it can be described when the call ends (`describe_outcome`)."""
        before = self._read_state()

        def look() -> Standing:
            try:
                after = self._read_state()
            except LedgerError:
                return Standing(
                    f"The ledger '{self.address.shown}' cannot be read now. The next command with it completes or "
                    "takes back what was begun.",
                    changed=None,
                )
            if after == before:
                return Standing("The ledger is as it was.")
            told, unsettled = [], False
            for name, (number, state, seal) in after[1].items():
                if before[1].get(name, (0, "", ""))[2] != seal:
                    unsettled |= state == "staged"
                    latest = f"whose latest release is {number} ({state})" if number else "which has no release"
                    told.append(f"The ledger has a change of the series '{name}', {latest}.")
            # The seals of all series change with the key.
            told = told if after[0] == before[0] else ["The ledger has its new key."]
            if unsettled:
                told.append("The next command that publishes with it completes the release or takes it back.")
            return Standing(" ".join(told) or "The ledger was changed.", changed=None if unsettled else True)

        watch(look)

    def _read_state(self) -> tuple[str, dict[str, tuple[int, str, str]]]:
        """Read the fingerprint of the key, and the latest release of each series with its state and the seal."""
        with self.database.open_for_reading() as connection:
            states = {
                (row.series, row.number): row.state
                for row in connection.execute(sa.select(RELEASES.c.series, RELEASES.c.number, RELEASES.c.state))
            }
            ids = {row.uid: row.id for row in connection.execute(sa.select(SERIES.c.uid, SERIES.c.id))}
            heads = read_heads(connection)
            known = {
                one.name: (one.number, states.get((ids[uid], one.number), ""), one.seal) for uid, one in heads.items()
            }
            return read_facts(connection).get("key_fingerprint", ""), known

    def recover_interrupted(self) -> list[str]:
        """Complete or take back interrupted releases, and log the outcome. The caller holds the publishers' lock."""
        sentences = self.complete_interrupted()
        for sentence in sentences:
            LOG.warning(sentence)
        return sentences

    def complete_interrupted(self, *, own: Path | None = None) -> list[str]:
        """Complete or take back interrupted releases without logging.

        Parameters
        ----------
        own : Path, optional
            A hidden folder that the caller was writing and has given up.
        """
        return journal.complete_interrupted(self.database, self.secrets, self._confirm, own=own)

    def expect(self, *after: RecordedSeries, token: str | None = None) -> None:
        """Record the possible states of a series in the anchor, before a transaction is committed.

        Parameters
        ----------
        *after : RecordedSeries
            The possible states of one series after the commit.
        token : str, optional
            Identifies a publish (`journal.intend`).
        """
        self.anchor.expect({after[0].uid: [get_head(one) for one in after]}, token)

    def confirm(self) -> None:
        """Record the states of all series in the anchor, after a commit.

        If the anchor cannot be written, a warning is logged. This does no harm, because the anchor holds the expected
        state.
        """
        try:
            self._confirm()
        except LedgerError as error:
            LOG.warning(
                "The ledger was changed, but the anchor could not confirm it. The next start completes this. %s",
                get_reason(error),
            )

    def _confirm(self) -> None:
        """Record the states of all series in the anchor."""
        with self.database.open_for_reading() as connection:
            heads = read_heads(connection)
        self.anchor.confirm(heads)

    def explain_if_outdated(self, connection: sa.Connection) -> str | None:
        """Explain why the ledger is not current, in sentences; None if it is current.

        Raises
        ------
        LedgerError
            If software other than shoal changed the ledger or the list of its series.
        """
        check_facts(connection, self.secrets)
        heads, token = read_heads(connection), journal.read_token(connection, self.secrets)
        try:
            self.anchor.check(heads, token)
        except LedgerError as error:
            if not self.key.fits(self._read_facts().get("key_fingerprint", "")):
                raise  # the anchor is that of a new key, and so is the ledger: see `read`
            return error.render(current_audience())
        return None

    def check(self, connection: sa.Connection) -> None:
        """Check the seals of the ledger and of the list of its series, and that the ledger agrees with its anchor.

        Raises
        ------
        LedgerError
            If a check fails.
        """
        explanation = self.explain_if_outdated(connection)
        if explanation is not None:
            raise LedgerError(explanation)

    def read_series(self, connection: sa.Connection, name: str) -> RecordedSeries | None:
        """Read a series and check its seals, or return None if there is no series of that name."""
        return records.read_series(connection, name, self.secrets)

    def derive_keys(self, series: RecordedSeries) -> SeriesKeys:
        """Derive the keys of a series."""
        return self.secrets.derive_series_keys(series.uid)

    def get_anchor_path(self, key_file: Path) -> Path:
        """Get the path of the anchor after the key is moved: next to the key, unless the path was given explicitly."""
        return self.anchor.path if self._anchor_is_explicit else get_default_anchor(key_file)

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
        """Check whether the ledger exists; raise an error if its path is not a file, or the file is empty."""
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

    def _create(self) -> None:
        """Create the ledger with a new key and an anchor. A crash leaves nothing that can be mistaken for a ledger."""
        key_file = self.key_path
        if key_file is None:
            raise LedgerError(
                f"There is a key, but no ledger '{self.address.shown}'. If the ledger was lost, restore it from a "
                "backup: in a new one, people who were published would be taken for new ones. A new ledger is made "
                f"together with a new key: name a file for it with ",
                KEY,
                f", without {ENVIRONMENT}; afterwards the key can be kept anywhere.",
            )
        try:
            # Two processes may create the ledger at the same time.
            with self.database.lock_publishers():
                # Another process was faster.
                if self._exists():
                    return
                self._check_no_leftovers(key_file)
                key, secrets, uid = LedgerKey.new(), Secrets.new(), randomness.token_hex(16)
                # Pending files are leftovers of a crash, because no ledger with this key and anchor exists.
                for path in (key_file, self._anchor_path):
                    get_pending_path(path).unlink(missing_ok=True)
                key.write(get_pending_path(key_file))
                anchor = Anchor(self._anchor_path, uid, secrets)
                anchor.prepare({})
                # The tables appear together with the sealed facts; then the key and the anchor get their final names.
                with self.database.open_for_creation() as connection:
                    METADATA.create_all(connection)
                    facts = {"format": str(FORMAT), "uid": uid, "created": now(), "accepted": "[]"}
                    write_facts(connection, key, secrets, facts)
                with suppress(OSError):  # the ledger is there, and opening it does this, too
                    get_pending_path(key_file).rename(key_file)
                anchor.settle()
        except OSError as error:
            raise LedgerError(f"The key file '{key_file}' or the anchor cannot be made: {reason_of(error)}.") from None

    def _check_no_leftovers(self, key_file: Path) -> None:
        """Check that there is no key or anchor of an earlier ledger."""
        for path, what in ((key_file, "key"), (self._anchor_path, "anchor")):
            if path.exists():
                raise LedgerError(
                    f"There is the {what} '{path}', but no ledger '{self.address.shown}'. If the ledger was lost, "
                    "restore it from a backup: in a new one, people who were published would be taken for new ones. "
                    f"A new ledger is made together with a new key and anchor; remove the {what} only if nothing was "
                    "ever published with it, or name another place."
                )

    def _open(self, key_source: LedgerKey | Path) -> tuple[LedgerKey, Secrets, str]:
        """Check the format of the ledger and its key, and decrypt its secrets."""
        while True:
            facts = self._read_facts()
            try:
                return self._unlock(facts, key_source)
            except LedgerError:
                # Another process may have replaced the key after the facts were read.
                if self._read_facts().get("key_fingerprint") == facts.get("key_fingerprint"):
                    raise

    def _unlock(self, facts: Mapping[str, str], key_source: LedgerKey | Path) -> tuple[LedgerKey, Secrets, str]:
        """Check the format of the ledger and its key by its metadata, and decrypt its secrets."""
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
        key = key_source if isinstance(key_source, LedgerKey) else self._read_key(key_source, facts["key_fingerprint"])
        if not key.fits(facts["key_fingerprint"]):
            raise LedgerError(f"This is not the key of the ledger '{self.address.shown}'.", _KEY_LOST)
        try:
            # Decrypt the secrets, then check the seal of the facts with them.
            wrapped, uid = bytes.fromhex(facts["secrets"]), facts["uid"]
        except (KeyError, ValueError):
            raise LedgerError(f"The ledger '{self.address.shown}' {EDITED}") from None
        secrets = key.unwrap(wrapped, uid)
        with self.database.open_for_reading() as connection:
            check_facts(connection, secrets)
        return key, secrets, uid

    def _read_facts(self) -> dict[str, str]:
        """Read the metadata of the ledger."""
        with self.database.open_for_reading() as connection:
            return read_facts(connection)

    def _read_key(self, path: Path, fingerprint: str) -> LedgerKey:
        """Read the key, and complete a rotation that a crash interrupted after its commit."""
        # A pending key that fits belongs to a committed rotation; any other, even half of one, to none.
        pending = get_pending_path(path)
        with suppress(LedgerError):
            key = LedgerKey.read(pending)
            if key.fits(fingerprint):
                with suppress(OSError):  # another process was faster, or the folder is read-only
                    pending.replace(path)
                return key
        if not path.exists():
            lost = f"The key '{path}' of the ledger '{self.address.shown}' is not there."
            raise LedgerError(lost, _KEY_LOST)
        return LedgerKey.read(path)


_KEY_LOST = Phrase(
    " Without the right key it is unknown who was published before: everyone would get a new signature, and "
    "the old and new releases together could betray them. Restore the key from its backup, or name it with ",
    KEY,
    f" or {ENVIRONMENT}. If it is lost for good, the releases that are out stay as safe as they are, but do "
    "not publish the people in them again.",
)
"""Advice about a missing or wrong key."""


def read_facts(connection: sa.Connection) -> dict[str, str]:
    """Read the metadata of the ledger: format, uid, time of creation, key fingerprint, encrypted secrets, seal."""
    return {row.name: row.content for row in connection.execute(sa.select(LEDGER))}


def write_facts(connection: sa.Connection, key: LedgerKey, secrets: Secrets, facts: Mapping[str, str]) -> None:
    """Write the metadata of the ledger, with its encrypted secrets and its seal.

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
    written = {name: facts[name] for name in ("format", "uid", "created", "accepted")}
    written["key_fingerprint"] = key.fingerprint
    written["secrets"] = key.wrap(secrets, written["uid"]).hex()
    written["seal"] = _seal(connection, secrets, written)
    connection.execute(LEDGER.delete().where(LEDGER.c.name.in_(written)))
    connection.execute(LEDGER.insert(), [{"name": name, "content": content} for name, content in written.items()])


def check_facts(connection: sa.Connection, secrets: Secrets) -> None:
    """Check the seal of the metadata and of the list of series.

    Raises
    ------
    LedgerError
        If one of them was changed.
    """
    facts = read_facts(connection)
    if not compare_digest(facts.get("seal", ""), _seal(connection, secrets, facts)):
        raise LedgerError(f"The list of the series in the ledger {EDITED}")


def _seal(connection: sa.Connection, secrets: Secrets, facts: Mapping[str, str]) -> str:
    """Compute the seal of the metadata and of the list of series."""
    listed = [list(row) for row in connection.execute(sa.select(SERIES.c.uid, SERIES.c.name).order_by(SERIES.c.id))]
    return secrets.seal(
        "ledger", to_canonical_json({name: facts.get(name) for name in _SEALED}), to_canonical_json(listed)
    )
