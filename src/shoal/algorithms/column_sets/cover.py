"""Greedy cover: star cells until the groups of every set of quasi-identifiers are acceptable.

A row that is in an unacceptable group of a set needs a star in a column of that set. Such pairs of a row and a set are
covered greedily: each row stars the column that covers most of its pairs. Stars are never taken back here, so the
rounds end, at the latest if all cells are stars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.common.compiled import populations_of
from shoal.models import Population, Requirement
from shoal.models.base import GroupCounts
from shoal.recoding import rank
from shoal.table import Table
from shoal.table.counts import rows_by_code


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Cells:
    """The published cells of rows that are starred one by one."""

    codes: NDArray[np.int32]
    """Code of each published cell, shape (rows, d); the size of its column for a star. Changed in place."""
    sizes: NDArray[np.int64]
    """Number of values of each column, the code of its star."""
    counts: NDArray[np.int64]
    """Number of rows of the table that each row represents."""
    values: tuple[NDArray[np.int32], ...]
    """Codes of the attributes that models count, one array for each; they are read only if a model needs them."""
    populations: tuple[Population, ...]
    """The values of these attributes in the whole table."""

    @classmethod
    def of_rows(cls, table: Table, codes: NDArray[np.int32], sizes: NDArray[np.int64]) -> Cells:
        """Take cells for the rows of a table, with its counts and sensitive values."""
        return cls(
            codes=codes,
            sizes=sizes,
            counts=table.multiplicities,
            values=tuple(column.codes.astype(np.int32) for column in table.sensitive)
            or (np.zeros(table.rows, dtype=np.int32),),
            populations=populations_of(table),
        )

    @property
    def stars(self) -> NDArray[np.bool_]:
        """Whether each cell is a star."""
        return np.equal(self.codes, self.sizes)

    def __repr__(self) -> str:
        return f"Cells(rows={len(self.codes)}, columns={len(self.sizes)})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class KnownSet:
    """A set of columns, and the requirement of its groups."""

    columns: NDArray[np.int64]
    """Positions of the columns."""
    k: int | None
    """Smallest number of rows of a group if nothing else is required; None for other requirements."""
    requirement: Requirement

    def __repr__(self) -> str:
        return f"KnownSet(columns={self.columns.tolist()}, k={self.k})"


def find_failing_rows(cells: Cells, known: KnownSet, rows: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
    """Flag the rows whose group in the projection on a set is not acceptable.

    Parameters
    ----------
    cells : Cells
    known : KnownSet
    rows : int64 array, optional
        Rows that are taken for all rows with a star in each column of the set: their group alone is judged.
    """
    # Groups of equal cells, or the given rows as one group.
    if rows is None:
        columns = [(cells.codes[:, a], int(cells.sizes[a]) + 1) for a in known.columns.tolist()]
        groups, count = rank(columns, len(cells.codes))
        counts, values = cells.counts, cells.values
    else:
        groups, count = np.zeros(len(rows), dtype=np.int64), 1
        counts, values = cells.counts[rows], tuple(codes[rows] for codes in cells.values)
    # Sizes are enough for k-anonymity; other models judge the counts of their attributes.
    if known.k is not None:
        return np.asarray(rows_by_code(groups, count, counts)[groups] < known.k)
    failing = np.zeros(count, dtype=np.bool_)
    counted = [
        _count_values(groups, count, counts, codes, population)
        for codes, population in zip(values, cells.populations, strict=True)
    ]
    for model in known.requirement.group_models:
        for position in known.requirement.positions_of(model):
            failing |= ~model.acceptable(counted[position])
    return np.asarray(failing[groups])


def _count_values(
    groups: NDArray[np.int64],
    count: int,
    counts: NDArray[np.int64],
    codes: NDArray[np.int32],
    population: Population,
) -> GroupCounts:
    """Count the values of an attribute in each group."""
    size = len(population.totals)
    pairs, place = np.unique(groups * size + codes, return_inverse=True)
    group_of, values = np.divmod(pairs, size)
    return GroupCounts(
        sizes=rows_by_code(groups, count, counts),
        starts=np.searchsorted(group_of, np.arange(count + 1)).astype(np.int64),
        values=values,
        counts=rows_by_code(place, len(pairs), counts),
        population=population,
    )


def cover_failing_rows(cells: Cells, sets: Sequence[KnownSet]) -> int:
    """Star cells until every group of every set is acceptable; return the number of rounds.

    The whole table must be acceptable as one group of each set.
    """
    rounds = 0
    while True:
        # How many failing sets each cell that is not a star could cover.
        covered = np.zeros(cells.codes.shape, dtype=np.int32)
        stuck: KnownSet | None = None
        for known in sets:
            failing = np.flatnonzero(find_failing_rows(cells, known))
            if not len(failing):
                continue
            unstarred = cells.codes[np.ix_(failing, known.columns)] != cells.sizes[known.columns]
            covered[np.ix_(failing, known.columns)] += unstarred
            if not unstarred.any(axis=1).all():
                stuck = known
        if covered.any():
            _star_best_cells(cells, covered)
        # Only rows that are stars already fail: they need company.
        elif stuck is not None:
            enlarge_stars(cells, stuck)
        else:
            return rounds
        rounds += 1


def _star_best_cells(cells: Cells, covered: NDArray[np.int32]) -> None:
    """Star in each row with failing sets the cell that covers most of them.

    Ties go to the column that covers most for all rows, so that rows with stars meet in the same groups.
    """
    starred = np.flatnonzero(covered.any(axis=1))
    order = np.argsort(np.argsort(cells.counts @ covered, kind="stable"))
    best = np.argmax(covered[starred].astype(np.int64) * len(order) + order, axis=1)
    cells.codes[starred, best] = cells.sizes[best]


def enlarge_stars(cells: Cells, known: KnownSet) -> None:
    """Star further rows in all columns of a set until the rows with only stars there are an acceptable group."""
    missing = (cells.codes[:, known.columns] != cells.sizes[known.columns]).sum(axis=1)
    # Rows that need the fewest stars come first; the whole table is acceptable.
    order = np.argsort(missing, kind="stable").astype(np.int64)
    least = int(np.count_nonzero(missing == 0))
    # Prefixes grow twofold until one is accepted, then the shortest is bisected.
    low, high = least, len(order)
    while high - low > 1:
        middle = min(2 * low - least + 1, (low + high) // 2)
        accepted = not find_failing_rows(cells, known, order[:middle])[0]
        low, high = (low, middle) if accepted else (middle, high)
    rows = order[:high]
    cells.codes[np.ix_(rows, known.columns)] = cells.sizes[known.columns]
