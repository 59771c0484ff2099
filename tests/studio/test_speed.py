"""Each screen of a table of 100,000 rows and 50 columns costs less than a second of the processor."""

from __future__ import annotations

import time

import numpy as np
import polars as pl

from shoal._core.progress import silent
from shoal.studio.jobs import parsing
from shoal.studio.jobs import tables as jobs
from shoal.studio.plan import Plan
from shoal.studio.table_screen import complete

from .test_browser import write_wide
from .test_messy_files import of

ROWS, COLUMNS = 100_000, 50
LONGEST = 1.0
"""Seconds of this process for one answer; the worker shows its progress meanwhile."""
BRIEF = 3.0
"""Seconds of the processor of one job, reading included; on a quiet machine a third of it."""


def test_each_answer_takes_less_than_a_second(browser, home, monkeypatch):
    rng = np.random.default_rng(1)
    known = {"age": rng.integers(0, 100, ROWS), "sex": rng.integers(0, 2, ROWS), "disease": rng.integers(0, 40, ROWS)}
    measured = {f"lab {at}": rng.integers(0, 5 + at, ROWS) for at in range(COLUMNS - len(known))}
    pl.DataFrame(known | measured).write_parquet(home / "large.parquet")
    seconds = {}
    plain = browser.client.request

    def timed(method, url, **options):
        before = time.process_time()
        answer = plain(method, url, **options)
        seconds[f"{method} {url}"] = max(seconds.get(f"{method} {url}", 0), time.process_time() - before)
        return answer

    monkeypatch.setattr(browser.client, "request", timed)
    browser.enter()
    assert "50 columns" in browser.send("/open", {"path": "large.parquet"}).text
    form = {"role-2": "sensitive", "several": "direct_identifier", "find": "4-50", "of": of(browser, "/table")}
    browser.send("/table", {**form, "do": "several"})
    browser.send("/table", {"do": "next"})
    browser.send("/goal", {"k": "5", "l": "2", "recoding": "generalization"})
    for screen in ("/", "/table?find=lab", "/table?column=2", "/goal", "/compare", "/attack", "/publish"):
        assert browser.look(screen).status_code == 200
    assert {name: one for name, one in seconds.items() if one >= LONGEST} == {}
    assert len(seconds) > 12


def test_what_a_part_of_a_screen_waits_for_is_brief(home):
    """Inspection, line of risk, offers and trial, with all columns known: the second time, when all is imported."""
    write_wide(home / "wide.csv", ROWS, COLUMNS)
    source, seconds = str(home / "wide.csv"), {}

    def timed(work, **arguments):
        for _ in range(2):
            parsing._LAST.clear()
            before = time.process_time()
            found = work(progress=silent, **arguments)
            seconds[work.__name__] = time.process_time() - before
        return found

    found = timed(jobs.inspect_table, source=source, demo=None, reading={})
    plan = complete(Plan(source=source, shown="wide.csv"), found)
    quasi = plan.names_of("quasi_identifier")
    assert len(quasi) > 40
    timed(jobs.count_alone, source=source, quasi_identifiers=quasi, person="", reading={})
    timed(jobs.list_coarsenings, content=plan.work, trees={})
    assert timed(jobs.try_goal, content=plan.work)["trial"]["error"] is None
    assert {name: one for name, one in seconds.items() if one >= BRIEF} == {}
