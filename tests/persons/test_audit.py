"""Audits and reports count persons if a column says who they are."""

from __future__ import annotations

import json
import tomllib
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import every
from tests.oracles.linked import bundles_of, is_linked_safe
from tests.oracles.person_risk import distinct_persons, risk_of_persons
from tests.persons.test_units import QI, SECRET, sixty

import shoal
from shoal.cli.main import app
from shoal.errors import ColumnError, UnsupportedError
from shoal.report import collect_review, describe_audit

ASKED: dict[str, Any] = {"quasi_identifiers": QI, "sensitive": "disease", "person": "patient"}


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_an_original_fails_for_persons_what_it_meets_for_records(tmp_path: Path, engine: str) -> None:
    sixty().write_parquet(tmp_path / "t.parquet")
    by_records = shoal.audit(tmp_path / "t.parquet", quasi_identifiers=QI, sensitive="disease", k=5, l=4, engine=engine)
    assert by_records.failures == ()
    found = shoal.audit(tmp_path / "t.parquet", **ASKED, k=5, l=4, engine=engine)
    ((failure,),) = [found.failures]
    assert (failure.attribute, len(failure.numbers)) == ("patient", 60)
    assert found.persons[0]["confidence"] == {"disease": {"largest": 1.0, "limit": "1/4", "units_above": 60}}
    assert [one.code for one in found.warnings] == ["sure_of_persons"]
    assert SECRET not in found.to_json()


def test_a_release_with_the_column_of_its_original() -> None:
    data = sixty()
    made = shoal.anonymize(data, **ASKED, k=5)
    beside = made.data.with_columns(patient=data["patient"].gather(made.rows))
    found = shoal.audit(beside, **ASKED, k=5)
    assert found.failures == ()
    assert found.persons == tuple(
        {name: figure for name, figure in one.items() if name != "risk_before"} for one in made.certificate.persons
    )


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("asked", "stated", "sentence"),
    [
        ({"rows_per_person": 1}, ("one_record_each",), "each person has one record in it"),
        ({"l": 2}, ("persons", "records"), "persons are counted, who may have several records"),
        ({"person": None}, (), "Each record is assumed to belong to a different person"),
    ],
)
def test_what_a_certificate_states_of_persons_is_passed_on(
    tmp_path: Path, asked: dict[str, Any], stated: tuple[str, ...], sentence: str
) -> None:
    shoal.anonymize(sixty().drop("patient") if "person" in asked else sixty(), **{**ASKED, "k": 5, **asked}).save(
        tmp_path / "out"
    )
    found = shoal.audit(tmp_path / "out")
    assert (found.stated, found.to_dict().get("stated", [])) == (stated, [*stated])
    assert sum(sentence in one for one in describe_audit(found.to_dict())) == 1
    assert ("cannot be recounted" in collect_review(found.to_dict())["unit"]) == bool(stated)
    # What is said of sensitive values is about one record alone, if persons may have several.
    assert ("By one record alone" in " ".join(describe_audit(found.to_dict()))) == ("persons" in stated)
    # A column of persons shows what the cells alone do not.
    if stated:
        beside = shoal.audit(sixty(), **ASKED)
        assert beside.stated == ()


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_sensitive_values_of_their_own_are_warned_of(tmp_path: Path, engine: str) -> None:
    table = pl.DataFrame({"age": [30] * 40, "cost": [*range(30), *[7] * 10], "note": ["x", "y"] * 20})
    table.write_parquet(tmp_path / "t.parquet")
    named = {"quasi_identifiers": ["age"], "sensitive": ["cost", "note"]}
    (found,) = shoal.audit(tmp_path / "t.parquet", **named, engine=engine).warnings
    assert (found.code, found.column, found.found.arguments["share"]) == ("near_unique_sensitive", "cost", 29 / 40)
    assert found.advice is None


def test_the_command_line(tmp_path: Path) -> None:
    sixty().write_csv(tmp_path / "t.csv")
    words = ["audit", str(tmp_path / "t.csv"), "--qi", "age,zip", "--sensitive", "disease", "-k", "5", "--json"]
    assert CliRunner().invoke(app, words).exit_code == 0
    called = CliRunner().invoke(app, [*words, "--person", "patient"])
    assert called.exit_code == 3
    assert json.loads(called.stdout)["persons"][0]["largest_share"] == 1.0


