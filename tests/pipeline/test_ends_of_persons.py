"""Ends of intervals are shared by persons, not by records, if a table has a person column."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ReleaseUnsafeError
from shoal.grouping import Ordered
from shoal.pipeline import recode as recoding
from shoal.pipeline.kept_rows import mark_first_rows


def visits(persons: int = 80, each: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(persons), each)
    return pl.DataFrame(
        {
            "pcode": person,
            "weight": rng.integers(40_000, 120_000, persons)[person],
            "sex": rng.choice(["f", "m"], persons)[person],
            "disease": rng.choice(list("pqrs"), len(person)),
        }
    )


def exact_ends(release: shoal.Release, table: pl.DataFrame, k: int) -> int:
    """Count the ends of intervals that are the exact value of fewer than k persons."""
    persons = dict(table.group_by("weight").agg(pl.col("pcode").n_unique()).iter_rows())
    ends = {int(end) for cell in release.data["weight"].cast(pl.String) for end in re.findall(r"\d+", cell)}
    return sum(0 < persons.get(end, 0) < k for end in ends)


REQUEST: dict[str, Any] = {
    "quasi_identifiers": ["weight", "sex"],
    "sensitive": "disease",
    "k": 3,
    "recoding": "generalization",
    "seed": 1,
}


@pytest.mark.drawn
def test_an_end_is_not_the_value_of_one_person_with_many_records() -> None:
    table = visits()
    assert exact_ends(shoal.anonymize(table.drop("pcode"), **REQUEST), table, 3) > 0, "records alone do not protect it"
    for link in False, True:
        assert exact_ends(shoal.anonymize(table, **REQUEST, person="pcode", link=link), table, 3) == 0


def test_classes_of_values_end_at_values_of_several_persons() -> None:
    table = visits()
    release = shoal.anonymize(table, **REQUEST, person="pcode", coarsen={"weight": Ordered(k=30)})
    assert exact_ends(release, table, 3) == 0


def test_an_end_that_few_persons_have_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recoding, "mark_first_rows", lambda units, rows: np.ones(len(rows), dtype=np.bool_))
    with pytest.raises(ReleaseUnsafeError, match="'weight'"):
        shoal.anonymize(visits(), **REQUEST, person="pcode")


def test_rows_of_several_kinds_of_units_are_different_in_all() -> None:
    persons, households = np.array([0, 0, 1, 2, 3]), np.array([0, 0, 0, 1, 1])
    marked = mark_first_rows([persons, households], np.arange(5))
    assert marked.tolist() == [True, False, False, True, False]
