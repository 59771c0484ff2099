"""The screens, by requests: the whole way, going back, reloading, bad files, wide tables, and what is never shown."""

from __future__ import annotations

import contextlib
import html
import io
import json
import re
import sqlite3
import time
import zipfile
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import few

from shoal._core.file_formats import READABLE
from shoal._core.words import percent
from shoal.cli.main import app
from shoal.io import readers
from shoal.studio.comparison_screen import _compare_levels, _measure_algorithms
from shoal.studio.jobs import tables as jobs
from shoal.studio.plan import Plan
from shoal.studio.release_screens import _rank_concerns
from shoal.studio.words import COMPARED, EXPLAINED
from shoal.wording.descriptions import describe_coarsening

from .conftest import FILES, HERE, MAX_UPLOAD, SECRET

SCREENS = (
    "/",
    "/table",
    "/table?column=1",
    "/goal",
    "/compare",
    "/publish",
    "/attack",
    "/goal?column=0",
    "/series",
    "/release",
)


def test_the_whole_way_to_a_release_whose_audit_agrees(browser, home):
    browser.enter()
    assert "patients.csv" in browser.look("/").text
    columns = browser.send("/open", {"path": "patients.csv"})
    assert "120 records" in re.sub(r"<[^>]+>|\s+", " ", columns.text).replace("  ", " ")
    assert "Published as it is" in columns.text
    assert "For whom is it" in browser.send("/table", {"do": "next"}).text
    assert "What that gives" in browser.send("/goal", {"k": "5", "l": "2", "recoding": "generalization"}).text
    publish = browser.send("/goal", {"coarsen-0": "bins:20", "coarsen-1": "", "coarsen-2": "any", "do": "next"})
    assert "in steps of 20" in publish.text
    released = browser.send("/publish", {"folder": "made"})
    assert "What was asked for is met" in released.text
    named = {one.name for one in (home / "made").iterdir()}
    assert named == {"release.csv", "certificate.json", "report.html", "report.json"}
    made = ("audit", home / "made/release.csv", "--qi", "age,gender,zip", "--sensitive", "disease", "-k", 5, "-l", 2)
    audit = CliRunner().invoke(app, [*map(str, made), "--json"])
    assert audit.exit_code == 0, audit.stdout
    certificate = json.loads((home / "made/certificate.json").read_text())
    assert json.loads(audit.stdout)["achieved"]["k"] == certificate["achieved"]["k"] >= 5
    for side, name in (("public", "report.html"), ("public", "release.csv"), ("private", "report.html")):
        folder = home / ("made" if side == "public" else "made.private")
        answer = browser.client.get(f"/release/{side}/{name}")
        assert answer.content == (folder / name).read_bytes()
        assert "sandbox" in answer.headers["content-security-policy"]
        assert "script" not in answer.headers["content-security-policy"]
    assert "attachment" in browser.client.get("/release/public/report.html?download").headers["content-disposition"]
    (home / "made/notes.txt").write_text("somebody put this here")
    assert browser.client.get("/release/public/notes.txt").status_code == 404
    assert browser.client.get("/release.toml").text.endswith('output = "release"\n')


@pytest.mark.drawn
def test_every_screen_shows_the_same_step_and_asks_for_every_number(browser):
    browser.decided()
    browser.send("/publish", {"folder": "made"})
    browser.send("/compare", {"k": "3,5", "l": ""})
    browser.send("/compare/algorithms")
    browser.send("/attack", {"learn": "on"})
    browser.send("/goal/shape", {"column": "0", "do": "propose", "how": "prefixes"})
    browser.send("/series/start", {"ledger": "a.db", "name": "s", "identifier": "0", "m": "2", "place": "beside"})
    browser.send("/series", {"series": "s", "do": "publish", "folder": "q1"})
    for path in SCREENS:
        text = browser.look(path).text
        assert text.count('data-same="') == (2 if path == "/series" else 3), path
        asked = re.findall(r'popovertarget="([^"]+)"', text)
        assert len(set(asked)) == len(asked)
        assert all(f'id="{one}"' in text for one in asked)
        for heading in re.findall(r"<dl class=\"figures\">.*?</dl>", text, re.S):
            assert heading.count("<dt>") == heading.count('class="ask"'), path
        for head in re.findall(r'<th scope="col" class="n">(.*?)</th>', text, re.S):
            assert 'class="ask"' in head or head in ("As it is", "Made coarser"), (path, head)
        for section in re.findall(r"<section.*?</section>", text, re.S):
            assert '<td class="n"' not in section or 'class="ask"' in section, path


