"""The fewest stars of a small table, by an integer program over its cells and groups."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress
from shoal.algorithms.column_sets.cover import KnownSet
from shoal.solver import Program, Rows, solve

_MAX_VARIABLES = 400
"""Largest number of pairs of a row and the stars that it may have in a set: programs end within a second or two."""
_MAX_SEARCH_NODES = 200
"""Nodes of the solver's search tree; unlike seconds, they are the same on every machine."""


def is_small(rows: int, sets: Sequence[KnownSet]) -> bool:
    """Test if the program of a table is small enough, and the solver is installed."""
    pairs = rows * sum(2 ** min(len(one.columns), 60) for one in sets)
    return pairs <= _MAX_VARIABLES and find_spec("highspy") is not None


def find_fewest_stars(
    codes: NDArray[np.int32], starred: NDArray[np.bool_], sets: Sequence[KnownSet], progress: Progress, name: str
) -> tuple[NDArray[np.bool_], int, bool]:
    """Find the fewest stars with which every group of every set has at least k rows.

    A cell is a star or not, a row has one pattern of stars in each set, and a group (the shown values of a set's
    columns) is used or not. Rows are only in used groups, and a used group has at least k rows.

    Parameters
    ----------
    codes : int32 array of shape (rows, d)
        The original codes of single rows.
    starred : bool array of shape (rows, d)
        A solution to start from.
    sets : sequence of KnownSet
        Sets with a k and nothing else.
    progress, name
        Callback of progress, and the name of the step.

    Returns
    -------
    starred : bool array of shape (rows, d)
        The best solution.
    bound : int
        Lower bound on the stars of every solution.
    optimal : bool
        Whether the two agree.
    """
    n, d = codes.shape
    # A variable for each cell, and the conditions of each set.
    rows: list[tuple[list[int], float | list[float], float, float]] = []
    upper: list[float] = [1.0] * (n * d)
    integer: list[bool] = [True] * (n * d)
    for known in sets:
        _add_set(codes, known, rows, upper, integer)
    program = Program(
        costs=np.concatenate([np.ones(n * d), np.zeros(len(upper) - n * d)]),
        integer=np.array(integer),
        lower=np.zeros(len(upper)),
        upper=np.array(upper),
        rows=Rows.of(rows),
    )
    # The search starts from the known stars, and only fewer stars replace them.
    start = np.full(len(upper), np.nan)
    start[: n * d] = starred.ravel()
    solved = solve(program, work=_MAX_SEARCH_NODES, start=start, step=name, progress=progress)
    bound = int(max(solved.bound, 0.0))
    if solved.values is None or solved.objective >= starred.sum():
        return starred, bound, bound >= int(starred.sum())
    best = solved.values[: n * d].reshape(n, d) > 0.5
    return best, bound, bound >= int(best.sum())


def _add_set(
    codes: NDArray[np.int32],
    known: KnownSet,
    rows: list[tuple[list[int], float | list[float], float, float]],
    upper: list[float],
    integer: list[bool],
) -> None:
    """Add the variables and constraints of one set: patterns of its rows, and groups."""
    assert known.k is not None
    n, d = codes.shape
    columns = known.columns.tolist()
    patterns = list(chain.from_iterable(combinations(columns, size) for size in range(len(columns) + 1)))
    # One variable for each row and pattern.
    first = len(upper)
    upper += [1.0] * (n * len(patterns))
    integer += [False] * (n * len(patterns))
    members: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for row in range(n):
        own = list(range(first + row * len(patterns), first + (row + 1) * len(patterns)))
        rows.append((own, 1.0, 1.0, 1.0))
        # The pattern has a star where the cell is one.
        for a in columns:
            with_star = [variable for variable, pattern in zip(own, patterns, strict=True) if a in pattern]
            rows.append(([*with_star, row * d + a], [1.0] * len(with_star) + [-1.0], 0.0, 0.0))
        for variable, pattern in zip(own, patterns, strict=True):
            shown = tuple(-1 if a in pattern else int(codes[row, a]) for a in columns)
            members.setdefault(shown, []).append((row, variable))
    # Groups with too few possible rows are never used; the others are used or not.
    for group in members.values():
        variables = [variable for _, variable in group]
        if len(group) < known.k:
            for variable in variables:
                upper[variable] = 0.0
            continue
        used = len(upper)
        upper.append(1.0)
        integer.append(True)
        rows.extend(([variable, used], [1.0, -1.0], -np.inf, 0.0) for variable in variables)
        rows.append(([*variables, used], [1.0] * len(variables) + [-float(known.k)], 0.0, np.inf))
