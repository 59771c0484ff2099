"""The studio in German: no sentence of a translated screen stays in English, and the switch keeps the rest."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import shoal.studio

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


def test_headings_and_buttons_of_translated_screens_are_german(browser: Browser) -> None:
    browser.decided()
    browser.send("/shape", {"column": "0", "do": "propose", "how": "quantiles", "parts": "4"})
    browser.send("/publish", {"folder": "made"})
    browser.send("/compare", {"k": "3,5", "l": ""})
    start = {"ledger": "releases.db", "name": "admissions", "identifier": "0", "m": "2", "place": "beside"}
    browser.send("/series/start", start)
    browser.send("/series", {"series": "admissions", "do": "publish", "folder": "admissions-1"})
    browser.send("/language", {"language": "de", "back": "open"})
    english = re.compile(r"\b(?:the|of|and|with|that|you|is|it|this|which|for)\b")
    for path in (
        "/",
        "/persons",
        "/columns",
        "/risk",
        "/goal",
        "/coarser",
        "/compare",
        "/shape?column=0",
        "/publish",
        "/release",
        "/history",
        "/series",
        "/attack",
        "/review",
    ):
        # Explanations on request quote the English title of a reference.
        text = re.sub(r"<span popover.*?</span>", "", browser.look(path).text, flags=re.DOTALL)
        shown = re.findall(r"<(h1|h2|h3|button|dt|th|label|summary)\b[^>]*>(.*?)</\1>", text, re.DOTALL)
        plain = [re.sub(r"<[^>]+>", " ", part) for _, part in shown]
        assert len(plain) > 5, path
        assert [part for part in plain if english.search(part)] == [], path


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
        "Die kleinste Gruppe (k) muss eine ganze Zahl &gt;= 1 sein. Angegeben ist 0."
    )
    # A job fails in the worker process, which is passed the language.
    assert refusal(browser.send("/shape", {"column": "0", "do": "propose", "how": "intervals", "width": "x"})) == (
        "Die Breite muss eine Zahl sein."
    )
    infeasible = refusal(browser.send("/goal", {"k": "5", "l": "9"}))
    assert "Keine Veröffentlichung erfüllt l-Diversität mit l = 9" in infeasible
    assert infeasible.endswith("bei &#39;disease&#39;: Das größte erfüllbare l ist 5.")


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
