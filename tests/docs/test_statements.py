"""What the pages state of persons, ends of intervals, algorithms and series: each was missing or wrong once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import shoal

HOME = Path(shoal.__file__).parents[2]
STATED = {
    "README.md": ("Each record is assumed to belong to a different person", "whose ends at least k records share"),
    "SECURITY.md": (
        "People with several records, if no person is named",
        "Every certificate says that each record is assumed to belong to a different person",
        "**Ends of intervals.**",
        "Exact values in orders without a grid",
        "releases of a series have exact ends",
        "264 of the 4,830 originals that `mondrian` publishes",
        "One algorithm keeps 1/l against this adversary, `transparent` (`--set resist=minimality`)",
        "let nobody wait for it",
        "Ids written in another way",
    ),
    "docs/guide/republication.md": (
        "**not:** those who came last wait",
        "**not:** all of them wait",
        "absence is safe only if nobody's value decided about it",
        "a new series of their own, with the largest m",
    ),
}
WITHDRAWN = (
    "or let some of them wait who are chosen",
    "Publish later, with more new people",
    "a concern, take `mondrian`",
)
"""Advice that betrayed people."""


def read_as_one_line(page: str) -> str:
    path = HOME / page
    if not path.exists():
        pytest.skip("an installed package has no pages beside it")
    return re.sub(r"\s+", " ", path.read_text("utf-8"))


@pytest.mark.parametrize("page", STATED)
def test_pages_state_what_is_not_protected(page: str) -> None:
    text = read_as_one_line(page)
    assert [phrase for phrase in STATED[page] if phrase not in text] == []


def test_no_page_repeats_advice_that_was_withdrawn() -> None:
    pages = [HOME / "README.md", HOME / "SECURITY.md", *(HOME / "docs").rglob("*.md")]
    for page in (page for page in pages if page.exists() and page.parent.name != "decisions"):
        text = re.sub(r"\s+", " ", page.read_text("utf-8"))
        assert [phrase for phrase in WITHDRAWN if phrase in text] == [], page
