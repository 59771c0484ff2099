"""Linking against all pairs of a person and a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import few
from tests.oracles.attack_cases import READING, Case

import shoal
from shoal.attacks import linking_attack
from shoal.errors import ColumnError, DataError, NoRowsError, NotUnderstoodError, ParameterError

VOTERS = pl.DataFrame({"name": ["Ann", "Bob", "Cem"], "age": [21, 28, 35]})
RELEASE = pl.DataFrame({"age": ["[20, 29]", "[30, 39]"], "ill": ["flu", "ulcer"]})
LINK = {"identifier": "name", "quasi_identifiers": ["age"], "sensitive": "ill"}


def test_random_tables_against_all_pairs():
    rng = np.random.default_rng(3)
    for _ in range(few(120)):
        case = Case(rng)
        n, everybody = len(case.members), [*case.members, *case.others]
        order = rng.permutation(len(everybody))
        people = case.frame([everybody[at] for at in order]).with_columns(id=pl.Series(order.tolist()))
        fits = np.array(
            [[all(v in c for v, c in zip(one[:2], cells, strict=True)) for one in everybody] for cells, _ in case.rows]
        )
        candidates = fits.sum(axis=1)
        found = linking_attack(case.release, people, identifier="id", truth=range(n), **READING)
        assert found.successes == found["unique_matches"] == int((candidates == 1).sum())
        assert found["expected_matches"] == pytest.approx((1 / candidates).sum())
        assert found.baseline.rate == pytest.approx(1 / len(everybody))
        assert found.control.successes == 0  # a row that one person fits is this person's: all are there
        told = []
        for person in everybody:
            shown = set(case.shown(person))
            told.append(shown == {person[2]})
        assert found["values"]["successes"] == sum(told[:n])
        assert found["values"]["control"]["rate"] == pytest.approx(np.mean(told[n:]))
        unknown = linking_attack(case.release, people.drop("ill"), identifier="id", **READING)
        assert (unknown.successes, unknown["verified"], unknown.control) == (found.successes, False, None)
        assert unknown["expected_matches"] == pytest.approx(found["expected_matches"])


@pytest.mark.drawn
def test_a_population_that_lacks_people():
    rng = np.random.default_rng(5)
    reading = {**READING, "cells": {"age": "values", "town": "values"}}
    for _ in range(40):
        case = Case(rng)
        here = [*case.members[1:], *case.others]
        people = case.frame(here).with_columns(id=pl.Series(range(1, len(here) + 1)))
        truth = [None, *range(1, len(case.members))]
        fits = [
            [at for at, one in enumerate(here, start=1) if all(v in c for v, c in zip(one[:2], cells, strict=True))]
            for cells, _ in case.rows
        ]
        asked: dict[str, Any] = {"identifier": "id", "truth": truth, "incomplete": True, **reading}
        if not any(fits):
            with pytest.raises(DataError, match="nothing was measured"):
                linking_attack(case.release, people, **asked)
            continue
        found = linking_attack(case.release, people, **asked)
        assert found.successes == sum(one == [own] for one, own in zip(fits, truth, strict=True))
        assert found["unmatched_rows"] == fits.count([])
        outside = set(range(1, len(here) + 1)) - set(truth)
        assert found.control.successes == len({one[0] for one in fits if len(one) == 1} & outside)


def test_a_release_of_shoal():
    rng = np.random.default_rng(0)
    data = pl.DataFrame(
        {
            "id": [f"p{number}" for number in range(300)],
            "age": rng.integers(18, 80, 300),
            "zip": rng.integers(100, 110, 300).astype(str),
            "ill": rng.choice(["a", "b", "c", "d"], 300),
        }
    )
    release = shoal.anonymize(
        data[:200].drop("id"),
        quasi_identifiers=["age", "zip"],
        sensitive="ill",
        privacy=shoal.KAnonymity(5),
        recoding="generalization",
        algorithm="mondrian",
    )
    found = linking_attack(release, data, identifier="id", truth=data["id"][release.rows.tolist()])
    assert found.successes == 0
    assert 0 < found["expected_matches"] <= 40
    assert "are linked to the right person" in found.sentences()[0]


def test_bad_input():
    with pytest.raises(DataError, match="fewer than the 2 rows"):
        linking_attack(RELEASE, VOTERS[:1], **LINK)
    with pytest.raises(DataError, match="match no one"):
        linking_attack(RELEASE, VOTERS.with_columns(age=pl.Series([21, 28, 45])), **LINK)
    found = linking_attack(RELEASE, VOTERS.with_columns(age=pl.Series([21, 28, 45])), incomplete=True, **LINK)
    assert found["unmatched_rows"] == 1
    # Rows of one person are counted as that person, by the advice as it stands.
    twice = VOTERS.with_columns(name=pl.Series(["Ann", "Ann", "Bob"]))
    with pytest.raises(DataError, match=r"more than once.* one person, say so with person='name'"):
        linking_attack(RELEASE, twice, **LINK)
    assert linking_attack(RELEASE, twice, **LINK, person="name")["people"] == 2
    with pytest.raises(DataError, match="misses 1 identifier"):
        linking_attack(RELEASE, VOTERS.with_columns(name=pl.Series(["Ann", None, "Bob"])), **LINK)
    with pytest.raises(ColumnError, match="the population"):
        linking_attack(RELEASE, VOTERS.drop("age"), **LINK)
    with pytest.raises(ParameterError, match="one identifier for each"):
        linking_attack(RELEASE, VOTERS, truth=["Ann"], **LINK)
    with pytest.raises(DataError, match="not in the column 'name'"):
        linking_attack(RELEASE, VOTERS, truth=["Ann", "Zoe"], **LINK)
    with pytest.raises(DataError, match="more than one row"):
        linking_attack(RELEASE, VOTERS, truth=["Ann", "Ann"], **LINK)
    for incomplete in (False, True):
        with pytest.raises(NotUnderstoodError, match="'age'"):
            linking_attack(RELEASE.with_columns(age=pl.Series(["young", "*"])), VOTERS, incomplete=incomplete, **LINK)
    with pytest.raises(NotUnderstoodError, match="'age'"):
        linking_attack(RELEASE, VOTERS.with_columns(age=pl.Series(["young", "old", "old"])), **LINK)


def test_nobody_in_the_population():
    frame = pl.DataFrame({"age": ["[20, 29]"], "s": ["x"]})
    nobody = pl.DataFrame({"id": ["a"], "age": [21]}).clear()
    with pytest.raises(NoRowsError, match="There are no people in the population"):
        linking_attack(frame, nobody, identifier="id", quasi_identifiers=["age"], sensitive="s", incomplete=True)
