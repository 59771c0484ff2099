"""People with several records are warned of in every engine, whatever role their column has, and refused if asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from tests.disclosure_risk.test_persons import visits
from tests.every import every

import shoal
from shoal.cli.main import app
from shoal.engines import persons
from shoal.errors import WarnedError

SECRET = "Zyzzyva"
ROLES: list[dict[str, Any]] = [
    {"direct_identifiers": ["visit", "pcode"]},
    {"direct_identifiers": ["visit"], "insensitive": ["pcode"]},
    {"direct_identifiers": ["visit"], "sensitive": ["disease", "pcode"], "l": 2},
    {"direct_identifiers": ["visit"], "quasi_identifiers": ["age", "gender", "zip", "pcode"]},
]
ASKED = {"quasi_identifiers": ["age", "gender", "zip"], "sensitive": "disease", "k": 5, "l": 4}


def table() -> pl.DataFrame:
    return visits(60).with_columns(pcode=pl.format(f"{SECRET} {{}}", "pcode"))


def raised(release: Any) -> list[tuple[str | None, str]]:
    assert "repeated_person" not in str(release.public_certificate.to_dict())
    found = [(one.column, one.text) for one in release.warnings if one.code == "repeated_person"]
    assert SECRET not in str(found)
    return found


@every("roles", ROLES)
@every("way", ["frame", "csv", "stream-parquet", "stream-csv", "stream-lazy", "stream-folder"], drawn=True)
def test_every_engine_warns_of_every_role(tmp_path: Path, way: str, roles: dict[str, Any]) -> None:
    frame = table()
    frame.write_csv(tmp_path / "t.csv")
    (tmp_path / "parts").mkdir()
    frame[:200].write_parquet(tmp_path / "parts/a.parquet")
    frame[200:].write_parquet(tmp_path / "parts/b.parquet")
    frame.write_parquet(tmp_path / "t.parquet")
    data = {
        "frame": frame,
        "csv": tmp_path / "t.csv",
        "stream-parquet": tmp_path / "t.parquet",
        "stream-csv": tmp_path / "t.csv",
        "stream-lazy": frame.lazy(),
        "stream-folder": tmp_path / "parts",
    }[way]
    engine: Any = "stream" if way.startswith("stream") else "memory"
    release = shoal.anonymize(data, engine=engine, **{**ASKED, **roles})
    ((column, text),) = raised(release)
    assert column == "pcode"
    assert "300 rows of 60 values of 'pcode', at most 5 of one" in text
    assert "Name the column of persons, person='pcode': groups count persons then." in text
    with pytest.raises(WarnedError):
        release.save(tmp_path / "out", strict=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.drawn
@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_audits_warn_and_releases_are_no_persons(tmp_path: Path, engine: Any) -> None:
    table().write_parquet(tmp_path / "t.parquet")
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "gender", "zip"], "sensitive": "disease", "engine": engine}
    found = shoal.audit(tmp_path / "t.parquet", **asked).warnings
    # Columns without a role are not judged if the table is read in batches.
    alone = [("near_unique_insensitive", "visit")] if engine == "memory" else []
    assert [(one.code, one.column) for one in found] == [*alone, ("repeated_person", "pcode")]
    assert not any(SECRET in one.text for one in found)
    # All rows of a group have the same quasi-identifiers, as those of a person do.
    release = shoal.anonymize(
        visits(60, each=1), **{**ASKED, "l": 2}, direct_identifiers=["visit", "pcode"], recoding="generalization"
    )
    release.data.write_parquet(tmp_path / "release.parquet")
    assert shoal.audit(tmp_path / "release.parquet", **asked).warnings == ()


@pytest.mark.thorough
@pytest.mark.xdist_group("spark")
def test_spark_warns_as_well(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(table().to_arrow())
    release = shoal.anonymize(frame, **ASKED, **ROLES[0])
    assert [column for column, _ in raised(release)] == ["pcode"]
    with pytest.raises(WarnedError):
        release.save(tmp_path / "out", strict=True)
    without = shoal.anonymize(frame.drop("pcode"), **ASKED, direct_identifiers=["visit"])
    assert [column for column, _ in raised(without)] == [None]


@pytest.mark.thorough
@pytest.mark.xdist_group("spark")
def test_spark_looks_at_samples_of_whole_values(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persons, "_SAMPLED_ROWS", 500)
    release = shoal.anonymize(spark.createDataFrame(visits(600).to_arrow()), **ASKED, **ROLES[0])
    ((column, text),) = raised(release)
    assert column == "pcode"
    assert "in a sample, at most 5 of one" in text


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_without_a_column_that_says_who_combinations_are_told(engine: Any) -> None:
    data: Any = table().drop("pcode")
    release = shoal.anonymize(
        data if engine == "memory" else data.lazy(), engine=engine, **ASKED, direct_identifiers=["visit"]
    )
    ((column, text),) = raised(release)
    assert column is None
    assert "No column says who a record is of" in text


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_one_record_per_person_is_no_warning(engine: Any) -> None:
    data: Any = visits(300, each=1)
    asked = {**ASKED, "l": 2, "direct_identifiers": ["visit", "pcode"]}
    release = shoal.anonymize(data if engine == "memory" else data.lazy(), engine=engine, **asked)
    assert raised(release) == []


def test_counts_of_a_table_in_pieces_are_said_to_be_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persons, "_SAMPLED_ROWS", 500)
    release = shoal.anonymize(visits(600).lazy(), engine="stream", **ASKED, **ROLES[0])
    ((column, text),) = raised(release)
    assert column == "pcode"
    assert "in a sample, at most 5 of one" in text


def test_columns_of_codes_are_no_warning() -> None:
    frame = visits(3000, each=1).with_columns(
        admission_type_id=pl.col("visit") % 8, admission_source_id=pl.col("visit") % 17, status_id=pl.col("visit") % 13
    )
    codes = ["admission_type_id", "admission_source_id", "status_id"]
    asked = {**ASKED, "l": 2}
    release = shoal.anonymize(frame, **asked, direct_identifiers=["visit", "pcode"], insensitive=codes)
    assert raised(release) == []


@pytest.mark.drawn
@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_the_command_line_refuses_with_strict(tmp_path: Path, engine: str) -> None:
    table().write_csv(tmp_path / "t.csv")
    words = ["anonymize", str(tmp_path / "t.csv"), "--id", "visit,pcode", "--qi", "age,gender,zip"]
    words += ["--sensitive", "disease", "-k", "5", "-l", "4", "-o", str(tmp_path / "out"), "--engine", engine]
    refused = CliRunner().invoke(app, [*words, "--strict"])
    assert refused.exit_code == 1
    assert "Name the column of persons, --person pcode" in " ".join(refused.stderr.split())
    assert not (tmp_path / "out").exists()
    made = CliRunner().invoke(app, words)
    assert made.exit_code == 0
    for path in (one for one in (tmp_path / "out").rglob("*") if one.is_file()):
        assert b"pcode" not in path.read_bytes()
        assert b"repeated_person" not in path.read_bytes()
    assert "Each record is assumed to belong to a different person" in (tmp_path / "out/certificate.json").read_text()
    assert "Each record is assumed to belong to a different person" in (tmp_path / "out/report.html").read_text()
