"""Work in another process: progress, failures in the words of the screens, and an end at any time."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from shoal._core.outcome import Standing, watch
from shoal._core.progress import silent
from shoal._messages import Suggestion
from shoal.algorithms.local_search.exchange_kernel import exchange_rows
from shoal.errors import DataError, LedgerError
from shoal.studio.jobs import parsing, tables
from shoal.studio.jobs.tables import _try_release as try_release
from shoal.studio.words import SCREENS
from shoal.studio.worker import _MAX_OUTCOMES, Job, Outcome, Worker

SECRET = "Zyzzyva"


def doubled(*, number: int, progress: Any) -> int:
    for done in range(3):
        progress("doubling", done, 3)
        time.sleep(0.15)
    return 2 * number


def refused(*, progress: Any) -> None:
    raise DataError("Say what that means: ", Suggestion("missing_sensitive", "value"), ".")


def too_large(*, progress: Any) -> None:
    raise MemoryError(SECRET)


def of_a_ledger(*, progress: Any) -> None:
    watch(lambda: Standing("The ledger has its new key.", changed=True))
    raise LedgerError("The disk is full.")


@pytest.mark.parametrize("parameter", ["method", "smallest", "incomplete", "cells"])
def test_the_studio_names_options_that_it_lacks_without_python(parameter):
    told = Suggestion(parameter, "zip=values", python="cells={'zip': 'values'}").render(SCREENS)
    option = "--cells" if parameter == "cells" else f"--param {'known' if parameter == 'method' else parameter}"
    assert told == f"{option}{' ' if parameter == 'cells' else '='}zip=values at the command line"
    assert "{" not in told


def broken(*, progress: Any) -> None:
    raise KeyError(SECRET)


def dead(*, progress: Any) -> None:
    os._exit(9)


def endless(*, begun: str, cleaned: str, progress: Any) -> None:
    try:
        Path(begun).touch()
        while True:
            time.sleep(0.01)
    finally:
        Path(cleaned).touch()


def waited(worker: Worker, key: str) -> Any:
    end = time.monotonic() + 60
    while (found := worker.outcome(key)) is None:
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def test_work_tells_its_progress_and_its_outcome(worker):
    assert worker.start("double:4", "Doubling", doubled, {"number": 4})
    seen = set()
    while worker.outcome("double:4") is None:
        job = worker.job
        if job is not None:
            seen.add((job.step, job.done, job.total))
            assert job.to_dict()["title"] == "Doubling"
        time.sleep(0.02)
    assert waited(worker, "double:4").facts == 8
    assert ("doubling", 1, 3) in seen
    assert worker.job is None


def test_failures_speak_of_the_screens_and_bugs_quote_nothing(worker):
    worker.start("refused", "", refused, {})
    told = "Say what that means: “Missing sensitive values” on the screen For whom: value."
    assert waited(worker, "refused").error == told
    worker.start("broken", "", broken, {})
    error = waited(worker, "broken").error
    assert "KeyError" in error
    assert "please report it" in error
    assert SECRET not in error
    worker.start("large", "", too_large, {})
    error = waited(worker, "large").error
    assert error.startswith("There is not enough memory.")
    assert error.endswith("Nothing was published.")
    worker.start("ledger", "", of_a_ledger, {})
    assert waited(worker, "ledger").error == "The disk is full. The ledger has its new key."


def test_a_process_that_dies_is_replaced(worker):
    worker.start("dead", "", dead, {})
    assert "ended without a word" in waited(worker, "dead").error
    assert worker._process is None, "it may still seem alive, and would be sent the next job"
    worker.start("double:5", "", doubled, {"number": 5})
    assert waited(worker, "double:5").facts == 10


@pytest.mark.parametrize("how", ["cancel", "other work"])
def test_work_that_is_stopped_cleans_up_and_leaves_no_outcome(worker, tmp_path, how):
    begun, cleaned = tmp_path / "begun", tmp_path / "cleaned"
    worker.start(f"endless:{how}", "", endless, {"begun": str(begun), "cleaned": str(cleaned)})
    end = time.monotonic() + 60
    while not begun.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    if how == "cancel":
        assert worker.cancel().key == "endless:cancel"
        assert worker.job is None
    else:
        assert worker.start("double:6", "", doubled, {"number": 6})
        assert waited(worker, "double:6").facts == 12
    assert cleaned.exists()
    assert worker.outcome(f"endless:{how}") is None


def test_warming_up_makes_a_release_and_leaves_the_open_table(monkeypatch):
    made = []
    monkeypatch.setattr(tables, "_try_release", lambda *given: made.append(try_release(*given)))
    monkeypatch.setattr(parsing, "_LAST", {"open": None})
    for kept in (False, True):
        monkeypatch.setattr(exchange_rows, "is_kept", kept)
        for work in tables.WARM_UP:
            work(progress=silent)
    assert [one["error"] for one in made] == [None], "as Python it would take ten seconds"
    assert parsing._LAST == {"open": None}


def test_brief_work_is_not_replaced_by_other_brief_work(worker):
    """To end it is to end the process: another one imports and reads everything again."""
    assert worker.start("double:8", "", doubled, {"number": 8}, brief=True)
    assert not worker.start("double:9", "", doubled, {"number": 9}, brief=True)
    assert waited(worker, "double:8").facts == 16
    assert worker.start("double:9", "", doubled, {"number": 9}, brief=True)
    assert worker.start("double:10", "", doubled, {"number": 10}), "work that a whole page waits for"
    assert waited(worker, "double:10").facts == 20
    assert worker.outcome("double:9") is None


def test_work_that_lasts_is_not_stopped_by_other_work(worker, tmp_path):
    files = {"begun": str(tmp_path / "begun"), "cleaned": str(tmp_path / "cleaned")}
    worker.start("lasting", "", endless, files, lasting=True)
    assert not worker.start("double:7", "", doubled, {"number": 7})
    assert worker.start("lasting", "", endless, files, lasting=True), "a second tab waits for the same"
    assert worker.job.key == "lasting"
    assert worker.cancel().lasting


def test_outcomes_are_forgotten_after_many():
    worker = Worker()
    worker._remember(Job(key="made", title="", lasting=True), Outcome(facts="made"))
    for number in range(_MAX_OUTCOMES + 1):
        worker._remember(Job(key=str(number), title="", lasting=False), Outcome(facts=number))
    assert worker.outcome("made").facts == "made", "what was made is found again at any time"
    assert worker.outcome("0") is None
    assert worker.outcome(str(_MAX_OUTCOMES)).facts == _MAX_OUTCOMES
