"""Records that may not stand for one person each: the question comes first, its answer is kept and said."""

from __future__ import annotations

import html
import json
import random
import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import every, few

import shoal
from shoal._core.progress import silent
from shoal._core.words import percent
from shoal.cli.main import app
from shoal.report.figures import read_figures
from shoal.studio.jobs import tables as jobs

from .conftest import ROWS, SECRET, Browser

pytestmark = pytest.mark.drawn

STANDING = "Records are protected, not persons."
PEOPLE, VISITS = 60, 5


@pytest.fixture
def visits(home: Path) -> str:
    """People with five visits each, every visit another disease; no name says which column is theirs."""
    lines = ["visit,pcode,age,gender,zip,disease"]
    for person in range(PEOPLE):
        for visit in range(VISITS):
            row = f"{person * VISITS + visit},P{person * 37 % 1000:04},{20 + person % 40},{'FM'[person % 2]}"
            lines.append(f"{row},{10001 + person % 4},d{visit}")
    (home / "visits.csv").write_text("\n".join(lines) + "\n")
    return "visits.csv"


def text_of(answer: object) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", answer.text))  # type: ignore[attr-defined]


@pytest.fixture
def asked(browser: Browser) -> Browser:
    """A browser that does not answer by itself."""
    browser.enter()
    return browser


def test_the_likeliest_answer_is_proposed_with_its_evidence_and_kept_if_nothing_is_changed(asked, visits):
    answer = asked.send("/open", {"path": visits})
    assert answer.url.path == "/table"
    assert "300 records of 60 persons, by pcode: at most 5 of one." in text_of(answer)
    assert re.search(r'<option value="one" selected>', answer.text)
    assert re.search(r'<option value="1" selected>pcode', answer.text)
    assert "what all records of a person tell together" not in text_of(answer), "one record of each is proposed"
    assert not asked.studio.plan.rows, "nothing is decided yet"
    assert asked.look("/goal").url.path == asked.look("/publish").url.path == "/table"
    fields = dict(re.findall(r'<select name="(answer|column)".*?<option value="([^"]*)" selected', answer.text, re.S))
    asked.send("/table", {**fields, "do": "next"})
    assert (asked.studio.plan.treatment, asked.studio.plan.person) == ("one", "pcode")
    assert asked.studio.plan.roles["pcode"] == "person"


def test_each_answer_says_what_it_costs_and_protects_and_is_warned_of_where_that_holds(asked, visits):
    asked.send("/open", {"path": visits})
    limited = "no requested model limits what all records of a person tell together"
    for answer, meaning in {
        "persons": "If a person has several records, nothing is promised to that person.",
        "one": "240 records are not published. What is promised of a record is promised of the person.",
        "linked": "all of them are protected together. More is lost.",
        "records": "Records are protected, not persons.",
        "counted": "What the records of one reveal together is not limited.",
    }.items():
        page = text_of(asked.send("/table", {"answer": answer, "column": "1", "role-5": "sensitive"}))
        assert page.count(meaning) == 1, answer
        assert (limited in page) == (answer == "counted"), answer
    # What is asked for already is not advised; both ways that bound it are named.
    assert asked.studio.plan.privacy == {"k": "5", "l": "2"}
    assert "with “publish one” on the screen Table, or link the records of each, with “link them”" in page
    assert "Ask for “Variety within groups (l)”" not in page


SCREENS = ("/goal", "/compare", "/attack", "/publish")
ANSWERS = {
    "counted": ({"answer": "counted"}, "all records are published, and the smallest group counts persons"),
    "one": ({"answer": "one"}, "one record of each is published"),
    "linked": ({"answer": "linked"}, "the records of each are linked by a pseudonym"),
}


