from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import oracles
from tests.oracles.coarsening import in_original_values
from tests.oracles.strategies import dense

import shoal
from shoal.errors import InternalError
from shoal.hierarchy import Hierarchy
from shoal.metrics import gcp, kl_divergence, non_uniform_entropy, precision
from shoal.recoding import compose, recode
from shoal.table import Column, Schema, Table, encode

NAMES = ("a", "b", "c")


def table_of(columns: list[list[Any]], values: list[Any], ordered: bool) -> Table:
    names = NAMES[: len(columns)]
    frame = pl.DataFrame(dict(zip([*names, "s"], [*columns, values], strict=True)), strict=False)
    table = encode(frame, Schema(quasi_identifiers=names, sensitive=("s",)))
    return replace(table, quasi_identifiers=tuple(replace(one, ordered=ordered) for one in table.quasi_identifiers))


def published(recoding: Any, groups: list[int], domains: list[list[Any]]) -> list[tuple[Any, ...]]:
    """Return what each row publishes in values of the recoded table, as oracles take it."""
    cells = []
    for column, values in zip(recoding.columns, domains, strict=True):
        told = column.sub_domains
        of_label = []
        for label in range(len(column.labels)):
            runs = range(int(told.starts[label]), int(told.starts[label + 1]))
            codes = [code for run in runs for code in range(int(told.first[run]), int(told.last[run]) + 1)]
            of_label.append(frozenset(values[code] for code in codes))
        stars = column.stars
        cells.append([oracles.STAR if stars[g] else of_label[int(column.group_codes[g])] for g in groups])
    return list(zip(*cells, strict=True))


def penalty(cell: Any, domain: list[Any], ordered: bool) -> Any:
    """Return the penalty of a cell: an interval's where the column is ordered and the cell is a run of its values."""
    if cell is oracles.STAR or not ordered or None in cell:
        return oracles.ncp([(cell,)], [domain])
    present = [value for value in domain if value is not None and min(cell) <= value <= max(cell)]
    if len(present) > len(cell):
        return oracles.ncp([(cell,)], [domain])
    return oracles.ncp([(oracles.Interval(min(cell), max(cell)),)], [domain]) if len(cell) > 1 else 0


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    n, d = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    rows = [draw(st.lists(st.one_of(st.integers(0, 6), st.none()), min_size=n, max_size=n)) for _ in range(d)]
    # A coarsening: monotone (bins), any function of the value, or one that looks at other columns, too.
    coarse = []
    for column in rows:
        kind = draw(st.sampled_from(["none", "bins", "function", "together"]))
        width = draw(st.integers(2, 4))
        image = draw(st.lists(st.integers(0, 3), min_size=7, max_size=7))
        coarse.append(
            [
                None
                if value is None
                else {"none": value, "bins": value // width, "function": image[value], "together": row % width}[kind]
                for row, value in enumerate(column)
            ]
        )
    return {
        "rows": rows,
        "coarse": coarse,
        "values": draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)),
        "groups": dense(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))),
        "ordered": draw(st.booleans()),
        "method": draw(st.sampled_from(["suppression", "generalization"])),
    }


@settings(max_examples=300, deadline=None)
@given(cases())
def test_losses_are_those_of_the_definition_on_the_original_table(case: dict[str, Any]) -> None:
    original = table_of(case["rows"], case["values"], case["ordered"])
    coarse = table_of(case["coarse"], case["values"], case["ordered"])
    groups = np.array(case["groups"], dtype=np.int32)
    recoding = recode(coarse, groups, int(groups.max()) + 1, method=case["method"])
    composed = compose(original, coarse, recoding)
    domains = [column.dictionary.to_list() for column in coarse.quasi_identifiers]
    told = in_original_values(
        list(zip(*case["rows"], strict=True)),
        list(zip(*case["coarse"], strict=True)),
        published(recoding, case["groups"], domains),
        domains,
    )
    rows = list(zip(*case["rows"], strict=True))
    values = [column.dictionary.to_list() for column in original.quasi_identifiers]
    slow = oracles.kl_divergence(rows, case["values"], told, values)
    assert kl_divergence(original, composed, groups).value == pytest.approx(slow, abs=1e-12)
    cells = [penalty(cell, domain, case["ordered"]) for row in told for cell, domain in zip(row, values, strict=True)]
    assert gcp(composed) == pytest.approx(float(sum(cells) / len(cells)), abs=1e-12)
    assert composed.stars == recoding.stars
    kept = [cell is not oracles.STAR and len(cell) == 1 for row in told for cell in row]
    assert composed.recoded_cells == kept.count(False)
    assert 0 <= non_uniform_entropy(original, composed) <= 1
    assert 0 <= precision(composed) <= 1


