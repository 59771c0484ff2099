"""Records before and after: each is the same record of the input, for the publisher alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import every

import shoal
from shoal.cli.main import app
from shoal.errors import ParameterError

TABLE = pl.DataFrame(
    {
        "born": [f"{1 + row % 28:02}.0{1 + row % 9}.19{60 + row % 30}" for row in range(120)],
        "age": [f"{20 + row * 7 % 40}" for row in range(120)],
        "pcode": [f"P{row // 2:03}" for row in range(120)],
        "pay": [f"{1000 + row}" for row in range(120)],
        "disease": [" abcdef"[1 + row % 6] for row in range(120)],
    }
)
ROLES: dict[str, Any] = {"quasi_identifiers": ["born", "age"], "sensitive": ["disease"], "insensitive": ["pay"]}


@pytest.mark.drawn
@every("how", ["rows", "counted", "coarse", "linked", "dropped"])
def test_each_pair_is_one_record(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, request = TABLE, {**ROLES, "direct_identifiers": ["pcode"], "k": 5, "seed": 1}
    if how == "counted":
        monkeypatch.setattr("shoal.engines.memory._MANY_ROWS", 0)
        monkeypatch.setattr("shoal.engines.memory._ROWS_PER_CELL", 0)
        frame = pl.concat([TABLE, TABLE])
    elif how == "coarse":
        request |= {"coarsen": {"pay": shoal.Bins(50), "age": shoal.Bins(10)}}
    elif how == "linked":
        request |= {"direct_identifiers": [], "insensitive": [], "person": "pcode", "link": True, "coarsen": {}}
        frame = frame.drop("pay")
    elif how == "dropped":
        frame = frame.with_columns(disease=pl.when(pl.col("age") == "27").then(None).otherwise("disease"))
        request |= {"missing_sensitive": "drop"}
    release = shoal.anonymize(frame, **request)
    pairs = release.side_by_side(1000)
    published = release.published.with_columns(pl.all().cast(pl.String))
    assert pairs.after.sort(pl.all()).equals(published.sort(pl.all()))
    assert pairs.before.columns == pairs.after.columns == published.columns
    for number, before, after in zip(
        pairs.numbers, pairs.before.rows(named=True), pairs.after.rows(named=True), strict=True
    ):
        assert before == {name: frame.row(number, named=True).get(name) for name in before}
        if how not in ("coarse", "linked"):
            assert before["disease"] == after["disease"]
            assert before["pay"] == after["pay"]
    assert (how == "linked") == ("pseudonym" in pairs.before.columns)
    few = release.side_by_side(3)
    assert (few.numbers, release.side_by_side(3).numbers) == (pairs.numbers[:3], few.numbers)
    assert repr(few) == "RowPairs(3 records)"


def test_a_table_that_is_read_in_pieces_has_no_records_to_show(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "in.csv")
    release = shoal.anonymize(tmp_path / "in.csv", **ROLES, direct_identifiers=["pcode"], k=5, engine="stream")
    with pytest.raises(ParameterError, match="engine='memory'"):
        release.side_by_side()


@pytest.mark.drawn
def test_the_terminal_shows_them_and_no_file_has_them(tmp_path: Path) -> None:
    TABLE.with_columns(age=pl.lit("Zyzzyva") + pl.col("age")).write_csv(tmp_path / "in.csv")
    words = ["anonymize", tmp_path / "in.csv", "--qi", "born,age", "--sensitive", "disease", "--insensitive", "pay"]
    words += ["--id", "pcode", "-k", 5, "-o", tmp_path / "out", "--show", 4]

    def call(*given: object) -> Any:
        return CliRunner().invoke(app, [str(word) for word in given])

    made = call(*words)
    assert made.exit_code == 0, made.stderr
    assert made.stdout.count("age Zyzzyva") == 4
    assert "Zyzzyva" not in call(*words[:-2], "--force").stdout
    assert call(*words, "--force", "--json").exit_code == 2
    streamed = call(*words, "--force", "--engine", "stream")
    assert (streamed.exit_code, "Zyzzyva" in streamed.stdout) == (0, False)
    assert "in memory" in " ".join(streamed.stderr.split())
