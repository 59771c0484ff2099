"""The release ledger: the publisher's private record of who was published with which signature."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal

from shoal._core.unpicklable import Unpicklable
from shoal._core.validation import Boolean, Integer, OneOf, RationalIn, validate
from shoal._core.words import is_visible
from shoal._messages import Suggestion
from shoal.errors import LedgerError, ParameterError, near_matches
from shoal.republication.ledger.advice import NEW_KEY, RISK, START
from shoal.republication.ledger.journal import check_written
from shoal.republication.ledger.records import SERIES, RecordedSeries, SeriesColumns, list_series, to_series_row
from shoal.republication.ledger.storage import now
from shoal.republication.ledger.store import LOG, Store, read_facts, write_facts
from shoal.republication.ledger.upkeep import ACCEPTANCE_RISK, accept, rotate
from shoal.republication.lookalikes import describe_other_series
from shoal.republication.m_invariance.generalization import BALANCINGS
from shoal.republication.series import Series
from shoal.republication.series_audit import find_release_folders
from shoal.table import Schema, roles
from shoal.verification.published_folder import GROUP

_LONGEST_NAME = 200
"""Largest number of characters of a series' name."""


class Ledger(Unpicklable):
    """A database of series of releases: an SQLite file, or PostgreSQL.

    The memory of people is encrypted. Three things belong together: the database; its *key*, without which published
    people cannot be recognized; and its *anchor*, a small file next to the key that records how far each series has
    come, so that a ledger from an older backup is never mistaken for the newest. Back up the database after every
    release, keep the key apart from these backups, and leave the anchor out of them.

    Parameters
    ----------
    url : str or path
        The file of the ledger, or `postgresql+psycopg://user@host/database`.
    key : str, path or bytes, optional
        The file with the key, or the 32 bytes themselves. By default the environment variable `SHOAL_LEDGER_KEY` (64
        hexadecimal digits) if it is set, else the file next to the ledger, `releases.db.key`.
    anchor : str or path, optional
        The file with the anchor. By default the environment variable `SHOAL_LEDGER_ANCHOR` if it is set, else the file
        next to the key, `releases.db.anchor`.
    create : bool, default False
        Whether to create a ledger that does not exist, with a new key and a new anchor. No ledger is created if a key
        or an anchor exists.
    wait : float, default 30
        Seconds to wait for another process that publishes.

    Raises
    ------
    LedgerError
        If the ledger cannot be used, for example because it is damaged, was written by a newer version, or its key is
        lost. The message explains what to do.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Ledger(f"{folder.name}/releases.db", key=f"{folder.name}/keys.key", create=True) as ledger:
    ...     series = ledger.start(
    ...         "admissions", m=4, identifier="patient_id", quasi_identifiers=["age", "zip"], sensitive="disease"
    ...     )
    >>> series
    Series('admissions', m=4)
    >>> folder.cleanup()
    """

    _holds: ClassVar[str] = "the way to a database, and its secrets"
    _instead: ClassVar[str] = "Open the ledger there."

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        key: str | os.PathLike[str] | bytes | None = None,
        anchor: str | os.PathLike[str] | None = None,
        create: bool = False,
        wait: float = 30.0,
    ) -> None:
        validate(
            "Ledger",
            {"create": create, "wait": wait},
            {"create": Boolean(), "wait": RationalIn(low=Fraction(0), high=Fraction(86_400))},
        )
        # The store opens or creates the database, the key and the anchor.
        self._store = Store(url, key=key, anchor=anchor, create=create, wait=float(wait))
        for sentence in self._store.warnings:
            LOG.warning(sentence)

    def start(
        self,
        name: str,
        *,
        m: int,
        identifier: str,
        quasi_identifiers: Sequence[str],
        sensitive: str | Sequence[str],
        direct_identifiers: Sequence[str] = (),
        counterfeits: Literal["independent", "fewest", "paper"] = "independent",
        anew: bool = False,
    ) -> Series:
        """Start a series of releases.

        The columns and m of a series cannot be changed later, because its guarantee depends on them. All releases of a
        person belong in one series. Two series do not know each other: their releases together may disclose the value
        of a person who is in both, although each series alone does not. Starting a second series in a ledger adds a
        note about this.

        Parameters
        ----------
        name : str
            The name of the series, new in the ledger.
        m : int
            An adversary must not infer a sensitive value with a confidence above 1/m.
        identifier : str
            The column that identifies a person, the same in all releases; it is never published.
        quasi_identifiers : sequence of str
            Columns that an adversary knows.
        sensitive : str or sequence of str
            The column that must not be linked to a person. If there are several, their combination is protected by the
            bound 1/m; one of the columns alone may be inferred with a higher confidence.
        direct_identifiers : sequence of str, optional
            Further columns that are dropped.
        counterfeits : {"independent", "fewest", "paper"}
            How missing values of a bucket are filled. With "independent" only counterfeits fill them, and the bound 1/m
            also holds for readers who know the algorithm. With "fewest" new people fill them as far as possible, and
            with "paper" in the order of the paper. Both need far fewer counterfeits, but a reader who knows the
            algorithm can infer some people's values from the counterfeits and from who is new in a group.
        anew : bool, default False
            Assert that releases of another series of the same name, found next to the ledger, in the current folder, or
            later next to an output, are of other people. Otherwise they are an error, because the ledger that they came
            from may be lost, and this ledger would treat their people as new.

        Returns
        -------
        Series
            Its `notes` are sentences for the publisher.

        Raises
        ------
        LedgerError
            If there is a series of that name, or releases of one.
        """
        _check_name(name)
        validate(
            "start",
            {"m": m, "counterfeits": counterfeits, "anew": anew},
            {"m": Integer(low=2, high=_LARGEST_M), "counterfeits": OneOf(BALANCINGS), "anew": Boolean()},
        )
        # The record of an empty series; its seals follow once its keys are derived.
        series = RecordedSeries(
            id=0,
            uid=secrets.token_hex(16),
            name=name,
            m=int(m),
            counterfeits=counterfeits,
            columns=_columns(identifier, quasi_identifiers, sensitive, direct_identifiers),
            anew=anew,
            created=now(),
            seal="",
            releases=(),
        )
        store = self._store
        # Write the series and the list of series, and let the anchor expect it before the commit.
        with store.lock_for_publishing():
            keys = store.derive_keys(series)
            series = series.with_releases((), keys)
            with store.database.open_for_writing() as connection:
                others = list_series(connection)
                if name in others:
                    raise LedgerError(f"The series '{name}' is in the ledger already. Open it, or choose another name.")
                if not anew:
                    _refuse_traces(name, store.release_folders)
                connection.execute(SERIES.insert(), to_series_row(series))
                write_facts(connection, store.key, store.secrets, read_facts(connection))
                check_written(connection, series, keys)
                store.expect(series)
            store.confirm()
        # A second series in a ledger is legal but risky.
        notes = (describe_other_series(name, others),) if others else ()
        for sentence in notes:
            LOG.warning(sentence)
        return Series(store, name, series.m, series.columns, notes=notes)

    def series(self, name: str) -> Series:
        """Open a series of releases.

        Parameters
        ----------
        name : str
            The name of the series.

        Raises
        ------
        LedgerError
            If the ledger has no series of that name.
        """
        _check_name(name)
        held, known = self._store.read(
            lambda connection: (self._store.read_series(connection, name), list_series(connection))
        )
        # An unknown name may be a typing error, or a sign of an old backup.
        if held is None:
            others = near_matches(name, known) if known else "The ledger has no series yet."
            raise LedgerError(
                f"There is no series '{name}' in the ledger. {others} A new one is started with ",
                START,
                ". If it was there before, the ledger is not the newest: restore a newer backup.",
            )
        return Series(self._store, held.name, held.m, held.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all series, in the order in which they were started."""
        with self._store.database.open_for_reading() as connection:
            return tuple(list_series(connection))

    @property
    def address(self) -> str:
        """The path or URL of the ledger, without a password."""
        return self._store.address.shown

    @property
    def key_file(self) -> str | None:
        """The file with the key, or None if the key has another source."""
        return None if self._store.key_path is None else str(self._store.key_path)

    @property
    def anchor_file(self) -> str:
        """The file with the anchor."""
        return str(self._store.anchor.path)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the places of the ledger, its key and its anchor, as sentences."""
        return self._store.warnings

    def recover(self) -> list[str]:
        """Complete or take back the releases that a crash interrupted. Every publish does this first.

        Returns
        -------
        list of str
            A sentence for each interrupted release; empty if there was none.
        """
        with self._store.lock_for_publishing() as recovered:
            return recovered

    def rotate_key(self, key_file: str | os.PathLike[str] | None = None) -> None:
        """Give the ledger a new key, and encrypt and seal its content with it.

        Use this if a person who knew the key must no longer know it, or to move the key. It protects only what the
        ledger will hold: an old copy of the database can still be read with the old key.

        Parameters
        ----------
        key_file : path, optional
            The file for the new key. By default it replaces the old one. The anchor stays next to the key.

        Raises
        ------
        LedgerError
            If the key is in no file and none is named, or the new key cannot be written.
        """
        store = self._store
        # By default the new key replaces the file of the old one, after the ledger is committed under the new one.
        target = store.key_path if key_file is None else Path(key_file).expanduser().absolute()
        if target is None:
            raise LedgerError(
                "The key of the ledger is in no file. Name one for the new key with ",
                NEW_KEY,
                ".",
            )
        rotate(store, target, store.get_anchor_path(target))

    def accept(self, *, risk: bool, last: Mapping[str, int] | None = None) -> list[str]:
        """Accept this ledger as current although its anchor is newer or lost.

        Use this for a ledger that was restored from a backup on purpose because there is no newer one. Releases that it
        does not know stay in its history as lost, and the guarantee of the series names them.

        Parameters
        ----------
        risk : bool
            Confirms that you accept the risk for people who were first published in a lost release: they are treated as
            new, and the releases together may disclose their values. False is an error that explains this.
        last : mapping of str to int, optional
            The number of the last published release of each series, if the anchor is lost.

        Returns
        -------
        list of str
            What was accepted, as sentences; empty if the ledger was current.

        Raises
        ------
        LedgerError
            If the ledger was changed by other software than shoal.
        """
        validate("accept", {"risk": risk}, {"risk": Boolean()})
        if not risk:
            raise LedgerError(
                "A ledger that is not the newest forgot people who were published. "
                + ACCEPTANCE_RISK
                + " If there is no newer backup, and you accept this risk, confirm that with ",
                RISK,
                ".",
            )
        return accept(self._store, dict(last or {}))

    def close(self) -> None:
        """Close the connections of the ledger; it opens new ones if it is used again."""
        self._store.database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._store.address.shown!r})"


