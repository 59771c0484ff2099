"""The program over generalization vectors, on arrays."""

import numpy as np
import pytest

from shoal.algorithms.milp.program import GeneralizationProgram, LinearCondition, Vectors
from shoal.solver.highs import solve


def at_least(k, values=1, attribute=0):
    """The condition of k-anonymity."""
    return LinearCondition(
        attribute=attribute,
        values=values,
        matrix=np.array([[0.0] * values + [1.0]]),
        constant=np.array([float(k)]),
        equal=np.array([False]),
        binary=False,
    )


def test_only_vectors_that_some_group_publishes():
    codes = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    vectors = Vectors.of(codes)
    assert vectors.starred.tolist() == [[False, False]] * 3 + [[True, False], [False, True], [True, True]]
    parts = [part.tolist() for part in np.split(vectors.types, vectors.starts[1:-1])]
    # (*, 1) for the last two, (0, *) for the first two; (*, 0) and (1, *) have one kind of row each.
    assert parts == [[0], [1], [2], [1, 2], [0, 1], [0, 1, 2]]


def test_vectors_that_too_few_rows_fit_are_left_out():
    codes = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    program = GeneralizationProgram(
        codes=codes, values=np.zeros((3, 1), dtype=np.int32), counts=np.array([1, 2, 1]), conditions=[at_least(3)]
    )
    assert program.vectors.starred.tolist() == [[True, False], [False, True], [True, True]]
    found = solve(program.program)
    assert found.objective == 8
    assert program.shares(found.values).tolist() == [[1, 2, 1]]


def test_a_start_is_filled_in_and_kept():
    codes = np.array([[0, 0], [0, 1], [1, 1], [1, 0]], dtype=np.int32)
    values = np.array([[0], [1], [0], [1]], dtype=np.int32)
    program = GeneralizationProgram(
        codes=codes, values=values, counts=np.array([2, 2, 2, 2]), conditions=[at_least(4, values=2)]
    )
    shares = np.array([[2, 2, 0, 0], [0, 0, 2, 2]])
    start = program.start(shares, np.array([[False, True], [False, True]]))
    known = np.isfinite(start)
    assert program.program.costs[known] @ start[known] == 8
    assert solve(program.program, start=start).objective == 8
    assert program.start(shares, np.array([[False, False], [False, True]])) is None, "no vector publishes that"


def test_broken_entries_are_made_whole():
    # Two types of one value can share two vectors in halves: the rows by vector and value stay what they are.
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    program = GeneralizationProgram(
        codes=codes, values=np.zeros((4, 1), dtype=np.int32), counts=np.full(4, 3), conditions=[at_least(2)]
    )
    found = solve(program.program)
    assert found.objective == 0
    values = found.values.copy()
    values[: len(program.vectors.types)] = 0.5
    shares = program.shares(values)
    assert shares.sum(axis=0).tolist() == [3, 3, 3, 3]
    assert (shares.sum(axis=1) >= 2).all()


@pytest.mark.parametrize(("supply", "possible"), [([3, 0], True), ([2, 5], True), ([1, 1], False)])
def test_what_cannot_hold_is_seen_from_the_supply(supply, possible):
    assert at_least(3, values=2).can_hold(np.array(supply)) == possible
