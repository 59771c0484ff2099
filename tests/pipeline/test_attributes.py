"""Sensitive and insensitive columns that are coarsened: what is published, verified, certified and attacked."""

from __future__ import annotations

import csv
import json
import random

import polars as pl
import pytest
from tests.every import every

import shoal
from shoal.attacks import inference_attack
from shoal.errors import ColumnError, ReleaseUnsafeError, UnsupportedError, UsageError
from shoal.pipeline import verify as verifying

COARSEN = {"salary": shoal.Bins(1000), "seen": shoal.DatePart("month"), "word": shoal.Prefix(1)}
ROLES = {"quasi_identifiers": ["age", "zip"], "sensitive": ["salary"], "insensitive": ["seen", "word"]}


def table(rows: int = 240) -> pl.DataFrame:
    rng = random.Random(5)
    return pl.DataFrame({
        "age": [rng.randint(20, 60) for _ in range(rows)],
        "zip": [rng.choice(["10115", "10117", "20095"]) for _ in range(rows)],
        "salary": [rng.randint(1000, 5999) for _ in range(rows)],
        "seen": [f"{rng.randint(1, 28):02}.{rng.randint(1, 12):02}.2024" for _ in range(rows)],
        "word": [rng.choice(["aa", "ab", "ba"]) for _ in range(rows)],
    })  # fmt: skip


def made(**changes: object) -> shoal.Release:
    return shoal.anonymize(table(), **{**ROLES, "k": 4, "l": 2, "coarsen": COARSEN, "seed": 1, **changes})


def test_every_cell_is_the_class_of_its_record():
    release = made(keep_order=True)
    for raw, row in zip(table().to_dicts(), release.data.to_dicts(), strict=True):
        low = raw["salary"] // 1000 * 1000
        assert row["salary"] == f"[{low}, {low + 1000})"
        assert row["seen"] == f"2024-{raw['seen'][3:5]}"
        assert row["word"] == raw["word"][0]
    # The models see what is published.
    groups = release.data.group_by("age", "zip").agg(pl.col("salary").value_counts(sort=True).first(), pl.len())
    assert all(one["salary"]["count"] * 2 <= one["len"] for one in groups.to_dicts())


@pytest.mark.parametrize(
    ("name", "why"),
    [("word", "columns that identify people are not published"), ("wort", "there is no such column")],
)
def test_only_published_columns_are_coarsened(name: str, why: str) -> None:
    known = "Known are 'age', 'zip', 'salary', 'seen'."
    with pytest.raises(ColumnError, match=f"'{name}' cannot be coarsened: {why}. {known}$"):
        made(insensitive=["seen"], direct_identifiers=["word"], coarsen={name: shoal.Prefix(1)})


def test_certificates_and_reports_name_the_coarsenings(tmp_path):
    release = made()
    release.save(tmp_path / "made")
    for folder in ("made", "made.private"):
        parameters = json.loads((tmp_path / folder / "certificate.json").read_text())["parameters"]
        assert parameters["coarsen"]["salary"] == {"coarsening": "bins", "width": 1000, "start": 0}
        assert parameters["coarsen"]["seen"]["part"] == "month"
    assert "salary, seen and word: made less precise" in (tmp_path / "made/report.html").read_text()


