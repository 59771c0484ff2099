"""Suppression of single cells so that the models hold for each of several sets of quasi-identifiers.

References
----------
.. [1] A. Hundepool, L. Willenborg: mu- and tau-ARGUS: software for statistical disclosure control. Third International
   Seminar on Statistical Confidentiality, 1996 (combinations of identifying variables).
.. [2] N. Mohammed, B. C. M. Fung, P. C. K. Hung, C. Lee: Anonymizing healthcare data: a case study on the blood
   transfusion service. KDD 2009. https://doi.org/10.1145/1557019.1557157 (at most L values are known)
.. [3] M. Templ, A. Kowarik, B. Meindl: Statistical disclosure control for micro-data using the R package sdcMicro.
   Journal of Statistical Software 67(4), 2015. https://doi.org/10.18637/jss.v067.i04 (`kAnon` with `combs`)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain, combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.progress import Progress, silent
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.column_sets.cover import (
    MAX_WORK_TO_START,
    Cells,
    KnownSet,
    all_exact,
    cover_failing_rows,
    suppress_by_counts,
)
from shoal.algorithms.m_approximation import MApproximation
from shoal.models import KAnonymity
from shoal.models.requirement import Requirement
from shoal.recoding import STAR_LEVEL, group_extents, rank
from shoal.solver import Program, Rows, solve
from shoal.table import Column, Table
from shoal.table.counts import rows_by_code

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


_SHARE = 8
"""Trials of single rows are fewer than those of classes by this factor; more of them gained nothing on Adult."""
_SINGLES_PER_K = 2
"""Rows of each class of equal rows that are starred one by one, in multiples of k; the others are starred together."""
HEURISTIC = Fact("heuristic", algorithm="Suppression of cells by sets")
"""The guarantee of stars that were not proven to be the fewest."""


@dataclass(frozen=True)
class SetSuppression(Algorithm):
    """Star cells so that each set of quasi-identifiers by itself satisfies the models.

    Notes
    -----
    Only equal published cells are equal: a star is a value of its own. In `sdcMicro` and mu-Argus a missing value
    agrees with every other, so that their results need not hold for a reader who compares cells.

    For k-anonymity, classes of equal rows, then single rows of them, star the cell that covers most of the sets whose
    groups are too small, with prices of the columns that are varied in many trials; then they are searched for patterns
    with fewer stars. The fewest stars of small tables are found by an integer program. Other models are covered
    greedily, without a search or weights.
    """

    quick: bool = False
    """Whether a first result is enough, for comparisons."""
    kept: frozenset[str] = frozenset()
    """Columns that are starred in whole rows only, besides those that the limits of a request keep."""
    name: ClassVar[str] = "column-sets"
    """Name of the algorithm in certificates."""
    capabilities: ClassVar[Capabilities] = Capabilities(limits=True)
    """Capabilities of the algorithm; groups of blocks would not keep the sets if some were suppressed afterwards."""

    def unsupported(self, requirement: Requirement) -> str | None:  # noqa: D102
        sets = requirement.counting.sets
        return super().unsupported(requirement) if sets else "it serves sets of quasi-identifiers only"

    def group_rows(self, problem: Problem) -> Partition:
        """Find the stars; rows that publish the same cells are a group. See `Algorithm.partition`."""
        limits = problem.preferences.limits if problem.recoding == "suppression" else {}
        columns = problem.table.quasi_identifiers
        hidden = np.array([limits.get(column.name, (0, 1))[0] == 1 for column in columns])
        # Columns that may only show stars are equal in all rows.
        seen = tuple(_hide(column) if stars else column for column, stars in zip(columns, hidden, strict=True))
        found = self._star(replace(problem, table=replace(problem.table, quasi_identifiers=seen)))
        assert found.least is not None
        return replace(found, least=np.where(hidden, np.int32(STAR_LEVEL), found.least))

    def _star(self, problem: Problem) -> Partition:
        """Star cells of columns that may show values."""
        table = problem.table
        sets = number_columns(problem)
        # Rows of a class are alike for k-anonymity, and may differ for other models.
        if all(one.k is not None for one in sets):
            cells, of_row, details = self._star_alike(problem, sets)
        else:
            cells, of_row, details = _copy_cells(table), None, {}
        if of_row is None or not all_exact(cells, sets):
            details["general_rounds"] = cover_failing_rows(cells, sets)
        _star_whole_rows(cells, sets, self._find_kept(problem))
        # The program counts stars, without weights or limits.
        plain = of_row is not None and not self.quick and not problem.preferences and not self.kept
        if of_row is not None and plain and is_small(table.rows, sets):
            return _improve_exactly(problem, sets, cells.stars[of_row], details, self.name)
        return group_equal_cells(cells.codes, cells.sizes, Guarantee(promise=HEURISTIC), of_row=of_row, details=details)

    def _find_kept(self, problem: Problem) -> NDArray[np.bool_]:
        """Flag the columns that are starred in whole rows only."""
        limits = problem.preferences.limits if problem.recoding == "suppression" else {}
        names = [column.name for column in problem.table.quasi_identifiers]
        return np.array([name in self.kept or limits.get(name, (0, 1))[1] == 0 for name in names])

    def _star_alike(
        self, problem: Problem, sets: Sequence[KnownSet]
    ) -> tuple[Cells, NDArray[np.int64], dict[str, int]]:
        """Star whole classes of equal rows at first, then single rows of them; return also the unit of each row."""
        table, of_class = problem.table, problem.table.classes.of_rows.astype(np.int64)
        firsts, rng = np.unique(of_class, return_index=True)[1], problem.rng
        weights = problem.preferences.weights
        losses = np.array([float(weights.get(column.name, 1)) for column in table.quasi_identifiers])
        losses /= losses.mean()
        # A star in a kept column takes the whole row.
        losses[self._find_kept(problem)] += losses.sum()
        together = []
        if table.rows * len(sets) <= MAX_WORK_TO_START:
            together = [_protect_together(problem, sets)]
        classes = _copy_cells(table, firsts, of_class)
        alone = len(firsts) == table.rows
        progress = problem.progress if alone else silent
        details = suppress_by_counts(
            classes, sets, [one[firsts] for one in together], rng, progress, self.name, losses=losses, quick=self.quick
        )
        if self.quick or alone:
            return classes, of_class, details
        # A row can help others without the rows that are equal to it.
        starts = [classes.stars[of_class], *together]
        rows, of_row = _split_classes(table, starts[-1], max(one.k or 1 for one in sets))
        cells = _copy_cells(table, rows, of_row)
        found = suppress_by_counts(
            cells, sets, [one[rows] for one in starts], rng, problem.progress, self.name, losses=losses, share=_SHARE
        )
        return cells, of_row, {**found, "stars_of_classes": int(classes.stars.sum(axis=1) @ classes.counts)}


def _hide(column: Column) -> Column:
    """Replace all values of a column by one."""
    return replace(column, codes=np.zeros_like(column.codes), dictionary=column.dictionary.head(1), numbers=None)


def _star_whole_rows(cells: Cells, sets: Sequence[KnownSet], kept: NDArray[np.bool_]) -> None:
    """Star all cells of the rows with a star in a kept column, and what the others then need, until nothing changes."""
    while True:
        stars = cells.stars
        rows = stars[:, kept].any(axis=1) & ~stars.all(axis=1)
        if not rows.any():
            return
        cells.codes[rows] = cells.sizes
        cover_failing_rows(cells, sets)


def _protect_together(problem: Problem, sets: Sequence[KnownSet]) -> NDArray[np.bool_]:
    """Find the stars of each row if all columns together are protected, which protects every set of them."""
    table, k = problem.table, max(one.k or 1 for one in sets)
    whole = Requirement.of(KAnonymity(k), problem.requirement.sensitive)
    found = MApproximation().group_rows(replace(problem, requirement=whole, progress=silent))
    return np.column_stack(
        [
            (low != high)[found.groups]
            for column in table.quasi_identifiers
            for low, high in [group_extents(column.codes.astype(np.int32), found.groups, found.count)]
        ]
    )


def _improve_exactly(
    problem: Problem, sets: Sequence[KnownSet], starred: NDArray[np.bool_], details: dict[str, int], name: str
) -> Partition:
    """Find the fewest stars of single rows, or a better bound, by an integer program."""
    cells = _copy_cells(problem.table)
    best, bound, optimal = find_fewest_stars(cells.codes, starred, sets, problem.progress, name)
    cells.codes[:] = np.where(best, cells.sizes, cells.codes)
    # The solver's numbers are checked: rounding must not leave a group too small.
    cover_failing_rows(cells, sets)
    optimal &= int(cells.stars.sum()) == bound
    guarantee = Guarantee(
        promise=Fact("proven_optimal") if optimal else HEURISTIC,
        stars_ratio=1 if optimal else None,
        stars_bound=bound,
        proof=Fact("program_of_cells"),
    )
    return group_equal_cells(cells.codes, cells.sizes, guarantee, details=details)


def number_columns(problem: Problem) -> list[KnownSet]:
    """Translate the sets to positions of columns, with a plain k if nothing else is required."""
    place = {column.name: a for a, column in enumerate(problem.table.quasi_identifiers)}
    found = []
    for one in problem.requirement.counting.sets:
        held = problem.requirement.of_set(one)
        form = held.frequency_form()
        found.append(
            KnownSet(
                columns=np.array([place[name] for name in one.columns], dtype=np.int64),
                k=form.k if form is not None and form.l == 1 else None,
                requirement=held,
            )
        )
    return found


def _split_classes(table: Table, starred: NDArray[np.bool_], k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split each class of equal rows into single rows, which may help others, and the rest; of one of each, and of all.

    Parameters
    ----------
    table : Table
    starred : bool array of shape (rows, d)
        Stars of a first release; rows with more of them become single rows.
    k : int
        The largest k.

    Returns
    -------
    rows : int64 array
        A row of each unit.
    of_row : int64 array
        The unit of each row.
    """
    of_class = table.classes.of_rows
    order = np.lexsort((-starred.sum(axis=1), of_class))
    firsts = np.flatnonzero(np.diff(of_class[order], prepend=-1))
    place = np.arange(table.rows) - np.repeat(firsts, np.diff(firsts, append=table.rows))
    begins = np.flatnonzero(place <= _SINGLES_PER_K * k)
    of_row = np.empty(table.rows, dtype=np.int64)
    of_row[order] = np.repeat(np.arange(len(begins)), np.diff(begins, append=table.rows))
    return order[begins].astype(np.int64), of_row


