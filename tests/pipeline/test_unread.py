"""Columns that no model reads are dropped before the search, and placed in its groups by chance afterwards."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import THOROUGH, every, few, some

import shoal
from shoal._core.progress import Clock
from shoal.algorithms import PatternGuided
from shoal.algorithms.base import Partition, Problem
from shoal.algorithms.cluster import SearchedRows
from shoal.engines import InMemory
from shoal.errors import InfeasibleError
from shoal.pipeline.input import open_data
from shoal.pipeline.prepare import prepare
from shoal.pipeline.run import STEPS, partition_and_recode, verify_and_certify
from shoal.release.row_store import MemoryRows
from shoal.release.run_rows import RunRows

NAMES = ("age", "area")


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let every table count as one of many rows."""
    for limit in ("engines.memory._MANY_ROWS", "pipeline.unread._MIN_ROWS_TO_DROP_COLUMNS"):
        monkeypatch.setattr(f"shoal.{limit}", 0)
    monkeypatch.setattr("shoal.engines.memory._ROWS_PER_CELL", 0)
    return monkeypatch


def people(rows: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 32, rows),
            "area": rng.choice(list("uvwxyz"), rows, p=[0.5, 0.2, 0.15, 0.1, 0.04, 0.01]),
            "disease": rng.choice(["flu", "cough", "cold"], rows),
            "ward": rng.choice(["a", "b", None], rows),
        }
    )


def release(frame: pl.DataFrame, **options: Any) -> Any:
    asked = {"quasi_identifiers": NAMES, "k": 4, "seed": 1, "algorithm": "cluster", "recoding": "generalization"}
    return shoal.anonymize(frame, **{**asked, "sensitive": "disease", "insensitive": ["ward"], **options})


@every("algorithm", ["cluster", "mondrian", "hilbert", "tp+", "m-approximation"])
@every("recoding", ["generalization", "suppression"], drawn=True)
def test_the_groups_are_those_of_the_quasi_identifiers_alone(many: Any, algorithm: str, recoding: str) -> None:
    frame = people(700)
    options = {"algorithm": algorithm, "recoding": recoding}
    whole = release(frame, **options)
    alone = release(frame.select(NAMES), sensitive=None, insensitive=(), **options)
    assert whole.data.select(NAMES).equals(alone.data)
    assert whole.certificate.cost.gcp == pytest.approx(alone.certificate.cost.gcp)
    assert isinstance(whole.store, RunRows)
    # Every row keeps its own values of the other columns.
    for name in ("disease", "ward"):
        assert whole.data[name].equals(frame[name][whole.rows])
    assert sorted(whole.rows.tolist()) == list(range(700))


def test_rows_are_placed_one_by_one_if_they_all_differ(many: Any) -> None:
    frame = people(400).with_columns(visit=pl.int_range(400, dtype=pl.Int64).shuffle(seed=2))
    many.setattr("shoal.engines.memory._ROWS_PER_CELL", 2)
    whole = release(frame.drop("ward"), insensitive=["visit"])
    assert isinstance(whole.store, MemoryRows)
    assert whole.data["visit"].equals(frame["visit"][whole.rows])
    alone = release(frame.select(NAMES), sensitive=None, insensitive=())
    assert whole.data.select(NAMES).equals(alone.data)


def test_streams_have_the_groups_of_tables_in_memory(many: Any) -> None:
    frame = people(600)
    streamed, whole = release(frame.lazy(), engine="stream"), release(frame)
    assert streamed.certificate.cost.gcp == whole.certificate.cost.gcp
    # Chance gives the rows of a class other groups.
    names = [*NAMES, "disease", "ward"]
    assert streamed.data.collect().select(NAMES).equals(whole.data.select(NAMES))
    assert streamed.data.collect().select(names).height == whole.data.height


