"""Homogeneity, background knowledge, skewness and similarity: the papers' tables, and a slow adversary."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from tests.every import few
from tests.oracles.attack_cases import READING, Case
from tests.oracles.attacks import chance_of_one

from shoal.attacks import (
    background_knowledge_attack,
    homogeneity_attack,
    similarity_attack,
    skewness_attack,
)
from shoal.errors import ColumnError, DataError, NotUnderstoodError, ParameterError
from shoal.hierarchy import Hierarchy
from shoal.models.ground_distance import OrderedDistance

STOMACH = [("gastric ulcer", "stomach", "*"), ("gastritis", "stomach", "*"), ("stomach cancer", "stomach", "*")]
OTHERS = [("flu", "lung", "*"), ("bronchitis", "lung", "*"), ("pneumonia", "lung", "*")]
TABLE_4 = pl.DataFrame(
    {
        "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
        "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
        "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10],
        "disease": [one[0] for one in STOMACH]
        + ["gastritis", "flu", "bronchitis", "bronchitis", "pneumonia", "stomach cancer"],
    }
)
"""Table 4 of the t-closeness paper, salaries in thousands."""
QI = ["zip", "age"]


def test_random_tables_against_a_slow_adversary():
    rng = np.random.default_rng(7)
    for number in range(few(80)):
        case = Case(rng)
        people = {"targets": case.frame(case.members), "controls": case.frame(case.others)}
        shown = [set(case.shown(one)) for one in case.members]
        others = [set(case.shown(one)) for one in case.others]
        values = {ill for _, _, ill in case.members}
        if not any(ill in values for _, _, ill in case.others):
            continue
        j = number % 3
        found = homogeneity_attack(case.release, **people, **READING)
        assert found.successes == sum(one == {ill} for one, (_, _, ill) in zip(shown, case.members, strict=True))
        assert found.control.successes == sum(
            one == {ill} for one, (_, _, ill) in zip(others, case.others, strict=True)
        )
        found = background_knowledge_attack(case.release, j=j, **people, **READING)
        at_most = [len(one) <= j + 1 and ill in one for one, (_, _, ill) in zip(shown, case.members, strict=True)]
        assert found.successes == sum(at_most)
        chances = [
            float(chance_of_one(one, ill, values, j)) for one, (_, _, ill) in zip(shown, case.members, strict=True)
        ]
        assert found["by_chance"] == pytest.approx(np.mean(chances))
        found = skewness_attack(case.release, **people, **READING)
        right = 0
        for person in case.members:
            counts = Counter(case.shown(person))
            right += min(counts, key=lambda value: (-counts[value], value)) == person[2]
        assert found.successes == right
        found = similarity_attack(case.release, within=1, **people, **READING)
        near = [max(map(int, one)) - min(map(int, one)) <= 1 for one in shown]
        assert found.successes == sum(near)
        commonest = max(sum(ill in (str(low), str(low + 1)) for _, _, ill in case.members) for low in range(1, 8))
        assert found.baseline.successes == commonest


def test_groups_that_are_known():
    rng = np.random.default_rng(1)
    for _ in range(few(100)):
        case = Case(rng)
        groups: dict[tuple[str, str], list[str]] = {}
        for age, town, ill in case.release.rows():
            groups.setdefault((age, town), []).append(ill)
        found = homogeneity_attack(case.release, **READING)
        assert found.successes == sum(len(one) for one in groups.values() if len(set(one)) == 1)
        assert found["groups"] == len(groups)
        table = Counter(case.release["ill"].to_list())
        assert found.baseline.successes == max(table.values())
        found = background_knowledge_attack(case.release, j=1, **READING)
        assert found.successes == sum(len(one) for one in groups.values() if len(set(one)) <= 2)
        found = skewness_attack(case.release, **READING)
        assert found.successes == sum(max(Counter(one).values()) for one in groups.values())
        factors = [
            Counter(one)[ill] * case.release.height / (len(one) * table[ill]) for one in groups.values() for ill in one
        ]
        assert found["largest_factor"] == pytest.approx(max(factors))


def test_many_values_are_counted_in_parts():
    ills = [str(number) for number in range(1000, 1300)]
    release = pl.DataFrame({"age": ["*"] * 300 + ["30"], "ill": [*ills, "1299"]})
    people = pl.DataFrame({"age": [20, 30], "ill": ["1000", "1299"]})
    reading = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    found = skewness_attack(release, targets=people, **reading)
    assert (found.successes, found["not_covered"]) == (2, 0)
    assert homogeneity_attack(release, targets=people, **reading).successes == 0


def test_the_skewness_of_the_paper():
    """Section 3: 1% of 10,000 are positive; groups with 25 of 50, and with 49 of 50."""
    rest = [("c", "positive")] * 26 + [("c", "negative")] * 9874
    rows = [("a", "positive")] * 25 + [("a", "negative")] * 25 + [("b", "positive")] * 49 + [("b", "negative")] + rest
    frame = pl.DataFrame(rows, schema=["zip", "test"], orient="row")
    reading = {"quasi_identifiers": ["zip"], "sensitive": "test"}
    found = skewness_attack(frame, t=0.49, **reading)
    assert (found["largest_factor"], found["belief_before"], found["belief_after"]) == (98.0, 0.01, 0.98)
    assert found["largest_distance"] == pytest.approx(0.97)
    assert found["rows_above_t"] == 50  # the distance of the first group is 0.49, which is not above it


def test_the_similarity_of_the_paper():
    tree = Hierarchy.from_rows([*STOMACH, *OTHERS])
    found = similarity_attack(TABLE_4, hierarchy=tree, quasi_identifiers=QI, sensitive="disease")
    assert (found.successes, found["similar"]) == (3, "level 1")
    assert found.baseline.successes == 5  # of nine diseases, five are of the stomach
    found = similarity_attack(TABLE_4, within=2, quasi_identifiers=QI, sensitive="salary")
    assert (found.successes, found["identical"]) == (3, 0)
    assert homogeneity_attack(TABLE_4, quasi_identifiers=QI, sensitive="disease").successes == 0
    found = skewness_attack(TABLE_4, distance=OrderedDistance(), quasi_identifiers=QI, sensitive="salary")
    assert found["largest_distance"] == pytest.approx(0.375)  # Example 4


def test_the_combination_of_several_sensitive_attributes_is_the_last():
    found = homogeneity_attack(TABLE_4, quasi_identifiers=["age"], sensitive=["disease", "salary"])
    assert found.attempts == 9
    assert (found.each[-1].sensitive, found.each[-1].successes) == (("disease", "salary"), 0)


def test_what_is_not_understood_is_an_error():
    people = pl.DataFrame({"age": [21, 35], "ill": ["1", "2"]})
    reading = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    for cells in (["class 1", "class 2"], ["young", "*"]):
        release = pl.DataFrame({"age": cells, "ill": ["1", "2"]})
        with pytest.raises(NotUnderstoodError, match="'age'"):
            homogeneity_attack(release, targets=people, **reading)
    # Some of the people, of whom one is hidden by a star, are no reason for doubt.
    release = pl.DataFrame({"age": ["21", "40", "*"], "ill": ["1", "1", "2"]})
    assert homogeneity_attack(release, targets=people, **reading).successes == 1


def test_bad_input():
    reading = {"quasi_identifiers": QI, "sensitive": "disease"}
    with pytest.raises(ColumnError, match="the release"):
        homogeneity_attack(TABLE_4, quasi_identifiers=["zipp"], sensitive="disease")
    with pytest.raises(ColumnError, match="No certificate states the"):
        homogeneity_attack(TABLE_4, quasi_identifiers=QI)
    with pytest.raises(ParameterError, match="targets"):
        homogeneity_attack(TABLE_4, controls=TABLE_4, **reading)
    with pytest.raises(ParameterError, match="'j'"):
        background_knowledge_attack(TABLE_4, j=-1, **reading)
    with pytest.raises(ParameterError, match="'t'"):
        skewness_attack(TABLE_4, t=2, **reading)
    with pytest.raises(ParameterError, match="hierarchy"):
        similarity_attack(TABLE_4, **reading)
    with pytest.raises(DataError, match="no numbers"):
        similarity_attack(TABLE_4, within=2, **reading)
    with pytest.raises(DataError, match="are not in the hierarchy"):
        similarity_attack(TABLE_4, hierarchy=Hierarchy.from_rows(STOMACH), **reading)
    with pytest.raises(ParameterError, match="level"):
        similarity_attack(TABLE_4, hierarchy=Hierarchy.from_rows([*STOMACH, *OTHERS]), level=2, **reading)
    people = pl.DataFrame({"zip": ["47602"], "age": ["22"], "disease": ["cholera"]})
    with pytest.raises(DataError, match="do not match"):
        homogeneity_attack(TABLE_4, targets=people, **reading)


def test_nothing_of_a_person_is_told():
    found = homogeneity_attack(TABLE_4, quasi_identifiers=QI, sensitive="disease")
    told = repr(found) + str(found.to_dict()) + " ".join(found.sentences())
    assert not any(cell in told for row in TABLE_4.rows() for cell in map(str, row) if len(cell) > 3)
