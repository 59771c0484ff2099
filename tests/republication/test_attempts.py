"""What somebody tried who wanted to break the promises of a series; each attempt succeeded once."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import DataError, LedgerError
from shoal.io.folder import StagedFolder
from shoal.republication.folder import read_published
from shoal.republication.ledger import journal

ROLES: dict[str, Any] = {"identifier": "patient_id", "quasi_identifiers": ["age", "zip"], "sensitive": "disease"}


class TestTheCertificateOfASeries:
    def test_a_release_that_was_taken_back_is_not_in_it(self, sqlite: Any, patients: Any, tmp_path: Path) -> None:
        """The hash of its table let readers test what it would have shown: 16 possible tables became one."""
        series = sqlite.series()
        withdrawn = series.publish(patients(range(60)), tmp_path / "q1").certificate
        series.rollback(unpublished=True)
        series.publish(patients(range(60)), tmp_path / "q2")
        said = series.certificate()
        assert [one["number"] for one in said["releases"]] == [2]
        assert withdrawn.files["release.csv"]["sha256"] not in json.dumps(said)
        assert len(series.history()) == 2
        assert {len(one["time"]) for one in said["releases"]} == {10}, "the day, as in the certificate of a release"


class TestTwoSeries:
    """Each gives a person a set of values of its own; both together betrayed 24 of 64 people for certain."""

    def test_the_promise_names_one_series(self, sqlite: Any) -> None:
        text = sqlite.series().certificate()["guarantee"]["text"]
        assert "come from this one series" in text
        assert "from one ledger" not in text

    def test_a_second_one_says_what_it_means(self, sqlite: Any, caplog: pytest.LogCaptureFixture) -> None:
        assert sqlite.series().notes == ()
        with sqlite.open() as ledger, caplog.at_level(logging.WARNING):
            second = ledger.start("quarterly", m=2, **ROLES)
        assert "know nothing of each other" in second.notes[0]
        assert second.notes[0] in caplog.text

    def test_people_of_another_one_are_noticed(self, place: Any, patients: Any, tmp_path: Path) -> None:
        place.series().publish(patients(range(60)))
        with place.open() as ledger:
            second = ledger.start("quarterly", m=3, **ROLES)
        with pytest.raises(DataError, match="20 of 60 people are in the series 'admissions'") as raised:
            second.publish(patients(range(40, 100)), tmp_path / "out")
        assert "overlap='allow'" in str(raised.value)
        assert not list(tmp_path.glob("out*"))
        assert second.publish(patients(range(40, 100)), overlap="allow").number == 1
        assert second.history()[0].parameters["overlap"] == "allow"
        with place.open() as ledger:
            third = ledger.start("apart", m=3, **ROLES)
        assert third.publish(patients(range(100, 160))).number == 1


class TestForgedFolders:
    @pytest.fixture
    def folder(self, sqlite: Any, patients: Any, tmp_path: Path) -> Path:
        sqlite.series().publish(patients(range(60)), tmp_path / "q1", format="parquet")
        return tmp_path / "q1"

    def test_a_table_beside_the_table(self, sqlite: Any, folder: Path) -> None:
        forged = pl.read_parquet(folder / "release.parquet").with_columns(disease=pl.lit("HIV"))
        forged.write_csv(folder / "release.csv")
        assert any("release.csv' does not belong to release 1" in said for said in sqlite.series().verify().problems)
        assert "HIV" not in read_published(folder).frame["disease"].to_list(), "the certificate names another file"
        (folder / "certificate.json").unlink()
        with pytest.raises(DataError, match=r"release.csv and release.parquet, and no certificate"):
            read_published(folder)

    def test_anything_beside_it(self, sqlite: Any, folder: Path) -> None:
        (folder / ".notes.html").write_text("")
        (folder / "more").mkdir()
        assert len(sqlite.series().verify().problems) == 2

    @pytest.mark.parametrize("name", ["release.parquet", "counterfeits.csv"])
    def test_a_changed_file_is_not_read(self, folder: Path, name: str) -> None:
        assert read_published(folder).frame.height >= 60
        with (folder / name).open("ab") as file:
            file.write(b"1,1\n")
        with pytest.raises(DataError, match="is not the one that the certificate"):
            read_published(folder)
        (folder / name).unlink()
        with pytest.raises(DataError, match="is not there"):
            read_published(folder)

    @pytest.mark.parametrize("name", ["certificate.json", "salt.txt", "report.html"])
    def test_changed_private_files(self, sqlite: Any, folder: Path, name: str) -> None:
        series = sqlite.series()
        assert series.verify().problems == ()
        path = folder.with_name("q1.private") / name
        path.write_text(path.read_text() + " ")
        assert f"{name}' of release 1 was changed" in series.verify().problems[0]
        path.unlink()
        assert f"{name}' of release 1 is not there" in series.verify().problems[0]
        shutil.rmtree(path.parent)
        assert series.verify().problems == (), "it may be kept elsewhere"


class TestALedgerThatWasLost:
    @pytest.fixture
    def lost(self, tmp_path: Path, patients: Any) -> Path:
        """The key is kept elsewhere, and the database is gone."""
        with shoal.Ledger(tmp_path / "releases.db", key=tmp_path / "safe.key", create=True) as ledger:
            ledger.start("admissions", m=3, **ROLES).publish(patients(range(60)), tmp_path / "q1")
        (tmp_path / "releases.db").unlink()
        return tmp_path

    def test_another_one_does_not_start_beside_its_releases(self, lost: Path, patients: Any) -> None:
        with shoal.Ledger(lost / "releases.db", create=True) as ledger:
            with pytest.raises(LedgerError, match=r"q1' holds a release of a series named 'admissions'.*anew=True"):
                ledger.start("admissions", m=3, **ROLES)
            assert ledger.names == ()
            ledger.start("others", m=3, **ROLES)
            series = ledger.start("admissions", m=3, anew=True, **ROLES)
            assert series.publish(patients(range(60)), lost / "q2").number == 1
            assert series.verify().problems == ()

    def test_the_present_folder_is_looked_at(self, lost: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (lost / "new").mkdir()
        monkeypatch.chdir(lost)
        with (
            shoal.Ledger(lost / "new" / "releases.db", create=True) as ledger,
            pytest.raises(LedgerError, match="q1' holds"),
        ):
            ledger.start("admissions", m=3, **ROLES)

    def test_releases_found_later(self, lost: Path, patients: Any) -> None:
        (lost / "new").mkdir()
        with shoal.Ledger(lost / "new" / "releases.db", create=True) as ledger:
            series = ledger.start("admissions", m=3, **ROLES)
            with pytest.raises(LedgerError, match="another series named 'admissions'"):
                series.publish(patients(range(60)), lost / "q2")
            assert series.publish(patients(range(60)), lost / "new" / "q2").number == 1
            assert series.verify().problems == ()
            shutil.copytree(lost / "q1", lost / "new" / "q1")
            assert any("of another series of that name" in problem for problem in series.verify().problems)


class TestCrashes:
    def test_a_ledger_out_of_reach_leaves_what_shows_that_nothing_appeared(
        self, place: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        series = place.series()

        def fails(*_: Any) -> None:
            raise LedgerError("out of reach")

        with monkeypatch.context() as patch:
            patch.setattr(StagedFolder, "publish", fails)
            patch.setattr(journal, "finish", fails)
            with pytest.raises(LedgerError, match="out of reach"), series._store.database.publishing():
                self.publish_again(series, patients, tmp_path)
        assert series.history()[-1].state == "staged"
        assert any("taken back" in sentence for sentence in place.open().recover())
        assert series.history() == ()
        assert list(tmp_path.glob("*q1*")) == []

    @staticmethod
    def publish_again(series: Any, patients: Any, folder: Path) -> None:
        """Publish without the look for what was interrupted, which would fail first."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(series._store), "publishing", lambda _: _nothing_to_tell())
            series.publish(patients(range(60)), folder / "q1")