def test_the_report_has_the_words_of_the_publish_screen(browser, home):
    browser.decided()
    said = {"title": "Stays of 2025", "purpose": "Teaching", "notes": "For Ann", "signatures": "Board; Officer"}
    browser.send("/publish", {"folder": "made", **said, "institution": " "})
    public, own = ((home / f"made{end}/report.html").read_text() for end in ("", ".private"))
    assert [word for word in ("Stays of 2025", "Teaching") if word not in public or word not in own] == []
    assert [word for word in ("Each row stands for one person", "For Ann", "Board", "Officer") if word not in own] == []
    assert [word for word in ("Each row stands", "For Ann", "Officer") if word in public] == []
    # The form, the history, the spec file and the equivalents have them, too.
    page = browser.look("/publish").text
    assert re.search('name="signatures"[^>]* value="Board; Officer"', page)
    shown = html.unescape(page)
    for word in (
        "--set 'report.title=Stays of 2025'",
        "report.purpose=Teaching",
        "report.signatures=Officer",
        "shoal.About(title='Stays of",
    ):
        assert word in shown
    assert "institution" not in browser.studio.plan.content()["report"]
    assert 'title = "Stays of 2025"' in browser.client.get("/release.toml").text
    assert "Words for the report" in browser.look("/table").text
    # Another form without these fields keeps them; comparing does not depend on them.
    browser.send("/publish", {"folder": "again"})
    assert "Stays of 2025" in (home / "again/report.html").read_text()
    assert "report" not in browser.studio.plan.work


def test_words_of_the_publish_screen_are_kept_where_no_release_is_made(browser, home):
    browser.decided()
    assert browser.send("/publish", {"do": "stay", "title": "Patients", "folder": "made"}).url.path == "/publish"
    page = browser.send("/publish", {"do": "attack", "contact": "a@b.org", "folder": "made"})
    assert page.url.path == "/attack"
    assert browser.studio.plan.report == {"title": "Patients", "contact": "a@b.org"}
    assert re.search('name="folder" value="made"', browser.look("/publish").text)
    assert sorted(one.name for one in home.iterdir()) == FILES
    # A name that cannot be one is refused once a release is made, and the next release has another one.
    assert browser.send("/publish", {"do": "stay", "folder": "../made"}).status_code == 200
    assert browser.send("/publish", {"folder": "../made"}).status_code == 422
    browser.send("/publish", {"folder": "made"})
    assert re.search('name="folder" value="release"', browser.look("/publish").text)
    # Other words make no other release: the written one is attacked.
    page = browser.send("/publish", {"do": "attack", "title": "Stays", "folder": "again"}).text
    assert "The release <strong><bdi>made</bdi></strong> is attacked" in page


@pytest.mark.drawn
def test_columns_stand_side_by_side_before_and_after(browser, home):
    browser.decided()
    browser.send("/goal", {"k": "5", "l": "2", "recoding": "suppression"})
    browser.send("/goal", {"coarsen-0": "bins:20", "coarsen-1": "", "coarsen-2": "any", "do": "next"})
    page = browser.send("/publish", {"folder": "made"}).text
    before, after = (pl.read_csv(home / name, infer_schema=False) for name in ("patients.csv", "made/release.csv"))
    table = re.search(r'<table class="sides">.*?</table>', page, re.S).group()
    told = {
        name: re.findall(r'<td class="n" data-label="[^"]*">(.*?)</td>', rest)
        for name, rest in re.findall(r"<th scope=\"row\"><bdi>(\w+)</bdi></th>(.*?)</tr>", table, re.S)
    }
    assert set(told) == {"age", "gender", "zip"}
    for name, (loss, had, has, kept, stars) in told.items():
        assert int(had) == before[name].n_unique()
        assert int(has) == after[name].n_unique()
        assert stars == percent((after[name] == "*").mean())
        same = set(before[name]) & set(after[name])
        assert kept == percent(after[name].is_in(same).mean())
        assert loss == "100%" if name == "zip" else loss != "100%"
    assert page.count('<details class="spread">') == 3


