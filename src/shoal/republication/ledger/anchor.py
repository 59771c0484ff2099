"""The anchor: a small file outside of the database that says how far each series has come.

Whoever restores an older database, or deletes a series from it, makes a ledger that forgot people and would publish
them as new ones, with other signatures. The ledger's seals cannot show that: an older ledger is whole. So the number
and the seal of the latest release of each series stand in a file beside the key as well, sealed, which is written
before every change of the database (what it will be) and after it (what it is). A ledger that is neither is refused.
"""

from __future__ import annotations

import json
import os
import secrets as randomness
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from shoal.errors import LedgerError
from shoal.republication.ledger.keys import check_mode, get_pending_path
from shoal.republication.ledger.records import to_canonical_json
from shoal.republication.ledger.tables import RELEASES, SERIES

if TYPE_CHECKING:
    from shoal.republication.ledger.keys import Secrets
    from shoal.republication.ledger.records import RecordedSeries

__all__ = ["Anchor", "get_default_anchor", "get_head", "read_heads"]

_FORMAT = 1
_WHAT_TO_DO = (
    "Nothing was published. If the database was restored from a backup, restore a newer one. If there is none, the "
    "people who were published since then can no longer be told from new ones; 'shoal republish accept' says what that "
    "means, and goes on."
)


@dataclass(frozen=True, kw_only=True)
class Head:
    """How far a series has come."""

    name: str
    """The series."""
    number: int
    """Its latest release; 0 where there is none."""
    seal: str
    """The seal of the series, which covers all of its releases."""


def get_head(series: RecordedSeries) -> Head:
    """Return how far a series has come."""
    return Head(name=series.name, number=series.releases[-1].number if series.releases else 0, seal=series.seal)


def read_heads(connection: sa.Connection) -> dict[str, Head]:
    """Return how far each series of a database has come, by the series' uid."""
    numbers = sa.select(RELEASES.c.series, sa.func.max(RELEASES.c.number).label("number")).group_by(RELEASES.c.series)
    latest = numbers.subquery()
    rows = connection.execute(
        sa.select(SERIES.c.uid, SERIES.c.name, SERIES.c.seal, latest.c.number)
        .outerjoin_from(SERIES, latest, SERIES.c.id == latest.c.series)
        .order_by(SERIES.c.id)
    )
    return {row.uid: Head(name=row.name, number=row.number or 0, seal=row.seal) for row in rows}


def get_default_anchor(key_file: Path) -> Path:
    """Return where the anchor lies unless told otherwise: beside the key."""
    return key_file.with_name(key_file.name.removesuffix(".key") + ".anchor")


@dataclass(frozen=True, kw_only=True)
class _AnchorState:
    """What an anchor says."""

    series: Mapping[str, Head]
    """How far each series has come, by its uid."""
    expected: Mapping[str, Sequence[Head]] = field(default_factory=dict)
    """Where a change that was about to be made may have led it."""
    token: str | None = None
    """What the database says as long as the change was not made; None where one that got lost does no harm."""


