"""The screen of attacks shows what the attacks of the library find, next to their baselines."""

from __future__ import annotations

import html
import re
import shlex

import polars as pl
import pytest
from click.testing import CliRunner
from tests.studio.conftest import FILES

from shoal._core.words import percent
from shoal.attacks import (
    homogeneity_attack,
    intersection_attack,
    linking_attack,
    refinement_attack,
    singling_out_attack,
)
from shoal.cli.main import app
from shoal.report import describe_attack
from shoal.wording.descriptions import COUNTS_CERTAIN

pytestmark = pytest.mark.drawn

QUASI = ["age", "gender", "zip"]


def test_nothing_is_attacked_until_somebody_asks(browser, home):
    browser.decided()
    assert "the attack is right" not in browser.look("/attack").text
    assert not list(home.glob("*.private"))


@pytest.mark.drawn
def test_a_written_release_is_attacked_as_at_the_command_line(browser, home):
    browser.decided()
    browser.send("/goal", {"k": "4", "recoding": "generalization"})
    browser.send("/publish", {"folder": "made"})
    page = browser.send("/attack", {"identifier": "0"}).text
    people = pl.read_csv(home / "patients.csv")
    linked = linking_attack(home / "made", people, identifier="name")
    alike = homogeneity_attack(home / "made", targets=people)
    refined, singled = refinement_attack(home / "made"), singling_out_attack(home / "made", people)
    assert refined.rate is None, "its column is coarse: nothing is said of how often"
    for found in (linked, alike, refined, singled):
        assert describe_attack(found.to_dict())[0] in html.unescape(page)
        if found.rate is None:
            assert "Not measured" in " ".join(found.sentences())
            continue
        assert percent(found.rate) in page
        assert found.attack in COUNTS_CERTAIN or percent(found.baseline.rate) in page
        for sentence in found.sentences():
            assert sentence.replace("'", "&#39;") in page
    assert "The release <strong><bdi>made</bdi></strong> is attacked" in page
    assert "shoal attack made --method linking --population patients.csv --id name" in page
    assert "shoal attack made --method singling-out --targets patients.csv" in page
    assert "random predicates of equal weight" in page
    assert not list(home.glob("release*")), "nothing is written"


def test_what_would_be_published_is_attacked_without_being_written(browser, home):
    browser.decided()
    page = browser.send("/attack", {}).text
    assert "without being written" in page
    assert page.count("guessing is right") == 1
    assert sorted(one.name for one in home.iterdir()) == FILES


@pytest.mark.thorough
def test_a_classifier_is_compared_with_people_outside(browser, home):
    pytest.importorskip("sklearn")
    browser.decided()
    page = browser.send("/attack", {"learn": "on"}).text
    assert "Of 120 records 24 were left out" in page
    assert "about records that are not in it" in page
    rows = (home / "patients.csv").read_text().splitlines()
    (home / "others.csv").write_text("\n".join([rows[0], *rows[60:]]) + "\n")
    page = browser.send("/attack", {"learn": "on", "others": "others.csv"}).text
    assert "were left out" not in page
    assert "about records that are not in it" in page
    # Of persons with three and five records a number of records is left out, which is no number of persons.
    visits = [f"P{row // 8}{'a' if row % 8 < 3 else 'b'},{rows[1 + row].partition(',')[2]}" for row in range(120)]
    (home / "visits.csv").write_text("\n".join(["who,age,gender,zip,disease", *visits]) + "\n")
    browser.send("/open", {"path": "visits.csv"})
    browser.send("/table", {"answer": "counted", "column": "0"})
    browser.send("/table", {"do": "next"})
    browser.send("/goal", {"k": "2", "l": "2"})
    page = browser.send("/attack", {"learn": "on"}).text
    (held,) = re.findall(r"Of 120 records (\d+), all those of some of the persons, were left out", page)
    assert 3 * 6 <= int(held) <= 5 * 6


@pytest.mark.drawn
def test_several_releases_are_attacked_together(browser, home):
    browser.decided()
    browser.send("/goal", {"k": "2", "l": "2", "recoding": "generalization"})
    for folder in ("first", "second"):
        browser.send("/publish", {"folder": folder})
    page = browser.look("/attack").text
    assert "first" in page
    assert "Attack them together" in page
    form = {"releases": "first|second", "release-0": "on", "release-1": "on", "identifier": "0"}
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
    for wrong in (
        {"release-0": "on"},
        {"identifier": "7"},
        {"releases": "first"},
        {"of": "x"},
        {"table-0": "../x.csv"},
    ):
        changed = {**form, **wrong}
        if "release-0" in wrong:
            del changed["release-1"]
        assert browser.send("/attack/together", changed).status_code == 422


@pytest.mark.drawn
def test_an_identifier_is_a_column_that_is_left_out(browser):
    browser.decided()
    assert browser.send("/attack", {"identifier": "0", "of": "0" * 16}).status_code == 422
    assert browser.studio.attack is None
    browser.send("/attack", {"identifier": "9"})
    assert browser.studio.attack["identifier"] == ""


