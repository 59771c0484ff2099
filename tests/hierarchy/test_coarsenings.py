"""Bins, rounding, codes for the ends, prefixes, dates, levels, and the Safe Harbor preset."""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.every import every

import shoal
from shoal import Bins, BottomCode, DatePart, Hierarchy, Level, Prefix, Round, TopCode, safe_harbor
from shoal.errors import ColumnError, DataError, ParameterError
from shoal.hierarchy import SPARSE_ZIP3, OneValue, ThreeDigitZip, coarsen_columns
from shoal.hierarchy.distinct_values import number_text
from shoal.table import Schema, encode

AGES = Hierarchy.from_rows([(str(age), "young" if age < 30 else "old", "*") for age in range(100)])
NAMES = Hierarchy.from_rows([("a", "x", "*"), ("b", "y", "*"), ("c", "x", "*")])
TOLD = Hierarchy.from_rows([("c", "told", "*"), ("", "not told", "*"), ("-", "not told", "*")])
DATES = ["2020-01-31", None, "2019-12-31", "2020-04-01"]
SECRET = "Zyzzyva"


def coarser(coarsening, values, dtype=None):
    series = pl.Series("column", values, dtype=dtype)
    (made,) = coarsening.apply((series,))
    assert (made.name, len(made)) == ("column", len(series))
    assert made.is_null().to_list() == series.is_null().to_list()
    json.dumps(coarsening.to_dict())
    return made


@every(
    ("coarsening", "values", "expected"),
    [
        (Bins(10), [7, 10, None, 19, -1], ["[0, 10)", "[10, 20)", None, "[10, 20)", "[-10, 0)"]),
        (Bins(10), ["7", "10", "9.5"], ["[0, 10)", "[10, 20)", "[0, 10)"]),
        (Bins(0.1), [0.3, 0.29999, 0.1], ["[0.3, 0.4)", "[0.2, 0.3)", "[0.1, 0.2)"]),
        (Bins(10, start=5), [4, 5, 15], ["[-5, 5)", "[5, 15)", "[15, 25)"]),
        (Bins(Fraction(1, 3)), [0, 1], ["[0, 1/3)", "[1, 4/3)"]),
        (Bins(cuts=[18, 65]), [17, 18, 64, 65, 99], ["<18", "[18, 65)", "[18, 65)", ">=65", ">=65"]),
        (Bins(cuts=[18]), [1, 18], ["<18", ">=18"]),
        (Bins(quantiles=2), [5, 1, 4, 2], [">=4", "<4", ">=4", "<4"]),
        (Bins(quantiles=4), [1, 1, 1, 1], ["any"] * 4),
        (Bins(quantiles=4), ["1", "1.0", "1.00", None], ["any", "any", "any", None]),
        (Bins(quantiles=2), ["1", "1.0", "2", "3"], ["<2", "<2", ">=2", ">=2"]),
        (Round(5), ["1", "1.0"], [0, 0]),
        (TopCode(1), ["1", "1.0", "0", "0.0"], ["1+", "1+", "0", "0.0"]),
        (Bins(5), [Decimal("2.5"), Decimal("7.5")], ["[0, 5)", "[5, 10)"]),
        (Round(5), [71, 73, None, -3], [70, 75, None, -5]),
        (Round(0.1), [0.25, 0.29, 1.0], [0.2, 0.3, 1.0]),
        (Round(10), ["25", "35", "36"], [20, 40, 40]),
        (Round(10**30), [10**20], [0]),
        (Round(1), ["100000000000000000000000"], ["100000000000000000000000"]),
        (TopCode(90), [89, 90, 103, None], ["89", "90+", "90+", None]),
        (TopCode(90), ["9", "100"], ["9", "90+"]),
        (TopCode(90, label="very old"), [9, 91], ["9", "very old"]),
        (TopCode(90), [9, 10], [9, 10]),
        (BottomCode(18), [18.0, 19.5, 3.0], ["<=18", "19.5", "<=18"]),
        (TopCode(90, bottom=18), [18, 19, 3, 89, 90, None], ["<=18", "19", "<=18", "89", "90+", None]),
        (TopCode(90, bottom=18, label="old"), [18, 91], ["<=18", "old"]),
        (Prefix(3), ["02139", "10001", "1"], ["021", "100", "1"]),
        (Prefix(2), [12345, 99999, None], ["12", "99", None]),
        (Prefix(3, digits=5), [2139, 10001], ["021", "100"]),
        (Prefix(1), ["äb", "éc"], ["ä", "é"]),
        (ThreeDigitZip(), ["02139-4307", "821900010", None, "10001"], ["021", "000", None, "100"]),
        (ThreeDigitZip(digits=5), [2139, 3601], ["021", "000"]),
        (ThreeDigitZip(), [82190, 100011234], ["000", "100"]),
        (ThreeDigitZip(()), ["03601"], ["036"]),
        (DatePart("year"), DATES, [2020, None, 2019, 2020]),
        (DatePart("quarter"), DATES, ["2020-Q1", None, "2019-Q4", "2020-Q2"]),
        (DatePart("month"), DATES, ["2020-01", None, "2019-12", "2020-04"]),
        (DatePart("month"), [dt.date(2020, 1, 2)], ["2020-01"]),
        (DatePart("month"), [dt.datetime(2020, 1, 2, 3)], ["2020-01"]),
        (DatePart("year"), ["2020-01-31T12:00:00", "2021-01-31 12:00"], [2020, 2021]),
        (DatePart("month", format="%d.%m.%Y"), ["31.12.2019", "1.1.2020"], ["2019-12", "2020-01"]),
        (DatePart("year", earliest=1936), ["1936-05-01", "1901-01-01", "1937-01-01"], ["<=1936", "<=1936", "1937"]),
        (DatePart("year", earliest=1936), ["1937-01-01"], [1937]),
        (
            DatePart("decade"),
            [*DATES, "1999-12-31"],
            ["[2020, 2029]", None, "[2010, 2019]", "[2020, 2029]", "[1990, 1999]"],
        ),
        (DatePart("5years"), ["1984-12-31", "1985-01-01"], ["[1980, 1984]", "[1985, 1989]"]),
        (DatePart("100years"), [dt.date(2000, 2, 29)], ["[2000, 2099]"]),
        (Level(NAMES, 1), ["c", "b", None, "a"], ["x", "y", None, "x"]),
        (Level(NAMES, 0), ["c", "b"], ["c", "b"]),
        (Level(NAMES, 2), ["c", "b"], ["*", "*"]),
        (Level(AGES, 1), [5, 50, None], ["young", "old", None]),
        (Level(AGES, 1), ["5", "50"], ["young", "old"]),
    ],
)
def test_what_values_become(coarsening, values, expected):
    assert coarser(coarsening, values).to_list() == expected
    assert coarser(coarsening, [None, None]).to_list() == [None, None]


