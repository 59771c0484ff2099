"""Wrong words: each form comes back as it was sent, says what is wrong beside its field, and nothing was changed."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import shoal.studio
from shoal.studio.rejected_forms import SubmittedForm, refused_page

from .conftest import HERE, SECRET

TEMPLATES = Path(shoal.studio.__file__).parent / "templates"


class Fields(HTMLParser):
    """The fields of the form that has the message, or is behind it, as a browser would send them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[dict[str, str]] = []
        self.refused: str | None = None
        """The last field before the message."""
        self._last, self._list = "", ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        one = dict(attrs)
        if one.get("id") == "refused":
            self.refused = self._last
        if tag == "form":
            self.forms.append({"action": one.get("action", "")})
        if tag in ("input", "select") and self.forms and one.get("name"):
            self._last = one["name"]
            self._list = one["name"] if tag == "select" else ""
            if tag == "input" and (one.get("type") not in ("checkbox", "radio") or "checked" in one):
                self.forms[-1][one["name"]] = one.get("value", "on")
        if tag == "option" and self._list and ("selected" in one or self._list not in self.forms[-1]):
            self.forms[-1][self._list] = one.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._list = ""


def read_back(answer: Any, path: str, form: dict[str, str]) -> Fields:
    """Check that an answer has the form with everything that was sent, and says that it was refused."""
    assert answer.status_code == 422
    assert 'id="refused"' in answer.text
    assert "Nothing was changed" not in answer.text
    assert "Internal error" not in answer.text
    fields = Fields(answer.text)
    typed = {name: value for name, value in form.items() if name not in ("do", "of")}
    assert any(one["action"] == path and typed.items() <= one.items() for one in fields.forms), (typed, fields.forms)
    return fields


WRONG = [
    ("/table/share", {"fraction": "150"}, "fraction"),
    ("/goal", {"k": "ten", "l": "3", "t": "", "recoding": "suppression"}, "k"),
    ("/goal", {"k": "7", "l": "many", "t": "", "recoding": "suppression"}, "l"),
    ("/goal", {"k": "7", "l": "3", "t": "9", "recoding": "suppression"}, "t"),
    ("/goal", {"k": "", "l": "", "t": "", "recoding": "suppression"}, "k"),
    ("/compare", {"k": "5, x", "l": "2"}, "k"),
    ("/compare", {"k": "5, 10", "l": "two"}, "l"),
    ("/compare", {"k": "0", "l": "2"}, None),
    ("/publish", {"folder": "../elsewhere"}, "folder"),
    ("/series/start", {"name": "s", "m": "1", "ledger": "a.db", "identifier": "0"}, "m"),
    ("/series/start", {"name": "s", "m": "2", "ledger": "no ending", "identifier": "0"}, "ledger"),
    ("/open", {"path": "../outside.csv", "sheet": "", "delimiter": ";", "encoding": "latin-1", "decimal": ","}, None),
    ("/open", {"path": "patients.csv", "sheet": "", "delimiter": "many", "encoding": "", "decimal": ""}, "delimiter"),
    ("/open", {"path": "patients.csv", "sheet": "one", "delimiter": "", "encoding": "", "decimal": ""}, None),
    ("/open", {"path": "patients.csv", "sheet": "", "delimiter": "", "encoding": "none-such", "decimal": ""}, None),
    ("/attack", {"identifier": "0", "others": "others.csv", "learn": "on"}, None),
]


