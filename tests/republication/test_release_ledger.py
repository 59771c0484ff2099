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
from tests.every import every, first

from shoal import Ledger
from shoal.errors import LedgerBusyError, LedgerError, MissingExtraError, ParameterError
from shoal.republication.ledger.keys import LedgerKey, Secrets
from shoal.republication.ledger.records import METADATA

ROLES: dict[str, Any] = {"identifier": "patient_id", "quasi_identifiers": ["age", "zip"], "sensitive": "disease"}


def edit(place: Any, statement: str) -> None:
    """Change a ledger as somebody would who has a database client and no key."""
    ledger = place.open()
    with ledger._store.database.open_for_writing() as connection:
        connection.exec_driver_sql(statement)


class TestMaking:
    def test_the_file_and_its_key_belong_to_their_owner_alone(self, tmp_path: Path) -> None:
        with Ledger(tmp_path / "releases.db", create=True) as ledger:
            assert ledger.names == ()
            assert ledger.key_file == str(tmp_path / "releases.db.key")
            assert ledger.anchor_file == str(tmp_path / "releases.db.anchor")
        names = {"releases.db", "releases.db.anchor", "releases.db.key", "releases.db.lock"}
        assert {path.name for path in tmp_path.iterdir()} == names
        for name in names:
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
        secret = (tmp_path / "releases.db.key").read_text().strip()
        assert len(secret) == 64
        assert secret.encode() not in (tmp_path / "releases.db").read_bytes()
        assert secret not in repr(ledger) + repr(ledger._store.key) + repr(ledger._store.secrets)

    def test_the_database_has_the_tables_of_format_1_and_no_others(self, place: Any) -> None:
        with place.open()._store.database.open_for_reading() as connection:
            assert set(sa.inspect(connection).get_table_names()) == set(METADATA.tables)
            assert connection.scalar(sa.text("SELECT content FROM shoal_ledger WHERE name = 'format'")) == "1"

    def test_a_ledger_is_opened_again(self, place: Any, patients: Any) -> None:
        place.series().publish(patients(range(40)))
        series = place.open(create=False).series("admissions")
        assert (series.m, series.columns.identifier, len(series.history())) == (3, "patient_id", 1)
        assert place.open().names == ("admissions",)

    def test_without_create_a_wrong_name_is_no_empty_ledger(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match=r"There is no ledger.*restore it from a backup"):
            Ledger(tmp_path / "relaeses.db")
        assert list(tmp_path.iterdir()) == []

    def test_where_no_file_can_be(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match=r"cannot be (made|opened)"):
            Ledger(tmp_path / "no such folder" / "releases.db", create=True)
        with pytest.raises(LedgerError, match="is not a file"):
            Ledger(tmp_path, create=True)

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
        assert Ledger(f"sqlite:///{tmp_path}/a.db", create=True).address == str(tmp_path / "a.db")

    @every("wrong", [{"wait": -1}, {"wait": "long"}, {"create": 1}, {"key": 7}, {"key": b"short"}])
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
        with pytest.raises(MissingExtraError, match=r"shoal-privacy\[postgresql\]"):
            Ledger("postgresql://localhost/nowhere", key=tmp_path / "key")


