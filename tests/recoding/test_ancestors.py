"""Lowest common ancestors against their definition; what becomes of roots, missing values and stars."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every
from tests.oracles import hierarchies as oracles
from tests.oracles import oracles as loss
from tests.oracles.strategies import dense, hierarchy_rows

import shoal
from shoal import metrics
from shoal.errors import ColumnError, DataError, ParameterError
from shoal.hierarchy import Hierarchy
from shoal.recoding import STAR_LEVEL, RecodedColumn, publish_frame, recode
from shoal.table import Schema, Table, encode

SECRET = "Zyzzyva"
SCHOOL = Hierarchy.from_rows(
    [
        ("9th", "school", "lower", "*"),
        ("10th", "school", "lower", "*"),
        ("bachelor", "college", "higher", "*"),
        ("master", "college", "higher", "*"),
        ("doctor", "doctor", "higher", "*"),
        ("none", "none", "lower", "*"),
    ]
)


def table_of(values: list[Any]) -> Table:
    frame = pl.DataFrame({"a": pl.Series(values), "s": [0] * len(values)})
    return encode(frame, Schema(quasi_identifiers=("a",), sensitive=("s",)))


def generalized(values: list[Any], groups: list[int], tree: Hierarchy = SCHOOL, **options: Any) -> RecodedColumn:
    codes = np.array(groups, dtype=np.int32)
    found = recode(
        table_of(values), codes, max(groups) + 1, method="generalization", hierarchies={"a": tree}, **options
    )
    return found.columns[0]


def cells(column: RecodedColumn) -> list[Any]:
    return column.labels.gather(column.group_codes.tolist()).to_list()


def test_values_become_their_lowest_common_ancestor() -> None:
    values = ["9th", "10th", "master", "doctor", "9th", "doctor", "master", "master", "bachelor", "master"]
    column = generalized(values, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    assert cells(column) == ["school", "higher", "*", "master", "college"]
    # Five of the six values occur.
    assert column.penalty.tolist() == [1 / 4, 2 / 4, 1.0, 0.0, 1 / 4]
    assert column.stars.tolist() == [False, False, True, False, False]
    assert column.kept.tolist() == [False, False, False, True, False]
    assert column.levels is not None
    assert column.levels.tolist() == [1, 2, 3, 0, 1]
    assert column.height == 3
    # In the order of the first values: 10th, 9th, bachelor, doctor, master.
    assert column.labels.to_list() == ["school", "college", "higher", "master", "*"]
    assert column.sub_domains.sizes.tolist() == [2, 2, 3, 1, 5]


def test_a_node_over_all_values_that_occur_is_no_root() -> None:
    column = generalized(["master", "doctor", "bachelor", "master"], [0, 0, 1, 1])
    assert cells(column) == ["higher", "college"]
    assert column.penalty.tolist() == [1.0, 0.5]
    assert not column.stars.any()


def test_a_root_by_any_name_reads_as_a_star() -> None:
    tree = Hierarchy.from_rows([("a", "x", "any", "any"), ("b", "y", "any", "any"), ("c", "y", "any", "any")])
    assert cells(generalized(["a", "b", "b", "c"], [0, 0, 1, 1], tree)) == ["*", "y"]
    assert generalized(["a", "b", "b", "c"], [0, 0, 1, 1], tree).levels.tolist() == [3, 1]  # type: ignore[union-attr]


def test_missing_values() -> None:
    column = generalized(["9th", None, None, None, "9th", "10th", "none"], [0, 0, 1, 1, 2, 2, 3])
    assert cells(column) == ["*", None, "school", "none"]
    assert column.penalty.tolist() == [1.0, 0.0, 0.5, 0.0]
    assert column.labels.to_list() == ["school", "none", None, "*"]
    assert column.sub_domains.sizes.tolist() == [2, 1, 1, 4]


def test_the_line_of_a_missing_value_is_used() -> None:
    tree = Hierarchy.from_rows([("a", "told", "*"), ("b", "told", "*"), ("", "not told", "*"), ("-", "not told", "*")])
    column = generalized([None, "-", None, None, "a", "b", "a", None], [0, 0, 1, 1, 2, 2, 3, 3], tree)
    assert cells(column) == ["not told", None, "told", "*"]
    assert column.penalty.tolist() == pytest.approx([1 / 3, 0, 1 / 3, 1])
    assert column.sub_domains.sizes.tolist() == [2, 2, 1, 4]
    asked = np.array([[0], [1], [0], [0]], dtype=np.int32)
    raised = generalized([None, "-", None, None, "a", "b", "a", None], [0, 0, 1, 1, 2, 2, 3, 3], tree, least=asked)
    assert cells(raised) == ["not told", "not told", "told", "*"]


def test_a_column_without_a_value_stays_missing_or_becomes_stars() -> None:
    column = generalized([None, None, None], [0, 0, 1])
    assert cells(column) == [None, None]
    assert column.penalty.tolist() == [0.0, 0.0]
    asked = np.array([[0], [STAR_LEVEL]], dtype=np.int32)
    assert cells(generalized([None, None, None], [0, 0, 1], least=asked)) == [None, "*"]
    raised = np.array([[0], [1]], dtype=np.int32)
    assert cells(generalized([None, None, None], [0, 0, 1], least=raised)) == [None, None]


def test_numbers_find_their_names() -> None:
    tree = Hierarchy.from_rows([(str(age), f"{age // 10 * 10}s", "*") for age in range(100)])
    column = generalized([21, 25, 31, 39, 40, 40], [0, 0, 1, 1, 2, 2], tree)
    assert cells(column) == ["20s", "30s", "40"]


def test_a_star_that_is_the_name_of_a_node_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"name of a node in the hierarchy of 'a'.*the 'star' parameter"):
        generalized(["9th", "10th", "master"], [0, 0, 1], star="school")
    with pytest.raises(ParameterError, match="value of the column 'a'"):
        generalized(["9th", "10th", "master"], [0, 0, 1], star="9th")


def test_where_nothing_is_recoded_the_column_keeps_its_type() -> None:
    tree = Hierarchy.from_rows([("1", "*"), ("2", "*")])
    assert generalized([1, 1, 2], [0, 0, 1], tree).labels.dtype == pl.Int64


def test_a_hierarchy_must_have_every_value_and_its_method() -> None:
    with pytest.raises(DataError, match="misses 1 of the 2 values of the column 'a'") as caught:
        generalized(["9th", SECRET], [0, 0])
    assert SECRET not in str(caught.value)
    with pytest.raises(ParameterError, match="recoding='generalization'"):
        recode(table_of(["9th"]), np.zeros(1, dtype=np.int32), 1, hierarchies={"a": SCHOOL})


@settings(max_examples=300, deadline=None)
@given(
    data=st.data(),
    paths=st.integers(1, 9).flatmap(lambda leaves: hierarchy_rows([f"value {leaf}" for leaf in range(leaves)])),
)
def test_agrees_with_the_definitions(data: st.DataObject, paths: list[list[str]]) -> None:
    by_value: dict[Any, list[str]] = {path[0]: path for path in paths}
    drawn = st.sampled_from([*by_value, None])
    values = data.draw(st.lists(drawn, min_size=1, max_size=14).filter(any))
    groups = dense(data.draw(st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values))))
    table, codes = table_of(values), np.array(groups, dtype=np.int32)
    options: dict[str, Any] = {"method": "generalization", "hierarchies": {"a": Hierarchy.from_rows(paths)}}
    count = max(groups) + 1
    asked = data.draw(st.lists(st.sampled_from([0, 0, 1, 2, 3, STAR_LEVEL]), min_size=count, max_size=count))
    least = np.array(asked, dtype=np.int32).reshape(-1, 1)
    recoding = recode(table, codes, count, least=least, **options)
    (column,) = recoding.columns
    occur = [by_value[value] for value in dict.fromkeys(values) if value is not None]
    domain, height = table.quasi_identifiers[0].dictionary.to_list(), len(paths[0]) - 1
    expected: list[tuple[Any, int]] = []
    for group in range(max(groups) + 1):
        members = [by_value.get(value) for value, of in zip(values, groups, strict=True) if of == group]
        expected.append(oracles.common_ancestor(members, paths, asked[group]))
    assert cells(column) == [label for label, _ in expected]
    covered, penalties = [], []
    for group, (label, level) in enumerate(expected):
        if label is None:
            covered.append({None})
        elif label == oracles.STAR:
            covered.append(set(domain))
        else:
            covered.append(oracles.leaves_below(label, level, occur))
        first, last = (int(column.sub_domains.starts[column.group_codes[group] + one]) for one in (0, 1))
        runs = [(int(column.sub_domains.first[r]), int(column.sub_domains.last[r])) for r in range(first, last)]
        assert {domain[code] for low, high in runs for code in range(low, high + 1)} == covered[-1]
        assert all(high + 1 < low for (_, high), (low, _) in pairwise(runs))
        penalties.append(1 if label == oracles.STAR else (len(covered[-1]) - 1) / max(len(occur) - 1, 1))
    assert column.penalty.tolist() == pytest.approx(penalties)
    assert column.stars.tolist() == [label == oracles.STAR for label, _ in expected]
    assert column.labels.n_unique() == len(column.labels) == len(set(column.group_codes.tolist())) or column.kept.all()
    steps = [[oracles.Fraction(expected[group][1], height)] for group in groups]
    assert metrics.precision(recoding) == pytest.approx(float(oracles.precision(steps)))
    slow = oracles.non_uniform_entropy(values, [covered[group] for group in groups])
    assert metrics.non_uniform_entropy(table, recoding) == pytest.approx(slow)
    release = [[loss.STAR if expected[group][0] == oracles.STAR else frozenset(covered[group])] for group in groups]
    divergence = metrics.kl_divergence(table, recoding, codes).value
    assert divergence == pytest.approx(
        loss.kl_divergence([(value,) for value in values], [0] * len(values), release, [domain]), abs=1e-9
    )
    frame, rows = publish_frame(table, recoding, codes, compact=True)
    assert frame["a"].cast(pl.String).to_list() == [expected[groups[row]][0] for row in rows]


@pytest.mark.parametrize("algorithm", ["mondrian", "hilbert"])
def test_a_release_with_hierarchies(tmp_path: Any, algorithm: str) -> None:
    SCHOOL.to_csv(tmp_path / "school.csv")
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "school": rng.choice(SCHOOL.values, 300),
            "age": rng.integers(20, 60, 300),
            "disease": rng.choice(["a", "b", "c", "d"], 300),
        }
    )
    asked: dict[str, Any] = {
        "quasi_identifiers": ["school", "age"],
        "sensitive": "disease",
        "privacy": [shoal.LDiversity(2), shoal.KAnonymity(5)],
        "algorithm": algorithm,
        "recoding": "generalization",
        "seed": 1,
    }
    release = shoal.anonymize(table, hierarchies={"school": tmp_path / "school.csv"}, **asked)
    names = {name for level in SCHOOL.labels for name in level}
    assert set(release.data["school"]) <= names
    assert set(release.data["school"]) - set(SCHOOL.values) - {"*"}
    cost = release.certificate.cost
    assert cost.bound.stars <= cost.recoded_cells
    assert release.certificate.parameters["hierarchies"] == {"school": {"values": 6, "height": 3, "automatic": False}}
    figures = release.metrics.by_attribute["school"]
    assert 0 < figures["ncp"] < 1
    assert 0 < figures["precision"] < 1
    assert 0 < figures["non_uniform_entropy"] < 1
    release.save(tmp_path / "out")


@every(
    ("hierarchies", "options", "error", "message"),
    [
        ({"school": SCHOOL}, {"recoding": "suppression"}, ParameterError, "need recoding='generalization'"),
        ({"schol": SCHOOL}, {}, ColumnError, "not a quasi-identifier. Did you mean 'school'"),
        ({"school": 3}, {}, ParameterError, "hierarchy of 'school' must be a Hierarchy or a path to its file. Got int"),
        ([SCHOOL], {}, ParameterError, "must map names of columns to hierarchies. Got list"),
        ({"school": "none.csv"}, {}, DataError, "'none.csv' cannot be read"),
        ({"school": Hierarchy.from_rows([("9th", "*")])}, {}, DataError, "misses 1 of the 2 values of the column"),
    ],
)
def test_hierarchies_that_cannot_be_used(hierarchies: Any, options: Any, error: Any, message: str) -> None:
    table = pl.DataFrame({"school": ["9th", SECRET], "disease": ["a", "b"]})
    asked: dict[str, Any] = {"quasi_identifiers": ["school"], "sensitive": "disease", "privacy": shoal.KAnonymity(2)}
    with pytest.raises(error, match=message) as caught:
        shoal.anonymize(table, hierarchies=hierarchies, **asked, **{"recoding": "generalization", **options})
    assert SECRET not in str(caught.value)
