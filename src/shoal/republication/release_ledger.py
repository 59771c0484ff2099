"""The release ledger: the publisher's private memory of who was published with which signature."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from shoal._core.unpicklable import Unpicklable
from shoal._core.validation import Boolean, Integer, OneOf, RationalIn, validate
from shoal._messages import Suggestion
from shoal.errors import LedgerError, ParameterError, near_matches
from shoal.republication.ledger.acceptance import RISK, accept
from shoal.republication.ledger.journal import check_written
from shoal.republication.ledger.records import RecordedSeries, SeriesColumns, series_names, series_row
from shoal.republication.ledger.rotation import rotate
from shoal.republication.ledger.storage import now
from shoal.republication.ledger.store import LOG, Store, read_facts, write_facts
from shoal.republication.ledger.tables import SERIES
from shoal.republication.m_invariance.generalization import BALANCINGS
from shoal.republication.overlap import another_series
from shoal.republication.series import Series
from shoal.republication.series_audit import releases_of
from shoal.table import Schema, roles

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Ledger"]

_LONGEST_NAME = 200


class Ledger(Unpicklable):
    """A database of series of releases: an SQLite file, or PostgreSQL.

    What it remembers of people is encrypted. Three things belong together: the database; its *key*, without which
    nobody can tell who was published; and its *anchor*, a small file beside the key that says how far each series has
    come, so that no ledger from an older backup is taken for the newest. Back the database up after every release, keep
    the key in another place than its backups, and leave the anchor out of them.

    Parameters
    ----------
    url : str or path
        The file of the ledger, or `postgresql+psycopg://user@host/database`.
    key : str, path or bytes, optional
        The file with the key, or the 32 bytes themselves. By default the environment variable `SHOAL_LEDGER_KEY` (64
        hexadecimal digits) where it is set, else the file beside the ledger, `releases.db.key`.
    anchor : str or path, optional
        The file with the anchor. By default the environment variable `SHOAL_LEDGER_ANCHOR` where it is set, else the
        file beside the key, `releases.db.anchor`.
    create : bool, default False
        Whether a ledger that does not exist is made, with a new key and a new anchor. None is made where there is a key
        or an anchor already.
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
        """Start a series of releases. It keeps what it is started with, or its promise would not hold.

        All releases of a person belong in one series: two know nothing of each other, and together they may betray whom
        both show, though each of them alone does not. Starting a second series of a ledger says so.

        Parameters
        ----------
        name : str
            The name of the series, which the ledger has not yet.
        m : int
            Nobody shall learn a sensitive value with a confidence above 1/m.
        identifier : str
            The column that names each person, the same in all releases; it is never published.
        quasi_identifiers : sequence of str
            Columns that an adversary knows.
        sensitive : str or sequence of str
            The column that must not be linked to a person. Of several, the combination is protected: nobody learns it
            with a confidence above 1/m, but one of the columns alone may be surer.
        direct_identifiers : sequence of str, optional
            Further columns that are dropped.
        counterfeits : {"independent", "fewest", "paper"}
            What takes the place of a value that is short. With "independent" counterfeits alone do, and the bound 1/m
            holds for readers who know how shoal works, too. With "fewest" new people do wherever possible, and with
            "paper" as in the paper: far fewer counterfeits, but who knows the algorithm can conclude from them, and
            from who is new in a group, what some people have.
        anew : bool, default False
            Your word that releases of another series of the same name, which lie beside the ledger, in the present
            folder, or later beside an output, are of other people. Without it they are an error: the ledger that
            they came from may be lost, and this one would take their people for new ones.

        Returns
        -------
        Series
            Its `notes` say what there is to know, in sentences.

        Raises
        ------
        LedgerError
            Where there is a series of that name, or releases of one.
        """
        _check_name(name)
        validate(
            "start",
            {"m": m, "counterfeits": counterfeits, "anew": anew},
            {"m": Integer(low=2, high=_LARGEST_M), "counterfeits": OneOf(BALANCINGS), "anew": Boolean()},
        )
        series = RecordedSeries(
            id=0,
            uid=secrets.token_hex(16),
            name=name,
            m=int(m),
            counterfeits=counterfeits,
            columns=_columns(
                {
                    "identifier": identifier,
                    "quasi_identifiers": quasi_identifiers,
                    "sensitive": sensitive,
                    "direct_identifiers": direct_identifiers,
                }
            ),
            anew=anew,
            created=now(),
            seal="",
            releases=(),
        )
        store = self._store
        keys = store.keys(series)
        series = series.with_releases((), keys)
        with store.publishing():
            with store.database.writing() as connection:
                others = series_names(connection)
                if name in others:
                    raise LedgerError(
                        f"The series '{name}' is in the ledger already. Open it with series(...), or choose another "
                        "name."
                    )
                if not anew:
                    _refuse_traces(name, store.nearby)
                connection.execute(SERIES.insert(), series_row(series))
                write_facts(connection, store.key, store.secrets, read_facts(connection))
                check_written(connection, series, keys)
                store.expect(series)
            store.confirm()
        notes = (another_series(name, others),) if others else ()
        for sentence in notes:
            LOG.warning(sentence)
        return Series(store, name, series.m, series.columns, notes=notes)

    def series(self, name: str) -> Series:
        """Open a series of releases that was started before.

        Parameters
        ----------
        name : str
            The name of the series.

        Raises
        ------
        LedgerError
            Where the ledger has no series of that name.
        """
        _check_name(name)
        with self._store.database.reading() as connection:
            held = self._store.read(connection, name)
            known = series_names(connection)
        if held is None:
            others = near_matches(name, known) if known else "The ledger has no series yet."
            raise LedgerError(
                f"There is no series '{name}' in the ledger. {others} A new one is started with start(...) (shoal "
                "republish init). If it was there before, the ledger is not the newest: restore a newer backup."
            )
        return Series(self._store, held.name, held.m, held.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all series, in the order in which they were started."""
        with self._store.database.reading() as connection:
            return tuple(series_names(connection))

    @property
    def address(self) -> str:
        """Where the ledger is, without a password."""
        return self._store.address.shown

    @property
    def key_file(self) -> str | None:
        """The file with the key; None where it came from elsewhere."""
        return None if self._store.key_path is None else str(self._store.key_path)

    @property
    def anchor_file(self) -> str:
        """The file with the anchor."""
        return str(self._store.anchor.path)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is unwise about where the ledger, its key and its anchor are, in sentences."""
        return self._store.warnings

    def recover(self) -> list[str]:
        """Finish or take back what a crash interrupted, and say what became of it.

        Every publish does this by itself.

        Returns
        -------
        list of str
            A sentence for each interrupted release; empty where there was none.
        """
        with self._store.publishing() as told:
            return told

    def rotate_key(self, key_file: str | os.PathLike[str] | None = None) -> None:
        """Give the ledger another key, and encrypt and seal everything in it anew.

        For when somebody who knew the key must not know it any longer, or to move the key elsewhere. It protects what
        the ledger will hold: whoever has the old key and an old copy of the database can read that copy for good.

        Parameters
        ----------
        key_file : path, optional
            Where the new key is to be; by default in the place of the old one. The anchor stays beside the key.

        Raises
        ------
        LedgerError
            Where the key is in no file and none is named, or the new one cannot be written.
        """
        store = self._store
        target = store.key_path if key_file is None else Path(key_file).expanduser().absolute()
        if target is None:
            raise LedgerError(
                "The key of the ledger is in no file: name one for the new key (key_file=..., --new-key)."
            )
        rotate(store, target, store.anchor_for(target))

    def accept(self, *, risk: bool, last: Mapping[str, int] | None = None) -> list[str]:
        """Take the ledger as it is for the newest, though its anchor knows better, or is lost.

        For a ledger that was restored from a backup on purpose, when there is no newer one. Releases that it does not
        know stay in its history as lost, and what is said of the series names them.

        Parameters
        ----------
        risk : bool
            Your word that you know what that means for people who were first published in a lost release: they are
            taken for new ones, and the releases together may betray each of them. False is an error that says so.
        last : mapping of str to int, optional
            For a series the number of the last release that was published, where the anchor is lost.

        Returns
        -------
        list of str
            What was accepted, in sentences; empty where nothing was amiss.

        Raises
        ------
        LedgerError
            Where the ledger itself is not as shoal wrote it.
        """
        validate("accept", {"risk": risk}, {"risk": Boolean()})
        if not risk:
            raise LedgerError(
                "A ledger that is not the newest forgot people who were published. " + RISK + " If there is no newer "
                "backup and you go on nevertheless, say so: accept(risk=True) (--risk)."
            )
        return accept(self._store, dict(last or {}))

    def close(self) -> None:
        """Give up what connections are left; the ledger opens new ones when it needs them."""
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


def _refuse_traces(name: str, nearby: Sequence[Path]) -> None:
    """Check that no releases of a series of that name lie where those of the new one would."""
    found = releases_of(name, nearby)
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
    if not isinstance(name, str):
        raise ParameterError(f"The 'name' parameter of series must be a text. Got {type(name).__name__}.")
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise ParameterError(
            f"The 'name' parameter of series must be a printable text of at most {_LONGEST_NAME} characters that is "
            "not blank."
        )


def _columns(given: dict[str, Any]) -> SeriesColumns:
    """Check the columns of a series, and return their roles."""
    identifier = given["identifier"]
    if not isinstance(identifier, str):
        raise ParameterError(
            f"The 'identifier' parameter of start must be the name of one column. Got {type(identifier).__name__}."
        )
    named = roles(**{role: given[role] for role in ("quasi_identifiers", "sensitive", "direct_identifiers")})
    columns = SeriesColumns(
        identifier=identifier,
        quasi_identifiers=named.quasi_identifiers,
        sensitive=named.sensitive,
        direct_identifiers=named.direct_identifiers,
    )
    schema = Schema(
        quasi_identifiers=columns.quasi_identifiers,
        sensitive=columns.sensitive,
        direct_identifiers=(columns.identifier, *columns.direct_identifiers),
    )
    schema.check_known((*schema.published, *schema.direct_identifiers))
    for role in ("quasi_identifiers", "sensitive"):
        if not getattr(columns, role):
            raise ParameterError(f"The '{role}' parameter of start must name at least one column.")
    taken = [name for name in schema.published if name in ("group_id", "")]
    if taken:
        raise ParameterError(
            f"A column of a series cannot be named '{taken[0]}': releases have a column 'group_id' of their own, and "
            "no column without a name. Rename it."
        )
    return columns