@pytest.mark.drawn
def test_chance_decides_which_rows_of_a_class_are_in_which_group(many: Any) -> None:
    # Three rows of one class, of which one must help the row of another: each of them does so about as often.
    # Ten areas are ten draws.
    frame = pl.concat(
        pl.DataFrame({"age": [1] * 5 + [2], "area": [area] * 6, "disease": list("abcdef")}) for area in "qrstuvwxyz"
    )
    many.setattr("shoal.engines.memory._ROWS_PER_CELL", 0)
    seen: Counter[str] = Counter()
    for seed in some(range(30), least=8):
        found = release(frame, insensitive=(), k=2, seed=seed, algorithm=Helping())
        shown = found.data.filter(pl.col("age").cast(pl.String) != "1")
        assert shown["area"].value_counts()["count"].to_list() == [2] * 10
        seen.update(shown.filter(pl.col("disease") != "f")["disease"])
    assert seen.total() == 10 * few(30, least=8)
    assert set(seen) == set("abcde")
    # 60 are expected of 300; 30 is four standard deviations below.
    assert min(seen.values()) > (30 if THOROUGH else 0)


class Helping(shoal.algorithms.Mondrian):
    """Each class of the second half takes the first row of a class of the first half."""

    def group_rows(self, problem: Problem) -> Partition:
        assert not problem.table.sensitive
        classes = problem.table.classes
        groups = classes.of_rows.astype(np.int32)
        half = classes.count // 2
        groups[classes.first_rows[:half]] = np.arange(half, classes.count)
        return Partition.of(groups, super().group_rows(problem).guarantee)


def test_minus_zero_of_an_insensitive_column_is_published_as_it_is(many: Any) -> None:
    frame = people(300).with_columns(ward=pl.Series([0.0, -0.0] * 150))
    assert np.signbit(release(frame).data["ward"].to_numpy()).sum() == 150


def test_the_hash_of_the_input_is_that_of_its_rows(many: Any) -> None:
    frame = people(300)
    counted = release(frame)
    assert isinstance(counted.store, RunRows)
    many.undo()
    assert shoal.provenance(frame, counted.certificate.to_dict(), salt=counted.salt)


def test_rows_that_stand_in_the_way_are_found_among_all_columns(many: Any) -> None:
    frame = people(300)
    options = {"k": 6, "algorithm": PatternGuided(["11"]), "recoding": "suppression"}
    with pytest.raises(InfeasibleError) as narrow:
        release(frame, **options)
    many.undo()
    with pytest.raises(InfeasibleError) as whole:
        release(frame, **options)
    assert len(whole.value.rows) < 300
    assert narrow.value.rows.tolist() == whole.value.rows.tolist()
    assert str(narrow.value) == str(whole.value)


@pytest.mark.drawn
def test_large_classes_keep_most_of_their_rows_out_of_the_search(many: Any) -> None:
    lost: dict[str, float] = Counter()
    for seed in range(4):
        request = shoal.Request(quasi_identifiers=NAMES, k=2, algorithm="cluster", recoding="generalization")
        opened, clock = open_data(people(2_000, seed).select(NAMES)), Clock(STEPS)
        prepared, source = prepare(opened, request, clock), InMemory(opened=opened)
        classes = prepared.problem(clock).table.classes
        many.setattr("shoal.algorithms.cluster._MAX_SEARCHED_ROWS", 0)
        searched = SearchedRows.of(prepared.problem(clock))
        assert searched is not None
        sizes = np.bincount(classes.of_rows)
        seen = np.bincount(classes.of_rows[searched.rows], minlength=len(sizes))
        assert ((seen == sizes) | ((seen == 8) & (sizes >= 10))).all()
        assert (seen < sizes).any()
        for name, rows in (("some", 0), ("all", 1 << 30)):
            many.setattr("shoal.algorithms.cluster._MAX_SEARCHED_ROWS", rows)
            found = verify_and_certify(
                partition_and_recode(prepare(opened, request, clock), source, clock), source, clock
            )
            assert found.certificate.achieved["k"] >= 2
            lost[name] += found.certificate.cost.gcp
            if name == "some":
                details = (
                    shoal.algorithms.Cluster()
                    .partition(replace(prepared.problem(clock), table=replace(prepared.table, counts=None)))
                    .details
                )
                assert details["loss"] == pytest.approx(found.certificate.cost.gcp, rel=0.1)
    assert 0 < lost["some"] <= 1.1 * lost["all"]
