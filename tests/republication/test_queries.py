"""Counting with published tables: the paper's formula, and bounds that hold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.every import every

import shoal
from shoal.errors import ColumnError, DataError, ParameterError
from shoal.republication.queries import PublishedGroups

TABLE_3A = pl.DataFrame(
    [
        (number, age, place, value)
        for number, (age, place, *values) in enumerate(
            [
                ("[21, 22]", "[12000, 14000]", "dyspepsia", "bronchitis"),
                ("[23, 25]", "[21000, 25000]", "gastritis", "flu"),
                ("[37, 43]", "[26000, 33000]", "dyspepsia", "flu", "gastritis"),
                ("[41, 46]", "[20000, 30000]", "flu", "gastritis"),
                ("[54, 56]", "[31000, 34000]", "dyspepsia", "gastritis"),
                ("[60, 65]", "[36000, 44000]", "gastritis", "flu"),
            ],
            start=1,
        )
        for value in values
    ],
    schema=["group_id", "age", "zip", "disease"],
    orient="row",
)
TABLE_3B = pl.DataFrame({"group_id": [1, 3], "count": [1, 1]})


@every(
    ("question", "estimate"),
    [
        ("", 11),
        ("age in [20, 30]", 3),
        ("age in [30, 50)", 4),
        # two people of three rows in group 3, two of two in group 4
        ("age in [30, 50) and disease = flu", 2 / 3 + 1),
        ("age = 42", 2 / 7 + 2 / 6),
        ("age in {42, 43, 99}", 2 * 2 / 7 + 2 * 2 / 6),
        ("age > 42 and age < 46", 2 * 1 / 7 + 2 * 3 / 6),
        ("age != 42", 11 - 2 / 7 - 2 / 6),
        ("age in [41.5, 42.5]", 2 / 7 + 2 / 6),
        ("disease != flu", 1 * 2 / 2 + 2 * 1 / 2 + 2 * 2 / 3 + 2 * 1 / 2 + 2 * 2 / 2 + 2 * 1 / 2),
        ("age = 42 and age = 43", 0),
        ("age in [50, 40]", 0),
    ],
)
def test_the_papers_formula(question, estimate):
    groups = PublishedGroups(TABLE_3A, quasi_identifiers=["age", "zip"], counterfeits=TABLE_3B)
    assert groups.count(question).estimate == pytest.approx(estimate)


def test_bounds_take_counterfeits_into_account():
    groups = PublishedGroups(TABLE_3A, quasi_identifiers=["age", "zip"], counterfeits=TABLE_3B)
    found = groups.count("age in [20, 45] and disease = flu")
    # group 2 for certain; group 3's flu may be the counterfeit; group 4 reaches beyond 45
    assert (found.at_least, found.at_most) == (1, 3)
    assert groups.count("").to_dict() == {"count": 11.0, "at_least": 11, "at_most": 11}


@pytest.mark.drawn
@pytest.mark.parametrize("algorithm", ["mondrian", "tp+"])
@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_the_truth_is_within_the_bounds_of_any_release(algorithm, recoding):
    table = shoal.datasets.census(400, quasi_identifiers=["age", "gender", "education"], seed=3)
    table = table.with_columns(gender=pl.col("gender").replace_strict([0, 1], ["f", "m, x"], return_dtype=pl.String))
    release = shoal.anonymize(
        table,
        quasi_identifiers=["age", "gender", "education"],
        sensitive="income",
        privacy=shoal.LDiversity(3),
        algorithm=algorithm,
        recoding=recoding,
        seed=1,
    )
    groups = PublishedGroups(
        release.data, quasi_identifiers=["age", "gender", "education"], domains={"age": "[17, 95]"}
    )
    rng = np.random.default_rng(5)
    for _ in range(30):
        low, high = np.sort(rng.integers(17, 96, 2)).tolist()
        most, sex = int(rng.integers(0, 50)), ["f", "m, x"][rng.integers(0, 2)]
        found = groups.count(f'age in [{low}, {high}] and income <= {most} and gender = "{sex}"')
        truth = table.filter(
            pl.col("age").is_between(low, high) & (pl.col("income") <= most) & (pl.col("gender") == sex)
        ).height
        assert found.at_least <= truth <= found.at_most
        assert found.at_least - 1e-9 <= found.estimate <= found.at_most + 1e-9


def test_dates_decimals_sets_masks_and_stars():
    release = pl.DataFrame(
        {
            "born": ["[2000-01-01, 2000-01-10]", "2001-05-05", "*"],
            "weight": ["[60.5, 61.0]", "[70.0, 70.9]", "80.0"],
            "zip": ["476**", "47677", "{47602, 47905}"],
            "disease": ["flu", "flu", None],
        }
    )
    groups = PublishedGroups(release, quasi_identifiers=["born", "weight", "zip"], domains={"zip": "{47601, 47602}"})
    assert groups.count("born <= 2000-01-05").estimate == pytest.approx(0.5 + 5 / 491)
    assert groups.count("weight >= 60.75 and weight < 61").estimate == pytest.approx(2 / 6 + 0 + 0)
    # of the zip codes that are known, 47601, 47602 and 47677 look like 476**
    assert groups.count("zip = 47602").estimate == pytest.approx(1 / 3 + 0.5)
    assert groups.count("disease = flu").estimate == 2
    assert groups.count("disease != flu").estimate == 0, "a missing value fulfils nothing"


def test_text_intervals_count_the_values_that_are_shown():
    release = pl.DataFrame({"size": ["[a, c]", "b", "c"], "disease": ["x", "x", "x"]})
    groups = PublishedGroups(release, quasi_identifiers=["size"])
    assert groups.count("size = b").estimate == pytest.approx(1 / 3 + 1)


def test_mistakes_say_what_to_change():
    groups = PublishedGroups(TABLE_3A, quasi_identifiers=["age", "zip"], counterfeits=TABLE_3B)
    with pytest.raises(ColumnError, match=r"The release has no column 'agee'\. Did you mean 'age'"):
        groups.count("agee = 3")
    with pytest.raises(ColumnError, match="The release has no column 'group_id'"):
        groups.count("group_id = 3")
    with pytest.raises(ParameterError, match="compares a column of numbers with something else"):
        groups.count("age = old")
    with pytest.raises(ColumnError, match="no column 'nonsense'"):
        PublishedGroups(TABLE_3A, quasi_identifiers=["nonsense"])
    with pytest.raises(DataError, match="no rows"):
        PublishedGroups(TABLE_3A.clear(), quasi_identifiers=["age"])
    with pytest.raises(DataError, match="are both of one release"):
        PublishedGroups(TABLE_3A, quasi_identifiers=["age"], counterfeits=pl.DataFrame({"group_id": [9], "count": [1]}))
    with pytest.raises(DataError, match="has no such column"):
        PublishedGroups(TABLE_3A.drop("group_id"), quasi_identifiers=["age"], counterfeits=TABLE_3B)


def test_a_publication_counts(tmp_path):
    table = pl.DataFrame({"id": [1, 2, 3, 4], "age": [20, 30, 40, 50], "disease": ["a", "b", "a", "b"]})
    ledger = shoal.Ledger(tmp_path / "ledger.db", create=True)
    series = ledger.start("s", m=2, identifier="id", quasi_identifiers=["age"], sensitive="disease")
    publication = series.publish(table, seed=1)
    assert publication.count("") == 4
    assert publication.count("disease = a") == 2
    assert publication.count("age >= 20 and age <= 50") == 4
    later = series.publish(table[:3], seed=2)
    assert later.certificate.cost["counterfeits"] == 1
    assert later.count("") == 3
    ledger.close()
