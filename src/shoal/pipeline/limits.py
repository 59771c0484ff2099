"""Limits of levels for algorithms that do not choose levels themselves.

Rows may share a group only if they have the same node at the highest allowed level of each limited attribute. Such rows
are a *block*: the groups that an algorithm makes of it have lowest common ancestors within the limits. Rows of
blocks that are not acceptable are suppressed. Below the lowest allowed level an algorithm cannot distinguish values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal.algorithms.base import Algorithm, Guarantee, Partition, Problem
from shoal.hierarchy import Hierarchy
from shoal.pipeline.division import GroupChecker, TablePart
from shoal.recoding import STAR_LEVEL, Levels, rank
from shoal.table import Column, Table
from shoal.table.counts import rows_by_code
from shoal.table.text import dictionary_text

WITHIN_LIMITS = Fact("within_limits")
"""The guarantee of groups that were searched block by block."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LevelLimits:
    """The lowest and the highest level of each attribute, as the levels that a release can show."""

    lowest: NDArray[np.int32]
    """Lowest level of each attribute; `STAR_LEVEL` if only a star is allowed."""
    highest: NDArray[np.int32]
    """Highest level of each attribute; `STAR_LEVEL` if a star is allowed."""
    levels: tuple[Levels, ...]

    @classmethod
    def of(cls, problem: Problem, algorithm: Algorithm) -> LevelLimits | None:
        """Convert the limits of a problem; None if there are none, or if the algorithm serves them itself."""
        limits = problem.preferences.limits
        if not limits or algorithm.capabilities.limits:
            return None
        names = [column.name for column in problem.table.quasi_identifiers]
        pairs = [
            _convert(one, limits.get(name, (0, one.height))) for name, one in zip(names, problem.levels, strict=True)
        ]
        lowest, highest = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
        return cls(lowest=lowest, highest=highest, levels=problem.levels)

    def find_blocks(self, table: Table) -> NDArray[np.int64]:
        """Find the block of each row: rows of one block may share groups."""
        nodes = [
            (levels.nodes[high][column.codes], int(levels.counts[high]))
            for column, levels, high in zip(table.quasi_identifiers, self.levels, self.highest.tolist(), strict=True)
            if high < STAR_LEVEL
        ]
        return rank(nodes, table.rows)[0].astype(np.int64)

    def raise_values(self, problem: Problem) -> Problem:
        """Replace values below the lowest level by their nodes there, which a search must not keep apart."""
        columns, trees = list(problem.table.quasi_identifiers), dict(problem.hierarchies)
        for a, (column, low) in enumerate(zip(columns, self.lowest.tolist(), strict=True)):
            if low == STAR_LEVEL:
                columns[a] = _replace_values(column, np.zeros(column.size, dtype=np.int64), pl.Series([0]))
                trees.pop(column.name, None)
            elif low > 0:
                tree = trees[column.name]
                columns[a] = _replace_values(column, self.levels[a].nodes[low], _names_of(column, tree, low))
                trees[column.name] = tree.above(low)
        return replace(problem, table=replace(problem.table, quasi_identifiers=tuple(columns)), hierarchies=trees)

    def _least_of(self, partition: Partition) -> NDArray[np.int32]:
        """Compute the lowest level of each group and attribute, from those of a partition of raised values."""
        least = np.broadcast_to(self.lowest, (partition.count, len(self.lowest)))
        if partition.least is None:
            return least.copy()
        own = partition.least.astype(np.int64)
        raised = np.where((own > 0) & (own < STAR_LEVEL), own + np.where(least < STAR_LEVEL, least, 0), own)
        return np.maximum(least, raised).astype(np.int32)

    def suppress_outside(
        self,
        partition: Partition,
        groups_of_star: NDArray[np.bool_],
        cells: NDArray[np.int64],
        counts: NDArray[np.int64],
        checker: GroupChecker,
    ) -> Partition:
        """Suppress the groups that are outside of the limits, and others with them until they are acceptable together.

        Parameters
        ----------
        partition : Partition
            Groups of entries; each is acceptable, or is a group to suppress.
        groups_of_star : bool array
            The groups that are to be suppressed in any case.
        cells, counts : int64 arrays
            Cell of each entry, and its number of rows.
        checker : GroupChecker
        """
        least, groups = self._least_of(partition), partition.groups
        heights = np.array([one.height for one in self.levels])
        outside = (np.minimum(least, heights) > np.minimum(self.highest, heights)).any(axis=1) | groups_of_star
        outside = _enlarge(outside, groups, cells, counts, checker)
        # All suppressed rows are one group.
        new_of = np.where(outside, 0, np.cumsum(~outside) - (0 if outside.any() else 1))
        return replace(
            partition,
            groups=new_of[groups].astype(np.int32),
            count=int(new_of.max()) + 1,
            least=np.concatenate(
                [np.full((int(outside.any()), len(heights)), STAR_LEVEL, dtype=np.int32), least[~outside]]
            ),
            guarantee=Guarantee(promise=WITHIN_LIMITS),
            facts={**partition.facts, "suppressed_rows": int(counts[outside[groups]].sum())},
        )


def _convert(levels: Levels, limit: tuple[int, int]) -> tuple[int, int]:
    """Convert the limits of one attribute: a level whose only node is the root of all values counts as a star."""
    shown = [level for level in range(limit[0], limit[1] + 1) if not (levels.lowest[level] == levels.height).any()]
    low = shown[0] if shown else STAR_LEVEL
    return low, STAR_LEVEL if limit[1] == levels.height or not shown else shown[-1]


def _replace_values(column: Column, new_of: NDArray[np.integer], names: pl.Series) -> Column:
    codes = new_of[column.codes].astype(np.uint32)
    return replace(column, codes=codes, dictionary=names, numbers=None, of_intervals=False)


def _names_of(column: Column, tree: Hierarchy, level: int) -> pl.Series:
    """List the names of the present nodes of a level, in the order of `Levels.nodes`, then a missing value."""
    positions = tree.positions(dictionary_text(column.dictionary).to_list(), column=column.name)
    nodes = tree.levels[level, positions[positions >= 0]]
    firsts = np.sort(np.unique(nodes, return_index=True)[1])
    names: list[str | None] = [tree.labels[level][node] for node in nodes[firsts].tolist()]
    return pl.Series(column.name, names + [None] * bool((positions < 0).any()), dtype=pl.String)


def _enlarge(
    chosen: NDArray[np.bool_],
    groups: NDArray[np.int32],
    cells: NDArray[np.int64],
    counts: NDArray[np.int64],
    checker: GroupChecker,
) -> NDArray[np.bool_]:
    """Add groups to the chosen ones, smallest first, until their union is acceptable; there may be none."""
    sizes = rows_by_code(groups, len(chosen), counts)
    order = np.argsort(np.where(chosen, 0, sizes), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    low = int(np.count_nonzero(chosen))
    first, high = low, len(order)

    def accepts(number: int) -> bool:
        some = place[groups] < number
        return checker.accepts(TablePart(cells[some], counts[some]))

    if not low or accepts(low):
        return chosen
    # Prefixes grow twofold until one is accepted, then the shortest is bisected; the whole table is acceptable.
    while high - low > 1:
        middle = min(2 * low - first + 1, (low + high) // 2)
        low, high = (low, middle) if accepts(middle) else (middle, high)
    return place < high
