"""Reports in other languages: every message is translated, and nothing of a page stays in English."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal._core import language as _language
from shoal._core.language import day, languages, numeral, use_language
from shoal._core.words import listed, number, percent
from shoal.algorithms import ALGORITHMS
from shoal.cli.main import app
from shoal.errors import MissingExtraError, ParameterError, ShoalError
from shoal.report import About, render_again
from shoal.report.messages import messages, renew

pofile = pytest.importorskip("babel.messages.pofile")

FOLDER = Path(_language.__file__).parents[1] / "locale"
OTHERS = [code for code in languages() if code != "en"]
ENGLISH_TOO = {"Formula", "Version", "k-Map"}
PLACEHOLDER = re.compile(r"\{[\w:.,]*\}|%\(\w+\)s|%%")
ENGLISH = re.compile(
    r"\b(the|of|and|with|that|which|are|from|not|records?|groups?|there|their|than|known|shows?)\b", re.I
)


def catalogue(code: str) -> Any:
    with (FOLDER / f"{code}.po").open("rb") as file:
        return pofile.read_po(file, locale=code)


def forms(text: str | tuple[str, ...]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else text


@pytest.mark.parametrize("code", OTHERS)
def test_every_message_is_translated_with_what_it_holds(code: str) -> None:
    found = catalogue(code)
    for message in messages():
        if not message.id:
            continue
        translated = found.get(message.id)
        assert translated is not None, f"python -m shoal.report.messages adds: {message.id}"
        assert all(forms(translated.string)), f"no translation of: {message.id}"
        assert not translated.fuzzy
        for form, original in zip(forms(translated.string), forms(message.id), strict=True):
            assert set(PLACEHOLDER.findall(form)) == set(PLACEHOLDER.findall(original)), form
            assert form[-1:] not in ".:;" or form[-1] == forms(message.id)[0][-1], form
            assert not ENGLISH.search(re.sub(r"\([^)]*\)|'[^']*'|%\(\w+\)s|\{[\w:.,]+\}", "", form)), form


@pytest.mark.parametrize("code", OTHERS)
def test_catalogues_hold_what_reports_say_and_no_more(code: str, tmp_path: Path) -> None:
    written = (FOLDER / f"{code}.po").read_text(encoding="utf-8")
    (tmp_path / f"{code}.po").write_text(written, encoding="utf-8")
    renew(tmp_path)
    assert (tmp_path / f"{code}.po").read_text(encoding="utf-8") == written


class Text(HTMLParser):
    """Collects the text of a page in its own language: what is marked as another one, or as code, is left out."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.left_out: list[bool] = []
        self.found: list[str] = []
        self.language: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.language = given["lang"] if tag == "html" else self.language
        if tag not in ("meta", "br", "link", "img", "input", "path", "use", "rect"):
            other = "lang" in given and given["lang"] != self.language
            self.left_out.append(other or tag in ("code", "style", "defs") or any(self.left_out[-1:]))

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("path", "use", "rect"):
            self.left_out.pop()

    def handle_data(self, data: str) -> None:
        if not any(self.left_out[-1:]) and re.search("[A-Za-z]{3}", data):
            self.found.append(" ".join(data.split()))


COLUMNS = {"alter", "plz", "befund", "notiz", "besuch"}
DATA = COLUMNS | {"grippe", "husten", "krebs", "report.json", "release.csv", "certificate.json", "k-Map", *ALGORITHMS}


def table(rows: int = 24) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "alter": [20 + 7 * row % 40 for row in range(rows)],
            "plz": [f"{10_000 + 811 * (row % 5)}" for row in range(rows)],
            "befund": [("grippe", "husten", "krebs")[row % 3] for row in range(rows)],
            "notiz": [f"nr{row}" for row in range(rows)],
            "besuch": [f"{1 + row % 28}.{1 + row % 12}.19{50 + row}" if row % 9 else "unklar" for row in range(rows)],
        }
    )


