"""Bands of years: compared with the calendar, in releases, and as levels of hierarchies."""

from __future__ import annotations

import datetime as dt
import random

import polars as pl
import pytest

import shoal
from shoal import DatePart
from shoal.hierarchy import date_hierarchy

DAY = dt.timedelta(days=1)


def band_of(day: dt.date, width: int) -> str:
    """Walk from a day to the first and last day of its band."""
    first, last = day, day
    while first.year % width or (first.month, first.day) != (1, 1):
        first -= DAY
    while (last + DAY).year % width or ((last + DAY).month, (last + DAY).day) != (1, 1):
        last += DAY
    return f"[{first.year}, {last.year}]"


@pytest.mark.parametrize(("part", "width"), [("decade", 10), ("5years", 5), ("7years", 7)])
def test_bands_are_those_of_the_calendar(part: str, width: int) -> None:
    draw = random.Random(width)
    days = [dt.date(1899, 12, 31) + draw.randrange(60_000) * DAY for _ in range(20)]
    days += [dt.date(1980, 1, 1), dt.date(1979, 12, 31), dt.date(2000, 2, 29)]
    (made,) = DatePart(part).apply((pl.Series("born", days),))
    assert made.to_list() == [band_of(day, width) for day in days]


def test_a_release_with_bands_is_verified_and_its_bounds_are_days() -> None:
    born = [dt.date(1950 + row % 40, 1 + row % 12, 1 + row % 28).strftime("%d.%m.%Y") for row in range(200)]
    table = pl.DataFrame({"born": born, "sick": ["flu", "cough"] * 100})
    release = shoal.anonymize(
        table,
        quasi_identifiers=["born"],
        sensitive="sick",
        k=40,
        coarsen={"born": DatePart("5years")},
        recoding="generalization",
    )
    # Groups of several bands are published as the band that covers them.
    cells = set(release.data["born"].to_list())
    assert all(cell[0] == "[" and int(cell[1:5]) % 5 == 0 and int(cell[7:11]) % 5 == 4 for cell in cells)
    assert release.certificate.parameters["coarsen"]["born"] == {"coarsening": "date-part", "part": "5years"}
    bounds = release.as_bounds().select("born_low", "born_high").unique().rows()
    assert {f"[{low.year}, {high.year}]" for low, high in bounds} == cells
    assert {(low.month, low.day, high.month, high.day) for low, high in bounds} == {(1, 1, 12, 31)}


def test_hierarchies_have_bands_only_if_they_merge_years() -> None:
    years = [f"{year}-05-01" for year in (1980, 1983, 1987, 1994)]
    assert date_hierarchy(years).rows()[0] == (
        "1980-05-01",
        "1980-05",
        "1980-Q2",
        "1980",
        "[1980, 1984]",
        "[1980, 1989]",
        "*",
    )
    assert date_hierarchy(["1980-05-01", "1990-05-01"]).rows()[0] == ("1980-05-01", "1980-05", "1980-Q2", "1980", "*")
