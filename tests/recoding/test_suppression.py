from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every
from tests.oracles.oracles import STAR, groups_of_labels, suppress
from tests.oracles.strategies import FrameTable, dense, frame_tables

from shoal.errors import ParameterError
from shoal.recoding import recode
from shoal.table import Schema, encode


def paper() -> pl.DataFrame:
    """Table 1 of the l-diversity paper, without the names."""
    ages = ["<30"] * 3 + ["[30,50)"] * 5 + [">=50"] * 2
    education = ["Master"] * 2 + ["Bachelor"] * 6 + ["High school"] * 2
    disease = ["HIV", "HIV", "pneumonia", "bronchitis"]
    disease += ["pneumonia", "bronchitis", "bronchitis", "pneumonia", "dyspepsia", "pneumonia"]
    return pl.DataFrame({"Age": ages, "Gender": ["M"] * 4 + ["F"] * 6, "Education": education, "Disease": disease})


def test_worked_example_of_the_paper() -> None:
    schema = Schema(quasi_identifiers=("Age", "Gender", "Education"), sensitive=("Disease",))
    recoding = recode(encode(paper(), schema), np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2], dtype=np.int32), 3)
    assert recoding.stars == recoding.recoded_cells == 8
    assert recoding.suppressed_tuples == recoding.recoded_tuples == 4
    residue = [column.labels[int(column.group_codes[0])] for column in recoding.columns]
    assert residue == ["*", "M", "*"]
    assert [column.labels[int(column.group_codes[1])] for column in recoding.columns] == ["[30,50)", "F", "Bachelor"]
    assert recoding.sizes.tolist() == [4, 4, 2]


@settings(max_examples=200, deadline=None)
@given(data=st.data(), drawn=frame_tables())
def test_agrees_with_the_definition(data: st.DataObject, drawn: FrameTable) -> None:
    table = encode(drawn.frame, Schema(quasi_identifiers=drawn.quasi_identifiers, sensitive=("s",)))
    labels = dense(data.draw(st.lists(st.integers(0, 3), min_size=table.rows, max_size=table.rows)))
    recoding = recode(table, np.array(labels, dtype=np.int32), max(labels) + 1)
    rows = drawn.frame.select(drawn.quasi_identifiers).rows()
    slow = suppress(rows, groups_of_labels(labels))
    for position, column in enumerate(recoding.columns):
        cells = [column.labels[int(column.group_codes[group])] for group in labels]
        stars = [cells[row] == "*" for row in range(table.rows)]
        assert stars == [slow[row][position] is STAR for row in range(table.rows)]
        assert stars == column.stars[labels].tolist() == (~column.kept[labels]).tolist()
        assert column.penalty[labels].tolist() == [float(star) for star in stars]
        missing = [cell is None for cell in cells]
        assert missing == [slow[row][position] is None for row in range(table.rows)]
        assert column.labels.n_unique() == len(column.labels) == len(set(column.group_codes.tolist()))
        if not any(stars):
            assert column.labels.dtype == drawn.frame[column.name].dtype
            assert cells == [row[position] for row in rows]
        else:
            assert column.labels.dtype == pl.String
    assert recoding.stars == sum(cell is STAR for row in slow for cell in row)
    assert recoding.suppressed_tuples == sum(STAR in row for row in slow)


def test_sub_domains_say_what_a_label_stands_for() -> None:
    table = encode(
        pl.DataFrame({"a": [1, 1, 2, 3, 4], "s": [0] * 5}), Schema(quasi_identifiers=("a",), sensitive=("s",))
    )
    column = recode(table, np.array([0, 0, 1, 2, 2], dtype=np.int32), 3).columns[0]
    assert column.labels.to_list() == ["1", "2", "*"]
    assert column.sub_domains.sizes.tolist() == [1, 1, 4]
    assert column.sub_domains.first.tolist() == [0, 1, 0]
    assert column.sub_domains.last.tolist() == [0, 1, 3]


def test_a_group_that_misses_the_value_keeps_it_missing_and_a_mixed_one_gets_a_star() -> None:
    frame = pl.DataFrame({"a": [None, None, 1, None], "s": [0, 1, 0, 1]})
    table = encode(frame, Schema(quasi_identifiers=("a",), sensitive=("s",)))
    column = recode(table, np.array([0, 0, 1, 1], dtype=np.int32), 2).columns[0]
    assert column.labels.to_list() == [None, "*"]
    assert column.kept.tolist() == [True, False]


@every(
    ("values", "star"),
    [(["*", "secret"], "*"), ([7, 8], "7"), ([True, False], "True"), ([0.5, 1.5], "0.5"), ([None, "?"], "?")],
)
def test_a_star_symbol_that_is_a_value_is_refused_without_showing_a_value(values: list[object], star: str) -> None:
    table = encode(pl.DataFrame({"col": values, "s": [1, 2]}), Schema(quasi_identifiers=("col",), sensitive=("s",)))
    for groups in ([0, 0], [0, 1]):
        for method in ("suppression", "generalization"):
            with pytest.raises(ParameterError, match=r"value of the column 'col'.*the 'star' parameter") as caught:
                recode(table, np.array(groups, dtype=np.int32), max(groups) + 1, method=method, star=star)
            assert "secret" not in str(caught.value)
    assert recode(table, np.zeros(2, dtype=np.int32), 1, star="STAR").columns[0].labels.to_list() == ["STAR"]