@pytest.mark.drawn
@pytest.mark.parametrize("kind", ANSWERS)
def test_a_release_protects_persons(asked, visits, home, kind, monkeypatch):
    monkeypatch.chdir(home)
    form, standing = ANSWERS[kind]
    asked.send("/open", {"path": visits})
    columns = asked.send("/table", {**form, "column": "1"})
    assert columns.url.path == "/table"
    assert "Identifies the person of a record, and is never published." in columns.text
    assert 'name="role-1"' not in columns.text
    asked.send("/table", {"do": "next", "role-1": "quasi_identifier"})
    assert asked.studio.plan.names_of("person") == ["pcode"]
    for screen in SCREENS:
        text = text_of(asked.look(screen))
        assert f"Persons are protected, by pcode: {standing}" in text, screen
        assert STANDING not in text, screen
    asked.send("/goal", {"k": "3", "l": "2"})
    goal = text_of(asked.look("/goal"))
    assert "Smallest group (k), in persons" in goal
    assert ("is of 3 or more persons" in goal) == (kind == "counted")
    assert ("at least 3 persons publish" in goal) == (kind == "linked")
    published = f"with {PEOPLE * VISITS} records: one of each of {PEOPLE} persons is published"
    assert (published in text_of(asked.look("/publish"))) == (kind == "one")
    released = asked.send("/publish", {"folder": "made"})
    assert "What was asked for is met" in text_of(released)
    assert "The last release: made" in text_of(asked.look("/publish"))
    assert "It protects records" not in text_of(released)
    assert "Persons are counted." in text_of(released)
    assert ("about one record of a person" in text_of(released)) == (kind == "counted")
    certificate = json.loads((home / "made.private/certificate.json").read_text())
    assert certificate["persons"][0]["units"] == PEOPLE
    # The figures of risk are those of persons, before and after, or of bundles.
    figures = read_figures(certificate).risk
    figure = (
        r'{} risk of a person.*?<dd><span class="scale[^>]*><strong>([^<]*)<.*?<small>(?:before: ([^<]*))?</small></d'
    )
    for name in ("average", "highest"):
        shown = re.search(figure.format(name.capitalize()), released.text, re.DOTALL)
        before = percent(figures["before"][name]) if "before" in figures else None
        assert shown.groups() == (percent(figures["after"][name]), before)
    attacked = text_of(asked.send("/attack", {}))
    # With linked rows by bundles, else by what is known of each person: persons are counted. If one record of each was
    # drawn, nobody knows which, so that the records of the release are attacked without the original.
    things = "records" if kind == "one" else "people"
    sentence = f"Of {PEOPLE} {things} in the release, the value of 'disease' is certain for"
    assert sentence in attacked
    counted = "Records of the release are counted here; each may be about any person of the table."
    # What is shown to do the same names the column, and gives the same sentence.
    same = dict(re.findall(r'<code data-same="(command|python)">(.*?)</code>', asked.look("/attack").text, re.DOTALL))
    assert ("targets=people, person='pcode'" in html.unescape(same["python"])) == (kind == "counted")
    shown = html.unescape(same["command"]).replace("\\\n", "")
    command = re.search(r"shoal attack made --method homogeneity.*", shown).group()
    assert ("--person pcode" in command) == (kind == "counted")
    outcome = CliRunner().invoke(app, shlex.split(command)[1:])
    assert sentence in " ".join(outcome.output.split())
    assert (counted in attacked, "were made alike together" in attacked) == (kind != "linked", kind == "linked")
    assert certificate["persons"][0]["least_in_group"] >= 3
    least = {"counted": PEOPLE * VISITS, "one": PEOPLE, "linked": PEOPLE}[kind]
    most = PEOPLE if kind == "one" else PEOPLE * VISITS
    assert least <= certificate["persons"][0]["records"] <= most
    of = {"counted": ["persons", "records"], "one": ["one_record_each"] * 2, "linked": ["linked_persons"] * 2}[kind]
    assert [one["of"] for one in certificate["requested"]] == of
    table = (home / "made/release.csv").read_text()
    assert "pcode" not in table
    assert ("pseudonym" in table) == (kind == "linked")
    said = "the column 'pcode' identifies the person of each"
    assert said in text_of(released)
    assert said in html.unescape((home / "made.private/report.html").read_text())
    public = [(home / "made" / name).read_text() for name in ("report.html", "report.json", "certificate.json")]
    assert not any("pcode" in one for one in map(html.unescape, public))


def test_a_number_of_persons_that_never_repeats_makes_the_other_column_doubtful(asked, visits, home):
    table = pl.read_csv(home / visits).rename({"visit": "respondent_id"})
    table.write_csv(home / "survey.csv")
    page = asked.send("/open", {"path": "survey.csv"})
    assert "respondent_id has a value of its own in each record" in text_of(page)
    assert '<option value="persons" selected>' in page.text
    assert "has a value of its own in each record" not in asked.send("/open", {"path": visits}).text


@pytest.mark.drawn
def test_no_column_identifies_the_person(asked, visits):
    asked.send("/open", {"path": visits})
    asked.send("/table", {"answer": "records"})
    asked.send("/table", {"do": "next"})
    assert asked.studio.plan.roles["pcode"] == "direct_identifier", "it is proposed as a person, never published"
    for screen in SCREENS:
        assert STANDING in asked.look(screen).text, screen
    assert "no column identifies the person of a record" in text_of(asked.look("/publish"))
    released = text_of(asked.send("/publish", {"folder": "made"}))
    assert "What was asked for is met" in released
    assert "It protects records, not persons" in released
    assert "Should it be published?" in released