def test_another_release_of_the_same_table_is_named(browser, home):
    browser.decided()
    page = browser.send("/publish", {"folder": "made"}).text
    assert "Of the same table" not in page
    assert "No warning speaks against publishing it" in page
    browser.send("/goal", {"k": "4", "l": "2"})
    page = browser.send("/publish", {"folder": "again"}).text
    warned = page.partition('id="warnings"')[2].partition("</section>")[0]
    assert "Of the same table there is already &#39;made&#39;. " in warned
    assert "Look at the warnings before you publish it" in page
    rows = (home / "patients.csv").read_text().splitlines()
    (home / "patients.csv").write_text("\n".join(rows[:-1]) + "\n")
    browser.send("/goal", {"k": "5", "l": "2"})
    assert "Of the same table" not in browser.send("/publish", {"folder": "other"}).text


def test_the_figures_of_a_column_are_those_of_the_report(browser, home):
    # Rounded to tens, an age of 70 stands for one value of the table, and is not published as it was.
    ages = [*range(20, 60), *[70] * 20]
    (home / "ages.csv").write_text("\n".join(["age,disease", *(f"{age},d{row % 5}" for row, age in enumerate(ages))]))
    browser.enter()
    browser.send("/open", {"path": "ages.csv"})
    browser.send("/table", {"role-0": "quasi_identifier", "role-1": "sensitive", "do": "next"})
    browser.send("/goal", {"k": "5", "coarsen-0": "bins:10", "do": "next"})
    page = browser.send("/publish", {"folder": "made"}).text
    (column,) = json.loads((home / "made.private/report.json").read_text())["losses"]
    assert column["changed"] == 60
    assert 'data-label="Cells kept">0%<' in page


def test_rows_are_shown_without_the_columns_that_are_left_out_until_somebody_asks(browser):
    browser.decided()
    name, disease = f"{SECRET}0<", f"{SECRET}-disease"
    assert not any(name in browser.look(path).text for path in SCREENS if path != "/release")
    assert disease in browser.look("/table").text, "the rows come first"
    for path in ("/", "/compare", "/publish", "/attack", "/series"):
        assert disease not in browser.look(path).text
    assert name not in browser.send("/publish", {"folder": "made"}).text
    panels = {at: browser.look(f"/table?column={at}").text.partition('<section id="column"')[2] for at in (0, 1, 4)}
    assert SECRET not in panels[0]
    assert panels[1].count("40 different values") == 1
    assert "From <bdi>20</bdi> to <bdi>59</bdi>, most often " in panels[1]
    assert SECRET in panels[4]
    assert "From " not in panels[4]
    # Cells of columns that are left out are shown on request.
    assert name in browser.send("/table/cells", {"show": "yes"}).text
    assert name not in browser.send("/table/cells", {"show": "no"}).text
    browser.send("/table/cells", {"show": "yes"})
    browser.send("/open", {"path": "patients.csv"})
    assert name not in browser.look("/table").text, "another table, another question"


def test_several_columns_get_a_role_at_once_and_history_takes_it_back(browser):
    browser.decided()
    before = browser.studio.plan
    form = {"find": "2-3", "several": "insensitive", "do": "several"}
    assert browser.send("/table", form).text.count("You chose otherwise") == 2
    assert browser.studio.plan.names_of("insensitive") == ["age", "gender"]
    assert browser.send("/history", {"step": "2"}).status_code == 200
    assert browser.studio.plan == before
    browser.send("/history", {"step": "3"})
    assert browser.studio.plan.names_of("insensitive") == ["age", "gender"]
    for step in ("99", "-1", "x", "9" * 20):
        browser.send("/history", {"step": step})
    assert browser.studio.history.at == 3