class TestSeries:
    def test_it_is_started_once_and_keeps_what_it_was_started_with(self, place: Any) -> None:
        ledger = place.open()
        ledger.start("a", m=4, **ROLES)
        assert ledger.series("a").m == 4
        with pytest.raises(LedgerError, match="'a' is in the ledger already"):
            ledger.start("a", m=4, **ROLES)
        with pytest.raises(LedgerError, match=r"(Did you mean 'a'|Known are 'a').*restore a newer backup"):
            ledger.series("b")
        ledger.start("b", m=2, **ROLES, counterfeits="paper")
        assert ledger.names == ("a", "b")

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
            {"counterfeits": "many"},
        ],
    )
    def test_wrong_descriptions(self, sqlite: Any, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"\."):
            sqlite.open().start("a", **{"m": 3, **ROLES, **wrong})
        assert sqlite.open().names == ()

    @pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201, 7])
    def test_wrong_names(self, sqlite: Any, name: Any) -> None:
        with pytest.raises(ParameterError, match="The 'name' parameter"):
            sqlite.open().start(name, m=3, **ROLES)


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
        with pytest.raises(LedgerError, match=r"The key file.*is open to other users.*chmod 600"):
            place.open()

    def test_the_key_in_the_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SHOAL_LEDGER_KEY", "0f" * 32)
        with pytest.raises(LedgerError, match=r"There is a key, but no ledger.*with a new key"):
            Ledger(tmp_path / "a.db", create=True)
        monkeypatch.delenv("SHOAL_LEDGER_KEY")
        Ledger(tmp_path / "a.db", create=True)
        secret = (tmp_path / "a.db.key").read_text()
        (tmp_path / "a.db.key").unlink()
        monkeypatch.setenv("SHOAL_LEDGER_KEY", secret)
        assert Ledger(tmp_path / "a.db").key_file is None
        monkeypatch.setenv("SHOAL_LEDGER_KEY", "1f" * 32)
        with pytest.raises(LedgerError, match="not the key"):
            Ledger(tmp_path / "a.db")
        monkeypatch.setenv("SHOAL_LEDGER_KEY", "secret text")
        with pytest.raises(LedgerError, match="SHOAL_LEDGER_KEY holds no key") as raised:
            Ledger(tmp_path / "a.db")
        assert "secret text" not in str(raised.value)

    def test_the_key_as_bytes(self, tmp_path: Path) -> None:
        Ledger(tmp_path / "a.db", create=True)
        secret = bytes.fromhex((tmp_path / "a.db.key").read_text())
        (tmp_path / "a.db.key").unlink()
        assert Ledger(tmp_path / "a.db", key=secret).key_file is None
        with pytest.raises(LedgerError, match="not the key"):
            Ledger(tmp_path / "a.db", key=b"l" * 32)

    def test_a_crash_while_a_ledger_is_made(self, tmp_path: Path) -> None:
        # First moment: a key and an anchor, and no ledger yet. Second: a ledger, and both still have their first names.
        path, pending = tmp_path / "a.db", tmp_path / "a.db.key.new"
        LedgerKey.new().write(pending)
        (tmp_path / "a.db.anchor.new").write_text("half")
        (tmp_path / ".a.db.new-0123abcd").write_bytes(b"half")
        Ledger(path, create=True)
        names = {"a.db", "a.db.anchor", "a.db.key", "a.db.lock"}
        assert {one.name for one in tmp_path.iterdir()} == names
        (tmp_path / "a.db.key").rename(pending)
        (tmp_path / "a.db.anchor").rename(tmp_path / "a.db.anchor.new")
        Ledger(path).start("s", m=3, **ROLES)
        assert {one.name for one in tmp_path.iterdir()} == names

    def test_pseudonyms_and_checks_depend_on_the_key_and_hide_equal_values(self) -> None:
        import polars as pl

        ids = pl.Series([f"person {number}" for number in range(1000)])
        one, other = (
            Secrets(people=bytes([number]) * 32, records=b"r" * 32).derive_series_keys("x") for number in (1, 2)
        )
        people = one.pseudonymize(ids)
        assert np.array_equal(people.ids, one.pseudonymize(ids).ids)
        assert not (people.ids == other.pseudonymize(ids).ids).any()
        flu, cough = (np.repeat(one.hash_values("disease", [name]), 1000) for name in ("flu", "cough"))
        checks = one.compute_checks(people.words, flu)
        assert np.array_equal(checks, one.compute_checks(people.words, flu))
        assert len(np.unique(checks)) == 1000
        changes = checks ^ one.compute_checks(people.words, cough)
        assert len(np.unique(changes)) == 1000, "equal changes look unrelated, too"
        assert repr(one) == "SeriesKeys(...)"

    def test_secrets_are_wrapped_for_one_ledger_and_one_key(self) -> None:
        key, secrets = LedgerKey.new(), Secrets.new()
        wrapped = key.wrap(secrets, "ledger")
        assert key.unwrap(wrapped, "ledger") == secrets
        for opener, uid, content in (
            (LedgerKey.new(), "ledger", wrapped),
            (key, "another", wrapped),
            (key, "ledger", wrapped[:-1] + bytes([wrapped[-1] ^ 1])),
            (key, "ledger", b""),
        ):
            with pytest.raises(LedgerError, match="The secrets in the ledger were changed"):
                opener.unwrap(content, uid)


