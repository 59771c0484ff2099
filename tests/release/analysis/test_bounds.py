"""Bounds and middles of published cells: against the cells, parsed by brute force, on random tables."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.every import every, few

import shoal
from shoal.errors import ColumnError

START = date(1980, 1, 1)


def random_table(seed: int, rows: int = 40) -> pl.DataFrame:
    chance = Random(seed)

    def some(values: list[Any]) -> list[Any]:
        found = [chance.choice([*values, None] if chance.random() < 0.2 else values) for _ in range(rows)]
        return found if any(one is not None for one in found) else values[:1] * rows

    return pl.DataFrame(
        {
            "age": some(list(range(20, 20 + chance.randrange(2, 30)))),
            "height": some([150 + at / 4 for at in range(chance.randrange(2, 12))]),
            "born": some([START + timedelta(days=37 * at) for at in range(chance.randrange(2, 20))]),
            "town": some(["Aachen", "Bonn, Rhein", "Celle", "Essen"]),
            "grade": pl.Series(some(["low", "mid", "high"]), dtype=pl.Enum(["low", "mid", "high"])),
            "sick": [chance.choice(["flu", "cough"]) for _ in range(rows)],
        }
    )


ROLES: dict[str, Any] = {
    "quasi_identifiers": ["age", "height", "born", "town", "grade"],
    "sensitive": "sick",
    "seed": 1,
}


def of_number(text: str) -> float:
    return float(text)


def of_day(text: str) -> date:
    return date.fromisoformat(text)


def parsed(cell: Any, read: Any) -> tuple[Any, Any]:
    """The ends of a cell, by the forms that the documentation tells."""
    if cell is None or cell == "*":
        return None, None
    if not isinstance(cell, str):
        return cell, cell
    found = re.fullmatch(r"\[([^,]+), ([^,]+)([\])])", cell)
    if found:
        low, high = read(found[1]), read(found[2])
        return low, high - timedelta(days=1) if found[3] == ")" and read is of_day else high
    if cell.startswith(">="):
        return read(cell[2:]), None
    if cell.startswith("<"):
        return None, read(cell[1:]) - timedelta(days=1) if read is of_day else read(cell[1:])
    period = re.fullmatch(r"(\d{4})(?:-Q(\d)|-(\d{2}))?", cell) if read is of_day else None
    if period:
        month = 3 * int(period[2]) - 2 if period[2] else int(period[3] or 1)
        low, after = date(int(period[1]), month, 1), month + (3 if period[2] else 1 if period[3] else 12)
        return low, date(low.year + (after - 1) // 12, (after - 1) % 12 + 1, 1) - timedelta(days=1)
    if cell.startswith("{"):
        members = [read(one) for one in cell[1:-1].split(", ")]
        return min(members), max(members)
    return read(cell), read(cell)


REQUESTS = {
    "suppression": {},
    "generalization": {"recoding": "generalization"},
    "bins": {"recoding": "generalization", "coarsen": {"age": shoal.Bins(5), "height": shoal.Bins(1)}},
    "levels": {"recoding": "generalization", "algorithm": "full-domain"},
}


@pytest.mark.drawn
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_bounds_are_those_of_the_published_cells(request_: dict[str, Any]) -> None:
    intervals = stars = 0
    for seed in range(few(8)):
        release = shoal.anonymize(random_table(seed), k=2 + seed % 4, **ROLES, **request_)
        bounds, middles, cells = release.as_bounds(), release.midpoints(), release.data
        assert bounds.height == middles.height == cells.height
        for name, read in {"age": of_number, "height": of_number, "born": of_day}.items():
            told = [parsed(cell, read) for cell in cells[name]]
            low, high = bounds[f"{name}_low"].to_list(), bounds[f"{name}_high"].to_list()
            assert list(zip(low, high, strict=True)) == told
            assert bounds[f"{name}_low"].dtype == (pl.Date if read is of_day else bounds[f"{name}_low"].dtype)
            for middle, (first, last) in zip(middles[name], told, strict=True):
                if first is None or last is None:
                    assert middle is None
                elif read is of_day:
                    assert middle == first + timedelta(days=(last - first).days // 2)
                else:
                    assert middle == pytest.approx((first + last) / 2)
            intervals += sum(first != last for first, last in told)
            stars += sum(cell == "*" for cell in cells[name] if isinstance(cell, str))
        assert bounds["sick"].equals(cells["sick"])
        assert bounds["town"].cast(pl.String).equals(cells["town"].cast(pl.String))
    assert stars > few(50)
    assert request_ == {} or intervals > few(50)


@every("seed", range(6))
def test_bounds_hold_the_original_values(seed: int) -> None:
    table = random_table(seed)
    release = shoal.anonymize(table, k=3, keep_order=True, recoding="generalization", **ROLES)
    bounds = release.as_bounds()
    for name in ("age", "height", "born"):
        for value, low, high in zip(table[name], bounds[f"{name}_low"], bounds[f"{name}_high"], strict=True):
            assert low is None or value is None or low <= value
            assert high is None or value is None or value <= high


def test_they_depend_on_the_published_table_alone() -> None:
    """Two originals of one published table have the same bounds."""
    grown = {"age": [20, 21, 22, 30, 31, 32], "sick": list("abcabc")}
    other = {**grown, "age": [20, 22, 22, 30, 30, 32]}
    asked: dict[str, Any] = {"recoding": "generalization", "exact_ends": True}
    made = [
        shoal.anonymize(pl.DataFrame(one), quasi_identifiers=["age"], sensitive="sick", k=3, **asked)
        for one in (grown, other)
    ]
    assert made[0].data.equals(made[1].data)
    assert made[0].as_bounds().equals(made[1].as_bounds())
    assert sorted(set(made[0].as_bounds().rows())) == [(20, 22, one) for one in "abc"] + [
        (30, 32, one) for one in "abc"
    ]


def test_dates_of_text_are_read_from_published_cells_alone() -> None:
    """Whether suppressed cells were dates, too, cannot be told from the bounds."""
    kept, asked = ["31.12.1980", "31.12.1980"], {"quasi_identifiers": ["born"], "k": 2}
    dates = shoal.anonymize(pl.DataFrame({"born": [*kept, "01.02.1990", "03.04.1991"]}), **asked)
    others = shoal.anonymize(pl.DataFrame({"born": [*kept, "unknown", "?"]}), **asked)
    assert "born" in dates.forms
    assert "born" not in others.forms
    assert dates.data.equals(others.data)
    for view in ("as_bounds", "midpoints"):
        assert getattr(dates, view)().equals(getattr(others, view)())
    assert set(dates.as_bounds().rows()) == {(date(1980, 12, 31),) * 2, (None, None)}
    tables = [pl.DataFrame({"born": born}) for born in (["01.02.1990", "03.04.1991"], ["x", "y"])]
    starred = [shoal.anonymize(table, **asked).as_bounds() for table in tables]
    assert starred[0].equals(starred[1])


def test_declared_categories_keep_their_order_and_stars_have_none() -> None:
    sizes = ["S", "M", "L", "XL"]
    table = pl.DataFrame({"size": pl.Series(["S", "M", "M", "L", "XL", "XL", None], dtype=pl.Enum(sizes))})
    suppressed = shoal.anonymize(table, quasi_identifiers=["size"], k=2).as_bounds()["size"]
    assert suppressed.dtype == pl.Enum(["M", "XL"])
    assert suppressed.null_count() == 3
    asked: dict[str, Any] = {"quasi_identifiers": ["size"], "recoding": "generalization", "exact_ends": True}
    intervals = shoal.anonymize(table.drop_nulls(), k=3, **asked)
    assert intervals.as_bounds()["size"].dtype == pl.Enum(["[S, M]", "[L, XL]"])
    town = pl.DataFrame({"town": ["a", "b", "c", "d"]})
    sets = shoal.anonymize(town, quasi_identifiers=["town"], k=2, recoding="generalization").as_bounds()["town"]
    assert sets.dtype == pl.Categorical


def pandas_of(table: pl.DataFrame) -> pd.DataFrame:
    frame = table.drop("grade").to_pandas()
    frame["grade"] = pd.Categorical(table["grade"].cast(pl.String).to_list(), ["low", "mid", "high"], ordered=True)
    frame["born"] = pd.to_datetime(frame["born"])
    frame["sick"] = frame["sick"].astype("category")
    return frame


def test_pandas_gets_pandas() -> None:
    release = shoal.anonymize(pandas_of(random_table(3)), k=6, recoding="generalization", **ROLES)
    bounds = release.as_bounds()
    assert isinstance(bounds, pd.DataFrame)
    assert list(bounds.columns) == [
        *("age_low", "age_high", "height_low", "height_high", "born_low", "born_high", "town", "grade", "sick")
    ]
    assert isinstance(bounds["grade"].dtype, pd.CategoricalDtype)
    assert bounds["grade"].cat.ordered
    assert not bounds["town"].cat.ordered
    assert bounds["sick"].dtype == release.data["sick"].dtype
    assert bounds["born_low"].dtype.kind == "M"
    assert bounds["height_low"].dtype.kind == "f"


def test_arrow_gets_arrow_with_dictionaries() -> None:
    release = shoal.anonymize(random_table(3).to_arrow(), k=6, recoding="generalization", **ROLES)
    bounds = release.as_bounds()
    assert isinstance(bounds, pa.Table)
    assert pa.types.is_dictionary(bounds.schema.field("town").type)
    assert not bounds.schema.field("town").type.ordered
    assert pa.types.is_date(bounds.schema.field("born_low").type)


def test_what_nothing_was_done_to_keeps_its_type() -> None:
    table = pl.DataFrame(
        {
            "age": pl.Series([30, 30, 40, 40], dtype=pl.Int16),
            "town": ["a", "a", "b", "b"],
            "seen": [datetime(2020, 1, 1, 12)] * 4,
            "weight": [70.5, 71, 72, 73.5],
        }
    )
    roles: dict[str, Any] = {"quasi_identifiers": ["age", "town", "seen"], "insensitive": "rest", "k": 2}
    release = shoal.anonymize(table, **roles)
    bounds = release.as_bounds()
    assert dict(bounds.schema) == {
        "age_low": pl.Int16,
        "age_high": pl.Int16,
        "town": pl.String,
        "seen_low": table.schema["seen"],
        "seen_high": table.schema["seen"],
        "weight": pl.Float64,
    }
    assert release.midpoints().schema == table.schema
    frame = shoal.anonymize(table.to_pandas(), **roles).as_bounds()
    assert str(frame["age_low"].dtype) in ("int16", "int64")
    assert frame["town"].dtype == table.to_pandas()["town"].dtype


def test_coarse_columns() -> None:
    table = pl.DataFrame(
        {
            "age": [3, 12, 17, 30, 66, 91, 95, 97],
            "income": [12, 13, 21, 22, 33, 34, 41, 42],
            "born": [date(1980 + at // 2, 3, 1 + at) for at in range(8)],
            "zip": ["10115", "10117", "10119", "10243", "20095", "20097", "20099", "20144"],
        }
    )
    release = shoal.anonymize(
        table,
        quasi_identifiers=table.columns,
        k=1,
        keep_order=True,
        coarsen={
            "age": shoal.TopCode(90),
            "income": shoal.Round(10),
            "born": shoal.DatePart("year"),
            "zip": shoal.Prefix(2),
        },
    )
    bounds = release.as_bounds()
    assert bounds["age_low"].to_list() == [3, 12, 17, 30, 66, 90, 90, 90]
    assert bounds["age_high"].to_list() == [3, 12, 17, 30, 66, None, None, None]
    assert bounds.select("income_low", "income_high").row(0) == (5, 15)
    assert bounds.select("born_low", "born_high").row(0) == (date(1980, 1, 1), date(1980, 12, 31))
    assert release.midpoints()["age"].to_list()[-1] is None
    assert release.midpoints()["born"][0] == date(1980, 7, 1)
    assert "zip" in bounds.columns, "beginnings of codes are names"


def test_codes_are_no_numbers_until_a_cell_is_an_interval() -> None:
    codes = pl.DataFrame({"zip": ["10115", "10115", "20095", "20097"]})
    asked: dict[str, Any] = {"quasi_identifiers": ["zip"], "k": 2}
    kept = shoal.anonymize(codes.with_columns(zip=pl.lit("10115")), **asked).as_bounds()
    assert kept.schema == {"zip": pl.String}
    starred = shoal.anonymize(codes, **asked).as_bounds()
    assert sorted(starred["zip"].cast(pl.String)) == ["*", "*", "10115", "10115"]
    joined = shoal.anonymize(codes, recoding="generalization", exact_ends=True, **asked).as_bounds()
    assert sorted(joined.rows()) == [(10115, 10115)] * 2 + [(20095, 20097)] * 2


def test_a_name_that_is_taken() -> None:
    table = pl.DataFrame({"age": [1, 1, 2, 2], "age_low": [1, 2, 3, 4]})
    release = shoal.anonymize(table, quasi_identifiers=["age"], insensitive="rest", k=2)
    with pytest.raises(ColumnError, match="age_low"):
        release.as_bounds()
    assert release.midpoints().columns == ["age", "age_low"]


def test_releases_of_any_size(tmp_path: Any) -> None:
    table = random_table(5, rows=60).select("age", "town", "sick")
    table.write_parquet(tmp_path / "people.parquet")
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "town"], "sensitive": "sick", "k": 4, "seed": 1}
    asked |= {"recoding": "generalization", "algorithm": "mondrian"}
    whole = shoal.anonymize(tmp_path / "people.parquet", **asked).as_bounds()
    parts = shoal.anonymize(tmp_path / "people.parquet", engine="stream", **asked).as_bounds()
    assert isinstance(parts, pl.LazyFrame)
    names = whole.columns
    plain = pl.col(pl.Categorical).cast(pl.String)
    assert parts.collect().with_columns(plain).sort(names).equals(whole.with_columns(plain).sort(names))