def test_the_first_change_of_roles_is_named_in_history(browser):
    browser.enter()
    assert "What you decide is saved in the folder of the studio" in browser.look("/").text
    page = browser.send("/open", {"path": "patients.csv"}).text
    form = {"of": re.search('name="of" value="([^"]*)"', page).group(1), "several": "insensitive", "do": "several"}
    assert browser.send("/table", {**form, "find": "many"}).status_code == 422
    browser.send("/table", {**form, "find": "2-3"})
    words = str(browser.studio.history.steps[-1][0])
    assert words == "age: Harmless, gender: Harmless"
    assert "What you decided" in browser.look("/table").text
    browser.send("/history", {"step": "1"})
    browser.decided()
    assert "A new folder of this name is made in" in browser.look("/publish").text


def test_columns_that_others_may_know_are_counted_as_they_are_set(browser, home):
    names = [f"code_{place}" for place in range(20)]
    lines = [",".join(str((row * place) % 4) for place in range(1, 21)) for row in range(40)]
    (home / "wide.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    browser.enter()
    browser.send("/open", {"path": "wide.csv"})
    form = {"several": "quasi_identifier", "do": "several", "find": "1-20"}
    assert "20 columns are ones that others may know" in browser.send("/table", form).text
    form = {"several": "sensitive", "do": "several", "find": "10-20"}
    assert "columns are ones that others may know" not in browser.send("/table", form).text


def test_a_form_of_an_old_page_gives_no_column_the_role_of_another(browser, home):
    (home / "other.csv").write_text("disease,age\nx,30\ny,40\nz,50\n")
    browser.enter()
    page = browser.send("/open", {"path": "patients.csv"}).text
    old = re.search('name="of" value="([^"]*)"', page).group(1)
    browser.send("/open", {"path": "other.csv"})
    answer = browser.send("/table", {"of": old, "role-0": "direct_identifier", "role-1": "insensitive"})
    assert answer.status_code == 422
    assert "another window" in answer.text
    assert not browser.studio.plan.roles
    browser.send("/table", {"role-0": "sensitive", "role-1": "quasi_identifier"})
    assert browser.send("/goal", {"of": old, "coarsen-0": "any"}).status_code == 422
    assert browser.studio.plan.coarsen["age"] != "any"


def test_models_of_private_values_go_with_the_last_private_column(browser):
    browser.decided()
    browser.send("/goal", {"k": "6", "l": "3", "t": "0.5"})
    browser.send("/table", {"role-4": "quasi_identifier"})
    assert browser.studio.plan.privacy == {"k": "6"}
    assert browser.look("/goal").status_code == 200


def test_a_reload_and_a_second_browser_window_find_everything_as_it_was(browser):
    browser.decided()
    browser.send("/goal", {"k": "7", "l": "2", "recoding": "suppression"})
    first, second = browser.look("/goal").text, browser.look("/goal").text
    assert first == second
    assert 'name="k" size="4" inputmode="numeric" value="7"' in first


def test_a_screen_that_comes_too_early_leads_to_the_one_before(browser):
    browser.enter()
    for path in (one for one in SCREENS[1:-1] if one != "/series"):  # a ledger may be looked at without a table
        answer = browser.client.get(path, follow_redirects=True)
        assert answer.url.path == "/", path
    browser.send("/open", {"path": "patients.csv"})
    assert browser.look("/table").url.path == "/table"


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", b"", "no"),
        ("header.csv", b"a,b\n", "no row"),
        ("broken.csv", b'a,b\n"x,1\n2,3\n', "quotation"),
        ("wrong.xlsx", b"PK\x03\x04 not a workbook", "read"),
        ("bytes.parquet", b"\x00" * 500, "read"),
    ],
)
def test_bad_files_say_what_is_wrong_without_a_cell(browser, home, name, content, said):
    (home / name).write_bytes(content)
    browser.enter()
    answer = browser.send("/open", {"path": name})
    assert answer.status_code == 422
    assert "That does not work" in answer.text
    assert said in re.sub(r"<[^>]+>", " ", answer.text)
    assert "Internal error" not in answer.text


def test_a_bad_file_is_looked_at_again_when_it_changed(browser, home):
    (home / "later.csv").write_text("a,b\n")
    browser.enter()
    assert browser.send("/open", {"path": "later.csv"}).status_code == 422
    (home / "later.csv").write_text("age,disease\n30,x\n40,y\n")
    assert browser.look("/table").status_code == 200


