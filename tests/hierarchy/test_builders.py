"""Hierarchies that are made from a column: trees over all of its values, the same whatever the order of its rows."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every, few

import shoal
from shoal.errors import DataError, ParameterError
from shoal.hierarchy import (
    Hierarchy,
    automatic_hierarchy,
    co_occurrence_hierarchy,
    cut_hierarchy,
    date_hierarchy,
    frequency_hierarchy,
    interval_hierarchy,
    prefix_hierarchy,
    quantile_hierarchy,
)

SECRET = "Zyzzyva"


@every(
    ("tree", "rows"),
    [
        (
            interval_hierarchy([5, None, 25], 10),
            [("5", "[0, 10)", "[0, 20)", "*"), ("25", "[20, 30)", "[20, 40)", "*")],
        ),
        (interval_hierarchy([-1, 1], 10), [("-1", "*"), ("1", "*")]),
        (interval_hierarchy(["0.5"], 1), [("0.5", "*")]),
        (cut_hierarchy([1, 20], [18]), [("1", "<18", "*"), ("20", ">=18", "*")]),
        (quantile_hierarchy([7, 7, 7], 4), [("7", "*")]),
        (quantile_hierarchy(["7", "7.0", "8"], 4), [("7", "<8", "*"), ("7.0", "<8", "*"), ("8", ">=8", "*")]),
        (interval_hierarchy(["7", "7.0"], 2), [("7", "*"), ("7.0", "*")]),
        (prefix_hierarchy([12, 34]), [("12", "1*", "*"), ("34", "3*", "*")]),
        (
            date_hierarchy(["31.12.2019", "1.1.2020"], format="%d.%m.%Y"),
            [("1.1.2020", "2020-01", "2020-Q1", "2020", "*"), ("31.12.2019", "2019-12", "2019-Q4", "2019", "*")],
        ),
        (frequency_hierarchy(["a", "a", "b"]), [("a", "*"), ("b", "*")]),
        (
            frequency_hierarchy(["a", "a", "b", "c, d", None]),
            [("a", "a", "*"), ("b", '{b, "c, d"}', "*"), ("c, d", '{b, "c, d"}', "*")],
        ),
    ],
)
def test_small_trees(tree, rows):
    assert tree.rows() == rows


numbers = st.lists(st.integers(-300, 300), min_size=1, max_size=25)
names = st.lists(st.sampled_from("abcdefghijk"), min_size=1, max_size=40)


def check(tree, values, build, directory):
    """Check that a tree has exactly the values, survives a file, and does not depend on the order of rows."""
    assert sorted(tree.values) == sorted({str(value) for value in values})
    assert tree.labels[-1] == ("*",)
    tree.to_csv(directory / "tree.csv")
    assert Hierarchy.from_csv(directory / "tree.csv", delimiter=";").rows() == tree.rows()
    assert build(values[::-1]).rows() == tree.rows()
    assert build([*values, None]).rows() == tree.rows()


@settings(max_examples=60, deadline=None)
@given(values=numbers, width=st.sampled_from([1, 5, 7]), start=st.integers(-20, 20), factor=st.integers(2, 4))
def test_intervals_of_every_level_hold_their_values(values, width, start, factor, tmp_path_factory):
    def build(column):
        return interval_hierarchy(column, width, start=start, factor=factor)

    tree = build(values)
    check(tree, values, build, tmp_path_factory.mktemp("tree"))
    for value, *nodes, _ in tree.rows():
        for level, node in enumerate(nodes):
            low, high = map(Fraction, node[1:-1].split(", "))
            assert low <= int(value) < high
            assert high - low == width * factor**level


@settings(max_examples=60, deadline=None)
@given(values=numbers, bins=st.integers(2, 9))
def test_quantiles_are_joined_in_runs(values, bins, tmp_path_factory):
    def build(column):
        return quantile_hierarchy(column, bins)

    tree = build(values)
    check(tree, values, build, tmp_path_factory.mktemp("tree"))
    ordered = sorted(tree.rows(), key=lambda row: int(row[0]))
    assert len(tree.labels[1]) <= bins
    for level in range(1, tree.height):
        found = [row[level] for row in ordered]
        assert sum(one != other for one, other in pairwise(found)) + 1 == len(set(found))
        if level > 1:
            assert len(tree.labels[level]) == -(-len(tree.labels[level - 1]) // 2)


@settings(max_examples=60, deadline=None)
@given(values=names)
def test_the_rarest_are_joined(values, tmp_path_factory):
    tree = frequency_hierarchy(values)
    check(tree, values, frequency_hierarchy, tmp_path_factory.mktemp("tree"))
    counts = Counter(values)
    if tree.height > 1:
        order = sorted(counts, key=lambda value: (counts[value], value))
        parent = {row[0]: row[1] for row in tree.rows()}
        for place in range(0, len(order) - 1, 2):
            assert parent[order[place]] == parent[order[place + 1]]


def cost(one, other):
    """Return what joining two counters loses, as the definition reads: records times divergence."""
    both = one + other
    total = sum(both.values())
    loss = 0.0
    for part in (one, other):
        size = sum(part.values())
        loss += sum(n / total * math.log2((n / size) / (both[value] / total)) for value, n in part.items())
    return total * loss


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz")), min_size=1, max_size=40))
def test_the_cheapest_pair_is_joined(rows):
    values, sensitive = zip(*rows, strict=True)
    tree = co_occurrence_hierarchy(values, sensitive)
    assert tree.rows() == co_occurrence_hierarchy(values[::-1], sensitive[::-1]).rows()
    assert sorted(tree.values) == sorted(set(values))
    if tree.height > 1:
        said = {value: Counter(s for v, s in rows if v == value) for value in set(values)}
        parent = {row[0]: row[1] for row in tree.rows()}
        every = {pair: cost(said[pair[0]], said[pair[1]]) for pair in combinations(sorted(said), 2)}
        joined = [pair for pair in every if parent[pair[0]] == parent[pair[1]]]
        assert min(every[pair] for pair in joined) == pytest.approx(min(every.values()), abs=1e-8)
        assert len(joined) == len(said) // 2


def test_what_fits_is_found():
    assert automatic_hierarchy(list(range(100))).height == 5
    assert automatic_hierarchy(["2020-01-01", "2020-05-01"]).labels[3] == ("2020",)
    assert automatic_hierarchy(["a", "b", "c", "d"], ["x", "y", "x", "y"]).labels[1] == ("{a, c}", "{b, d}")
    assert automatic_hierarchy(["a", "b", "c", "d"]).labels[1] == ("{a, b}", "{c, d}")


def test_values_that_read_like_nodes():
    tree = frequency_hierarchy(["a", "b", "{a, b}", "c", "*"])
    assert tree.values == ("*", "a", "b", "c", "{a, b}")
    assert len(tree.labels[-1]) == 1
    assert tree.labels[-1] != ("*",)
    tree = automatic_hierarchy(["a"] * 3 + ["b"] * 5 + ["{a, b}"] * 9 + ["c"] * 9)
    assert tree.labels[1] == ("node {a, b}", '{c, "{a, b}"}')
    frame = pl.DataFrame({"q": ["a", "b", "{a, b}", "c"] * 4, "s": ["x", "y"] * 8})
    request = {"quasi_identifiers": ["q"], "sensitive": "s", "recoding": "generalization", "algorithm": "tds"}
    assert shoal.anonymize(frame, privacy=shoal.KAnonymity(5), **request).certificate.achieved["k"] >= 5


def test_many_values_have_short_names():
    tree = co_occurrence_hierarchy([f"name {row}" for row in range(1500)], [row % 7 for row in range(1500)])
    assert max(len(name) for level in tree.labels for name in level) < 600
    assert tree.labels[-2] == (f"level {tree.height - 1}, node 1", f"level {tree.height - 1}, node 2")


@every(
    ("make", "error", "message"),
    [
        (lambda: interval_hierarchy([1], 0), ParameterError, "'width' parameter of interval_hierarchy"),
        (lambda: interval_hierarchy([SECRET], 1), DataError, "needs numbers"),
        (lambda: interval_hierarchy([None], 1), DataError, "a column with a value"),
        (lambda: cut_hierarchy([1]), ParameterError, "cuts of one level or more"),
        (lambda: cut_hierarchy([1], [3, 2]), ParameterError, "must ascend"),
        (lambda: cut_hierarchy([1], [1, 2], [3]), ParameterError, "level 2 .* a proper subset of the cuts"),
        (lambda: quantile_hierarchy([1], 1), ParameterError, "'bins' parameter"),
        (lambda: prefix_hierarchy([1, 22]), DataError, "leading zeros"),
        (lambda: date_hierarchy(["2020-01-01", SECRET]), DataError, "row 2"),
        (lambda: co_occurrence_hierarchy(["a"], []), ParameterError, "as many values"),
        (lambda: co_occurrence_hierarchy(["a"], [None]), DataError, "sensitive values"),
    ],
)
def test_what_no_hierarchy_is_made_of(make, error, message):
    with pytest.raises(error, match=message) as caught:
        make()
    assert SECRET not in str(caught.value)


def test_a_release_with_hierarchies_that_were_made():
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {"age": rng.integers(20, 60, 200), "town": rng.choice(list("abcdef"), 200), "s": rng.choice(list("xyz"), 200)}
    )
    release = shoal.anonymize(
        table,
        quasi_identifiers=["age", "town"],
        sensitive="s",
        privacy=shoal.KAnonymity(5),
        recoding="generalization",
        hierarchies={
            "age": quantile_hierarchy(table["age"], 8),
            "town": co_occurrence_hierarchy(table["town"], table["s"]),
        },
        seed=1,
    )
    assert release.certificate.achieved["k"] >= 5
    assert set(release.certificate.parameters["hierarchies"]) == {"age", "town"}


def test_nodes_have_at_most_the_largest_set(tmp_path):
    rng = random.Random(5)
    for _ in range(few(200)):
        values = [rng.choice("abcdefghijklmnopqrst") for _ in range(rng.randrange(3, 60))]
        sensitive = [rng.choice("xyz") for _ in values]
        largest, lone = rng.randrange(1, 9), rng.random() < 0.5
        for tree in (
            frequency_hierarchy(values, lone=lone, largest=largest),
            co_occurrence_hierarchy(values, sensitive, lone=lone, largest=largest),
        ):
            sizes = [max(Counter(level).values()) for level in list(zip(*tree.rows(), strict=True))[:-1]]
            assert max(sizes) <= largest
            if tree.height > 1:  # no two nodes are left that fit in one
                last = sorted(Counter(list(zip(*tree.rows(), strict=True))[-2]).values())
                assert len(last) <= 2 or last[0] + last[-1] > largest or len(set(last)) > 1
    table = pl.DataFrame({"job": list("abcdefgh") * 4, "disease": ["flu", "cold", "flu", "HIV"] * 8})
    roles = {"quasi_identifiers": "job", "sensitive": "disease", "k": 9, "recoding": "generalization"}
    for algorithm in ("full-domain", "tds", "cluster"):
        for largest in (1, 3, 16):
            release = shoal.anonymize(table, algorithm=algorithm, largest_set=largest, **roles)
            assert all(cell == "*" or cell.count(",") < largest for cell in release.data["job"])
