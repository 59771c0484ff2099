"""Pages count records where records are counted, and no page looks calmer than it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
from click.testing import CliRunner

import shoal
from shoal.attacks import background_knowledge_attack, homogeneity_attack, skewness_attack
from shoal.cli.main import app
from shoal.report.sentences import reading
from shoal.wording import sentence

ROWS = 60
VISITS = pl.DataFrame(
    {
        "patient_id": [row // 3 for row in range(ROWS)],
        "age": [20 + row * 7 % 50 for row in range(ROWS)],
        "town": [["Aach", "Bonn", "Celle"][row % 3] for row in range(ROWS)],
        "s": ["xyz"[row * 11 % 3] for row in range(ROWS)],
    }
)
COUNTED_PEOPLE = re.compile(
    r"\b(?:[0-9][0-9,.]*%?|none|nobody among the \S+|of the|all|shares of the) (?:people|persons)\b(?! of the pop)",
    re.IGNORECASE,
)


def text_of(page: str) -> str:
    """Return what a page shows, without its long explanations."""
    shown = re.sub(r"<style>.*?</style>|<details>.*?</details>|<[^>]*>", " ", page, flags=re.DOTALL)
    return " ".join(shown.split())


def test_records_are_not_called_people(tmp_path: Path) -> None:
    release = shoal.anonymize(
        VISITS,
        quasi_identifiers=["age", "town"],
        sensitive="s",
        direct_identifiers=["patient_id"],
        privacy=shoal.KAnonymity(3),
        seed=0,
    )
    release.save(tmp_path / "out")
    for folder in ("out", "out.private"):
        shown = text_of((tmp_path / folder / "report.html").read_text(encoding="utf-8"))
        assert "records" in shown
        assert COUNTED_PEOPLE.findall(shown) == []


def test_risk_and_attacks_count_records(tmp_path: Path) -> None:
    reading = {"quasi_identifiers": ["age", "town"], "sensitive": "s"}
    said = shoal.risk(VISITS, **reading, sampling_fraction=0.1, suda=2, log_linear="independence").sentences()
    counted = [sentence for sentence in said if "population" not in sentence]
    for attack in (homogeneity_attack, background_knowledge_attack, skewness_attack):
        counted += attack(VISITS, **reading).sentences()
    assert COUNTED_PEOPLE.findall(" ".join(counted)) == []
    assert "60 records" in " ".join(counted)
    VISITS.write_csv(tmp_path / "visits.csv")
    for words in (["risk"], ["attack", "--method", "homogeneity"], ["audit"]):
        call = [*words, str(tmp_path / "visits.csv"), "--qi", "age,town", "--sensitive", "s"]
        done = CliRunner().invoke(app, [*call, "-o", str(tmp_path / words[-1])])
        assert done.exit_code == 0, done.output
        page = text_of(next((tmp_path / words[-1]).glob("*.html")).read_text(encoding="utf-8"))
        assert "Each record is assumed to belong to a different person" in page
        assert COUNTED_PEOPLE.findall(page) == []


def test_the_page_for_readers_is_not_calmer_than_that_of_the_publisher(tmp_path: Path) -> None:
    table = VISITS.with_columns(dead=pl.Series(["no"] * 55 + ["yes"] * 5))
    release = shoal.anonymize(
        table,
        quasi_identifiers=["age", "town"],
        sensitive=["s", "dead"],
        direct_identifiers=["patient_id"],
        privacy=shoal.KAnonymity(3),
        seed=0,
    )
    release.save(tmp_path / "out")
    readers, publisher = (
        text_of((tmp_path / folder / "report.html").read_text(encoding="utf-8")) for folder in ("out", "out.private")
    )
    calm = "None of the kinds that shoal looks for"
    assert any(not one.kind.public for one in release.warnings), "some depend on the original table"
    assert calm not in readers
    assert calm not in publisher
    for one in release.warnings:
        if one.kind.public:
            assert sentence(one.found) in readers.replace("&#39;", "'")
    reservation = "the publisher looks at the original table as well"
    assert reservation in release.public_certificate.to_json()
    assert reservation in readers.replace("&#39;", "'")
    assert reservation not in publisher.replace("&#39;", "'")


def test_the_public_page_does_not_take_any_record_of_a_person_for_one(tmp_path: Path) -> None:
    """Of four records of a group two are one person's: a given one is found with 1 in 4, one of the two with 1 in 2."""
    table = pl.DataFrame({"p": [0, 0, 1, 2, 3, 3, 4, 5], "age": [30] * 4 + [50] * 4, "d": list("abcdabcd")})
    release = shoal.anonymize(table, quasi_identifiers="age", sensitive="d", person="p", k=2, l=2, seed=1)
    assert release.certificate.persons[0]["largest_share"] == 0.5
    release.report(tmp_path / "page.html", public=True)
    text = text_of((tmp_path / "page.html").read_text("utf-8"))
    assert (
        "looks for one record of a person known to be in the file picks it with a probability of at most 1 in 4" in text
    )
    assert "at most one in 2" in text


def test_bins_are_explained_in_a_release_by_stars_too() -> None:
    table = shoal.datasets.patients(60, seed=1)["age", "gender"]
    said = {}
    for coarsen in ({"age": "bins:10"}, {}):
        roles: dict[str, Any] = {"quasi_identifiers": ["age", "gender"], "recoding": "suppression", "coarsen": coarsen}
        release = shoal.anonymize(table, **roles, k=2, seed=1)
        said[bool(coarsen)] = reading(release.public_certificate.to_dict()["parameters"])
    assert [one for one in said[True] if "is an interval with both ends, one such as [21, 26)" in one]
    assert not [one for one in said[False] if "is an interval" in one]