def _nothing_to_tell() -> Any:
    from contextlib import nullcontext

    return nullcontext([])


_DEFERRED = (
    "CREATE CONSTRAINT TRIGGER changes AFTER {} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION change()"
)


@pytest.mark.parametrize("when", ["a memory", "a record", "later"])
def test_triggers_that_change_what_is_written(place: Any, patients: Any, when: str) -> None:
    series = place.series()
    series.publish(patients(range(60)))
    action, after = {
        "a memory": ("DELETE FROM shoal_memory WHERE part = 1", "INSERT ON shoal_memory"),
        "a record": ("UPDATE shoal_releases SET memory_digest = ''", "INSERT ON shoal_releases"),
        "later": ("DELETE FROM shoal_memory WHERE part = 1", "UPDATE ON shoal_series"),
    }[when]
    statements = (
        [f"CREATE TRIGGER changes AFTER {after} BEGIN {action}; END"]
        if place.kind == "sqlite"
        else [
            f"CREATE FUNCTION change() RETURNS trigger AS $$ BEGIN {action}; RETURN NULL; END $$ LANGUAGE plpgsql",
            _DEFERRED.format(after),
        ]
    )
    with series._store.database.writing() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    with pytest.raises(LedgerError, match=r"a trigger or a rule|was changed by something else"):
        series.publish(patients(range(80)))
    assert len(series.history()) == 1, "nothing was published"
    assert series.verify().problems == ()


def test_a_copy_of_the_database_shows_no_counts(place: Any, patients: Any, tmp_path: Path) -> None:
    series = place.series()
    made = series.publish(patients(range(60)), tmp_path / "q1", seed=8_765_432_109)
    with series._store.database.reading() as connection:
        row = connection.exec_driver_sql("SELECT * FROM shoal_releases").one()._mapping
    assert set(row) == {"series", "number", "state", "time", "version", "content", "memory_digest", "seal"}
    held = bytes(row["content"])
    assert b"8765432109" not in held
    assert b"q1" not in held
    assert made.certificate.input["sha256"].encode() not in held
