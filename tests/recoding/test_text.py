from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.every import every

from shoal.table.text import dictionary_text, quote_text, rank_text


@every(
    ("series", "text"),
    [
        (pl.Series([39, -1]), ["39", "-1"]),
        (pl.Series([2**64 - 1], dtype=pl.UInt64), ["18446744073709551615"]),
        (pl.Series([0.1, 1.0, 1e-7, 1e22, float("inf")]), ["0.1", "1.0", "1e-07", "1e+22", "inf"]),
        (pl.Series([0.1], dtype=pl.Float32), ["0.1"]),
        (pl.Series([False, True]), ["False", "True"]),
        (pl.Series([date(2020, 1, 31)]), ["2020-01-31"]),
        (
            pl.Series([datetime(2020, 1, 31, 12), datetime(2020, 1, 31, 12, 0, 0, 5)]),
            ["2020-01-31T12:00:00", "2020-01-31T12:00:00.000005"],
        ),
        (pl.Series([datetime(2020, 1, 31, 12)]).dt.replace_time_zone("UTC"), ["2020-01-31T12:00:00+00:00"]),
        (pl.Series([time(1, 2, 3), time(1, 2, 3, 4)]), ["01:02:03", "01:02:03.000004"]),
        (pl.Series([timedelta(days=1, seconds=2)]), ["P1DT2S"]),
        (pl.Series([Decimal("1.50")]), ["1.50"]),
        (pl.Series(["a", "b"], dtype=pl.Categorical), ["a", "b"]),
        (pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"])), ["b", "a"]),
        (pl.Series(["plain"]), ["plain"]),
        (pl.Series([], dtype=pl.Null), []),
    ],
)
def test_every_type_has_its_text_and_a_missing_value_stays_missing(series: pl.Series, text: list[str]) -> None:
    with_missing = pl.concat([series, pl.Series([None], dtype=series.dtype)])
    result = dictionary_text(with_missing)
    assert result.dtype == pl.String
    assert result.to_list() == [*text, None]


@given(st.lists(st.floats(allow_nan=False), unique=True, max_size=20))
def test_floats_read_as_python_writes_them(values: list[float]) -> None:
    assert dictionary_text(pl.Series(values, dtype=pl.Float64)).to_list() == [repr(value) for value in values]


def read_back(text: str) -> list[str]:
    members: list[Any] = []
    decoder = json.JSONDecoder()
    while text:
        if text.startswith('"'):
            value, end = decoder.raw_decode(text)
        else:
            end = text.find(",") if "," in text else len(text)
            value = text[:end]
        members.append(value)
        text = text[end:].removeprefix(", ")
    return members


@given(st.lists(st.text(alphabet='ab ,"\\{}[]', min_size=1, max_size=6), min_size=1, max_size=5))
def test_joined_members_can_be_told_apart_again(values: list[str]) -> None:
    assert read_back(", ".join(quote_text(pl.Series(values)).to_list())) == values


@given(st.lists(st.none() | st.text(max_size=2)), st.integers(1, 4))
def test_texts_are_ranked_by_code_points(values: list[str | None], times: int) -> None:
    distinct = sorted({one for one in values if one is not None})
    expected = [None if one is None else distinct.index(one) + 1 for one in values]
    assert rank_text(pl.Series("*", values * times, dtype=pl.String)).to_list() == expected * times