@pytest.mark.drawn
def test_yes_against_the_evidence_is_kept_and_the_verdict_is_not_calm(asked, visits, home):
    asked.send("/open", {"path": visits})
    asked.send("/table", {"answer": "persons"})
    asked.send("/table", {"do": "next"})
    assert asked.studio.plan.roles["pcode"] == "direct_identifier"
    assert STANDING not in asked.look("/goal").text
    assert "Each row stands for one person, as the publisher said." in text_of(asked.look("/publish"))
    released = asked.send("/publish", {"folder": "made"})
    warnings = json.loads((home / "made.private/certificate.json").read_text())["warnings"]
    assert "repeated_person" in [one["code"] for one in warnings]
    assert "No warning speaks against publishing it" not in released.text
    assert "It protects records, not persons" not in released.text
    assert "Records are counted: you stated that each is another person." in released.text
    shown = text_of(released)
    assert shown.index("What may still be learned about persons") < shown.index("What may leave this machine")
    assert "as the publisher said" in (home / "made.private/report.html").read_text()


def test_one_row_each_is_asked_for_too_and_stays_calm(asked):
    asked.send("/open", {"path": "patients.csv"})
    asked.send("/table", {"answer": "persons"})
    asked.send("/table", {"do": "next"})
    assert asked.studio.plan.content()["report"] == {"notes": "Each row stands for one person, as the publisher said."}
    released = asked.send("/publish", {"folder": "made"})
    assert "What was asked for is met" in released.text
    assert "Each record is another person's, as you said. Records are counted." in text_of(released)
    assert STANDING not in released.text


@pytest.mark.drawn
def test_the_answer_can_be_changed_and_goes_with_the_table(asked, visits):
    asked.send("/open", {"path": visits})
    asked.send("/table", {"answer": "persons"})
    asked.send("/table", {"do": "next"})
    asked.send("/table", {"answer": "counted", "column": "2"})
    assert asked.studio.plan.roles["age"] == "person"
    asked.send("/table", {"answer": "linked", "column": "1"})
    assert asked.studio.plan.roles["age"] == "direct_identifier"
    asked.send("/table", {"answer": "persons"})
    assert "person" not in asked.studio.plan.roles.values()
    asked.send("/history", {"step": str(asked.studio.history.at - 1)})
    assert asked.studio.plan.treatment == "linked"
    assert asked.send("/open", {"path": "patients.csv"}).url.path == "/table", "another table, another answer"


@pytest.mark.drawn
def test_records_without_a_person_are_of_separate_persons_only_if_that_is_chosen(asked, visits, home):
    path = home / visits
    path.write_text(path.read_text().replace(",P0000,", ",,"))
    asked.send("/open", {"path": visits})
    asked.send("/table", {"answer": "counted", "column": "1"})
    asked.send("/table", {"do": "next"})
    assert "“A record without a number is of a separate person” on the screen Table" in text_of(
        asked.send("/publish", {"folder": "made"})
    )
    asked.send("/table", {"answer": "counted", "column": "1", "unnamed_are_persons": "yes"})
    assert "What was asked for is met" in asked.send("/publish", {"folder": "made"}).text


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"answer": "counted", "column": ""}, "column"),
        ({"answer": "maybe"}, None),
        ({"answer": "linked", "column": "77"}, "column"),
        ({"answer": "one", "column": "1", "kept_rows": "first", "order": ""}, "order"),
        ({"answer": "one", "column": "1", "kept_rows": "best"}, "kept_rows"),
    ],
)
def test_an_answer_that_is_none(asked, visits, form, field):
    asked.send("/open", {"path": visits})
    answer = asked.send("/table", form)
    assert answer.status_code == 422
    assert 'id="refused"' in answer.text
    assert field is None or re.search(rf'<select name="{field}"[^>]*aria-describedby="refused"', answer.text)
    assert not asked.studio.plan.rows


def test_numbers_of_patients_are_proposed_neither_as_sensitive_nor_as_quasi_identifiers(asked, home):
    lines = ["Patienten-Nr,Fall-Nr,age,gender,disease"]
    lines += [
        f"{700_001 + row * 7919 % 9973},{row * 31 % 4093},{20 + row % 40},{'FM'[row % 2]},d{row % 5}"
        for row in range(ROWS * 10)
    ]
    (home / "cases.csv").write_text("\n".join(lines) + "\n")
    asked.send("/open", {"path": "cases.csv"})
    asked.send("/table", {"answer": "persons"})
    asked.send("/table", {"do": "next"})
    roles = asked.studio.plan.roles
    assert roles["Patienten-Nr"] == roles["Fall-Nr"] == "direct_identifier"


