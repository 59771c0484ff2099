from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every
from tests.oracles import oracles
from tests.oracles.strategies import CodeTable, code_tables, dense

from shoal.hierarchy import Hierarchy
from shoal.metrics import Divergence, divergence, kl_divergence, kl_divergence_by_attribute
from shoal.recoding import STAR_LEVEL, Recoding, recode
from shoal.table import Schema, Table, encode

Case = tuple[Table, Recoding, np.ndarray]


def table_of(columns: list[list[Any]], sensitive: list[list[Any]]) -> Table:
    names = [f"q{i}" for i in range(len(columns))], [f"s{i}" for i in range(len(sensitive))]
    frame = pl.DataFrame(dict(zip([*names[0], *names[1]], [*columns, *sensitive], strict=True)))
    return encode(frame, Schema(quasi_identifiers=tuple(names[0]), sensitive=tuple(names[1])))


def case_of(columns: list[list[Any]], values: list[Any], groups: list[int], **options: Any) -> Case:
    table = table_of(columns, [values])
    codes = np.array(groups, dtype=np.int32)
    return table, recode(table, codes, max(groups) + 1, **options), codes


def published_sets(recoding: Recoding, groups: list[int]) -> list[tuple[frozenset[int], ...]]:
    """Return for each row the codes that each of its published cells stands for."""
    columns = []
    for column in recoding.columns:
        domains, cells = column.sub_domains, []
        for group in groups:
            label = int(column.group_codes[group])
            runs = range(int(domains.starts[label]), int(domains.starts[label + 1]))
            ranges = [range(int(domains.first[run]), int(domains.last[run]) + 1) for run in runs]
            cells.append(frozenset(code for codes in ranges for code in codes))
        columns.append(cells)
    return list(zip(*columns, strict=True)) if columns else [()] * len(groups)


def slow_divergence(table: Table, recoding: Recoding, groups: list[int]) -> float:
    rows = list(zip(*[column.codes.tolist() for column in table.quasi_identifiers], strict=True)) or [()] * table.rows
    values = list(zip(*[column.codes.tolist() for column in table.sensitive], strict=True)) or [()] * table.rows
    domains = [range(column.size) for column in table.quasi_identifiers]
    return oracles.kl_divergence(rows, values, published_sets(recoding, groups), domains)


def test_by_hand() -> None:
    # Four points of mass 1/4; the release is uniform over {1, 2} x each of the two sensitive values of the first group.
    case = case_of([[1, 2, 3, 3]], ["a", "b", "a", "b"], [0, 0, 1, 1])
    # f*(1, a) = 1/4 * 1/3, f*(2, b) = 1/4 * 1/3, f*(3, a) = f*(3, b) = 1/4 + 1/4 * 1/3
    expected = 2 * 0.25 * math.log(3) + 2 * 0.25 * math.log(3 / 4)
    assert kl_divergence(*case).value == pytest.approx(expected)
    # As an interval the first group no longer reaches 3.
    case = case_of([[1, 2, 3, 3]], ["a", "b", "a", "b"], [0, 0, 1, 1], method="generalization")
    assert kl_divergence(*case).value == pytest.approx(0.5 * math.log(2))


def test_nothing_recoded_or_nothing_to_recode_diverges_by_zero() -> None:
    assert kl_divergence(*case_of([[1, 1, 2]], [1, 2, 1], [0, 0, 1])) == Divergence(value=0.0)
    assert kl_divergence(*case_of([], [1, 2, 1], [0, 0, 1])) == Divergence(value=0.0)
    assert kl_divergence(*case_of([[5]], [1], [0])) == Divergence(value=0.0)


def as_columns(codes: CodeTable, missing: list[bool]) -> list[list[int | None]]:
    columns: list[list[int | None]] = []
    for column, absent in zip(codes.quasi_identifiers.T.tolist(), missing, strict=False):
        largest = max(column)
        columns.append([None if absent and code == largest > 0 else code for code in column])
    return columns


