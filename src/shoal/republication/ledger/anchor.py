"""The anchor: a small file outside of the database that records how far each series has come.

A ledger that was restored from an older copy, or from which a series was deleted, has forgotten people and would
publish them as new, with other signatures. Its seals cannot reveal that, because an older ledger is intact. Therefore
the number and the seal of the latest release of each series are also kept in a sealed file next to the key. The file is
written before every change of the database (the expected state) and after it (the confirmed state). A ledger in any
other state is refused.
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
from typing import Any

import sqlalchemy as sa

from shoal._core.outcome import reason_of
from shoal._messages import Phrase
from shoal.errors import LedgerError
from shoal.io import to_disk
from shoal.republication.ledger.advice import ACCEPT, ANCHOR
from shoal.republication.ledger.keys import Secrets, check_mode, get_pending_path
from shoal.republication.ledger.records import RELEASES, SERIES, RecordedSeries, to_canonical_json

_FORMAT = 1
_WHAT_TO_DO = Phrase(
    "If the database was restored from a backup, restore a newer one. If there is none, the people who were published "
    "since then can no longer be told from new ones. Then accept the ledger as it is with ",
    ACCEPT,
    ", which explains the risk.",
)


@dataclass(frozen=True, kw_only=True)
class Head:
    """The latest state of a series."""

    name: str
    """Name of the series."""
    number: int
    """Number of its latest release, or 0 if there is none."""
    seal: str
    """Seal of the series, which covers all of its releases."""


def get_head(series: RecordedSeries) -> Head:
    """Get the latest state of a series."""
    return Head(name=series.name, number=series.releases[-1].number if series.releases else 0, seal=series.seal)


def read_heads(connection: sa.Connection) -> dict[str, Head]:
    """Read the latest state of each series of a database, by the series' uid."""
    # The last number of each series, and the seal of the series.
    numbers = sa.select(RELEASES.c.series, sa.func.max(RELEASES.c.number).label("number")).group_by(RELEASES.c.series)
    latest = numbers.subquery()
    rows = connection.execute(
        sa.select(SERIES.c.uid, SERIES.c.name, SERIES.c.seal, latest.c.number)
        .outerjoin_from(SERIES, latest, SERIES.c.id == latest.c.series)
        .order_by(SERIES.c.id)
    )
    return {row.uid: Head(name=row.name, number=row.number or 0, seal=row.seal) for row in rows}


def get_default_anchor(key_file: Path) -> Path:
    """Get the default path of the anchor: next to the key."""
    return key_file.with_name(key_file.name.removesuffix(".key") + ".anchor")


@dataclass(frozen=True, kw_only=True)
class _AnchorState:
    """The content of an anchor."""

    series: Mapping[str, Head]
    """The confirmed state of each series, by its uid."""
    expected: Mapping[str, Sequence[Head]] = field(default_factory=dict)
    """Possible states after a change that was about to be made."""
    token: str | None = None
    """Token that the database holds as long as the change is not made, or None if losing the change does no harm."""


