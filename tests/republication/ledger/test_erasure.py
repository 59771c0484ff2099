"""Erasure of people: what goes, what stays, and what a crash leaves."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import sqlalchemy as sa
from tests.every import every
from tests.republication.conftest import ROLES, SECRET

from shoal._core.words import is_visible
from shoal.errors import DataError, LedgerError, ParameterError
from shoal.republication.erasure import parse_ids
from shoal.republication.ledger import memory as memories
from shoal.republication.ledger.anchor import Anchor
from shoal.republication.ledger.keys import Secrets
from shoal.republication.ledger.memory import decrypt_pieces
from shoal.republication.ledger.store import Store
from shoal.republication.linkage import hash_spellings
from shoal.table import INVISIBLE


def name_of(one: int) -> str:
    return f"{SECRET}-{one:06d}"


def pieces_of(series: Any) -> dict[int, list[bytes]]:
    """Decrypt the kept memory of each release."""
    store = series._store
    with store.database.open_for_reading() as connection:
        held = store.read_series(connection, series.name)
        keys = store.derive_keys(held)
        return {one.number: decrypt_pieces(connection, held, one, keys) for one in held.releases}


def raw_cells(place: Any) -> list[bytes]:
    """Read every cell of the ledger's tables."""
    found = []
    with place.open()._store.database.open_for_reading() as connection:
        for table in ("shoal_ledger", "shoal_series", "shoal_releases", "shoal_memory"):
            for row in connection.execute(sa.text(f"SELECT * FROM {table}")):
                found += [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row]
    return found


def test_nothing_but_a_tombstone_is_left(
    place: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories, "_ROWS", 20)  # several pieces
    series = place.series()
    series.publish(patients(range(60)), tmp_path / "q1")
    series.publish(patients(range(20, 81)), tmp_path / "q2")
    store = series._store
    with store.database.open_for_reading() as connection:
        keys = store.derive_keys(store.read_series(connection, series.name))
    before, cells = pieces_of(series), set(raw_cells(place))
    someone = pl.Series([name_of(30)])
    pseudonym = keys.pseudonymize(someone)
    ids = pseudonym.ids.astype("<u8").tobytes()
    spelling = hash_spellings(someone, pseudonym, keys).tolist()
    assert all(sum(ids in piece for piece in pieces) == 1 for pieces in before.values()), "the test sees the person"
    assert series.erase([name_of(30)]) == 1
    after = pieces_of(series)
    assert [len(after[number]) for number in (1, 2)] == [len(before[1]), len(before[2]) - 1], (
        "81 people need a piece more"
    )
    stone = f"[{pseudonym.ids[0, 0]},{pseudonym.ids[0, 1]},{spelling[0]},".encode()
    for number, pieces in after.items():
        assert not any(ids in piece for piece in pieces[1:])
        assert pieces[0].count(stone) == pieces[0].count(str(pseudonym.ids[0, 0]).encode()) == 1
        assert f"{number}]]".encode() in pieces[0]
    now = set(raw_cells(place))
    assert not any(ids in cell or SECRET.encode() in cell for cell in now), "everything is encrypted"
    if place.kind == "sqlite":
        held = b"".join(path.read_bytes() for path in tmp_path.glob("releases.db*") if path.is_file())
        gone = [cell for cell in cells - now if len(cell) > 100]
        assert len(gone) >= 4, "general facts and the piece of the person, twice"
        assert not any(cell[:48] in held or cell[-48:] in held for cell in gone)
    assert series.verify().problems == ()
    assert place.series().verify().problems == ()


@pytest.mark.drawn
def test_an_erased_person_does_not_return_by_mistake(place: Any, patients: Any, tmp_path: Path) -> None:
    series = place.series()
    first = series.publish(patients(range(60)), tmp_path / "q1")
    assert (first.certificate.to_dict()["erased"], "erased" in first.certificate.public()) == (0, False)
    assert series.erase([name_of(3), name_of(4)]) == 2
    assert series.erase(name_of(3)) == 2, "once is enough"
    for table in (patients(range(60)), patients(range(60), patient_id=lambda one: name_of(one).lower() + " ")):
        with pytest.raises(DataError, match=r"^2 of 60 people were erased from the series") as caught:
            series.publish(table)
        assert SECRET not in str(caught.value)
    made = series.publish(patients([one for one in range(60) if one not in (3, 4)]), tmp_path / "q2")
    assert made.counts["erased"] == made.certificate.to_dict()["erased"] == 2
    assert (made.counts["kept"], made.counts["left"]) == (58, 0)
    place.open().rotate_key()
    series = place.series()
    series.rollback(unpublished=True)
    assert series.erase([name_of(5)]) == 3
    with pytest.raises(DataError, match=r"^3 of 60 people were erased"):
        series.publish(patients(range(60)))
    assert series.verify().problems == ()


@pytest.mark.drawn
def test_an_erased_person_does_not_return_with_what_is_not_seen(sqlite: Any, patients: Any) -> None:
    """Every control, format and ignorable character of Unicode, within the id, twice in each table."""
    series = sqlite.series()
    series.publish(patients(range(60)))
    series.erase([name_of(3), name_of(4)])
    everything = pl.Series([chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000])
    hidden = everything.filter(everything.str.contains(INVISIBLE)).to_list()
    assert len(hidden) > 400
    assert [one for one in hidden if is_visible(one)] == [], "names know the same list"
    for code in (0x202A, 0x202C, 0x2066, 0x2069, 0x180E, 0xFE0F, 0x34F, 0x2061, 0x3164, 0xE0041, 0x1B):
        assert chr(code) in hidden
        table = patients(range(60)).with_columns(pl.col("patient_id").str.replace("-", f"{chr(code)}-{chr(code)}"))
        with pytest.raises(DataError, match=r"^2 of 60 people were erased"):
            series.publish(table, strict=True)
    # All of them are one spelling, and an id of nothing else is no id.
    keys = Secrets.new().derive_series_keys("uid")
    ids = pl.Series(["a7", *(f"a{one}7" for one in hidden)])
    assert len(set(hash_spellings(ids, keys.pseudonymize(ids), keys))) == 1
    with pytest.raises(DataError, match="Rows without the identifier"):
        series.publish(patients([1, 2, 5], patient_id=lambda one: "\u2066\ufe0f" * one))


