"""Messy files in the studio: a title above the names, codes that mean missing, spellings of one value."""

from __future__ import annotations

import json
import re

import pytest

from .conftest import HERE

HEAD = "Ward 7, quarterly report\n\n"


@pytest.fixture
def messy(home):
    """Ages with a code, and spellings of gender; the names of columns are in line 3."""
    lines = ["age;gender;disease"]
    for row in range(120):
        age = "k.A." if row % 10 == 0 else 20 + row * 7 % 40
        lines.append(f"{age};{('w', 'W', 'weiblich', 'm')[row % 4]};d{row * 7 % 11 % 6}")
    path = home / "messy.csv"
    path.write_text(HEAD + "\n".join(lines) + "\n")
    return path


def open_messy(browser):
    browser.enter()
    return browser.send("/open", {"path": "messy.csv", "header_row": "3"})


def test_the_row_of_the_names(browser, messy):
    browser.enter()
    text = browser.send("/open", {"path": "messy.csv", "header_row": "x"}).text
    assert "is a number, 1 or more" in text
    assert 'value="x"' in text
    assert not browser.studio.plan.source
    page = open_messy(browser)
    assert "names of columns in row 3" in page.text
    assert "--set reading.header_row=3" in page.text
    assert 'value="3"' in browser.look("/?reading=yes").text
    assert browser.studio.plan.content()["reading"]["header_row"] == 3
    answer = browser.send("/open/reading", {"header_row": "2", "of": of(browser, "/?reading=yes")})
    assert answer.status_code == 422
    assert browser.studio.plan.reading == {"header_row": "3"}


def of(browser, path):
    return re.search('name="of" value="([^"]*)"', browser.look(path).text).group(1)


def test_a_dropped_file_that_is_read_wrongly_is_kept_and_read_in_another_way(browser, messy):
    content = messy.read_bytes().replace(b"Ward 7, quarterly report", b"Ward 7;;")
    browser.enter()
    headers = {"origin": HERE, "content-type": "application/octet-stream"}
    browser.client.post("/open/dropped?name=mine.csv", content=content, headers=headers)
    answer = browser.look("/table")
    assert answer.status_code == 422
    assert "</bdi> read?</h2>" in answer.text
    assert "have no name in line 1" in answer.text
    assert "“Row of the column names” on the screen Open" in answer.text
    page = browser.send("/open/reading", {"header_row": "3", "of": of(browser, "/?reading=yes")})
    assert page.url.path == "/table"
    assert "120 records" in re.sub("<[^>]+>|\\?", "", page.text).replace("  ", " ")


def test_a_title_alone_in_its_line_gives_one_column_and_a_hint(browser, home, messy):
    messy.write_text(messy.read_text().replace("Ward 7, quarterly report", "Ward 7"))
    browser.enter()
    hint = "Only one column was read."
    # Empty lines are missing values of one column, and everything else is text of it.
    page = browser.send("/open", {"path": "messy.csv"}).text
    assert hint in page
    page = browser.send("/open/reading", {"header_row": "3", "of": of(browser, "/?reading=yes")}).text
    assert hint not in page
    assert "names of columns in row 3" in page


@pytest.mark.drawn
def test_codes_and_spellings_to_a_release(browser, messy, home):
    open_messy(browser)
    assert "Among its numbers or dates: <strong><bdi>k.A.</bdi></strong>" in browser.look("/table?column=0").text
    page = browser.send("/table/replace", {"column": "0", "old": "k.A.", "of": of(browser, "/table")})
    assert "k.A.</bdi> → <em>missing</em>" in page.text
    assert "(12 cells)" in page.text
    assert "Among its numbers or dates" not in page.text
    page = browser.send(
        "/table/replace", {"column": "1", "old": "W, weiblich", "new": "w", "of": of(browser, "/table")}
    )
    assert browser.studio.plan.replaced == {"age": "k.A.:", "gender": "W,weiblich:w"}
    assert "--set reading.replace_values.age=k.A.:" in page.text
    browser.send("/table", {"do": "next"})
    assert "reading.replace_values" in browser.look("/table").text
    assert "What was asked for is met" in browser.send("/publish", {"folder": "made"}).text
    assert "weiblich" not in (home / "made/release.csv").read_text()
    assert json.loads((home / "made/certificate.json").read_text())["parameters"]["replaced"] == ["age", "gender"]
    assert browser.look("/attack").text.count("replace_values(people.lazy()") == 1
    page = browser.send("/table/replace", {"column": "0", "do": "undo", "of": of(browser, "/table")})
    assert browser.studio.plan.replaced == {"gender": "W,weiblich:w"}
    assert browser.look("/goal").url.path == "/goal", "a missing code changes no role"


