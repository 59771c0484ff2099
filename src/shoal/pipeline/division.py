"""Divide a table that is too large for one run of an algorithm: rows to set aside, and parts of the rest.

A table has cells (distinct rows) with counts. For monotone models the union of acceptable groups is acceptable, so a
table may be divided into acceptable parts that are solved one after another. There are two steps, both decided by exact
counts:

* Most rows of each large class (rows with the same quasi-identifiers) become a group of their own if that group is
  acceptable, because such a group loses nothing. The rows that the class cannot keep, and a proportional share of
  those that it can, remain for other groups.
* The remaining rows are cut at medians of the quasi-identifiers, as Mondrian does, if both sides are acceptable. Rows
  that are too similar to be cut this way are halved: each half has half of the rows of each cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.base import Algorithm
from shoal.algorithms.common.compiled import populations_of
from shoal.algorithms.tp.three_phase_kernel import phase_one
from shoal.models.base import GroupCounts
from shoal.models.requirement import FrequencyForm, Requirement
from shoal.pipeline.memory_budget import MemoryBudget
from shoal.table import Table
from shoal.table.counts import rows_by_code

_MIN_KEPT_GROUPS = 256
"""Fewest rows of a large class that remain for other groups, in multiples of the smallest acceptable group."""

_KEPT_PER_NEEDED = 5
"""Rows that remain in total, as a multiple of the rows that any release needs to complete the groups of leftover rows.

The multiple applies if too few rows would fit into memory. Of 100,000,000 census-like rows (l = 6), 5.3 times as many
rows in one part cost 4 % more stars than the lower bound, 5 times as many in four parts 13 %, and 1.25 times as many in
one part 84 %.
"""
_MIN_ROWS_PER_NEEDED = 2
"""Below this multiple of the needed rows, the rows that fit into memory are too few; above it, cuts cost too much."""

_BYTES_PER_COUNTED_ROW = 4
"""Memory per row of algorithms that work on counts: phase two of TP has a place for each row of the commonest value."""
_SHARE_DENOMINATOR = 1 << 20
"""Shares of classes are multiples of one over this number."""


class TablePart(NamedTuple):
    """Rows that are solved together."""

    cells: NDArray[np.int64]
    """The distinct cells of the rows."""
    counts: NDArray[np.int64]
    """Number of rows of each cell, at least one."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Division:
    """A division of the rows of a table: rows that are set aside, and parts."""

    set_aside: NDArray[np.int64]
    """For each cell: the rows that form a group with all other rows of their class that are set aside."""
    parts: tuple[TablePart, ...]
    """Parts to solve one after another; every other row that is not set aside is in exactly one part."""
    suppressed: NDArray[np.int64]
    """Cells whose rows are in no part, because limits of levels allow them no acceptable group."""

    @property
    def is_undivided(self) -> bool:
        """Whether all rows of the table are solved at once."""
        return len(self.parts) == 1 and not self.set_aside.any() and not len(self.suppressed)


