"""Dates that become days since the first date of the person."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import every

import shoal
from shoal import Bins, SinceFirst
from shoal.errors import ColumnError, DataError, ParameterError, UnsupportedError, UsageError
from shoal.request.coarsening_words import coarsenings_of

ROLES: dict[str, Any] = {"quasi_identifiers": ["in", "out"], "sensitive": "disease", "person": "pcode", "k": 2}


def stays(form: str | None = None) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    begins = [date(2024, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 400, 40)]
    ends = [day + timedelta(days=int(stay)) for day, stay in zip(begins, rng.integers(0, 3, 40), strict=True)]
    table = pl.DataFrame(
        {"pcode": [place // 2 for place in range(40)], "in": begins, "out": ends, "disease": [*"abcd"] * 10}
    )
    return table if form is None else table.with_columns(pl.col("in", "out").dt.strftime(form))


@pytest.mark.drawn
@every(("form", "dates"), [(None, None), ("%Y-%m-%d", None), ("%d.%m.%y", {"in": "%d.%m.%y", "out": "%d.%m.%y"})])
@every("link", [False, True])
def test_published_days_are_true(form: str | None, dates: Any, link: bool, tmp_path: Path) -> None:
    table = stays()
    release = shoal.anonymize(
        stays(form), **ROLES, coarsen={("in", "out"): SinceFirst()}, dates=dates, link=link,
        order="in" if link else None, keep_order=True, recoding="generalization", exact_ends=True,
        seed=1, output=tmp_path / "out",
    )  # fmt: skip
    first = table.select(pl.min_horizontal("in", "out").min().over("pcode")).to_series()
    rows = np.asarray(release.rows)
    for name in ("in", "out"):
        true = (table[name] - first).dt.total_days()[rows]
        assert set(release.data[name].cast(pl.String)) != {"*"}
        for cell, days in zip(release.data[name].cast(pl.String), true, strict=True):
            if cell.startswith("["):
                low, high = cell.strip("[]").split(", ")
                assert int(low) <= days <= int(high)
            else:
                assert cell == "*" or str(days) in cell
    assert "2024" not in (tmp_path / "out" / "release.csv").read_text(encoding="utf-8")
    assert release.public_certificate.to_dict()["parameters"]["since_first"] == [["in", "out"]]
    assert "days since the first" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    with pytest.raises(UnsupportedError, match="whose the records are"):
        shoal.provenance(table, tmp_path / "out.private")


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"coarsen": {"disease": SinceFirst()}}, DataError, "no dates"),
        ({"coarsen": {"pcode": SinceFirst()}}, ColumnError, "not published"),
        ({"person": None, "direct_identifiers": ["pcode"]}, ParameterError, "identifies persons"),
        ({"engine": "stream"}, ParameterError, "pieces"),
    ],
)
def test_other_columns_are_refused(changed: dict[str, Any], error: type[Exception], says: str, tmp_path: Path) -> None:
    stays().write_csv(tmp_path / "stays.csv")
    with pytest.raises(error, match=says):
        shoal.anonymize(tmp_path / "stays.csv", **{**ROLES, "coarsen": {"in": SinceFirst()}} | changed)


def test_a_plan_does_not_publish_the_dates() -> None:
    """A plan has the forms of quasi-identifiers, not the days of another column."""
    request = {**ROLES, "quasi_identifiers": ["out"], "insensitive": ["in"], "coarsen": {("in", "out"): SinceFirst()}}
    made = shoal.anonymize(stays(), **request)
    assert made.data["in"].dtype == pl.Int64
    with pytest.raises(UnsupportedError, match=r"Applying a plan does not go together with days since a first date"):
        shoal.apply(made.plan, stays())


def test_columns_have_their_own_first_dates_and_weeks() -> None:
    table = stays()
    request = shoal.Request(**ROLES | {"k": 1}, coarsen={"in": SinceFirst(Bins(7)), "out": SinceFirst()}, seed=1)
    release = shoal.anonymize(table, request, keep_order=True)
    days = table.select((pl.col("in", "out") - pl.col("in", "out").min().over("pcode")).dt.total_days())
    assert release.data["out"].cast(pl.String).to_list() == days["out"].cast(pl.String).to_list()
    assert release.data["in"].to_list() == [f"[{day // 7 * 7}, {day // 7 * 7 + 7})" for day in days["in"]]
    assert shoal.Request.from_words(request.words).coarsen == request.coarsen
    assert request.words.said["coarsen"] == {"in": "since:first:bins:7", "out": "since:first"}
    assert "coarsen={'in': shoal.SinceFirst(then=shoal.Bins(width=7))" in request.to_python()


def test_wrong_words_and_columns_are_refused() -> None:
    with pytest.raises(UsageError, match="since:first:bins:7"):
        coarsenings_of({"in": "since:last"})
    with pytest.raises(ColumnError, match="days twice"):
        shoal.anonymize(stays(), **ROLES, coarsen={"in": SinceFirst(), ("in", "out"): SinceFirst()})
    with pytest.raises(UnsupportedError, match="by anonymize alone"):
        SinceFirst().apply((stays()["in"],))
    with pytest.raises(ParameterError, match="'then'"):
        SinceFirst("bins:7")  # type: ignore[arg-type]
