"""The studio in German: no sentence of a translated screen stays in English, and the switch keeps the rest."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import shoal
import shoal.studio
from shoal._core.language import use_language
from shoal.errors import InfeasibleError
from shoal.studio.audience import SCREENS

if TYPE_CHECKING:
    from tests.studio.conftest import Browser

pytest.importorskip("babel")

TEMPLATES = Path(shoal.studio.__file__).parent / "templates"


def test_every_template_is_translated() -> None:
    found = {path.name.removesuffix(".html.j2") for path in TEMPLATES.glob("*.html.j2")}
    translated = {name for name in found if re.search(r"_\(|% trans", (TEMPLATES / f"{name}.html.j2").read_text())}
    assert found - translated == set()


def test_the_switch_changes_the_frame_and_the_first_screen(browser: Browser) -> None:
    browser.enter()
    page = browser.client.get("/").text
    assert '<html lang="en">' in page
    assert "Which table do you want to publish?" in page
    german = browser.send("/language", {"language": "de", "back": "open"}).text
    assert '<html lang="de">' in german
    assert "Welche Tabelle möchten Sie veröffentlichen?" in german
    assert [step for step in ("Personen", "Spalten", "Ziel", "Veröffentlichen") if step not in german] == []
    main = re.sub(r"<code.*?</code>", "", german, flags=re.DOTALL)
    assert (
        re.findall(r">[^<]*\b(?:the|of|and|with|that|you|is)\b[^<]*<", main.replace(str(browser.studio.paths.home), ""))
        == []
    )
    assert "Was Sie entschieden haben" in browser.client.get("/history").text
    english = browser.send("/language", {"language": "en", "back": "//elsewhere.example"})
    assert english.url.path == "/"
    assert "Which table do you want to publish?" in english.text


def test_the_language_of_the_browser_is_taken_until_one_is_chosen(browser: Browser) -> None:
    browser.enter()
    for asked, language in (("de-AT,de;q=0.9,en;q=0.8", "de"), ("fr,DE", "de"), ("en-US,de", "en"), ("fr", "en")):
        page = browser.client.get("/", headers={"accept-language": asked}).text
        assert f'<html lang="{language}">' in page, asked
    browser.send("/language", {"language": "en", "back": "open"})
    assert '<html lang="en">' in browser.client.get("/", headers={"accept-language": "de"}).text


def test_an_unknown_language_is_refused(browser: Browser) -> None:
    browser.enter()
    assert browser.send("/language", {"language": "../xx", "back": "open"}).status_code == 422
    assert browser.studio.language == ""


ENGLISH = re.compile(
    r"\b(?:the|of|and|with|that|you|is|it|this|which|for|are|from|there|their|than|records?|columns?|must|cannot)\b"
)
APART = re.compile(r"<head>.*?</head>|<(code|pre|svg)\b.*?</\1>|<(\w+)\b[^>]*\blang=\"en\"[^>]*>.*?</\2>", re.DOTALL)
"""Commands, pictures, and text that is marked as English."""


def english_texts(browser: Browser, page: str) -> list[str]:
    """List the texts of a page and its labels that have an English word."""
    page = APART.sub(" ", page.replace(str(browser.studio.paths.home), ""))
    shown = [*re.findall(r">([^<]+)<", page), *re.findall(r'(?:aria-label|placeholder|alt|data-\w+)="([^"]*)"', page)]
    return [" ".join(text.split()) for text in shown if ENGLISH.search(text)]


def test_no_english_is_left_on_german_screens(browser: Browser) -> None:
    browser.decided()
    browser.send("/columns/values", {"show": "yes"})
    browser.send("/shape", {"column": "0", "do": "propose", "how": "quantiles", "parts": "4"})
    browser.send("/risk", {"fraction": "10"})
    browser.send("/publish", {"folder": "made"})
    browser.send("/compare", {"k": "3,5,200", "l": ""})
    browser.send("/compare/algorithms", {"show": "yes"})
    start = {"ledger": "releases.db", "name": "admissions", "identifier": "0", "m": "2", "place": "beside"}
    browser.send("/series/start", start)
    browser.send("/series", {"series": "admissions", "do": "publish", "folder": "admissions-1"})
    browser.send("/language", {"language": "de", "back": "open"})
    paths = ("/", "/persons", "/columns", "/risk", "/goal", "/coarser", "/compare", "/shape?column=0", "/publish")
    for path in (*paths, "/release", "/history", "/series", "/attack", "/review"):
        assert english_texts(browser, browser.look(path).text) == [], path


STRANGE = (b"", b"a,b\n", b"a,b\n1\n2,3\n", b'a,b\n"x,1\n2,3\n', b"a,a\n1,2\n3,4\n", b"a,\n1,2\n", b"a,b\n\xff\xfe,1\n")
"""Contents of files that cannot be read as tables."""


@pytest.mark.parametrize("content", STRANGE)
def test_files_that_cannot_be_read_are_refused_in_german(browser: Browser, home: Path, content: bytes) -> None:
    browser.enter()
    browser.send("/language", {"language": "de", "back": "open"})
    (home / "strange.csv").write_bytes(content)
    answer = browser.send("/open", {"path": "strange.csv"})
    assert refusal(answer)
    assert english_texts(browser, answer.text) == []


def refusal(answer: Any) -> str:
    """Return the text of the error on a page."""
    assert answer.status_code == 422
    found = re.search(
        r'id="refused"[^>]*>(.*?)</(?:span|section)>|role="alert">(.*?)</section>', answer.text, re.DOTALL
    )
    return re.sub(r"<[^>]+>|\s+", " ", found[1] or found[2]).strip()


def test_errors_are_in_the_language_of_the_page(browser: Browser) -> None:
    browser.decided()
    goal = {"k": "5", "l": "", "known": "some", "knows": "9"}
    assert refusal(browser.send("/goal", goal)) == "How many columns somebody knows must be a number from 1 to 3."
    browser.send("/language", {"language": "de", "back": "open"})
    assert refusal(browser.send("/goal", goal)) == "Wie viele Spalten jemand kennt, muss eine Zahl von 1 bis 3 sein."
    wrong = refusal(browser.send("/goal", {**goal, "known": "sets", "set-0": "zipp"}))
    assert wrong == "Die Spalte „zipp“ gehört nicht zu denen, die andere kennen können. Meinten Sie „zip“?"
    assert refusal(browser.send("/goal", {"k": "0", "l": ""})) == (
        "Die kleinste Gruppe (k) muss eine ganze Zahl ab 1 sein. Angegeben ist 0."
    )
    # A job fails in the worker process, which is passed the language.
    assert refusal(browser.send("/shape", {"column": "0", "do": "propose", "how": "intervals", "width": "x"})) == (
        "Die Breite muss eine Zahl sein."
    )
    infeasible = refusal(browser.send("/goal", {"k": "5", "l": "9"}))
    assert "Keine Veröffentlichung erfüllt l-Diversität mit l = 9" in infeasible
    assert infeasible.endswith("bei „disease“: Das größte erfüllbare l ist 5.")


def test_changes_are_shown_in_the_language_of_the_page(browser: Browser) -> None:
    browser.decided()
    browser.send("/goal", {"k": "7", "l": "2"})
    browser.send("/coarser", {"coarsen-0": "bins:7"})
    browser.send("/language", {"language": "de", "back": "open"})
    german = browser.look("/history").text
    for change in ("patients.csv geöffnet", "Ziel: k = 7, l = 2", "age: in Schritten von 7"):
        assert f"<bdi>{change}</bdi>" in german
    browser.send("/language", {"language": "en", "back": "open"})
    assert "<bdi>age: in steps of 7</bdi>" in browser.look("/history").text


def test_names_have_one_kind_of_quotation_marks_and_percentages_no_escape(browser: Browser) -> None:
    browser.decided()
    browser.send("/language", {"language": "de", "back": "open"})
    browser.send("/goal", {"k": "5", "l": "2"})
    for path in ("/columns", "/risk", "/goal", "/coarser", "/compare", "/publish"):
        page = APART.sub(" ", browser.look(path).text)
        assert "xa0" not in page, path
        assert re.findall(r"(?:&#39;|')(?:name|age|gender|zip|disease)(?:&#39;|')", page) == [], path


def test_one_value_is_not_counted_as_several(browser: Browser) -> None:
    browser.decided()
    browser.send("/language", {"language": "de", "back": "open"})
    browser.send(
        "/columns/replace",
        {
            "column": "2",
            "old": "F",
            "new": "W",
            "of": re.search('name="of" value="([^"]*)"', browser.look("/columns").text)[1],
        },
    )
    assert "gender: Werte ersetzt (1)" in browser.look("/history").text


def test_advice_names_fields_of_screens_and_the_report_has_the_language_of_the_page(browser: Browser) -> None:
    lines = (browser.studio.paths.home / "patients.csv").read_text().split("\n")
    priced = [
        f'{line},"{"cost" if not row else 100 + 37 * row},50"'.replace("cost,50", "cost")
        for row, line in enumerate(lines)
        if line
    ]
    (browser.studio.paths.home / "patients.csv").write_text("\n".join(priced) + "\n")
    browser.decided()
    browser.send("/columns", {"do": "next", "role-5": "sensitive"})
    # Steps are proposed for such a column: here they are not taken.
    assert browser.studio.plan.coarsen["cost"].startswith("bins:")
    browser.studio.history.change("As it is", coarsen={**browser.studio.plan.coarsen, "cost": ""})
    browser.send("/language", {"language": "de", "back": "open"})
    assert '<option value="de" lang="de" selected>' in browser.look("/publish").text
    page = browser.send("/publish", {"folder": "made", "language": "de"}).text
    report = (browser.studio.paths.home / "made.private/report.html").read_text()
    advice = "auf der Seite „Vergröbern“: cost: in Schritten von "
    for shown in (page, report):
        assert advice in shown
        assert "auf der Seite „Spalten“: „Weglassen“ für cost" in shown
        assert "Jede Zeile steht für eine Person" in shown
    # Certificates stay in English.
    certificate = json.loads((browser.studio.paths.home / "made.private/certificate.json").read_text())
    texts = [one["text"] for one in certificate["warnings"] if one["code"] == "near_unique_sensitive"]
    assert all("on the screen “Coarser”: cost: in steps of" in text for text in texts)
    assert texts


def test_infeasible_goals_name_the_number_once(browser: Browser) -> None:
    browser.decided()
    assert "k-anonymity with k = 500: the table" in refusal(browser.send("/goal", {"k": "500", "l": ""}))
    browser.send("/language", {"language": "de", "back": "open"})
    assert "k-Anonymität mit k = 500 erfüllen" in refusal(browser.send("/goal", {"k": "500", "l": ""}))


def test_ways_out_of_an_infeasible_goal_are_in_the_language_of_the_page() -> None:
    table = pl.DataFrame({"age": list(range(40)), **{name: ["x"] * 30 + list("yz" * 5) for name in ("a", "b")}})
    with pytest.raises(InfeasibleError) as caught:
        shoal.anonymize(table, quasi_identifiers=["age"], sensitive=["a", "b"], k=5, l=2)
    with use_language("de"):
        said = caught.value.render(SCREENS)
    assert "„a“ und „b“" in said
    assert "Mehr als die Hälfte der Datensätze" in said
    assert "l = 2, gezählt nach verschiedenen Werten" in said
    assert re.findall(r"\b(?:the|of|and|with|that|is|it|or)\b", said) == []
    assert "of 'a' and 'b': the largest feasible l is 1" in str(caught.value)
