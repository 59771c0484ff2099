"""Persons that are named wrongly: another column shows that they have several records, which nothing protects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal

REQUEST: dict[str, Any] = {"quasi_identifiers": ["age", "gender", "zip"], "sensitive": "disease", "k": 5}


def visits(spellings: tuple[str, ...] = ("{}",)) -> pl.DataFrame:
    """Sixty people with five visits each, every visit with another disease, with the person spelled in some ways."""
    people = [person for person in range(60) for _ in range(5)]
    return pl.DataFrame(
        {
            "visit": range(300),
            "pcode": [1000 + person for person in people],
            "spelled": [spellings[row % len(spellings)].format(person) for row, person in enumerate(people)],
            "age": [20 + person for person in people],
            "gender": ["mf"[person % 2] for person in people],
            "zip": [str(10000 + 37 * person) for person in people],
            "disease": list("abcde") * 60,
        }
    )


def warned(data: Any, **request: Any) -> list[tuple[str, str | None]]:
    made = shoal.anonymize(data, **REQUEST | request)
    assert "repeated_person" not in made.public_certificate.to_json()
    assert "published_person" not in made.public_certificate.to_json()
    return [(one.code, one.column) for one in made.warnings if one.code.endswith("_person")]


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("person", ["visit", "spelled", ["pcode", "visit"]], ids=str)
def test_another_column_shows_the_persons(tmp_path: Path, engine: Any, person: Any) -> None:
    """The groups are of five visits of one person each: the named persons have one record each."""
    data = visits(("{}", "0{}", "00{}", "{}.0", "{}."))
    data.write_parquet(tmp_path / "visits.parquet")
    others = [name for name in ("visit", "pcode", "spelled") if name not in person]
    found = warned(tmp_path / "visits.parquet", engine=engine, person=person, direct_identifiers=others)
    assert found == [("repeated_person", "pcode")]


def test_combinations_show_them_without_a_column() -> None:
    assert warned(visits().drop("pcode", "spelled"), person="visit") == [("repeated_person", None)]


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_persons_that_are_held_together_raise_nothing(tmp_path: Path, engine: Any) -> None:
    visits().write_parquet(tmp_path / "visits.parquet")
    for person, others in (("pcode", ["visit", "spelled"]), ("spelled", ["visit", "pcode"])):
        assert not warned(tmp_path / "visits.parquet", engine=engine, person=person, direct_identifiers=others)


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_a_published_column_that_links_the_records(role: str) -> None:
    """k of persons holds, and the column beside it names the person of every record."""
    data = visits().drop("visit")
    request = {"sensitive": ["disease", "spelled"]} if role == "sensitive" else {"insensitive": ["spelled"]}
    assert warned(data, person="pcode", **request) == [("published_person", "spelled")]


def test_a_published_value_of_one_person_each() -> None:
    """Nothing else in the table is constant: the named persons alone show that a wage is that of one of them."""
    data = visits().select("pcode", "disease", age=pl.col("visit") % 7, wage=20_000 + 13 * pl.col("pcode"))
    request: dict[str, Any] = {"quasi_identifiers": ["age"], "person": "pcode", "k": 5}
    made = shoal.anonymize(data, sensitive=["disease", "wage"], **request)
    assert [one.column for one in made.warnings if one.code == "published_person"] == ["wage"]
    made = shoal.anonymize(data.with_columns(wage=pl.col("pcode") % 20), sensitive=["disease", "wage"], **request)
    assert not [one for one in made.warnings if one.code == "published_person"]


def test_persons_that_no_model_counts(tmp_path: Path) -> None:
    """By l alone all records of a group are those of one person, and readers hear that nothing counts persons."""
    data = visits().drop("visit", "spelled")
    for request in ({"k": None, "l": 4}, {"k": None, "t": 0.1}, {"k": 1, "l": 4}):
        made = shoal.anonymize(data, **REQUEST | request, person="pcode")
        assert "uncounted_persons" in made.public_certificate.to_json()
        with pytest.raises(shoal.errors.ShoalError, match="no model counts them"):
            made.save(tmp_path / "out", strict=True)
    for request in ({"k": 2, "l": 4}, {"k": None, "l": 2, "rows_per_person": 1}):
        assert (
            "uncounted_persons" not in shoal.anonymize(data, **REQUEST | request, person="pcode").certificate.to_json()
        )
