"""Lists of names are lines of CSV; numbers are what they look like."""

from __future__ import annotations

import csv
import io
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.every import every

from shoal.errors import UsageError
from shoal.request.texts import as_number, names_in

names = st.text(st.characters(blacklist_categories=("Cc", "Cs")), min_size=1).filter(
    lambda name: not name.startswith(" ")
)


@given(st.lists(names, min_size=1))
def test_names_survive_quoting(given_names: list[str]) -> None:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL, lineterminator="").writerow(given_names)
    assert names_in("--qi", [line.getvalue()]) == tuple(given_names)


@every(
    ("given_values", "expected"),
    [
        (["age,zip"], ("age", "zip")),
        (["age, zip"], ("age", "zip")),
        (["age", "zip"], ("age", "zip")),
        (['"last, first"', "age,zip"], ("last, first", "age", "zip")),
        ([""], ()),
        ([], None),
    ],
)
def test_names(given_values: list[str], expected: tuple[str, ...] | None) -> None:
    assert names_in("--qi", given_values) == expected


def test_nothing_said_is_not_an_empty_list() -> None:
    assert names_in("--qi", None) is None


@pytest.mark.parametrize("wrong", ["a,,b", '"a', 'a,"b"c', ","])
def test_names_that_are_none(wrong: str) -> None:
    with pytest.raises(UsageError):
        names_in("--qi", [wrong])


@every(
    ("text", "number"),
    [("4", 4), ("-1", -1), ("2.5", 2.5), ("1e3", 1000.0), ("1/3", Fraction(1, 3)), (7, 7), (0.5, 0.5)],
)
def test_numbers(text: str | float, number: float) -> None:
    found = as_number("-l", text)
    assert found == number
    assert type(found) is type(number)


@pytest.mark.parametrize("wrong", ["four", "", "1/0", "1,5"])
def test_what_is_no_number(wrong: str) -> None:
    with pytest.raises(UsageError, match="is not a number"):
        as_number("-l", wrong)
