"""What notebooks show: cards without a cell that is not published, which say what is private, and escape all text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.report.card import Card

SECRET = "Zyzzyva"
EVIL = "<script>alert('town')</script>"


class Balanced(HTMLParser):
    """Fails where tags do not match; collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag != "script"
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in ("br", "meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def text_of(html: str) -> str:
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert "http://" not in re.sub(r"http://(www\.w3\.org|purl\.org|creativecommons\.org)", "", html)
    return " ".join(" ".join(parser.text).split())


def people(rows: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [f"{SECRET} {row}" for row in range(rows)],
            "age": [20 + row * 7 % 23 for row in range(rows)],
            EVIL: [f"{SECRET}{row}" for row in range(rows)],
            "disease": ["<b>flu</b>" if row % 3 else f"{row % 6} days" for row in range(rows)],
        }
    )


REQUEST: dict[str, Any] = {"quasi_identifiers": ["age", EVIL], "sensitive": "disease", "seed": 1}


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    return shoal.anonymize(people(), privacy=shoal.KAnonymity(5), direct_identifiers=["name"], **REQUEST)


def shown_by(release: shoal.Release) -> dict[str, Any]:
    """Return everything that shows itself, by what it is; names of people are dropped, towns become stars."""
    table = people().drop("name")
    return {
        "release": release,
        "certificate": release.certificate,
        "public certificate": release.public_certificate,
        "risk": shoal.risk(table, quasi_identifiers=["age", EVIL], sensitive="disease"),
        "audit": shoal.audit(
            release.data, quasi_identifiers=["age", EVIL], sensitive="disease", privacy=shoal.KAnonymity(7)
        ),
        "trade-off": shoal.explore(table, k=[2, 4, 100], **REQUEST),
        "comparison": shoal.explore(table, privacy=shoal.KAnonymity(3), algorithms=["mondrian", "matching"], **REQUEST),
        "tuning": shoal.explore(table, k=3, algorithm="mondrian", coarsenings=True, seconds=1, **REQUEST),
        "inspection": shoal.inspect(people(), show_values=True),
        "evaluation": shoal.evaluate(people(), k=5),
    }


FOR_READERS = {"release", "public certificate", "audit"}


@pytest.mark.drawn
def test_cards_say_what_is_private_and_show_no_cell(release: shoal.Release) -> None:
    for name, thing in shown_by(release).items():
        html = thing._repr_html_()
        text = text_of(html)
        assert SECRET not in html, name
        assert EVIL not in html, name
        assert ("Private." in text) == (name not in FOR_READERS), name
        assert repr(thing) != object.__repr__(thing)
        plain = thing.summary()
        assert SECRET not in plain, name
        assert ("Private." in plain) == ("Private." in text), name
        assert plain.splitlines()[0] in text, name
        if name != "release":
            assert "flu" not in html + plain, name


def test_a_release_shows_its_first_published_rows(release: shoal.Release) -> None:
    text = text_of(release._repr_html_())
    first = release.data.head(5)
    for row in first.select("age", "disease").iter_rows():
        for cell in row:
            assert str(cell) in text
    assert "Release of 60 rows, verified" in text
    assert f"the smallest of {release.certificate.achieved['k']} rows" in text
    assert "the fewest" not in text, "no bound"
    assert release.certificate.algorithm not in text
    own = text_of(release.certificate._repr_html_())
    assert release.certificate.algorithm in own
    proof = release.certificate.public(text="", reservations=[], proof=True)
    assert "Private." in text_of(proof._repr_html_())


def test_warnings_are_shown() -> None:
    release = shoal.anonymize(people().drop("name"), privacy=shoal.KAnonymity(2), **REQUEST)
    assert "small_k" in {remark.code for remark in release.warnings}
    assert "for you alone: see the attribute warnings" in text_of(release._repr_html_())
    for thing in (release, release.certificate, release.public_certificate):
        shown = text_of(thing._repr_html_())
        told = (
            [remark["text"] for remark in thing.public_certificate.to_dict()["warnings"]]
            if thing is release
            else [remark["text"] for remark in thing.to_dict()["warnings"]]
        )
        assert told
        assert all(" ".join(text.split()) in shown for text in told)


@pytest.mark.drawn
def test_wide_tables_are_cut() -> None:
    wide = pl.DataFrame({f"c{at}": [1, 1, None] for at in range(30)})
    release = shoal.anonymize(wide, quasi_identifiers=wide.columns, privacy=shoal.KAnonymity(3))
    html = release._repr_html_()
    assert "30 columns" in html
    assert ">c11<" in html
    assert ">c12<" not in html
    assert ">...<" in html


def test_a_release_of_a_series_shows_what_is_published(tmp_path: Any) -> None:
    ledger = shoal.Ledger(tmp_path / "releases.db", create=True)
    series = ledger.start("one", m=2, identifier="name", quasi_identifiers=["age", EVIL], sensitive="disease")
    rows = people(12).select("name", "age", pl.lit("town").alias(EVIL), pl.Series("disease", list("xyxyxyxyxyxy")))
    made = series.publish(rows, seed=1)
    html = made._repr_html_()
    text = text_of(html)
    assert SECRET not in text
    assert EVIL not in html
    assert "one: release 1" in text
    assert "Private." not in text
    for cell in map(str, made.data["age"].head(5)):
        assert cell in text


def test_a_card_escapes_everything_but_its_picture() -> None:
    columns = {EVIL: [EVIL]}
    html = Card(
        title=EVIL, figures=[(EVIL, EVIL)], sentences=[EVIL], columns=columns, caption=EVIL, picture="<svg></svg>"
    ).html()
    text_of(html)
    assert html.count("&lt;script&gt;") == 7
    assert "<svg>" in html


def test_the_text_of_a_card_says_what_its_html_says_and_moves_no_cursor() -> None:
    card = Card(
        title="Two rows",
        figures=[("risk", "20%"), ("a longer name", "of " + "many " * 40)],
        sentences=["A sentence. " * 20],
        columns={"": ["1", "2"], "age": ["[20, 30)", "\x1b[31m*"]},
        caption="The first rows",
        private="It is private.",
    )
    text = card.text()
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100
    assert " ".join(text.split()).startswith("Two rows Private. It is private. risk 20% a longer name of many many")
    assert text.splitlines()[-4:] == ["The first rows:", "   age", "1  [20, 30)", "2   [31m*"]
