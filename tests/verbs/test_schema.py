"""Each schema accepts what shoal writes, with every key of it, and refuses something else."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from tests.cli.test_spec import FULL

import shoal
from shoal.verbs.schema import SCHEMAS, schema


def strict(name: str) -> jsonschema.Draft202012Validator:
    """The schema, which then knows all keys of the objects that it describes."""
    made = copy.deepcopy(schema(name))
    jsonschema.Draft202012Validator.check_schema(made)
    for kind in made.get("$defs", {}).values():
        kind["additionalProperties"] = False
    return jsonschema.Draft202012Validator(made)


def is_written(name: str, path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text())
    strict(name).validate(found)
    assert found["$schema"] == schema(name)["$id"]
    return dict(found)


def visits() -> pl.DataFrame:
    rows = range(60)
    return pl.DataFrame(
        {
            "person": [row // 2 for row in rows],
            "age": [20 + row % 30 for row in rows],
            "sex": ["fm"[row // 2 % 2] for row in rows],
            "ill": [["flu", "cold", "cough"][row % 3] for row in rows],
        }
    )


@pytest.mark.drawn
@pytest.mark.parametrize("options", [{"person": "person"}, {"direct_identifiers": ["person"], "publish_proof": True}])
@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_files_of_a_release_have_the_keys_of_their_schemas(
    options: dict[str, Any], recoding: Any, tmp_path: Path
) -> None:
    proof = options.pop("publish_proof", False)
    about = shoal.About(title="Visits", signatures=("Officer",))
    release = shoal.anonymize(
        visits(), quasi_identifiers=["age", "sex"], sensitive="ill", k=3, seed=1, recoding=recoding, **options
    )
    release.save(tmp_path / "out", publish_proof=proof, about=about)
    public = is_written("certificate", tmp_path / "out/certificate.json")
    assert ("proof" in public) is proof
    private = is_written("certificate", tmp_path / "out.private/certificate.json")
    is_written("report", tmp_path / "out/report.json")
    is_written("report", tmp_path / "out.private/report.json")
    plan = is_written("plan", tmp_path / "out.private/plan.json")
    # Each refuses the others, and a certificate without its privacy.
    assert not strict("report").is_valid(private)
    assert not strict("plan").is_valid(public)
    assert not strict("certificate").is_valid(plan)
    assert not strict("certificate").is_valid({**private, "achieved": None})


def test_certificates_of_a_series_have_the_keys_of_the_schema(tmp_path: Path) -> None:
    with shoal.Ledger(tmp_path / "releases.db", create=True) as ledger:
        series = ledger.start("visits", m=2, identifier="person", quasi_identifiers=["age"], sensitive="ill")
        series.publish(visits()[::2].drop("sex")).save(tmp_path / "out")
    is_written("certificate", tmp_path / "out/certificate.json")
    is_written("certificate", tmp_path / "out.private/certificate.json")


def test_spec_files_are_completed_and_checked() -> None:
    validator = strict("spec")
    validator.validate(tomllib.loads(FULL))
    roles = {"quasi_identifiers": ["age", "zip"], "sensitive": "ill", "qi_sets": ["age,zip:5"]}
    request = shoal.Request(**roles, l=3, coarsen={"zip": shoal.Prefix(3)})
    validator.validate(tomllib.loads(request.to_toml()))
    assert (
        "Quasi-identifiers" in schema("spec")["properties"]["columns"]["properties"]["quasi_identifiers"]["description"]
    )
    for wrong in (
        {"quasi_identifiers": ["age"]},
        {"privacy": {"k": [2]}},
        {"recoding": "stars"},
        {"columns": {"x": []}},
    ):
        assert not validator.is_valid(wrong), wrong


def test_the_proposal_of_inspect_is_a_spec_file_of_the_schema(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from shoal.cli.main import app

    rows = [
        f"{100 + row};{row % 28 + 1:02}.03.19{50 + row % 40};{row},5;{'k.A.' if row == 7 else 60 + row}\n"
        for row in range(80)
    ]
    (tmp_path / "in.csv").write_bytes("".join(["Fallnr;Geburtsdatum;Größe;Gewicht\n", *rows]).encode("cp1252"))
    done = CliRunner().invoke(app, ["inspect", str(tmp_path / "in.csv"), "--spec-out", str(tmp_path / "spec.toml")])
    assert done.exit_code == 0, done.output
    proposed = tomllib.loads((tmp_path / "spec.toml").read_text("utf-8"))
    assert proposed["reading"]["decimal"] == ","
    strict("spec").validate(proposed)


def test_the_command_prints_each() -> None:
    from click.testing import CliRunner

    from shoal.cli.main import app

    for name in SCHEMAS:
        assert json.loads(CliRunner().invoke(app, ["schema", name]).stdout) == json.loads(json.dumps(schema(name)))
    assert CliRunner().invoke(app, ["schema", "ledger"]).exit_code == 2