def test_a_level_says_what_becomes_of_a_missing_value():
    (made,) = Level(TOLD, 1).apply((pl.Series("a", ["c", None, "-"]),))
    assert made.to_list() == ["told", "not told", "not told"]


@every(
    ("coarsening", "values", "expected"),
    [
        (Bins(10), [105, 9, 95, 10], ["[0, 10)", "[10, 20)", "[90, 100)", "[100, 110)"]),
        (Bins(cuts=[2, 10]), [11, 1, 5], ["<2", "[2, 10)", ">=10"]),
        (TopCode(100), [100, 20, 9], ["9", "20", "100+"]),
        (BottomCode(9), [100, 20, 9], ["<=9", "20", "100"]),
        (TopCode(100, bottom=9), [100, 20, 9], ["<=9", "20", "100+"]),
        (DatePart("quarter"), ["2020-12-01", "2020-01-01"], ["2020-Q1", "2020-Q4"]),
        (DatePart("month", format="%d.%m.%Y"), ["31.12.2019", "1.1.2018"], ["2018-01", "2019-12"]),
        (DatePart("year", earliest=1936), ["2020-12-01", "1900-01-01"], ["<=1936", "2020"]),
        (DatePart("decade"), ["2000-01-01", "1999-12-31"], ["[1990, 1999]", "[2000, 2009]"]),
        (Level(AGES, 1), [50, 5], ["young", "old"]),
    ],
)
def test_what_has_an_order_keeps_it(coarsening, values, expected):
    made = coarser(coarsening, values)
    assert made.dtype == pl.Enum(expected)


def test_nodes_that_are_no_runs_of_values_have_no_order():
    odd = Hierarchy.from_rows([(str(number), "odd" if number % 2 else "even", "*") for number in range(4)])
    assert coarser(Level(odd, 1), [0, 1, 2, 3]).dtype == pl.String
    assert coarser(Level(odd, 2), [0, 1, 2, 3]).dtype == pl.Enum(["*"])


