"""The cascade around its kernels: the order of patterns, and the rows that stay."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.every import every
from tests.oracles.strategies import code_tables

from shoal.algorithms import MApproximation, ThreePhase
from shoal.algorithms.base import UNTOUCHED, Guarantee
from shoal.algorithms.tp import cascade
from shoal.algorithms.tp.cascade import entries_of_classes, partition_of_entries, star_patterns, starred_attributes
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
def test_entries_of_classes(problem_of, data):
    codes = data.draw(code_tables(max_rows=25, min_columns=0))
    table = problem_of(codes.quasi_identifiers.T.tolist(), [codes.values], LDiversity(1)).table
    classes = table.classes
    keep = np.array([data.draw(st.integers(0, count)) for count in classes.cell_counts.tolist()], dtype=np.int32)
    entries = entries_of_classes(classes, keep)
    assert entries[:, 0].tolist() == np.flatnonzero(keep).tolist()
    assert entries[:, 2].tolist() == keep[keep > 0].tolist()
    all_entries = entries_of_classes(classes, keep, rest=True)
    assert all_entries[: len(entries)].tolist() == entries.tolist()
    # As groups of rows: those of a class, and the others as the last group.
    groups = partition_of_entries(table, all_entries, Guarantee(promise=UNTOUCHED), {}).groups
    others = int((classes.cell_counts - keep).sum())
    kept = groups.max() if others else groups.max() + 1
    assert (groups == kept).sum() == others
    for cell, kept_rows in enumerate(keep.tolist()):
        its_groups = groups[classes.order[classes.cell_starts[cell] : classes.cell_starts[cell + 1]]]
        assert (its_groups[:kept_rows] < kept).all(), "the first rows of a cell stay"
        assert (its_groups[kept_rows:] == kept).all()
    assert sorted(set(groups.tolist())) == list(range(groups.max() + 1))
    for group in range(kept):
        assert len({codes.rows[row] for row in np.flatnonzero(groups == group)}) == 1
    assert len({codes.rows[row] for row in np.flatnonzero(groups < kept)}) == kept
    if others:
        rows = np.flatnonzero(groups == kept)
        expected = sum(len({codes.rows[row][a] for row in rows}) > 1 for a in range(codes.quasi_identifiers.shape[1]))
        assert starred_attributes(table, keep) == expected


@pytest.mark.parametrize("refine", ["cascade", None, "m-approximation"])
@settings(max_examples=100, deadline=None)
@given(codes=code_tables(max_rows=40))
def test_distinct_rows_with_counts_get_the_groups_of_the_rows(problem_of, refine, codes):
    algorithm, model = (
        (MApproximation(), KAnonymity(3)) if refine == "m-approximation" else (ThreePhase(refine=refine), LDiversity(2))
    )
    values = codes.values
    assume(len(values) >= 3 and 2 * max(map(values.count, values)) <= len(values))
    problem = problem_of(codes.quasi_identifiers.T.tolist(), [values], model)
    assert algorithm.works_on_counts(codes.quasi_identifiers.shape[1])
    single = algorithm.partition(problem)
    classes = problem.table.classes
    cells = replace(problem, table=problem.table.entries(classes.first_rows, classes.cell_counts.astype(np.int64)))
    found = algorithm.partition(cells)
    found.check(cells.table)
    cell_of_row = np.empty(len(values), dtype=np.int64)
    cell_of_row[classes.order] = np.repeat(np.arange(len(classes.cell_values)), classes.cell_counts)
    expected = Counter(zip(cell_of_row.tolist(), single.groups.tolist(), strict=True))
    entries = zip(found.rows.tolist(), found.groups.tolist(), found.counts.tolist(), strict=True)
    assert {(cell, group): count for cell, group, count in entries} == expected
    assert (found.count, found.guarantee, found.details) == (single.count, single.guarantee, single.details)


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
