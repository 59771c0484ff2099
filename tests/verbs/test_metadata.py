"""Metadata of a release come from its public files, and state no more than these show."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import DataError
from shoal.verbs.metadata import metadata

VISITS = pl.DataFrame({"id": [row // 2 for row in range(40)], "age": [20 + row // 10 for row in range(40)]})
COUNTS = ("healthdcatap:numberOfRecords", "healthdcatap:numberOfUniqueIndividuals")


def saved(folder: Path, table: Any = VISITS, **options: Any) -> Path:
    release = shoal.anonymize(table, quasi_identifiers=["age"], k=3, seed=1, **options)
    release.save(folder, about=shoal.About(title="Visits", institution="St. Mary's", date="2025-01-02"))
    shutil.rmtree(folder.with_name(f"{folder.name}.private"))
    return folder


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"direct_identifiers": ["id"]}, ["40", None]),
        ({"person": "id"}, ["40", None]),
        ({"person": "id", "rows_per_person": 1}, ["20", "20"]),
        ({"person": "id", "link": True}, ["40", "20"]),
    ],
)
def test_individuals_are_counted_if_the_files_show_them(
    options: dict[str, Any], expected: list[str | None], tmp_path: Path
) -> None:
    found = metadata(saved(tmp_path / "out", **options), "dcat")
    assert [found.get(name, {}).get("@value") for name in COUNTS] == expected
    assert found["dct:title"] == "Visits"
    assert found["dct:publisher"]["foaf:name"] == "St. Mary's"


def test_each_vocabulary_names_the_files_by_their_hash(tmp_path: Path) -> None:
    folder = saved(tmp_path / "out", direct_identifiers=["id"])
    digest = hashlib.sha256((folder / "release.csv").read_bytes()).hexdigest()
    made = {}
    for name in ("croissant", "dcat", "prov"):
        done = CliRunner().invoke(app, ["metadata", str(folder), "--as", name, "--license", "https://example.org/l"])
        assert digest in done.stdout
        made[name] = json.loads(done.stdout)
    croissant = made["croissant"]
    assert croissant["license"] == "https://example.org/l"
    assert [field["name"] for field in croissant["recordSet"][0]["field"]] == ["age"]
    files = {one["@id"] for one in croissant["distribution"]}
    assert {field["source"]["fileObject"]["@id"] for field in croissant["recordSet"][0]["field"]} <= files
    activity, file = made["prov"]["@graph"]
    assert file["prov:wasGeneratedBy"] == {"@id": activity["@id"]}
    assert file["prov:wasDerivedFrom"] == {"@id": activity["prov:used"]["@id"]}
    assert CliRunner().invoke(app, ["metadata", str(folder), "--as", "rdf"]).exit_code == 2


def test_what_is_no_release_or_was_changed_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no certificate"):
        metadata(tmp_path, "dcat")
    folder = saved(tmp_path / "out", direct_identifiers=["id"])
    (folder / "release.csv").write_text("age\n1\n")
    with pytest.raises(DataError, match="not the one that the certificate names"):
        metadata(folder, "dcat")


def test_a_table_in_several_files_is_counted(tmp_path: Path) -> None:
    VISITS.write_parquet(tmp_path / "visits.parquet")
    source = str(tmp_path / "visits.parquet")
    found = metadata(saved(tmp_path / "out", source, engine="stream", direct_identifiers=["id"]), "dcat")
    assert found[COUNTS[0]]["@value"] == "40"
    assert found["dcat:distribution"][0]["dct:title"].startswith("release.parquet/")
