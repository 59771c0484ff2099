from __future__ import annotations

import numpy as np
import polars as pl

from shoal import metrics

RELEASE = pl.DataFrame(
    {
        "a": ["*", "x", "*", None, None],
        "b": [1, 2, 1, None, None],
        "c": pl.Series(["*", "u", "*", "u", "u"], dtype=pl.Categorical),
        "s": ["*", "p", "q", "*", "p"],
    }
)
NAMES = ["a", "b", "c"]


def test_classes_are_rows_with_equal_cells_and_a_missing_one_is_a_value() -> None:
    assert metrics.published_class_sizes(RELEASE, NAMES).tolist() == [1, 2, 2]


def test_stars_are_counted_in_quasi_identifiers_of_text_only() -> None:
    assert metrics.published_star_counts(RELEASE, NAMES, "*") == ({"a": 2, "b": 0, "c": 2}, 2)
    assert list(metrics.published_star_counts(RELEASE, ["b", "a"], "*")[0]) == ["b", "a"]
    assert metrics.published_star_counts(RELEASE, ["b"], "*") == ({"b": 0}, 0)
    assert metrics.published_star_counts(RELEASE, ["a"], "x") == ({"a": 1}, 1)


def test_a_declared_category_without_the_star_has_none() -> None:
    frame = pl.DataFrame({"a": pl.Series(["u", "v"], dtype=pl.Enum(["u", "v"]))})
    assert metrics.published_star_counts(frame, ["a"], "*") == ({"a": 0}, 0)


def test_the_order_of_the_rows_does_not_matter() -> None:
    assert metrics.published_class_sizes(RELEASE.reverse(), NAMES).tolist() == [1, 2, 2]


def test_no_quasi_identifiers_and_no_rows() -> None:
    assert metrics.published_class_sizes(RELEASE, []).tolist() == [5]
    assert metrics.published_star_counts(RELEASE, [], "*") == ({}, 0)
    assert metrics.published_class_sizes(RELEASE.clear(), NAMES).tolist() == []
    assert metrics.published_star_counts(RELEASE.clear(), NAMES, "*") == ({"a": 0, "b": 0, "c": 0}, 0)


def test_not_a_number_equals_itself() -> None:
    frame = pl.DataFrame({"a": [float("nan"), float("nan"), 1.0]})
    assert metrics.published_class_sizes(frame, ["a"]).tolist() == [1, 2]


def test_intervals_and_sets_are_counted_by_their_form() -> None:
    cells = [
        "[1, 2]",
        "(1, 2]",
        "]1, 2]",
        "[1, 2[",
        '["a, b", c]',
        "{a, b}",
        "*",
        "a",
        "1, 2",
        "[a",
        "{a",
        None,
        "<1200",
        ">=3000",
        "≤5",
        ">",
    ]
    frame = pl.DataFrame({"q": cells, "n": range(16), "e": pl.Series(cells, dtype=pl.Categorical)})
    assert metrics.published_range_counts(frame, ["q", "n", "e"]) == {"q": 9, "n": 0, "e": 9}
    assert metrics.published_range_counts(frame, ["q"], np.arange(16)) == {"q": 15 + 12 + 13 + 14}
