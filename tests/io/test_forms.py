"""Dates and numbers in text: recognized by the whole column, said, asked for, and written again as they were."""

from __future__ import annotations

import datetime as dt
import logging

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

import shoal
from shoal.errors import DataError, ParameterError
from shoal.io import format_as_input, understand
from shoal.io.forms import DateForm
from shoal.io.number_forms import NumberForm

SECRET = "Zyzzyva"


def meant(*values, **options):
    return understand(pl.DataFrame({"a": values}), ["a"], **options)


@every(
    ("values", "pattern", "first"),
    [
        (["31.12.1980", "01.02.1990", None], "%d.%m.%Y", dt.date(1980, 12, 31)),
        (["3.2.1980", "12.12.1990"], "%-d.%-m.%Y", dt.date(1980, 2, 3)),
        (["03.2.1980", "12.12.1990"], "%d.%-m.%Y", dt.date(1980, 2, 3)),
        (["31/12/1980", "01/02/1990"], "%d/%m/%Y", dt.date(1980, 12, 31)),
        (["12/31/1980", "01/02/1990"], "%m/%d/%Y", dt.date(1980, 12, 31)),
        (["01/01/1980", "02/02/1990"], "%d/%m/%Y", dt.date(1980, 1, 1)),  # the same day either way
        (["25-12-1980", "01-02-1990"], "%d-%m-%Y", dt.date(1980, 12, 25)),
        (["1980-12-31", "1990-02-01"], "%Y-%m-%d", dt.date(1980, 12, 31)),
        (["1980/12/31", "1990/02/01"], "%Y/%m/%d", dt.date(1980, 12, 31)),
        (["31 Dec 1980", "1 Feb 1990"], "%-d %b %Y", dt.date(1980, 12, 31)),
        (["December 31, 1980", "May 1, 1990"], "%B %-d, %Y", dt.date(1980, 12, 31)),
        (["1980-12-31T12:30:00", "1990-02-01T00:00:00"], "%Y-%m-%dT%H:%M:%S", dt.datetime(1980, 12, 31, 12, 30)),
        (["31.12.1980 12:30", "01.02.1990 09:05"], "%d.%m.%Y %H:%M", dt.datetime(1980, 12, 31, 12, 30)),
        (["12/31/1980 3:05 PM", "1/2/1990 11:00 AM"], "%-m/%-d/%Y %-I:%M %p", dt.datetime(1980, 12, 31, 15, 5)),
        (["31.12.1980 00:00:00", "01.02.1990 00:00:00"], "%d.%m.%Y 00:00:00", dt.date(1980, 12, 31)),
    ],
)
def test_a_format_that_fits_all_values_and_is_not_ambiguous(values, pattern, first):
    found = meant(*values)
    assert found.forms == {"a": DateForm(pattern=pattern)}
    assert found.frame["a"][0] == first
    assert found.frame["a"].null_count() == values.count(None)
    assert format_as_input(found.frame, found.forms, star="*")["a"].to_list() == values
    assert (found.ambiguous, found.unread) == ({}, {})


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.dates(dt.date(1900, 1, 1), dt.date(2099, 12, 31)) | st.none(), min_size=1, max_size=8).filter(any),
    st.sampled_from(["%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d", "%d %b %Y", "%m-%d-%Y"]),
)
def test_what_is_recognized_is_what_was_written_or_asked_for(days, pattern):
    text = [None if day is None else day.strftime(pattern) for day in days]
    found = meant(*text)
    if "a" in found.ambiguous:
        assert pattern in found.ambiguous["a"]
        found = meant(*text, dates={"a": pattern})
    assert found.frame["a"].to_list() == days
    assert format_as_input(found.frame, found.forms, star="*")["a"].to_list() == text


def test_an_ambiguous_column_asks():
    found = meant("01/02/1980", "03/04/1990")
    assert found.frame["a"].dtype == pl.String
    with pytest.raises(DataError, match=r"two ways, as %d/%m/%Y and as %m/%d/%Y.*dates=\{'a': '%d/%m/%Y'\}"):
        found.check()
    assert meant("01/02/1980", "03/04/1990", dates={"a": "%m/%d/%Y"}).frame["a"][0] == dt.date(1980, 1, 2)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["31.12.1980", "01.02.1990", SECRET], "1 of its values is none, the first in row 3"),
        (["31.12.80", "01.02.90"], "no format reads all of them"),
        (["31.02.1980", "01.02.1990"], "no format reads all of them"),
    ],
)
def test_what_looks_like_dates_and_is_not_read_is_a_warning(values, why, caplog):
    found = meant(*values)
    found.check()
    assert found.frame["a"].to_list() == values
    assert why in caplog.text
    assert caplog.records[0].levelno == logging.WARNING
    assert SECRET not in caplog.text


