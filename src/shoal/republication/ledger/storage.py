"""The ledger's database, an SQLite file or PostgreSQL: opening, transactions, locks and errors."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from shoal._core.optional import require
from shoal._core.outcome import reason_of
from shoal.errors import LedgerBusyError, LedgerError, ParameterError, ShoalError
from shoal.republication.ledger.keys import check_mode
from shoal.republication.ledger.records import LEDGER

_LOCK = 0x5304A1
"""First half of the number of the publishers' lock in PostgreSQL."""
_NUMBER_OF_LEDGER = """
SELECT (CAST(:half AS bigint) << 32) | coalesce(
    CAST(CAST(to_regclass(:table) AS oid) AS bigint), CAST(hashtext(current_schema()) AS bigint) & 4294967295
)
"""
"""Query for this number. Its second half is the oid of the ledger's table, independent of the search path, or a hash
of the schema before the table exists. All series of a ledger share one lock, because they share one anchor."""


def now() -> str:
    """Get the current time in the format of the ledger."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, kw_only=True, repr=False)
class Address:
    """The place of a ledger."""

    path: Path | None
    """The file, for SQLite."""
    url: sa.URL | None
    """The database, for PostgreSQL."""

    @classmethod
    def parse(cls, given: object) -> Address:
        """Parse a path, or a URL of SQLite or PostgreSQL.

        Raises
        ------
        ParameterError
            If it is neither.
        """
        if not isinstance(given, str | os.PathLike) or not str(given):
            raise ParameterError(
                f"The 'url' parameter of Ledger must be a path or a database URL. Got {type(given).__name__}."
            )
        # Anything without a scheme is a path.
        if not isinstance(given, str) or "://" not in given:
            return cls(path=_resolve_path(given), url=None)
        try:
            url = sa.make_url(given)
        except (sa.exc.ArgumentError, ValueError):
            raise ParameterError(
                "The 'url' parameter of Ledger is no database URL. Give a path, sqlite:///releases.db, or "
                "postgresql+psycopg://user@host/database."
            ) from None
        if url.get_backend_name() == "sqlite" and url.database:
            return cls(path=_resolve_path(url.database), url=None)
        if url.drivername in ("postgresql", "postgresql+psycopg"):
            return cls(path=None, url=_require_encryption(url.set(drivername="postgresql+psycopg")))
        raise ParameterError(
            f"A ledger cannot be kept in '{url.drivername}'. Give a path (SQLite), or postgresql+psycopg://..."
        )

    @property
    def shown(self) -> str:
        """The address for messages, without a password."""
        return str(self.path) if self.url is None else self.url.render_as_string(hide_password=True)

    @property
    def warnings(self) -> Iterator[str]:
        """Warnings about the address, as sentences."""
        if self.url is None:
            return
        if self.url.password is not None:
            yield (
                "The address of the ledger holds a password, which other users of this machine may see among its "
                "processes, and which stays in the shell's history. Leave it out and put it into ~/.pgpass (chmod 600)."
            )
        if not _is_local(self.url) and self.url.query.get("sslmode") != "verify-full":
            yield (
                "The connection to the ledger's server need not be the server's own: sslmode is not verify-full. "
                "Anyone in between could read and change what is sent. Leave sslmode out: it is verify-full then."
            )

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def _resolve_path(given: str | os.PathLike[str]) -> Path:
    """Resolve symbolic links, because all names of a ledger must lead to one lock, one key and one anchor."""
    return Path(os.path.realpath(Path(given).expanduser()))


def _is_local(url: sa.URL) -> bool:
    """Check whether a server is on this machine, so that the connection cannot be intercepted."""
    named = url.query.get("host", url.host) or os.environ.get("PGHOST", "")
    hosts = [named] if isinstance(named, str) else list(named)
    return all(
        host in ("", "localhost", "::1") or host.startswith(("/", "@", "127."))
        for one in hosts
        for host in one.split(",")
    )


def _require_encryption(url: sa.URL) -> sa.URL:
    """Require that a remote server proves its identity, unless the URL sets `sslmode`."""
    if _is_local(url) or "sslmode" in url.query:
        return url
    return url.update_query_dict({"sslmode": os.environ.get("PGSSLMODE", "verify-full")})


class Database:
    """A ledger's database. Every connection is opened for one transaction and closed after it."""

    def __init__(self, address: Address, *, wait: float) -> None:
        self.address = address
        self.wait = wait
        self._engine = _open_sqlite(address.path, wait) if address.path is not None else _open_postgresql(address, wait)

    @contextmanager
    def open_for_reading(self) -> Iterator[sa.Connection]:
        """Open a transaction that sees one state of the ledger."""
        with _translate_errors(self.address), self._engine.connect() as connection:
            # SQLite transactions see one state anyway.
            if self.address.url is not None:
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def open_for_writing(self) -> Iterator[sa.Connection]:
        """Open a transaction that is committed as a whole, or rolled back if the block raises."""
        with (
            _translate_errors(self.address),
            self._engine.connect() as connection,
            connection.execution_options(shoal_writes=True).begin(),
        ):
            yield connection

    @contextmanager
    def lock_publishers(self) -> Iterator[None]:
        """Hold the publishers' lock, waiting up to `wait` seconds. The lock ends with this process at the latest.

        Raises
        ------
        LedgerBusyError
            If another process holds it longer.
        """
        with _lock_publishers(self.address, self._engine, self.wait):
            yield

    @contextmanager
    def open_for_creation(self) -> Iterator[sa.Connection]:
        """Open a transaction that creates the tables of an empty database. The caller holds the publishers' lock.

        An SQLite file is created under another name, so that a visible file is always complete.

        Raises
        ------
        LedgerError
            If the database exists, or cannot be created.
        """
        # PostgreSQL creates tables within a transaction.
        path = self.address.path
        if path is None:
            with self.open_for_writing() as connection:
                yield connection
            return
        # SQLite: a hidden file that is renamed when it is complete.
        made = path.with_name(f".{path.name}.new-{secrets.token_hex(4)}")
        engine = _open_sqlite(made, self.wait)
        try:
            with _translate_errors(self.address):
                # Remove the leftovers of a crash; no other process creates the ledger now.
                for leftover in path.parent.glob(glob.escape(f".{path.name}.new-") + "[0-9a-f]" * 8):
                    leftover.unlink(missing_ok=True)
                _create_private_file(made)
                with engine.connect() as connection, connection.execution_options(shoal_writes=True).begin():
                    yield connection
                made.rename(path)
        except OSError as error:
            raise LedgerError(f"The ledger '{path}' cannot be made: {reason_of(error)}.") from None
        finally:
            engine.dispose()
            with contextlib.suppress(OSError):
                made.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the remaining connections."""
        self._engine.dispose()

    def has(self, table: str) -> bool:
        """Check whether the database exists and has a table."""
        if self.address.path is None:
            with self.open_for_reading() as connection:
                return bool(sa.inspect(connection).has_table(table))
        return self.address.path.exists()

    def check_file(self) -> None:
        """Check that an SQLite file is private to its owner, and has one name.

        Raises
        ------
        LedgerError
            If it is not.
        """
        if self.address.path is not None:
            check_mode(self.address.path, "The ledger")
            _check_one_name(self.address.path)


def _check_one_name(path: Path) -> None:
    """Check that a file has no other hard link; otherwise the lock and SQLite's journals would not be found."""
    links = path.stat().st_nlink if path.exists() else 1
    if links > 1:
        raise LedgerError(
            f"The ledger '{path}' has {links} names (hard links). Publishers who use different names would not notice "
            "one another, and what a crash interrupted could not be mended. Keep one name and "
            "remove the others; use a symbolic link for another name, and a copy for a backup."
        )


