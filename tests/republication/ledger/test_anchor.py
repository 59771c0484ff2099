"""A ledger that is not the newest is refused: the anchor knows how far each series has come."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.every import first

from shoal import Ledger
from shoal.errors import LedgerError
from shoal.republication.ledger.anchor import Anchor
from shoal.republication.ledger.records import METADATA

ROLES: dict[str, Any] = {"identifier": "patient_id", "quasi_identifiers": ["age", "zip"], "sensitive": "disease"}


@pytest.fixture
def backup(place: Any) -> Callable[[], Callable[[], None]]:
    """Make a backup of a database, and return what restores it."""

    def made() -> Callable[[], None]:
        with place.open()._store.database.open_for_reading() as connection:
            held = {table: connection.execute(table.select()).fetchall() for table in METADATA.sorted_tables}

        def restore() -> None:
            with place.open()._store.database.open_for_writing() as connection:
                for table in reversed(METADATA.sorted_tables):
                    connection.execute(table.delete())
                for table in METADATA.sorted_tables:
                    if held[table]:
                        connection.execute(table.insert(), [dict(row._mapping) for row in held[table]])

        return restore

    return made


@pytest.fixture
def series(place: Any, patients: Any) -> Any:
    series = place.series()
    series.publish(patients(range(60)))
    return series


class TestForgetting:
    def test_an_older_backup(self, place: Any, series: Any, patients: Any, backup: Any) -> None:
        restore = backup()
        series.publish(patients(range(20, 90)))
        restore()
        said = r"The ledger forgot: the series 'admissions' had come to release 2.*up to 1 only.*restore a newer one"
        for action in (
            lambda: series.publish(patients(range(60))),
            lambda: series.rollback(unpublished=True),
            lambda: place.open().start("other", m=3, **ROLES),
            place.open().recover,
            series.certificate,
        ):
            with pytest.raises(LedgerError, match=said):
                action()
        assert len(series.history()) == 1, "looking is no publishing"
        assert "The ledger forgot" in series.verify().problems[0]

    def test_one_that_differs_in_what_is_no_release(
        self, series: Any, patients: Any, backup: Any, tmp_path: Path
    ) -> None:
        made = series.publish(patients(range(60)))
        restore = backup()
        made.save(tmp_path / "q2")
        restore()
        with pytest.raises(LedgerError, match="not in the state that the anchor"):
            series.publish(patients(range(60)))

    def test_a_series_whose_rows_were_deleted(self, place: Any, series: Any, patients: Any) -> None:
        ledger = place.open()
        with ledger._store.database.open_for_writing() as connection:
            for table in reversed(METADATA.sorted_tables):
                if table.name != "shoal_ledger":
                    connection.execute(table.delete())
        with pytest.raises(LedgerError, match=r"list of the series in the ledger was changed"):
            place.open()
        for action in (
            lambda: ledger.series("admissions").publish(patients(range(60))),
            lambda: ledger.start("admissions", m=3, **ROLES),
        ):
            with pytest.raises(LedgerError, match=r"restore a newer backup|was changed by something else"):
                action()

    def test_a_backup_from_before_the_series(self, place: Any, backup: Any, patients: Any) -> None:
        restore = backup()
        place.series().publish(patients(range(60)))
        restore()
        ledger = place.open()
        with pytest.raises(LedgerError, match=r"no series 'admissions'.*restore a newer backup"):
            ledger.series("admissions")
        with pytest.raises(LedgerError, match=r"'admissions' had come to release 1.*no longer in the ledger"):
            ledger.start("admissions", m=3, **ROLES)

    def test_a_lost_database_is_not_made_anew(self, tmp_path: Path, patients: Any) -> None:
        """Neither beside its key nor elsewhere."""
        (tmp_path / "vault").mkdir()
        key = tmp_path / "vault" / "l.key"
        Ledger(tmp_path / "l.db", key=key, create=True).start("s", m=3, **ROLES).publish(patients(range(60)))
        (tmp_path / "l.db").unlink()
        for options in ({}, {"create": True}):
            with pytest.raises(LedgerError, match=r"restore it from a backup"):
                Ledger(tmp_path / "l.db", key=key, **options)
        key.unlink()
        with pytest.raises(LedgerError, match="There is the anchor"):
            Ledger(tmp_path / "l.db", key=key, create=True)
        assert not (tmp_path / "l.db").exists()

    def test_two_copies_of_one_ledger(self, sqlite: Any, patients: Any, tmp_path: Path) -> None:
        sqlite.series().publish(patients(range(60)))
        shutil.copy(sqlite.url, tmp_path / "copy.db")
        copy = Ledger(tmp_path / "copy.db", key=sqlite.key).series("admissions")
        sqlite.series().publish(patients(range(20, 90)))
        with pytest.raises(LedgerError, match="The ledger forgot"):
            copy.publish(patients(range(30)))

    def test_everything_is_restored_but_the_folders_are_there(self, sqlite: Any, patients: Any, tmp_path: Path) -> None:
        """The anchor cannot help where it is restored, too; the published folders can."""
        series = sqlite.series()
        series.publish(patients(range(60)), tmp_path / "q1")
        for path in (Path(sqlite.url), sqlite.anchor):
            shutil.copy(path, tmp_path / f"{path.name}.copy")
        series.publish(patients(range(20, 90)), tmp_path / "q2")
        for path in (Path(sqlite.url), sqlite.anchor):
            shutil.copy(tmp_path / f"{path.name}.copy", path)
        series = sqlite.series()
        problems = series.verify().problems
        assert len(problems) == 1
        assert f"'{tmp_path / 'q2'}' holds no release that the ledger knows" in problems[0]
        assert "restored from an older backup" in problems[0]
        with pytest.raises(LedgerError, match=r"q2' holds a release.*that the ledger does not know"):
            series.publish(patients(range(60)), tmp_path / "q3")
        assert len(series.history()) == 1
        shutil.move(tmp_path / "q2", tmp_path / "elsewhere")
        assert len(series.verify().problems) == 2, "its name does not matter, and its private one is there, too"
        shutil.rmtree(tmp_path / "elsewhere")
        (problem,) = series.verify().problems
        assert "q2.private' holds no release" in problem

    @pytest.mark.drawn
    def test_folders_of_another_series_of_that_name_are_none_of_ours_on_a_word(
        self, sqlite: Any, patients: Any, tmp_path: Path
    ) -> None:
        sqlite.series(anew=True).publish(patients(range(60)), tmp_path / "q1")
        other = Ledger(tmp_path / "other.db", create=True).start("admissions", m=3, anew=True, **ROLES)
        for number in (1, 2):
            other.publish(patients(range(60)), tmp_path / f"other{number}")
        assert sqlite.series().verify().problems == ()
        assert sqlite.series().publish(patients(range(60)), tmp_path / "q2").number == 2


class TestAnchorFile:
    def test_a_lost_one(self, place: Any, series: Any, patients: Any) -> None:
        place.anchor.unlink()
        with pytest.raises(LedgerError, match=r"The anchor .* is not there"):
            series.publish(patients(range(60)))
        assert not place.anchor.exists()
        assert "is not there" in series.verify().problems[0]

    def test_an_older_one(self, place: Any, series: Any, patients: Any) -> None:
        old = place.anchor.read_text()
        series.publish(patients(range(60)))
        series.publish(patients(range(60)))
        place.anchor.write_text(old)
        with pytest.raises(
            LedgerError, match=r"has come to release 3, but the anchor .* knows release 1 of it.*same anchor"
        ):
            series.publish(patients(range(60)))

    @pytest.mark.parametrize("change", first(["number", "other", "seal", "text"], 2))
    def test_a_forged_one(self, sqlite: Any, patients: Any, tmp_path: Path, change: str) -> None:
        series = sqlite.series()
        series.publish(patients(range(60)))
        held = json.loads(sqlite.anchor.read_text())
        if change == "number":
            next(iter(held["series"].values()))["number"] = 0
        elif change == "seal":
            held["seal"] = "00" * 16
        elif change == "other":
            Ledger(tmp_path / "other.db", create=True)
            held = json.loads((tmp_path / "other.db.anchor").read_text())
        sqlite.anchor.write_text("no json" if change == "text" else json.dumps(held))
        with pytest.raises(LedgerError, match="is damaged, or belongs to another ledger"):
            series.publish(patients(range(60)))

    def test_one_that_others_can_read(self, sqlite: Any, patients: Any) -> None:
        series = sqlite.series()
        sqlite.anchor.chmod(0o644)
        with pytest.raises(LedgerError, match=r"The anchor.*chmod 600"):
            series.publish(patients(range(60)))

    @pytest.mark.drawn
    def test_one_that_cannot_be_written(
        self, place: Any, series: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Before a release nothing is published; after it the release stands, and the next start confirms it."""
        replace = Path.replace
        written = []

        def full(path: Path, target: Path) -> Path:
            if path.name.startswith(f".{place.anchor.name}"):
                written.append(path)
                if len(written) == fails:
                    raise OSError(28, "No space left on device")
            return replace(path, target)

        monkeypatch.setattr(Path, "replace", full)
        fails = 1
        with pytest.raises(LedgerError, match=r"anchor .* cannot be written.*Without it nothing is published"):
            series.publish(patients(range(60)), tmp_path / "q2")
        assert not (tmp_path / "q2").exists()
        assert len(series.history()) == 1
        written.clear()
        fails = 2
        assert series.publish(patients(range(60)), tmp_path / "q2").number == 2
        assert series.verify().problems == ()
        assert series.publish(patients(range(60)), tmp_path / "q3").number == 3
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(f".{place.anchor.name}")]

    def test_its_place_can_be_named(self, tmp_path: Path, patients: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        url, anchor = tmp_path / "l.db", tmp_path / "elsewhere.anchor"
        Ledger(url, anchor=anchor, create=True).start("s", m=3, **ROLES).publish(patients(range(60)))
        assert anchor.exists()
        with pytest.raises(LedgerError, match="is not there"):
            Ledger(url).series("s").publish(patients(range(60)))
        monkeypatch.setenv("SHOAL_LEDGER_ANCHOR", str(anchor))
        assert Ledger(url).series("s").publish(patients(range(60))).number == 2
        with pytest.raises(LedgerError, match="'anchor' parameter"):
            Ledger(url, anchor=7)  # type: ignore[arg-type]

    def test_a_place_where_nothing_can_be_written(self, patients: Any) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            series = Ledger(folder / "l.db", create=True).start("s", m=3, **ROLES)
            series.publish(patients(range(60)))
            before = (len(Ledger(folder / "l.db").series("s").history()), series.verify())
            folder.chmod(0o500)
            with somebody_without_rights(folder):
                series = Ledger(folder / "l.db").series("s")
                assert (len(series.history()), series.verify()) == before
                with pytest.raises(LedgerError, match=r"permission|writable"):
                    series.publish(patients(range(60)))
            folder.chmod(0o700)


@contextmanager
def somebody_without_rights(folder: Path) -> Iterator[None]:
    """Be somebody who owns a folder, and may not write everywhere, as root may."""
    nobody = 65_534
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.iterdir()):
        os.chown(path, nobody, nobody)
    os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(0)


