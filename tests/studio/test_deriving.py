"""An age and a duration from dates on the screen Table."""

from __future__ import annotations

import json
import re

import pytest

pytestmark = pytest.mark.drawn


@pytest.fixture
def stays(home):
    """Dates of birth as Germans write them, ambiguous dates, and stays of up to three days."""
    lines = ["born;seen;admitted;discharged;disease"]
    for row in range(120):
        born = f"{1 + row % 28:02}.{1 + row % 12:02}.{1950 + row % 3}"
        stay = f"2025-03-{1 + row % 20:02};2025-03-{1 + row % 20 + row % 4:02}"
        lines.append(f"{born};0{1 + row % 9}/0{1 + row % 8}/2020;{stay};d{row * 7 % 11 % 6}")
    (home / "stays.csv").write_text("\n".join(lines) + "\n")


def derive(browser, **form):
    of = re.search('name="of" value="([^"]*)"', browser.look("/table").text).group(1)
    return browser.send("/table/derive", {"column": form.get("begin") or "0", **form, "of": of})


@pytest.mark.drawn
def test_an_age_and_a_stay_to_a_release(browser, stays, home):
    browser.enter()
    browser.send("/open", {"path": "stays.csv"})
    page = derive(browser, begin="0", unit="years", until="2025-12-31", name="age").text
    assert 'id="column-name"><bdi>age</bdi>' in page, "it stands last, so its page leads to it"
    page = browser.look("/table?column=0").text
    assert "whole years from born to 2025-12-31" in page
    assert "Its age is published in its place" in page
    assert "--set reading.derive.age=years:born:2025-12-31" in page
    page = derive(browser, begin="2", unit="days", end="3", name="stay").text
    assert browser.studio.plan.derived == {"age": "years:born:2025-12-31", "stay": "days:admitted:discharged"}
    browser.send("/table", {"do": "next"})
    roles = browser.studio.plan.roles
    assert roles["born"] == "direct_identifier"
    assert roles["age"] == "quasi_identifier"
    assert "reading.derive" in browser.look("/table").text
    assert "What was asked for is met" in browser.send("/publish", {"folder": "made"}).text
    derived = json.loads((home / "made/certificate.json").read_text())["parameters"]["derived"]
    assert derived["age"] == {"unit": "years", "begin": "born", "end": "2025-12-31"}
    assert browser.look("/attack").text.count("derive_columns(people, ") == 1
    # It can be undone in the same place.
    place = [*roles].index("age")
    derive(browser, column=str(place), do="undo")
    assert [*browser.studio.plan.derived] == ["stay"]
    assert "age" not in browser.studio.plan.roles


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"begin": "", "name": "age"}, "Choose a column of dates"),
        ({"begin": "1", "name": "age", "until": "2025-12-31"}, "Choose a column of dates"),
        ({"begin": "0", "name": "age", "end": "4"}, "Choose a column of dates"),
        ({"begin": "0", "name": "age", "until": "2025-02-30"}, "Type a date such as"),
        ({"begin": "0", "name": "born", "until": "31.12.2025"}, "Type a name that no column has"),
    ],
)
def test_a_wrong_word_is_said_and_changes_nothing(browser, stays, form, said):
    browser.enter()
    browser.send("/open", {"path": "stays.csv"})
    before = browser.studio.plan
    answer = derive(browser, **form)
    assert answer.status_code == 422
    assert said in re.search('id="refused".*', answer.text).group()
    assert browser.studio.plan == before