@pytest.mark.drawn
def test_screens_that_count_records_say_records(browser):
    browser.decided()
    browser.send("/publish", {"folder": "made"})
    counted = r"(?:of|over|in|share of) the (?:people|persons)\b|over all people|\bpeople in small|Most people are"
    for screen in ("/table", "/goal", "/compare", "/publish", "/release"):
        text = re.sub(r"\s+", " ", text_of(browser.look(screen)))
        # How the population is estimated, and what a column means for the people in it, is about people.
        found = [text[max(one.start() - 60, 0) : one.end() + 40] for one in re.finditer(counted, text)]
        assert found == [], screen


@pytest.mark.drawn
def test_risk_and_previews_count_persons(asked, visits):
    asked.send("/open", {"path": visits})
    risk = re.sub(r"\s+", " ", text_of(asked.send("/table", {"answer": "counted", "column": "1"})))
    assert re.search(r"Published as it is, 33\.3% .* of the persons would be alone", risk), "five visits hide no one"
    measured = text_of(asked.look("/table?measured=yes"))
    assert "Persons in small groups" in measured
    assert "Persons are counted here" in measured
    asked.send("/table", {"do": "next"})
    assert "Average risk of a person" in text_of(asked.look("/goal"))


@every("person", ["", "*"])
def test_the_line_of_risk_has_the_figures_of_the_measures_of_risk(tmp_path, person):
    """A column may have the name that stands for all columns elsewhere."""
    for seed in range(few(20)):
        drawn = random.Random(seed)
        rows = [[drawn.randrange(8), drawn.randrange(3), drawn.choice(["x", "y", None])] for _ in range(30)]
        table = pl.DataFrame(rows, schema=["*", "a", "b"], orient="row")
        path = tmp_path / f"{seed}.parquet"
        table.write_parquet(path)
        given = {"quasi_identifiers": ["a", "b"], "person": person}
        line = jobs.count_alone(source=str(path), reading={}, progress=silent, **given)
        found = shoal.risk(table, quasi_identifiers=["a", "b"], person=person or None)
        measured = found.sample_uniques, found.prosecutor.average, found.prosecutor.highest
        assert (line["alone"], line["average"], line["highest"]) == measured, seed


def test_the_column_of_persons_is_offered_to_attacks(asked, visits):
    """It identifies persons, so a screen that offers identifiers of persons lacks none."""
    asked.send("/open", {"path": visits})
    asked.send("/table", {"answer": "counted", "column": "1"})
    asked.send("/table", {"do": "next", "role-1": "quasi_identifier"})
    page = asked.look("/attack").text
    assert re.search(r'<bdi>pcode</bdi><input type="hidden" id="identifier" name="identifier" value="0">', page)
    assert "That needs a column that names each person" not in page


@pytest.fixture
def stays(home: Path) -> str:
    """Patients with three stays each, and all diagnoses of a stay in one cell."""
    lines = ["pcode,admitted,gender,codes"]
    for person in range(40):
        for stay in range(3):
            codes = ";".join(f"c{(person * 3 + stay * 5 + more) % 17}" for more in range(1 + stay % 2))
            lines.append(f"P{person},2024-{1 + person % 3 + stay:02}-{1 + person % 5:02},{'FM'[person % 2]},{codes}")
    (home / "stays.csv").write_text("\n".join(lines) + "\n")
    return "stays.csv"


@pytest.mark.drawn
def test_lists_of_values_and_relative_dates(asked, stays, home):
    asked.send("/open", {"path": stays})
    asked.send("/table", {"answer": "linked", "column": "0", "order": "1"})
    form = {"do": "next", "role-1": "quasi_identifier", "role-2": "quasi_identifier", "role-3": "sensitive"}
    asked.send("/table", form)
    for place, (listed, days) in enumerate([(False, False), (False, True), (False, False), (True, False)]):
        page = asked.look(f"/table?column={place}").text
        assert ('name="list"' in page, 'name="days"' in page) == (listed, days), "of sensitive ones, and of dates"
    asked.send("/table/column", {"column": "3", "list": ";"})
    asked.send("/table/column", {"column": "1", "days": "yes"})
    assert asked.studio.plan.lists == {"codes": ";"}
    assert re.search(r'name="days">.*?value="yes" selected', asked.look("/table?column=1").text, re.DOTALL)
    asked.send("/table", form)
    assert asked.studio.plan.content()["lists"] == {"codes": ";"}, "a form without the fields changes nothing"
    asked.send("/goal", {"k": "2", "l": "2"})
    assert "days since the first date of the person" in text_of(asked.look("/goal"))
    released = asked.send("/publish", {"folder": "made"})
    assert "What was asked for is met" in text_of(released)
    assert "--set 'lists.codes=;'" in text_of(released)
    assert "since:first" in text_of(released)
    assert "2024" not in (home / "made/release.csv").read_text()
    achieved = json.loads((home / "made/certificate.json").read_text())["achieved"]
    assert achieved["linked"]["l"]["codes"] >= 2
    asked.send("/table/column", {"column": "3", "list": " "})
    asked.send("/table/column", {"column": "1", "days": ""})
    content = asked.studio.plan.content()
    assert "lists" not in content
    assert "since:first" not in content.get("coarsen", {}).values()


