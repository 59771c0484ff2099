"""Special uniques: reference values, and every set of columns of hundreds of random tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.every import THOROUGH, few
from tests.oracles.disclosure_risk import minimal_sample_uniques, special_scores

from shoal.disclosure_risk import count_frequencies, find_minimal_uniques, summarize_special_uniques
from shoal.disclosure_risk.suda import compute_dis_suda_scores, data_intrusion_probability
from shoal.disclosure_risk.suda_kernel import mark_minimal, refine
from shoal.errors import ParameterError
from shoal.table import Schema, encode

GUIDE = [
    ("urban", "female", "secondary incomplete", "employed"),
    ("urban", "female", "secondary incomplete", "employed"),
    ("urban", "female", "primary incomplete", "non-LF"),
    ("urban", "male", "secondary complete", "employed"),
    ("rural", "female", "secondary complete", "unemployed"),
    ("urban", "male", "secondary complete", "employed"),
    ("urban", "female", "primary complete", "non-LF"),
    ("urban", "male", "post-secondary", "unemployed"),
    ("urban", "female", "secondary incomplete", "non-LF"),
    ("urban", "female", "secondary incomplete", "non-LF"),
]
"""Table 4.1 of the SDC practice guide."""


def columns_of(rows):
    frame = pl.DataFrame({f"q{at}": column for at, column in enumerate(zip(*rows, strict=True))}, strict=False)
    return encode(frame, Schema(quasi_identifiers=tuple(frame.columns))).quasi_identifiers


def test_the_practice_guide():
    found = find_minimal_uniques(columns_of(GUIDE), 3)
    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    columns = columns_of(GUIDE)
    special = summarize_special_uniques(found, columns, count_frequencies(columns), None)
    assert special.minimal_uniques == {1: 4, 2: 5, 3: 0}
    assert (special.records, special.highest, special.dis) == (0.4, 12, None)


def test_contributions_of_columns():
    rows = [(2, 0, 0), (1, 3, 6), (1, 0, 0)]
    for size in (2, 3):
        assert find_minimal_uniques(columns_of(rows), size).contributions.tolist() == [50, 37.5, 37.5]
    swapped = [(a, c, b) for a, b, c in rows]
    assert find_minimal_uniques(columns_of(swapped), 3).contributions.tolist() == [50, 37.5, 37.5]
    assert find_minimal_uniques(columns_of([(1, 1), (1, 1)]), 2).contributions.tolist() == [0, 0]


def test_scores_on_the_scale_of_the_data_intrusion_probability():
    """The values that an implementation in Java is tested with, after the program's guide of 2004."""
    scores = np.array([7, 0, 0, 1.75, 0, 3.25, 0, 1.75, 2.75, 0, 0])
    dis = data_intrusion_probability(5, 6, Fraction(1, 100))
    expected = [0.028038903, 0, 0, 0.005435918, 0, 0.011357785, 0, 0.005435918, 0.009313862, 0, 0]
    assert compute_dis_suda_scores(scores, 5, dis, 4) == pytest.approx(expected, abs=2e-9)  # printed from 32-bit floats
    assert compute_dis_suda_scores(np.zeros(3), 0, 0.5, 4).tolist() == [0, 0, 0]
    assert data_intrusion_probability(0, 4, Fraction(1, 10)) is None
    assert data_intrusion_probability(3, 4, Fraction(1)) == 1
    assert compute_dis_suda_scores(np.array([2.0, 0]), 1, 1.0, 4).tolist() == [1, 0]


def test_the_data_intrusion_probability_is_the_share_of_right_matches():
    """Take rows out one at a time, put them back with probability p, and match them with a unique row."""
    rng = np.random.default_rng(5)
    values = rng.integers(0, 150, 200)
    counts = np.bincount(values)[values]
    p, right, wrong = 0.3, 0, 0
    for _ in range(300):
        back = rng.random(200) < p
        right += (back & (counts == 1)).sum()
        wrong += (~back & (counts == 2)).sum()
    exact = data_intrusion_probability(int((counts == 1).sum()), int((counts == 2).sum()), Fraction(3, 10))
    assert exact == pytest.approx(right / (right + wrong), abs=0.01)


def test_hundreds_of_random_tables():
    rng = np.random.default_rng(6)
    special = 0
    for _ in range(few(300)):
        rows, columns = int(rng.integers(1, 25)), int(rng.integers(1, 6))
        sizes = rng.integers(1, 7, columns)
        table = [tuple(int(rng.integers(0, size)) for size in sizes) for _ in range(rows)]
        size = int(rng.integers(1, columns + 2))
        expected = minimal_sample_uniques(table, size)
        found = find_minimal_uniques(columns_of(table), size)
        counted = [
            [sum(len(one) == s for one in of_row) for s in range(1, found.by_row.shape[1] + 1)] for of_row in expected
        ]
        assert found.by_row.tolist() == counted
        assert found.scores.tolist() == special_scores(expected, columns, size)
        by_column = [
            [
                sum(at in one and len(one) == s for of_row in expected for one in of_row)
                for s in range(1, len(counted[0]) + 1)
            ]
            for at in range(columns)
        ]
        assert found.by_column.tolist() == by_column
        special += sum(map(len, expected))
    assert special > (3000 if THOROUGH else 150)


def test_the_kernels_are_what_they_say():
    rows, starts = np.array([0, 1, 2, 3, 4], dtype=np.int32), np.array([0, 3, 5], dtype=np.int32)
    codes = np.array([1, 0, 1, 2, 0], dtype=np.uint8)
    for function in (refine, refine.py_func):
        kept, bounds, unique = function(rows, starts, codes, 3)
        assert (kept.tolist(), bounds.tolist(), sorted(unique.tolist())) == ([0, 2], [0, 2], [1, 3, 4])
    known = np.array([[0b10], [0b100]], dtype=np.uint64)
    for function in (mark_minimal, mark_minimal.py_func):
        minimal = np.empty(3, dtype=np.bool_)
        function(np.array([0, 1, 2], dtype=np.int32), known, np.array([0, 1]), minimal)
        assert minimal.tolist() == [True, False, False]


def test_progress_is_told_and_too_much_is_refused():
    told = []
    find_minimal_uniques(columns_of(GUIDE), 3, progress=lambda *words: told.append(words))
    assert told[0] == ("special uniques", 0, 14)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    wide = columns_of([tuple(range(60))] * 2)
    with pytest.raises(ParameterError, match="GB of memory"):
        find_minimal_uniques([*wide] * 2, 7)
