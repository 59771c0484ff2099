"""Project files: what was decided survives the studio, and can be run by the command line."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.studio.conftest import MAX_UPLOAD, PORT, SECRET, Browser

from shoal.cli.main import app
from shoal.studio.app import application
from shoal.studio.guard import Guard
from shoal.studio.server import studio_of

pytestmark = pytest.mark.drawn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from shoal.studio.worker import Worker

NAME = "patients.shoal.toml"


@pytest.fixture
def again(home: Path, worker: Worker) -> Iterator[Browser]:
    """Another studio in the same folder."""
    from starlette.testclient import TestClient

    studio = studio_of(home=home, table=None, allowed=[], max_upload=MAX_UPLOAD)
    studio.worker = worker
    guard = Guard(application(studio), port=PORT, max_upload=MAX_UPLOAD)
    with TestClient(guard, base_url=f"http://127.0.0.1:{PORT}") as client:
        yield Browser(client=client, guard=guard, studio=studio)
    studio.paths.close()


def decide(browser: Browser) -> None:
    """Decide what differs from all proposals."""
    browser.decided()
    browser.send("/goal", {"k": "7", "l": "2", "recoding": "generalization"})
    browser.send("/goal/shape", {"column": "1", "do": "propose", "how": "by hand"})
    browser.send(
        "/goal/shape", {"column": "1", "do": "join", "level": "1", "node-0": "on", "node-1": "on", "name": "any"}
    )
    browser.send("/goal/shape/use", {"column": "1", "level": "1"})
    browser.send("/publish", {"folder": "made", "title": "Two wards"})


def test_looking_at_a_table_makes_no_project(browser, home):
    browser.enter()
    browser.send("/open", {"path": "patients.csv"})
    assert not (home / NAME).exists()
    browser.send("/table", {"do": "next"})
    assert (home / NAME).exists()


def test_a_project_is_private_holds_no_record_and_opens_again(browser, again, home):
    decide(browser)
    text = (home / NAME).read_text()
    assert SECRET not in text
    if os.name == "posix":
        assert stat.S_IMODE((home / NAME).stat().st_mode) == 0o600
    assert NAME in re.sub(r"<[^>]+>", "", browser.look("/").text)
    again.enter()
    first = again.look("/").text
    assert "Recent work" in first
    assert '<a href="/earlier/made/public"' in first
    assert "Two wards" in again.client.get("/earlier/made/public").text
    assert again.client.get("/earlier/made/private").status_code == 200
    assert again.client.get("/earlier/..%2Fhome/public").status_code == 404
    assert again.send("/open/project", {"project": NAME}).url.path == "/table"
    old, new = browser.studio, again.studio
    assert new.plan.content() == old.plan.content()
    assert [words for words, _ in new.history.steps[1:]] == [words for words, _ in old.history.steps[1:]]
    assert "Two wards" in again.look("/publish").text
    assert "What was asked for is met" in again.send("/publish", {"folder": "more"}).text
    assert (home / "more/release.csv").read_text() != ""
    assert again.studio.project == NAME


def test_going_back_is_saved_and_a_table_opened_anew_leaves_its_project(browser, home):
    browser.decided()
    before = (home / NAME).read_text()
    browser.send("/history", {"step": "1"})
    assert (home / NAME).read_text() != before
    kept = (home / NAME).read_text()
    browser.decided()
    assert (home / NAME).read_text() == kept
    assert (home / "patients-2.shoal.toml").is_file()


def test_a_refused_change_is_not_saved(browser, home):
    browser.decided()
    before = (home / NAME).read_text()
    assert browser.send("/goal", {"k": "0"}).status_code == 422
    assert (home / NAME).read_text() == before


@pytest.mark.drawn
def test_the_project_of_a_dropped_table_waits_for_it(browser, again, home):
    content = (home / "patients.csv").read_bytes()
    browser.enter()
    headers = {"origin": f"http://127.0.0.1:{PORT}", "content-type": "application/octet-stream"}
    browser.client.post("/open/dropped?name=mine.csv", content=content, headers=headers)
    browser.look("/table")
    browser.send("/table", {"do": "next"})
    browser.send("/goal", {"k": "9"})
    again.enter()
    assert "Drop <bdi>mine.csv</bdi> again" in again.send("/open/project", {"project": "mine.shoal.toml"}).text
    again.client.post("/open/dropped?name=mine.csv", content=content, headers=headers)
    assert again.studio.plan.privacy == {"k": "9"}
    assert again.look("/table").status_code == 200
    assert "Drop <bdi>" not in again.look("/").text


@pytest.mark.drawn
def test_a_project_runs_at_the_command_line_and_opens_a_studio(browser, home, monkeypatch):
    browser.decided()
    browser.send("/goal", {"k": "6"})
    monkeypatch.chdir(home)
    done = CliRunner().invoke(app, ["anonymize", "--spec", NAME, "-o", "by-command"])
    assert done.exit_code == 0, done.output
    assert (home / "by-command/release.csv").is_file()
    made = studio_of(home=home, table=home / NAME, allowed=[], max_upload=MAX_UPLOAD)
    assert made.plan.privacy == {"k": "6"}
    made.paths.close()


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("studio.version = 1", "studio.version = 2"),
        ("studio.version = 1", "studio.version = "),
        ("studio.at = ", "studio.at = 99"),
        ('studio.table = "patients.csv"', 'studio.table = "/etc/hostname.csv"'),
        ('"rows": "records"', '"rows": 7'),
        ('"rows": "records"', '"rows": ]'),
        ('"rows": "records"', '"source": "/etc/passwd"'),
        ('"rows": "records"', '"coarsen": {"age": "level:/etc/hostname:1"}'),
        ('"rows": "records"', '"coarsen": {"age": "since:first:level:../patients.csv:1"}'),
        ('"rows": "records"', '"coarsen": {"age": "since:first:since:first:regions:/etc/hostname:NAME:1"}'),
        ('"rows": "records"', '"privacy": {"k": "5", "t_distance": "file:../patients.csv"}'),
        ('"rows": "records"', '"privacy": {"k": "5", "t_distance": "hierarchy:/etc/hostname"}'),
        ('"rows": "records"', '"privacy": {"k": "5", "population": "../patients.csv"}'),
        ('"rows": "records"', '"trees": {"age": [7]}'),
        ('"rows": "records"', '"trees": {"age": [{"do": "file", "content": "?"}]}'),
    ],
)
def test_projects_that_are_damaged_or_reach_out_are_refused(browser, again, home, old, new):
    browser.decided()
    browser.studio.history.change("A step of its own", rows="records")
    browser.studio.save()
    text = (home / NAME).read_text()
    old, new = (one.replace('"', '\\"') if "studio." not in one else one for one in (old, new))
    assert old in text
    (home / NAME).write_text(text.replace(old, new))
    again.enter()
    answer = again.send("/open/project", {"project": NAME})
    assert answer.status_code == 422
    assert "That does not work" in answer.text
    assert not again.studio.plan.source


@pytest.mark.parametrize("address", ["postgresql://me@elsewhere.example/db", "sqlite:///theirs.db"])
def test_a_project_that_reads_from_a_database_is_asked_about(browser, again, home, address):
    """It may come from somebody else, and would send PGPASSWORD there."""
    browser.decided()
    query = "SELECT name AS a FROM people"
    (home / "theirs.db").touch()
    text = (home / NAME).read_text()
    text = text.replace('studio.place = "file"', 'studio.place = "database"')
    (home / NAME).write_text(text.replace('studio.table = "patients.csv"', f'studio.table = "{address}::{query}"'))
    again.enter()
    for form in ({}, {"confirmed": ""}, {"confirmed": f"{address}::people"}):
        answer = again.send("/open/project", {"project": NAME, **form})
        assert answer.url.path == "/"
        assert f"<code>{address}</code>" in answer.text
        assert f"<code>{query}</code>" in answer.text
        assert not again.studio.plan.source, "nothing is connected"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.studio.screens._resume", lambda studio, found, source: f"/history?{found.name}")
        assert again.send("/open/project", {"project": NAME, "confirmed": f"{address}::{query}"}).url.path == "/history"
    studio = studio_of(home=home, table=home / NAME, allowed=[], max_upload=MAX_UPLOAD)
    assert not studio.plan.source, "nor at the start of the studio"
    studio.paths.close()


def test_a_project_that_is_too_large_is_refused(browser, again, home, monkeypatch):
    browser.decided()
    monkeypatch.setattr("shoal.studio.projects._MAX_MEGABYTES", 1)
    with (home / NAME).open("a") as file:
        file.write("#" * 1_000_000)
    again.enter()
    assert "larger than 1 MB" in again.send("/open/project", {"project": NAME}).text


def test_a_link_is_no_project_and_a_folder_that_cannot_be_written_is_told(browser, home, monkeypatch):
    (home / "out.shoal.toml").symlink_to("/etc/hostname")
    browser.enter()
    assert "out.shoal.toml" not in browser.look("/").text
    assert browser.send("/open/project", {"project": "out.shoal.toml"}).status_code == 422

    def refuse(path, text):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("shoal.studio.state.write_project", refuse)
    browser.decided()
    assert "Nothing is kept but" in browser.look("/").text
