"""Large tables in memory are counted first: the release is the one that the rows give, byte for byte."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.engines.test_conformance import LOCAL, MODELS, asked, facts_of, of, rounded, table
from tests.every import THOROUGH

import shoal
from shoal.algorithms import PatternGuided
from shoal.algorithms.base import Partition, Problem
from shoal.engines import memory
from shoal.errors import InfeasibleError, ReleaseUnsafeError
from shoal.pipeline.prepare import PreparedTable
from shoal.release.run_rows import RunRows


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Anonymize as tables of many rows are."""

    def anonymize(frame: Any, **options: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr("shoal.engines.memory._MANY_ROWS", 0)
            patch.setattr("shoal.engines.memory._ROWS_PER_CELL", 0)
            return shoal.anonymize(frame, **options)

    return anonymize


@pytest.mark.drawn
@pytest.mark.parametrize("model", MODELS)
def test_the_cells_give_the_release_of_the_rows(counted: Any, model: str) -> None:
    compared = 0
    for at, algorithm in enumerate((*LOCAL, "full-domain", "auto"), [*MODELS].index(model)):
        for seed, recoding in enumerate(("suppression", "generalization", "suppression")):
            if not THOROUGH and (at + 3 * seed) % 8:
                continue
            frame = table(seed)
            arguments = asked(frame, MODELS[model], algorithm=algorithm, recoding=recoding)
            by_row = of(shoal.anonymize, frame, **arguments)
            by_cell = of(counted, frame, **arguments)
            if isinstance(by_row, type):
                assert by_cell is by_row
                continue
            if not isinstance(by_cell.store, RunRows):  # what needs hierarchies of the table itself is made of rows
                assert (algorithm, recoding) in (("full-domain", "generalization"), ("auto", "generalization"))
                continue
            same(by_cell, by_row)
            compared += 1
    assert compared >= (4 if THOROUGH else 1)


def same(by_cell: Any, by_row: Any) -> None:
    assert by_cell.frame.equals(by_row.frame)
    assert by_cell.frame.schema == by_row.frame.schema
    assert by_cell.data.equals(by_row.data)
    told, known = by_cell.certificate.to_dict(), by_row.certificate.to_dict()
    for name in ("achieved", "risk", "guarantee", "warnings", "details", "parameters"):
        assert told[name] == known[name], name
    assert rounded(told["cost"]) == rounded(known["cost"])
    assert by_cell.public_certificate.to_dict() == by_row.public_certificate.to_dict()
    assert rounded(facts_of(by_cell)) == rounded(facts_of(by_row))
    assert by_cell.metrics.totals() == pytest.approx(by_row.metrics.totals())
    assert by_cell.metrics.to_dict()["by_attribute"].keys() == by_row.metrics.to_dict()["by_attribute"].keys()


@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(4))
def test_rows_name_the_row_that_each_published_one_stands_for(counted: Any, seed: int) -> None:
    frame = table(seed, rows=120)
    release = counted(frame, **asked(frame, MODELS["k"], algorithm="cluster", recoding="suppression"))
    rows = release.rows
    assert sorted(rows.tolist()) == list(range(frame.height))
    for name in release.frame.columns:
        shown, true = release.frame[name].cast(pl.String), frame[name].cast(pl.String)[rows]
        assert ((shown == "*") | shown.eq_missing(true)).all()
    assert (release.frame["area"].cast(pl.String) != "*").any()


@pytest.mark.drawn
@pytest.mark.parametrize("format", ["csv", "parquet", "xlsx"])
def test_files_are_the_same(counted: Any, tmp_path: Path, format: str) -> None:  # noqa: A002
    frame = table(1, rows=300).with_columns(pl.col("area").replace("x", 'say "x", = 1'))
    for model in ("k", "t"):
        arguments = asked(frame, MODELS[model], algorithm="mondrian")
        safe = {"spreadsheet_safe": True} if format == "csv" else {}
        counted(frame, **arguments).save(tmp_path / f"{model}-cells", format=format, **safe)
        shoal.anonymize(frame, **arguments).save(tmp_path / f"{model}-rows", format=format, **safe)
        written = [tmp_path / f"{model}-{kind}" / f"release.{format}" for kind in ("cells", "rows")]
        if format == "xlsx":  # which holds the time
            assert pl.read_excel(written[0]).equals(pl.read_excel(written[1]))
        else:
            assert written[0].read_bytes() == written[1].read_bytes()


