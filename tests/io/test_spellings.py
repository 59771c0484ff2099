"""Every door reads a date or a number alike, however it is spelled: doors x spellings."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import DRAW, THOROUGH, every, some

import shoal
from shoal.cli.main import app
from shoal.hierarchy.builders import date_hierarchy, interval_hierarchy
from shoal.io import DateForm, understand

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
    "blanks around dollars": [" $1000", "$2500.5 ", *(f"${number}" for number in NUMBERS[2:])],
    "thousands here and there": ["1\u202f000", *NUMBERS[1:]],
}
DATES = ["2019-01-31", "2019-12-05", "2020-02-29", "1999-07-17"]


def dotted(dates: list[str]) -> list[str]:
    return [f"{dt.date.fromisoformat(date):%d.%m.%Y}" for date in dates]


READ = [dt.date.fromisoformat(date) for date in DATES]
SPELLED_DATES = {
    "dotted": dotted(DATES),
    "not padded": [f"{day.day}.{day.month}.{day.year}" for day in READ],
    "American": [f"{day:%m/%d/%Y}" for day in READ],
    "named": [f"{day:%d %b %Y}" for day in READ],
    "midnight": [f"{day} 00:00:00" for day in READ],
    "midnight in short": [f"{day.month}/{day.day}/{day.year} 0:00" for day in READ],
    "midnight to the millisecond": [f"{day} 00:00:00.000" for day in READ],
    "midnight in America": [f"{day:%m/%d/%Y} 12:00:00 AM" for day in READ],
    "midnight somewhere": [f"{day}T00:00:00+02:00" for day in READ],
    "blanks around": [f" {DATES[0]}", f"{DATES[1]} ", *DATES[2:]],
}
COPIES = 6
"""Rows of each value: fewer than k, so that no value is published."""


def csv(frame: pl.DataFrame, path: Path) -> Path:
    frame.write_csv(path / "t.csv")
    return path / "t.csv"


def sheet(frame: pl.DataFrame, path: Path) -> Path:
    frame.write_excel(path / "t.xlsx")
    return path / "t.xlsx"


def parquet(frame: pl.DataFrame, path: Path) -> Path:
    frame.write_parquet(path / "t.parquet")
    return path / "t.parquet"


def stata(frame: pl.DataFrame, path: Path) -> Path:
    pytest.importorskip("pyreadstat").write_dta(frame, str(path / "t.dta"))
    return path / "t.dta"


def typed(frame: pl.DataFrame, path: Path) -> Path:
    """Write numbers and dates as such to a sheet."""

    def read(column: pl.Series) -> pl.Series:
        for found in (column.cast(pl.Float64, strict=False), column.str.to_date("%Y-%m-%d", strict=False)):
            if found.null_count() == 0:
                return found
        return column

    return sheet(frame.with_columns(read(frame[name]) for name in ("x", "disease")), path)


CARRIERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "Polars": lambda frame, _: frame,
    "pandas": lambda frame, _: frame.to_pandas(),
    "CSV": csv,
    "Excel": sheet,
    "Parquet": parquet,
    "Stata": stata,
    "typed Excel": typed,
}
"""What holds the text."""


@dataclass(frozen=True)
class Spelled:
    """A column, as it is spelled and in canonical notation, and what holds its table."""

    values: list[str]
    canonical: list[str]
    path: Path
    carrier: str = "Polars"

    def table(self, values: list[str] | None = None, **more: Any) -> Any:
        return CARRIERS[self.carrier](table(self.values if values is None else values, **more), self.path)


Door = Callable[[Spelled], object]


def table(spelled: list[str], *, person: bool = False) -> pl.DataFrame:
    rows = len(spelled) * COPIES
    return pl.DataFrame(
        {
            "x": spelled * COPIES,
            "sex": (["f", "m", "m"] * rows)[:rows],
            "disease": ([f"d{at}" for at in range(5)] * rows)[:rows],
            "row": [f"r{row:03}" for row in range(rows)],
        }
        | ({"person": [row // 3 for row in range(rows)]} if person else {})
    )


def cells(frame: Any, **options: Any) -> list[str]:
    defaults: dict[str, Any] = {
        "quasi_identifiers": ["x", "sex"],
        "sensitive": "disease",
        "insensitive": ["row"],
        "privacy": shoal.KAnonymity(COPIES + 1),
    }
    release = shoal.anonymize(frame, **{**defaults, **options}, seed=1).data
    release = release.collect() if isinstance(release, pl.LazyFrame) else pl.DataFrame(release)
    # Ends of floats have a point.
    return [re.sub(r"\.0\b", "", str(cell)) for _, cell in sorted(zip(release["row"], release["x"], strict=True))]


def tree(values: list[str]) -> shoal.Hierarchy:
    return shoal.Hierarchy.from_rows([(value, f"node {at % 2}", "*") for at, value in enumerate(dict.fromkeys(values))])


def by_hierarchy(column: Spelled, given: Any) -> list[str]:
    return cells(column.table(), hierarchies={"x": given}, recoding="generalization", algorithm="full-domain")


def by_command(column: Spelled, how: str) -> list[str]:
    words = ["hierarchy", str(csv(table(column.values), column.path)), "--column", "x", "--as", how]
    called = CliRunner().invoke(app, [*words, "-o", str(column.path / "x.csv"), "--force"])
    if isinstance(called.exception, SystemExit):
        raise shoal.errors.DataError(called.output)
    assert called.exit_code == 0, called
    return by_hierarchy(column, column.path / "x.csv")


def first_rows(column: Spelled) -> list[str]:
    asked: dict[str, Any] = {"quasi_identifiers": ["sex"], "insensitive": ["row", "x"], "privacy": shoal.KAnonymity(2)}
    kept: dict[str, Any] = {"person": "person", "rows_per_person": 1, "kept_rows": "first", "order": "x"}
    release = shoal.anonymize(column.table(person=True), **asked, sensitive="disease", **kept, seed=1)
    return sorted(release.data["row"])


def as_sensitive(column: Spelled) -> Any:
    frame = table(["a", "b"] * ((len(column.values) + 1) // 2))[: len(column.values) * COPIES]
    frame = frame.with_columns(disease=pl.Series(column.values * COPIES))
    return CARRIERS[column.carrier](frame, column.path)


def closest(column: Spelled) -> dict[str, Any]:
    model = shoal.TCloseness(0.4, distance="ordered")
    release = shoal.anonymize(
        as_sensitive(column),
        quasi_identifiers=["x"],
        sensitive="disease",
        insensitive=["row", "sex"],
        privacy=model,
        seed=1,
    )
    return dict(release.certificate.achieved)


def ages(column: Spelled) -> list[str]:
    release = shoal.anonymize(
        column.table(),
        derive={"age": "years:x:2031-12-31"},
        quasi_identifiers=["age"],
        direct_identifiers=["x"],
        insensitive=["row", "sex", "disease"],
        privacy=shoal.KAnonymity(COPIES + 1),
        recoding="generalization",
        seed=1,
    )
    return sorted(map(str, release.data["age"]))


def figures(given: Any, *, names: Sequence[str] = ("x", "sex"), **options: Any) -> list[Any]:
    risk = shoal.risk(given, quasi_identifiers=list(names), **options).to_dict()
    return [risk[name] for name in ("classes", "prosecutor", "journalist", "marketer", "k_map", "individual")]


POPULATION_DOORS: dict[str, Door] = {
    "population": lambda column: figures(table(column.canonical), population=column.table()),
    "table beside a population": lambda column: figures(column.table(), population=table(column.canonical)),
    "k-map": lambda column: cells(
        column.table(),
        privacy=shoal.KMap(COPIES + 1, population=table(column.canonical)),
        recoding="generalization",
    ),
}
NUMBER_DOORS: dict[str, Door] = {
    "intervals": lambda column: cells(column.table(), recoding="generalization"),
    "in pieces": lambda column: cells(column.table(), recoding="generalization", memory="1GB"),
    "bins": lambda column: cells(column.table(), coarsen={"x": shoal.Bins(10)}),
    # Whole numbers in the notation of the column, with its unit.
    "round": lambda column: [
        re.sub(r"[^0-9*-]", "", cell)
        for cell in cells(column.table(), coarsen={"x": shoal.Round(1000)}, recoding="generalization")
    ],
    "top": lambda column: cells(column.table(), coarsen={"x": shoal.TopCode(12)}, recoding="generalization"),
    "hierarchy": lambda column: by_hierarchy(column, tree(column.canonical)),
    "hierarchy with decimal comma": lambda column: by_hierarchy(
        column, tree([number.replace(".", ",") for number in column.canonical])
    ),
    "level": lambda column: cells(column.table(), coarsen={"x": shoal.Level(tree(column.canonical), 1)}),
    "interval_hierarchy": lambda column: by_hierarchy(column, interval_hierarchy(column.values, 1000)),
    "shoal hierarchy": lambda column: by_command(column, "intervals:1000"),
    "order": first_rows,
    "weights": lambda column: figures(
        column.table([one for one, number in zip(column.values, column.canonical, strict=True) if float(number) >= 1]),
        names=["sex"],
        weights="x",
    ),
    "group": lambda column: shoal.grouping.ordered(column.values * COPIES, COPIES + 1).classes.tolist(),
    "t": closest,
    "audit": lambda column: shoal.audit(
        as_sensitive(column),
        quasi_identifiers=["x"],
        sensitive="disease",
        privacy=shoal.TCloseness(0.4, distance="ordered"),
    ).to_dict()["achieved"],
    **POPULATION_DOORS,
}
DATE_DOORS: dict[str, Door] = {
    "years": lambda column: cells(column.table(), coarsen={"x": shoal.DatePart("year")}),
    "derive": ages,
    "group": lambda column: shoal.grouping.ordered(column.values * COPIES, COPIES + 1).classes.tolist(),
    "hierarchy": lambda column: by_hierarchy(column, tree(column.canonical)),
    "hierarchy with dots": lambda column: by_hierarchy(column, tree(dotted(column.canonical))),
    "level": lambda column: cells(column.table(), coarsen={"x": shoal.Level(tree(column.canonical), 1)}),
    "date_hierarchy": lambda column: by_hierarchy(column, date_hierarchy(column.values)),
    "shoal hierarchy": lambda column: by_command(column, "dates"),
    "order": first_rows,
    **POPULATION_DOORS,
}


@every(
    ("doors", "canonical", "spellings"), [(NUMBER_DOORS, NUMBERS, SPELLED_NUMBERS), (DATE_DOORS, DATES, SPELLED_DATES)]
)
def test_every_door_reads_every_spelling(
    doors: dict[str, Door], canonical: list[str], spellings: dict[str, list[str]], tmp_path: Path
) -> None:
    tried_here = doors.items() if THOROUGH else random.Random(f"{DRAW} doors").sample([*doors.items()], len(doors) // 6)
    for door, read in tried_here:
        expected = read(Spelled(canonical, canonical, tmp_path))
        assert expected, door
        served = [one for one in CARRIERS if one != "typed Excel"]
        tried = [*product(spellings, served if door != "in pieces" else ("Polars", "CSV", "Parquet"))]
        tried += [("canonical", "typed Excel")] if door != "in pieces" else []
        for spelling, carrier in some(some(tried, name=door), name=door):
            column = Spelled(spellings.get(spelling, canonical), canonical, tmp_path, carrier)
            assert read(column) == expected, (door, spelling, carrier)


@pytest.mark.thorough
def test_spark_reads_spellings_too(spark: Any) -> None:
    def published(frame: Any, **options: Any) -> list[tuple[str, ...]]:
        asked: dict[str, Any] = {"quasi_identifiers": ["x", "sex"], "sensitive": "disease", "seed": 1}
        models = shoal.KAnonymity(COPIES + 1)
        release = shoal.anonymize(frame, direct_identifiers=["row"], **asked, privacy=models, **options)
        rows = release.data.toArrow() if hasattr(release.data, "toArrow") else release.data
        return sorted(pl.DataFrame(rows).select("x", "sex", "disease").rows())

    trees = {"x": tree(NUMBERS), "sex": tree(["f", "m"])}
    for canonical, spellings, options in (
        (NUMBERS, SPELLED_NUMBERS, {}),
        (NUMBERS, SPELLED_NUMBERS, {"hierarchies": trees, "algorithm": "full-domain"}),
        (DATES, SPELLED_DATES, {"coarsen": {"x": shoal.DatePart("year")}}),
    ):
        expected = published(table(canonical), recoding="generalization", **options)
        for spelled in (canonical, *some(spellings.values())):
            on_spark = spark.createDataFrame(table(spelled).to_arrow())
            assert published(on_spark, recoding="generalization", **options) == expected, spelled


def test_what_is_published_unchanged_is_spelled_as_it_was() -> None:
    for spelled in some([*SPELLED_NUMBERS.values(), *SPELLED_DATES.values()]):
        # Blanks around dates are left out, and all thousands are grouped if some are.
        written = {"2500.5": "2\u202f500.5", "90000": "90\u202f000"} if "1\u202f000" in spelled else {}
        expected = [one.strip() if one.strip() in DATES else written.get(one, one) for one in spelled]
        assert cells(table(spelled), privacy=shoal.KAnonymity(2)) == expected * COPIES
    # Of two spellings of one number, the one without an exponent is published.
    twice = ["1000", "1e3", "2.5"]
    assert cells(table(twice), privacy=shoal.KAnonymity(2)) == ["1000", "1000", "2.5"] * COPIES
    # Rounded numbers are no cells, so they have no spelling.
    rounded = cells(table(["1e3", "1200", "900", "7"]), coarsen={"x": shoal.Round(1000)}, recoding="suppression")
    assert set(rounded) == {"1000", "*"}


def test_zero_may_have_a_sign() -> None:
    for spelled, canonical in (
        (["+5", "-3", "+0", "-0"], ["5", "-3", "0", "0"]),
        (["\u22120", "7,5", "-12"], ["0", "7.5", "-12"]),
        (["-0 %", "7 %"], ["0", "7"]),
    ):
        assert understand(pl.DataFrame({"x": spelled}), ["x"]).frame["x"].to_list() == canonical
        assert cells(table(spelled), coarsen={"x": shoal.Bins(10)}) == cells(
            table(canonical), coarsen={"x": shoal.Bins(10)}
        )
    assert cells(table(["-0", "7.5"]), privacy=shoal.KAnonymity(2)) == ["-0", "7.5"] * COPIES


def test_rows_of_a_cell_are_drawn_in_pieces_in_the_order_of_values() -> None:
    for spelled, canonical in (
        ([" +728", "+0,868", " +0,4", "+33\u202f428", "+0,004"], ["728", "0.868", "0.4", "33428", "0.004"]),
        (["9.000", "10.500", "728"], ["9000", "10500", "728"]),
        (["9.1.2020", "10.1.2020", "11.2.2020"], ["2020-01-09", "2020-01-10", "2020-02-11"]),
    ):
        options: dict[str, Any] = {"recoding": "generalization", "memory": "1GB", "decimal": ","}
        expected = cells(table(canonical), **{**options, "decimal": None})
        assert cells(table(spelled), **options) == expected
        numbers = table(canonical).with_columns(pl.col("x").cast(pl.Float64, strict=False))
        assert numbers["x"].null_count() or cells(numbers, **options | {"decimal": None}) == expected


def test_codes_stay_text(tmp_path: Path) -> None:
    for codes in (["007", "1e3", "12"], ["1e5", "2e7", "3E8"], ["+4912345678", "+4998765432", "+33123456789"]):
        with pytest.raises(shoal.errors.DataError, match="number"):
            cells(table(codes), coarsen={"x": shoal.Bins(10)})
    # Telephone numbers are no weights and give no order either; digits with a leading zero do.
    for codes, able in ((["+7278232", "+4912345678", "+33123456"], False), (["007", "012", "130"], True)):
        for door in ("weights", "order"):
            try:
                found = NUMBER_DOORS[door](Spelled(codes, [code.lstrip("+0") for code in codes], tmp_path))
            except shoal.errors.DataError:
                found = None
            assert (found is not None) == able, (door, codes)
    with pytest.raises(shoal.errors.DataError, match="no finite number"):
        shoal.risk(table(SPELLED_DATES["dotted"]), quasi_identifiers=["sex"], weights="x")


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


FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%B %d, %Y", "%Y/%m/%d", "%d.%m.%y", "%d-%m-%Y")
CLOCKS = ("", "", " %H:%M", "T%H:%M:%S", " %I:%M %p", "T%H:%M:%S+02:00", " 00:00:00", " 0:00")
ODD = (
    *("n/a", "90+", "<5", "", " ", "-", "9999-99-99", "1e400", "NaN", "inf", "1,2,3", "00", "-0", "1.", ".5", "1e5"),
    *("2019", "12:30", "31.02.2020", "2020-02-30", "50K-60K", "12 %", "$5", "(12)", "5-", "\u0663", "\uff11", "1/2"),
)


def draw_column(draw: random.Random) -> list[str]:
    """Draw different values of one style, now and then with an odd cell."""
    sign, apart = draw.choice([".,", ",.", ". ", ",\u202f", ".'", ".", ","]), ""
    sign, apart = sign[0], sign[1:]
    plus, minus, power, pad = draw.choice(["", "+"]), draw.choice("-\u2212"), draw.random() < 0.2, draw.random() < 0.2
    unit = draw.choice([*[("", "")] * 6, ("$", ""), ("", " %"), ("", "K"), ("", " kg"), ("0", "")])
    date = draw.choice(FORMATS) + draw.choice(CLOCKS)

    def number() -> str:
        size, places = draw.randrange(1, 8), draw.choice([0, 0, 1, 2, 3])
        value = draw.randrange(10**size) / 10**places
        text = f"{value:.2e}" if power else f"{value:,.{places}f}".replace(",", "_").replace(".", sign)
        return (minus if draw.random() < 0.1 else plus) + unit[0] + text.replace("_", apart) + unit[1]

    def moment() -> str:
        day = dt.datetime(draw.randrange(1930, 2024), draw.randrange(1, 13), draw.randrange(1, 29))
        return (day + dt.timedelta(minutes=draw.randrange(1440))).strftime(date)

    def code() -> str:
        return draw.choice(
            [f"{draw.randrange(1000):05}", f"+{draw.randrange(10**6, 10**10)}", f"{draw.randrange(9)}e7"]
        )

    make = draw.choice([number, number, number, moment, moment, code])
    values = [" " * (pad and draw.random() < 0.5) + make() for _ in range(draw.randrange(3, 7))]
    return list(dict.fromkeys(draw.choice(ODD) if draw.random() < 0.04 else one for one in values))


def outcome(door: Door, column: Spelled) -> object:
    """Return what a door finds, or None if it refuses in its own words."""
    try:
        return door(column)
    except shoal.errors.ShoalError:
        return None


@every("seed", range(64))
def test_every_door_reads_drawn_columns_alike(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    values = draw_column(draw)
    read = understand(pl.DataFrame({"x": values}), ["x"])
    column, form = read.frame["x"], read.forms.get("x")
    plain = all(re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", value) and value != "-0" for value in values)
    if isinstance(form, DateForm):
        iso = "%Y-%m-%d" if column.dtype == pl.Date else "%Y-%m-%dT%H:%M:%S"
        canonical, doors = column.dt.to_string(iso).to_list(), DATE_DOORS
    elif form is not None or plain:
        canonical, doors = column.to_list(), NUMBER_DOORS
    else:
        # What is neither is refused where numbers are needed; digits with a leading zero give weights and an order.
        codes = all(re.fullmatch(r" *[0-9]+(\.[0-9]+)?", value) for value in values)
        for name in ("bins", "group", "interval_hierarchy", *(() if codes else ("weights", "order"))):
            numbers = Spelled(values, ["1"] * len(values), tmp_path)
            assert outcome(NUMBER_DOORS[name], numbers) is None, (name, values)
        return
    if len(set(canonical)) == len(set(values)):
        unable = {"hierarchy with dots"} if column.dtype == pl.Datetime else set()
        unable |= {"weights"} if doors is NUMBER_DOORS and min(map(float, canonical)) < 1 else set()
        for name in draw.sample(sorted(doors.keys() - unable), 4):
            spelled, expected = (outcome(doors[name], Spelled(one, canonical, tmp_path)) for one in (values, canonical))
            assert spelled == expected, (name, values)
