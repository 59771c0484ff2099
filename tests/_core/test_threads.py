"""Tests of work that another thread does meanwhile."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from tests.every import THOROUGH, few

import shoal
from shoal._core import threads
from shoal._core.threads import map_in_threads, run_alongside, start_in_thread
from shoal.algorithms.local_search import loss_table
from shoal.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path

    from shoal._core.threads import ProgressCallback


def test_what_was_begun_returns_its_result_or_raises() -> None:
    def fails() -> int:
        raise LookupError("none")

    assert start_in_thread(lambda: 3)() == 3
    waiting = start_in_thread(fails)
    with pytest.raises(LookupError, match="none"):
        waiting()


def test_work_is_done_beside_a_block() -> None:
    here = threading.Event()

    def work(told: ProgressCallback) -> str:
        told("step", 0, 1)
        assert here.wait(10)
        return "done"

    with run_alongside(work) as found:
        here.set()  # else the work would wait for ever
        assert found() == "done"


def test_work_ends_before_a_block_that_is_left() -> None:
    ended = []

    def work(told: ProgressCallback) -> None:
        try:
            while True:
                told("step", 0, 1)
                time.sleep(0.001)
        finally:
            ended.append(True)

    with pytest.raises(KeyboardInterrupt), run_alongside(work):
        raise KeyboardInterrupt
    assert ended == [True]


def test_an_interrupt_ends_the_search_and_what_is_done_beside_it() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({name: rng.integers(0, 40, 3_000) for name in "abcd"})

    def interrupt(step: str, done: int, total: int, /) -> None:
        if step == "nearest neighbours":
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        shoal.anonymize(
            frame, quasi_identifiers=list("abcd"), k=5, algorithm="cluster", recoding="generalization",
            progress=interrupt,
        )  # fmt: skip
    for _ in range(200):  # what is lost at least is looked for by work that ends by itself
        if threading.active_count() == before:
            break
        time.sleep(0.05)
    assert threading.active_count() == before


@pytest.mark.parametrize("rows", [50, 200_000])  # by rows, and by runs of equal ones
def test_a_disk_that_fails_while_the_file_is_verified_leaves_nothing(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    release = shoal.anonymize(pl.DataFrame({"a": [1, 2] * (rows // 2)}), quasi_identifiers=["a"], k=2)
    monkeypatch.setattr("shoal.release.row_store.to_disk", fails)
    with pytest.raises(OutputError, match="Nothing was published"):
        release.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_results_are_in_the_order_of_the_items(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(threads, "usable_cores", lambda: cores)
    done: list[int] = []
    found = map_in_threads(lambda item: (time.sleep(0.02 / item), item)[1], range(1, 6), finished=done.append)
    assert found == done == [1, 2, 3, 4, 5]


def test_items_that_wait_are_left_out_if_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "usable_cores", lambda: 1)
    begun: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        time.sleep(0.02)
        if item == 1:
            raise LookupError("none")

    with pytest.raises(LookupError, match="none"):
        map_in_threads(work, range(100))
    assert len(begun) < 10


def test_releases_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    # Small parts: near classes, columns that are encoded, and columns that are verified are shared by threads.
    monkeypatch.setattr(loss_table, "_STRETCH", 50)
    monkeypatch.setattr(loss_table, "_ALONE", 1)
    monkeypatch.setattr("shoal.table.encoding._SMALL_RANGE", 1)
    monkeypatch.setattr("shoal.verification.faithfulness._MIN_ROWS_FOR_THREADS", 1)
    people = shoal.datasets.census(few(1500, least=600), quasi_identifiers=5, seed=3).with_columns(
        pl.all().cast(pl.String)
    )
    roles = {"quasi_identifiers": people.columns[:-1], "sensitive": people.columns[-1], "seed": 1}
    models: tuple[dict[str, Any], ...] = ({"k": 5}, {"l": 3}, {"t": 0.4})
    found = []
    for cores in (1, 2, 3, 16) if THOROUGH else (1, 16):
        monkeypatch.setattr(threads, "usable_cores", lambda cores=cores: cores)
        releases = [
            shoal.anonymize(people, **roles, **model, algorithm="cluster", recoding="generalization")
            for model in models
        ]
        found.append([(one.data, one.certificate.cost) for one in releases])
    for other in found[1:]:
        for (data, cost), (expected, known) in zip(other, found[0], strict=True):
            assert data.equals(expected)
            assert cost == known


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_releases_do_not_depend_on_the_threads_of_a_process(tmp_path: Path, engine: str) -> None:
    """Those of Polars are set as a process starts."""
    shoal.datasets.census(3_000, quasi_identifiers=5, seed=3).write_parquet(tmp_path / "in.parquet")
    code = (
        "import sys, polars, shoal\n"
        "from shoal._core import threads\n"
        "threads.usable_cores = polars.thread_pool_size\n"
        "table, engine, folder = sys.argv[1:]\n"
        "roles = {'quasi_identifiers': polars.read_parquet(table).columns[:-1], 'sensitive': 'income', 'seed': 1}\n"
        "stars = {'algorithm': 'tp+', 'recoding': 'suppression'}\n"
        "for at, model in enumerate(({'k': 5}, {'l': 3}, {'t': 0.4}, {'l': 3} | stars)):\n"
        "    made = shoal.anonymize(table, engine=engine, **roles, **model)\n"
        "    made.data.lazy().collect().write_ipc(f'{folder}-{at}.arrow')\n"
    )
    for cores in (1, 2, 3, 16):
        words = (sys.executable, "-c", code, str(tmp_path / "in.parquet"), engine, str(tmp_path / f"{cores}"))
        subprocess.run(words, check=True, env=os.environ | {"POLARS_MAX_THREADS": str(cores)})
    for at in range(4):
        first, *others = (pl.read_ipc(tmp_path / f"{cores}-{at}.arrow") for cores in (1, 2, 3, 16))
        assert all(one.equals(first) for one in others)
