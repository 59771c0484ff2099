"""Metadata of a release come from its public files, and state no more than these show."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
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
        done = CliRunner().invoke(
            app, ["report", str(folder), "--metadata", name, "--license", "https://example.org/l"]
        )
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
    assert CliRunner().invoke(app, ["report", str(folder), "--metadata", "rdf"]).exit_code == 2


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
    croissant = metadata(tmp_path / "out", "croissant")
    assert croissant["distribution"][-1]["includes"] == "release.parquet/*.parquet"
    (record,) = croissant["recordSet"]
    assert {field["source"]["fileSet"]["@id"] for field in record["field"]} == {croissant["distribution"][-1]["@id"]}


def described(folder: Path, vocabulary: str) -> Any:
    """Return the graph of a description, expanded by a library of its own."""
    rdflib = pytest.importorskip("rdflib")
    found = metadata(folder, vocabulary, url="https://example.org/visits", license="https://example.org/licence")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of its own parts
        return rdflib.Graph().parse(data=json.dumps(found), format="json-ld", publicID="https://example.org/visits")


def test_croissant_has_what_its_specification_requires(tmp_path: Path) -> None:
    graph = described(saved(tmp_path / "out", direct_identifiers=["id"]), "croissant")
    from rdflib import DCTERMS, RDF, SDO, Literal, Namespace

    terms = Namespace("http://mlcommons.org/croissant/")
    dataset = graph.value(predicate=RDF.type, object=SDO.Dataset)
    assert str(graph.value(dataset, DCTERMS.conformsTo)) == "http://mlcommons.org/croissant/1.0"
    for term in (SDO.name, SDO.description, SDO.url, SDO.license, SDO.datePublished, SDO.creator):
        assert graph.value(dataset, term), term
    (file,) = graph.objects(dataset, SDO.distribution)
    assert (file, RDF.type, terms.FileObject) in graph
    for term in (SDO.name, SDO.contentUrl, SDO.encodingFormat, SDO.sha256):
        assert graph.value(file, term), term
    (records,) = graph.objects(dataset, terms.recordSet)
    (field,) = graph.objects(records, terms.field)
    assert graph.value(field, terms.dataType) == SDO.Text
    source = graph.value(field, terms.source)
    assert graph.value(source, terms.fileObject) == file
    assert str(graph.value(graph.value(source, terms.extract), terms.column)) == str(Literal("age"))


def test_dcat_has_what_the_application_profiles_require(tmp_path: Path) -> None:
    graph = described(saved(tmp_path / "out", person="id", link=True), "dcat")
    from rdflib import DCAT, DCTERMS, RDF, XSD, Literal, Namespace, URIRef

    spdx, health = Namespace("http://spdx.org/rdf/terms#"), Namespace("http://healthdataportal.eu/ns/health#")
    dataset = graph.value(predicate=RDF.type, object=DCAT.Dataset)
    assert dataset == URIRef("https://example.org/visits")
    assert graph.value(dataset, DCTERMS.title)
    assert graph.value(dataset, DCTERMS.description)
    assert graph.value(dataset, DCTERMS.issued) == Literal("2025-01-02", datatype=XSD.date)
    counts = {"numberOfRecords": 40, "numberOfUniqueIndividuals": 20}
    for name, count in counts.items():
        assert graph.value(dataset, health[name]) == Literal(count, datatype=XSD.nonNegativeInteger)
    files = list(graph.objects(dataset, DCAT.distribution))
    assert len(files) == len(json.loads((tmp_path / "out/certificate.json").read_text())["output"]["files"])
    for file in files:
        assert graph.value(file, DCAT.accessURL) == dataset
        assert "iana.org" in graph.value(file, DCAT.mediaType)
        checksum = graph.value(file, spdx.checksum)
        assert graph.value(checksum, spdx.algorithm) == spdx.checksumAlgorithm_sha256
        assert graph.value(checksum, spdx.checksumValue).datatype == XSD.hexBinary


def test_prov_connects_the_files_with_an_activity_of_an_agent(tmp_path: Path) -> None:
    graph = described(saved(tmp_path / "out", direct_identifiers=["id"]), "prov")
    from rdflib import PROV, RDF

    activity = graph.value(predicate=RDF.type, object=PROV.Activity)
    original = graph.value(activity, PROV.used)
    assert (graph.value(activity, PROV.wasAssociatedWith), RDF.type, PROV.SoftwareAgent) in graph
    entities = set(graph.subjects(RDF.type, PROV.Entity))
    assert len(entities) == 2
    (file,) = entities - {original}
    assert graph.value(file, PROV.wasGeneratedBy) == activity
    assert graph.value(file, PROV.wasDerivedFrom) == original