def test_a_goal_that_cannot_be_met_says_so_and_writes_nothing(browser, home):
    browser.decided()
    answer = browser.send("/goal", {"k": "121", "recoding": "generalization"})
    assert "Not possible" in answer.text
    assert "120" in answer.text
    answer = browser.send("/publish", {"folder": "made"})
    assert "The release was not made" in answer.text
    assert "120" in answer.text
    assert sorted(one.name for one in home.iterdir()) == FILES


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"k": "0"}, "smallest group"),
        ({"k": "ten"}, "k"),
        ({"k": ""}, "Ask for something"),
        ({"k": "5", "t": "7"}, "closeness"),
    ],
)
def test_goals_that_are_none_are_explained_in_the_words_of_the_screen(browser, form, said):
    browser.decided()
    before = browser.studio.plan
    answer = browser.send("/goal", form)
    assert answer.status_code == 422
    told = re.search('id="refused"[^>]*>(.*?)</', answer.text).group(1)
    assert said.lower() in told.lower()
    assert "--" not in told
    assert browser.studio.plan == before


@pytest.mark.drawn
def test_the_share_of_the_population(browser):
    browser.decided()
    assert "Population uniques" not in browser.look("/table").text
    text = browser.send("/table/share", {"fraction": "5"}).text
    assert 'value="5"' in text
    assert "What does this mean: Population uniques" in text
    assert browser.studio.plan.sampling_fraction == "0.05"
    browser.send("/table/share", {"fraction": "0,5 %"})
    assert browser.studio.plan.sampling_fraction == "0.005"
    browser.send("/goal", {"k": "5", "t": "0,25"})
    assert browser.studio.plan.privacy["t"] == "0.25"
    for wrong in ("0", "101", "nan", "x", "-3", "1e999999"):
        assert browser.send("/table/share", {"fraction": wrong}).status_code == 422
    assert "Population uniques" not in browser.send("/table/share", {"fraction": ""}).text


@pytest.mark.drawn
def test_levels_are_compared_and_a_click_chooses_one(browser, home):
    browser.decided()
    assert "Choose k = 4" not in browser.look("/compare").text
    text = browser.send("/compare", {"k": "2, 4,200", "l": "1,2"}).text
    assert "Choose k = 4, l = 2" in text
    assert "Choose k = 200" not in text, "nobody can meet it"
    assert "at least 3 others" in browser.send("/compare/choose", {"k": "4", "l": "2"}).text
    assert browser.studio.plan.privacy == {"k": "4", "l": "2"}
    assert sorted(one.name for one in home.iterdir()) == FILES, "comparing writes nothing"
    for wrong in ("", "x", "-1", ",".join("3" * 30)):
        assert browser.send("/compare", {"k": wrong}).status_code == 422
    assert {**browser.studio.levels, "plan": ""} == {"k": "2, 4,200", "l": "1,2", "plan": ""}
    browser.send("/open", {"path": "patients.csv"})
    assert browser.studio.levels is None


def test_the_level_or_algorithm_that_is_chosen_is_published_as_it_was_shown(browser, home):
    # One record of each person is drawn, so each release is another one.
    rows = [f"P{at // 3},{20 + at * 37 % 41},{at * 11 % 17},{at * 7 % 13},d{at % 5}" for at in range(180)]
    (home / "many.csv").write_text("\n".join(["who,age,a,b,disease", *rows]) + "\n")
    browser.enter()
    browser.send("/open", {"path": "many.csv"})
    known = {f"role-{at}": "quasi_identifier" for at in (1, 2, 3)}
    browser.send("/table", {"answer": "one", "column": "0", **known, "role-4": "sensitive", "do": "next"})
    browser.send("/goal", {"k": "5", "l": "2"})

    def lost(folder):
        browser.send("/publish", {"folder": folder, "title": folder})
        return json.loads((home / f"{folder}.private/certificate.json").read_text())["cost"]["gcp"]

    browser.send("/compare", {"k": "3, 4", "l": "1, 2"})
    browser.send("/compare/choose", {"k": "4", "l": "2"})
    page = browser.client.get("/compare").text
    assert "Choose k = 4, l = 2" in page, "to choose a level does not compare them again"
    found = _compare_levels(browser.studio)
    shown = {
        one["k"]: point["loss"] for one, point in zip(found["levels"], found["points"], strict=True) if one["l"] == 2
    }
    assert lost("level") == shown[4]
    browser.send("/compare/algorithms")
    ways = {one["algorithm"]: one["loss"] for one in _measure_algorithms(browser.studio)["rows"]}
    browser.send("/compare/algorithm", {"algorithm": "mondrian"})
    assert lost("mondrian") == ways["mondrian"]
    browser.send("/compare/algorithm", {"algorithm": "cluster"})
    assert lost("cluster") == ways["cluster"]
    # Of another state of the table nothing is kept.
    (home / "many.csv").write_text("\n".join(["who,age,a,b,disease", *rows[:-9]]) + "\n")
    assert lost("other") != ways["cluster"]