def test_intervals_of_bins_make_sense():
    table = pl.DataFrame({"age": list(range(40)), "disease": ["x", "y"] * 20})
    release = shoal.anonymize(
        table,
        quasi_identifiers=["age"],
        sensitive="disease",
        privacy=shoal.KAnonymity(8),
        algorithm="mondrian",
        coarsen={"age": Bins(5)},
        recoding="generalization",
        seed=1,
    )
    assert release.metrics.stars == 0
    assert release.data["age"][0] == "[0, 10)"
    assert release.certificate.parameters["coarsen"] == {"age": {"coarsening": "bins", "width": 5, "start": 0}}


numbers = st.one_of(st.integers(-1000, 1000), st.floats(-1e3, 1e3).map(lambda value: round(value, 3)))
positive = st.sampled_from([1, 7, 10, 0.1, 0.25, 2.5, Fraction(1, 3)])


def exact(value):
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


@given(values=st.lists(st.integers(-1000, 1000), min_size=1, max_size=30), width=positive, start=numbers)
def test_a_number_lies_in_its_bin_and_bins_are_of_one_grid(values, width, start):
    for value, label in zip(values, coarser(Bins(width, start=start), values), strict=True):
        low, high = map(Fraction, label[1:-1].split(", "))
        assert low <= value < high
        assert high - low == exact(width)
        assert ((low - exact(start)) / exact(width)).denominator == 1


@given(values=st.lists(numbers, min_size=1, max_size=30), cuts=st.lists(numbers, min_size=1, max_size=5, unique=True))
def test_bins_of_cuts_by_their_definition(values, cuts):
    cuts = sorted(cuts)
    values = [float(value) for value in values]
    texts = [number_text(exact(cut)) for cut in cuts]
    names = [f"<{texts[0]}", *(f"[{a}, {b})" for a, b in pairwise(texts)), f">={texts[-1]}"]
    expected = [names[sum(exact(cut) <= exact(value) for cut in cuts)] for value in values]
    assert coarser(Bins(cuts=cuts), values).to_list() == expected


