"""Kills, full disks and races: afterwards the ledger and the folder hold the old state or the new one."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.every import few

from shoal._core.outcome import add_outcome, watching
from shoal.errors import LedgerBusyError, LedgerError, OutputError, PeopleError
from shoal.republication import publication
from shoal.republication.ledger import journal, storage

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be copied")
"""Windows has none; everything else there is tested by the other files."""


class Process:
    """The process that makes publishers."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("publisher.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert "ready" in self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def ask(self, **order: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@dataclass(frozen=True, kw_only=True)
class Publishers:
    """Processes that publish into one ledger, each of which can be killed."""

    process: Process
    place: Any
    patients: Any
    folder: Path

    def start(self, number: int, **order: Any) -> int:
        """Start to publish a table of its own for each number, and return the process."""
        table = self.folder / f"table{number}.csv"
        self.patients([*range(number, number + 40), *range(500, 520)]).write_csv(table)
        given = {"url": self.place.url, "key": str(self.place.key), "table": str(table)}
        given |= {name: order.pop(name) for name in ("url",) if name in order}
        child: int = self.process.ask(**given, output=str(self.folder / f"q{number}"), **order)["child"]
        return child

    def result(self, child: int) -> dict[str, Any]:
        return self.process.ask(wait_for=child)


@pytest.fixture(scope="module")
def process() -> Iterator[Process]:
    started = Process()
    yield started
    started.close()


@pytest.fixture
def publishers(process: Process, place: Any, patients: Any, tmp_path: Path) -> Publishers:
    place.series(m=3).publish(patients(range(60)), tmp_path / "q0")
    return Publishers(process=process, place=place, patients=patients, folder=tmp_path)


def check(place: Any, folder: Path, number: int, before: int) -> bool:
    """Check that a killed publish left the old state or the new one; return whether it is the new one."""
    ledger = place.open(create=False)
    ledger.recover()
    history = ledger.series("admissions").history()
    new = len(history) == before + 1
    assert len(history) in (before, before + 1)
    assert {one.state for one in history} == {"published"}
    assert (folder / f"q{number}").exists() == (folder / f"q{number}.private").exists() == new
    assert not [path for path in folder.iterdir() if "shoal-" in path.name], "nothing is left lying around"
    return new


def kill_at_random(publishers: Publishers, patients: Any, kills: int) -> None:
    """Kill publishers with `kill -9` at random moments, and check after each that there is the old state or the new."""
    place, folder = publishers.place, publishers.folder
    series = place.series(m=3)
    start = time.perf_counter()
    assert "number" in publishers.result(publishers.start(1))
    lasts = time.perf_counter() - start
    rng = np.random.default_rng(50)
    interrupted, releases = 0, 2
    for number in range(2, 2 + kills):
        child = publishers.start(number)
        watched = os.pidfd_open(child)
        select.select([watched], [], [], rng.uniform(0, lasts))
        signal.pidfd_send_signal(watched, signal.SIGKILL)
        os.close(watched)
        interrupted += publishers.result(child)["killed"]
        releases += check(place, folder, number, releases)
        if number % 5 == 0:
            series.publish(patients(range(number, number + 50)), folder / f"next{number}")
            releases += 1
    assert interrupted >= kills // 10
    assert series.verify().problems == ()


def test_kills_at_random_moments(publishers: Publishers, patients: Any) -> None:
    kill_at_random(publishers, patients, kills=few(30))


@pytest.mark.xdist_group("postgresql")
def test_kills_while_the_server_waits_for_its_disk(
    server: Any, process: Process, postgresql: Any, patients: Any, tmp_path: Path
) -> None:
    """Other tests spare the server that: a commit is slower then, and kills strike within it."""
    postgresql.series(m=3).publish(patients(range(60)), tmp_path / "q0")
    publishers = Publishers(process=process, place=postgresql, patients=patients, folder=tmp_path)
    try:
        server.psql("ALTER SYSTEM SET fsync = on")
        server.psql("SELECT pg_reload_conf()")
        kill_at_random(publishers, patients, kills=10)
    finally:
        server.psql("ALTER SYSTEM SET fsync = off")
        server.psql("SELECT pg_reload_conf()")


@pytest.mark.parametrize(
    ("point", "new"),
    [
        pytest.param("files are staged", False, marks=pytest.mark.thorough),
        pytest.param("the anchor is about to expect", False, marks=pytest.mark.thorough),
        pytest.param("the anchor expects", False, marks=pytest.mark.thorough),
        ("the ledger knows", False),
        pytest.param("the private folder is there", True, marks=pytest.mark.thorough),
        pytest.param("the folder is there", True, marks=pytest.mark.thorough),
        pytest.param("the ledger is about to settle", True, marks=pytest.mark.thorough),
        ("the ledger is settled", True),
        pytest.param("the anchor is confirmed", True, marks=pytest.mark.thorough),
    ],
)
def test_kills_at_the_moments_that_matter(
    place: Any, publishers: Publishers, patients: Any, tmp_path: Path, point: str, new: bool
) -> None:
    result = publishers.result(publishers.start(1, point=point))
    assert result == {"killed": True}
    told = place.open().recover()
    assert check(place, tmp_path, 1, 1) == new
    outcomes = {"the ledger knows": "It was taken back", "the ledger is settled": None, "the anchor is confirmed": None}
    outcome = outcomes.get(point, "It is published" if new else "was removed")
    assert len(told) == (0 if outcome is None else 1)
    assert outcome is None or outcome in told[0]
    made = place.series(m=3).publish(patients(range(60)), tmp_path / "q2")
    assert made.number == (3 if new else 2)
    assert all(("return" if new else "the same file") in note for note in made.notes)
    assert place.series(m=3).verify().problems == ()


def test_the_next_publish_recovers_by_itself_and_says_so(
    place: Any, publishers: Publishers, patients: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    publishers.result(publishers.start(1, point="the ledger knows"))
    assert place.series().history()[-1].state == "staged"
    made = place.series().publish(patients(range(60)), tmp_path / "q1")
    assert made.number == 2
    assert "interrupted before its folder" in made.notes[0]
    assert "interrupted before its folder" in caplog.text


@pytest.mark.parametrize("moved", [("q1", "q1.private"), ("q1",)])
def test_a_folder_that_appeared_and_was_moved_away_counts(
    place: Any, publishers: Publishers, patients: Any, tmp_path: Path, moved: tuple[str, ...]
) -> None:
    """It was taken back once, and its number used again: 32 of 48 people could be told for certain."""
    publishers.result(publishers.start(1, point="the folder is there"))
    (tmp_path / "web").mkdir()
    for name in moved:
        (tmp_path / name).rename(tmp_path / "web" / name)
    name = "q1" if len(moved) == 2 else "q2"
    made = place.series().publish(patients(range(60)), tmp_path / name)
    assert made.number == 3
    assert "counts as published" in made.notes[0]
    assert "rollback(unpublished=True)" in made.notes[0]
    series = place.series()
    assert [one.state for one in series.history()] == ["published"] * 3
    said = "holds release 3 now" if name == "q1" else "is not there"
    assert [said in problem for problem in series.verify().problems] == [True]
    assert series.verify([tmp_path / "web" / "q1", tmp_path / name]).problems == ()


def test_what_may_have_appeared_is_taken_back_on_a_word_only(
    place: Any, publishers: Publishers, patients: Any, tmp_path: Path
) -> None:
    publishers.result(publishers.start(1, point="the ledger is about to settle"))
    for name in ("q1", "q1.private"):
        (tmp_path / name).rename(tmp_path / f"moved-{name}")
    assert "counts as published" in place.open().recover()[0]
    assert place.open().recover() == []
    assert place.series().rollback(unpublished=True).number == 2
    assert place.series().publish(patients(range(60)), tmp_path / "q2").number == 3


def test_two_publishers_at_once(place: Any, publishers: Publishers, tmp_path: Path) -> None:
    children = [publishers.start(number) for number in (1, 2)]
    results = [publishers.result(child) for child in children]
    assert sorted(result["number"] for result in results) == [2, 3]
    assert [one.number for one in place.series(m=3).history()] == [1, 2, 3]
    assert place.series(m=3).verify().problems == ()


@contextmanager
def stopped(publishers: Publishers, number: int, point: str) -> Iterator[int]:
    """Stop a publisher at a moment, and let it go on afterwards."""
    child = publishers.start(number, point=point, signal="SIGSTOP")
    try:
        while Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert not select.select([], [], [], 0.01)[0]
        yield child
    finally:
        os.kill(child, signal.SIGCONT)


@pytest.mark.parametrize("name", ["symbolic", "symbolic folder", "relative", "absolute"])
def test_two_publishers_who_name_the_ledger_in_different_ways(
    sqlite: Any, process: Process, patients: Any, tmp_path: Path, name: str
) -> None:
    """Through a symbolic link there was another lock: one number appeared twice, with 56 of 96 people certain."""
    sqlite.series(m=3).publish(patients(range(60)), tmp_path / "q0")
    publishers = Publishers(process=process, place=sqlite, patients=patients, folder=tmp_path)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "other.db").symlink_to(sqlite.url)
    (tmp_path / "links" / "folder").symlink_to(tmp_path)
    url = {
        "symbolic": str(tmp_path / "links" / "other.db"),
        "symbolic folder": str(tmp_path / "links" / "folder" / "releases.db"),
        "relative": "../links/../releases.db",
        "absolute": sqlite.url,
    }[name]
    order = {"url": url, "inside": str(tmp_path / "links")}
    with stopped(publishers, 1, "the ledger knows") as child:
        answer = publishers.result(publishers.start(2, wait=0.2, **order))
        assert answer["error"] == "LedgerBusyError"
        assert not (tmp_path / "q2").exists()
    assert publishers.result(child)["number"] == 2
    assert publishers.result(publishers.start(2, **order))["number"] == 3
    assert sqlite.series(m=3).verify().problems == ()


def test_a_ledger_with_two_names_is_refused(sqlite: Any, process: Process, patients: Any, tmp_path: Path) -> None:
    """Neither our lock nor SQLite's journals would be found under the other name."""
    sqlite.series(m=3).publish(patients(range(60)), tmp_path / "q0")
    publishers = Publishers(process=process, place=sqlite, patients=patients, folder=tmp_path)
    (tmp_path / "links").mkdir()
    other = tmp_path / "links" / "releases.db"
    with stopped(publishers, 1, "the ledger knows") as child:
        os.link(sqlite.url, other)
        answers = [publishers.result(publishers.start(2, wait=0.2, url=url)) for url in (str(other), sqlite.url)]
        assert [one["error"] for one in answers] == ["LedgerError"] * 2
        assert "has 2 names (hard links)" in answers[0]["message"]
    assert publishers.result(child)["number"] == 2, "who had it open before goes on"
    other.unlink()
    assert publishers.result(publishers.start(2))["number"] == 3


@pytest.mark.xdist_group("postgresql")
def test_two_publishers_with_other_search_paths(
    postgresql: Any, server: Any, process: Process, patients: Any, tmp_path: Path
) -> None:
    postgresql.series(m=3).publish(patients(range(60)), tmp_path / "q0")
    publishers = Publishers(process=process, place=postgresql, patients=patients, folder=tmp_path)
    schema = postgresql.url.rpartition("%3D")[2]
    server.psql(f"CREATE SCHEMA {schema}_first")
    with stopped(publishers, 1, "the ledger knows") as child:
        url = f"{postgresql.url.removesuffix(schema)}{schema}_first,{schema}"
        assert publishers.result(publishers.start(2, wait=0.2, url=url))["error"] == "LedgerBusyError"
    assert publishers.result(child)["number"] == 2


@pytest.mark.parametrize("point", ["files are staged", "the anchor is about to expect", "the ledger knows"])
def test_nothing_is_taken_back_that_somebody_still_writes(
    place: Any, publishers: Publishers, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """Should a lock not keep two publishers apart (a file system without locks), none takes the other for a crash."""
    with stopped(publishers, 1, point) as child, monkeypatch.context() as patch:
        patch.setattr(storage, "_lock_publishers", lambda *_: nullcontext())
        ledger = place.open(wait=0.2)
        with pytest.raises(LedgerBusyError):
            ledger.recover()
        with pytest.raises(LedgerBusyError):
            ledger.series("admissions").publish(patients(range(60)), tmp_path / "q2")
    assert publishers.result(child)["number"] == 2
    assert (tmp_path / "q1").exists()
    assert place.series(m=3).verify().problems == ()


def test_who_was_taken_for_a_crash_does_not_record_a_release(sqlite: Any, patients: Any, tmp_path: Path) -> None:
    series = sqlite.series(m=3)

    intend = journal.intend
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "intend", lambda *given: (intend(*given), journal.settle(given[0]))[0])
        with pytest.raises(LedgerBusyError, match=r"Another process publishes.*Nothing was published"):
            series.publish(patients(range(60)), tmp_path / "q0")
        with pytest.raises(LedgerBusyError, match="Another process publishes"):
            series.publish(patients(range(60)))
    assert series.history() == ()
    assert not list(tmp_path.glob("*q0*"))


class Locked:
    """Lets some commits of a ledger fail as they do while another program reads the file."""

    def __init__(self, ledger: Any, commits: set[int]) -> None:
        self.left, self.count = commits, 0
        sa.event.listen(ledger._store.database._engine, "commit", self.commit)

    def commit(self, connection: sa.Connection) -> None:
        if connection.get_execution_options().get("shoal_writes", False):
            self.count += 1
            if self.count in self.left:
                raise sa.exc.OperationalError("COMMIT", {}, sqlite3.OperationalError("database is locked"))


@pytest.mark.parametrize(
    ("commits", "outcome"),
    [
        ({1}, "nothing"),  # is anything unfinished?
        ({2}, "nothing"),  # the note of the folder
        ({3}, "nothing"),  # the release as staged
        ({3, 4}, "nothing"),
        (set(range(3, 50)), "nothing"),
        ({4}, "recorded"),  # the release as published: the folder is there
        ({4, 6}, "recorded"),
        ({4, 5}, "out"),
        (set(range(4, 50)), "out"),
    ],
    ids=str,
)
def test_a_database_that_is_locked_at_a_commit(
    place: Any, patients: Any, tmp_path: Path, commits: set[int], outcome: str
) -> None:
    """It was said that nothing was changed, after the folder had appeared."""
    series = place.series(m=3)
    series.publish(patients(range(60)), tmp_path / "q0")
    ledger = place.open()
    locked = Locked(ledger, commits)
    target = tmp_path / "q1"
    if outcome == "recorded":
        assert ledger.series("admissions").publish(patients(range(50)), target).number == 2
    else:
        with watching():
            with pytest.raises(LedgerError) as raised:
                ledger.series("admissions").publish(patients(range(50)), target)
            said = add_outcome(str(raised.value), raised.value)  # as the command line says it
        undone = ("Nothing was published", "The ledger is as it was")
        assert any(text in said for text in undone) == (outcome == "nothing")
        assert ("Release 2 of the series 'admissions' is published" in said) == (outcome == "out")
        assert "Nothing was changed" not in said
    assert locked.count >= max(commits & set(range(5)))
    assert target.exists() == (outcome != "nothing")
    told = place.open().recover()
    assert [one.state for one in series.history()] == ["published"] * (1 if outcome == "nothing" else 2)
    assert [("It is published" in one) for one in told] == ([True] if outcome == "out" else [False] * len(told))
    assert not [path for path in tmp_path.iterdir() if "shoal-" in path.name]
    assert place.open().recover() == []
    made = series.publish(patients(range(60)), tmp_path / "q2")
    assert made.number == (2 if outcome == "nothing" else 3)
    assert series.verify().problems == ()


def test_a_folder_that_appeared_though_the_disk_failed_then(
    place: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It was said that nothing was published, of a release that stood in the ledger."""
    from shoal.io import folder

    series = place.series(m=3)
    renamed = [False]
    rename, to_disk = Path.rename, folder.to_disk

    def rename_and_note(path: Path, to: Path) -> Path:
        renamed[0] = renamed[0] or to.name == "q0"
        return rename(path, to)

    def fail(path: Path) -> None:
        if renamed[0]:
            raise OSError(errno.EIO, "Input/output error")
        to_disk(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", rename_and_note)
        patch.setattr(folder, "to_disk", fail)
        assert series.publish(patients(range(60)), tmp_path / "q0").number == 1
    assert "Release 1 is published and recorded, at a second attempt" in caplog.text
    assert [one.state for one in series.history()] == ["published"]
    assert series.verify().problems == ()


def test_a_database_that_is_locked_for_a_release_without_a_folder(place: Any, patients: Any) -> None:
    series = place.series(m=3)
    for commits in ({1}, {2}, {3}):
        ledger = place.open()
        Locked(ledger, commits)
        with pytest.raises(LedgerBusyError, match="in use"):
            ledger.series("admissions").publish(patients(range(60)))
        assert series.history() == ()
    assert series.publish(patients(range(60))).number == 1


def test_a_disk_that_is_full_for_the_files(
    place: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = place.series(m=3)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(publication, "write_table", full)
        with pytest.raises(OutputError, match=r"not enough space.*Nothing was published"):
            series.publish(patients(range(60)), tmp_path / "q0")
    assert series.history() == ()
    assert not [path for path in tmp_path.iterdir() if "q0" in path.name]
    assert series.publish(patients(range(60)), tmp_path / "q0").number == 1


def test_a_disk_that_is_full_for_the_ledger(sqlite: Any, patients: Any, tmp_path: Path) -> None:
    series = sqlite.series(m=3)
    series.publish(patients(range(60)), tmp_path / "q0")
    full = sqlite.open()

    @sa.event.listens_for(full._store.database._engine, "connect")
    def connected(connection: Any, _: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # no page more than there are

    with pytest.raises(LedgerError, match="not enough space for the ledger"):
        full.series("admissions").publish(patients(range(3000)), tmp_path / "q1")
    assert not (tmp_path / "q1").exists()
    assert len(series.history()) == 1
    assert series.publish(patients(range(3000)), tmp_path / "q1").number == 2


def test_a_disk_that_is_full_in_earnest(process: Process, sqlite: Any, patients: Any, tmp_path: Path) -> None:
    """The system refuses to let any file grow beyond a size: first the ledger's."""
    sqlite.series(m=3).publish(patients(range(3000)), tmp_path / "q0")
    publishers = Publishers(process=process, place=sqlite, patients=patients, folder=tmp_path)
    result = publishers.result(publishers.start(1, limit=20_000))
    assert result["error"] in ("LedgerError", "OutputError")
    assert "not enough space" in result["message"]
    assert not check(sqlite, tmp_path, 1, 1)


def test_a_name_that_is_taken_in_the_meantime(
    place: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.io.folder import StagedFolder

    series = place.series(m=3)
    publish = StagedFolder.publish

    def too_late(staged: StagedFolder) -> None:
        staged.target.mkdir()
        (staged.target / "other").write_text("of someone else")
        publish(staged)

    monkeypatch.setattr(StagedFolder, "publish", too_late)
    with pytest.raises(OutputError, match="exists already and is kept"):
        series.publish(patients(range(60)), tmp_path / "q0")
    assert series.history() == ()
    assert [path.name for path in (tmp_path / "q0").iterdir()] == ["other"]


def test_an_interrupt_from_the_keyboard(place: Any, patients: Any, tmp_path: Path) -> None:
    series = place.series(m=3)

    def interrupt(step: str, done: int, total: int, /) -> None:
        if step == "write":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        series.publish(patients(range(60)), tmp_path / "q0", progress=interrupt)
    assert series.history() == ()
    assert not (tmp_path / "q0").exists()


@pytest.mark.parametrize(
    ("point", "new"),
    [
        ("the anchor is about to expect", False),
        ("the anchor expects", False),
        ("the ledger is settled", True),
        ("the anchor is confirmed", True),
    ],
)
def test_a_kill_while_people_are_erased(publishers: Publishers, patients: Any, point: str, new: bool) -> None:
    person = patients([7])["patient_id"].to_list()
    assert publishers.result(publishers.start(1, erase=person, point=point))["killed"]
    series = publishers.place.open(create=False).series("admissions")
    assert series.verify().problems == ()
    if new:
        with pytest.raises(PeopleError, match="1 of 60 people was erased") as caught:
            series.publish(patients(range(60)))
        assert list(caught.value.ids) == person
    else:
        assert series.publish(patients(range(60))).counts["kept"] == 60
    assert publishers.result(publishers.start(2, erase=person)) == {"killed": False, "erased": 1}
    assert series.verify().problems == ()
