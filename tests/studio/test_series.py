"""Series in the studio: started, published, published again, checked, taken back."""

from __future__ import annotations

import html
import json
import re

import pytest

from shoal import Ledger

pytestmark = pytest.mark.drawn

LEDGER = "releases.db"
START = {"ledger": LEDGER, "name": "admissions", "identifier": "0", "m": "2", "place": "beside"}
PUBLISH = {"series": "admissions", "do": "publish"}


@pytest.fixture
def started(browser):
    browser.decided()
    page = browser.send("/series/start", START)
    assert "The series &#39;admissions&#39; is started." in page.text
    return browser


@pytest.mark.drawn
def test_a_series_is_started_published_checked_and_taken_back(started, home):
    assert (home / LEDGER).is_file()
    assert "Nothing was published yet" in started.look("/series").text
    page = started.send("/series", {"series": "admissions", "do": "publish", "folder": "q1"}).text
    assert "Release 1 of &#39;admissions&#39; is written." in page
    assert (home / "q1/certificate.json").is_file()
    rows = (home / "patients.csv").read_text().splitlines()
    (home / "q2.csv").write_text("\n".join([*rows[:101], *(row.replace("Zyzzyva", "New", 1) for row in rows[101:])]))
    started.send("/open", {"path": "q2.csv"})
    # The new people look like those who left: a warning, and a way on.
    page = started.send("/series", {**PUBLISH, "folder": "q2"}).text
    assert "20 of 20 new people have the quasi-identifiers of someone who is known" in page
    assert not (home / "q2").exists()
    assert page.count("Nothing was published") == 1
    assert "<h2>Publish in spite of this?</h2>" in page
    assert "tick “publish in spite of warnings”" in page
    assert "take back" not in page.lower().partition("publish in spite of this?")[2].partition("</section>")[0]
    assert 'name="folder" value="q2"' in page, "what was typed is there"
    page = started.send("/series", {**PUBLISH, "folder": "q2", "anyway": "on"}).text
    assert "20 new, 20 gone" in page
    assert "may leave this machine" not in page, "that is decided after the warning"
    assert page.index("20 of 20 new people") < page.index("Release 2 of &#39;admissions&#39; is written.")
    assert "✓ Release 2" not in page
    page = started.send("/series", {"series": "admissions", "do": "verify"}).text
    assert "Nothing is wrong: 2 of 2 releases were looked at again." in page
    with Ledger(home / LEDGER) as ledger:
        assert [one.state for one in ledger.series("admissions").history()] == ["published", "published"]
        assert [one.parameters["min_real"] for one in ledger.series("admissions").history()] == [2, 2]
    refused = started.send("/series", {"series": "admissions", "do": "rollback"})
    assert refused.status_code == 422
    page = started.send("/series", {"series": "admissions", "do": "rollback", "unpublished": "yes"}).text
    assert "Release 2 of &#39;admissions&#39; was taken back" in page
    assert f"{home / 'q2'} and {home / 'q2.private'}" in page
    assert 'href="/earlier/q1/table"' in page
    assert 'href="/earlier/q2/' not in page, "a withdrawn release is not shown as a good one"
    assert "taken back</span>" in page
    assert "Take the last release back" not in page, "it was taken back"
    with Ledger(home / LEDGER) as ledger:
        assert [one.state for one in ledger.series("admissions").history()] == ["published", "withdrawn"]
    (home / "q1/certificate.json").write_text("{}")
    page = started.send("/series", {"series": "admissions", "do": "verify"}).text
    assert "Nothing is wrong" not in page
    assert 'role="alert"' in page


def test_a_ledger_of_the_folder_is_opened_again(started):
    started.studio.ledger, started.studio.ordered = "", None
    assert "admissions" not in re.sub(r"<details.*", "", started.look("/series").text, flags=re.S)
    assert "admissions" in started.send("/series/open", {"ledger": LEDGER}).text
    assert started.send("/series/open", {"ledger": "other.db"}).status_code == 422