def test_days_are_not_counted_without_persons(asked, stays):
    asked.send("/open", {"path": stays})
    asked.send("/table", {"answer": "counted", "column": "0"})
    asked.send("/table", {"do": "next", "role-1": "quasi_identifier"})
    asked.send("/table/column", {"column": "1", "days": "yes"})
    assert asked.studio.plan.content()["coarsen"]["admitted"] == "since:first"
    asked.send("/table", {"answer": "persons"})
    assert "admitted" not in asked.studio.plan.content().get("coarsen", {})
    assert 'name="days"' not in asked.look("/table?column=1").text


@pytest.mark.drawn
def test_two_tables_by_key_become_linked_records(browser, home):
    lines = ["patient,age,city"]
    lines += [f"{row},{20 + row % 4},{'AB'[row % 2]}" for row in range(40)]
    (home / "persons.csv").write_text("\n".join(lines) + "\n")
    visits = [f"{row % 40},{row * 7 % 3},{SECRET}-{row % 5}" for row in range(100)]
    (home / "visits.csv").write_text("\n".join(["patient,ward,disease", *visits]) + "\n")
    browser.enter()
    page = browser.send("/open", {"path": "persons.csv"})
    assert "with records elsewhere" in page.text
    marker = re.search('name="of_tables" value="([^"]*)"', page.text).group(1)
    listed = re.findall(r'<option value="(\d+)">([^<]*)</option>', page.text.partition('name="table"')[2])
    visits_at = next(place for place, name in listed if name == "visits.csv")
    answer = {"answer": "tables", "of_tables": marker, "table": visits_at, "column": "0"}
    refused = browser.send("/table", {**answer, "table": ""})
    assert "Choose the table with the records" in refused.text
    # A table whose keys have no person is refused, and nothing is changed.
    wrong = next(place for place, name in listed if name == "patients.csv")
    assert browser.send("/table", {**answer, "table": wrong}).status_code == 422
    assert browser.studio.plan.second == ""
    columns = browser.send("/table", answer)
    assert "100 records" in re.sub(r"<[^>]+>|\s+", " ", columns.text).replace("  ", " ")
    roles = {"role-1": "quasi_identifier", "role-2": "quasi_identifier", "role-3": "quasi_identifier"}
    assert browser.send("/table", {**roles, "role-4": "sensitive"}).url.path == "/table"
    assert browser.send("/goal", {"k": "2", "recoding": "suppression"}).url.path == "/goal"
    shown = re.sub(r"\\\n +", "", html.unescape(browser.look("/publish").text))
    assert "shoal anonymize persons.csv" in shown
    assert "--rows visits.csv --link" in shown
    assert "--key patient -k 2" in shown
    assert "rows='visits.csv'" in shown
    assert "What was asked for is met" in browser.send("/publish", {"folder": "made"}).text
    persons, rows = (pl.read_csv(home / f"made/{name}.csv") for name in ("persons", "rows"))
    assert persons.columns == ["pseudonym", "age", "city"]
    assert rows.columns == ["pseudonym", "ward", "disease"]
    assert set(rows["pseudonym"]) == set(persons["pseudonym"])
    attack = browser.send("/attack", {"identifier": "0"})
    shown = html.unescape(attack.text)
    assert "attacks.homogeneity_attack('made').sentences()" in shown
    assert "Homogeneity" in shown
    assert "--targets persons.csv" not in shown
    # The project knows both tables; another answer returns to the first table alone.
    project = browser.studio.project
    browser.send("/open", {"path": "patients.csv"})
    browser.send("/open/project", {"project": project})
    assert browser.studio.plan.second == str(home / "visits.csv")
    browser.send("/table", {"answer": "persons"})
    assert browser.studio.plan.second == ""
    assert "40 records" in re.sub(r"<[^>]+>|\s+", " ", browser.look("/table").text).replace("  ", " ")