@settings(max_examples=200, deadline=None)
@given(
    data=st.data(),
    codes=code_tables(min_columns=0, max_columns=4),
    missing=st.lists(st.booleans(), min_size=4, max_size=4),
    method=st.sampled_from(["suppression", "generalization"]),
    ordered=st.booleans(),
)
def test_agrees_with_the_definition(
    data: st.DataObject, codes: CodeTable, missing: list[bool], method: Any, ordered: bool
) -> None:
    n = len(codes.values)
    groups = dense(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    sensitive = data.draw(st.sampled_from([[codes.values], [codes.values, codes.values[::-1]], []]))
    if not sensitive and codes.quasi_identifiers.shape[1] == 0:
        sensitive = [codes.values]
    table = table_of(as_columns(codes, missing), sensitive)
    table = replace(table, quasi_identifiers=tuple(replace(c, ordered=ordered) for c in table.quasi_identifiers))
    array = np.array(groups, dtype=np.int32)
    recoding = recode(table, array, max(groups) + 1, method=method)
    slow = slow_divergence(table, recoding, groups)
    assert kl_divergence(table, recoding, array).value == pytest.approx(slow, abs=1e-12)
    if recoding.recoded_cells:
        for way in (by_boxes, by_boxes_in_small_blocks, by_patterns_with_colliding_keys):
            assert way(table, recoding, array) == pytest.approx(slow, abs=1e-12)


def by_boxes(table: Table, recoding: Recoding, groups: np.ndarray) -> float | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergence, "_PATTERN_STEPS", 10**18)
        return kl_divergence(table, recoding, groups).value


def by_boxes_in_small_blocks(table: Table, recoding: Recoding, groups: np.ndarray) -> float | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergence, "_BITS_MEMORY", 8)
        patch.setattr(divergence, "_PATTERN_STEPS", 10**18)
        return kl_divergence(table, recoding, groups).value


def by_patterns_with_colliding_keys(table: Table, recoding: Recoding, groups: np.ndarray) -> float | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergence, "_INJECTIVE_KEYS", 0)
        return kl_divergence(table, recoding, groups).value


def random_case(rows: int, sizes: list[int], *, method: Any, seed: int = 0) -> Case:
    """Return skewed data in groups of four rows that are neighbours when sorted."""
    rng = np.random.default_rng(seed)
    columns = [np.minimum(rng.integers(0, size, rows), rng.integers(0, size, rows)) for size in sizes]
    groups = np.empty(rows, dtype=np.int32)
    groups[np.lexsort(columns)] = np.arange(rows) // 4
    table = table_of(columns, [rng.integers(0, 8, rows)])
    return table, recode(table, groups, int(groups.max()) + 1, method=method), groups


def dense_divergence(table: Table, recoding: Recoding, groups: np.ndarray) -> float:
    """Evaluate the definition with one matrix of rows by released rows."""
    inside = table.sensitive[0].codes[:, None] == table.sensitive[0].codes[None, :]
    density = inside / table.rows
    for column, sets in zip(
        table.quasi_identifiers, zip(*published_sets(recoding, groups.tolist()), strict=True), strict=True
    ):
        allowed = np.zeros((len(sets), column.size))
        for row, codes in enumerate(sets):
            allowed[row, list(codes)] = 1 / len(codes)
        density = density * allowed[:, column.codes].T
    same = inside.copy()
    for column in table.quasi_identifiers:
        same &= column.codes[:, None] == column.codes[None, :]
    return float(np.log(same.mean(axis=1) / density.sum(axis=1)).mean())


@pytest.mark.drawn
@every("method", ["suppression", "generalization"])
@every("sizes", [[12, 3, 2, 5], [2] * 20, [300, 40], [5000] * 6])
def test_larger_tables_up_to_twenty_attributes(sizes: list[int], method: str) -> None:
    case = random_case(600, sizes, method=method)
    expected = dense_divergence(*case)
    assert kl_divergence(*case).value == pytest.approx(expected)
    assert by_boxes(*case) == pytest.approx(expected)
    assert by_boxes_in_small_blocks(*case) == pytest.approx(expected)