def test_cells_with_line_ends_are_written_row_by_row(counted: Any, tmp_path: Path) -> None:
    frame = table(2, rows=80).with_columns(pl.col("area").replace("x", "two\nlines"))
    arguments = asked(frame, MODELS["k"], algorithm="mondrian")
    counted(frame, **arguments).save(tmp_path / "cells", format="csv")
    shoal.anonymize(frame, **arguments).save(tmp_path / "rows", format="csv")
    written = (tmp_path / "cells" / "release.csv").read_bytes()
    assert b'"two\nlines"' in written
    assert written == (tmp_path / "rows" / "release.csv").read_bytes()


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("model", "change"),
    [
        *itertools.product(("k", "t"), ("a line more", "a line less", "another cell", "nothing")),
        ("t", "another value"),  # at which k-anonymity does not look
    ],
)
def test_a_file_that_is_not_the_release_is_refused(
    counted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, model: str
) -> None:
    frame = table(1, rows=200)
    release = counted(frame, **asked(frame, MODELS[model], algorithm="mondrian"))
    write = RunRows.write

    def spoiled(self: RunRows, shown: pl.DataFrame, path: Path, **options: Any) -> Any:
        files = write(self, shown, path, **options)
        lines = path.read_text().splitlines()
        cells = lines[-1].split(",")
        changed = {
            "a line more": [*lines, lines[-1]],
            "a line less": lines[:-1],
            "another cell": [*lines[:-1], ",".join(["99", *cells[1:]])],
            "another value": [*lines[:-1], ",".join([*cells[:-1], "99"])],
            "nothing": lines,
        }[change]
        path.write_text("\n".join(changed) + "\n")
        return files

    monkeypatch.setattr(RunRows, "write", spoiled)
    if change == "nothing":
        release.save(tmp_path / "out", format="csv")
        assert (tmp_path / "out" / "release.csv").exists()
        return
    with pytest.raises(ReleaseUnsafeError):
        release.save(tmp_path / "out", format="csv")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_stand_in_the_way_are_found_from_the_cells(
    counted: Any, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    frame = table(seed)
    arguments = asked(frame, MODELS["k"], algorithm=PatternGuided(["111"]))
    grouped, runs, errors = PatternGuided.group_rows, [], []

    def counting(self: PatternGuided, problem: Problem) -> Partition:
        runs.append(problem.table.rows)
        return grouped(self, problem)

    monkeypatch.setattr(PatternGuided, "group_rows", counting)
    for anonymize in (shoal.anonymize, counted):
        with pytest.raises(InfeasibleError) as error:
            anonymize(frame, **arguments)
        assert error.value.rows is not None
        errors.append((str(error.value), error.value.rows.tolist()))
    assert errors[0] == errors[1]
    assert "Numbers of these rows" in errors[0][0]
    assert runs == [frame.height] * 2  # the algorithm is not run once more for the message


def test_rows_are_found_where_text_became_dates(counted: Any) -> None:
    frame = table(0, rows=120)
    days = pl.Series("day", [f"{1 + place % 9:02d}.03.2001" for place in range(frame.height)])
    frame = frame.select("sex").with_columns(days)
    release = counted(frame, quasi_identifiers=["day", "sex"], k=3, algorithm="mondrian", seed=1)
    assert isinstance(release.store, RunRows)
    assert sorted(release.rows.tolist()) == list(range(frame.height))


CHANGES = ("a row elsewhere", "counts of two cells", "another order", "values of two cells", "a value", "a null")


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("column", "change"),
    # A sensitive value that is missing is refused before anything is made of it.
    [pair for pair in itertools.product(("age", "sex", "area", "s0"), CHANGES) if pair != ("s0", "a null")],
)
def test_cells_that_are_not_those_of_the_table_make_no_release(
    counted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str, change: str
) -> None:
    frame = table(1, rows=300).drop_nulls()
    arguments = asked(frame, MODELS["k"], algorithm="mondrian")
    counting = memory.collect_in_memory

    def spoiled(lazy: pl.LazyFrame) -> pl.DataFrame:
        cells = counting(lazy)  # whose columns have numbers
        return _spoiled(cells.sort(cells.columns), str(("age", "sex", "area", "s0").index(column)), change)

    assert isinstance(counted(frame, **arguments).store, RunRows)
    monkeypatch.setattr("shoal.engines.memory.collect_in_memory", spoiled)
    with pytest.raises(ReleaseUnsafeError, match="not those of the table") as error:
        counted(frame, **arguments, output=tmp_path / "out")
    assert not any(str(value) in str(error.value).split() for value in frame[column].unique())
    assert list(tmp_path.iterdir()) == []


