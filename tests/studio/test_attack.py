"""The screen of attacks shows what the attacks of the library find, next to their baselines."""

from __future__ import annotations

import polars as pl
import pytest

from shoal._words import percent
from shoal.attacks import homogeneity_attack, intersection_attack, linking_attack

QUASI = ["age", "gender", "zip"]


def test_nothing_is_attacked_until_somebody_asks(browser, home):
    browser.decided()
    assert "the attack is right" not in browser.look("/attack").text
    assert not list(home.glob("*.private"))


def test_a_written_release_is_attacked_as_at_the_command_line(browser, home):
    browser.decided()
    browser.send("/goal", {"k": "4", "recoding": "generalization"})
    browser.send("/publish", {"folder": "made"})
    page = browser.send("/attack", {"identifier": "name"}).text
    people = pl.read_csv(home / "patients.csv")
    linked = linking_attack(home / "made", people, identifier="name")
    alike = homogeneity_attack(home / "made", targets=people)
    for found in (linked, alike):
        assert percent(found.rate) in page
        assert percent(found.baseline.rate) in page
        for sentence in found.sentences():
            assert sentence.replace("'", "&#39;") in page
    assert "The release <strong><bdi>made</bdi></strong> is attacked" in page
    assert "shoal attack linking made --population patients.csv --id name" in page
    assert not list(home.glob("release*")), "nothing is written"


def test_what_would_be_published_is_attacked_without_being_written(browser, home):
    browser.decided()
    page = browser.send("/attack", {}).text
    assert "without being written" in page
    assert page.count("guessing is right") == 2
    assert [one.name for one in home.iterdir()] == ["patients.csv"]


def test_a_classifier_is_compared_with_people_outside(browser, home):
    pytest.importorskip("sklearn")
    browser.decided()
    page = browser.send("/attack", {"learn": "on"}).text
    assert "a fifth (24) was left out" in page
    assert "about people who are not in it" in page
    rows = (home / "patients.csv").read_text().splitlines()
    (home / "others.csv").write_text("\n".join([rows[0], *rows[60:]]) + "\n")
    page = browser.send("/attack", {"learn": "on", "others": "others.csv"}).text
    assert "was left out" not in page
    assert "about people who are not in it" in page


def test_several_releases_are_attacked_together(browser, home):
    browser.decided()
    browser.send("/goal", {"k": "2", "l": "2", "recoding": "generalization"})
    for folder in ("first", "second"):
        browser.send("/publish", {"folder": folder})
    page = browser.look("/attack").text
    assert "first" in page
    assert "Attack them together" in page
    form = {"of": "first|second", "release-0": "on", "release-1": "on", "identifier": "name"}
    page = browser.send("/attack/together", form).text
    people = pl.read_csv(home / "patients.csv")
    found = intersection_attack(
        [home / "first", home / "second"],
        [people, people],
        identifier="name",
        quasi_identifiers=QUASI,
        sensitive="disease",
    )
    assert f"Of {found.people} people in 2 releases" in page
    assert percent(found.vulnerable / found.people) in page
    assert percent(found.baseline.rate) in page
    for wrong in ({"release-0": "on"}, {"identifier": "age"}, {"of": "first"}, {"table-0": "../x.csv"}):
        changed = {**form, **wrong}
        if "release-0" in wrong:
            del changed["release-1"]
        assert browser.send("/attack/together", changed).status_code == 422


def test_an_identifier_is_a_column_that_is_left_out(browser):
    browser.decided()
    assert browser.send("/attack", {"identifier": "disease"}).status_code == 422
    assert browser.studio.attack is None
