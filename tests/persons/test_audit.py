"""Audits and reports count persons if a column says who they are."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from tests.persons.test_units import QI, SECRET, sixty

import shoal
from shoal.cli.main import app

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
    assert found.persons == tuple(made.certificate.persons)


def test_the_command_line(tmp_path: Path) -> None:
    sixty().write_csv(tmp_path / "t.csv")
    words = ["audit", str(tmp_path / "t.csv"), "--qi", "age,zip", "--sensitive", "disease", "-k", "5", "--json"]
    assert CliRunner().invoke(app, words).exit_code == 0
    called = CliRunner().invoke(app, [*words, "--person", "patient"])
    assert called.exit_code == 3
    assert json.loads(called.stdout)["persons"][0]["largest_share"] == 1.0


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
