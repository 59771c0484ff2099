"""The forms of published cells of any tool."""

from __future__ import annotations

import polars as pl
from tests.every import every

from shoal.verification.cell_syntax import Cell, cell_text, loose_cell, read_cell


@every(
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
        ('["[20, 30)", "[30, 40)"]', "interval", ("[20, 30)", "[30, 40)")),
        ("[low (0), high (5)]", "interval", ("low (0)", "high (5)")),
        ("<4", "interval", (None, "4")),
        ("<=1936", "interval", (None, "1936")),
        ("≥ 65", "interval", ("65", None)),
        (">2020-01-31", "interval", ("2020-01-31", None)),
        ("<b>", "value", ("<b>",)),
        ("{flu}", "set", ("flu",)),
        ("{flu, cough}", "set", ("flu", "cough")),
        ("{a,b}", "set", ("a", "b")),
        ("{, a}", "set", ("", "a")),
        ("{a, }", "set", ("a", "")),
        ('{" a", "b\n"}', "set", (" a", "b\n")),
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


@every(
    ("text", "included"),
    [
        ("[1, 2]", (True, True)),
        ("[1, 2)", (True, False)),
        ("(1, 2]", (False, True)),
        ("[1, 2[", (True, False)),
        ("]1, 2]", (False, True)),
        ("<2", (True, False)),
        ("<=2", (True, True)),
        (">2", (False, True)),
    ],
)
def test_open_ends(text, included):
    cell = read_cell(text)
    assert (cell.low_included, cell.high_included) == included


@every(
    ("text", "atoms"),
    [
        ("20-29", ("20", "29")),
        ("20..29", ("20", "29")),
        ("20 \u2013 29", ("20", "29")),
        ("-5--1", ("-5", "-1")),
        ("2.5-3.5", ("2.5", "3.5")),
        ("65+", ("65", None)),
        ("90 +", ("90", None)),
    ],
)
def test_forms_that_may_as_well_be_values(text, atoms):
    assert loose_cell(text).atoms == atoms
    assert read_cell(text) == Cell(kind="value", atoms=(text,))


@every("text", ["29-20", "2020-01-31", "20", "a-b", "+", "1-2-3"])
def test_what_has_no_such_form(text):
    assert loose_cell(text) is None


def test_another_star():
    assert read_cell("?", "?").kind == "star"
    assert read_cell("*", "?") == Cell(kind="value", atoms=("*",))


@every(
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
