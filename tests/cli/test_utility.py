"""`shoal report --utility` from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal as package


@pytest.mark.drawn
@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_the_figures_are_those_of_the_release_in_memory(shoal: Any, tmp_path: Path, recoding: str) -> None:
    table = pl.DataFrame(
        {
            "age": [20 + (7 * row) % 30 for row in range(90)],
            "town": ["ABC"[row % 3] for row in range(90)],
            "pay": [row % 11 for row in range(90)],
        }
    )
    table.write_csv(tmp_path / "in.csv")
    release = package.anonymize(
        table, quasi_identifiers=["age", "town"], sensitive="pay", k=5, recoding=recoding, exact_ends=True, seed=1
    )
    release.save(tmp_path / "out")
    found = shoal("report", tmp_path / "out", "--utility", tmp_path / "in.csv", "--json").json
    assert {one["name"]: one["value"] for one in found["measures"]} == pytest.approx(
        {one.name: one.value for one in release.utility().measures}, rel=1e-6, abs=1e-9
    )
    shown = shoal("report", tmp_path / "out", "--utility", tmp_path / "in.csv")
    assert "marginals of pairs (of 1000)" in shown.out
    # Records that were left out count in the original; a release has no more than that.
    more = pl.concat([table, table[:9]])
    more.write_csv(tmp_path / "more.csv")
    wider = shoal("report", tmp_path / "out", "--utility", tmp_path / "more.csv")
    assert (wider.code, "90 of the 99 records" in wider.err) == (0, True)
    # Another table is refused, and so is a file without a certificate.
    table[:80].write_csv(tmp_path / "few.csv")
    assert "90 records, the original 80" in shoal("report", tmp_path / "out", "--utility", tmp_path / "few.csv").err
    table.with_columns(pay=pl.lit(99)).write_csv(tmp_path / "other.csv")
    assert "represent no value" in shoal("report", tmp_path / "out", "--utility", tmp_path / "other.csv").err
    assert shoal("report", tmp_path / "in.csv", "--utility", tmp_path / "in.csv").code == 2


def table() -> pl.DataFrame:
    """240 records of three towns, each of which has one word."""
    return pl.DataFrame({
        "town": [f"{10115 + row % 3}" for row in range(240)],
        "word": [("aa", "ab", "ba")[row % 3] for row in range(240)],
        "salary": [1000 + 37 * row % 5000 for row in range(240)],
        "seen": [f"{1 + row % 28:02}.{1 + row % 12:02}.2024" for row in range(240)],
    })  # fmt: skip


def test_attacks_and_figures_take_the_hierarchy_of_a_coarse_sensitive_column(shoal: Any, tmp_path: Path) -> None:
    rows = table().select("town", "word")
    rows.write_csv(tmp_path / "in.csv")
    (tmp_path / "words.csv").write_text("aa,first,any\nab,first,any\nba,second,any\n")
    roles = ["--qi", "town", "--sensitive", "word", "--coarsen", f"word=level:{tmp_path}/words.csv:1"]
    assert shoal("anonymize", tmp_path / "in.csv", *roles, "-k", "4", "-o", tmp_path / "out").code == 0
    attack = ["attack", "--method", "homogeneity", tmp_path / "out", "--targets", tmp_path / "in.csv", "--json"]
    unknown = shoal(*attack)
    assert unknown.code == 2
    assert "--hierarchy" in unknown.err
    named = ["--hierarchy", f"word={tmp_path}/words.csv"]
    assert shoal(*attack, *named).json["successes"] == rows.height
    # People may be given with the published values.
    rows.with_columns(word=pl.col("word").replace_strict({"aa": "first", "ab": "first", "ba": "second"})).write_csv(
        tmp_path / "coarse.csv"
    )
    assert shoal(*attack[:4], "--targets", tmp_path / "coarse.csv", "--json").json["successes"] == rows.height
    measured = shoal("report", tmp_path / "out", "--utility", tmp_path / "in.csv", *named, "--json").json
    # The values of a class count the same.
    assert {one["name"]: one["value"] for one in measured["measures"]}["marginals"] < 1000


@pytest.mark.drawn
def test_a_coarse_sensitive_column_is_compared_with_its_original_values(shoal: Any, tmp_path: Path) -> None:
    rows = table()
    rows.write_csv(tmp_path / "in.csv")
    asked: dict[str, Any] = {"quasi_identifiers": ["town"], "sensitive": ["salary", "seen"], "insensitive": ["word"]}
    coarsen = {"salary": package.Bins(1000), "seen": package.DatePart("month"), "word": package.Prefix(1)}
    release = package.anonymize(rows, **asked, k=4, seed=1, coarsen=coarsen)
    release.save(tmp_path / "out")
    found = shoal("report", tmp_path / "out", "--utility", tmp_path / "in.csv", "--json").json
    measured = {one.name: one.value for one in release.utility().measures}
    assert {one["name"]: one["value"] for one in found["measures"]} == pytest.approx(measured, rel=1e-6)
    # Towns are published exactly: all loss is that of the coarse columns.
    assert release.utility().margins == {"town": 0.0}
    assert measured["marginals"] < 950
    plain = package.anonymize(rows, **asked, k=4, seed=1)
    assert plain.utility()["marginals"] == pytest.approx(1000)
    # Readers take the same bounds from the published cells.
    assert release.as_bounds().columns == ["town", "salary_low", "salary_high", "seen_low", "seen_high", "word"]


def test_predictions_learn_from_the_original_values_of_coarse_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("shoal.release.analysis.views.utility_of", lambda views, *_, **__: seen.append(views))
    coarsen = {"salary": package.Bins(1000), "word": package.Prefix(1)}
    release = package.anonymize(
        table(), quasi_identifiers=["town"], sensitive="salary", insensitive=["word", "seen"], k=4, seed=1,
        coarsen=coarsen, keep_order=True,
    )  # fmt: skip
    release.utility("salary")
    (views,) = seen
    assert views.original.equals(table().select("town", "salary", "word", "seen"))
    middles = [salary // 1000 * 1000 + 500 for salary in table()["salary"].to_list()]
    assert views.middles["salary"].to_list() == middles
    assert views.bounds["word"].to_list() == [word[0] for word in table()["word"].to_list()]


def test_utility_reads_dates_that_are_written_as_text(shoal: Any, tmp_path: Path) -> None:
    table().write_csv(tmp_path / "in.csv")
    roles = ["--qi", "seen", "--sensitive", "salary,word", "--id", "town", "-k", "4", "-o", tmp_path / "out"]
    how = ["--coarsen", "seen=date:month", "--coarsen", "salary=bins:1000"]
    assert shoal("anonymize", tmp_path / "in.csv", *roles, *how).code == 0
    assert shoal("report", tmp_path / "out", "--utility", tmp_path / "in.csv").code == 0