class Anchor:
    """The anchor of one ledger.

    Parameters
    ----------
    path : Path
        The file.
    uid : str
        The ledger's.
    secrets : Secrets
        The ledger's.
    """

    def __init__(self, path: Path, uid: str, secrets: Secrets) -> None:
        self.path = path
        self._uid = uid
        self._secrets = secrets

    def exists(self) -> bool:
        """Return whether the file is there."""
        return self.path.exists()

    def check(self, heads: Mapping[str, Head], token: str | None) -> None:
        """Check that a database is as far as the anchor says, or where the change led that was being made.

        Where that was a publish, the state before it is the right one only with the publish's own token in the
        database: without it the database was restored, and the release may be out.

        Parameters
        ----------
        heads : mapping of str to Head
            How far the series of the database have come.
        token : str, optional
            That of the publish which the database says was being made (`journal.read_token`).

        Raises
        ------
        LedgerError
            Where it is not; the message says what may have happened, and what to do.
        """
        held = self._read()
        for uid in {**held.series, **heads}:
            confirmed, found, expected = held.series.get(uid), heads.get(uid), held.expected.get(uid, ())
            if found is not None and found in expected:
                continue
            if found != confirmed:
                raise LedgerError(self._explain_difference(confirmed, found))
            if expected and held.token is not None and held.token != token:
                raise LedgerError(self._explain_forgotten(expected[-1]))

    def expect(self, heads: Mapping[str, Sequence[Head]], token: str | None) -> None:
        """Note, before the database is changed, what it may be after that.

        Parameters
        ----------
        heads : mapping of str to sequence of Head
            For the series that changes where it may be, the last state behind.
        token : str, optional
            That of a publish, which the database holds already.

        Raises
        ------
        LedgerError
            Where the anchor cannot be written: then nothing may be changed.
        """
        self._write(_AnchorState(series=self._read().series, expected=heads, token=token))

    def confirm(self, heads: Mapping[str, Head]) -> None:
        """Note, after the database was changed, what it is.

        Raises
        ------
        LedgerError
            Where the anchor cannot be written. That does no harm: it holds already what was to be expected.
        """
        if self._read() != _AnchorState(series=heads):
            self._write(_AnchorState(series=heads))

    def prepare(self, heads: Mapping[str, Head]) -> None:
        """Write the anchor under another name, until the ledger that it belongs to is committed (`settle`)."""
        pending = Anchor(get_pending_path(self.path), self._uid, self._secrets)
        pending._write(_AnchorState(series=heads))

    def settle(self) -> None:
        """Give the anchor that was prepared its name, if it is this ledger's: the ledger was committed."""
        pending = Anchor(get_pending_path(self.path), self._uid, self._secrets)
        with suppress(OSError):
            if pending.exists() and pending.heads() is not None:
                pending.path.replace(self.path)

    def heads(self) -> dict[str, Head] | None:
        """Return how far each series had come; None where the anchor is not there, or is not this ledger's."""
        try:
            return dict(self._read().series)
        except LedgerError:
            return None

    def read_expected_heads(self) -> dict[str, Head] | None:
        """Return how far each series may have come, a publish that was being made among it; None as `heads`."""
        try:
            held = self._read()
        except LedgerError:
            return None
        expected = held.expected if held.token is not None else {}
        return {**held.series, **{uid: some[-1] for uid, some in expected.items()}}

    def replace(self, heads: Mapping[str, Head]) -> None:
        """Write the anchor anew, whatever it said before."""
        self._write(_AnchorState(series=heads))

    def _explain_forgotten(self, expected: Head) -> str:
        """Return what is the matter where the database knows nothing of a publish that was being made."""
        return (
            f"The ledger forgot: release {expected.number} of the series '{expected.name}' was being published, as the "
            f"anchor '{self.path}' says, and may be out; the ledger has no trace of it. {_WHAT_TO_DO}"
        )

    def _explain_difference(self, confirmed: Head | None, found: Head | None) -> str:
        """Return what is the matter with a series that is not where the anchor says."""
        if found is None:
            assert confirmed is not None
            return (
                f"The series '{confirmed.name}' had come to release {confirmed.number}, as the anchor '{self.path}' "
                f"says, and is no longer in the ledger. {_WHAT_TO_DO}"
            )
        if confirmed is None or found.number > confirmed.number:
            known = "does not know it" if confirmed is None else f"knows release {confirmed.number}"
            return (
                f"The series '{found.name}' has come to release {found.number}, but the anchor '{self.path}' {known}: "
                "the anchor was restored from an older copy, or another one is in use elsewhere (all who publish with "
                "a ledger need the same anchor: anchor=..., --anchor). Nothing was published. Restore the newest "
                "anchor; if it is lost, 'shoal republish accept' says what that means, and goes on."
            )
        if found.number < confirmed.number:
            return (
                f"The ledger forgot: the series '{found.name}' had come to release {confirmed.number}, as the anchor "
                f"'{self.path}' says, and the ledger knows releases up to {found.number} only. {_WHAT_TO_DO}"
            )
        return (
            f"The series '{found.name}' is not in the state that the anchor '{self.path}' knows, though the number of "
            f"releases is the same: the ledger was changed, or restored from a backup. {_WHAT_TO_DO}"
        )

    def _read(self) -> _AnchorState:
        if not self.exists():
            raise LedgerError(
                f"The anchor '{self.path}' of the ledger is not there. It says how far each series has come, so that "
                "no ledger from an older backup is taken for the newest. Nothing was published. If it was moved, name "
                "it (anchor=..., --anchor). If it is lost, 'shoal republish accept' says what that means, and goes on."
            )
        check_mode(self.path, "The anchor")
        try:
            content: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
            seal = content.pop("seal")
            whole = content["format"] == _FORMAT and content["ledger"] == self._uid
            if not compare_digest(seal, self._seal(content)) or not whole:
                raise ValueError("another anchor")
            return _AnchorState(
                series={uid: Head(**one) for uid, one in content["series"].items()},
                expected={uid: [Head(**one) for one in some] for uid, some in content["expected"].items()},
                token=content["token"],
            )
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise LedgerError(
                f"The anchor '{self.path}' is damaged, or belongs to another ledger. Nothing was published. Restore "
                "it; if it is lost, 'shoal republish accept' says what that means, and goes on."
            ) from None

    def _write(self, held: _AnchorState) -> None:
        """Write the file so that after a crash it is the old one or the new one."""
        content: dict[str, Any] = {
            "format": _FORMAT,
            "ledger": self._uid,
            "series": {uid: asdict(one) for uid, one in held.series.items()},
            "expected": {uid: [asdict(one) for one in some] for uid, some in held.expected.items()},
            "token": held.token,
        }
        text = json.dumps({**content, "seal": self._seal(content)}, indent=1, ensure_ascii=False) + "\n"
        made = self.path.with_name(f".{self.path.name}.{randomness.token_hex(4)}")
        try:
            try:
                with os.fdopen(
                    os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
                ) as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                made.replace(self.path)
                _sync_folder(self.path.parent)
            finally:
                made.unlink(missing_ok=True)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else type(error).__name__
            raise LedgerError(
                f"The anchor '{self.path}' cannot be written: {reason}. Without it nothing is published. Make its "
                "folder writable, or name another place for it (anchor=..., --anchor)."
            ) from None

    def _seal(self, content: Mapping[str, Any]) -> str:
        return self._secrets.seal("anchor", to_canonical_json(content))

    def __repr__(self) -> str:
        return f"Anchor({str(self.path)!r})"


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # pragma: no cover
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