@pytest.mark.drawn
@pytest.mark.parametrize(("path", "form", "field"), WRONG)
def test_a_wrong_word_is_said_beside_its_field_and_nothing_else_is_lost(browser, home, path, form, field):
    (home / "others.csv").write_text("something\n1\n2\n")
    browser.decided()
    before = browser.studio.decisions()
    if path == "/table/share":  # its form is there once the risk has been measured
        browser.look("/table?measured=yes")
    fields = read_back(browser.send(path, form), path, form)
    assert field is None or fields.refused == field
    assert browser.studio.decisions() == before
    screen = "/" if path == "/open" else "/" + path.split("/")[1]
    assert browser.look(screen).status_code == 200
    assert 'id="refused"' not in browser.look(screen).text, "it is said once"
    assert browser.look("/table").status_code == 200


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gender", "bins:10"),
        ("gender", "date:year"),
        ("gender", "foo:3"),
        ("age", "bins:x"),
        ("age", "bins:-3"),
        ("age", "cuts:a,b"),
        ("age", "level:tree.csv:1"),
        ("age", "prefix:"),
        ("age", "::"),
    ],
)
def test_a_wrong_word_for_a_coarsening_changes_nothing(browser, home, name, words):
    (home / "tree.csv").write_text("F;x;*\nM;x;*\n")
    browser.decided()
    column = str(browser.studio.plan.names_of("quasi_identifier").index(name))
    before = browser.studio.decisions()
    form = {"column": column, "words": words}
    fields = read_back(browser.send("/goal/shape/use", form), "/goal/shape/use", form)
    assert fields.refused == "words"
    assert browser.studio.decisions() == before
    for do in ("preview", "next", "compare"):
        answer = browser.send("/goal", {f"coarsen-{column}": words, "do": do})
        assert answer.status_code == 422
        assert browser.studio.decisions() == before
    for screen in ("/goal", f"/goal?column={column}", "/goal", "/compare", "/publish"):
        assert browser.look(screen).status_code == 200, screen
    assert browser.send("/goal/shape/use", {"column": column, "words": "any"}).status_code == 200
    assert browser.studio.plan.coarsen[name] == "any"


@pytest.mark.drawn
@pytest.mark.parametrize(
    "form",
    [
        {"how": "bins", "width": "wide"},
        {"how": "bins", "width": "0"},
        {"how": "cuts", "cuts": "30, old"},
        {"how": "quantiles", "quantiles": "-1"},
    ],
)
def test_a_proposal_that_cannot_be_made_leaves_the_hierarchy_that_is_there(browser, form):
    browser.decided()
    browser.send("/goal/shape", {"column": "0", "do": "propose", "how": "prefixes"})
    before = browser.studio.decisions()
    form = {"column": "0", "do": "propose", **form}
    fields = read_back(browser.send("/goal/shape/use", form), "/goal/shape/use", form)
    assert fields.refused == next(one for one in ("width", "cuts", "quantiles") if one in form)
    assert browser.studio.decisions() == before
    assert "The levels" in browser.look("/goal?column=0").text


def test_a_group_without_a_name_keeps_what_was_chosen(browser):
    browser.decided()
    browser.send("/goal/shape", {"column": "1", "do": "propose", "how": "by hand"})
    form = {"column": "1", "level": "1", "do": "join", "node-0": "on", "name": ""}
    fields = read_back(browser.send("/goal/shape", form), "/goal/shape", form)
    assert fields.refused == "name"
    assert not any("node-1" in one for one in fields.forms)


def test_a_hierarchy_from_a_file_that_misses_values_changes_nothing(browser):
    browser.decided()
    before = browser.studio.decisions()
    headers = {"origin": HERE}
    for content in (b"F;any;*\n", b"\x00\xff", b"F;a;*\nF;b;*\n"):
        answer = browser.client.post("/goal/shape/file?column=1", content=content, headers=headers)
        answer = browser.look(answer.text) if answer.status_code == 200 else answer
        assert answer.status_code == 422
        assert browser.studio.decisions() == before
        assert browser.look("/goal?column=1").status_code == 200


def test_dates_in_a_form_that_they_do_not_have(browser, home):
    days = [f"{1 + row % 12:02}/{1 + row % 11:02}/1980" for row in range(60)]
    (home / "dates.csv").write_text("born,disease\n" + "\n".join(f"{day},x{row % 4}" for row, day in enumerate(days)))
    browser.enter()
    browser.send("/open", {"path": "dates.csv"})
    before = browser.studio.decisions()
    for wrong in ("%Y-%m-%d", "day.month", "%Q"):
        form = {"column": "0", "date": wrong}
        read_back(browser.send("/table/column", form), "/table/column", form)
        assert browser.studio.decisions() == before
        assert browser.look("/table").status_code == 200