def test_what_cannot_be_is_said_and_nothing_is_written(started, home):
    again = started.send("/series/start", START).text
    assert "is in the ledger already" in again
    assert "Nothing was changed." in again
    for wrong in ({"m": "1"}, {"m": "many"}, {"identifier": "5"}):
        assert started.send("/series/start", {**START, "name": "other", **wrong}).status_code == 422
    assert started.send("/series", {"series": "no such", "do": "publish", "folder": "q1"}).status_code == 200
    assert not (home / "q1").exists()
    for folder in ("../q1", "", "a/b", ".q"):
        answer = started.send("/series", {"series": "admissions", "do": "publish", "folder": folder})
        assert answer.status_code == 422


def test_a_file_that_is_no_ledger_is_refused_in_a_sentence(browser, home):
    (home / "broken.db").write_bytes(b"SQLite format 3\x00" + b"x" * 5000)
    (home / "other.db").write_text("no database")
    browser.enter()
    page = browser.look("/series").text
    assert "broken.db" in page
    assert "other.db" not in page
    page = browser.send("/series/open", {"ledger": "broken.db"}).text
    assert 'role="alert"' in page
    assert "Internal error" not in page


def test_a_series_needs_a_table_with_its_columns(browser):
    browser.enter()
    assert "Open a table" in browser.look("/series").text
    assert browser.send("/series/start", START).status_code == 422
    assert browser.send("/series", {"series": "x", "do": "verify"}).status_code == 422


def test_four_quarters_with_a_correction_a_deletion_and_a_wrong_file(browser, home, tmp_path):
    """A registry: the key in another place, the same file twice, two people erased, and a file taken back."""
    rows = (home / "patients.csv").read_text().splitlines()
    browser.decided()
    refused = browser.send("/series/start", {**START, "place": ""})
    assert (refused.status_code, "Choose where the key of the new ledger is kept" in refused.text) == (422, True)
    for key in ("", "vault.txt", "no such folder/k.key"):
        assert browser.send("/series/start", {**START, "place": "elsewhere", "key": key}).status_code == 422
    assert not (home / LEDGER).exists()
    vault = tmp_path / "vault"
    vault.mkdir(mode=0o700)
    page = browser.send("/series/start", {**START, "place": "elsewhere", "key": str(vault / "r.key")}).text
    assert "is started" in page
    assert not list(home.glob("*.key"))
    assert str(vault / "r.key") in page, "the equivalents have it"
    assert 'value="admissions-1"' in page

    def table(name, lines):
        (home / name).write_text("\n".join([rows[0], *lines]) + "\n")
        browser.send("/open", {"path": name})

    # The first quarter, and by mistake once more.
    browser.send("/series", {**PUBLISH, "folder": "admissions-1"})
    page = browser.send("/series", {**PUBLISH, "folder": "admissions-2"}).text
    assert "is it the same file?" in page
    assert "publish the right one." in page, "there is no release to take back"
    assert not (home / "admissions-2").exists()
    # The second quarter has a corrected value: whose it is, is for the publisher alone.
    person, other = rows[1].split(",")[0], rows[2].split(",")[0]
    corrected = f"{rows[1].rpartition(',')[0]},{rows[3].rpartition(',')[2]}"
    assert corrected != rows[1]
    table("q2.csv", [corrected, *rows[2:111]])
    page = browser.send("/series", {**PUBLISH, "folder": "admissions-2"}).text
    assert "1 of 110 people who were published before has another sensitive value now" in page
    assert "“Erase people” on the screen Series" in page
    assert re.search(rf"<summary>Show the ids \(1, for you alone\).*<bdi>{person}</bdi>", page)
    erase = {"series": "admissions", "do": "erase", "ids": f"{person}\r\n", "sure": "yes"}
    assert browser.send("/series", {**erase, "sure": ""}).status_code == 422
    page = browser.send("/series", {**erase, "ids": "unknown\n"}).text
    assert "does not know 1 of 1 people" in page
    assert ">unknown\n</textarea>" in page, "what was typed is there"
    assert "in all: 1;" in browser.send("/series", erase).text
    table("q2b.csv", rows[2:111])
    browser.send("/series", {**PUBLISH, "folder": "admissions-2"})
    check_the_last_quarters(browser, home, table, vault / "r.key", other)


