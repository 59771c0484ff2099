"""Another key for a ledger."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa
from tests.every import first

from shoal import Ledger
from shoal.errors import LedgerError
from shoal.republication.ledger import upkeep
from shoal.republication.ledger.anchor import Anchor

ROLES: dict[str, Any] = {"identifier": "patient_id", "quasi_identifiers": ["age", "zip"], "sensitive": "disease"}


def pieces(place: Any, **options: Any) -> set[bytes]:
    with place.open(**options)._store.database.open_for_reading() as connection:
        return {bytes(one) for one in connection.scalars(sa.text("SELECT content FROM shoal_memory"))}


@pytest.mark.drawn
def test_a_series_goes_on_and_the_old_key_opens_nothing(place: Any, patients: Any, tmp_path: Path) -> None:
    series = place.series()
    for number, people in enumerate((range(60), range(20, 90)), start=1):
        series.publish(patients(people), tmp_path / f"q{number}")
    old, before = place.key.read_bytes(), pieces(place)
    place.open().rotate_key()
    assert place.key.read_bytes() != old
    assert place.key.stat().st_mode & 0o777 == 0o600
    after = pieces(place)
    assert len(after) == len(before)
    assert not after & before
    series = place.series()
    assert series.verify().problems == ()
    made = series.publish(patients(range(80)))
    assert (made.counts["kept"], made.counts["returned"], made.counts["new"]) == (60, 20, 0)
    series.rollback(unpublished=True)
    place.open().rotate_key()
    assert place.series().publish(patients(range(80))).counts["kept"] == 60, "and what there was before is there"
    kept = place.key.read_bytes()
    place.key.write_bytes(old)
    with pytest.raises(LedgerError, match="not the key of the ledger"):
        place.open()
    place.key.write_bytes(kept)
    place.open()


def test_a_copy_from_before_is_refused(sqlite: Any, patients: Any, tmp_path: Path) -> None:
    series = sqlite.series()
    series.publish(patients(range(60)))
    for path in (Path(sqlite.url), sqlite.key):
        shutil.copy(path, tmp_path / f"{path.name}.copy")
    sqlite.open().rotate_key()
    for path in (Path(sqlite.url), sqlite.key):
        shutil.copy(tmp_path / f"{path.name}.copy", path)
    with pytest.raises(LedgerError, match="is damaged, or belongs to another ledger"):
        sqlite.series().publish(patients(range(60)))


@pytest.mark.drawn
def test_the_key_can_be_moved(sqlite: Any, patients: Any, tmp_path: Path) -> None:
    sqlite.series().publish(patients(range(60)))
    (tmp_path / "vault").mkdir()
    key = tmp_path / "vault" / "l.key"
    ledger = sqlite.open()
    ledger.rotate_key(key)
    assert (ledger.key_file, ledger.anchor_file) == (str(key), str(tmp_path / "vault" / "l.anchor"))
    assert not sqlite.anchor.exists()
    assert sqlite.key.exists(), "the old one is the publisher's to destroy"
    assert ledger.series("admissions").publish(patients(range(60))).number == 2
    assert Ledger(sqlite.url, key=key).series("admissions").publish(patients(range(60))).number == 3
    with pytest.raises(LedgerError, match="not the key"):
        sqlite.open()
    with pytest.raises(LedgerError, match="There is a file"):
        Ledger(sqlite.url, key=key).rotate_key(sqlite.key)


def test_a_named_anchor_stays_where_it_is(tmp_path: Path, patients: Any) -> None:
    anchor = tmp_path / "elsewhere"
    with Ledger(tmp_path / "l.db", anchor=anchor, create=True) as ledger:
        ledger.start("s", m=3, **ROLES).publish(patients(range(60)))
        ledger.rotate_key(tmp_path / "new.key")
        assert ledger.anchor_file == str(anchor)
    assert Ledger(tmp_path / "l.db", key=tmp_path / "new.key", anchor=anchor).series("s").verify().problems == ()


def test_a_key_in_no_file(tmp_path: Path, patients: Any) -> None:
    Ledger(tmp_path / "l.db", create=True).start("s", m=3, **ROLES).publish(patients(range(60)))
    secret = bytes.fromhex((tmp_path / "l.db.key").read_text())
    ledger = Ledger(tmp_path / "l.db", key=secret)
    with pytest.raises(LedgerError, match="is in no file"):
        ledger.rotate_key()
    ledger.rotate_key(tmp_path / "new.key")
    assert Ledger(tmp_path / "l.db", key=tmp_path / "new.key").series("s").publish(patients(range(60))).number == 2


@pytest.mark.drawn
def test_a_ledger_that_is_open_meanwhile_goes_on(place: Any, patients: Any, tmp_path: Path) -> None:
    """It was called tampered with: its secrets were those of the old key."""
    series = place.series()
    series.publish(patients(range(60)), tmp_path / "q1")
    for use in (
        lambda: [one.number for one in series.history()] == [1],
        lambda: series.verify().problems == (),
        lambda: len(series.certificate()["releases"]) == 1,
        lambda: place.open().series("admissions").m == series.m,
        lambda: series.publish(patients(range(60)), tmp_path / "q2").number == 2,
        lambda: series.erase([patients([7])["patient_id"][0]]) == 1,
    ):
        place.open().rotate_key()
        assert use()
    place.open().rotate_key()
    assert series.rollback(unpublished=True).number == 2
    assert series.verify().problems == ()


@pytest.mark.drawn
def test_readers_do_not_notice_rotations(place: Any, patients: Any, tmp_path: Path) -> None:
    series = place.series()
    series.publish(patients(range(60)), tmp_path / "q1")
    rotating = Thread(target=lambda: [place.open().rotate_key() for _ in range(6)])
    rotating.start()
    reads = 0
    while rotating.is_alive() or not reads:
        assert series.verify().problems == ()
        assert len(place.open().series("admissions").history()) == 1
        reads += 1
    rotating.join()


def test_a_key_that_is_half_written_stops_nobody(place: Any, patients: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk or a kill left a part of the new key, and no command opened the ledger."""
    place.series().publish(patients(range(60)))
    pending = place.key.with_name(place.key.name + ".new")
    for length in (0, 1, 63, 64):
        pending.write_text(("0" * 64)[:length])
        pending.chmod(0o600)
        assert len(place.series().history()) == 1
    pending.unlink()
    pending.symlink_to("nowhere")
    assert len(place.series().history()) == 1
    ledger = place.open()
    for name in ("fsync", "fdopen"):
        with monkeypatch.context() as patch:
            patch.setattr(f"shoal.republication.ledger.keys.os.{name}", full_disk)
            with pytest.raises(LedgerError, match="No space left on device"):
                ledger.rotate_key()
        assert not pending.exists()
        assert len(place.series().history()) == 1
    ledger.rotate_key()
    assert ledger.series("admissions").verify().problems == ()