@given(values=st.lists(st.integers(0, 12), min_size=1, max_size=40), bins=st.integers(1, 6))
def test_quantiles_hold_about_equally_many(values, bins):
    # Every other value is written with a decimal place: the same number all the same.
    written = [f"{value}.0" if place % 2 else str(value) for place, value in enumerate(values)]
    made = coarser(Bins(quantiles=bins), written)
    assert made.to_list() == coarser(Bins(quantiles=bins), values).to_list()
    of_value = {}
    for value, label in zip(values, made, strict=True):
        assert of_value.setdefault(value, label) == label
    slow = {value: sum(other < value for other in values) * bins // len(values) for value in values}
    assert len(set(made)) == len(set(slow.values())) <= bins
    for value, other in pairwise(sorted(values)):
        assert (of_value[value] == of_value[other]) == (slow[value] == slow[other])


@given(values=st.lists(st.integers(-1000, 1000), min_size=1, max_size=30), to=st.sampled_from([1, 5, 10, 16]))
def test_rounding_is_to_a_nearest_multiple(values, to):
    for value, rounded in zip(values, coarser(Round(to), values), strict=True):
        assert rounded % to == 0
        assert 2 * abs(rounded - value) <= to


@every(
    ("coarsening", "values"),
    [
        (Bins(quantiles=3), [5, 1, None, 9, 9, 7]),
        (Bins(2), ["5", "1", None, "12"]),
        (TopCode(6), [5, 1, None, 9]),
        (TopCode(6, bottom=2), [5, 1, None, 9]),
        (DatePart("month"), DATES),
        (Level(NAMES, 1), ["a", "c", None, "b"]),
        (ThreeDigitZip(), ["02139", None, "82190"]),
    ],
)
def test_the_order_of_rows_changes_nothing(coarsening, values):
    before, after = coarser(coarsening, values), coarser(coarsening, values[::-1])
    assert before.to_list() == after.to_list()[::-1]
    assert before.dtype == after.dtype


@every(
    ("coarsening", "values", "message"),
    [
        (Bins(10), ["1", SECRET], "Bins needs numbers"),
        (Bins(10), [dt.date(2020, 1, 1)], "Bins needs numbers"),
        (Bins(cuts=[1]), [True, False], "Bins needs numbers"),
        (Round(10), ["007"], "Round needs numbers"),
        (TopCode(10), [SECRET], "TopCode needs numbers"),
        (BottomCode(10), [SECRET], "BottomCode needs numbers"),
        (TopCode(10, label="9"), [9, 11], "a code that reads like a value"),
        (Prefix(3), [2139, 10001], "leading zeros may be lost.*digits=5"),
        (Prefix(3), [1.5], "Prefix needs codes"),
        (Prefix(3), [-15], "Prefix needs codes"),
        (ThreeDigitZip(), ["02139", SECRET, None], r"row 2 \(line 3 of a file with a header\)"),
        (ThreeDigitZip(), ["02139", "2139a"], r"row 2 \(line 3 of"),
        (ThreeDigitZip(), ["02139", "2139"], r"row 2 \(line 3 .*\)\. If leading zeros are lost"),
        (ThreeDigitZip(), [12345, 39], r"row 2 \(line 3 of a file with a header\)\. .*\(digits=5\)"),
        (DatePart("year"), ["2020-01-01", None, SECRET], r"row 3 \(line 4 of a file with a header\)"),
        (DatePart("year"), ["2020-01-01", "2020-02-30"], "row 2"),
        (DatePart("year"), ["2020-01-01", "2020-01-01x"], "row 2"),
        (DatePart("year", format="%d.%m.%Y"), ["1.2.2020", "2020-02-30"], "row 2"),
        (DatePart("year"), [2020, 2021], "DatePart needs dates"),
        (Level(NAMES, 1), ["a", SECRET], "misses 1 of the 2 values of the column 'column'"),
    ],
)
def test_what_a_column_cannot_become(coarsening, values, message):
    frame = pl.DataFrame({"column": values})
    with pytest.raises(DataError, match=f"^Column 'column': .*({message})") as caught:
        coarsen_columns(frame, {"column": coarsening}, ["column"])
    assert SECRET not in str(caught.value)


@every(
    ("make", "message"),
    [
        (Bins, "one of width, cuts and quantiles. Got none"),
        (lambda: Bins(10, quantiles=3), "Got width and quantiles"),
        (lambda: Bins(0), "'width' parameter of Bins must be None or a number > 0. Got 0"),
        (lambda: Bins(quantiles=0), "'quantiles' parameter of Bins"),
        (lambda: Bins(10, start="a"), "'start' parameter of Bins"),
        (lambda: Bins(cuts=[3, 2]), "must ascend. Got 2 after 3"),
        (lambda: Bins(cuts=[3, 3]), "must ascend"),
        (lambda: Bins(cuts=[]), "one finite number or more"),
        (lambda: Bins(cuts=["a"]), "one finite number or more"),
        (lambda: Bins(cuts="18,65"), "must be numbers, ascending. Got str"),
        (lambda: Round(-1), "'to' parameter of Round must be a number > 0"),
        (lambda: TopCode(9, bottom=9), "bottom"),
        (lambda: TopCode("90"), "'at' parameter of TopCode must be a finite number"),
        (lambda: BottomCode(1, label=" "), "'label' parameter of BottomCode"),
        (lambda: Prefix(0), "'n' parameter of Prefix must be an int >= 1. Got 0."),
        (lambda: Prefix(3, digits=0), "'digits' parameter of Prefix"),
        (lambda: ThreeDigitZip("036"), "areas of three digits"),
        (lambda: ThreeDigitZip(("36",)), "areas of three digits"),
        (lambda: ThreeDigitZip(digits=3), "None, 5 or 9"),
        (lambda: DatePart("week"), "'part' parameter of DatePart must be one of"),
        (lambda: DatePart("month", earliest=1936), "'earliest' parameter of DatePart is for years"),
        (lambda: DatePart("month", format="d"), "'format' parameter of DatePart"),
        (lambda: Level(NAMES, 3), "'level' parameter of Level must be an int from 0 to 2. Got 3."),
        (lambda: Level(pl.DataFrame(), 1), "must be a Hierarchy or a path to its file. Got DataFrame"),
        (lambda: safe_harbor(births="born"), "'on' parameter of safe_harbor"),
    ],
)
def test_parameters_that_no_coarsening_can_have(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_a_level_of_a_file(tmp_path):
    NAMES.to_csv(tmp_path / "tree.csv")
    assert coarser(Level(tmp_path / "tree.csv", 1), ["a", "b"]).to_list() == ["x", "y"]
    assert repr(Level(str(tmp_path / "tree.csv"), 1)) == "Level(hierarchy=Hierarchy(values=3, height=2), level=1)"


def test_the_safe_harbor_preset():
    frame = pl.DataFrame(
        {
            "admitted": ["2020-01-31", "2021-02-03"],
            "born": ["1936-12-31", "1937-01-01"],
            "zip": ["02139", "03601"],
            "age": [89, 90],
        }
    )
    coarsen = safe_harbor(dates=["admitted"], births="born", zips="zip", ages=["age"], on=dt.date(2026, 6, 1))
    made = coarsen_columns(frame, coarsen, frame.columns)
    coarse, described = made.frame, made.described
    assert coarse.rows() == [(2020, "<=1936", "021", "89"), (2021, "1937", "000", "90+")]
    assert described["zip"]["sparse"] == sorted(SPARSE_ZIP3)
    assert len(set(SPARSE_ZIP3)) == 17
    with pytest.raises(ColumnError, match="named twice"):
        safe_harbor(dates="born", ages="born")
    assert safe_harbor() == {}


def test_columns_are_handed_on_as_they_were_encoded():
    frame = pl.DataFrame({"age": [90, None, 7, 90], "town": ["a", "b", None, "c"], "level": ["c", "b", "a", None]})
    coarsen = {"age": TopCode(90), "town": Prefix(1), "level": Level(NAMES, 1)}
    made = coarsen_columns(frame, coarsen, frame.columns).encoded
    assert [*made] == frame.columns
    for column in encode(frame, Schema(quasi_identifiers=tuple(frame.columns))).quasi_identifiers:
        assert made[column.name].codes.tolist() == column.codes.tolist()
        assert made[column.name].dictionary.equals(column.dictionary)
    assert coarsen_columns(frame.clear(), coarsen, frame.columns).encoded == {}


@every(
    ("number", "text"),
    [("20", "20"), ("-0.625", "-0.625"), ("0.05", "0.05"), ("1/3", "1/3"), ("100", "100"), ("-7/6", "-7/6")],
)
def test_numbers_read_as_people_write_them(number, text):
    assert number_text(Fraction(number)) == text


@given(number=st.fractions(max_denominator=10**6))
def test_numbers_read_back(number):
    text = number_text(number)
    assert Fraction(text) == number
    assert re.fullmatch(r"-?(0|[1-9]\d*)(\.\d*[1-9])?", text) or "/" in text


def test_large_columns_are_quick():
    rng = np.random.default_rng(1)
    series = pl.Series("age", rng.integers(0, 100, 200_000))
    assert coarser(Bins(10), series).n_unique() == 10


def test_coarsenings_declare_whether_they_stream() -> None:
    tree = shoal.Hierarchy.from_rows([("a", "b", "*")])
    values = [
        shoal.Bins(10),
        shoal.Bins(cuts=[1]),
        shoal.Round(5),
        shoal.TopCode(90),
        shoal.BottomCode(5),
        shoal.TopCode(9, bottom=5),
    ]
    values += [shoal.Prefix(2), ThreeDigitZip(), shoal.DatePart("year"), OneValue(), shoal.Level(tree, 1)]
    assert all(one.streams for one in values)
    counting = [
        shoal.Bins(quantiles=3),
        shoal.grouping.Labels(k=2),
        shoal.grouping.Ordered(k=2),
        shoal.grouping.Points(k=2),
    ]
    assert not any(one.streams for one in counting)


def test_a_wrong_value_is_in_a_row_of_the_table_or_counted(tmp_path):
    zips = ["02139"] * 4 + ["x"] * 2
    frame = pl.DataFrame({"zip": zips, "dx": [None, "a", "b", "a", "b", "a"]})
    frame.write_csv(path := tmp_path / "table.csv")
    for table, options, where in (
        (frame, {}, r"row 5 \(line 6"),
        (path, {"engine": "stream"}, "1 of the 2 different values"),
    ):
        with pytest.raises(DataError, match=where):
            shoal.anonymize(
                table,
                quasi_identifiers="zip",
                sensitive="dx",
                k=2,
                coarsen={"zip": ThreeDigitZip()},
                missing_sensitive="drop",
                **options,
            )