def assert_key_is_asked(browser, home, key):
    """A studio that is started again asks for the key; a wrong one is an error at its field, and changes nothing."""
    browser.studio.ledger_keys, browser.studio.ledger, browser.studio.ordered = {}, "", None
    page = browser.look("/series").text
    assert "needs its key, which does not lie beside it" in page
    other = home / "other.key"
    other.write_text("0" * 64 + "\n")
    other.chmod(0o600)
    for given, problem in (
        ("", "Name a file that ends in .key"),
        (str(key.with_name("none.key")), "There is no such file."),
        ("other.key", "This is not the key of the ledger"),
        ("~nosuchperson/x.key", "Name a file that ends in .key"),
        (f"{'x' * 5000}.key", "Name a file that ends in .key"),
        (f"/{'a/' * 3000}x.key", "Name a file that ends in .key"),
    ):
        page = browser.send("/series/open", {"ledger": LEDGER, "key": given})
        field = re.search(
            r"<label>File of its key (<input [^>]*>)(<span class=\"wrong.*?</span>)", page.text, re.DOTALL
        )
        assert (page.status_code, problem in field[2], f'value="{given}"' in field[1]) == (422, True, True)
        assert (browser.studio.ledger, browser.studio.ledger_keys) == ("", {}), "nothing is changed"
    page = browser.send("/series/open", {"ledger": LEDGER, "key": str(key)}).text
    assert "admissions-5" in page
    assert "needs its key" not in page


def test_where_ledger_key_and_anchor_lie_is_shown(started, home):
    places = re.search(r'<section aria-labelledby="places">.*?</section>', started.look("/series").text, re.DOTALL)
    for name in (LEDGER, f"{LEDGER}.key", f"{LEDGER}.anchor"):
        assert (home / name).is_file()
        assert f"<bdi>{home / name}</bdi>" in places[0]
    assert "Never keep the ledger and its key in one place" in places[0]
    assert "Keep the key, and the anchor with it, in another place" in started.look("/series").text


@pytest.mark.drawn
def test_answers_and_refusals_name_fields_of_the_screen(started, home):
    started.send("/series", {**PUBLISH, "folder": "admissions-1"})
    shown = html.unescape(started.look("/series").text)
    assert "Release 1 of 'admissions' is written." in shown
    assert f"The key '{home / LEDGER}.key' lies in the folder of the ledger" in shown
    assert "“File of its key” on the screen Series" in shown
    # A warning that is asked about, two refusals, and the way on.
    assert "is it the same file?" in started.send("/series", {**PUBLISH, "folder": "admissions-2"}).text
    rows = (home / "patients.csv").read_text().splitlines()
    rows[1] = f"{rows[1].rpartition(',')[0]},{rows[3].rpartition(',')[2]}"
    (home / "q2.csv").write_text("\n".join(rows) + "\n")
    started.send("/open", {"path": "q2.csv"})
    changed = started.send("/series", {**PUBLISH, "folder": "admissions-2"}).text
    assert "1 of 120 people who were published before has another sensitive value now." in changed
    assert "“Erase people” on the screen Series" in changed
    assert "Show the ids (1, for you alone)" in changed
    erase = {"series": "admissions", "do": "erase", "sure": "yes"}
    assert "The series does not know 1 of 1 people." in started.send("/series", {**erase, "ids": "unknown"}).text
    gone = html.unescape(started.send("/series", {**erase, "ids": rows[1].split(",")[0]}).text)
    assert "People erased from 'admissions' in all: 1;" in gone
    (home / "admissions-1/certificate.json").write_text("{}")
    wrong = started.send("/series", {"series": "admissions", "do": "verify"}).text
    assert "of release 1 was changed after it was published." in wrong