def test_a_release_is_shown_with_its_own_plan_and_an_old_page_makes_none(browser, home):
    browser.decided()
    of = re.search('name="of" value="([^"]*)"', browser.look("/publish").text).group(1)
    browser.send("/publish", {"folder": "made"})
    before = browser.look("/release").text
    # Another window: other persons, another goal.
    browser.send("/goal", {"k": "2", "l": ""})
    refused = browser.send("/publish", {"folder": "again", "of": of})
    assert refused.status_code == 422
    assert "The plan has changed since this page was made." in refused.text
    assert not (home / "again").exists()
    browser.send("/table", {"answer": "counted", "column": "1"})
    after = browser.look("/release").text
    main = re.compile("<main.*?</main>", re.S)
    assert main.search(after).group() == main.search(before).group()
    assert "Persons are protected" not in after
    with zipfile.ZipFile(io.BytesIO(browser.client.get("/release.zip").content)) as packed:
        assert {*packed.namelist()} == {f"made/{one.name}" for one in (home / "made").iterdir()}
    assert browser.client.get("/release.zip").headers["content-type"] == "application/zip"


def test_a_column_of_very_many_sets_is_called_hardly_of_use():
    column = {"name": "diagnosis", "before": 35, "after": 15_653, "stars": 0.0, "loss": 0.1}
    facts = {"warnings": [], "others": [], "columns": [column, {**column, "name": "age", "after": 60}]}
    (title, kinds), *others = _rank_concerns(facts, Plan(), {})
    assert (title, others) == ("What analysts lose", [])
    assert kinds == [["'diagnosis': 35 values became 15,653 different sets and ranges, which analysts can hardly use."]]


def test_how_a_file_was_read_is_told_and_so_are_warnings_of_a_release(browser, home):
    lines = (home / "patients.csv").read_text().replace(",", ";").replace("disease-1", "Grippe-ü").splitlines()
    (home / "german.csv").write_text("\n".join(lines), encoding="latin-1")
    browser.enter()
    text = browser.send("/open", {"path": "german.csv"}).text
    assert "encoding cp1252; fields separated by a semicolon" in text
    browser.send("/table", {"role-0": "insensitive", "do": "next"})
    text = browser.send("/publish", {"folder": "made"}).text
    warnings = json.loads((home / "made.private/certificate.json").read_text())["warnings"]
    assert "near_unique_insensitive" in [one["code"] for one in warnings]
    assert "Look at the warnings before you publish it" in text
    assert '>report.html</a> <span class="soft">for readers</span>' in text
    assert '>report.html</a> <span class="soft">for you and your officer' in text
    assert "What may still be learned about persons" in text
    assert "outside the protection" not in text  # it would state the same records once more
    assert text.count('<li><a href="/release/public/') == len(list((home / "made").iterdir()))


@pytest.mark.drawn
def test_missing_private_values_are_asked_for(browser, home):
    lines = (home / "patients.csv").read_text().splitlines()
    (home / "missing.csv").write_text(
        "\n".join([lines[0], *(one.rpartition(",")[0] + "," for one in lines[1:4]), *lines[4:]])
    )
    browser.enter()
    browser.send("/open", {"path": "missing.csv"})
    browser.send("/table", {"do": "next"})
    assert "3 records miss a sensitive value" in browser.look("/goal").text
    browser.send("/goal", {"k": "5", "recoding": "generalization", "missing_sensitive": "drop"})
    assert "What was asked for is met" in browser.send("/publish", {"folder": "made"}).text
    assert json.loads((home / "made/certificate.json").read_text())["parameters"]["missing_sensitive"] == "drop"