def test_a_table_that_cannot_be_opened_leaves_the_one_that_is(browser, home, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    browser.enter()
    good = b"age,disease\n" + b"30,x\n31,y\n" * 20
    headers = {"origin": HERE}
    assert browser.client.post("/open/dropped?name=good.csv", content=good, headers=headers).text == "/table"
    assert browser.look("/table").status_code == 200
    before = browser.studio.decisions()
    browser.client.post("/open/dropped?name=bad.csv", content=b"", headers=headers)
    answer = browser.look("/table")
    assert answer.status_code == 422
    assert "Which table do you want to publish?" in answer.text
    assert browser.studio.decisions() == before
    assert [path.name for path in tmp_path.glob("shoal-studio-*/*.csv")] == ["good.csv"]
    assert browser.look("/table").status_code == 200
    assert browser.look("/table").text.count("bad.csv") == 0


def test_a_change_of_another_window_is_not_taken_back_by_an_error_elsewhere(browser, home):
    browser.decided()
    browser.send("/goal", {"k": "9", "l": "2"})
    (home / "patients.csv").write_text("")
    answer = browser.look("/table")
    assert answer.status_code == 422
    assert browser.studio.plan.privacy["k"] == "9"
    assert "Take it back" in answer.text


def test_a_release_that_was_not_made_keeps_the_name_of_its_folder(browser):
    browser.decided()
    browser.studio.history.change("A goal for another table", privacy={"k": "121"})
    answer = browser.send("/publish", {"folder": "made"})
    assert "The release was not made" in answer.text
    assert 'name="folder" value="made"' in answer.text


def test_a_series_that_cannot_be_started_keeps_its_form(browser, home):
    browser.decided()
    form = {"name": "s", "m": "2", "ledger": "a.db", "identifier": "0", "place": "beside"}
    assert browser.send("/series/start", form).status_code == 200
    text = browser.send("/series/start", {**form, "m": "3"}).text
    assert "That did not work" in text
    assert any({**form, "m": "3"}.items() <= one.items() for one in Fields(text).forms)


def workbook(path: Path) -> None:
    """A workbook with a cover sheet, a table, and a sheet with nothing in it."""
    import xlsxwriter

    with xlsxwriter.Workbook(str(path)) as book:
        book.add_worksheet("Cover").write_string(2, 3, f"{SECRET} Hospital")
        sheet = book.add_worksheet("Patients <2025>")
        for row, values in enumerate(
            [("age", "zip", "disease"), *((20 + at % 30, 10001 + at % 3, f"d{at % 4}") for at in range(60))]
        ):
            for place, value in enumerate(values):
                sheet.write(row, place, value)
        book.add_worksheet("Notes")


def test_a_dropped_workbook_offers_its_sheets_and_each_opens(browser, home):
    workbook(home / "book.xlsx")
    browser.enter()
    content, headers = (home / "book.xlsx").read_bytes(), {"origin": HERE}
    assert browser.client.post("/open/dropped?name=book.xlsx", content=content, headers=headers).status_code == 200
    answer = browser.look("/table")
    # The sheet with the most cells is read, and another one may be chosen.
    assert browser.studio.plan.reading == {"sheet": "Patients <2025>"}
    assert "60 records" in re.sub(r"<[^>]+>|\s+", " ", answer.text).replace("  ", " ")
    assert SECRET not in answer.text
    assert "--set 'reading.sheet=Patients <2025>'" in html.unescape(answer.text)
    answer = browser.look("/?reading=yes")
    assert "61 rows, 3 columns" in answer.text
    assert [name in answer.text for name in ("Cover", "Patients &lt;2025&gt;", "Notes")] == [True] * 3
    of = re.search('name="of" value="([^"]*)"', answer.text).group(1)
    for place in ("0", "2"):
        answer = browser.send("/open/reading", {"of": of, "sheet": place})
        assert answer.status_code == 422
        assert "</bdi> read?</h2>" in answer.text
        assert SECRET not in answer.text
    assert browser.send("/open/reading", {"of": of, "sheet": "1"}).url.path == "/table"
    assert browser.send("/table", {"do": "next"}).status_code == 200
    assert "What was asked for is met" in browser.send("/publish", {"folder": "made"}).text
    for wrong in ("7", "x", ""):
        assert browser.send("/open/reading", {"of": of, "sheet": wrong}).status_code == 422
    assert browser.studio.plan.reading == {"sheet": "Patients <2025>"}


def test_a_german_workbook_with_a_cover_and_a_title_needs_no_answer(browser, home):
    import xlsxwriter

    with xlsxwriter.Workbook(str(home / "besuche.xlsx")) as book:
        book.add_worksheet("Deckblatt").write_string(0, 0, "Klinik")
        sheet = book.add_worksheet("Besuche")
        sheet.write_string(0, 0, "Station 7")
        rows = [("Patienten-Nr", "Alter", "Geschlecht", "Kosten", "Diagnose")]
        rows += [
            (f"P{at // 3:03}", 20 + at // 3, "wm"[at // 3 % 2], f"{at * 7 % 90},5", f"d{at % 5}") for at in range(300)
        ]
        for row, values in enumerate(rows):
            sheet.write_row(row + 2, 0, values)
    browser.enter()
    answer = browser.send("/open", {"path": "besuche.xlsx"})
    assert browser.studio.plan.reading == {"sheet": "Besuche", "header_row": "3"}
    assert "decimals behind a comma" in answer.text
    assert "300 records of 100 persons, by Patienten-Nr" in answer.text
    browser.send("/table", {"do": "next"})
    assert browser.studio.plan.person == "Patienten-Nr"
    assert "What was asked for is met" in browser.send("/publish", {"folder": "made"}).text


def test_what_was_typed_is_data_wherever_it_is_shown():
    page = '<main><form method="post" action="/a"><input name="x" value="1"></form></main>'
    text = refused_page(page, SubmittedForm(path="/a", form={"x": '"><script>'}), "<b>\u202e")
    assert "<script>" not in text
    assert "<b>" not in text
    assert "\u202e" not in text


def test_a_form_is_found_by_its_hidden_fields_and_an_old_one_gets_nothing():
    page = (
        '<main>before<form method="post" action="/a"><input type="hidden" name="of" value="1"><input name="x"></form>'
        '<details><form method="post" action="/a"><input type="hidden" name="of" value="2"><input name="x"></form>'
        "</details></main>"
    )
    first, second = refused_page(page, SubmittedForm(path="/a", form={"of": "2", "x": "typed"}), "wrong").split(
        "<details"
    )
    assert "typed" not in first
    assert second.startswith(' open="">')
    assert 'value="typed"' in second
    assert second.index("typed") < second.index("wrong")
    old = refused_page(page, SubmittedForm(path="/a", form={"of": "3", "x": "typed"}), "wrong")
    assert "typed" not in old
    assert old.index("wrong") < old.index("before")


@pytest.mark.drawn
def test_a_goal_that_no_release_can_meet_is_mended_on_its_screen(browser, home):
    lines = (home / "patients.csv").read_text().splitlines()
    same = [line.rpartition(",")[0] + ",typhus" for line in lines[1:81]]
    (home / "patients.csv").write_text("\n".join([lines[0], *same, *lines[81:]]) + "\n")
    browser.decided()
    told = browser.look("/goal").text
    assert "Not possible" in told, "l = 2 is proposed"
    assert "typhus" not in told
    # The button mends it, and so do the other ways out.
    mended = browser.send("/goal/mend", {"": ""})
    assert "Not possible" not in mended.text
    assert browser.studio.plan.privacy == {"k": "5", "t": "0.2"}
    assert browser.send("/goal/mend", {"": ""}).status_code == 422, "there is nothing left to mend"
    for form in ({"k": "3", "l": "1"}, {"k": "3", "l": "2", "harmless": "typhus"}):
        assert "Not possible" not in browser.send("/goal", {**form, "do": "stay"}).text
    assert "What was asked for is met" in browser.send("/publish", {"folder": "made"}).text


def test_a_person_with_too_many_records_is_noticed_on_the_goal(browser, home):
    rows = ["who,age,disease", *(f"p{row if row < 20 else 0},{20 + row % 7},d{row % 5}" for row in range(60))]
    (home / "patients.csv").write_text("\n".join(rows) + "\n")
    browser.enter()
    browser.send("/open", {"path": "patients.csv"})
    browser.send("/table", {"answer": "counted", "column": "0"})
    roles = {"role-1": "quasi_identifier", "role-2": "sensitive"}
    browser.send("/table", {**roles, "do": "next"})
    answer = browser.send("/goal", {"k": "5", "do": "stay"})
    assert "Not possible" in answer.text
    assert "No release can satisfy" in answer.text
    browser.send("/table", {"answer": "one", "column": "0"})
    assert "Not possible" not in browser.send("/goal", {"k": "5", "do": "stay"}).text
