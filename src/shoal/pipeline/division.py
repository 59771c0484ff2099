"""Cells with counts that are too many rows for one run of an algorithm: what is set aside, and parts of the rest.

For monotone models the union of acceptable groups is acceptable, so that any division of a table into acceptable parts
may be solved part by part. Two steps, both decided by exact counts:

* Of each large class (rows with the same quasi-identifiers) most rows become a group of their own where that is
  acceptable: it loses nothing. What the class cannot keep, and a proportional share of what it can, stays for others.
* What is left is cut along the quasi-identifiers at medians, as Mondrian cuts, while both sides are acceptable. Rows
  that cannot be cut so, as they are too much alike, are halved: half of the rows of each cell are in either part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.algorithms import populations_of
from shoal.algorithms.tp.three_phase_kernel import phase_one
from shoal.models.base import GroupCounts
from shoal.table.counts import rows_by_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms import Algorithm
    from shoal.models import FrequencyForm, Requirement
    from shoal.pipeline.memory_budget import MemoryBudget
    from shoal.table import Table

__all__ = ["Division", "divided"]

_FEWEST_KEPT = 256
"""Rows of a large class that stay at least for others, times the rows of the smallest acceptable group."""

_TIMES_NEEDED = 5
"""Rows that stay in all, as a multiple of those that what is left over needs in any release, where too few would fit.

Of 100,000,000 census-like rows (l = 6), 5.3 times as many in one part cost 4 % more stars than the lower bound, 5 times
as many in four parts 13 %, and 1.25 times as many in one part 84 %.
"""
_TOO_FEW = 2
"""Rows that fit at once are too few below so many times those needed; above, cuts cost more than rows gain."""

_SHARES = 1 << 20
"""In so many parts shares of classes are said."""


class TablePart(NamedTuple):
    """Rows that are solved together."""

    cells: NDArray[np.int64]
    """Their cells, each once."""
    counts: NDArray[np.int64]
    """How many rows of each of them there are, at least one."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Division:
    """How the rows of cells with counts are worked on."""

    aside: NDArray[np.int64]
    """For each cell: the rows that are in a group with all other such rows of their class, and with no others."""
    parts: tuple[TablePart, ...]
    """What is solved one after another; every row that is not set aside is in one part."""

    @property
    def whole(self) -> bool:
        """Whether the table is solved at once, all of its rows."""
        return len(self.parts) == 1 and not self.aside.any()


def divided(
    table: Table, requirement: Requirement, algorithm: Algorithm, budget: MemoryBudget, *, undivided: str | None
) -> Division:
    """Divide the rows of a table so that an algorithm can work on each part of them within a budget.

    Parameters
    ----------
    table : Table
        Cells with counts.
    requirement : Requirement
        It is feasible for the table.
    algorithm : Algorithm
        What they are divided for; it may say how much memory it takes.
    budget : MemoryBudget
    undivided : str, optional
        Why the algorithm must see all rows at once, in words that end before a comma; None where it need not.

    Raises
    ------
    DataError
        Where the rows cannot be divided so; says how much memory would do.
    """
    assert table.counts is not None
    everything, cells = np.arange(table.rows, dtype=np.int64), table.rows
    each = algorithm.capabilities.bytes_of_row(len(table.quasi_identifiers))
    most, rows = budget.rows(cells, each), table.people
    nothing = np.zeros(cells, dtype=np.int64)
    if rows <= most:
        return Division(aside=nothing, parts=(TablePart(everything, table.counts),))
    if undivided is not None:
        raise budget.refuse_rows(rows, cells, undivided, each)
    judge, form = _Judge(table, requirement), requirement.frequency_form()
    able = _largest_parts(table, form)
    least = _FEWEST_KEPT * max(requirement.k, 2)
    needed = _fewest_together(table, able, form)
    more = [_TIMES_NEEDED * needed] if most < _TOO_FEW * needed else []
    for staying in (*more, most):  # as many as fit where more of them cannot be cut into parts
        aside = _set_aside(table, judge, form, able, least=least, most=staying)
        parts, uncut = _cut_up(table, judge, table.counts - aside, most)
        if not uncut:
            return Division(aside=aside, parts=tuple(parts))
    why = "Some rows cannot be told apart further without leaving the others too few"
    raise budget.refuse_rows(uncut, cells, why, each)


def _cut_up(table: Table, judge: _Judge, kept: NDArray[np.int64], most: int) -> tuple[list[TablePart], int]:
    """Return parts that have at most so many rows each, and the rows of a part that cannot be cut, if there is one."""
    parts: list[TablePart] = []
    there = np.flatnonzero(kept > 0)
    waiting = [TablePart(there, kept[there])]
    while waiting:
        part = waiting.pop()
        if (rows := int(part.counts.sum())) <= most:
            parts.append(part)
            continue
        cut = _cut(table, judge, part) or _halves(table, judge, part)
        if cut is None:
            return parts, rows
        waiting.extend(cut)
    return parts, 0


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
            sums = rows_by_code(place, len(keys), counts[there])
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
        """Return whether some rows are acceptable as one group, and there is one."""
        chosen = np.zeros(self._table.rows, dtype=np.int64)
        chosen[part.cells] = part.counts
        one = np.zeros(self._table.rows, dtype=np.int64)
        return bool(chosen.any()) and bool(self.acceptable(one, chosen, 1)[0])


