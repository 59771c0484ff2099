"""Published cells of any tool, read back."""

from __future__ import annotations

import polars as pl
import pytest

from shoal.verification.cells import Axis, Cell, Regions, cell_text, read_cell


@pytest.mark.parametrize(
    ("text", "kind", "atoms"),
    [
        ("21", "value", ("21",)),
        (None, "value", (None,)),
        ("", "value", ("",)),
        ("*", "star", ()),
        ("*****", "star", ()),
        ("476**", "mask", ("476**",)),
        ("[21, 25]", "interval", ("21", "25")),
        ("[ 21,25 ]", "interval", ("21", "25")),
        ("[-3.5, 2]", "interval", ("-3.5", "2")),
        ("[2020-01-31, 2020-02-01]", "interval", ("2020-01-31", "2020-02-01")),
        ("{flu}", "set", ("flu",)),
        ("{flu, cough}", "set", ("flu", "cough")),
        ('{"cough, dry", "say \\"ah\\""}', "set", ("cough, dry", 'say "ah"')),
        ('["a, b", "c]"]', "interval", ("a, b", "c]")),
        ("{}", "value", ("{}",)),
        ("{a, [b}", "value", ("{a, [b}",)),
        ("[21 25]", "value", ("[21 25]",)),
        ("some text, with a comma", "value", ("some text, with a comma",)),
    ],
)
def test_every_form_of_a_cell(text, kind, atoms):
    assert (read_cell(text).kind, read_cell(text).atoms) == (kind, atoms)


@pytest.mark.parametrize(
    ("text", "included"),
    [
        ("[1, 2]", (True, True)),
        ("[1, 2)", (True, False)),
        ("(1, 2]", (False, True)),
        ("[1, 2[", (True, False)),
        ("]1, 2]", (False, True)),
    ],
)
def test_open_ends(text, included):
    cell = read_cell(text)
    assert (cell.low_included, cell.high_included) == included


def test_another_star():
    assert read_cell("?", "?").kind == "star"
    assert read_cell("*", "?") == Cell(kind="value", atoms=("*",))


def test_numbers_are_ordered_by_size_and_equal_ones_are_one():
    axis = Axis(["10", "9", "9.0", None, "-1"])
    assert [axis.rank(text) for text in ("-1", "9", "9.0", "10", None)] == [0, 1, 1, 2, 3]
    assert Axis(["10", "9", "x"]).numeric is False
    assert Axis(["10", "nan"]).numeric is False, "what is not a number in a column of numbers makes it text"


def test_dates_have_lengths_and_other_text_has_none():
    dates = Axis(["2020-01-31", "2020-02-02"]).positions
    assert dates is not None
    assert dates[1] - dates[0] == 2
    assert Axis(["2020-01-31", "2020-02-31"]).positions is None
    assert Axis(["a", "b"]).positions is None


def ranks(text, axis):
    regions = Regions.of([read_cell(text)], axis)
    listed = regions.members.tolist()
    return set(listed or range(int(regions.low[0]), int(regions.high[0]) + 1))


def test_what_cells_stand_for_among_the_values_known():
    axis = Axis(["1", "5", "9", "12", "125", None])
    assert ranks("[1, 9]", axis) == {0, 1, 2}
    assert ranks("(1, 9)", axis) == {1}
    assert ranks("[1, 9[", axis) == {0, 1}
    assert ranks("{1, 12}", axis) == {0, 3}
    assert ranks("{1, 5}", axis) == {0, 1}
    assert ranks("12*", axis) == {4}
    assert ranks("7*", axis) == set()
    assert ranks("*", axis) == {0, 1, 2, 3, 4, 5}
    assert ranks(None, axis) == {5}
    assert ranks("9.0", Axis(["9.0", "9"])) == {0}


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1.0, None, 2.0], ["1", None, "2"]),
        ([1.5, float("nan")], ["1.5", None]),
        ([True, False], ["True", "False"]),
        (["a", None], ["a", None]),
        ([3], ["3"]),
    ],
)
def test_cells_as_text(values, texts):
    assert cell_text(pl.Series(values, strict=False)).to_list() == texts
