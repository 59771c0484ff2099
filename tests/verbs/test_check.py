"""The check of a pipeline, in the places that its recipes name, and the methods of frames."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.every import few

import shoal
from shoal.accessors import Accessor
from shoal.errors import ColumnError, ParameterError, ReleaseUnsafeError, UnsupportedError
from shoal.report import describe_audit

REQUEST = shoal.Request(
    quasi_identifiers=["age", "sex"], sensitive="ill", direct_identifiers=["name"], k=3, l=2, recoding="generalization"
)


def people() -> pl.DataFrame:
    rows = range(40)
    return pl.DataFrame(
        {
            "name": [f"n{row}" for row in rows],
            "age": [20 + row * 7 % 30 for row in rows],
            "sex": ["fm"[row % 2] for row in rows],
            "ill": [["flu", "cold", "cough"][row % 3] for row in rows],
        }
    )


@pytest.fixture(scope="module")
def released() -> pl.DataFrame:
    return shoal.anonymize(people(), REQUEST, seed=1).data


def test_a_release_passes_and_stays_the_same_object(released: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "release.toml").write_text(REQUEST.to_toml())
    assert shoal.check_release(released, REQUEST) is released
    assert released.pipe(shoal.check_release, tmp_path / "release.toml") is released


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: people(), "does not publish: 'name'"),
        (lambda made: people().drop("name"), "fails k-anonymity"),
        (lambda made: made.with_columns(note=pl.lit("x")), "does not publish: 'note'"),
        (lambda made: made.with_columns(ill=pl.lit("flu")), "fails l-diversity"),
    ],
)
def test_what_is_not_as_requested_stops(released: pl.DataFrame, change: Any, said: str) -> None:
    with pytest.raises(ReleaseUnsafeError, match=said):
        shoal.check_release(change(released), REQUEST)


def test_missing_columns_and_models_are_errors(released: pl.DataFrame) -> None:
    with pytest.raises(ColumnError):
        shoal.check_release(released.drop("sex"), REQUEST)
    with pytest.raises(ParameterError, match="no model"):
        shoal.check_release(released, shoal.Request(quasi_identifiers=["age"]))


def test_linked_records_are_judged_as_persons() -> None:
    visits = pl.DataFrame({"id": [row // 2 for row in range(40)], "age": [20 + row // 10 for row in range(40)]})
    request = shoal.Request(quasi_identifiers=["age"], person="id", link=True, k=3)
    made = shoal.anonymize(visits, request, seed=1).data
    assert shoal.check_release(made, request) is made


@pytest.mark.drawn
def test_pandera_checks_a_release(released: pl.DataFrame) -> None:
    pandera = pytest.importorskip("pandera.polars")

    def safe(data: Any) -> bool:
        return shoal.check_release(data.lazyframe.collect(), REQUEST) is not None

    schema = pandera.DataFrameSchema({"ill": pandera.Column(str)}, checks=pandera.Check(safe))
    assert schema.validate(released).equals(released)
    with pytest.raises((pandera.errors.SchemaError, ReleaseUnsafeError)):
        schema.validate(people())


def test_relations_of_duckdb_are_tables() -> None:
    duckdb = pytest.importorskip("duckdb")
    visits = people()
    relation = duckdb.sql("SELECT age, sex, ill FROM visits")
    options: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill", "k": 3, "seed": 1}
    release = shoal.anonymize(relation, **options)
    expected = shoal.anonymize(visits.drop("name").to_arrow(), **options).data
    assert pl.from_arrow(release.data).equals(pl.from_arrow(expected))
    assert shoal.audit(duckdb.arrow(release.data), quasi_identifiers=["age", "sex"]).achieved.k >= 3


@pytest.mark.drawn
@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas"])
def test_frames_have_the_verbs(kind: str) -> None:
    frame = {"polars": people(), "lazy": people().lazy(), "pandas": people().to_pandas()}[kind]
    made = frame.shoal.anonymize(REQUEST, seed=1)
    assert made.certificate.achieved["k"] >= 3
    roles: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill"}
    assert frame.shoal.audit(**roles) == shoal.audit(frame, **roles)
    assert frame.shoal.risk(quasi_identifiers=["age", "sex"]).to_dict()
    assert repr(frame.shoal.inspect()) == repr(shoal.inspect(frame))
    assert isinstance(frame.shoal, Accessor)


def test_stars_may_match_any_value() -> None:
    """Rows are compatible if no column tells them apart: k of an audit is the smallest number of such rows."""
    for seed in range(few(40)):
        draw = random.Random(seed)
        rows = [tuple(draw.choice("01*") for _ in range(3)) for _ in range(draw.randrange(1, 12))]
        matching = [sum(all("*" in (a, b) or a == b for a, b in zip(x, y, strict=True)) for y in rows) for x in rows]
        frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row").with_columns(ill=pl.Series(["x"] * len(rows)))
        k = draw.randrange(1, 5)
        found = shoal.audit(frame, quasi_identifiers=["a", "b", "c"], sensitive="ill", k=k, stars="wildcard")
        assert (found.achieved.k, found.unique_rows) == (min(matching), matching.count(1)), seed
        assert found.risk is not None
        assert found.risk.average == pytest.approx(sum(1 / one for one in matching) / len(rows)), seed
        assert sum(one.sizes.sum() for one in found.failures) == sum(one < k for one in matching), seed
        for failure in found.failures:
            order = list(dict.fromkeys(rows))
            assert [order[at - 1] for at in failure.numbers] == [rows[at - 1] for at in failure.first_rows], seed
    frame = pl.DataFrame({"a": ["1", "1", "*"], "b": ["1", "*", "1"], "ill": ["x", "y", "x"]})
    columns: dict[str, Any] = {"quasi_identifiers": ["a", "b"], "sensitive": "ill"}
    assert [shoal.audit(frame, **columns, stars=stars).achieved.k for stars in ("own", "wildcard")] == [1, 3]
    for refused in ({"l": 2}, {"person": "ill", "sensitive": None}, {"qi_sets": ["a", "b"]}):
        with pytest.raises(UnsupportedError, match="stars='own'"):
            shoal.audit(frame, **{**columns, **refused}, stars="wildcard")


def test_an_audit_names_the_columns_that_are_certain() -> None:
    frame = pl.DataFrame({"age": [30] * 3 + [40] * 3, "ill": ["flu"] * 4 + ["gout"] * 2, "pay": [1, 2, 3, 4, 5, 5]})
    found = shoal.audit(frame, quasi_identifiers=["age"], sensitive=["ill", "pay"])
    assert found.homogeneous == ("ill",)
    assert "In some group all records have the same value of 'ill'" in " ".join(describe_audit(found.to_dict()))
    found = shoal.audit(frame[3:], quasi_identifiers=["age"], sensitive=["ill", "pay"])
    assert (found.homogeneous, "homogeneous" in found.to_dict()) == ((), False)
