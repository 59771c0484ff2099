"""Sensitive and harmless columns are made less precise on the screen For whom, with the means of all other columns."""

from __future__ import annotations

import csv
import html
import json
import re
import shlex

import pytest
from click.testing import CliRunner

from shoal.cli.main import app

pytestmark = pytest.mark.drawn


@pytest.fixture
def wages(browser, home):
    """A table with a wage and a date, sensitive and harmless; places on the screen For whom are 2 and 3."""
    lines = ["age,zip,wage,seen"]
    lines += [
        f"{20 + row * 7 % 12},{10001 + row % 2},{1000 + row * 7919 % 4000},{1 + row % 28:02}.{1 + row % 12:02}.2024"
        for row in range(240)
    ]
    (home / "wages.csv").write_text("\n".join(lines) + "\n")
    browser.enter()
    browser.send("/open", {"path": "wages.csv"})
    roles = {"role-0": "quasi_identifier", "role-1": "quasi_identifier", "role-2": "sensitive", "role-3": "insensitive"}
    browser.send("/table", {**roles, "do": "next"})
    browser.send("/goal", {"k": "5", "l": "2", "recoding": "generalization"})
    return browser


def test_release_report_and_command_agree(wages, home, monkeypatch):
    page = wages.look("/goal").text
    assert wages.studio.plan.coarsenable == ["age", "zip", "wage", "seen"]
    assert not wages.studio.plan.coarse_attributes.get("wage")
    assert [*re.findall(r'for="c-\d"><bdi>(\w+)', page)] == ["age", "zip", "wage", "seen"]
    assert page.index('id="others"') > page.index('for="c-1"')
    answer = wages.send("/goal", {"coarsen-2": "bins:1000", "coarsen-3": "date:month", "do": "preview"})
    assert 'value="bins:1000" selected' in answer.text
    assert re.search(r"<del><bdi>\d{4}</bdi></del> <ins><bdi>\[\d000, \d000\)</bdi></ins>", answer.text)
    page = wages.look("/publish").text
    assert "<bdi>wage</bdi>: in steps of 1000" in page
    command = html.unescape(re.search(r'data-same="command">(.*?)</code>', page, re.S).group(1))
    assert "wage=bins:1000" in command
    assert wages.send("/publish", {"folder": "made"}).status_code == 200
    monkeypatch.chdir(home)
    words = shlex.split(command.replace("\\\n", " "))
    done = CliRunner().invoke(app, [*words[1:], "--output", "typed"])
    assert done.exit_code == 0, done.output
    for folder in ("made", "typed"):
        with (home / folder / "release.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert {row["wage"] for row in rows} == {f"[{low}, {low + 1000})" for low in range(1000, 5000, 1000)}
        assert {row["seen"] for row in rows} == {f"2024-{month:02}" for month in range(1, 13)}
        certificate = json.loads((home / folder / "certificate.json").read_text())
        assert certificate["parameters"]["coarsen"]["wage"]["width"] == 1000
        assert re.search(r"wage and seen: made less precise", (home / folder / "report.html").read_text())


@pytest.mark.drawn
def test_a_coarsening_that_was_chosen_stays_in_another_role(wages):
    wages.send("/goal", {"coarsen-2": "bins:1000", "do": "preview"})
    wages.send("/table", {"role-3": "direct_identifier", "do": "next"})
    assert wages.studio.plan.coarsen["wage"] == "bins:1000"
    wages.send("/table", {"role-2": "insensitive", "do": "next"})
    assert wages.studio.plan.coarsen["wage"] == "bins:1000"


def test_the_goal_is_judged_by_the_coarser_values(wages):
    answer = wages.send("/goal", {"coarsen-2": "any", "do": "preview"})
    assert "Not possible" in answer.text
    assert "Take what is possible" in answer.text
    mended = wages.send("/goal/mend", {"": ""})
    assert "Not possible" not in mended.text
    assert wages.studio.plan.coarsen["wage"] not in ("", "any")
    assert wages.send("/publish", {"folder": "made"}).status_code == 200


@pytest.mark.drawn
def test_a_sensitive_column_is_shaped_by_hand(wages, home):
    page = wages.look("/goal?column=2").text
    form = {"of": re.search('name="of" value="([^"]*)"', page).group(1), "column": "2"}
    wages.send("/goal/shape/use", {**form, "how": "bins", "width": "500"})
    assert wages.studio.plan.coarsen["wage"] == "bins:500"
    assert wages.send("/publish", {"folder": "made"}).status_code == 200
    with (home / "made/release.csv").open(newline="") as file:
        assert len({row["wage"] for row in csv.DictReader(file)}) == 8


@pytest.mark.drawn
def test_a_coarsening_that_does_not_fit_is_refused_on_its_screen(wages):
    page = wages.look("/goal?column=3").text
    form = {"of": re.search('name="of" value="([^"]*)"', page).group(1), "column": "3"}
    answer = wages.send("/goal/shape/use", {**form, "words": "bins:10"})
    assert "numbers" in answer.text
    assert "seen" in answer.text
