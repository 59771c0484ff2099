"""Wrong words: each form comes back as it was sent, says what is wrong beside its field, and nothing was changed."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
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
    ("/risk", {"fraction": "150"}, "fraction"),
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
    fields = read_back(browser.send(path, form), path, form)
    assert field is None or fields.refused == field
    assert browser.studio.decisions() == before
    screen = "/" if path == "/open" else "/" + path.split("/")[1]
    assert browser.look(screen).status_code == 200
    assert 'id="refused"' not in browser.look(screen).text, "it is said once"
    assert browser.look("/columns").status_code == 200


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
    fields = read_back(browser.send("/shape/use", form), "/shape/use", form)
    assert fields.refused == "words"
    assert browser.studio.decisions() == before
    for do in ("preview", "next", "compare"):
        answer = browser.send("/coarser", {f"coarsen-{column}": words, "do": do})
        assert answer.status_code == 422
        assert browser.studio.decisions() == before
    for screen in ("/coarser", f"/shape?column={column}", "/goal", "/compare", "/publish", "/history"):
        assert browser.look(screen).status_code == 200, screen
    assert browser.send("/shape/use", {"column": column, "words": "any"}).status_code == 200
    assert browser.studio.plan.coarsen[name] == "any"


@pytest.mark.drawn
@pytest.mark.parametrize(
    "form",
    [
        {"how": "intervals", "width": "wide"},
        {"how": "intervals", "width": "0"},
        {"how": "cuts", "cuts": "30, old"},
        {"how": "quantiles", "parts": "-1"},
    ],
)
def test_a_proposal_that_cannot_be_made_leaves_the_hierarchy_that_is_there(browser, form):
    browser.decided()
    browser.send("/shape", {"column": "0", "do": "propose", "how": "quantiles", "parts": "4"})
    before = browser.studio.decisions()
    form = {"column": "0", "do": "propose", **form}
    fields = read_back(browser.send("/shape", form), "/shape", form)
    assert fields.refused == next(one for one in ("width", "cuts", "parts") if one in form)
    assert browser.studio.decisions() == before
    assert "The levels" in browser.look("/shape?column=0").text


def test_a_group_without_a_name_keeps_what_was_chosen(browser):
    browser.decided()
    browser.send("/shape", {"column": "1", "do": "propose", "how": "by hand"})
    browser.send("/shape/show", {"column": "1", "show": "yes"})
    form = {"column": "1", "level": "1", "do": "join", "node-0": "on", "name": ""}
    fields = read_back(browser.send("/shape", form), "/shape", form)
    assert fields.refused == "name"
    assert not any("node-1" in one for one in fields.forms)


def test_a_hierarchy_from_a_file_that_misses_values_changes_nothing(browser):
    browser.decided()
    before = browser.studio.decisions()
    headers = {"origin": HERE}
    for content in (b"F;any;*\n", b"\x00\xff", b"F;a;*\nF;b;*\n"):
        answer = browser.client.post("/shape/file?column=1", content=content, headers=headers)
        answer = browser.look(answer.text) if answer.status_code == 200 else answer
        assert answer.status_code == 422
        assert browser.studio.decisions() == before
        assert browser.look("/shape?column=1").status_code == 200


def test_dates_in_a_form_that_they_do_not_have(browser, home):
    days = [f"{1 + row % 12:02}/{1 + row % 11:02}/1980" for row in range(60)]
    (home / "dates.csv").write_text("born,disease\n" + "\n".join(f"{day},x{row % 4}" for row, day in enumerate(days)))
    browser.enter()
    browser.send("/open", {"path": "dates.csv"})
    before = browser.studio.decisions()
    for wrong in ("%Y-%m-%d", "day.month", "%Q"):
        form = {"role-0": "insensitive", "role-1": "sensitive", "date-0": wrong, "do": "next"}
        read_back(browser.send("/columns", form), "/columns", form)
        assert browser.studio.decisions() == before
        assert browser.look("/columns").status_code == 200


def test_a_table_that_cannot_be_opened_leaves_the_one_that_is(browser, home, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    browser.enter()
    good = b"age,disease\n" + b"30,x\n31,y\n" * 20
    headers = {"origin": HERE}
    assert browser.client.post("/open/dropped?name=good.csv", content=good, headers=headers).text == "/columns"
    assert browser.look("/columns").status_code == 200
    before = browser.studio.decisions()
    browser.client.post("/open/dropped?name=bad.csv", content=b"", headers=headers)
    answer = browser.look("/columns")
    assert answer.status_code == 422
    assert "Which table do you want to publish?" in answer.text
    assert browser.studio.decisions() == before
    assert [path.name for path in tmp_path.glob("shoal-studio-*/*.csv")] == ["good.csv"]
    assert browser.look("/columns").status_code == 200
    assert browser.look("/history").text.count("bad.csv") == 0


def test_a_change_of_another_window_is_not_taken_back_by_an_error_elsewhere(browser, home):
    browser.decided()
    browser.send("/goal", {"k": "9", "l": "2"})
    (home / "patients.csv").write_text("")
    answer = browser.look("/risk")
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
    answer = browser.look("/columns")
    assert "Which sheet is the table?" in answer.text
    assert 'href="/" aria-current="step"' in answer.text
    assert "61 rows, 3 columns" in answer.text
    assert 'id="header_row"' in answer.text
    assert 'value="" placeholder="1"' in answer.text
    assert [name in answer.text for name in ("Cover", "Patients &lt;2025&gt;", "Notes")] == [True] * 3
    of = re.search('name="of" value="([^"]*)"', answer.text).group(1)
    for place in ("0", "2"):
        answer = browser.send("/sheet", {"of": of, "sheet": place})
        assert answer.status_code == 422
        assert "Which sheet is the table?" in answer.text
        assert SECRET not in answer.text
    answer = browser.send("/sheet", {"of": of, "sheet": "1"})
    assert answer.url.path == "/columns"
    assert "60 records" in re.sub(r"<[^>]+>|\s+", " ", answer.text).replace("  ", " ")
    assert 'href="/sheet"' in answer.text, "another one may be chosen"
    assert "--set 'reading.sheet=Patients <2025>'" in answer.text.replace("&lt;", "<").replace("&gt;", ">").replace(
        "&#39;", "'"
    )
    assert browser.send("/columns", {"do": "next"}).status_code == 200
    assert "What was asked for is met" in browser.send("/publish", {"folder": "made"}).text
    for wrong in ("7", "x", ""):
        assert browser.send("/sheet", {"of": of, "sheet": wrong}).status_code == 422
    assert browser.studio.plan.reading == {"sheet": "Patients <2025>"}


def test_the_row_of_the_names_is_guessed_below_a_title(browser, home):
    import xlsxwriter

    with xlsxwriter.Workbook(str(home / "titled.xlsx")) as book:
        book.add_worksheet("Cover").write_string(0, 0, "Hospital")
        for name in ("2024", "2025"):
            sheet = book.add_worksheet(name)
            sheet.write_string(0, 0, "Ward 7")
            for row, values in enumerate([("age", "disease"), *((20 + at % 9, f"d{at % 4}") for at in range(30))]):
                for place, value in enumerate(values):
                    sheet.write(row + 2, place, value)
    browser.enter()
    text = browser.send("/open", {"path": "titled.xlsx"}).text
    assert 'value="3" placeholder="1"' in text
    assert text.count("33 rows, 2 columns") == text.count("row 3 looks like the names") == 2
    with xlsxwriter.Workbook(str(home / "mixed.xlsx")) as book:
        for name, top in (("2024", 1), ("2025", 0)):
            sheet = book.add_worksheet(name)
            sheet.write_string(0, 0, "Ward 7")
            sheet.write_row(top, 0, ["age", "disease"])
            sheet.write_row(top + 1, 0, [30, "flu"])
    text = browser.send("/open", {"path": "mixed.xlsx"}).text
    assert 'value="" placeholder="1"' in text, "no row fits both"


def test_both_of_two_tables_of_a_workbook_open(browser, home):
    import xlsxwriter

    with xlsxwriter.Workbook(str(home / "two.xlsx")) as book:
        for name, rows in (("2024", 30), ("2025", 40)):
            sheet = book.add_worksheet(name)
            for row, values in enumerate([("age", "disease"), *((20 + at % 9, f"d{at % 4}") for at in range(rows))]):
                for place, value in enumerate(values):
                    sheet.write(row, place, value)
    browser.enter()
    of = re.search('name="of" value="([^"]*)"', browser.send("/open", {"path": "two.xlsx"}).text).group(1)
    for place, rows in (("0", "30"), ("1", "40"), ("0", "30")):
        text = browser.send("/sheet", {"of": of, "sheet": place}).text
        assert f"{rows} records" in re.sub(r"<[^>]+>|\s+", " ", text).replace("  ", " ")


def test_a_workbook_named_at_the_command_line_offers_its_sheets(browser, home):
    from shoal.studio.server import studio_of

    workbook(home / "book.xlsx")
    studio = studio_of(home=home, table=home / "book.xlsx", allowed=[], max_upload=1)
    browser.studio.history = studio.history
    browser.enter()
    assert 'href="/columns">Go on with it' in browser.look("/").text
    assert "Which sheet is the table?" in browser.look("/columns").text
    for screen in ("/risk", "/goal", "/coarser", "/publish"):
        assert "Which sheet is the table?" in browser.look(screen).text


def test_a_workbook_with_one_sheet_asks_nothing(browser, home):
    pl.DataFrame({"age": [30, 31] * 20, "disease": ["x", "y"] * 20}).write_excel(home / "one.xlsx")
    browser.enter()
    assert "Who could know what?" in browser.send("/open", {"path": "one.xlsx"}).text
    assert "How is the file read?" in browser.look("/sheet").text


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
def test_a_goal_that_no_release_can_meet_is_refused_on_its_screen(browser, home):
    lines = (home / "patients.csv").read_text().splitlines()
    same = [line.rpartition(",")[0] + ",typhus" for line in lines[1:81]]
    (home / "patients.csv").write_text("\n".join([lines[0], *same, *lines[81:]]) + "\n")
    browser.decided()
    told = browser.look("/goal").text
    assert "More than half of the records have one value of disease." in told
    assert "typhus" not in told
    before = dict(browser.studio.plan.privacy)
    answer = browser.send("/goal", {"k": "3", "l": "2"})
    assert answer.status_code == 422
    assert "For whom is it, and how safe must it be?" in answer.text
    assert "No release can satisfy" in answer.text
    assert "typhus" not in answer.text
    assert browser.studio.plan.privacy == before
    assert browser.send("/goal", {"k": "3", "l": "1"}).url.path == "/coarser"
    # The ways out that the screen names are ways out.
    assert browser.send("/goal", {"k": "3", "t": "0.2"}).url.path == "/coarser"
    assert browser.send("/goal", {"k": "3", "l": "2", "harmless": "typhus"}).url.path == "/coarser"
    assert "More than half" not in browser.look("/goal").text
    rows = (home / "patients.csv").read_text().splitlines()[1:]
    most = len(rows) // max(Counter(row.rpartition(",")[2] for row in rows if not row.endswith("typhus")).values())
    assert f"the variety (l) can be {most} at most" in browser.look("/goal").text


def test_a_person_with_too_many_records_is_noticed_on_the_goal(browser, home):
    rows = ["who,age,disease", *(f"p{row if row < 20 else 0},{20 + row % 7},d{row % 5}" for row in range(60))]
    (home / "patients.csv").write_text("\n".join(rows) + "\n")
    browser.sure = False
    browser.enter()
    browser.send("/open", {"path": "patients.csv"})
    browser.send("/persons", {"answer": "counted", "column": "0"})
    roles = {"role-1": "quasi_identifier", "role-2": "sensitive"}
    browser.send("/columns", {**roles, "do": "next"})
    answer = browser.send("/goal", {"k": "5"})
    assert answer.status_code == 422
    assert "No release can satisfy" in answer.text
    browser.send("/persons", {"answer": "one", "column": "0"})
    assert browser.send("/goal", {"k": "5"}).url.path == "/coarser"
