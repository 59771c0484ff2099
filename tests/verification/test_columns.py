"""Whole columns read: what their cells are, by all of them together, by what is said of them, or in doubt."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import every, few

from shoal.cli.command import Flags
from shoal.errors import NotUnderstoodError, ParameterError
from shoal.hierarchy import (
    DatePart,
    Hierarchy,
    Level,
    Prefix,
    Round,
    TopCode,
    date_hierarchy,
    frequency_hierarchy,
    prefix_hierarchy,
    quantile_hierarchy,
)
from shoal.verification import Meaning, collect_meanings, read_table, scale_of_names
from shoal.verification.placing import place_cells, ranks_of
from shoal.verification.published_columns import ReadColumn, read_column
from shoal.verification.values import Values

LUNG = Hierarchy.from_rows([("flu", "lung", "*"), ("cough", "lung", "*"), ("ulcer", "stomach", "*")])


def column(cells: list[Any], said: object = None, **options: Any) -> ReadColumn:
    meaning = Meaning() if said is None else Meaning.of(said)
    return read_column(pl.Series("x", cells), meaning, **options)


def covered(read: ReadColumn, true: pl.Series | list[Any]) -> list[set[Any]]:
    """Return the true values that each cell covers, cell by cell."""
    series = pl.Series("x", true)
    values, ranks = read.values(series)
    found = place_cells(read, values)
    return [
        {
            value
            for value, rank in zip(series.to_list(), ranks, strict=True)
            if found.covers(np.array([code]), np.array([rank]))[0]
        }
        for code in read.codes.tolist()
    ]


AGES = [3, 4, 20, 21, 29, 30, 64, 65, 66]


@every(
    ("cells", "expected"),
    [
        (["[20, 30)"], [{20, 21, 29}]),
        (["]20, 30[", "(20, 30]"], [{21, 29}, {21, 29, 30}]),
        (["20-29", "65+", "4"], [{20, 21, 29}, {65, 66}, {4}]),
        (["20..29", "<20"], [{20, 21, 29}, {3, 4}]),
        (["20 \u2013 29", "*"], [{20, 21, 29}, {*AGES, None}]),
        (["<4", "<=4", ">65", ">=65"], [{3}, {3, 4}, {66}, {65, 66}]),
        (["{4, 21}", "[3, 4]"], [{4, 21}, {3, 4}]),
        (['["[20, 30)", "[30, 40)"]'], [{20, 21, 29, 30}]),
        (["2*", "6*", "30"], [{20, 21, 29}, {64, 65, 66}, {30}]),
        (["21", "21.0", "21.5"], [{21}, {21}, set()]),
        ([None, "[4, 20]"], [{None}, {4, 20}]),
    ],
)
def test_cells_of_any_tool_against_numbers(cells, expected):
    assert covered(column(cells), [*AGES, None]) == expected


@every(
    ("cells", "said", "expected"),
    [
        (["2003-Q3", "2004-Q1"], None, [{"2003-07-01", "2003-09-30"}, {"2004-01-01"}]),
        (["2003-07", "2003-08"], None, [{"2003-07-01"}, set()]),
        (["2003", "2004-01-01"], None, [{"2003-07-01", "2003-09-30"}, {"2004-01-01"}]),
        (["[2003-07-01, 2003-12-31]"], None, [{"2003-07-01", "2003-09-30"}]),
        (["2003", "2004"], DatePart("year"), [{"2003-07-01", "2003-09-30"}, {"2004-01-01"}]),
        (["<=2003", "2004"], DatePart("year", earliest=2003), [{"2003-07-01", "2003-09-30"}, {"2004-01-01"}]),
        (["[2003-Q2, 2003-Q3]"], DatePart("quarter"), [{"2003-07-01", "2003-09-30"}]),
        (["[2002, 2003]", "[2004, 2005]"], DatePart("2years"), [{"2003-07-01", "2003-09-30"}, {"2004-01-01"}]),
        (["[2000, 2009]"], DatePart("decade"), [{"2003-07-01", "2003-09-30", "2004-01-01"}]),
    ],
)
def test_periods_against_dates(cells, said, expected):
    true = ["2003-07-01", "2003-09-30", "2004-01-01"]
    assert covered(column(cells, said), true) == expected
    typed = pl.Series("x", [dt.date.fromisoformat(text) for text in true])
    assert [{str(day) for day in days} for days in covered(column(cells, said), typed)] == expected


def test_years_are_periods_beside_dates_and_numbers_beside_numbers():
    assert column(["2003", "2004"], true_values=pl.Series(["2003-07-01"])).scale == "date"
    assert column(["2003", "2004"], true_values=pl.Series([1999])).scale == "number"
    assert column(["2003", "2004"]).scale == "number"
    assert column(["10456", "2139"], true_values=pl.Series(["2003-07-01"])).scale == "number"


def test_codes_keep_their_leading_zeros():
    assert column(["021", "104"]).scale == "text"
    assert covered(column(["021"]), ["021", "21"]) == [{"021"}]
    assert covered(column(["02**", "021*"]), ["0213", "0223", "021", "1213"]) == [
        {"0213", "0223", "021"},
        {"0213", "021"},
    ]


@every(
    ("cells", "said", "true", "expected"),
    [
        (["104", "[100, 104]"], Prefix(3), ["10456", "10001", "90210"], [{"10456"}, {"10456", "10001"}]),
        (["021"], Prefix(3, digits=5), [2139, 21390, 10456], [{2139}]),
        (["70", "75"], Round(5), [67, 68, 72, 73, 75, 77], [{68, 72}, {73, 75, 77}]),
        (["[70, 75]"], Round(5), [67, 68, 72, 77, 78], [{68, 72, 77}]),
        (["90+", "89"], TopCode(90), [89, 90, 103], [{90, 103}, {89}]),
        (["old", "[89, old]"], TopCode(90, label="old"), [88, 89, 90, 103], [{90, 103}, {89, 90, 103}]),
        (["lung", "ulcer"], LUNG, ["flu", "cough", "ulcer"], [{"flu", "cough"}, {"ulcer"}]),
        (["{lung, gout}", "flu"], LUNG, ["flu", "cough", "ulcer", "gout"], [{"flu", "cough", "gout"}, {"flu"}]),
        (["lung", "stomach"], Level(LUNG, 1), ["flu", "ulcer", "gout"], [{"flu"}, {"ulcer"}]),
        (["20-29", "<4"], "values", ["20-29", "25", "<4", "3"], [{"20-29"}, {"<4"}]),
        (["[S, L]", "M"], ("S", "M", "L", "XL"), ["S", "M", "L", "XL"], [{"S", "M", "L"}, {"M"}]),
    ],
)  # fmt: skip
def test_what_is_said_of_cells_counts(cells, said, true, expected):
    assert covered(column(cells, said), true) == expected


@every(
    ("cells", "said", "true", "expected"),
    [
        (["{*, a}"], "values", ["*", "a", "b"], [{"*", "a"}]),
        (['{"[1, 2]", a}'], None, ["[1, 2]", "1", "a", "b"], [{"[1, 2]", "a"}]),
        (["[1, 5]", "x"], None, ["[1, 5]", "x", "3"], [{"[1, 5]"}, {"x"}]),
        (["[9, 10]"], None, ["100", "9", "10", "5"], [{"9", "10"}]),
        (["[07:00, 08:00]"], None, ["07:00:00", "07:30", "09:00"], [{"07:00:00", "07:30"}]),
    ],
)
def test_a_text_that_reads_like_another_cell_may_be_a_value(cells, said, true, expected):
    assert covered(column(cells, said), true) == expected
    others = [f"name {number}" for number in range(300)] * (said is None and "x" in cells)
    assert covered(column([*cells, *others], said), true)[: len(cells)] == expected


def test_the_first_and_the_last_rank_of_a_cell_are_those_that_it_covers():
    for others in ([], [f"name {number}" for number in range(300)]):
        read = column(["{a, c}", "d", *others])
        values, _ = read.values(pl.Series("x", ["a", "b", "c", "d", "e"]))
        found, cells = place_cells(read, values), read.codes[:2]
        assert (found.low[cells].tolist(), found.high[cells].tolist()) == ([0, 3], [2, 3])


def test_times_in_sets_are_times_although_names_of_nodes_are_read_as_text():
    said = Meaning(kind="values", climbed=True, facts={"hierarchy": {"read_as": "text"}})
    assert read_column(pl.Series("x", ["{07:00, 08:00}"]), said).scale == "time"
    assert read_column(pl.Series("x", ["{early, late}"]), said).scale == "text"


def test_declared_categories_lie_in_their_order():
    sizes = pl.Series("x", ["S", "L", "XL", "M"], dtype=pl.Enum(["S", "M", "L", "XL"]))
    assert covered(column(["[S, L]"], true_values=sizes), sizes) == [{"S", "M", "L"}]
    assert column(["[S, L]"]).problem.order_only


@every(
    ("cells", "said", "why"),
    [
        (["20-29", "child"], None, "1 of the values that its cells show are names, next to intervals"),
        (["[20, 29]", "2003-Q1"], None, "numbers and dates at once"),
        (["[S, L]", "M"], None, "nothing says in which order"),
        (["class 1", "flu"], {"coarsening": "labels"}, "1 of its distinct cells are names of classes"),
        (["elsewhere", "{a, b}"], {"coarsening": "regions"}, "1 of its distinct cells are names of classes"),
        (["lung"], {"coarsening": "level", "level": 1}, "1 of its distinct cells are names of classes"),
        (["lung"], {"coarsening": "my own"}, "in a way that is not known here"),
    ],
)
def test_doubts_say_what_to_do_and_show_no_cell(cells, said, why):
    table = pl.DataFrame({"x": cells, "y": [1] * len(cells)})
    read = read_table(table, ["x", "y"], meanings={"x": Meaning() if said is None else Meaning.of(said)})
    assert [problem.column for problem in read.not_understood] == ["x"]
    read.require(["y"])
    with pytest.raises(NotUnderstoodError, match=why) as caught:
        read.require()
    python, flags = str(caught.value), caught.value.render(Flags({"cells": "--cells", "hierarchies": "--hierarchy"}))
    assert "cells={'x': " in python
    assert "--" not in python
    assert "--cells x=" in flags
    assert "cells={" not in flags
    assert not any(cell in python + flags for cell in cells)


@every(
    ("cells", "understood"),
    [
        (["[20, 40)", "<20", "*", None], True),  # bins
        (["[2003-01-01, 2003-05-09]"], True),
        (["[2003, 2005]"], False),  # years of dates, maybe
        (["103", "*"], False),  # prefixes, maybe
        (["[70, 75]"], False),  # rounded numbers, maybe
        (["{104, 213}"], False),
        (["2003-Q1"], False),
    ],
)
def test_what_tuning_did_is_not_guessed(cells, understood):
    (said,) = collect_meanings(["x"], {"coarsen": {}, "tuned": True}).values()
    problem = read_column(pl.Series("x", cells), said).problem
    assert (problem is None) == understood
    assert understood or "tuning may have made it less precise" in problem.why
    (said,) = collect_meanings(["x"], {"coarsen": {}, "tuned": True}, cells={"x": "values"}).values()
    assert not said.tuned


def test_what_a_certificate_says():
    parameters = {
        "coarsen": {"zip": {"coarsening": "prefix", "n": 3}, "x,y": {"coarsening": "points", "k": 3}},
        "hierarchies": {"job": {"values": 3, "height": 2, "automatic": False, "read_as": None}},
    }
    names = ["zip", "x", "y", "job", "age"]
    said = collect_meanings(names, parameters)
    assert [said[name].kind for name in names] == ["prefix", "points", "points", "values", "values"]
    assert said["job"].climbed
    assert not collect_meanings(names, parameters, cells={"job": "values"})["job"].climbed
    assert collect_meanings(names, parameters, trees={"job": LUNG})["job"].tree is LUNG
    assert collect_meanings(names, None)["age"].kind == ""
    tuned = collect_meanings(names, {**parameters, "tuned": True})  # how, readers are not told
    assert [tuned[name].kind for name in names] == ["prefix", "points", "points", "", ""]
    assert [tuned[name].tuned for name in names] == [False, False, False, True, True]
    with pytest.raises(ParameterError, match="'cells' parameter must give"):
        Meaning.of(3)


@every(
    ("tree", "scale"),
    [
        (quantile_hierarchy(list(range(90))), "number"),
        (date_hierarchy([f"2003-{month:02}-{day:02}" for month in range(1, 13) for day in (1, 28)]), "date"),
        (frequency_hierarchy(list("aabbbcd")), "text"),
        (prefix_hierarchy(["021", "023", "1"]), "text"),
        (Hierarchy.from_rows([("23", "20-29", "*"), ("31", "30-39", "*")]), "number"),
        (Hierarchy.from_rows([("15000", "10-20", "*"), ("25000", "20-30", "*")]), None),
        (Hierarchy.from_rows([("23", "young", "*"), ("31", "30-39", "*")]), None),
        (LUNG, None),
    ],
)
def test_names_of_nodes_that_say_what_is_below_them(tree, scale):
    assert scale_of_names(tree) == scale
    values = list(tree.labels[0])
    for labels in tree.labels[1:-1]:
        cells = list(labels)
        by_tree = covered(column(cells, tree), values)
        if scale is not None:
            said = Meaning(kind="values", climbed=True, facts={"hierarchy": {"read_as": scale}})
            by_name = covered(read_column(pl.Series("x", cells), said), values)
            assert all(below <= named for below, named in zip(by_tree, by_name, strict=True))


@every("seed", range(6))
def test_many_cells_at_once_are_read_like_one_after_another(seed):
    rng = np.random.default_rng(seed)
    numbers, signs = rng.integers(-9, 10, 40), ["[]", "[)", "(]", "]]", "[["]
    cells: list[Any] = [None, "*", "7", "<3", ">=5"]
    for _ in range(few(120)):
        low, high = np.sort(rng.choice(numbers, 2)).tolist()
        opening, closing = rng.choice(signs)
        members = ", ".join(map(str, rng.choice(numbers, 3)))
        cells += [f"{opening}{low}, {high}{closing}", f"{{{members}}}", f'["{low}", {high}.0]']
    read = column(list(dict.fromkeys(cells)))
    true = pl.Series("x", [*rng.choice(numbers, 12).tolist(), None])
    values, _ = read.values(true)
    together = place_cells(read, values)
    for at, label in enumerate(read.labels):
        alone = set(ranks_of(read.sub_domain(label), values).listed().tolist())
        ranks = np.arange(len(values))
        assert set(ranks[together.covers(np.full(len(ranks), at), ranks)].tolist()) == alone, label


def test_values_are_in_their_order_and_equal_ones_are_one():
    values = Values(pl.Series(["10", "9", "9.0", "-1", "5e0"]))
    assert values.scale == "number"
    assert values.rank_of_code.tolist() == [3, 2, 2, 0, 1]
    assert [values.find(text) for text in ("9.00", "10", "11", "x")] == [2, 3, -1, -1]
    exact = Values(pl.Series(["0.1", "0.10000000000000000000001", "0.10000000000000000000002", "0.10"]))
    assert exact.rank_of_code.tolist() == [0, 1, 2, 0]
    some = Values(pl.Series(["7", "unknown", "03"]), "number")
    assert (some.placed, some.rank_of_code.tolist()) == (2, [1, 2, 0])
    assert Values(pl.Series([0.1, -0.0, 1e-7])).rank_of_code.tolist() == [2, 0, 1]
    assert Values(pl.Series([True, False])).known == {"True": 1, "False": 0, "true": 1, "false": 0}
    assert not Values(pl.Series(["b", "a"])).ordered
    assert Values(pl.Series(["2020-01-31T12:00:00", "2020-01-31"])).scale == "date"


@pytest.mark.parametrize("kind", [pl.Float64, pl.Float32, pl.Int64, pl.String])
def test_positions_among_values_are_exact(kind):
    rng = np.random.default_rng(2)
    numbers = [*(rng.integers(-40, 40, 60) / 10), 0.1 + 0.2, 1e17, -1e-7, 1e300 if kind != pl.Float32 else 1e30]
    if kind == pl.Int64:
        numbers = [int(number) for number in numbers if abs(number) < 1e18]
    series = pl.Series(numbers, dtype=pl.Float64 if kind == pl.String else kind)
    series = series.cast(pl.String) if kind == pl.String else series
    values = Values(series, "number")
    exact = sorted({Fraction(text) for text in series.cast(pl.String)})
    assert values.placed == len(exact)
    near = [number + step for number in exact for step in (0, Fraction(1, 10**20), -Fraction(1, 10**20))]
    for position in [*near, Fraction(10) ** 400, -(Fraction(10) ** 400)]:
        expected = sum(number < position for number in exact), sum(number <= position for number in exact)
        assert values.below(position) == expected


def test_values_of_a_large_domain_are_found_like_others():
    texts = pl.Series([f"{number / 7:.6f}" for number in range(30_000)])
    large, small = Values(texts.cast(pl.Float64)), Values(texts.head(500).cast(pl.Float64))
    for text in ("0.142857", "0.1428570", "1.0", "1", "71.285714", "nowhere"):
        assert (large.find(text) >= 0) == (small.find(text) >= 0)
    wanted = pl.Series([*texts[::20], "nowhere"])
    found = large.find_written(wanted)
    assert np.isin(found, [-1, *(large.find(text) for text in wanted)]).all()
    assert (found >= 0).sum() > 1000
    assert found[-1] == -1
    assert large.find_written(wanted.head(3)).tolist() == [-1, -1, -1], "positions find these"