def _spoiled(cells: pl.DataFrame, column: str, change: str) -> pl.DataFrame:
    """Return cells with one thing changed, of which most leave the sum of the counts, and some all marginals."""
    values, times = cells[column].to_list(), cells["rows"].to_list()
    others = [place for place in range(cells.height) if values[place] != values[0]]
    if change == "a row elsewhere":
        other = next(place for place in others if times[place] > 1)
        times[0], times[other] = times[0] + 1, times[other] - 1
    elif change == "counts of two cells":
        other = next(place for place in others if times[place] != times[0])
        times[0], times[other] = times[other], times[0]
    elif change == "another order":  # the counts stay where they were
        times = times[::-1]
        assert times != cells["rows"].to_list()
    elif change == "values of two cells":  # as often as before, so that no column shows it
        rest = [name for name in cells.columns if name not in (column, "rows")]
        alike = (place for place in others if times[place] == times[0])
        other = next(place for place in alike if cells[rest].row(place) != cells[rest].row(0))
        values[0], values[other] = values[other], values[0]
    else:
        values[0] = values[others[0]] if change == "a value" else None
    spoiled = cells.with_columns(pl.Series(column, values, dtype=cells.schema[column]), pl.Series("rows", times))
    assert not spoiled.sort(cells.columns).equals(cells.sort(cells.columns))
    return spoiled