class Anchor:
    """The anchor of a ledger.

    Parameters
    ----------
    path : Path
        The file.
    uid : str
        The uid of the ledger.
    secrets : Secrets
        The secrets of the ledger.
    """

    def __init__(self, path: Path, uid: str, secrets: Secrets) -> None:
        self.path = path
        self._uid = uid
        self._secrets = secrets

    def exists(self) -> bool:
        """Check whether the file exists."""
        return self.path.exists()

    def check(self, heads: Mapping[str, Head], token: str | None) -> None:
        """Check that a database is in the confirmed state, or in an expected one.

        If the pending change was a publish, the state before it is valid only if the database still holds the token of
        the publish. Otherwise the database was restored, and the release may be published.

        Parameters
        ----------
        heads : mapping of str to Head
            The states of the series in the database.
        token : str, optional
            Token of the pending publish in the database (`journal.read_token`).

        Raises
        ------
        LedgerError
            If the state is invalid; the message explains what may have happened, and what to do.
        """
        held = self._read()
        for uid in {**held.series, **heads}:
            confirmed, found, expected = held.series.get(uid), heads.get(uid), held.expected.get(uid, ())
            # An expected state: the change was made.
            if found is not None and found in expected:
                continue
            # Neither the confirmed state nor an expected one.
            if found != confirmed:
                raise LedgerError(self._explain_difference(confirmed, found))
            # The state before a publish is valid only with the token of the publish.
            if expected and held.token is not None and held.token != token:
                raise LedgerError(self._explain_forgotten(expected[-1]))

    def expect(self, heads: Mapping[str, Sequence[Head]], token: str | None) -> None:
        """Record the possible states of a series before the database is changed.

        Parameters
        ----------
        heads : mapping of str to sequence of Head
            The possible states of the series that changes, the last one at the end.
        token : str, optional
            Token of the publish, which the database holds already.

        Raises
        ------
        LedgerError
            If the anchor cannot be written. The database must not be changed then.
        """
        self._write(_AnchorState(series=self._read().series, expected=heads, token=token))

    def confirm(self, heads: Mapping[str, Head]) -> None:
        """Record the states of all series after the database was changed.

        Raises
        ------
        LedgerError
            If the anchor cannot be written. This does no harm, because it holds the expected state.
        """
        if self._read() != _AnchorState(series=heads):
            self._write(_AnchorState(series=heads))

    def prepare(self, heads: Mapping[str, Head]) -> None:
        """Write the anchor under a pending name, until its ledger is committed (`settle`)."""
        pending = Anchor(get_pending_path(self.path), self._uid, self._secrets)
        pending._write(_AnchorState(series=heads))

    def settle(self) -> None:
        """Give the pending anchor its final name if it belongs to this ledger, which is then committed."""
        pending = Anchor(get_pending_path(self.path), self._uid, self._secrets)
        with suppress(OSError):
            if pending.exists() and pending.heads() is not None:
                pending.path.replace(self.path)

    def heads(self) -> dict[str, Head] | None:
        """Read the confirmed states, or return None if the anchor is missing or belongs to another ledger."""
        try:
            return dict(self._read().series)
        except LedgerError:
            return None

    def read_expected_heads(self) -> dict[str, Head] | None:
        """Read the latest possible state of each series, including a pending publish; None as `heads`."""
        try:
            held = self._read()
        except LedgerError:
            return None
        expected = held.expected if held.token is not None else {}
        return {**held.series, **{uid: some[-1] for uid, some in expected.items()}}

    def replace(self, heads: Mapping[str, Head]) -> None:
        """Replace the content of the anchor."""
        self._write(_AnchorState(series=heads))

    def _explain_forgotten(self, expected: Head) -> Phrase:
        """Explain that the database has no trace of a publish that the anchor expects."""
        return Phrase(
            f"The ledger forgot: release {expected.number} of the series '{expected.name}' was being "
            f"published, as the anchor '{self.path}' says, and may be out; the ledger has no trace of it. ",
            _WHAT_TO_DO,
        )

    def _explain_difference(self, confirmed: Head | None, found: Head | None) -> Phrase:
        """Explain how a series differs from the anchor."""
        # The series is missing in the ledger.
        if found is None:
            assert confirmed is not None
            return Phrase(
                f"The series '{confirmed.name}' had come to release {confirmed.number}, as the anchor "
                f"'{self.path}' says, and is no longer in the ledger. ",
                _WHAT_TO_DO,
            )
        # The anchor is older than the ledger.
        if confirmed is None or found.number > confirmed.number:
            return Phrase(
                f"The series '{found.name}' has come to release {found.number}, but the anchor '{self.path}' "
                f"knows {'nothing' if confirmed is None else f'release {confirmed.number}'} of it: the "
                "anchor was restored from an older copy, or another one is in use elsewhere (all who "
                "publish with a ledger need the same anchor: ",
                ANCHOR,
                "). Restore the newest anchor. If it is lost, accept the ledger as it is with ",
                ACCEPT,
                ", which explains the risk.",
            )
        # The ledger is older than the anchor.
        if found.number < confirmed.number:
            return Phrase(
                f"The ledger forgot: the series '{found.name}' had come to release {confirmed.number}, as "
                f"the anchor '{self.path}' says, and the ledger knows releases up to {found.number} only. ",
                _WHAT_TO_DO,
            )
        return Phrase(
            f"The series '{found.name}' is not in the state that the anchor '{self.path}' knows, though the "
            "number of releases is the same: the ledger was changed, or restored from a backup. ",
            _WHAT_TO_DO,
        )

    def _read(self) -> _AnchorState:
        """Read the anchor, and check its mode, its format and its seal."""
        if not self.exists():
            raise LedgerError(
                f"The anchor '{self.path}' of the ledger is not there. It says how far each series has come, so that "
                "no ledger from an older backup is taken for the newest. If it was moved, name it with ",
                ANCHOR,
                ". If it is lost, accept the ledger as it is with ",
                ACCEPT,
                ", which explains the risk.",
            )
        check_mode(self.path, "The anchor")
        try:
            content: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
            seal = content.pop("seal")
            # Another format or ledger, or a forged seal.
            whole = content["format"] == _FORMAT and content["ledger"] == self._uid
            if not compare_digest(seal, self._seal(content)) or not whole:
                raise ValueError("another anchor")
            return _AnchorState(
                series={uid: Head(**one) for uid, one in content["series"].items()},
                expected={uid: [Head(**one) for one in some] for uid, some in content["expected"].items()},
                token=content["token"],
            )
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise LedgerError(
                f"The anchor '{self.path}' is damaged, or belongs to another ledger. Restore "
                "it. If it is lost, accept the ledger as it is with ",
                ACCEPT,
                ", which explains the risk.",
            ) from None

    def _write(self, held: _AnchorState) -> None:
        """Write the file atomically: after a crash it is the old file or the new one."""
        content: dict[str, Any] = {
            "format": _FORMAT,
            "ledger": self._uid,
            "series": {uid: asdict(one) for uid, one in held.series.items()},
            "expected": {uid: [asdict(one) for one in some] for uid, some in held.expected.items()},
            "token": held.token,
        }
        text = json.dumps({**content, "seal": self._seal(content)}, indent=1, ensure_ascii=False) + "\n"
        # Write a new file next to the old one, flush it, and rename it.
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
                to_disk(self.path.parent)
            finally:
                made.unlink(missing_ok=True)
        except OSError as error:
            raise LedgerError(
                f"The anchor '{self.path}' cannot be written: {reason_of(error)}. Without it nothing is published. "
                "Make its folder writable, or name another place for it with ",
                ANCHOR,
                ".",
            ) from None

    def _seal(self, content: Mapping[str, Any]) -> str:
        """Compute the seal of the content."""
        return self._secrets.seal("anchor", to_canonical_json(content))

    def __repr__(self) -> str:
        return f"Anchor({str(self.path)!r})"
