"""Finding columns by name or number and setting several at once, which loses nothing that was chosen."""

from __future__ import annotations

import re

import pytest
from tests.every import every

from shoal.studio.table_screen import _found_by

from .test_messy_files import of

pytestmark = pytest.mark.drawn


@every(
    ("text", "places"),
    [("", [0, 1, 2]), (" AME ", [1]), ("2-3", [1, 2]), ("3 - 9", [2]), ("3-2", []), (".*", []), ("9" * 20, [])],
)
def test_columns_are_found_by_a_part_of_the_name_or_by_numbers(text, places):
    assert _found_by(text, ["age", "Name", "lab_a"]) == places


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
    mark = of(browser, "/table")
    browser.send("/table", {"role-0": "sensitive", "do": "look", "find": "c1", "of": mark})
    page = browser.look("/table?find=c1").text
    assert page.count('<select class="pill" name="role-') == 11
    assert "11 of 50 columns are shown" in re.sub("<[^>]+>", "", page)
    # A page with some of the columns has their fields only; the others stay as they are.
    form = {"role-10": "sensitive", "do": "several", "several": "direct_identifier", "find": "20-50"}
    browser.send("/table", {**form, "of": mark})
    plan = browser.studio.plan
    assert [plan.roles[name] for name in ("c0", "c10")] == ["sensitive", "sensitive"]
    assert plan.names_of("direct_identifier") == [f"c{at}" for at in range(19, 50)]


def test_a_name_that_no_column_has_is_said_at_its_field_and_changes_nothing(browser, home):
    write_wide(home / "wide.csv", 5)
    browser.enter()
    browser.send("/open", {"path": "wide.csv"})
    before = browser.studio.plan
    form = {
        "do": "several",
        "several": "sensitive",
        "find": "six",
        "of": of(browser, "/table"),
    }
    answer = browser.send("/table", form)
    assert answer.status_code == 422
    assert re.search(r'name="find"[^>]*value="six"[^>]*>\s*<span class="wrong beside"', answer.text)
    assert browser.studio.plan == before