def test_a_plan_for_other_numbers_of_rows_makes_no_release(
    counted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table(1, rows=300).drop_nulls()
    arguments = asked(frame, MODELS["k"], algorithm="mondrian")
    entries = PreparedTable.entries

    def spoiled(self: PreparedTable, rows: Any, counts: Any) -> PreparedTable:
        counts, fewer, more = counts.copy(), np.argmax(counts), np.argmin(counts)
        counts[fewer], counts[more] = counts[fewer] - 1, counts[more] + 1
        return entries(self, rows, counts)

    monkeypatch.setattr(PreparedTable, "entries", spoiled)
    with pytest.raises(ReleaseUnsafeError, match="not those of the table"):
        counted(frame, **arguments, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_patterns_are_names(counted: Any) -> None:
    frame = table(1, rows=300).drop_nulls().drop("name").rename({"age": "*", "sex": "^s.*"})
    arguments = {"quasi_identifiers": ["*", "^s.*", "area"], "sensitive": "s0", "k": 3, "seed": 1}
    by_cell, by_row = (made(frame, **arguments, algorithm="mondrian") for made in (counted, shoal.anonymize))
    assert isinstance(by_cell.store, RunRows)
    same(by_cell, by_row)


def test_values_that_are_equal_in_more_than_one_form_are_counted_as_one(counted: Any) -> None:
    frame = pl.DataFrame(
        {
            "number": [0.0, -0.0, float("nan"), -float("nan"), None, 1.5] * 20,
            "kind": pl.Series(["b", "a", "b", "a", None, "a"] * 20, dtype=pl.Categorical),
            "rank": pl.Series(["low", "high", None, "low", "high", "low"] * 20, dtype=pl.Enum(["low", "mid", "high"])),
            "day": pl.Series([1, 2, 3, None, 1, 2] * 20).cast(pl.Date),
            "yes": [True, False, None, True, True, False] * 20,
        }
    )
    arguments = {"quasi_identifiers": frame.columns, "k": 3, "algorithm": "mondrian", "seed": 1}
    by_cell, by_row = counted(frame, **arguments), shoal.anonymize(frame, **arguments)
    assert isinstance(by_cell.store, RunRows)
    assert by_cell.certificate.achieved == by_row.certificate.achieved


@pytest.mark.parametrize("repeats", [0, 4])
def test_text_is_counted_by_its_codes(counted: Any, monkeypatch: pytest.MonkeyPatch, repeats: int) -> None:
    monkeypatch.setattr(memory, "_ROWS_PER_VALUE", 0 if repeats else 1 << 20)
    numbers = np.random.default_rng(repeats).integers(0, 4, (3, 200))
    text = np.array(["10", "9", "", "é"])
    frame = pl.DataFrame({name: text[codes] for name, codes in zip("abc", numbers, strict=True)})
    frame = frame.with_columns(pl.col("a").replace("", None), nothing=pl.lit(None, pl.String))
    arguments = {"quasi_identifiers": ["a", "b", "nothing"], "sensitive": "c", "k": 3, "seed": 1}
    by_cell, by_row = counted(frame, **arguments), shoal.anonymize(frame, **arguments)
    assert isinstance(by_cell.store, RunRows)
    same(by_cell, by_row)


def test_combinations_of_cells_are_evidence_of_persons(counted: Any) -> None:
    rows = pl.DataFrame({"pcode": [row % 60 for row in range(300)]})
    visits = rows.select(
        age=20 + pl.col("pcode") * 7 % 50, gender=pl.col("pcode") * 5 % 7 % 2, zip=10000 + pl.col("pcode") * 11
    )
    arguments = {"quasi_identifiers": visits.columns, "k": 5, "seed": 1, "algorithm": "mondrian"}
    by_cell, by_row = counted(visits, **arguments), shoal.anonymize(visits, **arguments)
    assert isinstance(by_cell.store, RunRows)
    assert "repeated_person" in {warning.code for warning in by_cell.certificate.warnings}
    same(by_cell, by_row)


@pytest.mark.drawn
@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow"])
def test_analysts_are_handed_rows(counted: Any, kind: str) -> None:
    frame = table(1, rows=300)
    data = {"polars": frame, "pandas": frame.to_pandas(), "arrow": frame.to_arrow()}[kind]
    arguments = asked(frame, MODELS["k"], algorithm="mondrian", recoding="generalization")
    by_cell, by_row = counted(data, **arguments), shoal.anonymize(data, **arguments)
    assert isinstance(by_cell.store, RunRows)
    for made in ("as_bounds", "midpoints"):
        told, known = getattr(by_cell, made)(), getattr(by_row, made)()
        assert type(told) is type(known)
        assert told.equals(known)
    assert by_cell.data.equals(by_row.data)


def test_each_row_of_the_table_has_its_number(counted: Any) -> None:
    frame = table(3, rows=300)
    release = counted(frame, **asked(frame, MODELS["k"], algorithm="mondrian"))
    assert isinstance(release.store, RunRows)
    assert sorted(release.store.table_rows.tolist()) == list(range(frame.height))
    rows = release.store.rows_of(release.metrics.table)
    assert rows is not None
    for column in (*rows.quasi_identifiers, *rows.sensitive):
        values = column.dictionary.gather(column.codes).cast(pl.String)
        assert values.equals(frame[column.name].cast(pl.String)[release.store.table_rows], null_equal=True)


@pytest.mark.drawn
def test_what_a_prediction_loses_is_measured_of_rows(counted: Any) -> None:
    pytest.importorskip("sklearn")
    frame = table(1, rows=200)
    arguments = asked(frame, MODELS["k"], algorithm="mondrian", recoding="generalization")
    by_cell, by_row = (made(frame, **arguments).utility("s0", folds=2) for made in (counted, shoal.anonymize))
    assert by_cell.baseline == by_row.baseline
    assert len(by_cell.after) == len(by_row.after) == 2


@pytest.mark.drawn
@pytest.mark.parametrize(
    "preferred",
    [{"weights": {"age": 2}}, {"limits": {"sex": (0, 1)}}, {"suppression_limit": 0.5}],
    ids=["weights", "limits", "a limit of suppressed rows"],
)
def test_what_else_is_asked_of_the_algorithm_is_done_row_by_row(counted: Any, preferred: Any) -> None:
    frame = table(1, rows=200)
    arguments = asked(frame, MODELS["k"], algorithm="full-domain", recoding="suppression")
    assert isinstance(counted(frame, **arguments).store, RunRows)
    assert not isinstance(counted(frame, **arguments, **preferred).store, RunRows)


@pytest.mark.drawn
def test_few_rows_are_not_counted_and_many_are() -> None:
    frame = pl.concat([table(1, rows=400)] * 400)
    arguments = asked(frame, MODELS["k"], algorithm="mondrian")
    assert not isinstance(shoal.anonymize(frame[:400], **arguments).store, RunRows)
    release = shoal.anonymize(frame, **arguments)
    assert isinstance(release.store, RunRows)
    assert release.data.height == frame.height
    assert release.certificate.engine["cells"] == frame.select("age", "sex", "area", "s0").n_unique()
