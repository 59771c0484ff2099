"""Pairs of two values against all covers, and against the general search."""

import numpy as np
import pytest
from tests.every import every
from tests.oracles.covers import cheapest_cover as judged

from shoal.algorithms.matching import matching
from shoal.algorithms.matching.cover_problem import CoverProblem, GroupPrices
from shoal.algorithms.matching.cover_search import cheapest_cover
from shoal.algorithms.matching.group_prices_kernel import prices_of_groups
from shoal.algorithms.matching.matching import cheapest_pairs
from shoal.errors import InternalError


def halves(seed, rows, d=3, domain=3):
    """A problem of two values that half of the rows have each, its rows and their values."""
    chance = np.random.default_rng(seed)
    table = chance.integers(0, domain, (rows, d))
    values = chance.permutation(np.arange(rows) % 2)
    distinct, counts = np.unique(np.column_stack((table, values)), axis=0, return_counts=True)
    problem = CoverProblem(
        codes=np.ascontiguousarray(distinct[:, :d]).astype(np.int32),
        counts=counts.astype(np.int64),
        prices=GroupPrices.of_weights([1] * d),
        values=distinct[:, d].astype(np.int64),
    )
    return problem, [tuple(row) for row in table.tolist()], values.tolist()


@every("seed", range(60))
def test_against_all_covers(seed):
    problem, rows, values = halves(seed, rows=2 + 2 * (seed % 6), domain=2 + seed % 3)
    found = cheapest_pairs(problem)
    paid = prices_of_groups(problem.codes, problem.prices.table, found.groups).sum()
    assert found.cost == found.bound == paid == judged(rows, values, len)
    assert np.array_equal(np.bincount(found.groups[:, :2].ravel(), minlength=len(problem.counts)), problem.counts)
    assert (found.groups[:, 2] == -1).all()
    assert (problem.values[found.groups[:, 0]] != problem.values[found.groups[:, 1]]).all()
    assert found.complete


@every("seed", range(6))
def test_against_the_general_search(seed):
    problem, _, _ = halves(seed, rows=60, d=5)
    assert cheapest_pairs(problem).cost == cheapest_cover(problem).cost


def test_too_many_rows_are_left_to_the_general_search(monkeypatch):
    problem, _, _ = halves(3, rows=12, d=4)
    monkeypatch.setattr(matching, "MAX_PAIRS", 1)
    assert cheapest_pairs(problem) is None


def test_values_that_are_no_halves():
    problem, _, _ = halves(3, rows=12)
    uneven = CoverProblem(
        codes=problem.codes, counts=problem.counts + (problem.values == 0), prices=problem.prices, values=problem.values
    )
    with pytest.raises(InternalError, match="both have the same number"):
        cheapest_pairs(uneven)