@pytest.mark.drawn
@pytest.mark.parametrize("path", ["/", "/table"])
def test_other_screens_lead_back_to_an_open_ledger(started, path):
    back = '<a href="/series">Back to the series</a>'
    assert back in started.look(path).text
    assert back not in started.look("/series").text
    started.studio.ledger = ""
    assert back not in started.look(path).text


def check_the_last_quarters(browser, home, table, key, other):
    """The third and fourth quarter: a deletion, and a wrong file."""
    rows = (home / "patients.csv").read_text().splitlines()
    erase = {"series": "admissions", "do": "erase", "ids": other, "sure": "yes"}
    # The third quarter: somebody wants to be deleted, and the file still has them.
    assert "in all: 2;" in browser.send("/series", erase).text
    table("q3.csv", rows[2:116])
    page = browser.send("/series", {**PUBLISH, "folder": "admissions-3"}).text
    assert "1 of 114 people was erased from the series" in page
    assert f"<bdi>{other}</bdi>" in page
    table("q3b.csv", rows[3:116])
    page = browser.send("/series", {**PUBLISH, "folder": "admissions-3"}).text
    assert "Release 3 of" in page
    # The fourth quarter: a wrong file, taken back.
    table("wrong.csv", rows[3:60])
    assert "Release 4 of" in browser.send("/series", {**PUBLISH, "folder": "admissions-4"}).text
    page = browser.send("/series", {"series": "admissions", "do": "rollback", "unpublished": "yes"}).text
    assert 'value="admissions-5"' in page, "folders have the numbers of their releases"
    table("q4.csv", rows[3:])
    page = browser.send("/series", {**PUBLISH, "folder": "admissions-5"}).text
    assert "Release 5 of" in page
    # The table and the reports of each release are one click away.
    for number in (1, 2, 3, 5):
        for side in ("table", "public", "private"):
            assert f'href="/earlier/admissions-{number}/{side}"' in page
            answer = browser.client.get(f"/earlier/admissions-{number}/{side}")
            assert answer.status_code == 200
            assert ("attachment" in answer.headers.get("content-disposition", "")) == (side == "table")
    assert browser.client.get("/earlier/admissions-5/salt").status_code == 404
    page = browser.send("/series", {"series": "admissions", "do": "verify"}).text
    assert "Nothing is wrong: 4 of 4 releases were looked at again." in page
    assert_key_is_asked(browser, home, key)
    with Ledger(home / LEDGER, key=key) as ledger:
        history = ledger.series("admissions").history()
    assert [(one.number, one.state, one.counts["erased"]) for one in history] == [
        (1, "published", 0),
        (2, "published", 1),
        (3, "published", 2),
        (4, "withdrawn", 2),
        (5, "published", 2),
    ]
    assert {one.parameters["min_real"] for one in history} == {2}


