"""Two tables, persons and their rows: joined by a key, published as two with pseudonyms, read back as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import every

import shoal
from shoal.attacks import homogeneity_attack
from shoal.cli.main import app
from shoal.errors import ColumnError, DataError, ParameterError, ReleaseUnsafeError, UsageError
from shoal.release.row_store import split_tables
from shoal.verification.published_folder import join_published, read_published

ASKED: dict[str, Any] = {
    "key": "patient", "quasi_identifiers": ["age", "sex", "ward"], "sensitive": "disease", "link": True, "k": 3,
}  # fmt: skip


def tables(persons: int = 30, seed: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(persons), rng.integers(1, 4, persons))
    rows = {"patient": owner, "ward": rng.choice([*"abc"], len(owner)), "disease": rng.choice([*"pqrst"], len(owner))}
    people = {"patient": range(persons), "age": rng.integers(30, 50, persons), "sex": rng.choice([*"fm"], persons)}
    return pl.DataFrame(people), pl.DataFrame(rows).sample(fraction=1, shuffle=True, seed=seed)


@every("recoding", ["suppression", "generalization"], drawn=True)
@every("format", ["csv", "parquet", "xlsx"], drawn=True)
def test_both_tables_are_published_and_read_as_one(recoding: Any, format: str, tmp_path: Path) -> None:  # noqa: A002
    persons, rows = tables()
    release = shoal.anonymize(
        persons, rows=rows, **ASKED, recoding=recoding, seed=1, output=tmp_path / "out", format=format
    )
    one = shoal.anonymize(
        rows.join(persons, on="patient"), **{**ASKED, "key": None}, person="patient", recoding=recoding, seed=1
    )
    assert release.data.height == one.data.height
    assert release.certificate.cost.stars == one.certificate.cost.stars
    published = release.tables
    assert {name: table.columns for name, table in published.items()} == {
        "persons": ["pseudonym", "age", "sex"], "rows": ["pseudonym", "ward", "disease"],
    }  # fmt: skip
    assert published["persons"]["pseudonym"].n_unique() == published["persons"].height == persons.height
    names = sorted(path.name for path in (tmp_path / "out").iterdir() if path.suffix == f".{format}")
    assert names == [f"persons.{format}", f"rows.{format}"]
    # Every row has the true values of its person.
    original = rows.join(persons, on="patient", maintain_order="left")[release.rows]
    for name in ("age", "sex", "ward", "disease"):
        for cell, value in zip(release.data[name].cast(pl.String), original[name].cast(pl.String), strict=True):
            assert cell in ("*", value) or value in cell or cell.startswith("[")
    found = read_published(tmp_path / "out")
    assert found.frame.height == rows.height - release.certificate.input["linked"]["rows_left_out"]
    assert found.certificate["parameters"]["two_tables"] is True
    audit = shoal.audit(tmp_path / "out", k=3)
    assert audit.violations == ()
    assert audit.achieved.to_dict() == release.certificate.achieved
    assert homogeneity_attack(tmp_path / "out").to_dict()["attempts"] == persons.height
    with pytest.raises(DataError, match="one of the two tables of a release"):
        shoal.audit(tmp_path / "out" / f"rows.{format}", k=3)
    assert "two tables" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_frames_stay_of_their_kind() -> None:
    persons, rows = tables()
    release = shoal.anonymize(persons.to_pandas(), rows=rows.to_pandas(), **ASKED, insensitive=[], seed=1)
    assert isinstance(release.data, pd.DataFrame)
    assert {name: type(table) for name, table in release.tables.items()} == dict.fromkeys(
        ("persons", "rows"), pd.DataFrame
    )
    whole = shoal.anonymize(
        rows.join(persons, on="patient"), **{**ASKED, "key": None}, person="patient", seed=1
    )  # fmt: skip
    assert list(whole.tables) == ["release"]


@pytest.mark.drawn
def test_keys_may_have_different_types() -> None:
    """Numbers match numbers, and text matches text in its normalized form."""
    persons, rows = tables()
    for kind in (pl.Float64, pl.String):
        release = shoal.anonymize(persons, rows=rows.with_columns(pl.col("patient").cast(kind)), **ASKED, seed=1)
        assert release.tables["persons"].height == persons.height
    text = pl.col("patient").cast(pl.String)
    spelled = rows.with_columns(text + pl.lit("e\u0301"))
    release = shoal.anonymize(persons.with_columns(text + pl.lit("\u00e9")), rows=spelled, **ASKED, seed=1)
    assert release.tables["persons"].height == persons.height


def test_large_integers_of_different_types_stay_different() -> None:
    persons, rows = tables()
    # Neighbors above 2^53 are one number as floats.
    moved = (pl.col("patient").cast(pl.UInt64) + 2**60).alias("patient")
    kept = shoal.anonymize(persons.with_columns(moved), rows=rows.with_columns(moved.cast(pl.Int64)), **ASKED, seed=1)
    assert kept.tables["persons"].height == persons.height


def test_persons_without_rows_are_counted_and_left_out() -> None:
    persons, rows = tables()
    release = shoal.anonymize(persons, rows=rows.filter(pl.col("patient") > 4), **ASKED, seed=1)
    assert release.tables["persons"].height == persons.height - 5
    assert release.certificate.input["persons_without_rows"] == 5
    assert "persons_without_rows" not in release.public_certificate.to_json()


@every(
    ("change", "error", "says"),
    [
        (lambda p, r: (p.filter(pl.col("patient") > 4), r), DataError, "record(s) of the second table have a key"),
        (lambda p, r: (pl.concat([p, p[:2]]), r), DataError, "2 key(s) occur more than once"),
        (lambda p, r: (p, r.with_columns(pl.col("patient").replace(7, None))), DataError, "have no key (patient)"),
        (lambda p, r: (p, r.with_columns(age=1)), ColumnError, "Both tables have a column 'age'"),
        (lambda p, r: (p, r.rename({"patient": "patients"})), ColumnError, "Did you mean 'patients'"),
    ],
)
def test_tables_that_do_not_fit_are_refused(change: Any, error: type[Exception], says: str) -> None:
    persons, rows = change(*tables())
    with pytest.raises(error) as raised:
        shoal.anonymize(persons, rows=rows, **ASKED)
    assert says in str(raised.value)


@every(
    ("changed", "says"),
    [
        ({"key": None}, "need both"),
        ({"rows": None}, "need both"),
        ({"link": False}, "link=True"),
        ({"person": "sex", "quasi_identifiers": ["age"]}, "'person'"),
        ({"engine": "stream"}, "engine='memory'"),
        ({"engine": "spark"}, "engine='memory'"),
    ],
)
def test_requests_that_do_not_fit_are_refused(changed: dict[str, Any], says: str, tmp_path: Path) -> None:
    persons, rows = tables()
    persons.write_csv(tmp_path / "persons.csv")
    with pytest.raises(ParameterError, match=says):
        shoal.anonymize(tmp_path / "persons.csv", **{**ASKED, "rows": rows, "person": None} | changed)


@pytest.mark.drawn
def test_command_and_spec_file(tmp_path: Path) -> None:
    persons, rows = tables()
    persons.write_csv(tmp_path / "persons.csv")
    pl.concat([rows.filter(pl.col("patient") > 0), *[rows.filter(pl.col("patient") == 5)] * 3]).write_csv(
        tmp_path / "visits.csv"
    )
    words = ["persons.csv", "--rows", "visits.csv", "--key", "patient", "--link", "--qi", "age,sex,ward"]
    words = [str(tmp_path / word) if word.endswith(".csv") else word for word in words]
    run = CliRunner().invoke(
        app, ["anonymize", *words, "--sensitive", "disease", "-k", "3", "--seed", "1", "-o", str(tmp_path / "a")]
    )
    assert run.exit_code == 0, run.output
    report = (tmp_path / "a.private" / "report.html").read_text(encoding="utf-8")
    for said in (" ".join(run.output.split()), report):
        assert "records left out, so that enough persons publish equally many" in said
        assert "age and sex: constant in all records of each person" in said
        assert "persons without records, left out: 1" in said
        assert "29 (patient) with" in said
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'input = "persons.csv"\nrows = "visits.csv"\noutput = "b"\nlink = true\nseed = 1\ncolumns.key = ["patient"]\n'
        'columns.quasi_identifiers = ["age", "sex", "ward"]\ncolumns.sensitive = ["disease"]\nprivacy.k = 3\n',
        encoding="utf-8",
    )
    assert CliRunner().invoke(app, ["anonymize", "--spec", str(spec)]).exit_code == 0
    assert shoal.Request.from_toml(spec).person == ("patient",)
    first, second = (read_published(tmp_path / name).frame.drop("pseudonym") for name in "ab")
    assert first.rows() == second.rows() or sorted(first.rows()) == sorted(second.rows())
    found = CliRunner().invoke(app, ["anonymize", *words[:3], "--qi", "age", "-k", "3", "-o", str(tmp_path / "c")])
    assert found.exit_code == 2
    assert "--key" in found.output


def test_published_tables_are_checked() -> None:
    frame = pl.DataFrame({"age": ["1", "2"], "pseudonym": [1, 1], "ward": ["a", "b"]})
    with pytest.raises(ReleaseUnsafeError, match="differ in a column of persons"):
        split_tables(frame, ["pseudonym", "age"])
    persons, rows = split_tables(frame, ["pseudonym"]).values()
    assert join_published(persons, rows).select(frame.columns).equals(frame)
    for broken in (pl.concat([persons, persons]), persons.with_columns(pseudonym=2)):
        with pytest.raises(DataError, match="same pseudonyms"):
            join_published(broken, rows)
    with pytest.raises(UsageError, match="no column of pseudonyms"):
        join_published(persons.rename({"pseudonym": "id"}), rows)
