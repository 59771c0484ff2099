"""What coarsenings lose before a table is anonymized, next to the definition of the penalty."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.hierarchy import Hierarchy, Level
from shoal.verbs.explore import coarsening_losses

TREE = Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from("abcd")), min_size=2, max_size=30), st.integers(2, 15))
def test_the_penalty_by_its_definition(rows, width):
    ages, names = [age for age, _ in rows], [name for _, name in rows]
    table = pl.DataFrame({"age": ages, "name": names})
    coarsen = {"age": shoal.Bins(width), "name": Level(TREE, 1)}
    found = coarsening_losses(table.select("age", "name"), coarsen)
    span = max(ages) - min(ages)
    bins: dict[int, set[int]] = {}
    nodes: dict[str, set[str]] = {}
    for age, name in rows:
        bins.setdefault(age // width, set()).add(age)
        nodes.setdefault("x" if name in "ab" else "y", set()).add(name)
    of_ages = sum((max(bins[age // width]) - min(bins[age // width])) / span for age in ages) if span else 0
    most = len(set(names)) - 1
    of_names = sum((len(nodes["x" if name in "ab" else "y"]) - 1) / most for name in names) if most else 0
    assert found["age"] <= 1
    assert found["age"] >= of_ages / len(rows) - 1e-9, "a bin is at least as wide as what is in it"
    assert found["name"] == pytest.approx(of_names / len(rows))


def test_what_a_release_says_of_the_same_cells():
    table = pl.DataFrame({"age": [20, 25, 30, 40] * 10, "sex": ["f", "m"] * 20})
    coarsen = {"age": shoal.Bins(20)}
    release = shoal.anonymize(table, quasi_identifiers=["age", "sex"], privacy=shoal.KAnonymity(5), coarsen=coarsen)
    assert dict(release.metrics.ncp) == coarsening_losses(table.select("age", "sex"), coarsen)


def test_columns_are_as_anonymize_has_them():
    table = pl.DataFrame({"born": ["13.02.1990", "14.04.1991", "15.06.1990"], "name": ["x", "y", "z"]})
    coarsen = {"born": shoal.DatePart("year")}
    found = coarsening_losses(table.select("born"), coarsen)
    assert 0 < found["born"] < 1