@pytest.mark.drawn
def test_people_are_erased_after_a_rollback(place: Any, patients: Any) -> None:
    """Two memories are kept, so that the release before the latest has none after a rollback."""
    series = place.series()
    for start in range(3):
        series.publish(patients(range(start, 60)))
    series.rollback(unpublished=True)
    assert [number for number, pieces in pieces_of(series).items() if pieces] == [2]
    assert series.erase([name_of(7)]) == 1
    with pytest.raises(DataError, match=r"^1 of 60 people was erased"):
        series.publish(patients(range(60)))
    assert series.publish(patients([one for one in range(60) if one != 7])).number == 4
    assert series.erase([name_of(7), name_of(8)]) == 2
    assert series.verify().problems == ()


def test_the_only_release_keeps_the_tombstones(place: Any, patients: Any) -> None:
    series = place.series()
    series.publish(patients(range(60)))
    series.erase([name_of(7)])
    with pytest.raises(LedgerError, match=r"people were erased from it \(1\): .* Start another series"):
        series.rollback(unpublished=True)


def test_another_series_still_knows_them(place: Any, patients: Any) -> None:
    series = place.series()
    series.publish(patients(range(60)))
    series.erase([name_of(7)])
    other = place.open().start("other", m=3, **ROLES)
    with pytest.raises(DataError, match="1 of 41 people is in the series 'admissions'"):
        other.publish(patients([7, *range(100, 140)]))
    assert other.publish(patients([7, *range(100, 140)]), overlap="allow").number == 1


def test_unknown_people_are_counted_and_nobody_is_erased(place: Any, patients: Any) -> None:
    series = place.series()
    with pytest.raises(DataError, match="does not know 1 of 1"):
        series.erase([name_of(1)])
    series.publish(patients(range(60)))
    with pytest.raises(DataError, match=r"does not know 2 of 3 people. Of these, 1 in another spelling") as caught:
        series.erase([name_of(1), name_of(2).lower(), name_of(99)])
    assert SECRET not in str(caught.value)
    assert series.publish(patients(range(60))).counts["kept"] == 60


@every("given", [[], ["a", None], [" "], [1, "a"], [object()]])
def test_ids_that_name_nobody(given: Any) -> None:
    with pytest.raises((ParameterError, DataError)):
        parse_ids(given)


def test_ids_are_parsed_as_in_tables() -> None:
    for given in (7, "7", [7, 7], [7.0], pl.Series([7]), np.array([7]), {"7": None}):
        assert parse_ids(given).to_list() == ["7"]


def test_a_published_cell_that_is_missing_is_found_after_an_erasure(place: Any, patients: Any, tmp_path: Path) -> None:
    series = place.series()
    series.publish(patients(range(60)), tmp_path / "q1")
    series.erase([name_of(7)])
    store = series._store
    with store.database.open_for_reading() as connection:
        held, memory = series._read_memory(connection)
    forgotten = memory.persons.drop(np.array([0]))
    again = memories.replace(memory, persons=forgotten)
    from shoal.republication.series_audit import audit_series

    assert audit_series(held, memory, None).problems == ()
    assert "do not fit the signatures" in audit_series(held, again, None).problems[0]


def test_an_older_copy_is_refused(sqlite: Any, patients: Any, tmp_path: Path) -> None:
    series = sqlite.series()
    series.publish(patients(range(60)))
    shutil.copy(sqlite.url, tmp_path / "copy")
    series.erase([name_of(7)])
    shutil.copy(tmp_path / "copy", sqlite.url)
    with pytest.raises(LedgerError, match="is not in the state that the anchor"):
        sqlite.series().publish(patients(range(60)))


@pytest.mark.drawn
@pytest.mark.parametrize("moment", ["about to expect", "expected", "committed", "confirmed"])
def test_a_crash_leaves_the_old_state_or_the_new_one(
    place: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    series = place.series()
    series.publish(patients(range(60)), tmp_path / "q1")

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    expect, confirm = Anchor.expect, Store.confirm
    with monkeypatch.context() as patch:
        if moment == "about to expect":
            patch.setattr(Anchor, "expect", crash)
        elif moment == "expected":
            patch.setattr(Anchor, "expect", lambda *given: (expect(*given), crash()))
        elif moment == "committed":
            patch.setattr(Store, "confirm", crash)
        else:
            patch.setattr(Store, "confirm", lambda *given: (confirm(*given), crash()))
        with pytest.raises(KeyboardInterrupt):
            series.erase([name_of(7)])
    series = place.series()
    assert series.verify().problems == ()
    if moment in ("committed", "confirmed"):
        with pytest.raises(DataError, match="1 of 60 people was erased"):
            series.publish(patients(range(60)))
    else:
        assert series.publish(patients(range(60)), tmp_path / "q2").counts["kept"] == 60
    assert series.erase([name_of(7)]) == 1
    assert series.verify().problems == ()
