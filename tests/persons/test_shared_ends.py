"""Ends of intervals and members of sets are values of at least k persons, not of k records of one person."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError


def visits(ages: list[int]) -> pl.DataFrame:
    """Ten visits of each person, whose age is exact."""
    return pl.DataFrame(
        {
            "id": [person for person in range(len(ages)) for _ in range(10)],
            "age": [age for age in ages for _ in range(10)],
            "s": ["xy"[visit % 2] for _ in ages for visit in range(10)],
        }
    )


@pytest.mark.parametrize("algorithm", ["mondrian", "cluster", "hilbert"])
def test_ten_records_of_one_person_do_not_make_an_end(algorithm: str) -> None:
    data = visits([31, 33, 37, 42, 46, 48, 51, 57])
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "s", "k": 4, "algorithm": algorithm}
    asked["recoding"] = "generalization"
    by_rows = shoal.anonymize(data, **asked, direct_identifiers=["id"])
    assert set(by_rows.data["age"].cast(pl.String)) & {str(age) for age in data["age"]}
    made = shoal.anonymize(data, **asked, person="id")
    ends = {int(end) for cell in made.data["age"].cast(pl.String) for end in re.findall(r"\d+", cell)}
    assert not ends & set(data["age"])


@settings(max_examples=40, deadline=None)
@given(ages=st.lists(st.integers(20, 60), min_size=4, max_size=12), k=st.integers(2, 3), households=st.booleans())
def test_every_release_passes_its_verification(ages: list[int], k: int, households: bool) -> None:
    data = visits(ages).with_columns(household=pl.col("id") // 2, age=pl.col("age") + pl.int_range(pl.len()) % 3)
    for algorithm in ("mondrian", "cluster"):
        try:
            shoal.anonymize(
                data,
                quasi_identifiers=["age"],
                sensitive="s",
                person="id",
                units=["household"] if households else [],
                direct_identifiers=[] if households else ["household"],
                k=k,
                recoding="generalization",
                algorithm=algorithm,
            )
        except InfeasibleError:
            assert households
