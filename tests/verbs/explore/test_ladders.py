from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from tests.every import every

from shoal.errors import ColumnError, DataError, ParameterError
from shoal.grouping import Labels, Ordered, Points
from shoal.hierarchy import (
    Bins,
    BottomCode,
    Coarsening,
    DatePart,
    Hierarchy,
    Level,
    OneValue,
    Prefix,
    Round,
    ThreeDigitZip,
    TopCode,
    coarsen_columns,
)
from shoal.request.coarsening_words import coarsenings_of, in_words
from shoal.verbs.explore import Ladder, ladder_of
from shoal.verbs.explore.ladders import given_ladders

DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=40 * day) for day in range(30)]
TREE = [("a", "ab", "all", "*"), ("b", "ab", "all", "*"), ("c", "cd", "all", "*"), ("d", "cd", "all", "*")]


def words(ladder: Ladder) -> list[str | None]:
    return [rung.words for rung in ladder.rungs]


@every(
    ("values", "expected"),
    [
        (list(range(17, 91)), ["bins:2", "bins:5", "bins:10", "bins:20", "bins:50", "any"]),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], ["bins:0.2", "bins:0.5", "any"]),
        ([10, 20, 30, 40], ["bins:20", "any"]),
        ([1, 1000], ["any"]),
        (["12", "3", "7", "8"], ["bins:5", "any"]),
        (DAYS, ["date:quarter", "date:year", "any"]),
        ([str(day) for day in DAYS], ["date:quarter", "date:year", "any"]),
        ([dt.date(1940 + year, 3, 9) for year in range(70)], ["date:5years", "date:decade", "any"]),
        (["02139", "02141", "10001", "10002", "99501"], ["prefix:4", "prefix:3", "any"]),
        ([f"E{1 + row % 8}" for row in range(40)], ["labels:6", "labels:12", "any"]),
        ([True, False], ["any"]),
        (["one", "one", "one"], []),
        (["1", "1.0"], ["any"]),
        ([None, None], []),
        ([], []),
        ([None, 5, None], []),
        ([None, "any", "other"], []),
    ],
)
def test_ladders_fit_the_values(values: list[Any], expected: list[str]) -> None:
    series = pl.Series("q", values, dtype=pl.String if not values else None)
    assert words(ladder_of(series)) == expected
    for rung in ladder_of(series).rungs:
        after = coarsen_columns(series.to_frame(), {series.name: rung.coarsening}, [series.name]).frame.to_series()
        assert rung.left == after.drop_nulls().n_unique()


def test_postal_codes_are_no_numbers() -> None:
    codes = ["10115", "10117", "20095", "80331", "80333"]
    assert words(ladder_of(pl.Series("plz", codes))) == ["prefix:4", "any"]
    assert words(ladder_of(pl.Series("weight", codes)))[0] == "bins:500"


def test_names_get_classes_of_round_sizes() -> None:
    names = [name for at, name in enumerate("abcdefgh") for _ in range(2 ** (at + 2))]
    found = ladder_of(pl.Series("town", names)).rungs
    assert [type(rung.coarsening) for rung in found] == [Labels] * (len(found) - 1) + [OneValue]
    sizes = [rung.coarsening.k for rung in found[:-1] if isinstance(rung.coarsening, Labels)]
    assert sizes == sorted(sizes)
    assert all(int(str(k).rstrip("0")) < 100 for k in sizes)
    kinds = pl.Enum(list("abcdefgh"))
    ordered = ladder_of(pl.Series("grade", names, dtype=kinds)).rungs
    assert {type(rung.coarsening) for rung in ordered} == {Ordered, OneValue}


def test_bins_of_wide_ranges_are_few() -> None:
    rungs = ladder_of(pl.Series("income", [37 * row for row in range(5_000)])).rungs
    assert 5 <= len(rungs) <= 10
    assert rungs[0].words == "bins:1000"


def test_levels_of_a_hierarchy_are_a_ladder_up_to_the_root() -> None:
    tree = Hierarchy.from_rows(TREE)
    ladder = ladder_of(pl.Series("q", ["a", "b", "c", None]), tree=tree, file="q.csv")
    assert words(ladder) == ["level:q.csv:1", "any"]
    assert [rung.text for rung in ladder.rungs] == ["level:1", "any"]
    assert words(ladder_of(pl.Series("q", ["a", "b"]), tree=tree, file="q.csv")) == ["any"]


def test_a_coarsening_without_words_is_called_as_in_python() -> None:
    ladders = given_ladders({"q": [Bins(10, start=5), Bins(20)]}, ["q"], {})
    assert [rung.text for rung in ladders[("q",)].rungs] == [repr(Bins(10, start=5)), "bins:20"]
    assert ladders[("q",)].key == "q"
    pair = given_ladders({("x", "y"): (Points(k=5),)}, ["x", "y"], {})[("x", "y")]
    assert (pair.key, pair.name) == (("x", "y"), "x,y")


@every(
    ("ladders", "error", "message"),
    [
        ([Bins(2)], ParameterError, "must map names of columns"),
        ({"agee": [Bins(2)]}, ColumnError, "Did you mean 'age'"),
        ({"age": [2, 5]}, ParameterError, "must be a list of coarsenings"),
        ({"age": Bins(2)}, ParameterError, "must be a list of coarsenings"),
        ({"age": [Bins(2)], ("age", "zip"): [Points(k=2)]}, ColumnError, "two ladders"),
    ],
)
def test_ladders_that_are_none(ladders: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        given_ladders(ladders, ["age", "zip"], {})


@every(
    "coarsening",
    [
        Bins(10),
        Bins(0.5),
        Bins(Fraction(1, 3)),
        Bins(cuts=[18, 30.5, 65]),
        Bins(quantiles=4),
        DatePart("quarter"),
        Prefix(3),
        Round(5),
        TopCode(90),
        BottomCode(18),
        Labels(k=50),
        Ordered(k=50),
        ThreeDigitZip(),
        OneValue(),
    ],
)
def test_words_mean_what_they_say(coarsening: Coarsening) -> None:
    said = in_words(coarsening)
    assert said is not None
    assert coarsenings_of({"q": said})["q"].to_dict() == coarsening.to_dict()


@every(
    "coarsening",
    [
        Bins(10, start=5),
        DatePart("year", earliest=1930),
        DatePart("year", format="%d.%m.%Y"),
        Prefix(3, digits=5),
        TopCode(90, label="old"),
        BottomCode(18, label="young"),
        Labels(k=5, labels="numbers"),
        Points(k=5, geographic=False),
        ThreeDigitZip(()),
        OneValue(label="all"),
        Level(Hierarchy.from_rows(TREE), 1),
    ],
)
def test_what_words_cannot_say(coarsening: Coarsening) -> None:
    assert in_words(coarsening) is None


def test_points_and_levels_in_words(tmp_path: Any) -> None:
    assert in_words(Points(k=50)) == "points:50"
    file = tmp_path / "tree.csv"
    Hierarchy.from_rows(TREE).to_csv(file)
    said = in_words(Level(file, 2), file=str(file))
    assert said is not None
    level = coarsenings_of({"q": said})["q"]
    assert isinstance(level, Level)
    assert level.level == 2


def test_a_hierarchy_that_misses_values_is_an_error() -> None:
    tree = Hierarchy.from_rows([("a", "p", "*"), ("b", "p", "*")])
    with pytest.raises(DataError, match="misses 1 of the 3 values of the column 'town'"):
        ladder_of(pl.Series("town", ["a", "b", "Zyzzyva"]), tree=tree)