REQUEST: dict[str, Any] = {
    "quasi_identifiers": ["alter", "plz"],
    "sensitive": "befund",
    "insensitive": ["notiz", "besuch"],
    "seed": 0,
}


def pages(release: shoal.Release, folder: Path, language: str) -> list[str]:
    expert = {"expert": "Dr. Emil Muster", "valid_until": "2028-01-31"}
    about = About(language=language, title="Titel", date="2026-01-31", signatures=("Leitung",), **expert)
    release.save(folder / language, about=about, publish_proof=True)
    private = folder / f"{language}.private"
    return [(path / "report.html").read_text(encoding="utf-8") for path in (folder / language, private)]


def assert_german(release: shoal.Release, folder: Path) -> None:
    """Assert that pages in German share no text with those in English, but names and values."""
    for german, english in zip(pages(release, folder, "de"), pages(release, folder, "en"), strict=True):
        told, original = Text(german), Text(english)
        assert told.language == "de"
        assert original.language == "en"
        assert len(told.found) > 60
        known = DATA | {"Titel", "Leitung", "Dr. Emil Muster"}
        left = {text for text in told.found if text in original.found and text not in known}
        left = {
            text for text in left if not re.fullmatch(r"KL-Divergen.|[a-z]-Closeness.*|salt\.txt|(\w+=\S+ ?)+", text)
        }
        assert left == set(), "English that is left"
        assert [text for text in told.found if ENGLISH.search(text)] == []


@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "auto"])
@pytest.mark.filterwarnings("ignore:The column 'besuch'")
def test_no_english_is_left_on_a_german_page(algorithm: str, recoding: str, tmp_path: Path) -> None:
    rows = table(10 if algorithm == "exact" else 24)
    try:
        release = shoal.anonymize(
            rows, algorithm=algorithm, recoding=recoding, privacy=[shoal.KAnonymity(2)], **REQUEST
        )
    except (ShoalError, MissingExtraError) as refused:
        pytest.skip(f"{algorithm} does not serve it: {type(refused).__name__}")
    assert "near_unique_insensitive" in [one.code for one in release.warnings]
    assert_german(release, tmp_path)


@pytest.mark.parametrize(
    "privacy",
    [
        [shoal.LDiversity(2), shoal.KAnonymity(2)],
        [shoal.LDiversity(2, variant="entropy")],
        [shoal.LDiversity(2, variant="distinct")],
        [shoal.LDiversity(2, variant="recursive", c=3)],
        [shoal.TCloseness(0.6)],
        [shoal.BetaLikeness(2)],
        [shoal.DeltaDisclosure(3)],
        [shoal.AlphaKAnonymity(alpha=0.7, k=3)],
        [shoal.AverageRisk(0.2)],
        [shoal.SampleUniqueness(0.2)],
    ],
    ids=lambda models: models[0].name,
)
@pytest.mark.filterwarnings("ignore:The column 'besuch'")
def test_every_model_is_told_in_german(privacy: Any, tmp_path: Path) -> None:
    coarsen = {"plz": shoal.Prefix(2)}
    release = shoal.anonymize(table(), privacy=privacy, recoding="generalization", coarsen=coarsen, **REQUEST)
    assert_german(release, tmp_path)


@pytest.mark.filterwarnings("ignore:The column 'besuch'")
def test_trade_offs_and_pictures_are_in_the_language_of_the_page(tmp_path: Path) -> None:
    found = shoal.tradeoff(table(60), k=[2, 3, 5], **REQUEST)
    assert_german(found.choose(k=3), tmp_path / "levels")
    tuned = shoal.tune(table(60), privacy=shoal.KAnonymity(3), **REQUEST)
    assert_german(tuned.release(seed=0), tmp_path / "settings")
    coarsen = {"plz": shoal.Labels(k=5), "alter": shoal.Ordered(k=5)}
    release = shoal.anonymize(table(60), privacy=shoal.KAnonymity(3), coarsen=coarsen, **REQUEST)
    assert_german(release, tmp_path / "classes")