class TestAccepting:
    def test_a_backup_is_accepted_on_a_word_only_and_what_was_lost_is_written_down(
        self, place: Any, series: Any, patients: Any, backup: Any
    ) -> None:
        restore = backup()
        for people in (range(20, 90), range(20, 95)):
            series.publish(patients(people))
        restore()
        ledger = place.open()
        with pytest.raises(LedgerError, match=r"may betray each of them.*accept\(risk=True\)"):
            ledger.accept(risk=False)
        told = ledger.accept(risk=True)
        assert told == ["The series 'admissions' lost release 2 to 3: the ledger does not know whom they showed."]
        assert [(one.number, one.state) for one in series.history()] == [(1, "published"), (2, "lost"), (3, "lost")]
        with pytest.raises(LedgerError, match="was published, and the ledger lost what it knew"):
            series.rollback(unpublished=True)
        made = series.publish(patients(range(60)))
        assert (made.number, made.counts["kept"]) == (4, 60)
        assert "first published in release 2, 3: the ledger lost" in made.certificate.to_dict()["guarantee"]["text"]
        assert series.verify().problems == ()
        with ledger._store.database.open_for_reading() as connection:
            log = connection.scalar(sa.text("SELECT content FROM shoal_ledger WHERE name = 'accepted'"))
        assert "lost release 2 to 3" in log
        assert ledger.accept(risk=True) == [], "nothing was amiss"

    def test_a_lost_anchor(self, place: Any, series: Any, patients: Any) -> None:
        place.anchor.unlink()
        told = place.open().accept(risk=True, last={"admissions": 2})
        assert "lost release 2 to 2" in told[0]
        assert "was lost or damaged, and is replaced by a new one" in told[1]
        assert series.publish(patients(range(60))).number == 3
        with pytest.raises(LedgerError, match="no series 'other'"):
            place.open().accept(risk=True, last={"other": 2})

    def test_a_series_that_is_gone(self, place: Any, backup: Any, patients: Any) -> None:
        restore = backup()
        place.series().publish(patients(range(60)))
        restore()
        assert "is no longer in the ledger" in place.open().accept(risk=True)[0]
        assert place.series().publish(patients(range(60))).number == 1

    def test_an_older_anchor(self, place: Any, series: Any, patients: Any) -> None:
        old = place.anchor.read_text()
        series.publish(patients(range(60)))
        place.anchor.write_text(old)
        assert "is taken as it is, with 2 release(s)" in place.open().accept(risk=True)[0]
        assert series.publish(patients(range(60))).number == 3

    @pytest.mark.drawn
    def test_a_crash_in_the_middle(
        self, place: Any, series: Any, patients: Any, backup: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        restore = backup()
        series.publish(patients(range(20, 90)))
        restore()
        with monkeypatch.context() as patch:
            patch.setattr(Anchor, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                place.open().accept(risk=True)
        with pytest.raises(LedgerError, match="not in the state"):
            series.publish(patients(range(60)))
        place.open().accept(risk=True)
        assert series.publish(patients(range(60))).number == 3


def test_a_note_of_a_folder_that_somebody_forged_sweeps_nothing(
    place: Any, series: Any, patients: Any, tmp_path: Path
) -> None:
    """Whoever can write the database but has no key cannot have folders deleted."""
    victim = tmp_path / ".precious.shoal-new-0123abcd"
    victim.mkdir()
    (victim / "thesis.txt").write_text("years of work")
    forged = str(tmp_path / "precious")
    for content in (forged, json.dumps({"folder": forged, "seal": "00" * 16})):
        with place.open()._store.database.open_for_writing() as connection:
            connection.exec_driver_sql("DELETE FROM shoal_ledger WHERE name = 'staging'")
            connection.execute(sa.text("INSERT INTO shoal_ledger VALUES ('staging', :it)"), {"it": content})
        with pytest.raises(LedgerError, match=r"note of a folder .* was changed by something else"):
            series.publish(patients(range(60)))
        assert (victim / "thesis.txt").exists()