@pytest.mark.drawn
def test_what_belongs_to_another_table_goes_and_the_next_one_comes_first(started, home):
    """A refusal names fields of this screen, stays with its table, and a published table is not offered again."""
    rows = (home / "patients.csv").read_text().splitlines()
    (home / "missing.csv").write_text("\n".join([*rows[:5], rows[5].rpartition(",")[0] + ",", *rows[6:]]) + "\n")
    started.send("/open", {"path": "missing.csv"})
    page = started.send("/series", {**PUBLISH, "folder": "admissions-1"}).text
    assert "1 row has no sensitive value" in page
    assert "“leave out people without a sensitive value” on the screen Series" in page
    assert "” on the screen For whom" not in page
    started.send("/open", {"path": "patients.csv"})
    assert "1 row has no sensitive value" not in started.look("/series").text
    page = started.send("/series", {**PUBLISH, "folder": "admissions-1"}).text
    assert "</bdi> was published as release 1.</strong>" in page
    assert page.index("Open the next table") < page.index("Publish the same table again")
    assert "The last one is release 1, in the folder <strong><bdi>admissions-1</bdi>" in page
    # An unknown id: nothing was to be published.
    page = started.send("/series", {"series": "admissions", "do": "erase", "ids": "unknown", "sure": "yes"}).text
    assert "Nothing was changed." in page
    assert "Nothing was published." not in page
    (home / "other.csv").write_text("\n".join(row.rpartition(",")[0] for row in rows) + "\n")
    started.send("/open", {"path": "other.csv"})
    page = started.look("/series").text
    assert "Release 1 of" not in page
    assert "Open the next table" not in page
    assert "There is no column &#39;" in started.send("/series", {**PUBLISH, "folder": "admissions-2"}).text
    # Taken back: the form is gone, with the reason.
    started.send("/open", {"path": "patients.csv"})
    page = started.send("/series", {"series": "admissions", "do": "rollback", "unpublished": "yes"}).text
    assert "Release 1 was taken back. Only the last release can be" in page
    assert "Open the next table" not in page


def test_columns_lead_back_to_a_series_that_is_to_be_started(browser):
    browser.enter()
    browser.send("/open", {"path": "patients.csv"})
    back = 'value="series"'
    assert back not in browser.look("/table").text
    assert "Say what the columns are" in browser.look("/series").text
    assert back in browser.look("/table").text
    browser.send("/open", {"path": "patients.csv"})
    assert back not in browser.look("/table").text


def test_a_series_offers_no_spec_file(started):
    page = started.look("/series").text
    assert "release.toml" not in page
    assert "shoal series publish" in page
    assert "create=True" not in page


def press(browser, page, button="Publish the next release", **boxes):
    """Press a button of the form of the next release: what is sent is what the page shows, and the boxes changed."""
    form = next(one for one in re.findall(r"<form .*?</form>", page, re.DOTALL) if 'value="publish"' in one)
    fields = {}
    for field in re.findall(r"<input [^>]*>", form):
        name, value = (re.search(rf' {key}="([^"]*)"', field) for key in ("name", "value"))
        if 'type="checkbox"' not in field or " checked" in field:
            fields[name[1]] = html.unescape(value[1]) if value else "on"
    fields |= {name: "on" for name, ticked in boxes.items() if ticked}
    fields = {name: value for name, value in fields.items() if boxes.get(name, True)}
    pressed = re.search(rf"<button([^>]*)>{button}</button>", page)[1]
    if named := re.search(r'form="([^"]*)" name="([^"]*)" value="([^"]*)"', pressed):
        assert f'id="{named[1]}"' in form
        fields[named[2]] = named[3]
    return html.unescape(browser.send("/series", fields).text)


def look_of_boxes(page):
    """The boxes that leave people out, and whether each is ticked."""
    found = re.findall(r'<input type="checkbox"( name="without-\d+"[^>]*)> leave out ([^<]*)</label>', page)
    return {text: " checked" in box for box, text in found}


@pytest.fixture
def third_quarter(started, home):
    """A table with an erased person, two people with another value, and new people who look like those who left."""
    rows = (home / "patients.csv").read_text().splitlines()
    started.send("/series", {**PUBLISH, "folder": "admissions-1"})
    started.send("/series", {"series": "admissions", "do": "erase", "ids": rows[1].split(",")[0], "sure": "yes"})
    changed = [f"{rows[at].rpartition(',')[0]},{rows[at + 1].rpartition(',')[2]}" for at in (2, 3)]
    new = [row.replace("Zyzzyva", "New", 1) for row in rows[101:]]
    (home / "q2.csv").write_text("\n".join([*rows[:2], *changed, *rows[4:101], *new]) + "\n")
    started.send("/open", {"path": "q2.csv"})
    return started


