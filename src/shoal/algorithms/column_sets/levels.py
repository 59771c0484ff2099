"""Generalization so that the models hold for each of several sets of quasi-identifiers.

A node of the lattice of levels is searched as in full-domain generalization [1]_. Its largest safe part is found by
removing the rows of groups that are too small in any set, until no group is. If a part is safe at a node, it is safe at
all nodes above, so that rows which are removed at a node are removed at all nodes below: the bounds of the lattice
search hold.

References
----------
.. [1] K. El Emam, F. K. Dankar, R. Issa, et al.: A globally optimal k-anonymity method for the de-identification of
   health data. JAMIA 16(5), 2009. https://doi.org/10.1197/jamia.M3144
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.progress import silent
from shoal._core.validation import Integer, parameter
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.column_sets.column_sets import HEURISTIC, SetSuppression, group_equal_cells, number_columns
from shoal.algorithms.column_sets.cover import Cells, KnownSet, find_failing_rows
from shoal.algorithms.full_domain.full_domain import Task
from shoal.algorithms.full_domain.lattice import Lattice, Node
from shoal.algorithms.full_domain.lattice_kernel import ACCEPTED, IN_VAIN, REFUSED, Classes
from shoal.algorithms.full_domain.lattice_search import Budget, WholeRelease
from shoal.models import KAnonymity
from shoal.models.requirement import Requirement
from shoal.recoding import rank
from shoal.table import Table

_WORK_OF_LEVELS = 1_000_000_000
"""Number of codes that the search for levels may read: ten seconds or so."""
_WORK_OF_STARS = 300_000_000
"""Number of codes for whose rows stars may be searched at other levels: ten seconds or so."""


@dataclass(frozen=True)
class SetGeneralization(Algorithm):
    """One level of its hierarchy for each attribute, and stars, so that each set satisfies the models.

    Parameters
    ----------
    most_nodes : int, default 20,000
        Nodes that may be evaluated, at least 1; fewer in large tables or for many sets, so that the search takes
        seconds and is the same on every machine.

    Notes
    -----
    The levels of least loss are searched for releases that suppress whole rows, which need not be enough for a group
    of their own: this is a bound. Then single cells of the rows become stars instead (`SetSuppression`), at these
    levels and, as long as that loses less, at lower ones.
    """

    most_nodes: int = field(default=20_000, metadata=parameter(Integer(low=1), "Nodes that may be evaluated."))
    name: ClassVar[str] = "column-sets-levels"
    """Name of the algorithm in certificates."""
    capabilities: ClassVar[Capabilities] = Capabilities(hierarchical=True, limits=True)
    """Capabilities of the algorithm."""

    def unsupported(self, requirement: Requirement) -> str | None:  # noqa: D102
        sets = requirement.counting.sets
        return super().unsupported(requirement) if sets else "it serves sets of quasi-identifiers only"

    def group_rows(self, problem: Problem) -> Partition:
        """Find the levels and the stars. See `Algorithm.partition`."""
        # The lattice, its classes and its costs; the sets judge the classes.
        alone = replace(problem, requirement=Requirement.of(KAnonymity(1), ()))
        task = Task.of(alone, "gcp")
        judge = _SetJudge.of(problem, task.lattice)
        task = replace(task, whole=judge)
        search = task.search(task.judge.classes, problem.table.rows)
        # A node takes as much work as its classes have codes, once for each set.
        read = sum(len(one.columns) for one in judge.sets)
        nodes = max(min(int(self.most_nodes), _WORK_OF_LEVELS // (len(task.judge.classes.sizes) * read)), 1)
        best = search.run(Budget(nodes=nodes, until=inf), self.name, problem.progress)
        assert best.node is not None
        node, stars, lost = _star_cells(problem, task, best.node, _WORK_OF_STARS // (problem.table.rows * read))
        facts = {
            "metric": task.cost,
            "value": task.value(lost),
            "nodes": task.lattice.size,
            "evaluated": best.evaluated,
            "levels": task.levels_of(node),
        }
        promise = HEURISTIC
        # Other models remove groups greedily, which proves nothing; the fact is about all levels and plain losses.
        if all(one.k is not None for one in judge.sets) and not problem.preferences:
            facts |= {"bound_of_whole_records": task.value(best.bound), "bound_is_reached": best.proven}
            if best.bound > 0 or best.proven:
                promise = Fact("sets_by_levels", found=facts["value"], bound=facts["bound_of_whole_records"])
        # The nodes of the rows, or stars.
        columns, lattice = problem.table.quasi_identifiers, task.lattice
        shown = [of_levels[place] for of_levels, place in zip(lattice.nodes, node, strict=True)]
        sizes = np.array([int(one.max()) + 1 for one in shown], dtype=np.int64)
        codes = np.column_stack([one[column.codes] for one, column in zip(shown, columns, strict=True)])
        levels = [kept[place] for kept, place in zip(lattice.levels, node, strict=True)]
        return group_equal_cells(
            np.where(stars, sizes, codes),
            sizes,
            Guarantee(promise=promise),
            levels=np.array(levels, dtype=np.int32),
            facts=facts,
        )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _SetJudge(WholeRelease):
    """Judges the classes at a node by the groups of each set."""

    problem: Problem
    lattice: Lattice
    sets: Sequence[KnownSet]
    necessary: Sequence[KnownSet]
    """The sets with the smallest number of rows that their models imply."""
    table_rows: NDArray[np.int32]
    """Quasi-identifiers of each row, shape (rows, d)."""

    @classmethod
    def of(cls, problem: Problem, lattice: Lattice) -> _SetJudge:
        sets = number_columns(problem)
        return cls(
            rules=(),
            people=None,
            problem=problem,
            lattice=lattice,
            sets=sets,
            necessary=[replace(one, k=one.requirement.least_size) for one in sets],
            table_rows=np.column_stack([column.codes.astype(np.int32) for column in problem.table.quasi_identifiers]),
        )

    def standing(self, node: Node, classes: Classes, people: NDArray[np.int64] | None) -> NDArray[np.int8]:
        """Find the largest safe part of the classes at a node, whether or not the others are enough for a group."""
        tops = [level == top for level, top in zip(node, self.lattice.top, strict=True)]
        # All rows are equal in a set whose columns are stars.
        shown = [s for s, one in enumerate(self.sets) if not all(tops[a] for a in one.columns)]
        verdict = np.full(len(classes.sizes), ACCEPTED, dtype=np.int8)
        sizes = np.array([int(nodes[level].max()) + 1 for nodes, level in zip(self.lattice.nodes, node, strict=True)])
        cells = Cells(codes=classes.codes, sizes=sizes, counts=classes.sizes, values=(), populations=())
        _remove_failing(cells, [self.necessary[s] for s in shown], verdict, np.arange(len(verdict)), IN_VAIN)
        strict, unit = [self.sets[s] for s in shown], np.arange(len(verdict))
        if any(one.k is None for one in strict):
            cells, unit = self._rows_at(node, classes, sizes)
            _remove_failing(cells, strict, verdict, unit, REFUSED)
        return verdict

    def _rows_at(self, node: Node, classes: Classes, sizes: NDArray[np.int64]) -> tuple[Cells, NDArray[np.int64]]:
        """Return the cells of all rows at a node, for models that count sensitive values, and the class of each row."""
        table = self.problem.table
        nodes = [of_levels[level] for of_levels, level in zip(self.lattice.nodes, node, strict=True)]
        codes = np.column_stack([one[self.table_rows[:, a]] for a, one in enumerate(nodes)])
        columns = zip(np.concatenate([classes.codes, codes]).T, sizes.tolist(), strict=True)
        number, count = rank(list(columns), len(classes.codes) + table.rows)
        class_of = np.empty(count, dtype=np.int64)
        class_of[number[: len(classes.codes)]] = np.arange(len(classes.codes))
        return Cells.of_rows(table, codes, sizes), class_of[number[len(classes.codes) :]]


def _remove_failing(
    cells: Cells, sets: Sequence[KnownSet], verdict: NDArray[np.int8], unit: NDArray[np.int64], removed: int
) -> None:
    """Remove accepted classes until every group of the others is acceptable in every set."""
    settled = 0
    # A set is checked again if any row was removed since.
    for one in cycle(sets):
        if settled == len(sets):
            return
        kept = np.flatnonzero(verdict[unit] == ACCEPTED)
        failing = kept[find_failing_rows(_select(cells, kept), one)] if len(kept) else kept
        verdict[unit[failing]] = removed
        settled = 1 if len(failing) else settled + 1


def _select(cells: Cells, rows: NDArray[np.int64]) -> Cells:
    if len(rows) == len(cells.codes):
        return cells
    return replace(
        cells, codes=cells.codes[rows], counts=cells.counts[rows], values=tuple(codes[rows] for codes in cells.values)
    )


def _star_cells(problem: Problem, task: Task, node: Node, most: int) -> tuple[Node, NDArray[np.bool_], int]:
    """Star single cells at the levels of a node, and go to lower levels as long as that loses less.

    At most `most` lower nodes are tried.
    """
    # Columns that may not become stars are starred in whole rows only.
    limits = problem.preferences.limits
    heights = {
        column.name: one.height for column, one in zip(problem.table.quasi_identifiers, problem.levels, strict=True)
    }
    kept = frozenset(name for name, (_, high) in limits.items() if high < heights[name])
    quick, thorough = SetSuppression(quick=True, kept=kept), SetSuppression(kept=kept)
    unlimited = replace(problem.preferences, limits={})

    def at(place: Node, suppression: SetSuppression) -> tuple[int, NDArray[np.bool_]]:
        raised = replace(problem, table=_raise(problem.table, task.lattice, place), recoding="suppression")
        found = suppression.group_rows(replace(raised, hierarchies={}, preferences=unlimited, progress=silent))
        assert found.least is not None
        stars = (found.least > 0)[found.groups]
        return _loss(task, place, stars, problem.table), stars

    # The values themselves are a start, too, as in suppression.
    lost, node = min((at(place, quick)[0], place) for place in (node, task.lattice.bottom))
    while most > 0:
        below = [(*node[:a], node[a] - 1, *node[a + 1 :]) for a in range(len(node)) if node[a] > task.lattice.bottom[a]]
        tried = [(at(place, quick)[0], place) for place in below[:most]]
        most -= len(tried)
        if not tried or min(tried)[0] >= lost:
            break
        lost, node = min(tried)
    lost, stars = at(node, thorough)
    return node, stars, lost


def _raise(table: Table, lattice: Lattice, node: Node) -> Table:
    """Replace the values of a table by their nodes."""
    columns = []
    for a, column in enumerate(table.quasi_identifiers):
        nodes = lattice.nodes[a][node[a]]
        # Any values serve: only the codes are read.
        values = column.dictionary.head(int(nodes.max()) + 1)
        columns.append(replace(column, codes=nodes[column.codes].astype(np.uint32), dictionary=values, numbers=None))
    return replace(table, quasi_identifiers=tuple(columns))


def _loss(task: Task, node: Node, stars: NDArray[np.bool_], table: Table) -> int:
    """Compute the cost of all cells at a node with stars."""
    total = 0
    for a, column in enumerate(table.quasi_identifiers):
        nodes = task.lattice.nodes[a][node[a]][column.codes]
        losses = np.where(stars[:, a], task.cells.stars[a], task.cells.losses[a][node[a]][nodes])
        total += int(table.multiplicities @ losses)
    return total