def _set_aside(
    table: Table, judge: _Judge, form: FrequencyForm | None, able: NDArray[np.int64], *, least: int, most: int
) -> NDArray[np.int64]:
    """Return how many rows of each cell are set aside, so that at most so many are left where that is possible."""
    assert table.counts is not None
    classes = table.classes
    of_row = classes.of_rows
    sizes = rows_by_code(of_row, classes.count, able)
    others = table.people - int(sizes.sum())
    # As large a share of each class stays as fits, and some rows in any case.
    low, high = 0, _SHARES
    while low < high:
        share = (low + high + 1) // 2
        if others + int(_staying(sizes, share, least).sum()) <= most:
            low = share
        else:
            high = share - 1
    stay = _staying(sizes, low, least)
    in_proportion = able - -(-able * stay[of_row] // np.maximum(sizes, 1)[of_row])
    tight = in_proportion if form is None else _tight(table, able, sizes - stay, of_row, form)
    aside = np.zeros_like(able)
    # The first of these that is acceptable: rounding breaks the share of a class that is only just acceptable.
    for tried in (tight, in_proportion, able):
        still = np.bincount(of_row, weights=aside, minlength=classes.count) == 0
        fits = judge.acceptable(of_row, tried, classes.count) & still
        aside = np.where(fits[of_row], tried, aside)
    aside[(stay == sizes)[of_row]] = 0
    everything = np.arange(table.rows, dtype=np.int64)
    return aside if judge.accepts(TablePart(everything, table.counts - aside)) else np.zeros_like(aside)


def _fewest_together(table: Table, able: NDArray[np.int64], form: FrequencyForm | None) -> int:
    """Return how many rows are together at least with those that no class can keep: l times the commonest value."""
    if form is None or not table.sensitive:
        return 0
    assert table.counts is not None
    over = rows_by_code(table.sensitive[0].codes, table.sensitive[0].size, table.counts - able)
    return int(over.max(initial=0) * form.l.numerator // form.l.denominator)


def _staying(sizes: NDArray[np.int64], share: int, least: int) -> NDArray[np.int64]:
    """Return how many rows of each class stay: a share of them, and not too few."""
    return np.minimum(sizes, np.maximum(-(-sizes * share // _SHARES), least))


def _tight(
    table: Table, able: NDArray[np.int64], most: NDArray[np.int64], of_row: NDArray[np.int64], form: FrequencyForm
) -> NDArray[np.int64]:
    """Return rows of each class, at most so many, of which as many as may be have a value that is left over elsewhere.

    What stays has few of these values then, and can take rows of other classes in.
    """
    assert table.counts is not None
    if not table.sensitive or form.l == 1:
        return np.zeros_like(able)
    codes = table.sensitive[0].codes
    over = rows_by_code(codes, table.sensitive[0].size, table.counts - able)
    # Values that the rows which are left over have too many of.
    critical = (over * form.l.numerator > over.sum() * form.l.denominator)[codes]
    highest = (most * form.l.denominator // form.l.numerator)[of_row]
    tight = np.where(critical, np.minimum(able, highest), 0)
    of_critical = rows_by_code(of_row, len(most), tight)
    of_others = rows_by_code(of_row, len(most), np.where(critical, 0, able))
    left = np.maximum(most - of_critical, 0)
    return np.where(critical, tight, np.minimum(able * left[of_row] // np.maximum(of_others, 1)[of_row], highest))


def _largest_parts(table: Table, form: FrequencyForm | None) -> NDArray[np.int64]:
    """Return how many rows of each cell may be in a group of their class alone.

    That is phase one of TP (Xiao, Yi, Tao 2010, Section 5.2) where the requirement has the form that it serves. Of any
    other requirement all rows of a class are tried.
    """
    assert table.counts is not None
    classes = table.classes
    if form is None or len(classes.cell_values) != table.rows:
        return table.counts
    moved = np.zeros(max(table.sensitive[0].size, 1) if table.sensitive else 1, dtype=np.int64)
    form = form.within(table.people)
    num, den = form.l.numerator, form.l.denominator
    keep = phase_one(classes.cell_counts, classes.cell_values, classes.class_starts, num, den, form.k, moved)
    able = np.empty(table.rows, dtype=np.int64)
    able[classes.order] = keep
    return able


def _cut(table: Table, judge: _Judge, part: TablePart) -> tuple[TablePart, TablePart] | None:
    """Return the two sides of the first cut that leaves both acceptable, of the attribute with the widest range first.

    Cuts are at the weighted median, or next to it. None where no attribute can be cut.
    """
    columns = table.quasi_identifiers
    spreads = [len(np.unique(column.codes[part.cells])) / column.size for column in columns]
    for a in sorted(range(len(columns)), key=lambda one: (-spreads[one], one)):
        codes = columns[a].codes[part.cells].astype(np.int64)
        below = np.cumsum(rows_by_code(codes, columns[a].size, part.counts))
        median = int(np.searchsorted(below, below[-1] // 2))
        for last in (median, median - 1):
            left = codes <= last
            sides = TablePart(part.cells[left], part.counts[left]), TablePart(part.cells[~left], part.counts[~left])
            if all(judge.accepts(side) for side in sides):
                return sides
    return None


def _halves(table: Table, judge: _Judge, part: TablePart) -> tuple[TablePart, TablePart] | None:
    """Return two parts with half of the rows of each cell, for rows that no quasi-identifier can divide.

    Each sensitive value is in both as often, or once more in one. None where one of them is not acceptable.
    """
    values = table.sensitive[0].codes[part.cells] if table.sensitive else np.zeros(len(part.cells), dtype=np.int64)
    order = np.argsort(values, kind="stable")
    halved = np.empty_like(part.counts)
    halved[order] = np.diff(np.cumsum(part.counts[order]) // 2, prepend=0)
    sides = tuple(TablePart(part.cells[some > 0], some[some > 0]) for some in (halved, part.counts - halved))
    return (sides[0], sides[1]) if all(judge.accepts(side) for side in sides) else None
