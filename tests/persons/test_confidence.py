"""How sure somebody can be of a value of a person, against the count of all matchings."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.persons import confidence_by_matchings

import shoal
from shoal.disclosure_risk.confidence import person_confidence, person_figures
from shoal.disclosure_risk.confidence_kernel import compute_least_doubt
from shoal.report.review import collect_review
from shoal.verification import MeasuredTable
from shoal.wording import join_warnings


@st.composite
def matched_tables(draw: st.DrawFn) -> list[list[tuple[int, int]]]:
    """Draw the rows of one to three groups: whose they are, and their values."""
    row = st.tuples(st.integers(0, 2), st.integers(0, 2))
    return draw(st.lists(st.lists(row, min_size=1, max_size=5), min_size=1, max_size=3))


def counted(groups: list[list[tuple[int, int]]]) -> Any:
    rows = [(number, unit, value) for number, group in enumerate(groups) for unit, value in group]
    frame = pl.DataFrame(rows, schema=["g", "u", "v"], orient="row")
    return MeasuredTable(frame, ["g"], ["u", "v"]).counts


@settings(max_examples=500, deadline=None)
@given(groups=matched_tables(), limit=st.fractions(0, 1, max_denominator=6))
def test_it_is_what_counting_all_matchings_gives(groups: list[list[tuple[int, int]]], limit: Fraction) -> None:
    units, values = counted(groups)
    everybody = {unit for group in groups for unit, _ in group}
    whole = {value for group in groups for _, value in group}
    expected = {unit: max(confidence_by_matchings(groups, unit, value) for value in whole) for unit in everybody}
    found = person_confidence(units, values, limit)
    assert found.largest == max(expected.values())
    assert found.above == sum(one > limit for one in expected.values())


@settings(max_examples=50, deadline=None)
@given(groups=matched_tables())
def test_the_loop_without_compilation(groups: list[list[tuple[int, int]]]) -> None:
    units, values = counted(groups)
    order = np.argsort(units.values, kind="stable")
    starts = np.append(np.flatnonzero(np.diff(units.values[order], prepend=-1)), len(order))
    given = (starts, np.repeat(np.arange(len(units.sizes)), units.distinct)[order], units.counts[order])
    held = (values.starts, values.values, values.counts, values.sizes, len(values.totals))
    assert np.allclose(
        compute_least_doubt.py_func(*given, *held), compute_least_doubt(*given, *held[:-1], np.int64(held[-1]))
    )


def test_many_rows_of_one_person_in_a_group() -> None:
    """Where factorials are approximated, and fractions decide."""
    groups = [[(0, row % 3) for row in range(100)] + [(1 + row, row % 3) for row in range(300)]]
    units, values = counted(groups)
    found = person_confidence(units, values, Fraction(1, 3))
    assert 1 - found.largest < Fraction(1, 10**16)
    assert found.above > 1
    assert found.to_dict() == {"largest": 1.0, "limit": "1/3", "units_above": found.above}


def test_the_figures() -> None:
    groups = [[(0, 0), (0, 1), (1, 0), (2, 1)], [(0, 1), (3, 0), (4, 0)]]
    units, values = counted(groups)
    assert person_figures("id", units, [("v", values)], Fraction(1, 2)).to_dict() == {
        "unit": "id",
        "records": 7,
        "units": 5,
        "most_records": 3,
        "least_in_group": 3,
        "average_in_group": 3.0,
        "largest_share": 0.5,
        "k": 2,
        "risk": {
            "highest": pytest.approx(1 / 3),
            "average": pytest.approx(1 / 3),
            "threshold": 0.2,
            "records_above": 1.0,
            "sample_uniques": 0.0,
        },
        "confidence": {"v": {"largest": 0.9445, "limit": "1/2", "units_above": 3}},
    }


def test_harmless_values_are_known_and_the_others_still_bounded() -> None:
    frame = pl.DataFrame(
        {
            "pid": [person for person in range(8) for _ in range(3)],
            "age": [30] * 24,
            "ill": ["no", "flu", "no", "no", "flu", "gout", "no", "no", "flu", "no", "cold", "no"] * 2,
        }
    )
    given = {"quasi_identifiers": ["age"], "sensitive": "ill", "person": "pid", "k": 2, "l": 2, "harmless": "no"}
    certificate = shoal.anonymize(frame, **given, seed=1).certificate.to_dict()
    (figures,) = certificate["persons"]
    stated = figures["confidence"]["ill"]
    # Six of 24 rows have the most frequent other value, and each person has three rows.
    expected = 1 - Fraction(math.comb(18, 3), math.comb(24, 3))
    assert stated["limit"] == "1/2"
    assert stated["largest"] == math.ceil(expected * 10_000) / 10_000
    assert stated["units_above"] == 8
    assert "sure_of_persons" in {one["code"] for one in certificate["warnings"]}
    # A person has the harmless value almost certainly, so sentences name what the figure leaves out.
    review = collect_review(certificate)
    assert (
        "a sensitive value other than 'no' is guessed rightly from all records of the person together: for 8 of 8 "
        "persons with a probability of more than 1/2, for one of them with 59.7%"
    ) in review["residual"]
    assert review["threats"][2]["measured"][0].startswith(
        "from all records of a person together, a value other than 'no' of the person is guessed rightly"
    )


def test_each_kind_of_unit_and_each_column_has_its_own_figures_in_warnings() -> None:
    # Two persons of each of four households; the second column is known less surely.
    frame = pl.DataFrame(
        {
            "pid": [row // 2 for row in range(16)],
            "hid": [row // 4 for row in range(16)],
            "age": [30] * 16,
            "ill": ["flu", "no"] * 8,
            "job": ["cook", "clerk", "smith", "baker"] * 4,
        }
    )
    given = {"quasi_identifiers": ["age"], "sensitive": ["ill", "job"], "person": "pid", "k": 2, "l": 2}
    made = shoal.anonymize(frame, **given, units=["hid"], seed=1)
    persons, households = [
        text for code, text in join_warnings([one.to_dict() for one in made.warnings]) if code == "sure_of_persons"
    ]
    assert persons.startswith("For 8 of 8 persons (pid)")
    assert households.startswith("For 4 of 4 values of hid, all records of one together")
    assert "The same holds for" not in persons
    largest = made.certificate.to_dict()["persons"][1]["confidence"]["job"]["largest"]
    assert households.endswith(f"The same holds for 'job' ({largest:.1%}).")