def test_years_of_two_digits_lie_in_the_past():
    found = meant("31.12.45", "01.02.24", dates={"a": "%d.%m.%y"})
    assert [day.year for day in found.frame["a"]] == [1945, 2024]


@every(
    ("values", "decimal", "read"),
    [
        (["12,5", "3", "-0,25"], ",", ["12.5", "3", "-0.25"]),
        (["1.234,50", "12,00"], ",", ["1234.50", "12.00"]),
        (["1 234,5", "999"], ",", ["1234.5", "999"]),
        (["1'234.5", "999"], ".", ["1234.5", "999"]),
        (["1,234.5", "1,000,000"], ".", ["1234.5", "1000000"]),
        (["1.234.567", "12"], ",", ["1234567", "12"]),
        (["1 234", "12"], ".", ["1234", "12"]),
        ([".5", "-.25", "3"], ".", ["0.5", "-0.25", "3"]),
        ([",5", "1.000,25"], ",", ["0.5", "1000.25"]),
    ],
)
def test_numbers_as_people_write_them(values, decimal, read):
    found = meant(*values)
    assert found.forms["a"].decimal == decimal
    assert found.frame["a"].to_list() == read
    assert format_as_input(found.frame, found.forms, star="*")["a"].to_list() == values


@pytest.mark.parametrize(
    ("values", "decimal", "read", "written"),
    [
        (["5.927,18", "1234,5", "6017"], ",", ["5927.18", "1234.5", "6017"], ["5.927,18", "1.234,5", "6.017"]),
        (["5,927.18", "1234.5", "6017"], ".", ["5927.18", "1234.5", "6017"], ["5,927.18", "1,234.5", "6,017"]),
        (["1 234,5", "12345,5"], ",", ["1234.5", "12345.5"], ["1 234,5", "12 345,5"]),
    ],
)
def test_thousands_may_be_apart_in_some_numbers_only(values, decimal, read, written):
    found = meant(*values)
    assert found.forms["a"].decimal == decimal
    assert found.frame["a"].to_list() == read
    assert format_as_input(found.frame, found.forms, star="*")["a"].to_list() == written


@every(
    "values",
    [
        *(["12.5", "3"], ["1234", "5"], ["007,5", "3"], ["1,2,3", "4"], ["12.345", "1"], ["a,b"], [None], ["", "1,5"]),
        *(["01e+05", "2"], ["1e-999", "2"]),
    ],
)
def test_other_text_stays(values):
    found = understand(pl.DataFrame({"a": pl.Series(values, dtype=pl.String)}), ["a"])
    assert found.frame["a"].to_list() == values
    assert (found.forms, found.ambiguous) == ({}, {})


def test_no_column_says_what_another_means():
    either = {"a": ["1,234", "12"]}
    found = understand(pl.DataFrame(either), ["a"])
    with pytest.raises(DataError, match=r"two ways.*decimal=',' or decimal='\.'"):
        found.check()
    for other in ("2,5", "2.5"):
        assert set(understand(pl.DataFrame({**either, "b": [other, "3"]}), ["a", "b"]).ambiguous) == {"a"}
    assert understand(pl.DataFrame(either), ["a"], decimal=",").frame["a"][0] == "1.234"
    assert understand(pl.DataFrame(either), ["a"], decimal=".").frame["a"][0] == "1234"
    dotted = pl.DataFrame({"a": ["1.234", "12"], "b": ["2,5", "3"]})
    assert understand(dotted, ["a"]).frame["a"][0] == "1.234"
    assert set(understand(dotted, ["a", "b"]).ambiguous) == {"a"}, "and none is read as what it is not"
    assert understand(dotted, ["a"], decimal=",").frame["a"][0] == "1234"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=6), st.sampled_from(["", ".", " ", "'"]))