@pytest.mark.drawn
def test_inspection_proposes_persons(tmp_path: Path) -> None:
    sixty().with_columns(pl.col("patient").str.replace(f"{SECRET} ", "P")).write_csv(tmp_path / "t.csv")
    called = CliRunner().invoke(app, ["inspect", str(tmp_path / "t.csv"), "--spec-out", str(tmp_path / "spec.toml")])
    assert called.exit_code == 0, called.output
    spec = tomllib.loads((tmp_path / "spec.toml").read_text())
    assert spec["columns"]["person"] == ["patient"]
    assert "direct_identifiers" not in spec["columns"]
    made = CliRunner().invoke(app, ["anonymize", "--spec", str(tmp_path / "spec.toml"), "-o", str(tmp_path / "out")])
    assert made.exit_code == 0, made.output
    certificate = json.loads((tmp_path / "out.private/certificate.json").read_text())
    assert certificate["persons"][0]["largest_share"] <= 0.2
    # The spec names a column that the release does not have.
    judged = ["audit", str(tmp_path / "out/release.csv"), "--spec", str(tmp_path / "spec.toml")]
    assert CliRunner().invoke(app, judged).exit_code == 0


def few_visits(seed: int) -> pl.DataFrame:
    """Draw up to twelve rows of up to five persons."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 13))
    drawn = {name: rng.integers(0, size, rows) for name, size in (("a", 2), ("b", 2), ("s", 3), ("u", 5))}
    return pl.DataFrame(drawn)


@every("seed", range(100))
def test_risk_counts_persons_as_defined(seed: int) -> None:
    frame = few_visits(seed)
    rows, owners = frame["a", "b"].rows(), frame["u"].to_list()
    expected = risk_of_persons(distinct_persons(rows, owners, rows), owners)
    found = shoal.audit(frame, quasi_identifiers=["a", "b"], person="u", k=3)
    assert found.risk is not None
    assert found.risk.highest == float(max(expected.values()))
    assert found.risk.average == pytest.approx(float(sum(expected.values()) / len(expected)))
    assert found.risk.records_above == sum(one > Fraction(1, 3) for one in expected.values()) / len(expected)
    assert found.unique_persons == sum(one == 1 for one in expected.values())
    shares = [Fraction(rows_of.count(one), len(rows_of)) for rows_of in groups_of(rows, owners) for one in rows_of]
    assert found.persons[0]["k"] == floor(1 / max(shares))
    assert bool(found.failures) == (found.persons[0]["k"] < 3)


def groups_of(rows: list[Any], owners: list[Any]) -> list[list[Any]]:
    """List the persons of the rows of each group."""
    return [[owner for row, owner in zip(rows, owners, strict=True) if row == one] for one in set(rows)]


@every("engine", ["memory", "stream"])
@every("seed", range(60))
def test_linked_rows_are_judged_by_bundles(tmp_path: Path, seed: int, engine: str) -> None:
    frame = few_visits(seed)
    frame.write_parquet(tmp_path / "t.parquet")
    rows = [(unit, (a, b), value) for a, b, value, unit in frame.rows()]
    sizes = [len(one) for one in bundles_of(rows)]
    found = shoal.audit(
        tmp_path / "t.parquet", quasi_identifiers=["a", "b"], sensitive="s", person="u", link=True, k=2, l=2,
        engine=engine,
    )  # fmt: skip
    assert found.achieved.bundles is not None
    assert (found.achieved.bundles.k, found.achieved.bundles.bundles) == (min(sizes), len(sizes))
    assert found.risk is not None
    assert found.risk.highest == 1 / min(sizes)
    assert found.unique_persons == sizes.count(1)
    assert (found.failures == ()) == is_linked_safe(rows, 2, 2)
    for failure in found.failures:
        assert failure.of == "persons"
        if failure.attribute is None:
            assert failure.sizes.tolist() == [1] * sizes.count(1)


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_two_forms_of_a_missing_number_are_one_value_of_linked_rows(tmp_path: Path, engine: str) -> None:
    # Both persons publish a missing age and 30, and both have a missing value.
    ages, values = [float("nan"), 30.0, None, 30.0], [float("nan"), 1.0, None, 2.0]
    pl.DataFrame({"u": [1, 1, 2, 2], "age": ages, "s": values}).write_parquet(tmp_path / "t.parquet")
    found = shoal.audit(
        tmp_path / "t.parquet", quasi_identifiers="age", sensitive="s", person="u", link=True, k=2, l=2, engine=engine
    )
    assert found.achieved.to_dict()["linked"] == {"units": 2, "bundles": 1, "k": 2, "l": {"s": 1.0}, "t": {"s": 0.0}}
    assert [one.attribute for one in found.failures] == ["s"]


class TestLinkedReleases:
    def test_the_certificate_declares_them(self, tmp_path: Path) -> None:
        made = shoal.anonymize(sixty(), **ASKED, k=5, link=True, seed=1)
        made.save(tmp_path / "out")
        for data in (made, tmp_path / "out", tmp_path / "out" / "release.csv"):
            found = shoal.audit(data, k=5)
            assert found.failures == ()
            assert found.achieved.to_dict()["linked"] == made.certificate.achieved["linked"]
        assert len(shoal.audit(made, k=61).failures) == 1

    def test_on_the_command_line(self, tmp_path: Path) -> None:
        shoal.anonymize(sixty(), **ASKED, k=5, link=True, seed=1).save(tmp_path / "out")
        called = CliRunner().invoke(app, ["audit", str(tmp_path / "out"), "-k", "5", "-o", str(tmp_path / "page")])
        assert called.exit_code == 0, called.output
        assert "Every person shares the quasi-identifiers of all records" in " ".join(called.stdout.split())
        page = (tmp_path / "page" / "report.html").read_text()
        assert "whose records are linked" in page
        assert "Each record is taken" not in page
        failed = CliRunner().invoke(app, ["audit", str(tmp_path / "out"), "-k", "99", "-o", str(tmp_path / "worse")])
        assert failed.exit_code == 3
        assert "persons; first row" in failed.stderr
        assert "with 60 persons" in (tmp_path / "worse" / "report.html").read_text()

    def test_errors(self) -> None:
        with pytest.raises(ColumnError, match="person"):
            shoal.audit(sixty(), quasi_identifiers=QI, link=True)
        with pytest.raises(UnsupportedError, match="models of the release as a whole count records"):
            shoal.audit(sixty(), quasi_identifiers=QI, person="patient", link=True, privacy=shoal.AverageRisk(0.5))


def test_the_page_counts_persons(tmp_path: Path) -> None:
    sixty().write_csv(tmp_path / "t.csv")
    words = ["audit", str(tmp_path / "t.csv"), "--qi", "age,zip", "--sensitive", "disease", "--person", "patient"]
    called = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "page")])
    assert called.exit_code == 0, called.output
    assert "60 persons are unique" in " ".join(called.stdout.split())
    page = (tmp_path / "page" / "report.html").read_text()
    assert "The figures of risk count persons: 60" in page
    assert SECRET not in page + called.output


class TestReports:
    def pages(self, folder: Path, **more: Any) -> tuple[str, str]:
        shoal.anonymize(sixty(), **ASKED, k=5, seed=1, **more).save(folder / "out")
        return (folder / "out" / "report.html").read_text(), (folder / "out.private" / "report.html").read_text()

    def test_the_stewards_page_counts_persons(self, tmp_path: Path) -> None:
        public, private = self.pages(tmp_path)
        assert "Of 60 persons in the file, 60 could be found" in private
        assert "a person is found from one record: the highest probability" in private
        # Whose the records are does not follow from the published table.
        assert "persons in the file" not in public
        assert "a person is found" not in public

    def test_both_pages_of_linked_rows_count_bundles(self, tmp_path: Path) -> None:
        for page in self.pages(tmp_path, link=True):
            assert "60 persons are in" in page
            assert "a person is found: the highest probability" in page
            assert "a record is found" not in page

    @every("seed", range(30))
    def test_the_risk_before_is_that_of_the_original(self, seed: int) -> None:
        frame = few_visits(seed)
        most = frame["u"].value_counts()["count"].max()
        if 2 * int(most) > frame.height:  # type: ignore[arg-type]
            return
        made = shoal.anonymize(frame.drop("s"), quasi_identifiers=["a", "b"], person="u", k=2, seed=1)
        (figures,) = made.certificate.persons
        rows, owners = frame["a", "b"].rows(), frame["u"].to_list()
        expected = risk_of_persons(distinct_persons(rows, owners, rows), owners)
        assert figures["risk_before"]["highest"] == float(max(expected.values()))
        assert figures["risk_before"]["average"] == pytest.approx(float(sum(expected.values()) / len(expected)))
        assert figures["risk"]["highest"] <= 0.5


def test_inspection_measures_the_risk_of_proposed_persons(tmp_path: Path) -> None:
    data = sixty().with_columns(pl.col("patient").str.replace(f"{SECRET} ", "P"))
    found = shoal.inspect(data)
    assert [column.name for column in found.columns if column.role == "person"] == ["patient"]
    assert (found.risk["unit"], found.risk["units"], found.risk["smallest_class"]) == ("patient", 60, 1)
    assert found.risk["sample_uniques"] == 1.0
    data.write_csv(tmp_path / "t.csv")
    called = CliRunner().invoke(app, ["inspect", str(tmp_path / "t.csv"), "-o", str(tmp_path / "page")])
    assert called.exit_code == 0, called.output
    assert "as they are, 60 of 60 persons would share" in " ".join(called.stdout.split())
    assert "of the persons share the proposed" in next((tmp_path / "page").glob("*.html")).read_text()
