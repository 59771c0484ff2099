"""Some records before and after: the same record side by side, and never in a file."""

from __future__ import annotations

import csv
import re

import pytest

pytestmark = pytest.mark.drawn


def cells(text):
    """Parse the table of records: for each column the cell before and after."""
    table = re.search(r'<table class="beside">(.*?)</table>', text, re.S).group(1)
    found = []
    for row in re.findall(r"<tr>(.*?)</tr>", table, re.S)[1:]:
        values = [re.findall(r"<bdi>(.*?)</bdi>", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)]
        found.append([(one[0], one[-1]) for one in values])
    return found


def original(home):
    with (home / "patients.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.drawn
@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_published_records_are_shown_beside_the_original_ones(browser, home, recoding):
    browser.decided()
    browser.send("/goal", {"k": "9", "recoding": recoding})
    shown = cells(browser.send("/publish", {"folder": "made"}).text)
    assert len(shown) == 10
    changed = 0
    names = (home / "made/release.csv").read_text().splitlines()[0].split(",")
    raw = {tuple(one[name] for name in names) for one in original(home)}
    for row in shown:
        assert tuple(before for before, _ in row) in raw
        for before, after in row:
            changed += before != after
            if before != after and recoding == "suppression":
                assert after == "*"
            if before != after and after.startswith("["):
                low, high = re.findall(r"\d+", after)
                assert int(low) <= int(before) <= int(high)
    assert changed


@pytest.mark.drawn
def test_compared_levels_stand_below_the_original_record(browser, home):
    browser.decided()
    browser.send("/goal", {"coarsen-0": "bins:10", "do": "preview"})
    page = browser.send("/compare", {"k": "3, 9", "l": ""}).text
    table = re.search(r'<table class="beside">(.*?)</table>', page, re.S).group(1)
    names = re.findall(r'<th scope="col"><bdi>(.*?)</bdi>', table)
    assert names == ["age", "gender", "zip", "disease"], "what is not published is not shown"
    bodies = re.findall(r"<tbody>(.*?)</tbody>", table, re.S)
    assert len(bodies) == 10
    for body in bodies:
        raw = original(home)[int(re.search(r'scope="rowgroup"[^>]*>([\d,]+)<', body).group(1)) - 1]
        rows = [re.findall(r"<bdi>(.*?)</bdi>", row) for row in re.findall(r"<tr>(.*?)</tr>", body, re.S)]
        assert rows[0] == [raw[name] for name in names]
        assert re.findall(r'<th scope="row">(.*?)</th>', body) == ["as it was", "k = 3", "k = 9"]
        for row in rows[1:]:
            assert row[-1] == raw["disease"]
            low, high = map(int, re.findall(r"\d+", row[0])) if row[0] != "*" else (0, 200)
            assert low <= int(raw["age"]) < high