@pytest.mark.drawn
def test_dates_and_numbers_are_read_as_they_are_written_and_nodes_are_understood(browser, home):
    lines = ["name;born;cost;ward;disease"]
    for row in range(120):
        born = f"{1 + row % 28:02}.{1 + row % 12:02}.{1940 + row % 50}"
        ward = ("north", "south", "west")[row % 3]
        lines.append(f"P{row};{born};{row * 7 % 400},{row % 10}5;{ward};d{row * 7 % 5}")
    (home / "german.csv").write_text("\n".join(lines) + "\n")
    browser.enter()
    browser.send("/open", {"path": "german.csv"})
    browser.send("/table", {f"role-{place}": role for place, role in enumerate(
        ["direct_identifier", "quasi_identifier", "quasi_identifier", "quasi_identifier", "sensitive"]
    )})  # fmt: skip
    of = {"column": "2"}
    browser.send("/goal/shape", {**of, "do": "propose", "how": "by hand"})
    browser.send("/goal/shape", {**of, "do": "join", "level": "1", "node-0": "on", "node-1": "on", "name": "inland"})
    assert "level 1 of ward.hierarchy.csv" in browser.send("/goal/shape/use", {**of, "level": "1"}).text
    page = browser.send("/attack", {"identifier": "0"}).text
    assert page.count("guessing is right") == 1
    assert "not understood" not in page
    assert "take dates as 2025-12-31" in page


def test_persons_are_held_out_whole():
    import polars as pl

    from shoal.studio.jobs.attacks import _hold_out

    people = pl.DataFrame({"who": [row % 20 if row % 20 else None for row in range(100)], "row": range(100)})
    outside, inside = _hold_out(people, ["who"])
    assert outside.height == 20
    assert sorted([*outside["row"], *inside["row"]]) == list(range(100))
    assert not set(outside["who"]) & set(inside["who"])
    outside, inside = _hold_out(people, ())
    assert outside.height == 20
    assert sorted([*outside["row"], *inside["row"]]) == list(range(100))


@pytest.mark.drawn
@pytest.mark.parametrize("treatment", ["counted", "one", "linked"])
def test_only_attacks_that_can_run_are_offered_and_their_commands_work(browser, home, monkeypatch, treatment):
    lines = ["visit,who,age,gender,zip,disease"]
    for row in range(240):
        of = row // 4
        lines.append(f"{row},P{of:03},{20 + of % 40},{'FM'[of % 2]},{10001 + of % 3},d{row * 7 % 11 % 5}")
    (home / "visits.csv").write_text("\n".join(lines) + "\n")
    browser.sure = False
    browser.enter()
    browser.send("/open", {"path": "visits.csv"})
    browser.send("/table", {"answer": treatment, "column": "1"})
    browser.send("/table", {"do": "next"})
    browser.send("/goal", {"k": "3", "l": "2", "recoding": "generalization"})
    assert "What was asked for is met" in browser.send("/publish", {"folder": "made"}).text
    page = browser.send("/attack", {"identifier": "0"}).text
    offered = ["homogeneity"] if treatment == "linked" else ["linking", "refinement", "singling-out", "homogeneity"]
    assert re.findall(r'<section aria-labelledby="a-([a-z-]+)"', page) == offered
    assert "It could not run" not in page
    assert ("Not run: Linking, Refinement, Singling out and Inference." in page) == (treatment == "linked")
    assert ('name="learn"' in page) == (treatment != "linked")
    units = {"linked": "60 people", "counted": "60 people", "one": "60 records"}
    assert f" of {units[treatment]}: the value" in page.split('id="a-homogeneity"')[1]
    # What a reviewer of the same release is offered runs, too.
    browser.send("/review", {"source": "made"})
    reviewed = browser.send("/review/attack", {"original": "visits.csv"}).text
    assert "It could not run" not in reviewed
    monkeypatch.chdir(home)
    for shown in (page, reviewed):
        same = dict(re.findall(r'data-same="(\w+)">(.*?)</code>', shown, re.DOTALL))
        for line in html.unescape(same["command"]).replace("\\\n", " ").splitlines():
            told = CliRunner().invoke(app, shlex.split(line)[1:])
            assert told.exit_code == 0, (line, told.stderr)
        exec(html.unescape(same["python"]), {})
    if treatment == "counted":
        assert "--population visits.csv --id who --person who" in page


def test_a_column_with_repeats_cannot_name_people(browser, home):
    rows = (home / "patients.csv").read_text().splitlines()
    repeated = [f"{line},{'ward' if not row else row % 2}" for row, line in enumerate(rows)]
    (home / "patients.csv").write_text("\n".join(repeated) + "\n")
    browser.enter()
    browser.send("/open", {"path": "patients.csv"})
    browser.send("/table", {"role-5": "direct_identifier", "do": "next"})
    assert browser.studio.plan.identifiers == ["name", "ward"]
    offered = browser.look("/attack").text.split('<select id="identifier"')[1].split("</select>")[0]
    assert ">name<" in offered
    assert ">ward<" not in offered


def test_another_plan_is_attacked_and_compared_when_somebody_asks(browser):
    """Each takes as long as a release or more, and nobody could choose what runs."""
    browser.decided()
    browser.send("/attack", {"learn": ""})
    browser.send("/compare", {"k": "3, 6", "l": ""})
    assert "Attack it again" in browser.client.get("/attack").text
    assert "Compare again" in browser.client.get("/compare").text
    browser.send("/goal", {"k": "4", "recoding": "suppression"})
    for path, again in (("/attack", "Attack it again"), ("/compare", "Compare again")):
        page = browser.client.get(path).text
        assert 'id="working"' not in page
        assert again not in page
    browser.send("/history", {"step": str(browser.studio.history.at - 1)})
    assert "Attack it again" in browser.client.get("/attack").text, "of this plan it is known"
