from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.strategies import FrameTable, dense, frame_tables

from shoal.errors import DataError, ParameterError
from shoal.recoding import RecodedColumn, recode
from shoal.table import Schema, Table, encode


def table_of(values: Any, *, ordered: bool | None = None) -> Table:
    series = pl.Series("a", values)
    frame = pl.DataFrame([series, pl.Series("s", [0] * len(series))])
    table = encode(frame, Schema(quasi_identifiers=("a",), sensitive=("s",)))
    return table if ordered is None else with_order(table, ordered)


def with_order(table: Table, ordered: bool) -> Table:
    columns = tuple(replace(column, ordered=ordered) for column in table.quasi_identifiers)
    return replace(table, quasi_identifiers=columns)


def generalized(table: Table, groups: list[int], **options: Any) -> RecodedColumn:
    recoding = recode(table, np.array(groups, dtype=np.int32), max(groups) + 1, method="generalization", **options)
    return recoding.columns[0]


def cells(column: RecodedColumn) -> list[Any]:
    return column.labels.gather(column.group_codes.tolist()).to_list()


def test_numbers_become_intervals() -> None:
    column = generalized(table_of([21, 22, 39, 40, 61, 61]), [0, 0, 1, 1, 2, 2])
    assert cells(column) == ["[21, 22]", "[39, 40]", "61"]
    assert column.penalty.tolist() == [1 / 40, 1 / 40, 0.0]
    assert column.kept.tolist() == [False, False, True]
    assert not column.stars.any()


def test_unordered_values_become_sets_in_the_order_of_the_dictionary() -> None:
    column = generalized(table_of(["c", "a", "b", "b", "d", "d", "c", "a"], ordered=False), [0, 0, 1, 1, 2, 2, 3, 3])
    assert cells(column) == ["{a, c}", "b", "d", "{a, c}"]
    assert column.labels.to_list() == ["{a, c}", "b", "d"]
    assert column.penalty.tolist() == [1 / 3, 0, 0, 1 / 3]
    assert column.sub_domains.sizes.tolist() == [2, 1, 1]
    assert column.sub_domains.first.tolist() == [0, 2, 1, 3]
    assert column.sub_domains.last.tolist() == [0, 2, 1, 3]


def test_a_large_set_is_a_star_and_a_set_is_charged_for_what_it_shows() -> None:
    names = [f"name {value:03}" for value in range(100)]
    groups = [0] * 16 + [1] * 17 + [2] * 2 + list(range(3, 68))
    column = generalized(table_of(names), groups)
    shown = cells(column)
    assert shown[0].count(",") == 15
    assert shown[1:3] == ["*", "{name 033, name 034}"]
    assert column.penalty[:4].tolist() == [15 / 16, 1.0, 1 / 16, 0.0]
    fewer = generalized(table_of(names), groups, largest_set=2)
    assert cells(fewer)[:3] == ["*", "*", "{name 033, name 034}"]
    assert fewer.penalty[:3].tolist() == [1.0, 1.0, 0.5]
    assert generalized(table_of(names), groups, largest_set=1).stars[:3].all()
    with pytest.raises(ParameterError, match="'largest_set' parameter of recode must be an int >= 1"):
        generalized(table_of(names), groups, largest_set=0)


@pytest.mark.parametrize("ordered", [True, False])
def test_the_whole_domain_and_a_mix_with_missing_values_are_stars(ordered: bool) -> None:
    whole = generalized(table_of([1, 2, 3, 1, 3, 3], ordered=ordered), [0, 0, 0, 1, 1, 2])
    assert whole.stars.tolist() == [True, ordered, False]
    assert whole.penalty.tolist() == [1.0, 1.0 if ordered else 0.5, 0.0]
    mixed = generalized(table_of([1, None, 2, 3, None], ordered=ordered), [0, 0, 1, 1, 2])
    assert cells(mixed) == ["*", "[2, 3]" if ordered else "{2, 3}", None]
    assert mixed.penalty.tolist() == [1.0, 0.5 if ordered else 1 / 3, 0.0]


def test_all_present_values_are_a_sub_domain_where_others_miss() -> None:
    assert cells(generalized(table_of([1, 5, None]), [0, 0, 1])) == ["[1, 5]", None]
    assert cells(generalized(table_of(["a", "b", None], ordered=False), [0, 0, 1])) == ["{a, b}", None]


def test_members_with_commas_or_braces_are_quoted() -> None:
    column = generalized(table_of(["a", "b, c", "a, b", "c", "x"], ordered=False), [0, 0, 1, 1, 2])
    assert cells(column) == ['{a, "b, c"}', '{"a, b", c}', "x"]


def test_dates_are_intervals_measured_in_time() -> None:
    dates = [date(2020, 1, 1), date(2020, 1, 2), date(2020, 1, 11), date(2020, 1, 11)]
    column = generalized(table_of(dates), [0, 0, 1, 1])
    assert cells(column) == ["[2020-01-01, 2020-01-02]", "2020-01-11"]
    assert column.penalty.tolist() == [0.1, 0.0]


