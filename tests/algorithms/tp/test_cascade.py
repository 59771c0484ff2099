"""The cascade around its kernels: the order of patterns, and the rows that stay."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every
from tests.oracles.strategies import code_tables

from shoal.algorithms import ThreePhase
from shoal.algorithms.tp import cascade
from shoal.algorithms.tp.cascade import split_rows, star_patterns, starred_attributes
from shoal.models import KAnonymity, LDiversity


@every("sizes", [[], [3], [2, 79], [79, 2, 9], [5, 5, 5, 5], [9, 2, 6, 56, 17, 9]])
def test_every_pattern_once_fewest_stars_first(sizes):
    d = len(sizes)
    patterns = star_patterns(sizes)
    assert {frozenset(stars) for stars in patterns} == {
        frozenset(stars) for count in range(1, d) for stars in combinations(range(d), count)
    }
    assert len(patterns) == max(2**d - 2, 0)
    assert [len(stars) for stars in patterns] == sorted(map(len, patterns))


def test_large_domains_are_starred_first():
    patterns = star_patterns([2, 79, 9])
    assert patterns[:3] == [(1,), (2,), (0,)]
    assert patterns[3:] == [(1, 2), (1, 0), (2, 0)]


@pytest.mark.parametrize("d", [12, 13, 20, 63])
def test_not_more_patterns_than_allowed(d):
    patterns = star_patterns(list(range(2, d + 2)), 500)
    assert len(set(patterns)) == len(patterns) <= 500 + d * d
    by_count = [[stars for stars in patterns if len(stars) == count] for count in range(1, d)]
    assert len(by_count[0]) == d, "all patterns with one star are there"
    assert all(by_count)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_split_rows(problem_of, data):
    codes = data.draw(code_tables(max_rows=25, min_columns=0))
    table = problem_of(codes.quasi_identifiers.T.tolist(), [codes.values], LDiversity(1)).table
    classes = table.classes
    keep = np.array([data.draw(st.integers(0, count)) for count in classes.cell_counts.tolist()], dtype=np.int32)
    groups, rows = split_rows(classes, keep)
    assert sorted(rows.tolist()) == np.flatnonzero(groups < 0).tolist()
    place = {row: at for at, row in enumerate(classes.order.tolist())}
    assert rows.tolist() == sorted(rows.tolist(), key=place.__getitem__)
    for cell, kept in enumerate(keep.tolist()):
        its_rows = classes.order[classes.cell_starts[cell] : classes.cell_starts[cell + 1]]
        assert (groups[its_rows] >= 0).sum() == kept
    stayed = groups[groups >= 0]
    assert sorted(set(stayed.tolist())) == list(range(len(set(stayed.tolist()))))
    for group in set(stayed.tolist()):
        assert len({codes.rows[row] for row in np.flatnonzero(groups == group)}) == 1
    assert len({codes.rows[row] for row in np.flatnonzero(groups >= 0)}) == len(set(stayed.tolist()))
    if len(rows):
        expected = sum(len({codes.rows[row][a] for row in rows}) > 1 for a in range(codes.quasi_identifiers.shape[1]))
        assert starred_attributes(table, rows) == expected


def test_only_patterns_that_some_group_fits_ask_for_donors(problem_of, monkeypatch):
    # Two attributes of many values and one of two: nothing shorter than two stars makes a group of 40.
    rows = np.arange(100)
    problem = problem_of([(rows % 50).tolist(), (rows // 2).tolist(), (rows % 2).tolist()], [], KAnonymity(40))
    sought, asked = [], []
    project, complete = cascade.Cascade._project, cascade.complete_with_donors

    def projected(self, stars, made=None):
        if made is not None:
            sought.append(stars)
        return project(self, stars, made)

    def completed(waiting, form, made, offer, next_group):
        asked.append(bool((made.keys >= 0).any()))
        return complete(waiting, form, made, offer, next_group)

    monkeypatch.setattr(cascade.Cascade, "_project", projected)
    monkeypatch.setattr(cascade, "complete_with_donors", completed)
    partition = ThreePhase().partition(problem)
    assert np.bincount(partition.groups).tolist() == [50, 50]
    assert sought == []
    problem = problem_of([(rows // 45).tolist(), (rows // 2).tolist(), (rows % 7).tolist()], [], KAnonymity(40))
    assert np.bincount(ThreePhase().partition(problem).groups).min() >= 40
    assert asked
    assert all(asked)