def divide_table(
    table: Table,
    requirement: Requirement,
    algorithm: Algorithm,
    budget: MemoryBudget,
    *,
    reason: str | None,
    blocks: NDArray[np.int64] | None = None,
    counted: bool = False,
) -> Division:
    """Divide the rows of a table so that an algorithm can process each part within a memory budget.

    Parameters
    ----------
    table : Table
        Cells with counts.
    requirement : Requirement
        A requirement that is feasible for the table.
    algorithm : Algorithm
        Its capabilities state how much memory a row takes.
    budget : MemoryBudget
    reason : str, optional
        Why the algorithm must see all rows at once, a clause before a comma; None if the rows can be divided.
    blocks : int64 array, optional
        Block of each cell; each part is of one block. Blocks that are not acceptable are not part of any.
    counted : bool
        Whether the algorithm works on the cells with their counts, not on single rows.

    Raises
    ------
    DataError
        If the rows cannot be divided; the message states how much memory is enough.
    """
    all_cells, cells = np.arange(table.rows, dtype=np.int64), table.rows
    capabilities, attributes = algorithm.capabilities, len(table.quasi_identifiers)
    each = _BYTES_PER_COUNTED_ROW if counted else capabilities.bytes_of_row(attributes)
    most, rows = budget.max_rows(cells, each), table.people
    no_rows = np.zeros(cells, dtype=np.int64)
    checker, form = GroupChecker(table, requirement), requirement.frequency_form()
    whole, suppressed = [TablePart(all_cells, table.multiplicities)], np.empty(0, dtype=np.int64)
    if blocks is not None:
        whole, suppressed = _split_into_blocks(table, checker, blocks)
        rows = max((int(block.counts.sum()) for block in whole), default=0)
    # All rows fit into memory: no further division.
    if rows <= most:
        return Division(set_aside=no_rows, parts=tuple(whole), suppressed=suppressed)
    # The rows do not fit, and the algorithm cannot work on parts.
    if reason is not None:
        raise budget.make_rows_error(rows, cells, reason, each)
    why = "Some rows cannot be told apart further without leaving the others too few"
    if blocks is not None:
        parts, uncut = _divide_into_parts(table, checker, whole, most)
        if uncut:
            raise budget.make_rows_error(uncut, cells, why, each)
        return Division(set_aside=no_rows, parts=tuple(parts), suppressed=suppressed)
    # How many rows each class can keep for itself, and how many other rows its leftovers need.
    largest = _find_largest_groups(table, form)
    least = _MIN_KEPT_GROUPS * max(requirement.k, 2)
    needed = _compute_fewest_rows(table, largest, form)
    more = [_KEPT_PER_NEEDED * needed] if most < _MIN_ROWS_PER_NEEDED * needed else []
    # If more rows than fit cannot be cut into parts, keep as many as fit.
    for staying in (*more, most):
        aside = _choose_rows_to_set_aside(table, checker, form, largest, least=least, most=staying)
        kept = table.multiplicities - aside
        present = np.flatnonzero(kept > 0)
        parts, uncut = _divide_into_parts(table, checker, [TablePart(present, kept[present])], most)
        if not uncut:
            return Division(set_aside=aside, parts=tuple(parts), suppressed=suppressed)
    raise budget.make_rows_error(uncut, cells, why, each)


def _split_into_blocks(
    table: Table, checker: GroupChecker, blocks: NDArray[np.int64]
) -> tuple[list[TablePart], NDArray[np.int64]]:
    """Return the acceptable blocks, and the cells of the others."""
    fits = checker.acceptable(blocks, table.multiplicities, int(blocks.max(initial=-1)) + 1)[blocks]
    cells = np.flatnonzero(fits)
    cells = cells[np.argsort(blocks[cells], kind="stable")]
    starts = np.flatnonzero(np.diff(blocks[cells], prepend=-1))
    parts = [TablePart(some, table.multiplicities[some]) for some in np.split(cells, starts[1:])] if len(cells) else []
    return parts, np.flatnonzero(~fits)


def _divide_into_parts(
    table: Table, checker: GroupChecker, waiting: list[TablePart], most: int
) -> tuple[list[TablePart], int]:
    """Cut rows into parts of at most `most` rows; return the parts, and the size of a part that cannot be cut.

    The size is 0 if all parts are small enough.
    """
    parts: list[TablePart] = []
    while waiting:
        part = waiting.pop()
        if (rows := int(part.counts.sum())) <= most:
            parts.append(part)
            continue
        # Too many rows: cut the part, or halve it if no cut is acceptable.
        cut = _cut_at_median(table, checker, part) or _halve(table, checker, part)
        if cut is None:
            return parts, rows
        waiting.extend(cut)
    return parts, 0