def test_numbers_lists_and_days_are_written_as_the_language_does() -> None:
    with use_language("de"):
        assert [number(600_000), number(0.31415), number(1234.56), number(None)] == [
            *("600.000", "0,3141", "1.234,6", "nicht bekannt")
        ]
        assert [percent(0.125), percent(0.00001), percent(1.0)] == ["12,5\xa0%", "<0,1\xa0%", "100\xa0%"]
        assert [listed(["a", "b", "c"]), listed(["a", "b"], "or")] == ["a, b und c", "a oder b"]
        assert [day("2026-01-31"), day("im Mai")] == ["31. Januar 2026", "im Mai"]
        with use_language("en"):
            assert [number(1234.56), percent(0.125), day("2026-01-31")] == ["1,234.6", "12.5%", "2026-01-31"]
        assert numeral("1.5") == "1,5", "what was written in before is written in again"


@pytest.mark.filterwarnings("ignore:The column 'besuch'")
def test_the_language_changes_nothing_but_pages(tmp_path: Path) -> None:
    release = shoal.anonymize(table(), privacy=shoal.KAnonymity(3), **REQUEST)
    for code in ("en", "de"):
        pages(release, tmp_path, code)
    for suffix in ("", ".private"):
        english, german = (
            json.loads((tmp_path / f"{code}{suffix}/report.json").read_text("utf-8")) for code in ("en", "de")
        )
        assert (english["about"].pop("language"), german["about"].pop("language")) == ("en", "de")
        for one in (english, german):
            one["certificate"].pop("seconds", None)
        assert english == german
    before = (tmp_path / "de/report.html").read_text(encoding="utf-8")
    render_again(tmp_path / "de", about=About(title="Anders"))
    assert (tmp_path / "de/report.html").read_text(encoding="utf-8") == before.replace("Titel", "Anders")
    render_again(tmp_path / "de", about=About(language="en", title="Titel"))
    for suffix in ("", ".private"):
        made, asked = ((tmp_path / f"{code}{suffix}/report.html").read_text(encoding="utf-8") for code in ("de", "en"))
        assert re.sub(r"\d+\.\d\d s", "", made) == re.sub(r"\d+\.\d\d s", "", asked)


@pytest.mark.filterwarnings("ignore:The column 'besuch'")
def test_commands_and_specs_say_the_language(tmp_path: Path) -> None:
    table().write_csv(tmp_path / "in.csv")
    words = ["anonymize", str(tmp_path / "in.csv"), "--qi", "alter,plz", "--sensitive", "befund"]
    words += ["--insensitive", "notiz,besuch", "-k", "3", "-o", str(tmp_path / "out")]
    told = CliRunner().invoke(app, [*words, "--language", "de"])
    assert told.exit_code == 0, told.output
    assert '<html lang="de">' in (tmp_path / "out/report.html").read_text(encoding="utf-8")
    spec = tmp_path / "release.toml"
    spec.write_text(
        f'input = "in.csv"\noutput = "{tmp_path / "spec"}"\nreport.language = "de"\nprivacy.k = 3\n'
        'columns.quasi_identifiers = ["alter", "plz"]\ncolumns.sensitive = ["befund"]\n'
        'columns.insensitive = ["notiz", "besuch"]\n',
        encoding="utf-8",
    )
    told = CliRunner().invoke(app, ["anonymize", "--spec", str(spec)])
    assert told.exit_code == 0, told.output
    assert '<html lang="de">' in (tmp_path / "spec.private/report.html").read_text(encoding="utf-8")


def test_unknown_languages_are_refused_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match=r"'language' parameter of About must be one of en, de\. Got 'xx'"):
        About(language="xx")
    monkeypatch.setitem(sys.modules, "babel", None)
    assert About(language="en").language == "en"
    with pytest.raises(MissingExtraError, match=r"pip install 'shoal-privacy\[languages\]'"):
        About(language="de")
