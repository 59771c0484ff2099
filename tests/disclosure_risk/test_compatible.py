"""Stars, intervals, sets and nodes as any of their values, against all pairs of rows."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.every import every, few
from tests.oracles.disclosure_risk import compatible_counts

import shoal
from shoal.disclosure_risk import count_compatible, count_frequencies
from shoal.errors import ColumnError, DataError, NotUnderstoodError, ParameterError
from shoal.table import Schema, encode

HALVES = [Fraction(at, 2) for at in range(-2, 24)]
"""Points between and beyond whole numbers from 0 to 10: what tells intervals with such ends apart."""


def number_cell(rng):
    """Return a cell of a column of numbers, and the points that it stands for."""
    low, high = sorted(int(one) for one in rng.integers(0, 10, 2))
    shape = rng.integers(6)
    if shape == 0:
        return "*", set(HALVES)
    if shape == 1 and low < high:
        return f"[{low}, {high})", {one for one in HALVES if low <= one < high}
    if shape == 2 and low < high:
        return f"({low}, {high}]", {one for one in HALVES if low < one <= high}
    if shape == 3:
        return f"[{low}, {high}]", {one for one in HALVES if low <= one <= high}
    if shape == 4 and low < high:
        return f"{{{low}, {high}}}", {Fraction(low), Fraction(high)}
    return str(low), {Fraction(low)}


def text_cell(rng):
    """Return a cell of a column of names, and the names that it stands for."""
    names = ["ann", "bob", "cid", "dan"]
    shape = rng.integers(4)
    if shape == 0:
        return "*", {*names, None, "another"}
    if shape == 1:
        chosen = sorted({str(one) for one in rng.choice(names, 2)})
        return ("{" + ", ".join(chosen) + "}", set(chosen)) if len(chosen) > 1 else (chosen[0], set(chosen))
    if shape == 2:
        return None, {None}
    name = str(rng.choice(names))
    return name, {name}


def frequencies_of(frame, population=None, **more):
    columns = encode(frame, Schema(quasi_identifiers=tuple(frame.columns))).quasi_identifiers
    return count_compatible(frame, count_frequencies(columns), population, **more)


def of_rows(found, counts):
    return [int(counts[at]) for at in found.class_of]


def test_hundreds_of_random_tables():
    rng = np.random.default_rng(0)
    for _ in range(few(150)):
        makers = [(number_cell, text_cell)[kind] for kind in rng.integers(0, 2, int(rng.integers(1, 4)))]
        rows = [[make(rng) for make in makers] for _ in range(int(rng.integers(1, 30)))]
        frame = pl.DataFrame(
            {f"q{at}": pl.Series([row[at][0] for row in rows], dtype=pl.String) for at in range(len(makers))}
        )
        meant = [[cell for _, cell in row] for row in rows]
        found = frequencies_of(frame)
        assert of_rows(found, found.sample) == compatible_counts(meant, meant)
        # Every row's person is there with true values, and others.
        people = [[sorted(cell, key=str)[int(rng.integers(len(cell)))] for cell in row] for row in meant]
        people += [[make(rng)[1].copy().pop() for make in makers] for _ in range(10)]
        population = pl.DataFrame(
            {
                f"q{at}": pl.Series(
                    [
                        None if person[at] is None else str(float(person[at])) if make is number_cell else person[at]
                        for person in people
                    ],
                    dtype=pl.String,
                )
                for at, make in enumerate(makers)
            }
        )
        single = [[{value} for value in person] for person in people]
        found = frequencies_of(frame, population)
        assert of_rows(found, found.population) == compatible_counts(meant, single)
        fitting = [sum(all(v in c for v, c in zip(person, row, strict=True)) for row in meant) for person in people]
        assert found.outside == fitting.count(0)
        classes = {tuple(map(frozenset, row)): row for row in meant}
        several = [
            sum(all(v in c for v, c in zip(person, row, strict=True)) for row in classes.values()) > 1
            for person in people
        ]
        assert found.overlapping >= any(several)  # cells that read differently are different classes


def test_without_stars_both_readings_agree():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "age": rng.integers(0, 9, 200),
            "sex": rng.choice(["f", "m"], 200),
            "born": [date(2000, 1, 1) + timedelta(days=int(one)) for one in rng.integers(0, 5, 200)],
            "w": rng.uniform(1, 9, 200),
            "s": rng.choice(["a", "b", "c"], 200),
        }
    )
    request = {"quasi_identifiers": ["age", "sex", "born"], "sensitive": "s", "weights": "w", "sampling_fraction": 0.1}
    own = shoal.risk(frame, population=frame, suda=2, log_linear="independence", **request).to_dict()
    wild = shoal.risk(frame, population=frame, stars="wildcard", suda=2, log_linear="independence", **request).to_dict()
    assert (own.pop("stars"), wild.pop("stars")) == ("own", "wildcard")
    assert own == wild


def test_stars_of_a_release():
    """Two rows whose stars cross are compatible: each may be meant where the other is."""
    frame = pl.DataFrame({"age": ["30", "*", "40"], "zip": ["*", "1", "1"], "s": ["x", "y", "y"], "w": [2, 3, 4]})
    request = {"quasi_identifiers": ["age", "zip"], "sensitive": "s", "weights": "w"}
    own = shoal.risk(frame, **request)
    wild = shoal.risk(frame, stars="wildcard", sampling_fraction=0.1, **request)
    assert own.smallest_class == 1
    assert wild.population_uniques is None
    assert wild.k_map is not None
    assert wild.k_map.estimated == 2
    assert wild.smallest_class == 2
    assert wild.classes == own.classes == 3
    assert wild.records["prosecutor"].to_list() == [1 / 2, 1 / 3, 1 / 2]
    assert wild.prosecutor.average == pytest.approx((1 / 2 + 1 / 3 + 1 / 2) / 3)
    # Of the rows that fit the second one, two of three have y.
    assert wild.attribute_disclosure["s"].average == pytest.approx((1 / 2 + 2 / 3 + 1) / 3)
    assert wild.attribute_disclosure["s"].highest == 1
    individual = [5 / 2, 9 / 3, 7 / 2]
    from shoal.disclosure_risk.individual import individual_risks

    expected = [
        individual_risks(np.array([f]), np.array([f * w]))[0] for f, w in zip([2, 3, 2], individual, strict=True)
    ]
    assert wild.records["individual"].to_list() == pytest.approx(expected, rel=1e-14)


def test_a_generalized_release_and_true_values():
    """Classes that do not overlap: delta-presence is the share of the people of each who are in the table."""
    frame = pl.DataFrame({"age": ["[20, 30)", "[20, 30)", "30+"], "sex": ["f", "f", "*"]})
    people = pl.DataFrame({"age": [20, 25, 29, 28, 30, 31, 19], "sex": ["f", "f", "f", "m", "f", "m", "f"]})
    found = shoal.risk(frame, quasi_identifiers=["age", "sex"], population=people, stars="wildcard")
    assert found.k_map is not None
    assert found.k_map.k == 2
    assert found.delta_presence is not None
    assert (found.delta_presence.lowest, found.delta_presence.highest) == (0, 2 / 3)
    assert found.marketer is not None
    assert found.marketer.average == pytest.approx((1 / 3 + 1 / 3 + 1 / 2) / 3)
    crossing = frame.vstack(pl.DataFrame({"age": ["*"], "sex": ["f"]}))
    overlapping = shoal.risk(crossing, quasi_identifiers=["age", "sex"], population=people, stars="wildcard")
    assert overlapping.delta_presence is None
    assert overlapping.journalist is not None


def test_nodes_prefixes_and_orders_that_the_caller_explains(tmp_path):
    tree = tmp_path / "education.csv"
    tree.write_text("primary;low;*\nsecondary;low;*\nbachelor;high;*\nmaster;high;*\n")
    frame = pl.DataFrame(
        {"education": ["low", "high", "master"], "zip": ["021", "021", "*"], "size": ["[S, M]", "L", "M"]}
    )
    people = pl.DataFrame(
        {
            "education": ["primary", "secondary", "master", "bachelor"],
            "zip": ["02139", "02144", "02139", "10001"],
            "size": ["S", "M", "L", "M"],
        }
    )
    request = {
        "quasi_identifiers": ["education", "zip"],
        "stars": "wildcard",
        "hierarchies": {"education": tree},
        "cells": {"zip": shoal.Prefix(3)},
    }
    found = shoal.risk(frame, **request)
    assert found.records["prosecutor"].to_list() == [1, 1 / 2, 1 / 2]
    with_people = shoal.risk(frame[:2], population=people, **request)
    assert with_people.records["journalist"].to_list() == [1 / 2, 1]
    ordered = {**request, "quasi_identifiers": ["size"], "hierarchies": None, "cells": {"size": ["S", "M", "L"]}}
    assert shoal.risk(frame, **ordered).records["prosecutor"].to_list() == [1 / 2, 1, 1 / 2]
    with pytest.raises(NotUnderstoodError, match="'size'"):
        shoal.risk(frame, quasi_identifiers=["size"], stars="wildcard")


def test_masks_and_dates():
    frame = pl.DataFrame(
        {
            "zip": ["476**", "4767*", "47***", "48***", "47678"],
            "born": ["[2000-01-01, 2000-02-01)", "2000-02-01", "2000-01-15", "*", "[2000-01-31, 2000-02-01]"],
        }
    )
    found = shoal.risk(frame, quasi_identifiers=["zip"], stars="wildcard")
    assert found.records["prosecutor"].to_list() == [1 / 4, 1 / 4, 1 / 4, 1, 1 / 4]
    found = shoal.risk(frame, quasi_identifiers=["born"], stars="wildcard")
    assert found.records["prosecutor"].to_list() == [1 / 4, 1 / 3, 1 / 3, 1 / 5, 1 / 4]


@every(
    ("change", "error", "message"),
    [
        ({"suda": 2}, DataError, r"exact values, and 1 column\(s\) have cells that represent several: 'age'"),
        ({"log_linear": "independence", "sampling_fraction": 0.1}, DataError, "'age'.*original table"),
        ({"cells": {"ag": "values"}}, ColumnError, "'ag' of cells is not a quasi-identifier. Did you mean 'age'"),
        ({"stars": "own", "cells": {"age": "values"}}, ParameterError, "give stars='wildcard'"),
        ({"population": pl.DataFrame({"age": [25], "sex": ["f"]})}, DataError, "The population has 1 row"),
        (
            {"population": pl.DataFrame({"age": [25, 45, 46], "sex": ["f", "f", "f"]})},
            DataError,
            r"1 row\(s\) of the table fit no person .*'sex' \(1 row\(s\) whose cell fits no person\)",
        ),
    ],
)
def test_wrong_calls(change, error, message):
    frame = pl.DataFrame({"age": ["[20, 30]", "[40, 50]"], "sex": ["f", "m"]})
    with pytest.raises(error, match=message):
        shoal.risk(frame, **{"quasi_identifiers": ["age", "sex"], "stars": "wildcard", **change})


def test_neither_order_nor_progress_matters():
    rng = np.random.default_rng(2)
    rows = [(number_cell(rng)[0], text_cell(rng)[0]) for _ in range(300)]
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String}, orient="row")
    told = []
    request = {"quasi_identifiers": ["a", "b"], "stars": "wildcard"}
    found = shoal.risk(frame, progress=lambda *words: told.append(words), **request)
    assert found.to_dict() == shoal.risk(frame.reverse(), **request).to_dict()
    assert "compatible cells" in Counter(step for step, _, _ in told)