class GroupChecker:
    """Checks groups of cells with counts exactly, against the populations of the whole table."""

    def __init__(self, table: Table, requirement: Requirement) -> None:
        self._table, self._requirement = table, requirement
        self._populations = populations_of(table)

    def acceptable(self, groups: NDArray[np.int64], counts: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
        """Check whether all models accept each group; a group without rows is acceptable.

        Parameters
        ----------
        groups : int64 array
            The group of each cell, 0 <= group < count.
        counts : int64 array
            Rows of each cell that are in the group; may be 0.
        count : int
            Number of groups.
        """
        # The models of one sensitive attribute at a time.
        result = np.ones(count, dtype=np.bool_)
        for position, population in enumerate(self._populations):
            values = len(population.totals)
            codes = self._table.sensitive[position].codes.astype(np.int64) if self._table.sensitive else 0
            present = counts > 0
            # Rows of each value in each group, as the models take them.
            keys, place = np.unique((groups * values + codes)[present], return_inverse=True)
            if not len(keys):
                continue
            sums = rows_by_code(place, len(keys), counts[present])
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
                if position in self._requirement.positions_of(model):
                    result[found] &= model.acceptable(counted)
        return result

    def accepts(self, part: TablePart) -> bool:
        """Check whether the rows of a part are acceptable as one group; a part without rows is not.

        A cell may be listed several times.
        """
        chosen = rows_by_code(part.cells, self._table.rows, part.counts)
        one = np.zeros(self._table.rows, dtype=np.int64)
        return bool(chosen.any()) and bool(self.acceptable(one, chosen, 1)[0])


def _choose_rows_to_set_aside(
    table: Table,
    checker: GroupChecker,
    form: FrequencyForm | None,
    largest: NDArray[np.int64],
    *,
    least: int,
    most: int,
) -> NDArray[np.int64]:
    """Choose how many rows of each cell are set aside, so that at most `most` rows remain if possible."""
    classes = table.classes
    of_row = classes.of_rows
    sizes = rows_by_code(of_row, classes.count, largest)
    others = table.people - int(sizes.sum())
    # As large a share of each class stays as fits, and some rows in any case.
    low, high = 0, _SHARE_DENOMINATOR
    while low < high:
        share = (low + high + 1) // 2
        if others + int(_compute_kept_sizes(sizes, share, least).sum()) <= most:
            low = share
        else:
            high = share - 1
    stay = _compute_kept_sizes(sizes, low, least)
    in_proportion = largest - -(-largest * stay[of_row] // np.maximum(sizes, 1)[of_row])
    tight = in_proportion if form is None else _prefer_critical_values(table, largest, sizes - stay, of_row, form)
    aside = np.zeros_like(largest)
    # The first of these that is acceptable: rounding breaks the share of a class that is only just acceptable.
    for tried in (tight, in_proportion, largest):
        still = np.bincount(of_row, weights=aside, minlength=classes.count) == 0
        # A class whose rows were accepted in an earlier attempt keeps that result.
        fits = checker.acceptable(of_row, tried, classes.count) & still
        aside = np.where(fits[of_row], tried, aside)
    # Nothing is set aside of a class that remains whole. The remaining rows must be acceptable together.
    aside[(stay == sizes)[of_row]] = 0
    all_cells = np.arange(table.rows, dtype=np.int64)
    return aside if checker.accepts(TablePart(all_cells, table.multiplicities - aside)) else np.zeros_like(aside)


def _compute_fewest_rows(table: Table, largest: NDArray[np.int64], form: FrequencyForm | None) -> int:
    """Compute the fewest rows that must be together with the leftover rows: l times their most frequent value."""
    if form is None or not table.sensitive:
        return 0
    over = rows_by_code(table.sensitive[0].codes, table.sensitive[0].size, table.multiplicities - largest)
    return int(over.max(initial=0) * form.l.numerator // form.l.denominator)


def _compute_kept_sizes(sizes: NDArray[np.int64], share: int, least: int) -> NDArray[np.int64]:
    """Compute how many rows of each class remain: a share of the class, but at least `least` rows."""
    return np.minimum(sizes, np.maximum(-(-sizes * share // _SHARE_DENOMINATOR), least))


def _prefer_critical_values(
    table: Table, largest: NDArray[np.int64], most: NDArray[np.int64], of_row: NDArray[np.int64], form: FrequencyForm
) -> NDArray[np.int64]:
    """Choose rows of each class to set aside, with as many rows as possible of values that are too frequent elsewhere.

    At most `most` rows of each class are chosen. The remaining rows then have few of these values, and can complete the
    groups of other classes.
    """
    if not table.sensitive or form.l == 1:
        return np.zeros_like(largest)
    codes = table.sensitive[0].codes
    over = rows_by_code(codes, table.sensitive[0].size, table.multiplicities - largest)
    # Values that are too frequent among the leftover rows.
    critical = (over * form.l.numerator > over.sum() * form.l.denominator)[codes]
    highest = (most * form.l.denominator // form.l.numerator)[of_row]
    tight = np.where(critical, np.minimum(largest, highest), 0)
    # Fill up with rows of other values, in proportion.
    of_critical = rows_by_code(of_row, len(most), tight)
    of_others = rows_by_code(of_row, len(most), np.where(critical, 0, largest))
    left = np.maximum(most - of_critical, 0)
    return np.where(critical, tight, np.minimum(largest * left[of_row] // np.maximum(of_others, 1)[of_row], highest))


def _find_largest_groups(table: Table, form: FrequencyForm | None) -> NDArray[np.int64]:
    """Find how many rows of each cell can be in a group of their class alone.

    This is phase one of TP (Xiao, Yi, Tao 2010, Section 5.2) if the requirement has a frequency form. For any other
    requirement, all rows of a class are tried.
    """
    classes = table.classes
    if form is None or len(classes.cell_values) != table.rows:
        return table.multiplicities
    moved = np.zeros(max(table.sensitive[0].size, 1) if table.sensitive else 1, dtype=np.int64)
    form = form.within(table.people)
    num, den = form.l.numerator, form.l.denominator
    keep = phase_one(classes.cell_counts, classes.cell_values, classes.class_starts, num, den, form.k, moved)
    largest = np.empty(table.rows, dtype=np.int64)
    largest[classes.order] = keep
    return largest


def _cut_at_median(table: Table, checker: GroupChecker, part: TablePart) -> tuple[TablePart, TablePart] | None:
    """Cut a part at the first attribute that leaves both sides acceptable; attributes with the widest range come first.

    The cut is at the weighted median, or just below it. The result is None if no attribute can be cut.
    """
    columns = table.quasi_identifiers
    spreads = [len(np.unique(column.codes[part.cells])) / column.size for column in columns]
    for a in sorted(range(len(columns)), key=lambda one: (-spreads[one], one)):
        codes = columns[a].codes[part.cells].astype(np.int64)
        # Rows up to each value; the median value has half of them below or at it.
        below = np.cumsum(rows_by_code(codes, columns[a].size, part.counts))
        median = int(np.searchsorted(below, below[-1] // 2))
        for last in (median, median - 1):
            left = codes <= last
            sides = TablePart(part.cells[left], part.counts[left]), TablePart(part.cells[~left], part.counts[~left])
            if all(checker.accepts(side) for side in sides):
                return sides
    return None


def _halve(table: Table, checker: GroupChecker, part: TablePart) -> tuple[TablePart, TablePart] | None:
    """Divide a part into two with half of the rows of each cell, for rows that no quasi-identifier can divide.

    Each sensitive value is equally frequent in both, up to one row. The result is None if one half is not acceptable.
    """
    values = table.sensitive[0].codes[part.cells] if table.sensitive else np.zeros(len(part.cells), dtype=np.int64)
    order = np.argsort(values, kind="stable")
    halved = np.empty_like(part.counts)
    halved[order] = np.diff(np.cumsum(part.counts[order]) // 2, prepend=0)
    sides = tuple(TablePart(part.cells[some > 0], some[some > 0]) for some in (halved, part.counts - halved))
    return (sides[0], sides[1]) if all(checker.accepts(side) for side in sides) else None
