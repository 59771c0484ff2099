"""Making, opening and refusing ledgers: keys, formats, damage, edits."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from shoal import Ledger
from shoal.errors import LedgerBusyError, LedgerError, MissingExtraError, ParameterError
from shoal.republication.ledger.keys import LedgerKey
from shoal.republication.ledger.tables import METADATA

ROLES: dict[str, Any] = {"identifier": "patient_id", "quasi_identifiers": ["age", "zip"], "sensitive": "disease"}
DATA = Path(__file__).parent / "ledger" / "data"


def edit(place: Any, statement: str) -> None:
    """Change a ledger as somebody would who has a database client and no key."""
    ledger = place.open()
    with ledger._database.writing() as connection:
        connection.exec_driver_sql(statement)


class TestMaking:
    def test_the_file_and_its_key_belong_to_their_owner_alone(self, tmp_path: Path) -> None:
        with Ledger(tmp_path / "releases.db") as ledger:
            assert ledger.names == ()
            assert ledger.key_file == str(tmp_path / "releases.db.key")
        assert {path.name for path in tmp_path.iterdir()} == {"releases.db", "releases.db.key", "releases.db.lock"}
        for name in ("releases.db", "releases.db.key"):
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
        secret = (tmp_path / "releases.db.key").read_text().strip()
        assert len(secret) == 64
        assert secret.encode() not in (tmp_path / "releases.db").read_bytes()
        assert secret not in repr(ledger) + repr(ledger._key)

    def test_the_migrations_make_the_tables_that_the_code_knows(self, place: Any) -> None:
        with place.open()._database.reading() as connection:
            context = MigrationContext.configure(
                connection,
                opts={"include_object": lambda _, name, kind, *more: kind != "table" or name != "shoal_migrations"},
            )
            assert compare_metadata(context, METADATA) == []
            assert connection.scalar(sa.text("SELECT version_num FROM shoal_migrations")) == "1"

    def test_a_ledger_is_opened_again(self, place: Any, patients: Any) -> None:
        place.series().publish(patients(range(40)))
        series = place.open(create=False).series("admissions")
        assert (series.m, series.columns.identifier, len(series.history())) == (3, "patient_id", 1)
        assert place.open().names == ("admissions",)

    def test_without_create_a_wrong_name_is_no_empty_ledger(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match=r"There is no ledger.*restore it from a backup"):
            Ledger(tmp_path / "relaeses.db", create=False)
        assert list(tmp_path.iterdir()) == []

    def test_where_no_file_can_be(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match=r"cannot be (made|opened)"):
            Ledger(tmp_path / "no such folder" / "releases.db")
        with pytest.raises(LedgerError, match="is not a file"):
            Ledger(tmp_path)

    @pytest.mark.parametrize(
        ("url", "said"),
        [
            ("mysql://somewhere/db", "cannot be kept in 'mysql'"),
            ("://", "no database URL"),
            ("", "must be a path or a database URL"),
            (7, "must be a path or a database URL. Got int"),
        ],
    )
    def test_wrong_addresses(self, url: Any, said: str) -> None:
        with pytest.raises(ParameterError, match=said):
            Ledger(url)

    def test_a_url_of_sqlite_is_a_path(self, tmp_path: Path) -> None:
        assert Ledger(f"sqlite:///{tmp_path}/a.db").address == str(tmp_path / "a.db")

    @pytest.mark.parametrize("wrong", [{"wait": -1}, {"wait": "long"}, {"create": 1}, {"key": 7}, {"key": b"short"}])
    def test_wrong_parameters(self, tmp_path: Path, wrong: dict[str, Any]) -> None:
        with pytest.raises(ParameterError, match="parameter of Ledger must"):
            Ledger(tmp_path / "a.db", **wrong)
        assert list(tmp_path.iterdir()) == []

    def test_passwords_are_not_shown(self, tmp_path: Path) -> None:
        url = "postgresql://somebody:Zyzzyva@127.0.0.1:1/nowhere"
        with pytest.raises(LedgerError, match="cannot be reached") as raised:
            Ledger(url, key=tmp_path / "key")
        assert "Zyzzyva" not in str(raised.value)
        assert raised.value.__cause__ is None

    def test_postgresql_needs_to_be_told_where_the_key_is(self) -> None:
        with pytest.raises(LedgerError, match="needs its key"):
            Ledger("postgresql://localhost/nowhere")

    def test_postgresql_without_its_driver(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import sys

        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(MissingExtraError, match=r"shoal\[postgresql\]"):
            Ledger("postgresql://localhost/nowhere", key=tmp_path / "key")


class TestSeries:
    def test_it_keeps_what_it_was_started_with(self, place: Any) -> None:
        ledger = place.open()
        ledger.series("a", m=4, **ROLES)
        assert ledger.series("a", m=4, **ROLES).m == 4
        with pytest.raises(LedgerError, match=r"another m \(there 4, given 5\); another sensitive"):
            ledger.series("a", m=5, identifier="patient_id", sensitive="diagnosis")
        with pytest.raises(LedgerError, match=r"Did you mean 'a'|Known are 'a'"):
            ledger.series("b")
        ledger.series("b", m=2, **ROLES)
        assert ledger.names == ("a", "b")

    def test_people_in_two_series_are_unrelated(self, sqlite: Any, patients: Any) -> None:
        ledger = sqlite.open()
        for name in ("a", "b"):
            ledger.series(name, m=3, **ROLES).publish(patients(range(40)))
        with closing(sqlite3.connect(sqlite.url)) as connection:
            people = connection.execute("SELECT person FROM shoal_persons").fetchall()
        assert len(set(people)) == 80

    @pytest.mark.parametrize(
        "wrong",
        [
            {"m": 1},
            {"m": 2.0},
            {"identifier": ["patient_id"]},
            {"identifier": 7},
            {"quasi_identifiers": []},
            {"sensitive": ()},
            {"sensitive": "age"},
            {"quasi_identifiers": ["group_id"]},
        ],
    )
    def test_wrong_descriptions(self, sqlite: Any, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"\."):
            sqlite.open().series("a", **{"m": 3, **ROLES, **wrong})
        assert sqlite.open().names == ()

    @pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201, 7])
    def test_wrong_names(self, sqlite: Any, name: Any) -> None:
        with pytest.raises(ParameterError, match="The 'name' parameter"):
            sqlite.open().series(name, m=3, **ROLES)

    def test_what_a_new_series_needs(self, sqlite: Any) -> None:
        with pytest.raises(LedgerError, match="give identifier, quasi_identifiers, sensitive too"):
            sqlite.open().series("a", m=3)


class TestKeys:
    def test_a_lost_key(self, place: Any, patients: Any) -> None:
        place.series().publish(patients(range(40)))
        place.key.unlink()
        with pytest.raises(LedgerError, match=r"is not there. Without the right key.*Restore the key"):
            place.open()
        assert not place.key.exists(), "no new key is made for an old ledger"

    def test_another_key(self, place: Any) -> None:
        place.open()
        place.key.write_text("ab" * 32)
        with pytest.raises(LedgerError, match="This is not the key of the ledger"):
            place.open()

    def test_a_damaged_key(self, place: Any) -> None:
        place.open()
        secret = place.key.read_text()
        place.key.write_text(secret[:20])
        with pytest.raises(LedgerError, match="holds no key of a ledger") as raised:
            place.open()
        assert secret[:20] not in str(raised.value)

    def test_a_key_that_others_can_read(self, place: Any) -> None:
        place.open()
        place.key.chmod(0o644)
        with pytest.raises(LedgerError, match="chmod 600"):
            place.open()

    def test_the_key_in_the_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SHOAL_LEDGER_KEY", "0f" * 32)
        Ledger(tmp_path / "a.db")
        assert {path.name for path in tmp_path.iterdir()} == {"a.db", "a.db.lock"}
        monkeypatch.setenv("SHOAL_LEDGER_KEY", "1f" * 32)
        with pytest.raises(LedgerError, match="not the key"):
            Ledger(tmp_path / "a.db")
        monkeypatch.setenv("SHOAL_LEDGER_KEY", "secret text")
        with pytest.raises(LedgerError, match="SHOAL_LEDGER_KEY holds no key") as raised:
            Ledger(tmp_path / "a.db")
        assert "secret text" not in str(raised.value)

    def test_the_key_as_bytes(self, tmp_path: Path) -> None:
        Ledger(tmp_path / "a.db", key=b"k" * 32)
        assert Ledger(tmp_path / "a.db", key=b"k" * 32).key_file is None
        with pytest.raises(LedgerError, match="not the key"):
            Ledger(tmp_path / "a.db", key=b"l" * 32)

    def test_a_ledger_that_was_lost_is_not_replaced_by_an_empty_one(self, sqlite: Any) -> None:
        sqlite.open()
        Path(sqlite.url).unlink()
        with pytest.raises(LedgerError, match=r"There is a key.*but no ledger.*restore it from a backup"):
            Ledger(sqlite.url)

    def test_a_crash_while_a_ledger_is_made(self, tmp_path: Path) -> None:
        # First moment: a key, and no ledger yet. Second: a ledger, whose key still has its first name.
        path, pending = tmp_path / "a.db", tmp_path / "a.db.key.new"
        LedgerKey.new().write(pending)
        (tmp_path / ".a.db.new-0123abcd").write_bytes(b"half")
        Ledger(path)
        assert {one.name for one in tmp_path.iterdir()} == {"a.db", "a.db.key", "a.db.lock"}
        (tmp_path / "a.db.key").rename(pending)
        Ledger(path)
        assert (tmp_path / "a.db.key").exists()
        assert not pending.exists()

    def test_pseudonyms_depend_on_the_key_and_hide_equal_values(self, sqlite: Any) -> None:
        import polars as pl

        ids = pl.Series([f"person {number}" for number in range(1000)])
        one, other = (LedgerKey(secret=bytes([number]) * 32).of_series("x") for number in (1, 2))
        assert np.array_equal(one.pseudonyms(ids).ids, one.pseudonyms(ids).ids)
        assert not (one.pseudonyms(ids).ids == other.pseudonyms(ids).ids).any()
        checks = one.pseudonyms(ids).value_pads ^ one.tokens("disease", ["flu"])[0]
        assert len(np.unique(checks)) == 1000
        assert repr(one) == "SeriesKeys(...)"


class TestDamage:
    """A ledger that is not as shoal wrote it is refused, with what to do, and nothing is published."""

    @pytest.fixture
    def series(self, place: Any, patients: Any) -> Any:
        series = place.series()
        for people in (range(60), range(20, 80)):
            series.publish(patients(people))
        return series

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE shoal_releases SET rows = rows + 1 WHERE number = 1",
            'UPDATE shoal_releases SET files = \'{"release.csv":{"sha256":"00"}}\' WHERE number = 2',
            "UPDATE shoal_releases SET state = 'withdrawn' WHERE number = 2",
            "UPDATE shoal_releases SET counts = 'no json' WHERE number = 2",
            "UPDATE shoal_releases SET input_sha256 = '00' WHERE number = 1",
            "DELETE FROM shoal_releases WHERE number = 2",
            "DELETE FROM shoal_releases WHERE number = 1",
            "UPDATE shoal_series SET m = 2",
            "UPDATE shoal_series SET columns = '{}'",
            "UPDATE shoal_series SET seal = '00'",
        ],
    )
    def test_edited_records(self, place: Any, series: Any, patients: Any, statement: str) -> None:
        edit(place, statement)
        for action in (series.history, lambda: series.publish(patients(range(60))), series.verify):
            with pytest.raises(LedgerError, match=r"was changed by something else.*Restore the ledger from a backup"):
                action()

    @pytest.mark.parametrize(
        "statement",
        [
            "DELETE FROM shoal_persons WHERE person = (SELECT min(person) FROM shoal_persons)",
            "DELETE FROM shoal_persons",
            "UPDATE shoal_persons SET record = (SELECT max(record) FROM shoal_persons WHERE series = 1)",
            "UPDATE shoal_signatures SET codes = '[0,1,2]' WHERE number = 0",
            "UPDATE shoal_signatures SET codes = 'x' WHERE number = 0",
            "DELETE FROM shoal_signatures WHERE number = 0",
            "UPDATE shoal_values SET content = '[\"other\"]' WHERE code = 1",
            "DELETE FROM shoal_values WHERE code = 0",
            "UPDATE shoal_values SET release = 7 WHERE code = 0",
        ],
    )
    def test_edited_memory(self, place: Any, series: Any, patients: Any, statement: str) -> None:
        edit(place, statement)
        assert len(series.history()) == 2
        for action in (lambda: series.publish(patients(range(60))), series.verify):
            with pytest.raises(LedgerError, match=r"What the ledger remembers.*Restore the ledger from a backup"):
                action()

    def test_an_edited_undo_log(self, place: Any, series: Any) -> None:
        edit(place, "DELETE FROM shoal_undo")
        with pytest.raises(LedgerError, match="was changed by something else"):
            series.rollback(unpublished=True)
        assert [one.state for one in series.history()] == ["published", "published"]

    def test_an_older_backup_of_the_persons_alone(self, sqlite: Any, patients: Any, tmp_path: Path) -> None:
        series = sqlite.series()
        series.publish(patients(range(60)))
        shutil.copy(sqlite.url, tmp_path / "backup.db")
        series.publish(patients(range(20, 80)))
        with closing(sqlite3.connect(sqlite.url)) as connection, connection:
            connection.execute("ATTACH ? AS backup", (str(tmp_path / "backup.db"),))
            connection.execute("DELETE FROM shoal_persons")
            connection.execute("INSERT INTO shoal_persons SELECT * FROM backup.shoal_persons")
        with pytest.raises(LedgerError, match="was changed by something else"):
            series.publish(patients(range(60)))

    def test_a_newer_format(self, place: Any) -> None:
        ledger = place.open()
        with ledger._database.writing() as connection:
            connection.exec_driver_sql("UPDATE shoal_ledger SET content = '2' WHERE name = 'format'")
        with pytest.raises(LedgerError, match=r"has format 2.*Update shoal"):
            place.open()

    def test_an_older_format_is_brought_up_to_date(self, place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        place.open()
        monkeypatch.setattr("shoal.republication.release_ledger.FORMAT", 2)
        with place.open()._database.reading() as connection:
            version = connection.scalar(sa.text("SELECT content FROM shoal_ledger WHERE name = 'format'"))
        assert version == "2"

    def test_a_ledger_of_format_1_still_works(self, patients: Any, tmp_path: Path) -> None:
        for name in ("releases.db", "releases.db.key"):
            shutil.copy(DATA / "format-1" / name, tmp_path)
            (tmp_path / name).chmod(0o600)
        series = Ledger(tmp_path / "releases.db", create=False).series("admissions")
        assert [(one.number, one.state, one.rows) for one in series.history()] == [
            (1, "published", 30),
            (2, "published", 30),
            (3, "withdrawn", 40),
        ]
        assert series.verify().problems == ()
        made = series.publish(patients(range(40)))
        assert (made.number, made.counts["kept"], made.counts["returned"], made.counts["new"]) == (4, 30, 10, 0)

    def test_no_format(self, place: Any) -> None:
        edit(place, "DELETE FROM shoal_ledger WHERE name = 'format'")
        with pytest.raises(LedgerError, match="does not say what format"):
            place.open()

    @pytest.mark.parametrize("left", [0, 1, 100, 5000, 0.5, 0.9])
    def test_a_truncated_file(self, sqlite: Any, patients: Any, left: float) -> None:
        series = sqlite.series()
        series.publish(patients(range(2000)))
        path = Path(sqlite.url)
        content = path.read_bytes()
        path.write_bytes(content[: int(left if isinstance(left, int) else left * len(content))])
        with pytest.raises(LedgerError, match=r"Restore (it|the ledger) from a backup"):
            Ledger(path, create=False).series("admissions").publish(patients(range(2000)))

    def test_another_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.db").write_text("not a database " * 1000)
        with pytest.raises(LedgerError, match="is damaged"):
            Ledger(tmp_path / "a.db")
        with closing(sqlite3.connect(tmp_path / "b.db")) as connection, connection:
            connection.execute("CREATE TABLE other (x)")
        with pytest.raises(LedgerError, match=r"is damaged.*or is no ledger"):
            Ledger(tmp_path / "b.db")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("attempt to write a readonly database", "no permission"),
            ("unable to open database file", "cannot be opened"),
            ("something about Zyzzyva", "the database reports OperationalError"),
        ],
    )
    def test_other_errors_are_said_without_their_text(self, sqlite: Any, text: str, said: str) -> None:
        ledger = sqlite.open()
        with pytest.raises(LedgerError, match=said) as raised, ledger._database.reading():
            raise sqlite3.OperationalError(text)
        assert "Zyzzyva" not in str(raised.value)


class TestBusy:
    def test_a_second_publisher_waits_and_then_says_so(self, place: Any, patients: Any) -> None:
        first, second = place.open(), place.open(wait=0.05)
        series = first.series("admissions", m=3, **ROLES)
        other = second.series("admissions")
        with first._publishing():
            with pytest.raises(LedgerBusyError, match=r"Another process publishes.*Nothing was published"):
                other.publish(patients(range(40)))
            with pytest.raises(LedgerBusyError):
                other.rollback(unpublished=True)
            assert other.history() == (), "looking is not publishing"
        assert other.publish(patients(range(40))).number == 1
        assert series.publish(patients(range(40))).number == 2

    def test_a_database_that_somebody_else_locked(self, sqlite: Any, patients: Any) -> None:
        sqlite.series()
        series = sqlite.open(wait=0.05).series("admissions")
        with closing(sqlite3.connect(sqlite.url, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            with pytest.raises(LedgerBusyError, match="in use by another process"):
                series.publish(patients(range(40)))
        assert series.publish(patients(range(40))).number == 1
