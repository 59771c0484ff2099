"""The intersection attack on the paper's tables, and against a slow adversary."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.every import every
from tests.oracles.invariance import Group, Person, candidate_set

import shoal
from shoal.attacks import intersection_attack
from shoal.errors import ColumnError, DataError, NotUnderstoodError, ParameterError
from shoal.hierarchy import Hierarchy

D, B, F, G = "dyspepsia", "bronchitis", "flu", "gastritis"
FIRST = {
    "Bob": (21, 12000),
    "Alice": (22, 14000),
    "Andy": (24, 18000),
    "David": (23, 25000),
    "Gary": (41, 20000),
    "Helen": (36, 27000),
    "Jane": (37, 33000),
    "Ken": (40, 35000),
    "Linda": (43, 26000),
    "Paul": (52, 33000),
    "Steve": (56, 34000),
}
NEW = {"Emily": (25, 21000), "Mary": (46, 30000), "Ray": (54, 31000), "Tom": (60, 44000), "Vince": (65, 36000)}
SECOND = {**{name: FIRST[name] for name in ("Bob", "David", "Jane", "Linda", "Gary", "Steve")}, **NEW}
TABLE_1B = [
    ("[21, 22]", "[12000, 14000]", D, B),
    ("[23, 24]", "[18000, 25000]", F, G),
    ("[36, 41]", "[20000, 27000]", F, G),
    ("[37, 43]", "[26000, 35000]", D, F, G),
    ("[52, 56]", "[33000, 34000]", D, G),
]
TABLE_2B = [
    ("[21, 23]", "[12000, 25000]", D, G),
    ("[25, 43]", "[21000, 33000]", F, D, G),
    ("[41, 46]", "[20000, 30000]", F, G),
    ("[54, 56]", "[31000, 34000]", D, G),
    ("[60, 65]", "[36000, 44000]", G, F),
]
TABLE_3A = [
    ("[21, 22]", "[12000, 14000]", D, B),
    ("[23, 25]", "[21000, 25000]", G, F),
    ("[37, 43]", "[26000, 33000]", D, F, G),
    ("[41, 46]", "[20000, 30000]", F, G),
    ("[54, 56]", "[31000, 34000]", D, G),
    ("[60, 65]", "[36000, 44000]", G, F),
]


def published(groups):
    rows = [(age, place, value) for age, place, *values in groups for value in values]
    return pl.DataFrame(rows, schema=["age", "zip", "disease"], orient="row")


def people(known):
    return pl.DataFrame([(name, *row) for name, row in known.items()], schema=["name", "age", "zip"], orient="row")


def attack(releases, populations):
    return intersection_attack(
        releases, populations, identifier="name", quasi_identifiers=["age", "zip"], sensitive="disease"
    )


def test_tables_1b_and_2b_give_bob_away_and_tables_1b_and_3a_nobody():
    found = attack([published(TABLE_1B), published(TABLE_2B)], [people(FIRST), people(SECOND)])
    assert found.single_release == (0, 0)
    known = {row["id"]: (row["value"], row["first_known"]) for row in found.disclosed().iter_rows(named=True)}
    # Group 1 of Table 2b covers David too.
    assert known == {"Bob": (D, 2), "David": (G, 2)}
    assert found.vulnerable == 2
    assert found.confidence()["max"] == 1
    safe = attack([published(TABLE_1B), published(TABLE_3A)], [people(FIRST), people(SECOND)])
    assert safe.vulnerable == 0
    assert safe.confidence()["max"] == 1 / 2
    assert safe.to_dict()["candidates"] == {str(size): count for size, count in safe.sizes.items()}
    assert sum(safe.sizes.values()) == safe.people == 16


def test_nobody_is_named_where_nobody_asked():
    found = attack([published(TABLE_1B), published(TABLE_2B)], [people(FIRST), people(SECOND)])
    said = str(found.to_dict()) + repr(found)
    assert not any(word in said for word in (*FIRST, *NEW, D, G, "12000"))


@every("seed", range(30))
def test_the_attack_is_the_definitions(seed):
    rng = np.random.default_rng(seed)
    many = int(rng.integers(2, 90))  # more than 64 values need a second word
    letters = ["a", "b", "c", "d"]
    known = {f"p{i}": (int(rng.integers(0, 12)), letters[rng.integers(0, 4)]) for i in range(40)}
    releases, populations, left = [], [], {}
    for _release in range(3):
        rows, groups = [], []
        for _ in range(8):
            low, high = np.sort(rng.integers(0, 12, 2)).tolist()
            members = sorted({letters[i] for i in rng.integers(0, 4, 2)})
            star = rng.random() < 0.2
            values = tuple({f"v{v}" for v in rng.integers(0, many, 3)})
            cells = ("*" if star else f"[{low}, {high}]", f"{{{', '.join(members)}}}")
            groups.append(Group(extents=(range(12) if star else range(low, high + 1), members), values=values))
            rows += [(*cells, value) for value in values]
        there = [name for name in known if rng.random() < 0.7]
        releases.append(pl.DataFrame(rows, schema=["age", "zip", "disease"], orient="row"))
        populations.append(people({name: known[name] for name in there}))
        for name in there:
            person = Person(quasi_identifiers=known[name], releases=frozenset(), value="")
            candidates = candidate_set(person, groups)
            if candidates:
                left[name] = left.get(name, candidates) & candidates
    found = attack(releases, populations)
    sizes = dict(zip(found.persons["id"], found.persons["candidates"], strict=True))
    assert {name: size for name, size in sizes.items() if size is not None} == {n: len(v) for n, v in left.items()}
    assert found.contradicted == sum(not values for values in left.values())
    disclosed = dict(zip(found.disclosed()["id"], found.disclosed()["value"], strict=True))
    assert disclosed == {name: next(iter(values)) for name, values in left.items() if len(values) == 1}


def test_several_sensitive_attributes_are_taken_alone_and_together():
    release = published(TABLE_1B).with_columns(ward=pl.lit("w"))
    found = intersection_attack(
        [release], [people(FIRST)], identifier="name", quasi_identifiers=["age", "zip"], sensitive=["disease", "ward"]
    )
    assert [one.vulnerable for one in found.each] == [0, 11, 0]
    assert found.vulnerable == 11
    assert found.each[-1].values == ("bronchitis & w", "dyspepsia & w", "flu & w", "gastritis & w")


def test_people_whom_no_group_covers_are_counted():
    found = attack([published(TABLE_1B)], [people({"Bob": (21, 12000), "Zoe": (99, 1)})])
    assert found.not_covered == (1,)
    assert found.people == 1


TREE = Hierarchy.from_rows([(str(age), "young" if age < 30 else "old", "*") for age in range(20, 60)])
CLASSES = pl.DataFrame({"age": ["young", "young", "old", "old"], "disease": [D, D, F, G]})
FOUR = pl.DataFrame({"name": ["Ann", "Bob", "Cid", "Dan"], "age": [21, 25, 31, 59]})


def one_release(release, known=FOUR, **said):
    return intersection_attack(
        [release], [known], identifier="name", quasi_identifiers=["age"], sensitive="disease", **said
    )


@pytest.mark.parametrize("star", [False, True])
def test_names_that_match_nobody_are_not_understood(star):
    release = pl.concat([CLASSES, pl.DataFrame({"age": ["*"], "disease": [B]})]) if star else CLASSES
    with pytest.raises(NotUnderstoodError, match="'age': 4 of 4 people have a value that none of its cells") as caught:
        one_release(release)
    assert caught.value.columns == ("age",)
    assert "hierarchies={'age': ...}" in str(caught.value)
    assert "21" not in str(caught.value)
    assert "young" not in str(caught.value)
    found = one_release(release, hierarchies={"age": TREE})
    assert (found.vulnerable, found.not_covered) == (0 if star else 2, (0,))
    assert found.to_dict()["columns_not_understood"] == []
    told = one_release(release, cells={"age": "values"})
    assert told.not_covered == ((0,) if star else (4,)), "whoever says that they are values gets what that means"


@every(
    ("young", "old"),
    [
        ("20-29", "30-59"),
        ("20..29", "30..59"),
        ("[20, 30[", "[30, 60["),
        ("<30", ">=30"),
        ("20 \u2013 29", "30+"),
        ("{21, 25}", "{31, 59}"),
        ("2*", "*"),
    ],
)
def test_every_form_of_an_interval_is_understood(young, old):
    release = CLASSES.with_columns(pl.col("age").replace({"young": young, "old": old}))
    found = one_release(release)
    assert (found.not_covered, found.people) == ((0,), 4)
    assert found.vulnerable == (0 if old == "*" else 2)


def test_coarsened_values_are_understood_when_somebody_says_so():
    release = CLASSES.with_columns(pl.col("age").replace({"young": "20", "old": "40"}))
    known = FOUR.with_columns(age=pl.Series([20, 29, 30, 45]))
    with pytest.raises(NotUnderstoodError, match="'age': 3 of 4 people"):
        one_release(release, known)
    assert one_release(release, known, cells={"age": shoal.Round(20)}).not_covered == (0,)
    certificate = {"parameters": {"coarsen": {"age": {"coarsening": "round", "to": 20}}}}
    assert one_release(release, known, certificates=[certificate]).vulnerable == 2


def test_intervals_of_numbers_against_names_are_not_understood():
    known = FOUR.with_columns(age=pl.lit("young"))
    release = CLASSES.with_columns(age=pl.lit("[20, 59]"))
    with pytest.raises(NotUnderstoodError, match="its cells are intervals of numbers, and the values of the people"):
        one_release(release, known)


def test_values_that_people_have_need_no_word():
    release = CLASSES.with_columns(age=pl.Series(["21", "25", "31", "59"]))
    assert one_release(release).vulnerable == 4
    stars = CLASSES.with_columns(age=pl.Series(["21", "25", "*", "*"]))
    assert one_release(stars).not_covered == (0,)


def test_bad_input_says_what_to_change():
    release, known = published(TABLE_1B), people(FIRST)
    with pytest.raises(ColumnError, match=r"There is no column 'disease' in release 1\. Did you mean 'diseas'\?"):
        attack([release.rename({"disease": "diseas"})], [known])
    with pytest.raises(ColumnError, match="There is no column 'zip' in the population of release 1"):
        attack([release], [known.drop("zip")])
    with pytest.raises(ParameterError, match=r"one table for each release\. Got 2 for 1"):
        attack([release], [known, known])
    with pytest.raises(DataError, match="has one more than once"):
        attack([release], [pl.concat([known, known])])
    with pytest.raises(DataError, match="nothing to attack"):
        attack([], [])