def test_dates_that_can_be_read_in_two_ways_are_asked_for(browser, home):
    days = [f"{1 + row % 12:02}/{1 + row % 11:02}/1980" for row in range(60)]
    (home / "dates.csv").write_text("born,disease\n" + "\n".join(f"{day},x{row % 4}" for row, day in enumerate(days)))
    browser.enter()
    text = browser.send("/open", {"path": "dates.csv"}).text
    assert "two ways" in text
    assert 'name="date"' in browser.look("/table?column=0").text
    text = browser.send("/table/column", {"column": "0", "date": "%d/%m/%Y"}).text
    assert "two ways" not in text
    assert "%d/%m/%Y" in text
    browser.send("/table", {"do": "next"})
    assert browser.studio.plan.content()["reading"]["dates"] == {"born": "%d/%m/%Y"}
    assert browser.studio.plan.content()["coarsen"] == {"born": "date:month"}


def test_making_a_release_can_be_stopped_and_leaves_nothing(browser, home, monkeypatch):
    browser.decided()
    of = re.search('name="of" value="([^"]*)"', browser.look("/publish").text).group(1)
    monkeypatch.setattr(jobs, "publish", slow)
    form = {"folder": "made", "of": of}
    answer = browser.client.post("/publish", data=form, headers={"origin": HERE}, follow_redirects=True)
    assert 'id="working"' in answer.text
    assert 'id="working"' in browser.client.get("/release").text, "another window sees it, too"
    assert browser.client.get("/work").json()["title"] == "Making the release “made”"
    assert "Another release is being made" in browser.send("/publish", {"folder": "other", "of": of}).text
    browser.client.get("/goal")
    assert browser.client.get("/work").json() is not None, "looking does not stop it"
    answer = browser.send("/cancel", {"back": "/publish"})
    assert "Stopped. Nothing was written." in answer.text
    assert sorted(one.name for one in home.iterdir()) == FILES
    assert browser.client.get("/work").json() is None


def slow(*, progress, **ignored):
    while True:
        progress("waiting", 1, 2)
        time.sleep(0.02)


def test_stopping_leads_to_a_screen_of_the_studio_only(browser):
    browser.enter()
    answer = browser.client.post(
        "/cancel", data={"back": "//evil.example"}, headers={"origin": HERE}, follow_redirects=False
    )
    assert answer.headers["location"] == "/"


@pytest.mark.drawn
def test_the_made_up_table(browser):
    browser.enter()
    answer = browser.send("/open/demo")
    assert answer.url.path == "/table"
    assert "878 records of 400 persons, by" in answer.text
    browser.send("/table", {"answer": "linked", "column": "1"})
    assert browser.look("/table").text.count("shoal datasets visits.csv") == 1


MANY = few(200, least=60)


@pytest.mark.drawn
def test_many_columns(browser, home):
    frame = pl.DataFrame({f"column {at}": [f"v{(row * (at + 3)) % 7}" for row in range(50)] for at in range(MANY)})
    frame.write_csv(home / "wide.csv")
    browser.enter()
    assert browser.send("/open", {"path": "wide.csv"}).text.count('<select class="pill" name="role-') == MANY
    roles = {f"role-{at}": "quasi_identifier" if at < 3 else "direct_identifier" for at in range(MANY)}
    assert browser.send("/table", {**roles, "do": "next"}).status_code == 200
    assert len(browser.studio.plan.names_of("direct_identifier")) == MANY - 3


def test_a_table_without_anything_that_others_know(browser):
    browser.enter()
    browser.send("/open", {"path": "patients.csv"})
    answer = browser.send("/table", {**{f"role-{at}": "insensitive" for at in range(5)}, "do": "next"})
    assert answer.status_code == 422
    assert "others may know" in answer.text


def test_closing_forgets_and_stops(browser, monkeypatch, tmp_path):
    stopped = []
    browser.studio.stop = lambda: stopped.append(True)
    monkeypatch.setattr(browser.studio.worker, "close", lambda: stopped.append("work"))
    browser.enter()
    # One click opens the question; the button is behind it.
    asked = re.search(r"<details><summary>Close the studio</summary>(.*?)</details>", browser.look("/").text, re.S)
    assert 'action="/close"' in asked.group(1)
    assert "will be gone" in asked.group(1)
    assert browser.look("/").text.count('action="/close"') == 1
    assert "The studio is closed" in browser.send("/close").text
    assert stopped == ["work", True]