def _copy_cells(table: Table, rows: NDArray[np.int64] | None = None, of_row: NDArray[np.int64] | None = None) -> Cells:
    """Copy the quasi-identifiers of all rows, or of one row of each unit of rows."""
    columns = table.quasi_identifiers
    codes = np.column_stack([column.codes.astype(np.int32) for column in columns])
    sizes = np.array([column.size for column in columns], dtype=np.int64)
    cells = Cells.of_rows(table, np.asfortranarray(codes if rows is None else codes[rows]), sizes)
    if of_row is None:
        return cells
    return replace(cells, counts=rows_by_code(of_row, int(of_row.max()) + 1, table.counts))


def group_equal_cells(
    codes: NDArray[np.integer],
    sizes: NDArray[np.int64],
    guarantee: Guarantee,
    *,
    levels: NDArray[np.int32] | int = 0,
    of_row: NDArray[np.int64] | None = None,
    **more: Any,
) -> Partition:
    """Group rows with equal cells, which are stars if their code is the size of the column.

    Parameters
    ----------
    codes : array of shape (rows, columns)
    sizes : array of shape (columns,)
    guarantee : Guarantee
    levels : array or int
        Lowest level of the cells of each column that are not stars.
    of_row : array, optional
        The row of `codes` of each row of the table.
    **more
        Details and facts of the partition.
    """
    groups, count = rank([(codes[:, a], int(size) + 1) for a, size in enumerate(sizes)], len(codes))
    # A star is the lowest level that its group may publish.
    least = np.zeros((count, len(sizes)), dtype=np.int32)
    least[groups] = np.where(np.equal(codes, sizes), STAR_LEVEL, levels)
    of_rows = groups if of_row is None else groups[of_row]
    return Partition(groups=of_rows.astype(np.int32), count=count, guarantee=guarantee, least=least, **more)
