"""`shoal utility` from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal as package


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
    found = shoal("utility", tmp_path / "out", tmp_path / "in.csv", "--json").json
    assert {one["name"]: one["value"] for one in found["measures"]} == pytest.approx(
        {one.name: one.value for one in release.utility().measures}, rel=1e-6, abs=1e-9
    )
    shown = shoal("utility", tmp_path / "out", tmp_path / "in.csv")
    assert "marginals of pairs (of 1000)" in shown.out
    # Another table is refused, and so is a file without a certificate.
    table[:80].write_csv(tmp_path / "few.csv")
    assert "90 records, the original 80" in shoal("utility", tmp_path / "out", tmp_path / "few.csv").err
    table.with_columns(pay=pl.lit(99)).write_csv(tmp_path / "other.csv")
    assert "represent no value" in shoal("utility", tmp_path / "out", tmp_path / "other.csv").err
    assert shoal("utility", tmp_path / "in.csv", tmp_path / "in.csv").code == 2