_LARGEST_M = 1_000_000
"""Largest m of a series."""


def _refuse_traces(name: str, nearby: Sequence[Path]) -> None:
    """Check that there are no releases of a series of that name in the folders near the ledger."""
    found = find_release_folders(name, nearby)
    if found:
        raise LedgerError(
            f"'{found[0]}' holds a release of a series named '{name}', which this ledger does not have: perhaps its "
            "ledger was lost, or lies elsewhere. In a new series the people in it would be taken for new ones, and the "
            "releases together may betray them. Nothing was started. Open that ledger, or restore it from a backup "
            "together with its key. Choose another name for other people; or, where the name must be the same, give "
            "your word that they are others: ",
            Suggestion("anew", True),
            ".",
        )


def _check_name(name: object) -> None:
    """Check the name of a series."""
    if not isinstance(name, str):
        raise ParameterError(f"The 'name' parameter of series must be a text. Got {type(name).__name__}.")
    if not name.strip() or len(name) > _LONGEST_NAME or not is_visible(name):
        raise ParameterError(
            f"The 'name' parameter of series must be a printable text of at most {_LONGEST_NAME} characters that is "
            "not blank."
        )


def _columns(identifier: object, quasi: Any, sensitive: Any, direct: Any) -> SeriesColumns:
    """Check the columns of a series, and assign their roles."""
    if not isinstance(identifier, str):
        raise ParameterError(
            f"The 'identifier' parameter of start must be the name of one column. Got {type(identifier).__name__}."
        )
    # The roles as `anonymize` checks them, and the identifier.
    named = roles(quasi, sensitive, direct_identifiers=direct)
    columns = SeriesColumns(
        identifier=identifier,
        quasi_identifiers=named.quasi_identifiers,
        sensitive=named.sensitive,
        direct_identifiers=named.direct_identifiers,
    )
    # A column has one role.
    schema = Schema(**columns.published, direct_identifiers=(identifier, *columns.direct_identifiers))
    schema.check_known((*schema.published, *schema.direct_identifiers))
    for role, names in columns.published.items():
        if not names:
            raise ParameterError(f"The '{role}' parameter of start must name at least one column.")
    # Names that the published table needs itself.
    taken = [name for name in schema.published if name in (GROUP, "")]
    if taken:
        raise ParameterError(
            f"A column of a series cannot be named '{taken[0]}': releases have a column 'group_id' of their own, and "
            "no column without a name. Rename it."
        )
    return columns