def full_disk(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_key_that_cannot_be_renamed_yet_is_the_new_one_and_named(
    sqlite: Any, patients: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ledger, old = sqlite.open(), sqlite.key.read_bytes()
    sqlite.series().publish(patients(range(60)))
    rename = Path.replace
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda one, to: full_disk() if to == sqlite.key else rename(one, to))
        ledger.rotate_key()
    assert (sqlite.key.read_bytes(), f"{sqlite.key}.new" in caplog.text) == (old, True)
    assert sqlite.open().series("admissions").verify().problems == ()
    assert sqlite.key.read_bytes() != old


@pytest.mark.parametrize(
    "moment", first(["the anchor is prepared", "the ledger knows", "the key is written", "the key is there"], 2)
)
def test_a_crash_leaves_the_old_key_or_the_new_one(
    place: Any, patients: Any, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    place.series().publish(patients(range(60)))
    old = place.key.read_bytes()

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    ledger = place.open()
    with monkeypatch.context() as patch:
        if moment == "the key is written":
            patch.setattr(upkeep, "_renew", crash)
        elif moment == "the anchor is prepared":
            prepare = Anchor.prepare
            patch.setattr(Anchor, "prepare", lambda *given: (prepare(*given), crash()))
        elif moment == "the ledger knows":
            replace = Path.replace
            patch.setattr(Path, "replace", lambda a, b: crash() if b == place.key else replace(a, b))
        else:
            patch.setattr(Anchor, "settle", crash)
        with pytest.raises(KeyboardInterrupt):
            ledger.rotate_key()
    series = place.series()
    assert series.publish(patients(range(60))).counts["kept"] == 60
    assert (place.key.read_bytes() == old) == (moment in ("the key is written", "the anchor is prepared"))
    place.open().rotate_key()
    assert place.series().verify().problems == ()
    left = {path.name for path in place.key.parent.iterdir() if path.name.endswith(".new")}
    assert left == set()
