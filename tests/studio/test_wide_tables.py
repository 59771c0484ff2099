"""Search, filter, order and ranges on the screen Columns, which lose nothing that was chosen."""

from __future__ import annotations

import re

import pytest
from tests.every import every

from shoal.studio.column_filter import ColumnFilter, parse_range
from shoal.studio.rejected_forms import FieldError

from .test_messy_files import of

COLUMNS = [
    {"name": "age", "kind": "number", "distinct": 60, "uniqueness": 0.0},
    {"name": "Name", "kind": "text", "distinct": 100, "uniqueness": 1.0},
    {"name": "lab_a", "kind": "number", "distinct": 90, "uniqueness": 0.4},
]
ROLES = {"age": "quasi_identifier", "Name": "direct_identifier", "lab_a": "sensitive"}


@every(
    ("given", "places"),
    [
        ({}, [0, 1, 2]),
        ({"find": " AME "}, [1]),
        ({"kind": "number"}, [0, 2]),
        ({"having": "sensitive"}, [2]),
        ({"kind": "number", "find": "a", "sort": "values"}, [2, 0]),
        ({"sort": "name"}, [0, 2, 1]),
        ({"sort": "kind"}, [0, 2, 1]),
        ({"sort": "own"}, [1, 2, 0]),
        ({"sort": "nonsense"}, [0, 1, 2]),
        ({"find": ".*"}, []),
    ],
)
def test_columns_are_selected_and_keep_their_place(given, places):
    assert [place for place, _ in ColumnFilter.of(given).select(COLUMNS, ROLES)] == places


@every(
    ("form", "found"),
    [
        ({}, []),
        ({"from": "2", "to": "4"}, [1, 2, 3]),
        ({"from": "3"}, [2]),
        ({"to": "3"}, [2]),
        ({"from": "4", "to": "2"}, []),
    ],
)
def test_ranges(form, found):
    assert list(parse_range(form, 5)) == found


@every("form", [{"from": "0"}, {"from": "1", "to": "6"}, {"to": "x"}, {"from": "-1"}, {"from": "9" * 20}])
def test_ranges_that_are_none(form):
    with pytest.raises(FieldError, match="numbered from 1 to 5"):
        parse_range(form, 5)


def write_wide(path, columns=50):
    lines = [",".join(f"c{at}" for at in range(columns))]
    lines += [",".join(f"v{row * (at + 3) % 7}" for at in range(columns)) for row in range(60)]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.drawn
def test_a_filter_loses_nothing_that_was_chosen(browser, home):
    write_wide(home / "wide.csv")
    browser.enter()
    browser.send("/open", {"path": "wide.csv"})
    # All 50 columns: the first is sensitive, a range is left out.
    mark = of(browser, "/columns")
    browser.send("/columns", {"role-0": "sensitive", "do": "filter", "find": "c1", "kind": "category", "of": mark})
    page = browser.look("/columns?find=c1&kind=category").text
    assert page.count('<select name="role-') == 11
    assert "11 of 50 columns are shown" in re.sub("<[^>]+>", "", page)
    # A filtered page has some of the fields only; the others stay as they are.
    form = {
        "role-10": "sensitive",
        "do": "several",
        "several": "direct_identifier",
        "from": "20",
        "to": "50",
        "find": "c1",
    }
    answer = browser.send("/columns", {**form, "of": mark})
    assert str(answer.url).endswith("/columns?find=c1")
    plan = browser.studio.plan
    assert [plan.roles[name] for name in ("c0", "c10")] == ["sensitive", "sensitive"]
    assert plan.names_of("direct_identifier") == [f"c{at}" for at in range(19, 50)]
    assert "check-10" in browser.look("/columns?check=all&find=c10").text


def test_a_wrong_range_is_said_at_its_field_and_changes_nothing(browser, home):
    write_wide(home / "wide.csv", 5)
    browser.enter()
    browser.send("/open", {"path": "wide.csv"})
    before = browser.studio.plan
    form = {
        "do": "several",
        "several": "sensitive",
        "from": "2",
        "to": "six",
        "find": "c",
        "of": of(browser, "/columns"),
    }
    answer = browser.send("/columns", form)
    assert answer.status_code == 422
    assert re.search(r'name="to"[^>]*>\s*<span class="wrong beside"', answer.text)
    assert 'value="six"' in answer.text
    assert browser.studio.plan == before
