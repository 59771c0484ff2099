"""Records that may not stand for one person each: the question comes first, its answer is kept and said."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from .conftest import ROWS, Browser

QUESTION = "Does each row stand for one person?"
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
    browser.sure = False
    browser.enter()
    return browser


def test_the_question_comes_before_any_role(asked, visits):
    answer = asked.send("/open", {"path": visits})
    assert answer.url.path == "/persons"
    assert QUESTION in answer.text
    assert "300 rows of 60 values of 'pcode', at most 5 of one" in text_of(answer)
    assert 'name="role-' not in answer.text
    assert asked.look("/columns").url.path == "/persons"
    of = re.search('name="of" value="([^"]*)"', answer.text).group(1)
    assert asked.send("/columns", {"of": of, "do": "next"}).url.path == "/persons"
    assert not asked.studio.plan.roles
    for screen in ("/risk", "/goal", "/coarser", "/publish"):
        assert asked.look(screen).url.path == "/persons"


def test_no_with_a_column_leaves_it_out_and_the_warning_stays(asked, visits, home):
    asked.send("/open", {"path": visits})
    columns = asked.send("/persons", {"answer": "named", "column": "1"})
    assert columns.url.path == "/columns"
    assert "Says whose a record is: left out" in columns.text
    assert 'name="role-1"' not in columns.text
    asked.send("/columns", {"do": "next", "role-1": "quasi_identifier"})
    assert asked.studio.plan.roles["pcode"] == "direct_identifier"
    assert "pcode" not in asked.studio.plan.names_of("quasi_identifier")
    for screen in ("/columns", "/risk", "/goal", "/coarser", "/compare", "/attack", "/publish", "/series", "/history"):
        text = asked.look(screen).text
        assert STANDING in text, screen
        assert "pcode" in text
    released = asked.send("/publish", {"folder": "made"})
    assert "Verified and written" not in released.text
    assert "Written, but it protects records, not persons" in released.text
    assert "pcode" not in (home / "made/release.csv").read_text()
    said = "the column 'pcode' says whose a record is"
    assert said in text_of(released)
    assert said in html.unescape((home / "made.private/report.html").read_text())
    public = [(home / "made" / name).read_text() for name in ("report.html", "report.json", "certificate.json")]
    assert not any("pcode" in one or "as the publisher said" in one for one in map(html.unescape, public))


def test_no_without_a_column(asked, visits):
    asked.send("/open", {"path": visits})
    asked.send("/persons", {"answer": "unnamed"})
    asked.send("/columns", {"do": "next"})
    assert asked.studio.plan.roles["pcode"] == "direct_identifier", "it is proposed as a person, never published"
    assert STANDING in asked.look("/goal").text
    assert "no column says whose a record is" in text_of(asked.look("/publish"))


def test_yes_against_the_evidence_is_kept_and_the_verdict_is_not_calm(asked, visits, home):
    asked.send("/open", {"path": visits})
    asked.send("/persons", {"answer": "persons"})
    asked.send("/columns", {"do": "next"})
    assert asked.studio.plan.roles["pcode"] == "direct_identifier"
    assert STANDING not in asked.look("/goal").text
    assert "Each row stands for one person, as the publisher said." in text_of(asked.look("/publish"))
    released = asked.send("/publish", {"folder": "made"})
    warnings = json.loads((home / "made.private/certificate.json").read_text())["warnings"]
    assert "repeated_person" in [one["code"] for one in warnings]
    assert "Verified and written" not in released.text
    assert "Written, but it protects records, not persons" in released.text
    assert "as the publisher said" in (home / "made.private/report.html").read_text()


def test_one_row_each_is_asked_for_too_and_stays_calm(asked):
    answer = asked.send("/open", {"path": "patients.csv"})
    assert QUESTION in answer.text
    assert "nothing was found that speaks against" in text_of(answer)
    asked.send("/persons", {"answer": "persons"})
    asked.send("/columns", {"do": "next"})
    assert asked.studio.plan.content()["report"] == {"notes": "Each row stands for one person, as the publisher said."}
    released = asked.send("/publish", {"folder": "made"})
    assert "Verified and written" in released.text
    assert STANDING not in released.text


def test_the_answer_can_be_changed_and_goes_with_the_table(asked, visits):
    asked.send("/open", {"path": visits})
    asked.send("/persons", {"answer": "persons"})
    asked.send("/columns", {"do": "next"})
    asked.send("/persons", {"answer": "named", "column": "2"})
    assert asked.studio.plan.roles["age"] == "direct_identifier"
    asked.send("/history", {"step": str(asked.studio.history.at - 1)})
    assert asked.studio.plan.rows == "persons"
    assert asked.send("/open", {"path": "patients.csv"}).url.path == "/persons", "another table, another answer"


@pytest.mark.parametrize(
    "form", [{"answer": "named", "column": ""}, {"answer": "maybe"}, {"answer": "named", "column": "77"}]
)
def test_an_answer_that_is_none(asked, visits, form):
    asked.send("/open", {"path": visits})
    answer = asked.send("/persons", form)
    assert answer.status_code == 422
    assert 'id="refused"' in answer.text
    assert QUESTION in answer.text
    assert not asked.studio.plan.rows


def test_numbers_of_patients_are_proposed_neither_as_sensitive_nor_as_quasi_identifiers(asked, home):
    lines = ["Patienten-Nr,Fall-Nr,age,gender,disease"]
    lines += [
        f"{700_001 + row * 7919 % 9973},{row * 31 % 4093},{20 + row % 40},{'FM'[row % 2]},d{row % 5}"
        for row in range(ROWS * 10)
    ]
    (home / "cases.csv").write_text("\n".join(lines) + "\n")
    asked.send("/open", {"path": "cases.csv"})
    asked.send("/persons", {"answer": "persons"})
    asked.send("/columns", {"do": "next"})
    roles = asked.studio.plan.roles
    assert roles["Patienten-Nr"] == roles["Fall-Nr"] == "direct_identifier"


def test_screens_that_count_records_say_records(browser):
    browser.decided()
    browser.send("/publish", {"folder": "made"})
    counted = r"(?:of|over|in|share of) the (?:people|persons)\b|over all people|\bpeople in small|Most people are"
    for screen in ("/columns", "/risk", "/coarser", "/compare", "/publish", "/release"):
        text = re.sub(r"\s+", " ", text_of(browser.look(screen)))
        # How the population is estimated, and what a column means for the people in it, is about people.
        found = [text[max(one.start() - 60, 0) : one.end() + 40] for one in re.finditer(counted, text)]
        assert found == [], screen
