"""Cells with counts that are too many rows for one run of an algorithm: what is set aside, and parts of the rest.

For monotone models the union of acceptable groups is acceptable, so that any division of a table into acceptable parts
may be solved part by part. Two steps, both decided by exact counts:

* Of each large class (rows with the same quasi-identifiers) most rows become a group of their own where that is
  acceptable: it loses nothing. A proportional share stays, for other rows that need company.
* What is left is cut along the quasi-identifiers at medians, as Mondrian cuts, while both sides are acceptable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms import populations_of
from shoal.models.base import GroupCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.engines.memory import MemoryBudget
    from shoal.models import Requirement
    from shoal.table import Table

__all__ = ["Division", "divided"]

_FEWEST_KEPT = 256
"""Rows of a large class that stay at least for others, times the rows of the smallest acceptable group."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Division:
    """How the rows of cells with counts are worked on."""

    aside: NDArray[np.int64]
    """For each cell: the rows that are in a group with all other such rows of their class, and with no others."""
    parts: tuple[NDArray[np.int64], ...]
    """The cells of each part, which are solved with the rows that are not set aside; every cell is in one part."""

    @property
    def whole(self) -> bool:
        """Whether the table is solved at once, all of its rows."""
        return len(self.parts) == 1 and not self.aside.any()


def divided(table: Table, requirement: Requirement, budget: MemoryBudget, *, may: str | None) -> Division:
    """Divide the rows of a table so that an algorithm can work on each part of them within a budget.

    Parameters
    ----------
    table : Table
        Cells with counts.
    requirement : Requirement
        It is feasible for the table.
    budget : MemoryBudget
    may : str, optional
        Why the algorithm must see all rows at once, in words that end before a comma; None where it need not.

    Raises
    ------
    DataError
        Where the rows cannot be divided so; says how much memory would do.
    """
    assert table.counts is not None
    everything, cells = np.arange(table.rows, dtype=np.int64), table.rows
    most, rows = budget.rows(cells), table.people
    nothing = np.zeros(cells, dtype=np.int64)
    if rows <= most:
        return Division(aside=nothing, parts=(everything,))
    if may is not None:
        raise budget.refuse_rows(rows, cells, may)
    judge = _Judge(table, requirement)
    aside = _set_aside(table, judge, requirement, most)
    kept = table.counts - aside
    parts: list[NDArray[np.int64]] = []
    waiting = [everything[kept > 0]]
    while waiting:
        part = waiting.pop()
        if int(kept[part].sum()) <= most:
            parts.append(part)
            continue
        cut = _cut(table, judge, kept, part)
        if cut is None:
            why = "Some rows cannot be told apart further without leaving the others too few"
            raise budget.refuse_rows(int(kept[part].sum()), cells, why)
        waiting.extend(cut)
    return Division(aside=aside, parts=tuple(parts))


class _Judge:
    """Judges groups of cells with counts, exactly, against the whole table."""

    def __init__(self, table: Table, requirement: Requirement) -> None:
        self._table, self._requirement = table, requirement
        self._populations = populations_of(table)

    def acceptable(self, groups: NDArray[np.int64], counts: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
        """Return for each group whether all models accept it; one without rows is acceptable.

        Parameters
        ----------
        groups : int64 array
            The group of each cell, 0 <= group < count.
        counts : int64 array
            Its rows that are in the group; may be 0.
        count : int
        """
        result = np.ones(count, dtype=np.bool_)
        for position, population in enumerate(self._populations):
            values = len(population.totals)
            codes = self._table.sensitive[position].codes.astype(np.int64) if self._table.sensitive else 0
            there = counts > 0
            keys, place = np.unique((groups * values + codes)[there], return_inverse=True)
            if not len(keys):
                continue
            sums = np.zeros(len(keys), dtype=np.int64)
            np.add.at(sums, place, counts[there])
            of_group, code = np.divmod(keys, values)
            found, starts = np.unique(of_group, return_index=True)
            counted = GroupCounts(
                sizes=np.add.reduceat(sums, starts),
                starts=np.append(starts, len(keys)).astype(np.int64),
                values=code,
                counts=sums,
                population=population,
            )
            for model in self._requirement.group_models:
                if position == 0 or model.needs_sensitive:
                    result[found] &= model.acceptable(counted)
        return result

    def accepts(self, cells: NDArray[np.int64], counts: NDArray[np.int64]) -> bool:
        """Return whether some cells are acceptable as one group, and have a row."""
        chosen = np.zeros(self._table.rows, dtype=np.int64)
        chosen[cells] = counts[cells]
        one = np.zeros(self._table.rows, dtype=np.int64)
        return bool(chosen.any()) and bool(self.acceptable(one, chosen, 1)[0])


def _set_aside(table: Table, judge: _Judge, requirement: Requirement, most: int) -> NDArray[np.int64]:
    """Return how many rows of each cell are set aside, so that at most so many are left where that is possible."""
    assert table.counts is not None
    counts, classes = table.counts, table.classes
    of_row = np.empty(table.rows, dtype=np.int64)
    runs = np.diff(classes.cell_starts[classes.class_starts])
    of_row[classes.order] = np.repeat(np.arange(classes.count), runs)
    sizes = classes.class_sizes
    least = _FEWEST_KEPT * max(requirement.k, 2)
    # As many rows of each class stay as fit: the largest limit whose rows are few enough.
    low, high = least, max(int(sizes.max()), least)
    while low < high:
        limit = (low + high + 1) // 2
        if int(np.minimum(sizes, limit).sum()) <= most:
            low = limit
        else:
            high = limit - 1
    size = sizes[of_row]
    stay = np.where(size > low, -(-counts * low // size), counts)
    aside = counts - stay
    aside[~judge.acceptable(of_row, aside, classes.count)[of_row]] = 0
    everything = np.arange(table.rows, dtype=np.int64)
    return aside if judge.accepts(everything, counts - aside) else np.zeros_like(aside)


def _cut(
    table: Table, judge: _Judge, kept: NDArray[np.int64], part: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the two sides of the first cut that leaves both acceptable, of the attribute with the widest range first.

    Cuts are at the weighted median, or next to it. None where no attribute can be cut.
    """
    columns = table.quasi_identifiers
    spreads = [len(np.unique(column.codes[part])) / column.size for column in columns]
    for a in sorted(range(len(columns)), key=lambda one: (-spreads[one], one)):
        codes = columns[a].codes[part].astype(np.int64)
        weights = np.zeros(columns[a].size, dtype=np.int64)
        np.add.at(weights, codes, kept[part])
        below = np.cumsum(weights)
        median = int(np.searchsorted(below, below[-1] // 2))
        for last in (median, median - 1):
            left = codes <= last
            sides = part[left], part[~left]
            if all(len(side) and judge.accepts(side, kept) for side in sides):
                return sides
    return None
