"""Files of Stata, SPSS and SAS, ORC, and several files by a pattern."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.every import every

import shoal
from shoal.errors import DataError, MissingExtraError, ParameterError
from shoal.io import bytes_to_read, read, scan_table, write_table
from shoal.io.stat_files import ColumnLabels

TABLE = pl.DataFrame(
    {
        "sex": [1.0, 2.0, 1.0, None],
        "age": [20.0, 30.0, 99.0, 41.0],
        "weight": [61.5, 70.0, 80.0, None],
        "name": ["a", "b", "", "d"],
        "day": [dt.date(2020, 1, 2)] * 3 + [None],
    }
)
LABELS = {"sex": {1: "male", 2: "female"}, "age": {99: "refused"}}
SHOWN = TABLE.with_columns(
    sex=pl.Series(["male", "female", "male", None]),
    age=pl.Series([20, 30, 99, 41]),
    name=pl.Series(["a", "b", None, "d"]),
)


@every("ending", [".sav", ".zsav", ".por", ".dta", ".xpt"])
def test_labels_stand_for_codes_that_all_have_one(ending: str, tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    path, expected, options = tmp_path / f"survey{ending.upper()}", SHOWN, {}
    writer = {".xpt": "xport", ".dta": "dta", ".por": "por"}.get(ending, "sav")
    if writer in ("sav", "dta"):
        options = {"variable_value_labels": LABELS}
    else:  # these have no labels
        expected = SHOWN.with_columns(sex=pl.Series([1, 2, 1, None]))
    if writer == "sav":  # 99 is declared missing
        options |= {"missing_ranges": {"age": [99]}, "compress": ending == ".zsav"}
        expected = expected.with_columns(age=pl.Series([20, 30, None, 41]))
    getattr(pyreadstat, f"write_{writer}")(TABLE, str(path), **options)
    assert_frame_equal(read(path).rename(str.lower), expected)
    with pytest.raises(ParameterError, match="delimited text"):
        read(path, delimiter=",")


def test_two_codes_of_one_label_stay_codes(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_dta(TABLE[["sex"]], str(tmp_path / "x.dta"), variable_value_labels={"sex": {1: "m", 2: "m"}})
    assert read(tmp_path / "x.dta")["sex"].to_list() == [1, 2, 1, None]


def test_a_damaged_file_and_a_missing_extra_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyreadstat")
    (tmp_path / "x.sav").write_bytes(b"Zyzzyva" * 50)
    with pytest.raises(DataError, match=r"'x.sav' cannot be read \(\w+\)") as caught:
        read(tmp_path / "x.sav")
    assert caught.value.__context__ is None
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    with pytest.raises(MissingExtraError, match=r"shoal-privacy\[stat\]"):
        read(tmp_path / "x.sav")


def survey(path: Path, rows: int = 60) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    table = pl.DataFrame(
        {
            "sex": [1.0, 2.0] * (rows // 2),
            "age": [20.0 + row % 7 for row in range(rows)],
            "region": [3.0] + [1.0 + row // 30 for row in range(1, rows)],
            "illness": [float(row % 4) for row in range(rows)],
            "visits": [99.0 if row % 5 else 3.0 for row in range(rows)],
        }
    )
    labels = {
        "sex": {1: "männlich", 2: "weiblich", 9: "Zyzzyva"},
        "region": {1: "north", 2: "south", 3: "Zyzzyva"},
        "illness": {code: f"illness {code}" for code in range(9)},
        "visits": {99: "refused", 98: "Zyzzyva"},
    }
    titles = {"sex": "Geschlecht", "age": "Wie alt sind Sie? " * 9}
    getattr(pyreadstat, f"write_{path.suffix[1:]}")(
        table, str(path), column_labels=titles, variable_value_labels=labels
    )


@pytest.mark.drawn
@pytest.mark.parametrize("kind", ["sav", "dta", "xpt"])
def test_a_release_keeps_the_labels_of_published_values_and_no_others(kind: str, tmp_path: Path) -> None:
    survey(tmp_path / "in.sav")
    # The only record of the third region is starred.
    whole = shoal.anonymize(
        str(tmp_path / "in.sav"),
        quasi_identifiers=["sex", "age", "region"],
        sensitive="illness",
        insensitive="rest",
        k=3,
        seed=1,
    )
    whole.save(tmp_path / "out", format=None if kind == "sav" else kind)
    file = tmp_path / "out" / f"release.{kind}"
    assert_frame_equal(read(file), whole.published.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)))
    assert b"Zyzzyva" not in file.read_bytes()
    assert not shoal.audit(tmp_path / "out", k=3).failures
    import pyreadstat

    found, facts = getattr(pyreadstat, "read_xport" if kind == "xpt" else f"read_{kind}")(
        str(file), output_format="polars"
    )
    assert facts.column_names_to_labels["sex"] == "Geschlecht"
    assert facts.column_names_to_labels["age"].startswith("Wie alt sind Sie? Wie")
    if kind != "xpt":
        assert found["age"].dtype == pl.String
        assert set(found["illness"]) == {0, 1, 2, 3}
        assert facts.variable_value_labels == {
            "sex": {1: "männlich", 2: "weiblich"},
            "illness": {code: f"illness {code}" for code in range(4)},
            "visits": {99: "refused"},
        }


@pytest.mark.parametrize("kind", ["sav", "dta", "xpt"])
def test_equal_tables_give_equal_files(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyreadstat")
    for name in "ab":
        write_table(SHOWN, tmp_path / f"{name}.{kind}")
    written = (tmp_path / f"a.{kind}").read_bytes()
    assert written == (tmp_path / f"b.{kind}").read_bytes()
    assert not re.search(rb"20[2-9]\d \d\d:|\d\d [A-Z][a-z]{2} [2-7]\d|[A-Z]{3}[2-7]\d:\d\d:", written)


@pytest.mark.parametrize("kind", ["sav", "dta", "xpt"])
def test_what_a_format_cannot_hold_unchanged_is_an_error_without_a_cell(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    path = tmp_path / f"x.{kind}"
    kept = pl.DataFrame(
        {
            "whole": [2**31 - 1, -5, None],
            "large": [2**53, 1, 2],
            "truth": [True, None, False],
            "day": [dt.date(1650, 2, 3), None, dt.date(2020, 1, 1)],
            "time": [dt.time(3, 4, 5)] * 3,
            "moment": [dt.datetime(2020, 1, 1, 3, 4, 5)] * 3,
            "nothing": pl.Series([None] * 3, dtype=pl.Null),
            "text": ["x" * 300, None, "ä\n"],
        }
    )
    write_table(kept, path)
    assert_frame_equal(read(path)[["day", "moment", "text"]], kept[["day", "moment", "text"]])
    assert read(path)["truth"].to_list() == ["true", None, "false"]
    bad = {
        "rounded": [2**53 + 1],
        "blank": ["Zyzzyva "] if kind == "sav" else ["Zyzzyva", "", None],
        "list": [[1]],
        "endless": [float("inf")],
        "two words": [1],
        "a" * 65: [1],
    }
    for name, values in bad.items():
        with pytest.raises(DataError, match=f"{name}.*{kind} files|outside the range") as caught:
            write_table(pl.DataFrame({name: values}), path)
        assert "Zyzzyva" not in str(caught.value)


def test_a_long_label_is_text(tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    label = "ä" * 61
    codebook = {"a": ColumnLabels(title="ü" * 200, values={1.0: label, 2.0: "b"}, shown=True)}
    frame = pl.DataFrame({"a": [label, "b"]})
    write_table(frame, tmp_path / "x.sav", codebook=codebook)
    assert_frame_equal(read(tmp_path / "x.sav"), frame)


def test_orc_is_read(tmp_path: Path) -> None:
    from pyarrow import orc

    orc.write_table(SHOWN.to_arrow(compat_level=pl.CompatLevel.oldest()), tmp_path / "x.orc")
    assert_frame_equal(read(tmp_path / "x.orc"), SHOWN)
    (tmp_path / "y.orc").write_bytes(b"ORC no")
    with pytest.raises(DataError, match="not a orc file"):
        read(tmp_path / "y.orc")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_pattern_is_one_table(ending: str, tmp_path: Path) -> None:
    parts = {"2023-2": SHOWN[:1], "2023-1": SHOWN[1:], "2024-1": SHOWN[:3]}
    for name, part in parts.items():
        write: Any = part.write_csv if ending == "csv" else part.write_parquet
        write(tmp_path / f"{name}.{ending}")
    found = read(tmp_path / f"2023-*.{ending}")
    assert found["name"].to_list() == ["b", None, "d", "a"]
    assert bytes_to_read(tmp_path / f"2023-*.{ending}") == sum(
        bytes_to_read(tmp_path / f"{name}.{ending}") or 0 for name in ("2023-1", "2023-2")
    )
    if ending == "parquet":
        assert scan_table(tmp_path / "2023-*.parquet").lazy.collect().equals(found)
    else:
        with pytest.raises(DataError, match="not all Parquet"):
            scan_table(tmp_path / "2023-*.csv")
    release = shoal.anonymize(
        str(tmp_path / f"20*.{ending}"), quasi_identifiers=["sex"], k=2, insensitive="rest", seed=1
    )
    assert release.data.height == 7


def test_files_of_different_tables_are_refused(tmp_path: Path) -> None:
    SHOWN.write_csv(tmp_path / "a.csv")
    SHOWN.drop("sex").write_csv(tmp_path / "b.csv")
    SHOWN.cast(pl.String).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="does not have the columns"):
        read(tmp_path / "?.csv")
    with pytest.raises(DataError, match="does not have the format"):
        read(tmp_path / "a.*")
    with pytest.raises(DataError, match="No file matches"):
        read(tmp_path / "c*.csv")
    # A file of that very name is no pattern.
    SHOWN[:2].write_csv(tmp_path / "[ab].csv")
    assert read(tmp_path / "[ab].csv").height == 2


def test_labels_of_missing_values_of_stata(tmp_path: Path) -> None:
    """`.a` is missing, and its label is of no code."""
    pyreadstat = pytest.importorskip("pyreadstat")
    cells = pd.DataFrame({"age": [20, 30, 40], "ill": pd.Series([1, "a", 2], dtype=object)})
    labels = {"ill": {1: "flu", 2: "cough", "a": "refused"}}
    path = tmp_path / "labelled.dta"
    pyreadstat.write_dta(cells, str(path), variable_value_labels=labels, missing_user_values={"ill": ["a"]})
    assert read(path).rows() == [(20, "flu"), (30, None), (40, "cough")]
    shoal.anonymize(path, quasi_identifiers=["age", "ill"], k=3, seed=1).save(tmp_path / "out", format="dta")
    assert read(tmp_path / "out" / "release.dta").height == 3


def test_dates_beyond_the_calendar_are_refused_by_column(tmp_path: Path) -> None:
    """A number of days that no date of Python is; the file is whole, and the message has no cell."""
    pyreadstat = pytest.importorskip("pyreadstat")
    for ending, kind, factor in ((".dta", "%td", 1), (".dta", "%tc", 86_400_000), (".sav", "DATE11", 86_400)):
        frame = pd.DataFrame({"seen": [1e9 * factor, 2e4 * factor]})
        file = tmp_path / f"x{ending}"
        write = pyreadstat.write_dta if ending == ".dta" else pyreadstat.write_sav
        write(frame, str(file), variable_format={"seen": kind})
        with pytest.raises(DataError, match=r"calendar|year 9999") as raised:
            read(file)
        assert "1000000" not in str(raised.value)
