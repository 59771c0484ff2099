"""What somebody learns who has a copy of the database, and no key; and where else things must not be open."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.every import every

from shoal import Ledger
from shoal.errors import LedgerError
from shoal.republication.ledger.storage import Address

ROLES: dict[str, Any] = {"identifier": "patient_id", "quasi_identifiers": ["age", "zip"], "sensitive": "disease"}
SECRET = "Zyzzyva"


def words_of(rows: list[bytes]) -> Counter[bytes]:
    """Return how often each word of eight bytes stands at one place of some records, but for what few places hold."""
    found: Counter[bytes] = Counter()
    for row in rows:
        for start in range(0, len(row) - 7, 4):
            found[start.to_bytes(2, "big") + row[start : start + 8]] += 1
    return found


def differences(path: str) -> list[bytes]:
    """Return what two states of a person have in difference, wherever a copy of the database holds two of them."""
    with closing(sqlite3.connect(path)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "shoal_undo" in tables:  # a row for each person, now and before the latest release
            pairs = connection.execute(
                "SELECT a.record, b.record FROM shoal_undo a JOIN shoal_persons b USING (person)"
            )
            return [bytes(x ^ y for x, y in zip(a, b, strict=True)) for a, b in pairs.fetchall()]
        # The people, after the latest release and after the one before: 44 bytes each, behind the tag of the cipher.
        pieces = "SELECT content FROM shoal_memory WHERE part = 1 ORDER BY release"
        before, after = (content[16:] for (content,) in connection.execute(pieces))
    mixed = bytes(x ^ y for x, y in zip(before, after, strict=True))
    return [mixed[start : start + 44] for start in range(0, len(mixed), 44)]


def test_equal_changes_of_people_cannot_be_told_from_others(sqlite: Any, patients: Any) -> None:
    """People who move from one place to another together are no group in a copy of the database."""
    series = sqlite.series()
    homes = {"age": lambda one: 30 + one % 2, "zip": lambda one: 10_000 + one % 4}
    series.publish(patients(range(300), **homes))
    series.publish(patients(range(300), **{**homes, "zip": lambda one: 10_000 + one % 4 + (one % 3 > 0) * 5_000}))
    changed = [row for row in differences(sqlite.url) if any(row)]
    assert len(changed) >= 200
    most = max(count for word, count in words_of(changed).items() if any(word[2:]))
    assert most <= 3, "fifty people made the same change"


def test_a_copy_shows_neither_values_nor_signatures_nor_who_came_when(sqlite: Any, patients: Any) -> None:
    series = sqlite.series()
    for people in (range(300), range(100, 400), range(200, 500)):
        series.publish(patients(people))
    content = Path(sqlite.url).read_bytes()
    assert SECRET.encode() not in content
    with closing(sqlite3.connect(sqlite.url)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        sizes = [connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables]
    assert max(sizes) < 20, "nobody has a row"


@pytest.mark.drawn
def test_two_ledgers_of_the_same_people_have_nothing_in_common(tmp_path: Path, patients: Any) -> None:
    contents = []
    for name in ("a", "b"):
        with Ledger(tmp_path / name, create=True) as ledger:
            for series in ("one", "other"):
                ledger.start(series, m=3, **ROLES).publish(patients(range(100)), seed=1, overlap="allow")
            with ledger._store.database.open_for_reading() as connection:
                contents += connection.scalars(sa.text("SELECT content FROM shoal_memory")).all()
    pieces = [content[start : start + 16] for content in contents for start in range(len(content) - 15)]
    assert max(Counter(pieces).values()) == 1


def test_what_was_deleted_is_not_left_in_the_file(sqlite: Any, patients: Any) -> None:
    series = sqlite.series()
    series.publish(patients(range(3000)))
    with series._store.database.open_for_reading() as connection:
        pieces = connection.scalars(sa.text("SELECT content FROM shoal_memory")).all()
    for _ in range(2):
        series.publish(patients(range(30)))
    content = Path(sqlite.url).read_bytes()
    assert pieces[1][3000:3100] not in content


def test_every_file_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ledger = Ledger(tmp_path / "l.db", create=True)
        ledger.start("s", m=3, **ROLES)
        with ledger._store.database.lock_publishers(), ledger._store.database.open_for_writing() as connection:
            connection.exec_driver_sql("UPDATE shoal_series SET m = 4")
            names = {path.name for path in tmp_path.iterdir()}
            assert names >= {"l.db", "l.db-journal", "l.db.lock", "l.db.key", "l.db.anchor"}
            assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
            connection.rollback()
    finally:
        os.umask(before)


def test_a_database_that_others_can_read(sqlite: Any) -> None:
    sqlite.open()
    Path(sqlite.url).chmod(0o640)
    with pytest.raises(LedgerError, match=r"The ledger .* is open to other users.*chmod 600"):
        sqlite.open()


class TestWarnings:
    def test_a_key_beside_the_ledger(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with Ledger(tmp_path / "l.db", create=True) as ledger:
            assert len(ledger.warnings) == 1
            assert "lies in the folder of the ledger" in ledger.warnings[0]
        assert "lies in the folder of the ledger" in caplog.text
        (tmp_path / "vault").mkdir()
        with Ledger(tmp_path / "m.db", key=tmp_path / "vault" / "m.key", create=True) as ledger:
            assert ledger.warnings == ()
            assert ledger.anchor_file == str(tmp_path / "vault" / "m.anchor")

    def test_an_anchor_beside_the_ledger(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        Ledger(tmp_path / "l.db", create=True)
        key = tmp_path / "l.db.key"
        monkeypatch.setenv("SHOAL_LEDGER_KEY", key.read_text())
        key.unlink()
        assert "The anchor" in Ledger(tmp_path / "l.db").warnings[0]

    @every(
        ("url", "mode", "warned"),
        [
            ("postgresql://somebody@db.example.org/l", "verify-full", 0),
            ("postgresql://somebody@db.example.org/l?sslmode=require", "require", 1),
            ("postgresql://somebody@db.example.org/l?sslmode=verify-full", "verify-full", 0),
            ("postgresql://somebody:Zyzzyva@db.example.org/l", "verify-full", 1),
            ("postgresql://somebody@localhost,db.example.org/l", "verify-full", 0),
            ("postgresql:///l?host=db.example.org", "verify-full", 0),
            ("postgresql://somebody@localhost/l", None, 0),
            ("postgresql://somebody@127.0.0.1:5433/l", None, 0),
            ("postgresql:///l", None, 0),
            ("postgresql:///l?host=/var/run/postgresql", None, 0),
        ],
    )
    def test_servers_elsewhere(self, url: str, mode: str | None, warned: int) -> None:
        address = Address.parse(url)
        assert address.url is not None
        assert address.url.query.get("sslmode") == mode
        warnings = list(address.warnings)
        assert len(warnings) == warned
        assert SECRET not in "".join(warnings) + address.shown

    def test_servers_that_the_environment_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PGHOST", "db.example.org")
        address = Address.parse("postgresql:///l")
        assert address.url is not None
        assert address.url.query["sslmode"] == "verify-full"
        monkeypatch.setenv("PGSSLMODE", "require")
        assert "sslmode is not verify-full" in next(iter(Address.parse("postgresql:///l").warnings))