def test_the_command_line_makes_the_same_release(tmp_path):
    from click.testing import CliRunner

    from shoal.cli.main import app

    table().write_csv(tmp_path / "in.csv")
    roles = ["--qi", "age,zip", "--sensitive", "salary", "--insensitive", "seen,word", "-k", "4", "-l", "2"]
    how = ["--coarsen", "salary=bins:1000", "--coarsen", "seen=date:month", "--coarsen", "word=prefix:1", "--seed", "1"]
    done = CliRunner().invoke(app, ["anonymize", str(tmp_path / "in.csv"), *roles, *how, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    with (tmp_path / "out/release.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["salary"] for row in rows} == {f"[{low}, {low + 1000})" for low in range(1000, 6000, 1000)}
    assert {row["seen"] for row in rows} == {f"2024-{month:02}" for month in range(1, 13)}


def test_a_wrong_cell_is_found_by_the_verification(monkeypatch):
    whole = verifying.check_faithful

    def spoiled(published: pl.DataFrame, *arguments: object, **named: object) -> None:
        salary = pl.Series("salary", ["[1000, 2000)", *published["salary"].cast(pl.String)[1:]])
        later = pl.Series("salary", ["[5000, 6000)", *published["salary"].cast(pl.String)[1:]])
        wrong = later if published["salary"][0] != "[5000, 6000)" else salary
        whole(published.with_columns(wrong), *arguments, **named)

    monkeypatch.setattr(verifying, "check_faithful", spoiled)
    with pytest.raises(ReleaseUnsafeError, match="1 of 'salary'"):
        made()


def test_records_that_are_left_out_decide_nothing():
    rows = table().with_columns(pl.when(pl.int_range(pl.len()) < 200).then("salary").alias("salary"))
    other = rows.with_columns(pl.when(pl.col("salary").is_null()).then(pl.lit("zz")).otherwise("word").alias("word"))
    coarsen = {"word": shoal.grouping.Labels(k=50)}
    first, second = (
        shoal.anonymize(one, **ROLES, k=4, coarsen=coarsen, missing_sensitive="drop", seed=1) for one in (rows, other)
    )
    assert first.data.equals(second.data)


@every(
    ("changes", "message"),
    [
        ({"coarsen": {"salary": shoal.grouping.Ordered(k=4)}}, "'salary' needs a quasi-identifier"),
        ({"coarsen": {"salary": shoal.SinceFirst()}, "person": "zip", "quasi_identifiers": ["age"]}, "'salary'"),
        ({"lists": {"salary": ";"}}, "lists of values"),
        ({"engine": "stream"}, "only quasi-identifiers coarsened"),
        ({"coarsen": {"nothing": shoal.Bins(10)}}, "nothing"),
    ],
)
def test_what_is_not_possible_is_refused(changes, message):
    with pytest.raises(UsageError, match=message):
        made(**changes)


@pytest.mark.drawn
def test_searches_use_the_coarser_values_and_plans_refuse_them():
    cells = {f"[{low}, {low + 1000})" for low in range(1000, 6000, 1000)}
    tuned = shoal.explore(table(), **ROLES, k=4, coarsen=COARSEN, coarsenings=True, seed=1)
    assert {"salary", "seen", "word"} <= set(tuned.coarsen)
    searched = shoal.explore(table(), **ROLES, k=4, l=[2, 3], coarsen=COARSEN, seed=1)
    for release in (tuned.choose(), searched.choose(l=3)):
        assert set(release.data["salary"].cast(pl.String)) == cells
        assert release.certificate.parameters["coarsen"]["salary"]["width"] == 1000
        pairs = release.side_by_side(5)
        assert pairs.before["salary"].to_list() == [str(table()["salary"][number]) for number in pairs.numbers]
    with pytest.raises(UnsupportedError, match="not quasi-identifiers"):
        shoal.apply(made().plan, table())
    compared = shoal.explore(table(), **ROLES, k=4, coarsen=COARSEN, algorithms=["mondrian"])
    assert compared.rows[0].error is None


def test_an_attack_compares_true_values_with_the_cells_that_cover_them():
    # Everybody of a place earns about the same, so that a classifier learns it.
    rows = (
        table(400)
        .select("zip", "salary")
        .with_columns(pl.col("zip").replace_strict({"10115": 1500, "10117": 3500, "20095": 5500}).alias("salary"))
    )
    release = shoal.anonymize(
        rows, quasi_identifiers=["zip"], sensitive="salary", k=4, coarsen={"salary": shoal.Bins(1000)}, seed=1
    )
    found = inference_attack(release, targets=rows[:200], controls=rows[200:], seed=1)
    assert found.rate > 0.9


@pytest.mark.parametrize("missing", ["value", "drop"])
def test_provenance_is_that_of_the_original_values(missing):
    raw = table().with_columns(pl.when(pl.col("salary") > 5800).then(None).otherwise("salary").alias("salary"))
    release = shoal.anonymize(raw, **ROLES, k=4, coarsen=COARSEN, missing_sensitive=missing, seed=1)
    certificate = release.certificate.to_dict()
    assert shoal.provenance(raw.sample(fraction=1, shuffle=True, seed=2), certificate, salt=release.salt)
    other = raw.with_columns(seen=pl.col("seen").str.replace("^03", "04"))
    assert not shoal.provenance(other, certificate, salt=release.salt)