def test_a_label_that_is_also_a_value_is_refused_without_showing_it() -> None:
    with pytest.raises(DataError, match="column 'a' has a value that reads like") as caught:
        generalized(table_of(["a", "b", "{a, b}", "c"], ordered=False), [0, 0, 1, 2])
    assert "{a, b}" not in str(caught.value)
    assert cells(generalized(table_of(["a", "b", "{a, c}", "c"], ordered=False), [0, 0, 1, 2])) == [
        "{a, b}",
        "{a, c}",
        "c",
    ]


def test_a_star_that_reads_like_a_label_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"column 'a'.*the 'star' parameter"):
        generalized(table_of([1, 2, 3]), [0, 0, 1], star="[1, 2]")


def written(value: Any) -> str | None:
    return value if value is None else value.isoformat() if isinstance(value, date) else str(value)


def slow_label(members: list[Any], domain: list[Any], ordered: bool) -> str | None:
    """Return what a group publishes; `domain` in its order, a missing value last."""
    distinct = sorted(set(members), key=domain.index)
    if len(distinct) == 1:
        return written(distinct[0])
    covered = domain[domain.index(distinct[0]) : domain.index(distinct[-1]) + 1] if ordered else distinct
    if None in distinct or len(covered) == len(domain):
        return "*"
    texts = [str(written(value)) for value in (distinct[:: len(distinct) - 1] if ordered else distinct)]
    return f"[{', '.join(texts)}]" if ordered else f"{{{', '.join(texts)}}}"


@settings(max_examples=250, deadline=None)
@given(data=st.data(), drawn=frame_tables(), ordered=st.booleans())
def test_agrees_with_the_definition(data: st.DataObject, drawn: FrameTable, ordered: bool) -> None:
    schema = Schema(quasi_identifiers=drawn.quasi_identifiers, sensitive=("s",))
    table = with_order(encode(drawn.frame, schema), ordered)
    groups = dense(data.draw(st.lists(st.integers(0, 4), min_size=table.rows, max_size=table.rows)))
    recoding = recode(table, np.array(groups, dtype=np.int32), max(groups) + 1, method="generalization")
    for original, column in zip(table.quasi_identifiers, recoding.columns, strict=True):
        values, domain = drawn.frame[column.name].to_list(), original.dictionary.to_list()
        published = cells(column)
        for group in range(max(groups) + 1):
            members = [value for value, of in zip(values, groups, strict=True) if of == group]
            label = slow_label(members, domain, ordered)
            assert (published[group] if column.labels.dtype == pl.String else written(published[group])) == label
            assert bool(column.stars[group]) == (label == "*")
            assert bool(column.kept[group]) == (len(set(members)) == 1)
            allowed = sub_domain(column, int(column.group_codes[group]))
            assert {domain.index(value) for value in members} <= allowed
            if not ordered and label != "*":
                assert allowed == {domain.index(value) for value in members}
        assert column.labels.n_unique() == len(column.labels) == len(set(column.group_codes.tolist()))
        assert (column.labels.dtype == pl.String) or column.kept.all()
        assert column.penalty.min() >= 0
        assert column.penalty.max() <= 1
        assert (column.penalty[column.kept] == 0).all()


def sub_domain(column: RecodedColumn, label: int) -> set[int]:
    domains = column.sub_domains
    runs = range(int(domains.starts[label]), int(domains.starts[label + 1]))
    return {code for run in runs for code in range(int(domains.first[run]), int(domains.last[run]) + 1)}


@settings(max_examples=60, deadline=None)
@given(drawn=frame_tables(), groups=st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_generalization_never_stars_more_than_suppression(drawn: FrameTable, groups: list[int]) -> None:
    table = encode(drawn.frame, Schema(quasi_identifiers=drawn.quasi_identifiers, sensitive=("s",)))
    labels = dense(groups[: table.rows])
    codes = np.array(labels, dtype=np.int32)
    suppressed, general = (recode(table, codes, max(labels) + 1, method=m) for m in ("suppression", "generalization"))
    assert general.stars <= suppressed.stars
    assert general.recoded_cells == suppressed.recoded_cells
    assert general.recoded_tuples == suppressed.suppressed_tuples


def test_a_whole_domain_is_a_star_unless_it_is_to_be_spelled_out() -> None:
    for table, written in ((table_of([21, 25, 23, 24]), "[21, 25]"), (table_of(["a", "b", "a", "a"]), "{a, b}")):
        assert cells(generalized(table, [0, 0, 1, 1]))[0] == "*"
        spelled = generalized(table, [0, 0, 1, 1], spell_out=True)
        assert cells(spelled)[0] == written
        assert not spelled.stars.any()
        assert spelled.penalty[0] == 1.0
        assert spelled.sub_domains.sizes[spelled.group_codes[0]] == table.quasi_identifiers[0].size
    mixed = generalized(table_of([21, None, 23, 24]), [0, 0, 1, 1], spell_out=True)
    assert cells(mixed) == ["*", "[23, 24]"], "no interval holds a missing value"
