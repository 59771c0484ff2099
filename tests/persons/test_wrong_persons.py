"""Persons that are named wrongly: another column shows that they have several records, which nothing protects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.every import every

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


@pytest.mark.drawn
@every("engine", ["memory", "stream"])
@every("person", ["visit", "spelled", ["pcode", "visit"]])
def test_another_column_shows_the_persons(tmp_path: Path, engine: Any, person: Any) -> None:
    """The groups are of five visits of one person each: the named persons have one record each."""
    data = visits(("{}", "0{}", "00{}", "{}.0", "{}."))
    data.write_parquet(tmp_path / "visits.parquet")
    others = [name for name in ("visit", "pcode", "spelled") if name not in person]
    found = warned(tmp_path / "visits.parquet", engine=engine, person=person, direct_identifiers=others)
    assert found == [("repeated_person", "pcode")]


def test_combinations_show_them_without_a_column() -> None:
    assert warned(visits().drop("pcode", "spelled"), person="visit") == [("repeated_person", None)]


@pytest.mark.drawn
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


@pytest.mark.drawn
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


@pytest.mark.drawn
def test_persons_that_are_spelled_in_several_ways(tmp_path: Path) -> None:
    """No other column shows who they are; blanks at the ends make no other person."""
    data = visits(("p{}", "P{}", "p{} ", "p{}", "P{}")).drop("visit", "pcode").with_columns(age=30, zip=pl.lit("1"))
    made = shoal.anonymize(data, **REQUEST, person="spelled")
    (found,) = [one for one in made.warnings if one.code == "respelled_persons"]
    assert found.column == "spelled"
    assert found.text.startswith("120 values of 'spelled' differ")
    assert "respelled" not in made.public_certificate.to_json()
    data.write_parquet(tmp_path / "visits.parquet")
    streamed = shoal.anonymize(tmp_path / "visits.parquet", **REQUEST, person="spelled", engine="stream")
    assert found in streamed.warnings
    assert found.code in [
        one.code for one in shoal.explore(data, **REQUEST, person="spelled", algorithms=["tp"]).warnings
    ]
    alike = data.with_columns(pl.col("spelled").str.to_lowercase())
    assert "respelled_persons" not in [one.code for one in shoal.anonymize(alike, **REQUEST, person="spelled").warnings]


@pytest.mark.drawn
@pytest.mark.parametrize("link", [False, True])
def test_records_without_a_person_are_not_one_person(link: bool) -> None:
    """Another column shows the persons whose records do not show whose they are; readers are warned of such records."""
    data = (
        visits()
        .drop("visit", "spelled")
        .with_columns(person=pl.when(pl.col("pcode") < 1040).then(None).otherwise(pl.col("pcode")))
    )
    request = {**REQUEST, "person": "person", "missing_person": "own", "direct_identifiers": ["pcode"], "link": link}
    made = shoal.anonymize(data, **request, l=2)
    assert [one.column for one in made.warnings if one.code == "repeated_person"] == ["pcode"]
    public = made.public_certificate.to_dict()["guarantee"]["reservations"]
    assert any("A record that did not show whose it is" in one for one in public)
    # A sensitive value is not that of one person because no record shows whose it is.
    unknown = data.with_columns(pl.lit(None, dtype=pl.Int64).alias("person"), age=30, zip=pl.lit("1")).drop("pcode")
    lone = shoal.anonymize(unknown, **REQUEST, person="person", missing_person="own", link=link)
    assert "published_person" not in [one.code for one in lone.warnings]


def test_one_record_of_each_is_not_said_of_records_without_a_person() -> None:
    data = visits().with_columns(person=pl.when(pl.col("pcode") < 1040).then(None).otherwise(pl.col("pcode")))
    request = {**REQUEST, "person": "person", "direct_identifiers": ["pcode", "visit", "spelled"], "rows_per_person": 1}
    public = shoal.anonymize(data, **request, missing_person="own").public_certificate.to_json()
    assert "No person has more than one record" not in public
    assert "A record that did not show whose it is" in public
    assert (
        "No person has more than one record"
        in shoal.anonymize(
            visits(), **request | {"person": "pcode", "direct_identifiers": ["visit", "spelled"]}
        ).public_certificate.to_json()
    )


def test_pseudonyms_raise_no_warning() -> None:
    """They are random numbers: nobody knows that of a person, and no column of the input can be dropped for them."""
    data = visits().with_columns(pcode=pl.col("visit")).drop("visit", "spelled")
    made = shoal.anonymize(data, **REQUEST, person="pcode", link=True)
    assert "pseudonym" in made.data.columns
    assert not [one for one in made.warnings if one.column == "pseudonym"]


def test_a_plan_of_one_record_each_can_be_applied() -> None:
    request = {**REQUEST, "quasi_identifiers": ["gender"], "person": "pcode", "rows_per_person": 1}
    made = shoal.anonymize(visits(), **request, direct_identifiers=["visit", "spelled", "age", "zip"])
    again = shoal.apply(made.plan, visits())
    assert again.certificate.parameters["rows_per_person"] == 1
    assert again.data.height == 60


def test_estimates_of_a_population_are_not_promised_to_persons() -> None:
    """Two persons with thirty records in a group are no sample of thirty people; k-map counts persons itself."""
    models = [shoal.KMap(3, sampling_fraction=0.5), shoal.models.PopulationUniqueness(0.5, sampling_fraction=0.5)]
    request = {"quasi_identifiers": ["gender"], "direct_identifiers": ["visit", "spelled", "age", "zip", "disease"]}
    made = [shoal.anonymize(visits(), **request, person="pcode", k=2, privacy=[model]) for model in models]
    made.append(shoal.anonymize(visits(), **request, person="pcode", k=2))
    made.append(shoal.anonymize(visits(), **request, person="pcode", rows_per_person=1, privacy=models[0]))
    said = ["Estimates of people of the population" in one.public_certificate.to_json() for one in made]
    assert said == [False, True, False, False]