def _create_private_file(path: Path) -> None:
    """Create an empty file that is private to its owner; SQLite gives its journals the same mode."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _open_sqlite(path: Path, wait: float) -> sa.Engine:
    """Open an engine on an existing file, so that a wrong name does not create an empty ledger."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(str(path))}?mode=rw",
            uri=True,
            timeout=wait,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA synchronous = EXTRA")  # what was committed survives a loss of power
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what was deleted is not left in the file
        return connection

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.NullPool, hide_parameters=True)

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        # Writers take the lock at the beginning, so that they never wait halfway.
        writes = connection.get_execution_options().get("shoal_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _open_postgresql(address: Address, wait: float) -> sa.Engine:
    """Open an engine on a PostgreSQL server, with a time limit for locks."""
    require("psycopg", extra="postgresql", purpose="A ledger in PostgreSQL")
    assert address.url is not None
    engine = sa.create_engine(address.url, poolclass=sa.NullPool, hide_parameters=True)

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {int(wait * 1000) + 1}")
        connection.commit()

    return engine


@contextmanager
def _lock_publishers(address: Address, engine: sa.Engine, wait: float) -> Iterator[None]:
    """Hold the publishers' lock: a lock file for SQLite, an advisory lock for PostgreSQL."""
    if address.path is not None:
        with _lock_file(address.path.with_name(address.path.name + ".lock"), wait):
            _check_one_name(address.path)
            yield
        return
    with _translate_errors(address, busy=BUSY), engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT")
        # PostgreSQL: an advisory lock, which ends with the connection.
        number = connection.scalar(sa.text(_NUMBER_OF_LEDGER), {"half": _LOCK, "table": LEDGER.name})
        connection.execute(sa.select(sa.func.pg_advisory_lock(number)))
        try:
            yield
        finally:
            # If the connection is lost, the lock is released already.
            with contextlib.suppress(sa.exc.DBAPIError):
                connection.execute(sa.select(sa.func.pg_advisory_unlock(number)))


@contextmanager
def _lock_file(path: Path, wait: float) -> Iterator[None]:
    """Hold a lock that ends with this process on every system: SQLite's lock on an empty file."""
    try:
        _create_private_file(path)
        lock = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
    except (sqlite3.Error, OSError):
        raise LedgerError(
            f"The lock '{path}' cannot be opened. Check that the folder exists and is writable."
        ) from None
    try:
        try:
            # The operating system releases the lock of a process that ends.
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if "locked" in str(error):
                raise LedgerBusyError(*BUSY) from None
            raise LedgerError(
                f"The lock '{path}' cannot be taken. Check that the folder exists and is writable, and remove the "
                "file if it is no lock of a ledger."
            ) from None
        yield
    finally:
        lock.close()


BUSY = (
    "Another process publishes with this ledger just now.",
    " Try again when it is done: two releases at once could contradict one another.",
)
"""Message about another publisher."""


@contextmanager
def _translate_errors(address: Address, *, busy: Sequence[str] | None = None) -> Iterator[None]:
    """Translate a database error into one that explains what to do.

    The text of the database is dropped because it may contain cells. The first part of the new message explains the
    error (`get_reason`), the second the outcome for a release.
    """
    try:
        yield
    except ShoalError:
        raise
    except (sa.exc.DBAPIError, sqlite3.Error) as error:
        raise _translate_error(error, address, busy) from None
    except sa.exc.SQLAlchemyError as error:
        raise LedgerError(f"The ledger '{address.shown}' cannot be used: {type(error).__name__}.") from None


_DAMAGED = (
    " is damaged: it was truncated, overwritten, or is no ledger.",
    (" Restore it from a backup, together with its key, and verify the series before you publish again."),
)
"""Message about a damaged database."""


def get_reason(error: LedgerError) -> str:
    """Get the part of the message that explains an error, without the outcome for a release."""
    return str(error.args[0])


def _translate_error(error: Exception, address: Address, busy: Sequence[str] | None) -> LedgerError:
    """Translate a database error by its text and SQLSTATE."""
    inner = getattr(error, "orig", None) or error
    text, state = str(inner).lower(), str(getattr(inner, "sqlstate", None) or "")
    where = f"The ledger '{address.shown}'"
    # Locked, or a conflict of transactions.
    if "locked" in text or state in ("55P03", "40001", "40P01"):
        return LedgerBusyError(*(busy or (f"{where} is in use by another process.", " Try again.")))
    # No space, or a failing disk.
    if "disk is full" in text or "disk i/o error" in text or state in ("53100", "53200"):
        return LedgerError(
            f"There is not enough space for the ledger '{address.shown}'.",
            " Free some space and publish again.",
        )
    # Damaged, or not a ledger.
    if any(sign in text for sign in ("malformed", "not a database", "no such table", "no such column")):
        return LedgerError(where + _DAMAGED[0], _DAMAGED[1])
    # A missing table or column in PostgreSQL.
    if state in ("42P01", "42703"):
        return LedgerError(where + _DAMAGED[0], _DAMAGED[1])
    # No permission, or no such file.
    if "readonly" in text or "read-only" in text or state in ("25006", "42501"):
        return LedgerError(f"{where} cannot be written: there is no permission.")
    if "unable to open" in text:
        return LedgerError(
            f"{where} cannot be opened. Check its name and that you may read and write it and its folder."
        )
    # The server cannot be reached.
    if address.url is not None and (not state or state.startswith(("08", "28", "3D", "57"))):
        return LedgerError(
            f"{where} cannot be reached{f' (PostgreSQL says {state})' if state else ''}. Check that the server runs, "
            "and the name, user and password in the URL. If this happened in the middle of a publish, the next start "
            "says what became of it."
        )
    # The kind of any other error, without its text.
    kind = type(inner).__name__ + (f" {state}" if state else "")
    return LedgerError(f"{where} cannot be used: the database reports {kind}.")
