"""Predicates from the public table: matches and weights agree with a comparison of everybody with every cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import every

import shoal
from shoal.attacks import singling_out_attack
from shoal.errors import ColumnError, ParameterError

READING: dict[str, Any] = {"quasi_identifiers": ["age", "town"], "cells": {"town": "values"}}
TOWNS = ["Aachen", "Bonn", "Celle"]


def make_case(seed: int) -> tuple[pl.DataFrame, pl.DataFrame, list[tuple[range, set[str], int]]]:
    """Make people, a release of them, and the ages and towns of each group."""
    rng = np.random.default_rng(seed)
    people, cells, groups = [], [], []
    for low in (20, 30, 40)[: rng.integers(1, 4)]:
        ages = rng.integers(low, low + 8, size=rng.integers(2, 7)).tolist()
        towns = rng.choice(TOWNS, size=len(ages)).tolist()
        people += list(zip(ages, towns, strict=True))
        span, shown = range(min(ages), max(ages) + 1), set(towns)
        age = str(span[0]) if len(span) == 1 else f"[{span[0]}, {span[-1]}]"
        town = towns[0] if len(shown) == 1 else "{" + ", ".join(sorted(shown)) + "}"
        cells += [(age, town)] * len(ages)
        groups.append((span, shown, len(ages)))
    frame = pl.DataFrame(people, schema=["age", "town"], orient="row").with_row_index("name")
    return frame, pl.DataFrame(cells, schema=["age", "town"], orient="row"), groups


@every("seed", range(60))
def test_ends_and_members_agree_with_a_comparison_of_everybody(seed: int) -> None:
    people, release, groups = make_case(seed)
    n = people.height
    isolating = attempts = successes = 0
    by_chance = 0.0
    bound = 0.05
    age_share = {age: sum(rows / len(span) for span, _, rows in groups if age in span) / n for age in range(20, 50)}
    town_share = {town: sum(rows / len(shown) for _, shown, rows in groups if town in shown) / n for town in TOWNS}
    for span, shown, _ in groups:
        ends = [([age], shown) for age in {span[0], span[-1]} if len(span) > 1]
        members = [(span, {town}) for town in shown if len(shown) > 1]
        for ages, towns in [*ends, *members]:
            fits = people.filter(pl.col("age").is_in(list(ages)) & pl.col("town").is_in(list(towns))).height
            weight = sum(age_share[age] for age in ages) * sum(town_share[town] for town in towns)
            attempts += 1
            isolating += fits == 1
            successes += fits == 1 and weight <= bound
            by_chance += n * weight * (1 - weight) ** (n - 1) if weight <= bound else 0
    found = singling_out_attack(release, people, weight=bound, **READING)
    ended, segments, hashed = found["by_kind"]
    assert (ended["attempts"], ended["isolating"], ended["successes"]) == (attempts, isolating, successes)
    assert ended["by_chance"] == pytest.approx(by_chance)
    assert segments["attempts"] == 0
    assert hashed["attempts"] == len(groups)


@pytest.mark.drawn
def test_a_hash_singles_out_as_often_as_chance_says() -> None:
    """Of groups of five, a hash of weight 1/5 is true of exactly one in 41 %."""
    rng = np.random.default_rng(2)
    people = pl.DataFrame({"age": np.repeat(np.arange(2000), 5), "name": rng.permutation(10_000)})
    found = singling_out_attack(people.select("age"), people, quasi_identifiers=["age"], weight=1.0)
    hashed = found["by_kind"][2]
    assert hashed["attempts"] == 2000
    assert hashed["isolating"] / 2000 == pytest.approx(5 * 0.2 * 0.8**4, abs=0.04)


def test_persons_are_singled_out_by_all_of_their_records() -> None:
    visits = pl.DataFrame({"who": ["a", "a", "b", "b", "c", "c"], "age": [20, 20, 29, 29, 25, 25]})
    release = pl.DataFrame({"age": ["[20, 29]"] * 6})
    reading: Any = {"quasi_identifiers": ["age"], "weight": 0.15}
    assert singling_out_attack(release, visits, **reading)["by_kind"][0]["isolating"] == 0
    found = singling_out_attack(release, visits, person="who", **reading)
    assert (found["people"], found["by_kind"][0]["isolating"], found["singled_out"]) == (3, 2, 2)


@pytest.mark.drawn
def test_exact_ends_single_out_people_and_shared_ones_hardly() -> None:
    rng = np.random.default_rng(3)
    people = pl.DataFrame(
        {
            "born": pl.Series(rng.integers(-10_000, 20_000, 600)).cast(pl.Date),
            "sex": rng.choice(["m", "f"], 600),
            "zip": rng.integers(10_000, 10_050, 600),
        }
    )
    singled = []
    for exact in (True, False):
        release = shoal.anonymize(
            people,
            quasi_identifiers=people.columns,
            k=5,
            algorithm="mondrian",
            recoding="generalization",
            exact_ends=exact,
            seed=1,
        )
        found = singling_out_attack(release, people)
        singled.append(found.successes)
        assert found.successes <= found.attempts
        assert found["by_kind"][1]["attempts"] > 0 or exact
    assert singled[0] > 20 * max(1, found.baseline.successes)
    assert singled[1] < singled[0] / 10


@pytest.mark.drawn
def test_controls_show_what_columns_that_go_together_do() -> None:
    """Columns that determine each other make predicates too light: as many are true of one person outside."""
    rng = np.random.default_rng(5)
    first = rng.integers(0, 4_000, 800)
    people = pl.DataFrame({"a": first, "b": first + rng.integers(0, 2, 800), "c": first + rng.integers(0, 2, 800)})
    inside, outside = people[:400], people[400:]
    release = shoal.anonymize(
        inside, quasi_identifiers=people.columns, k=3, algorithm="mondrian", recoding="generalization", seed=1
    )
    found = singling_out_attack(release, inside, controls=outside)
    assert found.control is not None
    assert found.successes > 5 * found.baseline.successes
    assert found.control.successes > 5 * found.baseline.successes
    assert "who are not in the release" in " ".join(found.sentences())


def test_what_is_no_weight_or_no_column_is_refused() -> None:
    people, release, _ = make_case(1)
    with pytest.raises(ParameterError, match="weight"):
        singling_out_attack(release, people, weight=0, **READING)
    with pytest.raises(ColumnError, match="town"):
        singling_out_attack(release, people.drop("town"), **READING)
