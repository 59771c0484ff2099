"""Files of hierarchies at the command line are those of Python and of the studio."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal import hierarchy

WAYS: dict[str, Any] = {
    "intervals:10": lambda age, _: hierarchy.interval_hierarchy(age, 10),
    "cuts:30,40;40": lambda age, _: hierarchy.cut_hierarchy(age, [30, 40], [40]),
    "quantiles:2": lambda age, _: hierarchy.quantile_hierarchy(age, 2),
    "prefixes": lambda age, _: hierarchy.prefix_hierarchy(age),
    "rare": lambda age, _: hierarchy.frequency_hierarchy(age),
    "together": hierarchy.co_occurrence_hierarchy,
    "flat": lambda age, _: hierarchy.flat_hierarchy(age),
}


@pytest.mark.drawn
@pytest.mark.parametrize("words", WAYS)
def test_each_kind_is_a_file(shoal: Any, patients: Path, tmp_path: Path, words: str) -> None:
    file = tmp_path / "ages.csv"
    made = shoal("hierarchy", patients, "--column", "age", "--as", words, "--sensitive", "disease", "-o", file)
    assert made.code == 0, made.err
    table = pl.read_csv(patients)
    assert hierarchy.Hierarchy.from_csv(file).rows() == WAYS[words](table["age"], table["disease"]).rows()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    words_of_release = ("--qi", "age", "--id", "name,gender,zip,visit_id", "--sensitive", "disease", "-k", 5)
    used = shoal("anonymize", patients, *words_of_release, "--recoding", "generalization", "--hierarchy", f"age={file}",
                 "-o", tmp_path / "out")  # fmt: skip
    assert used.code == 0, used.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--column", "nobody", "--as", "flat"), "no column 'nobody'"),
        (("--column", "age", "--as", "circles"), "no such proposal"),
        (("--column", "age", "--as", "together"), "no such proposal"),
        (("--column", "age", "--as", "intervals:x"), "The width must be a number"),
    ],
)
def test_wrong_words_write_nothing(shoal: Any, patients: Path, tmp_path: Path, words: Any, message: str) -> None:
    refused = shoal("hierarchy", patients, *words, "-o", tmp_path / "tree.csv")
    assert refused.code == 2
    assert message in " ".join(refused.err.split())
    assert not (tmp_path / "tree.csv").exists()
