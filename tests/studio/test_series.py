"""Series in the studio: started, published, published again, checked, taken back."""

from __future__ import annotations

import re

import pytest

from shoal import Ledger

LEDGER = "releases.db"
START = {"ledger": LEDGER, "name": "admissions", "identifier": "0", "m": "2"}


@pytest.fixture
def started(browser):
    browser.decided()
    page = browser.send("/series/start", START)
    assert "The series &#39;admissions&#39; is started." in page.text
    return browser


def test_a_series_is_started_published_checked_and_taken_back(started, home):
    assert (home / LEDGER).is_file()
    assert "Nothing was published yet" in started.look("/series").text
    page = started.send("/series", {"series": "admissions", "do": "publish", "folder": "q1"}).text
    assert "Release 1 of &#39;admissions&#39; is written." in page
    assert (home / "q1/certificate.json").is_file()
    rows = (home / "patients.csv").read_text().splitlines()
    (home / "q2.csv").write_text("\n".join([*rows[:101], *(row.replace("Zyzzyva", "New", 1) for row in rows[101:])]))
    started.send("/open", {"path": "q2.csv"})
    page = started.send("/series", {"series": "admissions", "do": "publish", "folder": "q2"}).text
    assert "20 new, 20 gone" in page
    page = started.send("/series", {"series": "admissions", "do": "verify"}).text
    assert "Nothing is wrong: 2 of 2 releases were looked at again." in page
    with Ledger(home / LEDGER) as ledger:
        assert [one.state for one in ledger.series("admissions").history()] == ["published", "published"]
        assert [one.parameters["min_real"] for one in ledger.series("admissions").history()] == [2, 2]
    refused = started.send("/series", {"series": "admissions", "do": "rollback"})
    assert refused.status_code == 422
    page = started.send("/series", {"series": "admissions", "do": "rollback", "unpublished": "yes"}).text
    assert "Release 2 of &#39;admissions&#39; was taken back" in page
    with Ledger(home / LEDGER) as ledger:
        assert [one.state for one in ledger.series("admissions").history()] == ["published", "withdrawn"]
    (home / "q1/certificate.json").write_text("{}")
    page = started.send("/series", {"series": "admissions", "do": "verify"}).text
    assert "Nothing is wrong" not in page
    assert 'role="alert"' in page


def test_a_ledger_of_the_folder_is_opened_again(started):
    started.studio.ledger, started.studio.ordered = "", None
    assert "admissions" not in re.sub(r"<details.*", "", started.look("/series").text, flags=re.S)
    assert "admissions" in started.send("/series/open", {"ledger": LEDGER}).text
    assert started.send("/series/open", {"ledger": "other.db"}).status_code == 422


def test_what_cannot_be_is_said_and_nothing_is_written(started, home):
    again = started.send("/series/start", START).text
    assert "is in the ledger already" in again
    assert "Nothing was published." in again
    for wrong in ({"m": "1"}, {"m": "many"}, {"identifier": "5"}):
        assert started.send("/series/start", {**START, "name": "other", **wrong}).status_code == 422
    assert started.send("/series", {"series": "no such", "do": "publish", "folder": "q1"}).status_code == 200
    assert not (home / "q1").exists()
    for folder in ("../q1", "", "a/b", ".q"):
        answer = started.send("/series", {"series": "admissions", "do": "publish", "folder": folder})
        assert answer.status_code == 422


def test_a_file_that_is_no_ledger_is_refused_in_a_sentence(browser, home):
    (home / "broken.db").write_bytes(b"SQLite format 3\x00" + b"x" * 5000)
    (home / "other.db").write_text("no database")
    browser.enter()
    page = browser.look("/series").text
    assert "broken.db" in page
    assert "other.db" not in page
    page = browser.send("/series/open", {"ledger": "broken.db"}).text
    assert 'role="alert"' in page
    assert "Internal error" not in page


def test_a_series_needs_a_table_with_its_columns(browser):
    browser.enter()
    assert "Open a table" in browser.look("/series").text
    assert browser.send("/series/start", START).status_code == 422
    assert browser.send("/series", {"series": "x", "do": "verify"}).status_code == 422
