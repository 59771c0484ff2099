"""The release ledger: the publisher's private memory of who was published with which signature."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from shoal._validation import Boolean, Integer, Optional, RationalIn, validate
from shoal.errors import LedgerError, ParameterError, near_matches
from shoal.publish import roles
from shoal.republication.ledger import journal
from shoal.republication.ledger.keys import ENVIRONMENT, LedgerKey, key_file_of, key_given, pending_of
from shoal.republication.ledger.records import (
    RecordedSeries,
    SeriesColumns,
    read_series,
    series_names,
    series_row,
)
from shoal.republication.ledger.storage import Address, Database, create_database, migrate, now
from shoal.republication.ledger.tables import FORMAT, LEDGER, SERIES
from shoal.republication.series import Series
from shoal.table import Schema

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Ledger"]

_LOG = logging.getLogger("shoal.republication")
_LONGEST_NAME = 200


class Ledger:
    """A database of series of releases: an SQLite file, or PostgreSQL.

    It holds no id of a person, only keyed hashes of ids; the key lies in a file of its own. Keep both as safe as the
    microdata, back both up after every release, and never in the same place as the releases.

    Parameters
    ----------
    url : str or path
        The file of the ledger, or `postgresql+psycopg://user@host/database`.
    key : str, path or bytes, optional
        The file with the key, or the 32 bytes themselves. By default the environment variable `SHOAL_LEDGER_KEY` (64
        hexadecimal digits) where it is set, else the file beside the ledger, `releases.db.key`.
    create : bool, default True
        Whether a ledger that does not exist is made, with a new key.
    wait : float, default 30
        Seconds to wait for another process that publishes.

    Raises
    ------
    LedgerError
        Where the ledger cannot be used: it is damaged, was made by a newer version, or its key is lost. The message
        says what to do.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Ledger(f"{folder.name}/releases.db") as ledger:
    ...     series = ledger.series(
    ...         "admissions", m=4, identifier="patient_id", quasi_identifiers=["age", "zip"], sensitive="disease"
    ...     )
    >>> series
    Series('admissions', m=4)
    >>> folder.cleanup()
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        key: str | os.PathLike[str] | bytes | None = None,
        create: bool = True,
        wait: float = 30.0,
    ) -> None:
        validate(
            "Ledger",
            {"create": create, "wait": wait},
            {"create": Boolean(), "wait": RationalIn(low=Fraction(0), high=Fraction(86_400))},
        )
        self._address = Address.parse(url)
        held = key_given(key)
        if held is None and ENVIRONMENT in os.environ:
            held = LedgerKey.parse(os.environ[ENVIRONMENT], source=f"The environment variable {ENVIRONMENT}")
        if held is None and self._address.path is not None:
            held = key_file_of(self._address.path)
        if held is None:
            raise LedgerError(
                "A ledger in PostgreSQL needs its key: name a file outside of the database with key=... (--key; it is "
                f"made where it does not exist), or set {ENVIRONMENT}."
            )
        self._key_path = held if isinstance(held, Path) else None
        self._database = Database(self._address, wait=float(wait))
        self._wait = float(wait)
        if not self._exists():
            if not create:
                raise LedgerError(
                    f"There is no ledger '{self._address.shown}'. Make one with shoal republish init, or check the "
                    "name. If it was there before, restore it from a backup: without it, people who were published "
                    "would be taken for new ones."
                )
            self._create(held)
        self._key = self._opened(held)

    def series(
        self,
        name: str,
        *,
        m: int | None = None,
        identifier: str | None = None,
        quasi_identifiers: Sequence[str] | None = None,
        sensitive: str | Sequence[str] | None = None,
        direct_identifiers: Sequence[str] | None = None,
    ) -> Series:
        """Open a series of releases, or start it.

        Parameters
        ----------
        name : str
            The name of the series.
        m : int, optional
            Nobody shall learn a sensitive value with a confidence above 1/m. Needed to start a series.
        identifier : str, optional
            The column that names each person, the same in all releases; it is never published. Needed to start one.
        quasi_identifiers : sequence of str, optional
            Columns that an adversary knows. Needed to start a series.
        sensitive : str or sequence of str, optional
            The column that must not be linked to a person; needed to start a series. Of several, the combination is
            protected: nobody learns it with a confidence above 1/m, but one of the columns alone may be surer.
        direct_identifiers : sequence of str, optional
            Further columns that are dropped.

        Raises
        ------
        LedgerError
            Where the series exists and is another one than described, or does not exist and is not described.
        """
        _check_name(name)
        given = {
            "m": m,
            "identifier": identifier,
            "quasi_identifiers": quasi_identifiers,
            "sensitive": sensitive,
            "direct_identifiers": direct_identifiers,
        }
        validate("series", given, {"m": Optional(Integer(low=2, high=_LARGEST_M))})
        given = _as_names(given)
        with self._database.reading() as connection:
            held = read_series(connection, name, self._key)
            known = series_names(connection)
        if held is None:
            missing = [field for field in ("m", "identifier", "quasi_identifiers", "sensitive") if given[field] is None]
            if missing:
                others = f" {near_matches(name, known)}" if known else " The ledger has no series yet."
                raise LedgerError(
                    f"There is no series '{name}' in the ledger.{others} To start it, give {', '.join(missing)} too."
                )
            held = self._start(name, given)
        _check_same(held, given)
        return Series(self, held.name, held.m, held.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all series, in the order in which they were started."""
        with self._database.reading() as connection:
            return tuple(series_names(connection))

    @property
    def address(self) -> str:
        """Where the ledger is, without a password."""
        return self._address.shown

    @property
    def key_file(self) -> str | None:
        """The file with the key; None where it came from elsewhere."""
        return None if self._key_path is None else str(self._key_path)

    def recover(self) -> list[str]:
        """Finish or take back what a crash interrupted, and say what became of it.

        Every publish does this by itself.

        Returns
        -------
        list of str
            A sentence for each interrupted release; empty where there was none.
        """
        with self._publishing() as told:
            return told

    def close(self) -> None:
        """Give up what connections are left; the ledger opens new ones when it needs them."""
        self._database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._address.shown!r})"

    @contextmanager
    def _publishing(self) -> Iterator[list[str]]:
        """Be the only publisher, with nothing unfinished left; yields what there was to finish."""
        with self._database.publishing():
            with self._database.writing() as connection:
                told = journal.recover(connection, self._key)
            for sentence in told:
                _LOG.warning(sentence)
            yield told

    def _exists(self) -> bool:
        path = self._address.path
        if path is None:
            with self._database.reading() as connection:
                return bool(sa.inspect(connection).has_table(LEDGER.name))
        if not path.exists():
            return False
        if not path.is_file():
            raise LedgerError(f"'{path}' is not a file. A ledger is one file: give another name.")
        if path.stat().st_size == 0:
            raise LedgerError(
                f"The ledger '{path}' is empty: it was truncated, or something else made the file. Restore it from a "
                "backup. Remove the file only if there never was a ledger."
            )
        return True

    def _create(self, held: LedgerKey | Path) -> None:
        """Make the ledger, and its key unless there is one; a crash leaves nothing that looks like a ledger."""
        if isinstance(held, LedgerKey):
            create_database(self._address, held, wait=self._wait)
            return
        if held.exists() and self._address.path is not None and held == key_file_of(self._address.path):
            raise LedgerError(
                f"There is a key '{held}', but no ledger '{self._address.shown}'. If the ledger was lost, restore it "
                "from a backup: in a new one, people who were published would be taken for new ones. Remove the key "
                "only if nothing was ever published with it."
            )
        if held.exists():
            create_database(self._address, LedgerKey.read(held), wait=self._wait)
            return
        key, pending = LedgerKey.new(), pending_of(held)
        try:
            pending.unlink(missing_ok=True)  # of a crash: a ledger with this key would be there
            key.write(pending)
            create_database(self._address, key, wait=self._wait)
            pending.rename(held)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else type(error).__name__
            raise LedgerError(f"The key file '{held}' cannot be made: {reason}.") from None

    def _opened(self, held: LedgerKey | Path) -> LedgerKey:
        """Check the format and the key of the ledger, and bring an older one up to date."""
        with self._database.reading() as connection:
            facts = {row.name: row.content for row in connection.execute(sa.select(LEDGER))}
        version = facts.get("format", "")
        if not version.isdecimal() or "key_fingerprint" not in facts:
            raise LedgerError(
                f"The ledger '{self._address.shown}' is damaged: it does not say what format it has. Restore it from a "
                "backup, together with its key."
            )
        if int(version) > FORMAT:
            raise LedgerError(
                f"The ledger '{self._address.shown}' has format {version}; this version of shoal knows formats up to "
                f"{FORMAT}. Update shoal: pip install --upgrade shoal"
            )
        key = held if isinstance(held, LedgerKey) else self._key_of(held, facts["key_fingerprint"])
        if not key.fits(facts["key_fingerprint"]):
            raise LedgerError(f"This is not the key of the ledger '{self._address.shown}'. {_LOST}")
        if int(version) < FORMAT:
            with self._database.publishing(), self._database.writing() as connection:
                migrate(connection)
                connection.execute(LEDGER.update().where(LEDGER.c.name == "format").values(content=str(FORMAT)))
        return key

    def _key_of(self, path: Path, fingerprint: str) -> LedgerKey:
        if not path.exists():
            pending = pending_of(path)
            if not pending.exists():
                raise LedgerError(f"The key '{path}' of the ledger '{self._address.shown}' is not there. {_LOST}")
            key = LedgerKey.read(pending)
            if key.fits(fingerprint):  # the ledger was made, and then the machine stopped
                pending.rename(path)
            return key
        return LedgerKey.read(path)

    def _start(self, name: str, given: dict[str, Any]) -> RecordedSeries:
        columns = _columns(given)
        series = RecordedSeries(
            id=0,
            uid=secrets.token_hex(16),
            name=name,
            m=int(given["m"]),
            columns=columns,
            created=now(),
            seal="",
            releases=(),
        )
        series = series.with_releases((), self._key.of_series(series.uid))
        with self._database.publishing(), self._database.writing() as connection:
            held = read_series(connection, name, self._key)  # another process may have been faster
            if held is not None:
                return held
            inserted = connection.execute(SERIES.insert(), series_row(series))
        return replace(series, id=int((inserted.inserted_primary_key or (0,))[0]))


_LARGEST_M = 1_000_000
_LOST = (
    "Without the right key nobody can tell who was published before: everyone would get a new signature, and the old "
    "and new releases together could betray them. Restore the key from its backup (or name it: key=..., --key, or "
    f"{ENVIRONMENT}). If it is lost for good, the releases that are out stay as safe as they are, but do not publish "
    "the people in them again."
)


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise ParameterError(f"The 'name' parameter of series must be a text. Got {type(name).__name__}.")
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise ParameterError(
            f"The 'name' parameter of series must be a printable text of at most {_LONGEST_NAME} characters that is "
            "not blank."
        )


def _as_names(given: dict[str, Any]) -> dict[str, Any]:
    """Return a description of a series with tuples of names, where it has names at all."""
    identifier = given["identifier"]
    if identifier is not None and not isinstance(identifier, str):
        raise ParameterError(
            f"The 'identifier' parameter of series must be the name of one column. Got {type(identifier).__name__}."
        )
    named = dict(given)
    for role in ("quasi_identifiers", "sensitive", "direct_identifiers"):
        if given[role] is not None:
            named[role] = getattr(roles(**{"quasi_identifiers": (), "sensitive": None, role: given[role]}), role)
    return named


def _columns(given: dict[str, Any]) -> SeriesColumns:
    """Check the columns of a series, and return their roles."""
    columns = SeriesColumns(
        identifier=given["identifier"],
        quasi_identifiers=given["quasi_identifiers"],
        sensitive=given["sensitive"],
        direct_identifiers=given["direct_identifiers"] or (),
    )
    schema = Schema(
        quasi_identifiers=columns.quasi_identifiers,
        sensitive=columns.sensitive,
        direct_identifiers=(columns.identifier, *columns.direct_identifiers),
    )
    schema.check_known((*schema.published, *schema.direct_identifiers))
    for role in ("quasi_identifiers", "sensitive"):
        if not getattr(columns, role):
            raise ParameterError(f"The '{role}' parameter of series must name at least one column.")
    taken = [name for name in schema.published if name in ("group_id", "")]
    if taken:
        raise ParameterError(
            f"A column of a series cannot be named '{taken[0]}': releases have a column 'group_id' of their own, and "
            "no column without a name. Rename it."
        )
    return columns


def _check_same(held: RecordedSeries, given: dict[str, Any]) -> None:
    """Check that a series is as the caller describes it, where the caller does."""
    columns = held.columns
    there = {
        "m": held.m,
        "identifier": columns.identifier,
        "quasi_identifiers": columns.quasi_identifiers,
        "sensitive": columns.sensitive,
        "direct_identifiers": columns.direct_identifiers,
    }
    differing = []
    for name, value in there.items():
        asked = given[name]
        if asked is None:
            continue
        if asked != value:
            differing.append(f"{name} (there {_spoken(value)}, given {_spoken(asked)})")
    if differing:
        raise LedgerError(
            f"The series '{held.name}' was started with another {'; another '.join(differing)}. A series keeps what it "
            "was started with, or its promise would not hold. Leave that out, or start another series for other people."
        )


def _spoken(value: object) -> str:
    return ", ".join(f"'{name}'" for name in value) if isinstance(value, tuple) else repr(value)