def test_numbers_are_written_back(numbers, thousands):
    form = NumberForm(decimal=",", thousands=thousands)
    canonical = pl.Series("a", [f"{abs(number) if number == 0 else number:.2f}" for number in numbers])
    text = form.written(canonical)
    assert form.read(text).to_list() == canonical.to_list()


def test_intervals_make_a_whole_column_canonical_and_stars_do_not():
    forms = {"day": DateForm(pattern="%d.%m.%Y"), "pay": NumberForm(decimal=",")}
    starred = pl.DataFrame({"day": ["1980-12-31", "*"], "pay": ["*", "1.5"]})
    assert format_as_input(starred, forms, star="*").rows() == [("31.12.1980", "*"), ("*", "1,5")]
    bins = pl.DataFrame({"day": ["1980-12-31", "[1980-01-01, 1981-01-01]"], "pay": ["[0, 1.5]", "1.5"]})
    assert format_as_input(bins, forms, star="*").equals(bins)
    times = pl.DataFrame({"day": ["1980-12-31T10:00:00", "*"]})
    assert format_as_input(times, {"day": DateForm(pattern="%d.%m.%Y %H:%M")}, star="*")["day"][0] == "31.12.1980 10:00"


@every(
    ("options", "error", "message"),
    [
        ({"decimal": ";"}, ParameterError, "must be ',' or '.'"),
        ({"dates": {"b": "%d"}}, ParameterError, "no column 'b' whose dates"),
        ({"dates": {"a": "dd.mm.yyyy"}}, ParameterError, "one of strptime, as in dates="),
        ({"dates": {"a": "%d.%m"}}, DataError, "other values than dates of the format '%d.%m', the first in row 1"),
        ({"dates": {"a": "%d/%m/%Y"}}, DataError, r"the format '%d/%m/%Y', the first in row 1 \(line 2"),
        ({"dates": {"n": "%d.%m.%Y"}}, ParameterError, "is not text: its dates need no format"),
    ],
)
def test_wrong_words(options, error, message):
    frame = pl.DataFrame({"a": [f"{SECRET}", "31.12.1980"], "n": [1, 2]})
    with pytest.raises(error, match=message) as raised:
        understand(frame, ["a"], **options)
    assert SECRET not in str(raised.value)


def test_columns_without_a_value_and_of_other_types_stay():
    frame = pl.DataFrame({"a": pl.Series([None, None], dtype=pl.String), "b": [1, 2], "c": [dt.date(2020, 1, 1)] * 2})
    found = understand(frame, ["a", "b", "c"])
    assert found.frame.equals(frame)
    assert found.forms == {}


@pytest.mark.drawn
def test_a_time_with_an_offset_is_of_the_written_day_and_comes_back() -> None:
    days = [dt.datetime(2020, 1, 1, 0, 30), dt.datetime(2020, 6, 1, 23)]
    for offsets in (("+02:00", "+02:00"), ("Z", "Z"), ("-0530", "-0530"), ("+01:00", "+02:00"), ("Z", "+02:00")):
        cells = [f"{day:%Y-%m-%dT%H:%M:%S}{offset}" for day, offset in zip(days, offsets, strict=True)]
        frame = pl.DataFrame({"t": cells})
        for dates in ({}, {"t": "%Y-%m-%dT%H:%M:%S%z"}):
            read = understand(frame, ["t"], dates=dates)
            assert read.frame["t"].to_list() == days, (offsets, dates)
            back = format_as_input(read.frame, read.forms, star="*")["t"].to_list()
            assert back == (cells if len(set(offsets)) == 1 else [cell[:19] for cell in cells])
        data = pl.DataFrame({"t": cells * 2, "age": [1, 2] * 2})
        for dates in ({}, {"t": "%Y-%m-%dT%H:%M:%S%z"}):
            roles = {"k": 2, "dates": dates, "seed": 1}
            made = shoal.anonymize(data, quasi_identifiers=["age"], insensitive=["t"], **roles)
            assert sorted(made.data["t"]) == sorted(cells * 2)
            made = shoal.anonymize(
                data, quasi_identifiers=["t", "age"], coarsen={"t": shoal.DatePart("month")}, **roles
            )
            assert set(made.data["t"]) == {"2020-01", "2020-06"}
    assert not understand(pl.DataFrame({"t": ["2020-01-01T00:30:00Z", "2020-01-01T00:30:00"]}), ["t"]).forms
