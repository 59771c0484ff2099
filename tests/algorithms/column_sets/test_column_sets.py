"""Sets of quasi-identifiers against brute force, and the models of each set against their definition."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

import polars as pl
import pytest
from tests.algorithms.conftest import make_problem
from tests.every import every, few
from tests.oracles.column_sets import fewest_stars, is_safe
from tests.oracles.oracles import predicate_of

import shoal
from shoal.algorithms.bounds import lower_bound_of_sets
from shoal.algorithms.column_sets import SetSuppression
from shoal.errors import ColumnError, ParameterError, UnsupportedError
from shoal.models.column_sets import ColumnSet
from shoal.models.counting import Records
from shoal.models.requirement import Requirement


def published_cells(release: shoal.Release, names: list[str]) -> list[tuple[object, ...]]:
    return release.data.select(names).rows()


@every("block", range(6))
def test_small_tables_against_brute_force(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """50 tables each: the release is safe by definition and has the fewest stars; so is the search without a solver."""
    random, searched = Random(block), []
    for _ in range(few(50, least=12)):
        d, n = random.choice([(2, 4), (2, 5), (3, 4)])
        names = [f"q{a}" for a in range(d)]
        rows = [[random.choice("abc"[: random.choice([2, 3])]) for _ in names] for _ in range(n)]
        table = pl.DataFrame(rows, schema=names, orient="row")
        k = random.choice([2, 2, 3])
        size = random.randrange(1, d + 1)
        sets = dict.fromkeys(combinations(range(d), size), k)
        named = []
        if random.random() < 0.3:
            own = random.choice([2, 4])
            sets[tuple(range(d))] = max(own, sets.get(tuple(range(d)), 0))
            named = [f"{','.join(names)}:{own}"]
        asked = {"k": k, "knows": size, "qi_sets": named, "recoding": "suppression", "seed": random.randrange(9)}
        release = shoal.anonymize(table, quasi_identifiers=names, **asked)
        assert is_safe(published_cells(release, names), sets)
        cost = release.certificate.cost
        best = fewest_stars(rows, sets)
        assert cost.bound.stars == best == cost.stars
        # The bound without a solver, and the search without one.
        problem = make_problem([list(column) for column in zip(*rows, strict=True)], [], shoal.KAnonymity(k))
        known = [ColumnSet(columns=tuple(names[a] for a in columns), k=least) for columns, least in sets.items()]
        requirement = Requirement.of(shoal.KAnonymity(k), (), Records(sets=known))
        assert lower_bound_of_sets(problem.table, requirement, target=cost.stars).stars <= best
        with monkeypatch.context() as patch:
            patch.setattr("shoal.algorithms.column_sets.column_sets.is_small", lambda *_: False)
            found = SetSuppression().partition(replace(problem, requirement=requirement))
        assert found.least is not None
        starred = found.least[found.groups] > 0
        assert is_safe(
            [
                [("*" if star else value) for star, value in zip(*one, strict=True)]
                for one in zip(starred.tolist(), rows, strict=True)
            ],
            sets,
        )
        searched.append(int(starred.sum()) - best)
    # The search misses the optimum by less than a star a table.
    assert sum(searched) <= 40


@pytest.mark.drawn
@pytest.mark.parametrize(
    "model", [shoal.LDiversity(2), shoal.LDiversity(2, variant="distinct"), shoal.TCloseness(0.4), shoal.KAnonymity(3)]
)
def test_every_set_satisfies_a_model(model: shoal.models.GroupModel) -> None:
    random = Random(1)
    names = ["q0", "q1", "q2"]
    for _ in range(few(8)):
        rows = [[random.choice("abcd") for _ in names] + ["xyz"[row % 3]] for row in range(40)]
        table = pl.DataFrame(rows, schema=[*names, "s"], orient="row")
        asked = {"sensitive": "s", "privacy": model, "recoding": "suppression", "seed": 1}
        release = shoal.anonymize(table, quasi_identifiers=names, knows=2, **asked)
        accepted = predicate_of(model, table["s"].to_list())
        for known in combinations(names, 2):
            for _, group in release.data.group_by(known):
                assert accepted(group["s"].to_list())
        assert release.certificate.cost.bound.stars <= release.certificate.cost.stars


def test_a_table_that_is_safe_is_published_as_it_is() -> None:
    table = pl.DataFrame({"a": ["x", "x", "y", "y"] * 2, "b": ["u", "v"] * 4})
    release = shoal.anonymize(table, quasi_identifiers=["a", "b"], k=2, knows=1)
    assert release.certificate.cost.stars == 0
    assert release.certificate.cost.optimal


def test_persons_are_counted_in_every_set() -> None:
    random = Random(2)
    rows = [(random.choice("abc"), random.choice("uv"), random.choice("pq"), person % 12) for person in range(60)]
    table = pl.DataFrame(rows, schema=["a", "b", "c", "who"], orient="row")
    release = shoal.anonymize(table, quasi_identifiers=["a", "b", "c"], person="who", k=4, knows=2, seed=1)
    assert release.owners is not None
    shown = release.data.with_columns(release.owners.to_series().alias("who"))
    for known in combinations("abc", 2):
        for _, group in shown.group_by(known):
            most = max(Counter(group["who"].to_list()).values())
            assert 4 * most <= group.height
    # With l alone, and a k of persons for one set.
    table = pl.DataFrame({"id": [1, 2, 3, 4], "a": list("xxyy"), "b": list("uuvv"), "ill": ["flu", "hiv"] * 2})
    sets: dict[str, Any] = {"qi_sets": ["a", "a,b:2"], "person": "id", "sensitive": ["ill"], "l": 2}
    release = shoal.anonymize(table, **sets, seed=1)
    asked = [{**one, "columns": tuple(one["columns"])} for one in release.certificate.requested]
    assert [(one["model"], one["columns"]) for one in asked] == [
        ("l-diversity", ("a",)),
        ("k-anonymity", ("a", "b")),
        ("l-diversity", ("a", "b")),
    ]
    assert release.metrics.stars == 0


TABLE = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 1, 2, 2], "c": [1, 1, 2, 2]})


@every(
    ("options", "error", "words"),
    [
        ({"knows": 4}, ParameterError, "cannot know 4 of 3"),
        ({"qi_sets": ["a,b"]}, ColumnError, "'c': in no set"),
        ({"qi_sets": ["a,d"]}, ColumnError, "'d' of a set"),
        ({"knows": 2, "algorithm": "mondrian"}, UnsupportedError, "need algorithm='auto'"),
        ({"knows": 2, "suppression_limit": 0.1}, UnsupportedError, "stars in single cells"),
        ({"knows": 2, "engine": "stream"}, ParameterError, "whole table in memory"),
        ({"knows": 2, "privacy": shoal.AverageRisk(0.5)}, UnsupportedError, "release as a whole"),
    ],
)
def test_what_sets_cannot_do_is_refused(options: dict[str, object], error: type[Exception], words: str) -> None:
    request = {"quasi_identifiers": ["a", "b", "c"], "k": 2, **options}
    with pytest.raises(error, match=words):
        shoal.anonymize(TABLE.lazy() if "engine" in options else TABLE, **request)


def test_sets_name_the_quasi_identifiers() -> None:
    request = shoal.Request(quasi_identifiers=["a", "b", "c"], k=2, qi_sets=[["a", "b"], "b,c:3"])
    assert request.qi_sets == ("a,b", "b,c:3")
    assert [one.k for one in request.counting.sets] == [None, 3]
    release = shoal.anonymize(TABLE, k=2, qi_sets=["a,b", "c"])
    assert release.certificate.input["quasi_identifiers"] == ["a", "b", "c"]
    assert release.certificate.requested[0] == {"model": "k-anonymity", "k": 2, "columns": ["a", "b"]}


def test_rows_of_large_classes_help_others_one_by_one() -> None:
    """A row that is alone needs a star, and a star of one of the 40 rows that differ in a cell, not of all of them."""
    table = pl.DataFrame({"a": ["x"] * 40 + ["y"] * 41, "b": ["u"] * 80 + ["v"]})
    stars_only = {"recoding": "suppression", "seed": 1}
    release = shoal.anonymize(table, quasi_identifiers=["a", "b"], k=2, knows=2, **stars_only)
    assert release.certificate.cost.stars == 2
    # All columns as one set take no more stars than the default algorithm for all of them.
    random = Random(6)
    rows = [[random.choice("aaaaab"), random.choice("uuuv"), random.choice("ppppqr")] for _ in range(300)]
    table = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
    stars = [
        shoal.anonymize(table, quasi_identifiers=table.columns, k=5, **stars_only, **sets).certificate.cost.stars
        for sets in ({}, {"knows": 3})
    ]
    assert stars[1] <= stars[0]
