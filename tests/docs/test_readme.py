"""The first screen of the repository: short, and its pictures show what the product does."""

import re
from pathlib import Path

import polars as pl
import pytest

import shoal

HOME = Path(shoal.__file__).parents[2]
pytestmark = pytest.mark.skipif(not (HOME / "README.md").exists(), reason="an installed package has no README")


def test_the_readme_is_short_and_its_pictures_are_there() -> None:
    text = (HOME / "README.md").read_text("utf-8")
    assert 60 <= len(text.splitlines()) <= 90
    pictures = re.findall(r'(?:!\[[^\]]+\]\(|<img src=")([^)"]+)', text)
    assert len(pictures) == 3
    assert [picture for picture in pictures if not (HOME / picture).is_file()] == []
    assert len(re.findall(r'alt="[^"]{20,}"', text)) == 2, "pictures have a description"


def headings(page: Path) -> set[str]:
    """The anchors of a page: its headings as GitHub and the site name them, and named places."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    named = re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles} | set(named)


def test_links_into_pages_lead_to_a_heading() -> None:
    pages = [HOME / "README.md", HOME / "SECURITY.md", HOME / "CONTRIBUTING.md", *(HOME / "docs").rglob("*.md")]
    links = [
        (page, *link.split("#"))
        for page in pages
        for link in re.findall(r"\]\(((?!https?:)[^)\s]*\.md#[^)\s]+|#[^)\s]+)\)", page.read_text("utf-8"))
    ]
    assert len(links) > 5
    wrong = [
        f"{page.relative_to(HOME)}: {target}#{anchor}"
        for page, target, anchor in links
        if anchor not in headings(page.parent / target if target else page)
    ]
    assert wrong == []


def test_who_knows_arx_finds_their_words_from_the_readme() -> None:
    text = (HOME / "README.md").read_text("utf-8")
    (page,) = re.findall(r"You know ARX[^\n]*\]\(([^)]+)\)", text)
    words = (HOME / page).read_text("utf-8")
    for word in ("Identifying", "Sensitive", "Insensitive", "Suppression limit", "Attribute weights"):
        assert word.lower() in words.lower(), word


@pytest.mark.parametrize("name", ["groups.svg", "groups-narrow.svg"])
def test_the_picture_of_six_patients_is_a_release(name: str) -> None:
    picture = (HOME / "docs/_static" / name).read_text("utf-8")
    cells = re.findall(r'<text x="\d+" y="\d+" fill="#1b2733">([^<]+)</text>', picture)
    assert len(cells) == 36
    before, after = (
        pl.DataFrame([rows[of : of + 3] for of in range(0, 18, 3)], schema=["age", "zip", "disease"], orient="row")
        for rows in (cells[:18], cells[18:])
    )
    release = shoal.anonymize(
        before.with_columns(pl.col("age").cast(pl.Int64)),
        quasi_identifiers=["age", "zip"],
        sensitive="disease",
        k=3,
        l=3,
        recoding="generalization",
        coarsen={"zip": shoal.Prefix(4)},
    )
    assert release.data.rows() == after.rows()
    cost = release.certificate.cost
    assert cost.recoded_cells == cost.bound.stars == 6, "6 ages became ranges: no release needs fewer"