def test_answers_for_the_next_release_are_kept_until_it_is_made(third_quarter, home):
    page = press(third_quarter, third_quarter.look("/series").text)
    assert "1 of 120 people was erased" in page
    assert look_of_boxes(page) == {"1 person: erased": False}
    page = press(third_quarter, page, "Publish without this person")
    assert "2 of 99 people who were published before have another sensitive value" in page
    assert "1 person is left out: 1 erased. Nothing was published." in page
    assert look_of_boxes(page) == {"1 person: erased": True, "2 people: with another value": False}
    page = press(third_quarter, page, "Publish without these people")
    assert "20 of 20 new people" in page
    assert "3 people are left out: 1 erased, 2 with another value. Nothing was published." in page
    both = {"1 person: erased": True, "2 people: with another value": True}
    assert look_of_boxes(page) == both
    # Another action on the series, and a reload, forget nothing.
    assert look_of_boxes(third_quarter.send("/series", {"series": "admissions", "do": "verify"}).text) == both
    page = press(third_quarter, third_quarter.look("/series").text, anyway=True)
    assert "Release 2 of 'admissions' is written." in page
    assert "3 people are left out: 1 erased, 2 with another value." in page
    assert look_of_boxes(page) == {}
    private = (home / "admissions-2.private/report.html").read_text()
    certificate = json.loads((home / "admissions-2.private/certificate.json").read_text())
    assert certificate["input"]["rows"] == 120
    assert certificate["input"]["rows_left_out"] == certificate["input"]["people_left_out"] == 3
    assert [one.partition(" new people")[0] for one in certificate["published_despite"]] == ["20 of 20"]
    assert "3 of 120 records are not published" in private
    assert "It was published in spite of this warning" in private
    for name in ("certificate.json", "report.html"):
        public = (home / "admissions-2" / name).read_text()
        assert "left_out" not in public
        assert "in spite of" not in public
        assert "despite" not in public


def test_answers_for_the_next_release_are_taken_back_and_belong_to_a_table(third_quarter, home):
    page = press(third_quarter, third_quarter.look("/series").text, anyway=True)
    page = press(third_quarter, page, "Publish without this person")
    box = re.search(r'name="(without-\d+)"> leave out 2 people', page)[1]
    # A tick that is shown is sent; one that was taken away is not.
    assert re.search(r'name="anyway"[^>]* checked', page)
    page = press(third_quarter, page, anyway=False, **{box: True})
    assert "<h2>Publish in spite of this?</h2>" in page
    assert not re.search(r'name="anyway"[^>]* checked', page)
    erased = re.search(r'name="(without-\d+)"[^>]*> leave out 1 person: erased', page)[1]
    page = press(third_quarter, page, **{erased: False})
    assert "1 of 118 people was erased" in page
    assert look_of_boxes(page) == {"2 people: with another value": True, "1 person: erased": False}
    assert not (home / "admissions-2").exists()
    third_quarter.send("/open", {"path": "patients.csv"})
    third_quarter.send("/open", {"path": "q2.csv"})
    assert look_of_boxes(third_quarter.look("/series").text) == {}


def test_a_refusal_names_its_ids_as_the_button_does(third_quarter):
    page = press(third_quarter, third_quarter.look("/series").text)
    assert "“Show the ids” on the screen Series" in page
    assert "<summary>Show the ids (1, for you alone)</summary>" in page


def test_a_typed_path_of_a_key_chooses_the_place(browser, home, tmp_path):
    browser.decided()
    vault = tmp_path / "vault"
    vault.mkdir(mode=0o700)
    chosen = {**START, "key": str(vault / "r.key")}
    answer = browser.send("/series/start", chosen)
    assert (answer.status_code, "either in the file that you name, or next to" in answer.text) == (422, True)
    del chosen["place"]
    assert "is started" in browser.send("/series/start", chosen).text
    assert (vault / "r.key").is_file()
    assert not list(home.glob("*.key"))