def test_what_may_be_opened_is_what_can_be_read():
    assert set(READABLE) == {ending for endings in readers._ENDINGS.values() for ending in endings}


def test_every_coarsening_has_words_and_every_word_is_used(browser):
    from shoal.request.texts import KINDS

    kinds = set(KINDS) - {"level", "points", "regions"}  # of files and of pairs of columns: as they are written
    assert all(str(describe_coarsening(KINDS[kind])) != KINDS[kind] for kind in kinds)
    used = "".join(path.read_text() for path in (Path(jobs.__file__).parents[1] / "templates").glob("*.j2"))
    for letter in "kl":  # explained by what they count
        for about in ("", "_counted", "_linked"):
            used = used.replace(
                f'explained["{letter}" ~ plan.about],', f'explained["{letter}" ~ plan.about],explained.{letter}{about},'
            )
    assert all(
        f"explained.{name}," in used or f'explained["{name}"],' in used for name in {*EXPLAINED} - {*COMPARED.values()}
    )
    assert set(COMPARED.values()) <= set(EXPLAINED)


def test_the_limit_of_dropped_files_is_on_the_page(browser):
    browser.enter()
    assert f'data-limit="{MAX_UPLOAD}"' in browser.look("/").text


def test_a_table_of_a_database_goes_the_whole_way(browser, home):
    with contextlib.closing(sqlite3.connect(home / "hospital.db")) as database:
        database.execute("create table patients (age integer, gender text, disease text)")
        rows = [(20 + row % 30, "fm"[row % 2], f"d{row * 7 % 5}") for row in range(120)]
        database.executemany("insert into patients values (?, ?, ?)", rows)
        database.commit()
    browser.enter()
    assert "120" in browser.send("/open", {"path": "sqlite:///hospital.db::patients"}).text
    browser.send("/table", {"do": "next"})
    assert "shoal risk sqlite:///hospital.db::patients" in browser.look("/table").text
    assert "What was asked for is met" in browser.send("/publish", {"folder": "made"}).text
    assert (home / "made/release.csv").is_file()


@pytest.mark.drawn
def test_what_analysts_lose_and_a_risk_of_one_are_no_calm_verdict(browser, home):
    # Two unrelated columns, so groups of a third of the table show wide ranges; another release has groups of one.
    lines = ["age,cost,disease", *(f"{row * 37 % 61},{row * row * 17 % 997},d{row % 5}" for row in range(60))]
    (home / "wide.csv").write_text("\n".join(lines) + "\n")
    browser.enter()
    browser.send("/open", {"path": "wide.csv"})
    roles = {"role-0": "quasi_identifier", "role-1": "quasi_identifier", "role-2": "sensitive"}
    browser.send("/table", {**roles, "do": "next"})
    browser.send("/goal", {"k": "20", "recoding": "generalization"})
    text = browser.send("/publish", {"folder": "wide"}).text
    assert "before you publish it" in text
    assert "What analysts lose" in text
    assert "Columns that lose much" in text
    assert "100%: someone can be picked out" not in text
    browser.send("/goal", {"k": "", "l": "1", "recoding": "generalization"})
    text = browser.send("/publish", {"folder": "alone"}).text
    assert "100%: someone can be picked out with certainty" in text
    assert "<strong>! 100%</strong>" in text


@pytest.mark.drawn
def test_a_risk_of_a_hundred_percent_is_marked_on_every_screen(browser, home):
    rows = [f"P{row},{row},F,{10001 + row % 3},d{row % 5}" for row in range(60)]
    (home / "patients.csv").write_text("\n".join(["name,age,gender,zip,disease", *rows]) + "\n")
    browser.decided()
    browser.send("/table", {"role-1": "quasi_identifier", "do": "next"})
    certain = '<span class="high">! 100%</span>'
    assert certain in browser.look("/table").text
    browser.send("/compare", {"k": "1", "l": ""})
    assert certain in browser.look("/compare").text