def test_all_proposed_codes_become_missing_at_once(browser, messy):
    rows = [f"{line};{'n/a' if at % 9 == 1 else at % 50}" for at, line in enumerate(messy.read_text().splitlines()[2:])]
    messy.write_text(HEAD + "\n".join([rows[0].rpartition(";")[0] + ";income", *rows[1:]]) + "\n")
    page = open_messy(browser).text
    assert "Codes among numbers or dates may mean missing: k.A. of age, n/a of income." in re.sub("<[^>]+>", "", page)
    assert "values to replace:" not in page
    browser.send("/table/replace", {"do": "codes", "of": of(browser, "/table")})
    assert browser.studio.plan.replaced == {"age": "k.A.:", "income": "n/a:"}
    assert str(browser.studio.history.steps[-1][0]) == "Columns whose codes mean missing: 2"
    assert "All of them mean missing" not in browser.look("/table").text


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"column": "", "old": "a"}, "Choose a column"),
        ({"column": "1", "old": " "}, "Type the values to replace"),
        ({"column": "1", "old": "a", "new": "b, c"}, "Type one value"),
        ({"column": "1", "old": '"a', "new": ""}, "double quotes"),
        ({"column": "99", "old": "a"}, "Choose a column"),
    ],
)
def test_a_wrong_word_is_said_and_changes_nothing(browser, messy, form, said):
    open_messy(browser)
    before = browser.studio.plan
    answer = browser.send("/table/replace", {**form, "of": of(browser, "/table")})
    assert answer.status_code == 422
    assert said in re.search('id="refused".*', answer.text).group()
    assert browser.studio.plan == before


def test_spellings_of_one_value_are_noticed_and_a_code_changes_no_role(browser, messy):
    page = open_messy(browser).text
    assert "writes one value in several ways" in page
    browser.send("/table", {"role-0": "quasi_identifier", "role-1": "sensitive", "role-2": "quasi_identifier"})
    roles = dict(browser.studio.plan.roles)
    browser.send("/table/replace", {"do": "spellings"})
    assert browser.studio.plan.replaced["gender"] == "w,W:weiblich"
    assert "writes one value in several ways" not in browser.look("/table").text
    browser.send("/table/replace", {"column": "0", "old": "k.A.,23"})
    browser.send("/table/replace", {"column": "2", "old": "d1,d2,d3"})
    assert browser.studio.plan.roles == roles


def test_a_value_that_no_cell_has_is_told(browser, messy):
    open_messy(browser)
    page = browser.send("/table/replace", {"column": "1", "old": "weibl,W", "new": "w", "of": of(browser, "/table")})
    assert page.text.count("no cell has this value") == 1
    assert "(30 cells)" in page.text


def test_all_columns_at_once(browser, messy):
    open_messy(browser)
    browser.send("/table/replace", {"column": "*", "old": "k.A.,m", "new": "", "of": of(browser, "/table")})
    assert browser.studio.plan.replaced == {"*": "k.A.,m:"}
    assert "k.A.</bdi> → <em>missing</em>" in browser.look("/table?column=2").text


@pytest.mark.parametrize("form", [{"path": f"{'x' * 5000}.csv"}, {"path": f"sqlite:///{'x' * 5000}::t"}])
def test_a_path_that_is_too_long_is_refused(browser, form):
    browser.enter()
    assert browser.send("/open", form).status_code == 422
    assert browser.send("/review", {"source": form["path"]}).status_code == 422


@pytest.mark.drawn
def test_decisions_stay_when_values_are_replaced(browser, messy):
    open_messy(browser)
    browser.send("/table", {"answer": "persons", "of": of(browser, "/table")})
    browser.send("/table", {"do": "next", "role-1": "quasi_identifier", "role-2": "sensitive"})
    place = browser.studio.plan.coarsenable.index("gender")
    browser.send("/goal", {f"coarsen-{place}": "labels:40", "do": "preview"})
    assert browser.studio.plan.coarsen["gender"] == "labels:40"
    browser.send("/table/replace", {"column": "1", "old": "W", "new": "w", "of": of(browser, "/table")})
    assert browser.studio.plan.coarsen["gender"] == "labels:40"
    assert browser.studio.plan.roles["gender"] == "quasi_identifier"
    assert re.search('value="labels:40" selected', browser.look("/goal").text)


def test_numbers_of_single_records_get_steps_when_they_become_sensitive(browser, home):
    lines = [f"{row % 3},{1000 + row * 37 % 4001 + row / 4}" for row in range(120)]
    (home / "pay.csv").write_text("sex,savings\n" + "\n".join(lines) + "\n")
    browser.enter()
    browser.send("/open", {"path": "pay.csv"})
    browser.send("/table", {"do": "next", "role-0": "quasi_identifier", "role-1": "quasi_identifier"})
    browser.send("/table", {"do": "next", "role-1": "sensitive"})
    assert browser.studio.plan.roles["savings"] == "sensitive"
    assert browser.studio.plan.coarsen["savings"] == "bins:500"


def test_no_cell_of_a_table_without_a_line_of_names_is_shown(browser, home):
    rows = [
        "Zyzzyva Ann,1957-03-09,07431,Zyzzyvitis",
        *(f"Ann {at},1960-01-{at % 28 + 1:02},10{at:03},flu" for at in range(60)),
    ]
    (home / "bare.csv").write_text("\n".join(rows) + "\n")
    browser.enter()
    before = sorted(home.iterdir())
    for form in ({"path": "bare.csv"}, {"path": "bare.csv", "header_row": ""}):
        pages = [browser.send("/open", form), *map(browser.look, ("/table", "/?reading=yes"))]
        assert any("read as values of their columns" in page.text for page in pages)
        for page in pages:
            assert not any(cell in page.text for cell in rows[0].split(","))
    assert sorted(home.iterdir()) == before