@settings(max_examples=100, deadline=None)
@given(cases())
def test_without_a_coarsening_nothing_changes(case: dict[str, Any]) -> None:
    table = table_of(case["rows"], case["values"], case["ordered"])
    again = table_of(case["rows"], case["values"], case["ordered"])
    groups = np.array(case["groups"], dtype=np.int32)
    recoding = recode(table, groups, int(groups.max()) + 1, method=case["method"])
    assert compose(table, table, recoding).columns == recoding.columns
    composed = compose(table, again, recoding)
    for before, after in zip(recoding.columns, composed.columns, strict=True):
        assert np.array_equal(before.kept, after.kept)
        assert np.allclose(before.penalty, after.penalty)
        assert before.sub_domains.sizes.tolist() == after.sub_domains.sizes.tolist()


def test_nodes_of_a_hierarchy_count_original_values() -> None:
    tree = Hierarchy.from_rows([("x", "p", "*"), ("y", "p", "*"), ("z", "q", "*")])
    original = table_of([["x1", "x2", "y", "z"]], [0, 1, 0, 1], ordered=False)
    coarse = table_of([["x", "x", "y", "z"]], [0, 1, 0, 1], ordered=False)
    groups = np.array([0, 1, 0, 1], dtype=np.int32)
    recoding = recode(coarse, groups, 2, method="generalization", hierarchies={"a": tree})
    composed = compose(original, coarse, recoding)
    assert composed.columns[0].penalty.tolist() == [2 / 3, 1.0]
    assert composed.columns[0].kept.tolist() == [False, False]
    assert composed.columns[0].levels is None


def test_a_kept_value_counts_the_same_where_all_are_kept_and_where_not() -> None:
    tree = Hierarchy.from_rows([("20", "p", "*"), ("30", "p", "*"), ("90", "q", "*")])
    original = table_of([[20, 22, 30, 90]], [0, 1, 0, 1], ordered=True)
    coarse = table_of([[20, 20, 30, 90]], [0, 1, 0, 1], ordered=True)
    penalties = []
    for groups in ([0, 0, 1, 2], [0, 0, 1, 1]):
        recoding = recode(
            coarse, np.array(groups, dtype=np.int32), max(groups) + 1, method="generalization", hierarchies={"a": tree}
        )
        penalties.append(compose(original, coarse, recoding).columns[0].penalty.tolist())
    assert penalties == [[1 / 3, 0.0, 0.0], [1 / 3, 1.0]]


def test_many_pairs_of_values_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    original = table_of([[5, 6, 7, 8]], [0, 1, 0, 1], ordered=True)
    coarse = table_of([[0, 0, 1, 1]], [0, 1, 0, 1], ordered=True)
    recoding = recode(coarse, np.array([0, 0, 1, 1], dtype=np.int32), 2)
    flagged = compose(original, coarse, recoding).columns[0]
    monkeypatch.setattr("shoal.recoding.composition._FLAGS", 0)
    sorted_ = compose(original, coarse, recoding).columns[0]
    assert flagged.penalty.tolist() == sorted_.penalty.tolist() == [1 / 3, 1 / 3]


def test_other_rows_are_a_bug() -> None:
    one, two = table_of([[1]], [0], ordered=True), table_of([[1, 2]], [0, 1], ordered=True)
    with pytest.raises(InternalError):
        compose(one, two, recode(one, np.zeros(1, dtype=np.int32), 1))


def test_metrics_of_a_release_measure_what_its_coarsening_lost() -> None:
    frame = pl.DataFrame({"age": [20, 21, 30, 31], "s": ["a", "b", "a", "b"]})
    request: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "s", "privacy": shoal.LDiversity(2)}
    release = shoal.anonymize(frame, coarsen={"age": shoal.Bins(10)}, seed=1, **request)
    assert release.metrics.stars == 0
    # Each bin stands for two of the four ages, a step of one over a domain of eleven.
    assert release.metrics.gcp == pytest.approx(1 / 11)
    assert release.metrics.kl_divergence == pytest.approx(np.log(2))
    assert release.certificate.cost.recoded_cells == 0
    kept = shoal.anonymize(frame, coarsen={"age": shoal.Bins(10)}, seed=1, keep_order=True, **request)
    assert kept.metrics.gcp == release.metrics.gcp


def test_a_table_with_columns_replaced() -> None:
    table = table_of([[1, 2], [3, 4]], [0, 1], ordered=True)
    other: Column = table_of([[5, 5], [3, 4]], [0, 1], ordered=True).quasi_identifiers[0]
    assert table.with_quasi_identifiers({}) is table
    assert table.with_quasi_identifiers({"a": other}).quasi_identifiers == (other, table.quasi_identifiers[1])
