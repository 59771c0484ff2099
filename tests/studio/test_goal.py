"""The screen of the goal: what an adversary knows, harmless values, weights, and differential privacy."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import polars as pl
import pytest

import shoal
from shoal._core.progress import silent
from shoal.studio.jobs import tables
from shoal.studio.jobs.tables import try_goal
from shoal.studio.plan import Plan
from shoal.studio.requests import arguments_in
from shoal.studio.screen_inputs import inspect_table

from .conftest import SECRET

pytestmark = pytest.mark.drawn

GOAL = {"k": "3", "l": "2", "recoding": "suppression"}


def _certificate(home, name="made"):
    return json.loads((home / name / "certificate.json").read_text())


def _shown(browser):
    return re.sub(r"\\\n +", "", html.unescape(browser.look("/goal").text))


def _marker(browser):
    found = re.search(
        'id="goal" data-counted="stay"><input type="hidden" name="of" value="([^"]*)"', browser.look("/goal").text
    )
    return {"of": found.group(1)}


@pytest.mark.drawn
def test_what_somebody_knows_is_protected_and_shown_as_a_command(browser, home):
    browser.decided()
    browser.send("/goal", {**GOAL, "known": "some", "knows": "2"})
    shown = _shown(browser)
    assert "--set knows=2" in shown
    assert "knows=2" in shown
    assert 'value="some" checked' in shown
    assert "any 2" in shown, "the sentences about one person name it"
    browser.send("/publish", {"folder": "made"})
    assert {one["knows"] for one in _certificate(home)["requested"]} == {2}
    # A card of the same screen keeps what somebody knows.
    browser.send("/goal", {"k": "5", "l": "2", "recoding": "suppression", "missing_sensitive": "error"})
    assert browser.studio.plan.content()["knows"] == 2
    browser.send("/goal", {**GOAL, "known": "sets", "set-0": "age, gender:4", "set-2": "zip"})
    assert "--set 'columns.qi_sets=age, gender:4' --set columns.qi_sets=zip" in _shown(browser)
    assert "knows" not in browser.studio.plan.content()
    # A column that joins them is in no set, so that all columns count as known, which is stricter.
    browser.send("/table", {"role-0": "quasi_identifier"})
    assert "qi_sets" not in browser.studio.plan.content()["columns"]


def test_screens_speak_of_what_others_may_know_and_a_column_keeps_its_name(browser, home):
    browser.decided()
    browser.send("/goal", {"k": "3", "l": "2"})
    for screen in ("/table", "/goal", "/publish", "/release"):
        if screen == "/release":
            browser.send("/publish", {"folder": "made"})
        told = re.sub(r'<details class="same".*?</details>', "", browser.look(screen).text, flags=re.S)
        assert "quasi-identifier" not in re.sub("<[^>]*>", "", told), screen
    assert "the same published quasi-identifiers" in (home / "made/report.html").read_text(), "readers know the field"
    (home / "other.csv").write_text((home / "patients.csv").read_text().replace("disease", "quasi-identifiers", 1))
    browser.send("/open", {"path": "other.csv"})
    browser.send("/table", {"role-4": "sensitive", "do": "next"})
    told = html.unescape(browser.send("/goal", {"k": "3", "l": "2"}).text)
    assert "what others may know of a record can link the record to any one value of 'quasi-identifiers'" in told


@pytest.mark.drawn
def test_harmless_values_a_proof_and_weights(browser, home):
    browser.decided()
    harmless = f"{SECRET}-disease-0"
    goal = {**GOAL, "k": "2", **_marker(browser)}
    browser.send("/goal", {**goal, "harmless": harmless, "weight-0": "2", "weight-1": "1"})
    shown = _shown(browser)
    assert f"--model harmless={harmless}" in shown
    assert "--set weights.age=2" in shown
    assert browser.studio.plan.weights == {"age": "2"}
    browser.send("/publish", {"folder": "made"})
    requested = _certificate(home)["requested"]
    assert [one["harmless"] for one in requested if "harmless" in one] == [[harmless]]
    browser.send("/goal", {**goal, "harmless": "", "weight-0": "", "resist": "minimality"})
    assert "--set resist=minimality" in _shown(browser)
    browser.send("/publish", {"folder": "proof"})
    assert '"transparent"' in (home / "proof.private/certificate.json").read_text()


@pytest.mark.drawn
def test_an_algorithm_of_another_goal_gives_way(browser):
    browser.decided()
    browser.send("/compare/algorithm", {"algorithm": "hilbert"})
    browser.send("/goal", {**GOAL, "resist": "minimality"})
    assert browser.studio.plan.algorithm == ""
    assert "algorithm: the one that fits" in str(browser.studio.history.steps[-1][0])


@pytest.mark.drawn
def test_differential_privacy_is_a_goal_of_its_own(browser, home):
    rows = "".join(f"{'FM'[row % 2]},{row % 3}\n" for row in range(3000))
    (home / "large.csv").write_text("sex,region\n" + rows)
    browser.decided()
    wish = {"epsilon": "1", "delta": "0.001", "recoding": "generalization"}
    refused = browser.send("/goal", wish)
    assert refused.status_code == 422
    assert "others may know disease, or leave it out" in refused.text
    browser.send("/open", {"path": "large.csv"})
    browser.send("/table", {"role-0": "quasi_identifier", "role-1": "quasi_identifier"})
    answer = browser.send("/goal", {**wish, "do": "stay"})
    assert answer.url.path == "/goal"
    assert "--model epsilon=1 --model delta=0.001" in _shown(browser)
    assert browser.send("/compare", {"k": "3,5"}).status_code == 422
    browser.send("/table", {"role-0": "quasi_identifier", "role-1": "quasi_identifier"})
    browser.send("/publish", {"folder": "drawn"})
    certificate = _certificate(home, "drawn")
    assert [one["model"] for one in certificate["requested"]] == ["differential privacy"]
    assert 0 < certificate["output"]["files"]["release.csv"]["rows"] < 3000
    # The form of the numbers returns to groups.
    browser.send("/goal", {"k": "3", "recoding": "generalization"})
    assert browser.studio.plan.privacy == {"k": "3"}


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"known": "some", "knows": "4"}, "knows"),
        ({"known": "some", "knows": "²"}, "knows"),
        ({"known": "sets"}, "set-0"),
        ({"known": "sets", "set-1": "age, zp"}, "set-1"),
        ({"known": "sets", "set-0": 'age, "zip'}, "set-0"),
        ({"known": "sets", "set-0": "age", "set-2": "zip"}, "set-2"),
        ({"harmless": '"a'}, "harmless"),
        ({"weight-1": "much"}, "weight-1"),
        ({"weight-1": "nan"}, "weight-1"),
        ({"weight-0": "-1"}, "weight-0"),
        ({"l": "", "resist": "minimality"}, "l"),
        ({"resist": "magic"}, None),
        ({"epsilon": "1", "delta": ""}, "delta"),
        ({"epsilon": "1", "delta": "2"}, "epsilon"),
    ],
)
def test_a_wrong_field_says_so_and_changes_nothing(browser, wrong, field):
    browser.decided()
    marker = _marker(browser)
    before = browser.studio.plan
    # Differential privacy has a form of its own.
    answer = browser.send("/goal", wrong if "epsilon" in wrong else {**GOAL, **marker, **wrong})
    assert answer.status_code == 422
    assert browser.studio.plan == before
    if field is None:
        assert 'id="refused"' in answer.text
    else:
        assert re.search(rf'<input[^>]* name="{field}"[^>]* aria-invalid="true"', answer.text)
        assert answer.text.count('<details class="more" open') == (field != "l"), "no error is folded away"


def test_a_project_of_somebody_else_cannot_break_the_screen():
    roles = {"age": "quasi_identifier", "zip": "quasi_identifier"}
    content = Plan(roles=roles, knows="many", sets=("age", "name"), weights={"name": "2"}).content()
    assert not {"knows", "weights"} & {*content}
    assert "qi_sets" not in content["columns"]


def test_a_coarsening_that_no_slider_offers_has_its_place_on_it(browser):
    browser.decided()
    place = browser.studio.plan.coarsenable.index("age")
    page = browser.send("/goal", {f"coarsen-{place}": "cuts:30,40,50"}).text
    rungs = re.findall(
        r'<option value="([^"]*)"', page.partition(f'name="coarsen-{place}"')[2].partition("</select>")[0]
    )
    assert 0 < rungs.index("cuts:30,40,50") < len(rungs) - 1
    assert re.search(r'value="cuts:30,40,50" selected>4 values', page)


def test_a_warning_about_columns_together_goes_with_one_of_them(browser, home):
    rows = [f"{20 + row % 5},{1000 + row % 23},{20 + row * 7 % 29},d{row % 4}" for row in range(300)]
    (home / "wide.csv").write_text("age,income,bmi,diagnosis\n" + "\n".join(rows) + "\n")
    browser.enter()
    browser.send("/open", {"path": "wide.csv"})
    found = next(
        one for one in inspect_table(browser.studio, "table")["warnings"] if one["code"] == "near_unique_insensitive"
    )
    assert {"'income'", "'bmi'"} <= {*found["found"].arguments["columns"]}
    assert "unique by the columns" in browser.look("/table").text
    browser.send("/table", {"role-1": "direct_identifier", "do": "look"})
    assert "unique by the columns" not in browser.look("/table").text


@pytest.mark.parametrize("recoding", ["generalization", "suppression"])
def test_the_trial_of_a_large_table_loses_about_what_the_release_does(home, recoding):
    """A part of the records in groups of as many would lose two or three times as much."""
    rng = np.random.default_rng(3)
    known = {"age": rng.integers(0, 90, 40_000), "sex": rng.integers(0, 2, 40_000), "area": rng.integers(0, 25, 40_000)}
    pl.DataFrame(known | {"disease": rng.integers(0, 9, 40_000)}).write_parquet(home / "large.parquet")
    roles = dict.fromkeys(known, "quasi_identifier") | {"disease": "sensitive"}
    privacy = {"k": "10", "l": "3"}
    plan = Plan(source=str(home / "large.parquet"), shown="x", roles=roles, privacy=privacy, recoding=recoding)
    trial = try_goal(content=plan.work, progress=silent)["trial"]
    made = shoal.anonymize(**arguments_in(plan.work)).metrics.ncp
    assert trial["rows"] == trial["of"] == 40_000
    assert trial["quick"] == (recoding == "generalization")
    assert 0.95 <= sum(trial["loss"].values()) / sum(made.values()) <= 1.3


def test_a_trial_of_many_columns_takes_as_many_cells_whoever_knows_them(home, monkeypatch):
    monkeypatch.setattr(tables, "_QUICK_CELLS", 100_000)
    known = {"age": [row % 90 for row in range(20_000)], "area": [row % 7 for row in range(20_000)]}
    other = {f"note {at}": [row % (at + 2) for row in range(20_000)] for at in range(18)}
    pl.DataFrame(known | other).write_parquet(home / "wide.parquet")
    roles = dict.fromkeys(known, "quasi_identifier") | dict.fromkeys(other, "insensitive")
    plan = Plan(source=str(home / "wide.parquet"), shown="x", roles=roles, privacy={"k": "5"})
    assert try_goal(content=plan.work, progress=silent)["trial"]["rows"] == 5_000


@pytest.mark.drawn
def test_the_card_that_was_taken_and_the_reasons_for_roles_are_in_the_private_report(browser, home):
    browser.decided()
    browser.send("/goal", {"for": "contract", "k": "5", "l": "2"})
    page = browser.look("/publish").text
    assert 'value="Researchers under a contract"' in page
    assert 'value="They promise not to look for anyone, and can be held to it."' in page
    words = {"recipient": "Institute of statistics", "controls": "They promise it.", "roles": "The board, in May."}
    browser.send("/publish", {"folder": "made", **words})
    own = (home / "made.private/report.html").read_text()
    for shown in words.values():
        assert shown in own, shown
        assert shown not in (home / "made/report.html").read_text()
    assert browser.studio.plan.report == words
    assert "columns" not in Plan().content()
    # Nothing binds everybody: that card names the recipient alone.
    browser.send("/goal", {"for": "public", "k": "10", "l": "3"})
    assert browser.studio.plan.report == {"recipient": "Everyone", "roles": words["roles"]}
    # Another level is no other audience.
    assert browser.send("/compare/choose", {"k": "4", "l": "2"}).text.count('value="Everyone"') == 1
    assert browser.studio.plan.report == {"recipient": "Everyone", "roles": words["roles"]}
