"""Ledgers of the first format are brought up to date, once their seals were checked."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from shoal import Ledger
from shoal.errors import DataError, LedgerError
from shoal.republication.ledger import storage, store

DATA = Path(__file__).parent / "data"
TABLES = ("ledger", "series", "releases", "values", "signatures", "persons", "undo")


@pytest.fixture
def old(tmp_path: Path) -> Any:
    """Return a function that copies a ledger of the first format, and its path."""

    def copied(name: str) -> Path:
        for file in ("releases.db", "releases.db.key"):
            shutil.copy(DATA / name / file, tmp_path)
            (tmp_path / file).chmod(0o600)
        return tmp_path / "releases.db"

    return copied


def test_a_series_goes_on(old: Any, patients: Any, caplog: pytest.LogCaptureFixture) -> None:
    path = old("format-1")
    series = Ledger(path).series("admissions")
    assert "was brought to format 2" in caplog.text
    assert [(one.number, one.state, one.rows) for one in series.history()] == [
        (1, "published", 30),
        (2, "published", 30),
        (3, "withdrawn", 40),
    ]
    assert series.verify().problems == ()
    assert "counterfeits='independent' leaves nothing" in series.certificate()["guarantee"]["text"]
    made = series.publish(patients(range(40)))
    assert (made.number, made.counts["kept"], made.counts["returned"], made.counts["new"]) == (4, 30, 10, 0)
    assert made.counts["changed_quasi_identifiers"] == 0, "what is not known has not changed"
    assert series.publish(patients(range(40), age=lambda _: 33)).counts["changed_quasi_identifiers"] > 30
    assert {one.name for one in path.parent.iterdir()} >= {"releases.db.anchor", "releases.db.key"}


def test_nothing_of_the_first_format_is_left_in_the_file(old: Any) -> None:
    path = old("format-1-two")
    with closing(sqlite3.connect(path)) as connection:
        people = [person for (person,) in connection.execute("SELECT person FROM shoal_persons")]
        values = [content.encode() for (content,) in connection.execute("SELECT content FROM shoal_values")]
    Ledger(path)
    content = path.read_bytes()
    assert len(people) == 60
    assert not [one for one in (*people, *values) if one in content]


def test_a_changed_value_is_found_for_those_who_were_not_seen_since(old: Any, patients: Any) -> None:
    series = Ledger(old("format-1-two")).series("admissions")
    wrong = patients(range(40), disease=lambda one: "another" if one < 3 else patients([one])["disease"][0])
    with pytest.raises(DataError, match="3 of 40 people"):
        series.publish(wrong)
    for _ in range(2):
        assert series.publish(patients(range(40))).counts["new"] == 0


def test_the_last_release_can_be_taken_back(old: Any, patients: Any) -> None:
    series = Ledger(old("format-1-two")).series("admissions")
    series.rollback(unpublished=True)
    made = series.publish(patients(range(60)))
    assert (made.number, made.counts["kept"], made.counts["new"]) == (3, 40, 20)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE shoal_releases SET rows = rows + 1 WHERE number = 1",
        "DELETE FROM shoal_releases WHERE number = 2",
        "UPDATE shoal_series SET m = 2",
        "UPDATE shoal_series SET columns = '{}'",
        "DELETE FROM shoal_persons WHERE person = (SELECT min(person) FROM shoal_persons)",
        "UPDATE shoal_persons SET record = (SELECT max(record) FROM shoal_persons)",
        "UPDATE shoal_signatures SET codes = '[0,1,2]' WHERE number = 0",
        "UPDATE shoal_values SET content = '[\"other\"]' WHERE code = 1",
        "UPDATE shoal_releases SET counts = 'no json' WHERE number = 2",
    ],
)
def test_an_edited_one_does_not_become_a_whole_one(old: Any, statement: str) -> None:
    path = old("format-1-two")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"was changed by something else.*Restore the ledger from a backup"):
        Ledger(path)
    assert path.read_bytes() == before
    assert not (path.parent / "releases.db.anchor").exists()


def test_an_edited_undo_log_means_that_nothing_can_be_taken_back(old: Any, patients: Any) -> None:
    path = old("format-1-two")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM shoal_undo")
    series = Ledger(path).series("admissions")
    with pytest.raises(LedgerError, match="was changed by something else"):
        series.rollback(unpublished=True)
    assert series.publish(patients(range(60))).counts["new"] == 0


def test_a_backup_from_before_is_refused_afterwards(old: Any, patients: Any) -> None:
    path = old("format-1-two")
    Ledger(path).series("admissions").publish(patients(range(60)))
    old("format-1-two")
    with pytest.raises(LedgerError, match="restored from a backup made before it was brought up to date"):
        Ledger(path)


def test_a_crash_in_the_middle(old: Any, patients: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old("format-1-two")
    with monkeypatch.context() as patch:
        patch.setattr(store, "read_heads", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            Ledger(path)
    series = Ledger(path).series("admissions")
    assert series.publish(patients(range(60))).number == 3
    assert series.verify().problems == ()


def test_in_postgresql(postgresql: Any, old: Any, patients: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old("format-1-two")
    shutil.copy(path.with_name("releases.db.key"), postgresql.key)
    database = storage.Database(storage.Address.parse(postgresql.url), wait=5)
    with closing(sqlite3.connect(path)) as held, database.writing() as connection:
        configuration = Config()
        configuration.set_main_option("script_location", str(Path(storage.__file__).with_name("migrations")))
        configuration.attributes["connection"] = connection
        command.upgrade(configuration, "1")
        for name in TABLES:
            cursor = held.execute(f"SELECT * FROM shoal_{name}")
            names = [one[0] for one in cursor.description]
            columns = ", ".join(f'"{one}"' for one in names)
            given = ", ".join(f":{one}" for one in names)
            rows = [dict(zip(names, row, strict=True)) for row in cursor]
            connection.execute(sa.text(f"INSERT INTO shoal_{name} ({columns}) VALUES ({given})"), rows)
    database.close()
    series = postgresql.open(create=False).series("admissions")
    assert series.verify().problems == ()
    assert series.publish(patients(range(60))).counts == series.history()[-1].counts
    series.rollback(unpublished=True)
    assert [one.state for one in series.history()] == ["published", "published", "withdrawn"]
