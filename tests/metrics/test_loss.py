"""Stars, suppressed tuples, class sizes and certainty penalties against their definitions."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import oracles
from tests.oracles.oracles import STAR, Interval
from tests.oracles.strategies import FrameTable, dense, frame_tables

from shoal import metrics
from shoal.recoding import Recoding, publish_frame, recode
from shoal.table import Schema, Table, encode


def recoded(values: dict[str, list[Any]], groups: list[int], **options: Any) -> tuple[Table, Recoding]:
    frame = pl.DataFrame(values)
    table = encode(frame, Schema(quasi_identifiers=tuple(frame.columns[:-1]), sensitive=(frame.columns[-1],)))
    return table, recode(table, np.array(groups, dtype=np.int32), max(groups) + 1, **options)


WORKED: dict[str, list[Any]] = {
    "age": [1, 1, 1, 2, 2, 2, 2, 2, 3, 3],
    "gender": ["M"] * 4 + ["F"] * 6,
    "education": ["master"] * 2 + ["bachelor"] * 6 + ["school"] * 2,
    "disease": ["H", "H", "p", "b", "p", "b", "b", "p", "d", "p"],
}
WORKED_GROUPS = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]


def test_worked_example_of_the_l_diversity_paper() -> None:
    _, recoding = recoded(WORKED, WORKED_GROUPS)
    assert metrics.stars(recoding) == 8
    assert metrics.stars_fraction(recoding) == 8 / 30
    assert metrics.stars_by_attribute(recoding) == {"age": 4, "gender": 0, "education": 4}
    assert metrics.recoded_cells_by_attribute(recoding) == {"age": 4, "gender": 0, "education": 4}
    assert metrics.suppressed_tuples(recoding) == 4
    assert metrics.suppressed_tuples_fraction(recoding) == 0.4
    assert metrics.discernability(recoding) == 16 + 16 + 4
    assert metrics.average_class_size(recoding) == pytest.approx(10 / 3)
    assert metrics.average_class_size(recoding, 2) == pytest.approx(10 / 6)
    assert metrics.ncp(recoding) == {"age": 0.4, "gender": 0.0, "education": 0.4}
    assert metrics.gcp(recoding) == pytest.approx(8 / 30)


def test_certainty_penalty_of_intervals_and_sets() -> None:
    values = {"age": [20, 25, 30, 60], "city": ["a", "b", "c", "d"], "s": [1, 2, 3, 4]}
    _, recoding = recoded(values, [0, 0, 1, 1], method="generalization")
    assert metrics.ncp(recoding) == {"age": (2 * 5 + 2 * 30) / 40 / 4, "city": pytest.approx(1 / 3)}
    assert metrics.gcp(recoding) == pytest.approx((0.4375 + 1 / 3) / 2)
    assert metrics.stars(recoding) == 0
    assert metrics.recoded_cells_by_attribute(recoding) == {"age": 4, "city": 4}


def test_classes_that_read_alike_count_as_one() -> None:
    _, recoding = recoded({"a": [1, 2, 1, 2], "s": [1, 2, 3, 4]}, [0, 0, 1, 1])
    assert metrics.discernability(recoding) == 16
    assert metrics.average_class_size(recoding, 2) == 2.0


def test_without_quasi_identifiers_nothing_is_lost() -> None:
    _, recoding = recoded({"s": [1, 2, 3]}, [0, 0, 0])
    assert (metrics.stars_fraction(recoding), metrics.gcp(recoding), metrics.ncp(recoding)) == (0.0, 0.0, {})
    assert metrics.discernability(recoding) == 9


def position(value: Any, domain: list[Any]) -> Any:
    """Return a value as a number whose differences are the distances of the domain."""
    if value is None:
        return None
    if isinstance(value, (str, bool)):
        return domain.index(value)
    return value.toordinal() if hasattr(value, "toordinal") else Fraction(value)


def cells_of(values: list[Any], domain: list[Any], groups: list[int], method: str, ordered: bool) -> list[Any]:
    """Recode one column slowly, by the definition, into cells that the oracles understand."""
    cells: list[Any] = []
    for group in groups:
        members = {value for value, of in zip(values, groups, strict=True) if of == group}
        if len(members) == 1:
            cells.append(next(iter(members)))
        elif method == "suppression" or None in members or members == set(domain):
            cells.append(STAR)
        elif ordered:
            whole = [domain[0], domain[-1]] == [min(members), max(members)]
            cells.append(STAR if whole else Interval(min(members), max(members)))
        else:
            cells.append(frozenset(members))
    return cells


@settings(max_examples=150, deadline=None)
@given(
    data=st.data(),
    drawn=frame_tables(),
    method=st.sampled_from(["suppression", "generalization"]),
    ordered=st.booleans(),
)
def test_agrees_with_the_definitions(data: st.DataObject, drawn: FrameTable, method: Any, ordered: bool) -> None:
    table = encode(drawn.frame, Schema(quasi_identifiers=drawn.quasi_identifiers, sensitive=("s",)))
    table = replace(table, quasi_identifiers=tuple(replace(c, ordered=ordered) for c in table.quasi_identifiers))
    groups = dense(data.draw(st.lists(st.integers(0, 4), min_size=table.rows, max_size=table.rows)))
    codes = np.array(groups, dtype=np.int32)
    recoding = recode(table, codes, max(groups) + 1, method=method)
    columns, domains = [], []
    for column in table.quasi_identifiers:
        domain = column.dictionary.to_list()
        values = [position(value, domain) for value in drawn.frame[column.name].to_list()]
        domains.append([position(value, domain) for value in domain])
        columns.append(cells_of(values, domains[-1], groups, method, ordered))
        slow = float(oracles.ncp([[cell] for cell in columns[-1]], domains[-1:]))
        assert metrics.ncp(recoding)[column.name] == pytest.approx(slow)
    release = list(zip(*columns, strict=True))
    assert metrics.gcp(recoding) == pytest.approx(float(oracles.ncp(release, domains)))
    assert metrics.stars(recoding) == sum(cell is STAR for row in release for cell in row)
    assert metrics.suppressed_tuples(recoding) == sum(STAR in row for row in release)
    sizes = Counter(release).values()
    assert metrics.discernability(recoding) == sum(size**2 for size in sizes)
    assert metrics.average_class_size(recoding, 3) == pytest.approx(table.rows / len(sizes) / 3)
    frame, _ = publish_frame(table, recoding, codes)
    names = drawn.quasi_identifiers
    assert metrics.published_class_sizes(frame, names).tolist() == sorted(sizes)
    shown = metrics.published_star_counts(frame, names, "*")
    assert shown == (metrics.stars_by_attribute(recoding), metrics.suppressed_tuples(recoding))
