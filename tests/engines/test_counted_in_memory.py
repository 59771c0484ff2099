"""Large tables in memory are counted first: the release is the one that the rows give, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.engines.test_conformance import LOCAL, MODELS, asked, facts_of, of, rounded, table

import shoal
from shoal.errors import InfeasibleError, ReleaseUnsafeError
from shoal.release_of_runs import ReleaseOfRuns


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Anonymize as tables of many rows are."""

    def anonymize(frame: Any, **options: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr("shoal.engines.histogram._MANY_ROWS", 0)
            patch.setattr("shoal.engines.histogram._ROWS_PER_CELL", 0)
            return shoal.anonymize(frame, **options)

    return anonymize


@pytest.mark.parametrize("model", MODELS)
def test_the_cells_give_the_release_of_the_rows(counted: Any, model: str) -> None:
    compared = 0
    for algorithm in (*LOCAL, "full-domain", "auto"):
        for seed, recoding in enumerate(("suppression", "generalization", "suppression")):
            frame = table(seed)
            arguments = asked(frame, MODELS[model], algorithm=algorithm, recoding=recoding)
            by_row = of(shoal.anonymize, frame, **arguments)
            by_cell = of(counted, frame, **arguments)
            if isinstance(by_row, type):
                assert by_cell is by_row
                continue
            if not isinstance(by_cell, ReleaseOfRuns):  # what needs hierarchies of the table itself is made of rows
                assert (algorithm, recoding) in (("full-domain", "generalization"), ("auto", "generalization"))
                continue
            same(by_cell, by_row)
            compared += 1
    assert compared >= 4


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


@pytest.mark.parametrize("seed", range(4))
def test_rows_name_the_row_that_each_published_one_stands_for(counted: Any, seed: int) -> None:
    frame = table(seed, rows=120)
    release = counted(frame, **asked(frame, MODELS["k"], algorithm="cluster"))
    rows = release.rows
    assert sorted(rows.tolist()) == list(range(frame.height))
    for name in release.frame.columns:
        shown, true = release.frame[name].cast(pl.String), frame[name].cast(pl.String)[rows]
        assert ((shown == "*") | shown.eq_missing(true)).all()
    assert (release.frame["area"].cast(pl.String) != "*").any()


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


@pytest.mark.parametrize("model", ["k", "t"])
@pytest.mark.parametrize("change", ["a line more", "a line less", "another cell", "another value", "nothing"])
def test_a_file_that_is_not_the_release_is_refused(
    counted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, model: str
) -> None:
    frame = table(1, rows=200)
    release = counted(frame, **asked(frame, MODELS[model], algorithm="mondrian"))
    write = ReleaseOfRuns._write

    def spoiled(self: ReleaseOfRuns, shown: pl.DataFrame, path: Path, **options: Any) -> Any:
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

    monkeypatch.setattr(ReleaseOfRuns, "_write", spoiled)
    if change == "nothing":
        release.save(tmp_path / "out", format="csv")
        return
    if change == "another value" and model == "k":
        return  # k-anonymity does not look at it
    with pytest.raises(ReleaseUnsafeError):
        release.save(tmp_path / "out", format="csv")
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_met_names_the_rows(counted: Any) -> None:
    frame = table(0)
    arguments = asked(frame, [shoal.LDiversity(7)], algorithm="tp+")
    errors = []
    for anonymize in (shoal.anonymize, counted):
        with pytest.raises(InfeasibleError) as error:
            anonymize(frame, **arguments)
        errors.append((str(error.value), np.asarray(error.value.rows).tolist()))
    assert errors[0] == errors[1]


def test_few_rows_are_not_counted_and_many_are() -> None:
    frame = pl.concat([table(1, rows=400)] * 400)
    arguments = asked(frame, MODELS["k"], algorithm="mondrian")
    assert not isinstance(shoal.anonymize(frame[:400], **arguments), ReleaseOfRuns)
    release = shoal.anonymize(frame, **arguments)
    assert isinstance(release, ReleaseOfRuns)
    assert release.data.height == frame.height
    assert release.certificate.engine["cells"] == frame.select("age", "sex", "area", "s0").n_unique()