def test_generalization_diverges_no_more_than_suppression_here() -> None:
    suppressed, general = (random_case(3000, [20, 3, 8], method=method) for method in ("suppression", "generalization"))
    loss, less = kl_divergence(*suppressed).value, kl_divergence(*general).value
    assert loss is not None
    assert less is not None
    assert 0 < less < loss


@pytest.mark.parametrize("method", ["suppression", "generalization"])
def test_more_work_than_the_limit_is_refused_with_a_reason(method: str) -> None:
    case = random_case(3000, [20, 3, 8], method=method)
    refused = kl_divergence(*case, limit=1000)
    assert refused.value is None
    assert refused.reason is not None
    assert "the limit is 1.0e+03" in refused.reason
    assert kl_divergence(*case).reason is None


def test_a_hard_suppressed_case_falls_back_to_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(3000, [20, 3, 8], method="suppression")
    expected = kl_divergence(*case).value
    monkeypatch.setattr(divergence, "_PATTERN_STEPS", 10**9)
    assert kl_divergence(*case).value == pytest.approx(expected)


@settings(max_examples=150, deadline=None)
@given(
    data=st.data(),
    codes=code_tables(min_columns=1, max_columns=3),
    missing=st.lists(st.booleans(), min_size=3, max_size=3),
    method=st.sampled_from(["suppression", "generalization"]),
    ordered=st.booleans(),
)
def test_each_attribute_diverges_by_its_own_distribution(
    data: st.DataObject, codes: CodeTable, missing: list[bool], method: Any, ordered: bool
) -> None:
    n = len(codes.values)
    groups = dense(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    table = table_of(as_columns(codes, missing), [codes.values])
    table = replace(table, quasi_identifiers=tuple(replace(c, ordered=ordered) for c in table.quasi_identifiers))
    recoding = recode(table, np.array(groups, dtype=np.int32), max(groups) + 1, method=method)
    found = kl_divergence_by_attribute(table, recoding)
    assert list(found) == [column.name for column in table.quasi_identifiers]
    for place, (column, sets) in enumerate(
        zip(table.quasi_identifiers, zip(*published_sets(recoding, groups), strict=True), strict=True)
    ):
        rows = [(code,) for code in column.codes.tolist()]
        cells = [(published,) for published in sets]
        expected = oracles.kl_divergence(rows, [0] * n, cells, [range(column.size)])
        assert found[column.name] == pytest.approx(expected, abs=1e-12)
        if recoding.columns[place].kept.all():
            assert found[column.name] == 0


def test_a_recoding_of_the_whole_table_alike_is_exact_and_quick() -> None:
    """One generalization for all rows, whose cells never overlap, and some rows of stars: no box is looked at."""
    rng = np.random.default_rng(5)
    rows, sizes = 20_000, (12, 40, 9)
    columns = [np.minimum(rng.integers(0, size, rows), rng.integers(0, size, rows)) for size in sizes]
    trees = {
        f"q{a}": Hierarchy.from_rows([(str(v), f"{v // 3} of three", "*") for v in range(size)])
        for a, size in enumerate(sizes)
    }
    table = table_of(columns, [rng.integers(0, 8, rows)])
    groups = np.zeros(rows, dtype=np.int64)
    for column in columns:
        groups = groups * 100 + column // 3
    groups[rng.random(rows) < 0.02] = -1
    groups = np.unique(groups, return_inverse=True)[1].astype(np.int32)
    least = np.where(np.arange(groups.max() + 1)[:, None] == 0, STAR_LEVEL, np.ones(3)).astype(np.int32)
    recoding = recode(table, groups, int(groups.max()) + 1, method="generalization", hierarchies=trees, least=least)
    assert recoding.stars > 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergence, "_densities_of_boxes", None)
        found = kl_divergence(table, recoding, groups).value
    assert found == pytest.approx(by_boxes(table, recoding, groups))