class TestDamage:
    """A ledger that is not as shoal wrote it is refused, with what to do, and nothing is published."""

    @pytest.fixture
    def series(self, place: Any, patients: Any) -> Any:
        series = place.series()
        for people in (range(60), range(20, 80)):
            series.publish(patients(people))
        return series

    @pytest.mark.drawn
    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE shoal_releases SET time = '2020-01-01T00:00:00+00:00' WHERE number = 1",
            "UPDATE shoal_releases SET state = 'withdrawn' WHERE number = 2",
            "UPDATE shoal_releases SET content = substr(content, 1, 40) WHERE number = 1",
            "UPDATE shoal_releases SET content = (SELECT content FROM shoal_releases WHERE number = 1)",
            "UPDATE shoal_series SET anew = 1",
            "UPDATE shoal_releases SET memory_digest = '00' WHERE number = 2",
            "DELETE FROM shoal_releases WHERE number = 2",
            "DELETE FROM shoal_releases WHERE number = 1",
            "UPDATE shoal_series SET m = 2",
            "UPDATE shoal_series SET counterfeits = 'fewest'",
            "UPDATE shoal_series SET columns = '{}'",
            "UPDATE shoal_series SET seal = '00'",
        ],
    )
    def test_edited_records(self, place: Any, series: Any, patients: Any, statement: str) -> None:
        edit(place, statement)
        for action in (series.history, lambda: series.publish(patients(range(60))), series.verify):
            said = r"was changed by something else.*Restore the ledger from a backup|The ledger forgot|not in the state"
            with pytest.raises(LedgerError, match=said):
                action()

    @pytest.mark.drawn
    @pytest.mark.parametrize(
        "statement",
        [
            "DELETE FROM shoal_memory WHERE release = 2 AND part = 0",
            "DELETE FROM shoal_memory WHERE release = 2 AND part = 1",
            "DELETE FROM shoal_memory",
            "UPDATE shoal_memory SET release = 5 - release",
            "UPDATE shoal_memory SET part = -part",
            "UPDATE shoal_memory SET content = (SELECT max(content) FROM shoal_memory WHERE release = 1)",
            "UPDATE shoal_memory SET content = substr(content, 1, 20)",
        ],
    )
    def test_edited_memory(self, place: Any, series: Any, patients: Any, statement: str) -> None:
        edit(place, statement)
        assert len(series.history()) == 2
        for action in (lambda: series.publish(patients(range(60))), series.verify):
            with pytest.raises(LedgerError, match=r"What the ledger remembers.*Restore the ledger from a backup"):
                action()

    def test_an_edited_memory_of_the_release_before(self, place: Any, series: Any) -> None:
        edit(place, "DELETE FROM shoal_memory WHERE release = 1")
        with pytest.raises(LedgerError, match="was changed by something else"):
            series.rollback(unpublished=True)
        assert [one.state for one in series.history()] == ["published", "published"]

    def test_an_older_backup_of_the_memory_alone(self, sqlite: Any, patients: Any, tmp_path: Path) -> None:
        series = sqlite.series()
        series.publish(patients(range(60)))
        shutil.copy(sqlite.url, tmp_path / "backup.db")
        series.publish(patients(range(20, 80)))
        with closing(sqlite3.connect(sqlite.url)) as connection, connection:
            connection.execute("ATTACH ? AS backup", (str(tmp_path / "backup.db"),))
            connection.execute("DELETE FROM shoal_memory WHERE release = 2")
            connection.execute("INSERT INTO shoal_memory SELECT series, 2, part, content FROM backup.shoal_memory")
        with pytest.raises(LedgerError, match="was changed by something else"):
            series.publish(patients(range(60)))

    def test_another_format(self, place: Any) -> None:
        edit(place, "UPDATE shoal_ledger SET content = '2' WHERE name = 'format'")
        with pytest.raises(LedgerError, match=r"has format 2; this version of shoal reads format 1"):
            place.open()

    @pytest.mark.parametrize("name", ["uid", "created", "key_fingerprint", "secrets", "accepted", "seal"])
    def test_edited_facts(self, sqlite: Any, name: str) -> None:
        sqlite.open()
        with closing(sqlite3.connect(sqlite.url)) as connection, connection:
            ((content,),) = connection.execute("SELECT content FROM shoal_ledger WHERE name = ?", (name,))
            other = "0" if content[0] != "0" else "1"
            connection.execute("UPDATE shoal_ledger SET content = ? WHERE name = ?", (other + content[1:], name))
        with pytest.raises(LedgerError, match=r"(was|were) changed by something else|not the key"):
            sqlite.open()

    def test_no_format(self, place: Any) -> None:
        edit(place, "DELETE FROM shoal_ledger WHERE name = 'format'")
        with pytest.raises(LedgerError, match="does not say what format"):
            place.open()

    @pytest.mark.parametrize("left", first([0, 0.9, 1, 100, 5000, 0.5], 2))
    def test_a_truncated_file(self, sqlite: Any, patients: Any, left: float) -> None:
        series = sqlite.series()
        series.publish(patients(range(2000)))
        path = Path(sqlite.url)
        content = path.read_bytes()
        path.write_bytes(content[: int(left if isinstance(left, int) else left * len(content))])
        with pytest.raises(LedgerError, match=r"Restore (it|the ledger) from a backup"):
            Ledger(path).series("admissions").publish(patients(range(2000)))

    def test_another_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.db").write_text("not a database " * 1000)
        (tmp_path / "a.db").chmod(0o600)
        with pytest.raises(LedgerError, match="is damaged"):
            Ledger(tmp_path / "a.db")
        with closing(sqlite3.connect(tmp_path / "b.db")) as connection, connection:
            connection.execute("CREATE TABLE other (x)")
        (tmp_path / "b.db").chmod(0o600)
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
        with pytest.raises(LedgerError, match=said) as raised, ledger._store.database.open_for_reading():
            raise sqlite3.OperationalError(text)
        assert "Zyzzyva" not in str(raised.value)


class TestBusy:
    def test_a_second_publisher_waits_and_then_says_so(self, place: Any, patients: Any) -> None:
        first, second = place.open(), place.open(wait=0.05)
        series = first.start("admissions", m=3, **ROLES)
        other = second.series("admissions")
        with first._store.lock_for_publishing():
            with pytest.raises(LedgerBusyError, match="Another process publishes"):
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
