"""What somebody tried who wanted to break the promises of a series; each attempt succeeded once."""

from __future__ import annotations

import datetime as dt
import json
import logging
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.every import first
from tests.republication.conftest import SECRET

import shoal
from shoal.errors import DataError, LedgerError, WarnedError
from shoal.io.folder import StagedFolder
from shoal.republication.ledger import journal
from shoal.republication.ledger.anchor import Anchor
from shoal.republication.ledger.store import Store
from shoal.verification.published_folder import read_published

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

    @pytest.mark.drawn
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

    @pytest.mark.drawn
    @pytest.mark.parametrize("name", ["release.parquet", "counterfeits.csv"])
    def test_a_changed_file_is_not_read(self, folder: Path, name: str) -> None:
        assert read_published(folder).frame.height >= 60
        with (folder / name).open("ab") as file:
            file.write(b"1,1\n")
        with pytest.raises(DataError, match="is not the one that its certificate"):
            read_published(folder)
        (folder / name).unlink()
        with pytest.raises(DataError, match="is missing"):
            read_published(folder)

    @pytest.mark.drawn
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

    @pytest.mark.drawn
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

    @pytest.mark.drawn
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

        def fails(*_: Any, **__: Any) -> None:
            raise LedgerError("out of reach")

        with monkeypatch.context() as patch:
            patch.setattr(StagedFolder, "publish", fails)
            patch.setattr(journal, "complete_interrupted", fails)
            with pytest.raises(LedgerError, match="out of reach"), series._store.database.lock_publishers():
                self.publish_again(series, patients, tmp_path)
        assert series.history()[-1].state == "staged"
        assert any("taken back" in sentence for sentence in place.open().recover())
        assert series.history() == ()
        assert list(tmp_path.glob("*q1*")) == []

    @staticmethod
    def publish_again(series: Any, patients: Any, folder: Path) -> None:
        """Publish without the look for what was interrupted, which would fail first."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(series._store), "lock_for_publishing", lambda _: _nothing_to_tell())
            series.publish(patients(range(60)), folder / "q1")


def _nothing_to_tell() -> Any:
    from contextlib import nullcontext

    return nullcontext([])


_DEFERRED = (
    "CREATE CONSTRAINT TRIGGER changes AFTER {} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION change()"
)


@pytest.mark.drawn
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
    with series._store.database.open_for_writing() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    with pytest.raises(LedgerError, match=r"a trigger or a rule|was changed by something else"):
        series.publish(patients(range(80)))
    assert len(series.history()) == 1, "nothing was published"
    assert series.verify().problems == ()


def test_a_copy_of_the_database_shows_no_counts(place: Any, patients: Any, tmp_path: Path) -> None:
    series = place.series()
    made = series.publish(patients(range(60)), tmp_path / "q1", seed=8_765_432_109)
    with series._store.database.open_for_reading() as connection:
        row = connection.exec_driver_sql("SELECT * FROM shoal_releases").one()._mapping
    assert set(row) == {"series", "number", "state", "time", "version", "content", "memory_digest", "seal"}
    held = bytes(row["content"])
    assert b"8765432109" not in held
    assert b"q1" not in held
    assert made.certificate.input["sha256"].encode() not in held


class TestALedgerThatWasRestoredInTheMiddle:
    """Its anchor expected a release and still passed the state before: 40 of 48 people were told for certain."""

    @pytest.mark.drawn
    @pytest.mark.parametrize("folder", ["q1", None])
    def test_it_knows_nothing_of_a_release_that_may_be_out(
        self, sqlite: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str | None
    ) -> None:
        series = sqlite.series()
        database = sqlite.open()._store.address.path
        shutil.copy(database, tmp_path / "backup")
        with monkeypatch.context() as patch:
            patch.setattr(Store, "confirm", lambda _: None)
            series.publish(patients(range(60)), folder and tmp_path / "one" / folder)
        shutil.copy(tmp_path / "backup", database)
        for _ in range(2):
            with pytest.raises(LedgerError, match=r"release 1 of the series 'admissions' was being published.*accept"):
                sqlite.open().series("admissions").publish(patients(range(60)), tmp_path / "two" / "q1")
        assert any("may be out" in problem for problem in sqlite.series().verify().problems)
        assert any("lost release 1" in sentence for sentence in sqlite.open().accept(risk=True))
        assert sqlite.series().publish(patients(range(60)), tmp_path / "two" / "q1").number == 2

    @pytest.mark.drawn
    @pytest.mark.parametrize("folder", ["q1", None])
    def test_what_fails_before_the_ledger_knows_it_is_no_loss(
        self, place: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str | None
    ) -> None:
        series = place.series()
        expect = Anchor.expect

        def fails(*given: Any) -> None:
            expect(*given)
            raise LedgerError("out of reach")

        with monkeypatch.context() as patch:
            patch.setattr(Anchor, "expect", fails)
            with pytest.raises(LedgerError, match="out of reach"):
                series.publish(patients(range(60)), folder and tmp_path / folder)
        assert series.verify().problems == ()
        assert series.publish(patients(range(60)), tmp_path / "q1").number == 1


def test_a_release_that_was_taken_back_is_not_saved(sqlite: Any, patients: Any, tmp_path: Path) -> None:
    """It was written all the same, and with the next one 32 of 48 people could be told for certain."""
    series = sqlite.series()
    made = series.publish(patients(range(60)))
    series.rollback(unpublished=True)
    with pytest.raises(LedgerError, match="Release 1 of the series 'admissions' was taken back"):
        made.save(tmp_path / "q1")
    assert not list(tmp_path.glob("*q1*"))
    series.publish(patients(range(60))).save(tmp_path / "q2")


@pytest.mark.parametrize("planted", ["nothing", "the published files"])
def test_a_hidden_folder_that_somebody_made(
    sqlite: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    """Its name alone told the ledger that the release had not appeared: 16 of 32 people could be told for certain."""
    series = sqlite.series()
    staged: list[Path] = []
    publish = StagedFolder.publish

    def and_moved(folder: StagedFolder) -> None:
        publish(folder)
        staged.append(folder.path)
        for name in ("q1", "q1.private"):
            (tmp_path / name).rename(tmp_path / f"web-{name}")
        raise LedgerError("out of reach")

    def fails(_: Store, **__: Any) -> list[str]:
        raise LedgerError("out of reach")

    with monkeypatch.context() as patch:
        patch.setattr(StagedFolder, "publish", and_moved)
        patch.setattr(Store, "complete_interrupted", fails)
        with pytest.raises(LedgerError, match="out of reach"), series._store.database.lock_publishers():
            TestCrashes.publish_again(series, patients, tmp_path)
    if planted == "nothing":
        staged[0].mkdir()
    else:
        shutil.copytree(tmp_path / "web-q1", staged[0])
    assert "counts as published" in sqlite.open().recover()[0]
    assert [one.state for one in series.history()] == ["published"]


DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=n) for n in range(60)]


class TestIdsInAnotherSpelling:
    """All people were taken for new ones, without a word."""

    @pytest.mark.drawn
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (pl.Series([f"é{n}" for n in range(60)]), pl.Series([f"e\u0301{n}" for n in range(60)])),
            pytest.param(pl.Series(DAYS), pl.Series(DAYS).cast(pl.Datetime), marks=pytest.mark.thorough),
            pytest.param(
                pl.Series(range(60)), pl.Series(range(60)).cast(pl.Decimal(10, 2)), marks=pytest.mark.thorough
            ),
        ],
    )
    def test_the_same_id_stored_in_another_way(
        self, sqlite: Any, patients: Any, before: pl.Series, after: pl.Series
    ) -> None:
        rows = patients(range(60))
        series = sqlite.series()
        series.publish(rows.with_columns(patient_id=before))
        assert series.publish(rows.with_columns(patient_id=after)).counts["kept"] == 60
        second = sqlite.open().start("newer", m=3, **ROLES)
        with pytest.raises(DataError, match="60 of 60 people are in the series 'admissions'"):
            second.publish(rows.with_columns(patient_id=after))
        for ids in (before, after, before):
            made = second.publish(rows.with_columns(patient_id=ids), overlap="allow")
        assert made.counts["kept"] == 60
        assert made.number == 3

    @pytest.mark.parametrize("written", first(["00{}", "{} ", "{}.0"]))
    def test_ids_that_look_the_same_in_another_series(self, sqlite: Any, patients: Any, written: str) -> None:
        rows = patients(range(60)).with_columns(patient_id=pl.Series([str(n + 1) for n in range(60)]))
        sqlite.series().publish(rows)
        with sqlite.open() as ledger:
            second = ledger.start("quarterly", m=3, **ROLES)
        respelled = rows.with_columns(patient_id=pl.Series([written.format(n + 1) for n in range(60)]))
        with pytest.raises(DataError, match=r"60 of 60 people are in the series 'admissions'.* written in another way"):
            second.publish(respelled)
        assert second.publish(respelled, overlap="allow").number == 1

    @pytest.mark.drawn
    @pytest.mark.parametrize("written", ["{}\u200b", "{}\u00a0", "+{}", "{}.00"])
    def test_ids_that_look_the_same(self, sqlite: Any, patients: Any, written: str) -> None:
        series = sqlite.series()
        rows = patients(range(60)).with_columns(patient_id=pl.Series([str(n) for n in range(60)]))
        series.publish(rows)
        with pytest.raises(DataError, match="under other spellings of the ids"):
            series.publish(rows.with_columns(patient_id=pl.Series([written.format(n) for n in range(60)])))

    @pytest.mark.drawn
    @pytest.mark.parametrize(
        ("before", "after"),
        first([("{}a", "{}a "), ("007{}", "7{}"), ("{}a  ", "{}a"), ("MacX-{}", "macx-{}"), ("7{}", "\uff17{}")], 2),
        ids=["a blank", "leading zeros", "blanks gone", "case", "Unicode"],
    )
    def test_one_id_in_another_spelling_is_refused(self, sqlite: Any, patients: Any, before: str, after: str) -> None:
        """Up to half of the ids could be written in another way without a word."""
        series = sqlite.series()
        series.publish(patients(range(60), patient_id=before.format))
        mixed = patients(range(70), patient_id=lambda one: (after if one == 5 else before).format(one))
        with pytest.raises(DataError, match="1 of 11 new people is known under another spelling"):
            series.publish(mixed)
        assert series.publish(mixed.filter(pl.col("patient_id") != after.format(5))).counts["new"] == 10

    def test_ids_of_people_who_are_both_there_may_look_alike(self, sqlite: Any, patients: Any) -> None:
        series = sqlite.series()
        series.publish(patients(range(60), patient_id=lambda one: f"P{one}"))
        both = patients(range(70), patient_id=lambda one: "p5" if one == 65 else f"P{one}")
        made = series.publish(both)
        assert "2 people of the table have ids that differ from another one's only in how" in made.notes[0]
        with pytest.raises(WarnedError, match="2 people of the table"):
            series.publish(both, strict=True)

    def test_nobody_is_known(self, sqlite: Any, patients: Any) -> None:
        series = sqlite.series()
        assert series.publish(patients(range(60))).notes == ()
        assert "all 60 people are taken for new" in series.publish(patients(range(60, 120))).notes[0]


@pytest.mark.drawn
@pytest.mark.parametrize("twin", first(["HIV ", "HI\u00adV", "HIV\u00a0", "\u200bHIV", "\ufeffHIV"], 2), ids=ascii)
def test_values_with_blanks_and_invisible_characters(sqlite: Any, patients: Any, twin: str) -> None:
    series = sqlite.series(m=2)
    both = patients(range(40)).with_columns(disease=pl.Series(["HIV", twin] * 20))
    with pytest.raises(DataError, match=r"1 value\(s\) of the sensitive column 'disease' read like another one"):
        series.publish(both)
    series.publish(both.with_columns(disease=pl.Series(["HIV", "flu"] * 20)))
    with pytest.raises(DataError, match="read like another one"):  # than one of the first release
        series.publish(patients(range(40, 80)).with_columns(disease=pl.Series([twin, "flu"] * 20)))


def test_values_that_differ_in_case_are_noted(sqlite: Any, patients: Any) -> None:
    series = sqlite.series(m=2)
    made = series.publish(patients(range(40)).with_columns(disease=pl.Series(["HIV", "hiv"] * 20)))
    assert made.notes[0].startswith("1 pair(s) of values of 'disease'")
    assert "hiv" not in " ".join(made.notes).lower()


class TestOtherIds:
    """Known people whose ids are new: they get another set of values, and two sets have few values in common."""

    @pytest.mark.drawn
    @pytest.mark.parametrize("coded", [1, 44])
    def test_their_data_give_them_away(self, sqlite: Any, patients: Any, tmp_path: Path, coded: int) -> None:
        series = sqlite.series()
        series.publish(patients(range(100)))
        anew = patients(range(130), patient_id=lambda one: f"{SECRET}-{one + (7000 if one < coded else 0):06d}")
        with pytest.raises(
            WarnedError, match=rf"{coded} of {30 + coded} new people ha(s|ve) the quasi-ident"
        ) as raised:
            series.publish(anew, tmp_path / "out", strict=True)
        assert SECRET not in str(raised.value)
        assert len(raised.value.warnings) == 1
        assert not list(tmp_path.glob("out*"))
        made = series.publish(anew, tmp_path / "out")
        assert made.notes[0].startswith(
            f"{coded} of {30 + coded} new people {'has' if coded == 1 else 'have'} the quasi-identifiers"
        )
        for path in (tmp_path / "out").iterdir():
            assert "new people ha" not in path.read_text(), "what is public must not depend on it"

    def test_new_people_who_are_like_nobody_raise_nothing(self, sqlite: Any, patients: Any) -> None:
        series = sqlite.series()
        series.publish(patients(range(100)))
        other_value = patients(range(100, 130), disease=lambda one: f"{SECRET}-new-{one % 5}")
        alike = other_value.with_columns(patients(range(30)).select("age", "zip").get_columns())
        made = series.publish(pl.concat([patients(range(30, 100)), alike]), strict=True)
        assert made.notes == ()

    def test_what_chance_explains_raises_nothing(self, sqlite: Any, patients: Any) -> None:
        """A few coarse quasi-identifiers: everybody is like somebody who left."""
        series = sqlite.series()
        coarse = {"age": lambda one: one % 3, "zip": lambda one: one % 2}
        series.publish(patients(range(200), **coarse))
        assert series.publish(patients(range(100, 250), **coarse), strict=True).notes == ()


@pytest.mark.drawn
@pytest.mark.parametrize("dropped", first([["pcode"], []]), ids=["a column of persons", "none"])
def test_visits_that_are_taken_for_persons(sqlite: Any, tmp_path: Path, dropped: list[str]) -> None:
    """Each of five visits of a person got a set of values of its own, under a promise for the person."""
    people = pl.Series([row // 5 for row in range(300)])
    visits = pl.DataFrame(
        {
            "visit": range(300),
            "pcode": 1000 + people * 7,
            "age": 20 + people * 7 % 50,
            "gender": people * 5 % 7 % 2,
            "zip": 10_000 + people * 13 % 60,
            "disease": [f"{SECRET}-{row * 3 % 7}" for row in range(300)],
        }
    ).select(pl.exclude("pcode"), *dropped)
    roles = {"identifier": "visit", "quasi_identifiers": ["age", "gender", "zip"], "sensitive": "disease"}
    series = sqlite.open().start("visits", m=3, direct_identifiers=dropped, **roles)
    with pytest.raises(WarnedError, match="Persons seem to have several rows: 300 rows") as raised:
        series.publish(visits, tmp_path / "out", strict=True)
    assert all(name in str(raised.value) for name in dropped)
    assert SECRET not in str(raised.value)
    assert not list(tmp_path.glob("out*"))
    (note,) = series.publish(visits, tmp_path / "out").notes
    assert note.startswith("Persons seem to have several rows")
    assert all("several rows:" not in path.read_text() for path in (tmp_path / "out").iterdir()), "it is private"
    once = visits.unique("age", keep="first", maintain_order=True)
    apart = sqlite.open().start("persons", m=3, direct_identifiers=dropped, **roles)
    assert apart.publish(once, overlap="allow", strict=True).notes == ()


def test_values_that_readers_cannot_tell_apart(sqlite: Any, patients: Any) -> None:
    """A letter with its accent, and the accent behind it: a group with both was a group of two values, and of one."""
    composed, apart = "\u00c9pilepsie", "E\u0301pilepsie"
    series = sqlite.series(m=2)
    both = patients(range(40)).with_columns(disease=pl.Series([composed, apart] * 20))
    with pytest.raises(DataError, match=r"1 value\(s\) of the sensitive column 'disease' read like another") as raised:
        series.publish(both)
    assert "pilepsie" not in str(raised.value)
    series.publish(both.with_columns(disease=pl.Series([composed, "flu"] * 20)))
    with pytest.raises(DataError, match="read like another"):
        series.publish(patients(range(40, 80)).with_columns(disease=pl.Series([apart, "flu"] * 20)))
    kinds: list[Any] = [pl.String, pl.Categorical, pl.Enum([composed, apart])]
    for kind in kinds:
        table = pl.DataFrame({"q": [1, 1], "s": pl.Series([composed, apart], dtype=kind)})
        with pytest.raises(DataError, match="read like another"):
            shoal.anonymize(table, quasi_identifiers=["q"], sensitive="s", privacy=shoal.LDiversity(2))
