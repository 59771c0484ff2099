"""Every door reads a date or a number alike, however it is spelled: doors x spellings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import some

import shoal
from shoal.cli.main import app
from shoal.hierarchy.builders import date_hierarchy, interval_hierarchy

NUMBERS = ["1000", "2500.5", "90000", "-3", "10.25", "7", "12", "15"]
SPELLED_NUMBERS = {
    "decimal comma": [number.replace(".", ",") for number in NUMBERS],
    "English thousands": ["1,000", "2,500.5", "90,000", *NUMBERS[3:]],
    "German thousands": ["1.000", "2.500,5", "90.000", "-3", "10,25", *NUMBERS[5:]],
    "blanks between thousands": ["1 000", "2 500.5", "90 000", *NUMBERS[3:]],
    "exponents": ["1e3", "2.5005e3", "9E+04", "-3", "1025e-2", *NUMBERS[5:]],
    "plus": ["+1000", "+2500.5", "+90000", *NUMBERS[3:]],
    "minus": [number.replace("-", "\u2212") for number in NUMBERS],
    "percent": [f"{number} %" for number in NUMBERS],
    "dollars": ["$1,000", "$2,500.5", "$90,000", *(f"${number}" for number in NUMBERS[3:])],
    "blanks around": [" 1000", "2500.5 ", *NUMBERS[2:]],
}
DATES = ["2019-01-31", "2019-12-05", "2020-02-29", "1999-07-17"]
READ = [dt.date.fromisoformat(date) for date in DATES]
SPELLED_DATES = {
    "dotted": [f"{day:%d.%m.%Y}" for day in READ],
    "not padded": [f"{day.day}.{day.month}.{day.year}" for day in READ],
    "American": [f"{day:%m/%d/%Y}" for day in READ],
    "named": [f"{day:%d %b %Y}" for day in READ],
    "midnight": [f"{day} 00:00:00" for day in READ],
}
COPIES = 6
"""Rows of each value: fewer than k, so that no value is published."""
Door = Callable[[list[str], Path], object]


def table(spelled: list[str]) -> pl.DataFrame:
    rows = len(spelled) * COPIES
    return pl.DataFrame(
        {
            "x": spelled * COPIES,
            "sex": (["f", "m", "m"] * rows)[:rows],
            "disease": ([f"d{at}" for at in range(5)] * rows)[:rows],
            "row": range(rows),
        }
    )


def cells(frame: pl.DataFrame, **options: Any) -> list[str]:
    defaults: dict[str, Any] = {
        "quasi_identifiers": ["x", "sex"],
        "sensitive": "disease",
        "insensitive": ["row"],
        "privacy": shoal.KAnonymity(COPIES + 1),
    }
    release = shoal.anonymize(frame, **{**defaults, **options}, seed=1).data
    release = release.collect() if isinstance(release, pl.LazyFrame) else release
    return [str(cell) for _, cell in sorted(zip(release["row"], release["x"], strict=True))]


def tree(values: list[str]) -> shoal.Hierarchy:
    return shoal.Hierarchy.from_rows([(value, f"node {at % 2}", "*") for at, value in enumerate(values)])


def by_hierarchy(values: list[str], given: Any) -> list[str]:
    return cells(table(values), hierarchies={"x": given}, recoding="generalization", algorithm="full-domain")


def by_command(values: list[str], tmp_path: Path, how: str) -> list[str]:
    table(values).write_csv(tmp_path / "t.csv")
    words = [
        "hierarchy",
        str(tmp_path / "t.csv"),
        "--column",
        "x",
        "--as",
        how,
        "-o",
        str(tmp_path / "x.csv"),
        "--force",
    ]
    called = CliRunner().invoke(app, words)
    assert called.exit_code == 0, called.output
    return by_hierarchy(values, tmp_path / "x.csv")


def first_rows(values: list[str]) -> list[int]:
    frame = table(values).with_columns(person=pl.Series([row // 3 for row in range(len(values) * COPIES)]))
    asked: dict[str, Any] = {"quasi_identifiers": ["sex"], "insensitive": ["row", "x"], "privacy": shoal.KAnonymity(2)}
    release = shoal.anonymize(
        frame, **asked, sensitive="disease", person="person", rows_per_person=1, order="x", seed=1
    )
    return sorted(release.data["row"])


def as_sensitive(values: list[str]) -> pl.DataFrame:
    frame = table(["a", "b"] * (len(values) // 2))
    return frame.with_columns(disease=pl.Series(values * COPIES))


def closest(values: list[str]) -> dict[str, Any]:
    model = shoal.TCloseness(0.4, distance="ordered")
    release = shoal.anonymize(
        as_sensitive(values),
        quasi_identifiers=["x"],
        sensitive="disease",
        insensitive=["row", "sex"],
        privacy=model,
        seed=1,
    )
    return dict(release.certificate.achieved)


def figures(risk: Any) -> list[Any]:
    return [risk.to_dict()[name] for name in ("classes", "prosecutor", "journalist", "marketer", "k_map", "individual")]


NUMBER_DOORS: dict[str, Door] = {
    "intervals": lambda values, _: cells(table(values), recoding="generalization"),
    "in pieces": lambda values, _: cells(table(values), recoding="generalization", memory="1GB"),
    "bins": lambda values, _: cells(table(values), coarsen={"x": shoal.Bins(10)}),
    "hierarchy": lambda values, _: by_hierarchy(values, tree(NUMBERS)),
    "hierarchy with decimal comma": lambda values, _: by_hierarchy(values, tree(SPELLED_NUMBERS["decimal comma"])),
    "level": lambda values, _: cells(table(values), coarsen={"x": shoal.Level(tree(NUMBERS), 1)}),
    "interval_hierarchy": lambda values, _: by_hierarchy(values, interval_hierarchy(values, 1000)),
    "shoal hierarchy": lambda values, path: by_command(values, path, "intervals:1000"),
    "order": lambda values, _: first_rows(values),
    "weights": lambda values, _: figures(
        shoal.risk(table([*values[:3], *values[4:]]), quasi_identifiers=["sex"], weights="x")
    ),
    "t": lambda values, _: closest(values),
    "audit": lambda values, _: shoal.audit(
        as_sensitive(values),
        quasi_identifiers=["x"],
        sensitive="disease",
        privacy=shoal.TCloseness(0.4, distance="ordered"),
    ).to_dict()["achieved"],
    "population": lambda values, _: figures(
        shoal.risk(table(NUMBERS), quasi_identifiers=["x", "sex"], population=table(values))
    ),
    "table beside a population": lambda values, _: figures(
        shoal.risk(table(values), quasi_identifiers=["x", "sex"], population=table(NUMBERS))
    ),
    "k-map": lambda values, _: cells(
        table(values), privacy=shoal.KMap(COPIES + 1, population=table(NUMBERS)), recoding="generalization"
    ),
}
DATE_DOORS: dict[str, Door] = {
    "years": lambda values, _: cells(table(values), coarsen={"x": shoal.DatePart("year")}),
    "hierarchy": lambda values, _: by_hierarchy(values, tree(DATES)),
    "hierarchy with dots": lambda values, _: by_hierarchy(values, tree(SPELLED_DATES["dotted"])),
    "level": lambda values, _: cells(table(values), coarsen={"x": shoal.Level(tree(DATES), 1)}),
    "date_hierarchy": lambda values, _: by_hierarchy(values, date_hierarchy(values)),
    "shoal hierarchy": lambda values, path: by_command(values, path, "dates"),
    "order": lambda values, _: first_rows(values),
    "population": lambda values, _: figures(
        shoal.risk(table(DATES), quasi_identifiers=["x", "sex"], population=table(values))
    ),
    "table beside a population": lambda values, _: figures(
        shoal.risk(table(values), quasi_identifiers=["x", "sex"], population=table(DATES))
    ),
}


@pytest.mark.parametrize(
    ("doors", "canonical", "spellings"),
    [(NUMBER_DOORS, NUMBERS, SPELLED_NUMBERS), (DATE_DOORS, DATES, SPELLED_DATES)],
    ids=["numbers", "dates"],
)
def test_every_door_reads_every_spelling(
    doors: dict[str, Door], canonical: list[str], spellings: dict[str, list[str]], tmp_path: Path
) -> None:
    for door, read in some([*doors.items()]):
        expected = read(canonical, tmp_path)
        assert expected, door
        for spelling, values in some([*spellings.items()]):
            assert read(values, tmp_path) == expected, (door, spelling)


def test_what_is_published_unchanged_is_spelled_as_it_was() -> None:
    for spelled in some([*SPELLED_NUMBERS.values(), *SPELLED_DATES.values()]):
        assert cells(table(spelled), privacy=shoal.KAnonymity(2)) == spelled * COPIES
    # Of two spellings of one number, the one without an exponent is published.
    twice = ["1000", "1e3", "2.5"]
    assert cells(table(twice), privacy=shoal.KAnonymity(2)) == ["1000", "1000", "2.5"] * COPIES


def test_codes_stay_text() -> None:
    for codes in (["007", "1e3", "12"], ["1e5", "2e7", "3E8"], ["+4912345678", "+4998765432", "+33123456789"]):
        with pytest.raises(shoal.errors.DataError, match="number"):
            cells(table(codes), coarsen={"x": shoal.Bins(10)})


def test_thousands_of_a_hierarchy_fit_whole_numbers() -> None:
    numbers = [1000, 2500, 90000, 7, 12, 15]
    frame = table([str(number) for number in numbers]).with_columns(pl.col("x").cast(pl.Int64))
    for point in (".", ","):
        leaves = [f"{number:,}".replace(",", point) for number in numbers]
        options: dict[str, Any] = {"recoding": "generalization", "algorithm": "full-domain"}
        assert {"node 0", "node 1"} <= set(
            cells(
                frame, hierarchies={"x": tree(leaves)}, quasi_identifiers=["x"], insensitive=["row", "sex"], **options
            )
        )
