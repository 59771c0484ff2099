"""The cascade: TP's phase one on all but one attribute, all but two, and so on; the default refinement of TP+.

The rows that phase one of TP moves are grouped again by all quasi-identifiers but one, and each group is cut down to
its largest acceptable part, which costs one star a row. The other rows are grouped by all but two, and so on through
the patterns of stars. If the waiting rows of one projection are not acceptable together, groups that fit the same
projection and have rows to spare give the missing rows, the groups with the most stars first, as long as the stars per
waiting row stay within a limit. The last few rows are completed as in TP's phases two and three.

A projection is a combination of values of the attributes that a pattern does not star. A cell holds the rows of one
class, projection or group that share a sensitive value; an item is the part of a cell of the table without a group.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress
from shoal.algorithms.base import Guarantee, Partition, Problem
from shoal.algorithms.tp.cascade_kernel import Frequency, Waiting, keep_largest_parts, project, project_groups
from shoal.algorithms.tp.donors_kernel import (
    GroupCells,
    Offer,
    Spare,
    complete_with_donors,
    complete_with_spare_rows,
    spare_of_groups,
)
from shoal.algorithms.tp.three_phase_kernel import PAUSED, phase_three, phase_two
from shoal.errors import InternalError
from shoal.models.requirement import FrequencyForm
from shoal.table import EquivalenceClasses, Table
from shoal.table.classes import mixed_radix_keys
from shoal.table.counts import rows_by_code
from shoal.table.sorting_kernel import cell_runs, sort_by_key

_CELLS_PER_CALL = 1 << 28
"""Number of cells that a phase looks at before it returns for an interrupt: less than a second."""


def complete_residue(
    keep: NDArray[np.int32],
    values: NDArray[np.int32],
    starts: NDArray[np.int32],
    form: FrequencyForm,
    moved: NDArray[np.int64],
) -> int:
    """Move rows from acceptable groups to a residue until the residue is acceptable too.

    Parameters
    ----------
    keep : int32 array of shape (cells,)
        Rows that each cell of each group holds; changed in place. Every group is acceptable, before and after.
    values : int32 array of shape (cells,)
        Sensitive value of each cell.
    starts : int32 array of shape (groups + 1,)
        Start of each group among the cells.
    form : FrequencyForm
        The requirement. All rows together satisfy it.
    moved : int64 array of shape (m,)
        Rows of the residue by sensitive value; changed in place.

    Returns
    -------
    int
        The phase that completed the residue: 1 if it was acceptable from the start, 2, 3, or 4 if whole groups had to
        be dissolved, which never happens for an integer l >= k (Xiao, Yi, Tao 2010, Lemma 5.18).
    """
    num, den, k = form.l.numerator, form.l.denominator, form.k

    def acceptable() -> bool:
        size = int(moved.sum())
        return size == 0 or (num * int(moved.max()) <= den * size and size >= k)

    # The phases in the order of the paper; each starts from the end of the one before.
    if acceptable():
        return 1
    given = keep, values, starts, num, den, k, moved, _CELLS_PER_CALL
    while (ended := phase_two(*given)) == PAUSED:
        pass
    if ended:
        return 2
    ended = phase_three(*given, False)
    while ended == PAUSED:
        ended = phase_three(*given, True)
    if ended:
        return 3
    # Last resort: dissolve whole groups, the smallest first, because they add the fewest rows.
    sizes = np.add.reduceat(keep, starts[:-1])
    for group in np.argsort(sizes, kind="stable"):
        cells = slice(starts[group], starts[group + 1])
        np.add.at(moved, values[cells], keep[cells])
        keep[cells] = 0
        if acceptable():
            return 4
    raise InternalError("a residue could not be completed although the whole table is acceptable")


_KEY_LIMIT = 1 << 62
"""Keys of rows stay below this, so that they fit into 63 bits."""
MOST_ATTRIBUTES = 63
"""Largest number of quasi-identifiers of a cascade: a pattern of stars is a set of bits."""
_MOST_PATTERNS = 4096
"""Largest number of patterns of stars that are tried, patterns of few stars first."""
_ANY_PRICE = 1 << 40
"""More stars than a waiting row can cost: no limit on the price of donors."""
_SHORTEST_CHAIN = 64
"""Smallest limit on the number of groups that are tried as donors for each projection."""
_DONOR_WORK = 2_000_000
"""Number of groups that are tried as donors in all: its share for each waiting item limits the search."""
_INTERLEAVED_WORK = 1 << 24
"""Largest product of rows and sets of attributes for which spare rows are used after every level of stars."""
_INTERLEAVED_PATTERNS = 1 << 9
"""Largest number of patterns for which spare rows are used after every level of stars."""
_SPARE_LEVELS = 2
"""Levels of stars after which spare rows are used in any table."""


def star_patterns(sizes: Sequence[int], most: int = _MOST_PATTERNS) -> list[tuple[int, ...]]:
    """List the attributes that each pattern stars: fewest stars first, and large domains starred first.

    The list has all 2**d - 2 patterns between no star and only stars or, if there are more than `most`, the first
    patterns of each number of stars.

    Examples
    --------
    >>> star_patterns([2, 79, 9])
    [(1,), (2,), (0,), (1, 2), (1, 0), (2, 0)]
    """
    d = len(sizes)
    # A star on a large domain tends to join more classes for the same price.
    by_size = sorted(range(d), key=lambda a: -sizes[a])
    # A share for each number of stars, so that no level is empty.
    share = most if 2**d <= most else max(most // d, d)
    return [stars for count in range(1, d) for stars in islice(combinations(by_size, count), share)]


@dataclass(frozen=True, kw_only=True, repr=False)
class _WaitingItems:
    """Items of rows without a group; `left` changes as rows are assigned. See `Waiting` for the fields."""

    codes: NDArray[np.int32]
    values: NDArray[np.int32]
    left: NDArray[np.int32]
    table_cells: NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, repr=False)
class _Groups:
    """Groups: the codes of the first entry of each, its pattern as bits, and its cells (without keys)."""

    codes: NDArray[np.int32]
    pattern: NDArray[np.int64]
    cells: GroupCells


class Cascade:
    """One run of the cascade on a table: it assigns every row without a group to a group.

    Parameters
    ----------
    table : Table
        With at most `MOST_ATTRIBUTES` quasi-identifiers.
    form : FrequencyForm
        The requirement.
    keep : int32 array of shape (cells,)
        Rows of each cell of the table that stay in their class; they are acceptable. The others have no group.
    progress : Progress
    patterns : list of tuple, optional
        The attributes that each pattern stars, in the order to try them. None uses `star_patterns`.
    """

    def __init__(
        self,
        *,
        table: Table,
        form: FrequencyForm,
        keep: NDArray[np.int32],
        progress: Progress,
        patterns: list[tuple[int, ...]] | None = None,
    ) -> None:
        self._table, self._form, self._progress = table, form, progress
        self._sizes = [column.size for column in table.quasi_identifiers]
        self._radix = max(table.sensitive[0].size, 1) if table.sensitive else 1
        kept = entries_of_classes(table.classes, keep)
        # Entries in the order of their groups, in parts that are joined when they are read.
        self._entries = [kept]
        self._next_group = int(kept[-1, 1]) + 1 if len(kept) else 0
        self._patterns = star_patterns(self._sizes) if patterns is None else patterns
        self._pattern_of_group = [0] * self._next_group
        # The cells of the residue; a cell without moved rows is left out.
        moved = table.classes.cell_counts - keep
        cells = np.flatnonzero(moved).astype(np.int32)
        self._waiting = _WaitingItems(
            codes=self._codes_of(cells),
            values=table.classes.cell_values[cells],
            left=moved[cells].astype(np.int32),
            table_cells=cells,
        )
        # The place of each cell of the table by its value: entries of groups are sorted by it.
        self._places = np.empty(len(keep), dtype=np.int64)
        self._places[np.argsort(table.classes.cell_values, kind="stable")] = np.arange(len(keep))
        # The items that still have rows without a group; kernels return what remains of them.
        self._active = np.arange(len(cells), dtype=np.int32)
        self._frequency = Frequency(form.l.numerator, form.l.denominator, form.k)

    def run(self) -> int:
        """Assign every row to a group; return the phase of TP that the last rows needed (1 if they needed none)."""
        d = len(self._sizes)
        thorough = self._table.people << d <= _INTERLEAVED_WORK and len(self._patterns) <= _INTERLEAVED_PATTERNS
        # A level is a number of stars: cheap patterns first.
        for level in range(1, d):
            self._progress("cascade", level - 1, d + 1)
            self._keep_largest_parts(level)
            self._drop_served_items()
            if thorough or level <= _SPARE_LEVELS:
                self._complete_with_spare_rows(level)
                self._drop_served_items()
            if thorough:  # spend at most the stars that the next level would cost on donors first
                self._complete_with_donors(level + 1)
        self._progress("cascade", d - 1, d + 1)
        # Donors at the price of all stars, then at any price.
        for price in (2 * d, _ANY_PRICE):
            self._complete_with_donors(price)
        self._progress("cascade", d, d + 1)
        # The last rows, as phases two and three of TP.
        phase = self._complete_last()
        self._progress("cascade", d + 1, d + 1)
        return phase

    @property
    def entries(self) -> NDArray[np.int32]:
        """Cell of the table, group and rows of each entry, in the order of the groups, shape (entries, 3)."""
        self._entries = [np.concatenate(self._entries)]
        return self._entries[0]

    def stars(self) -> int:
        """Return an upper bound on the stars: rows of a group may agree on an attribute that its pattern stars."""
        return sum(stars * rows for stars, rows in self.rows_by_stars().items())

    def suppressed_tuples(self) -> int:
        """Count the rows in groups whose pattern has a star."""
        return sum(rows for stars, rows in self.rows_by_stars().items() if stars)

    def rows_by_stars(self) -> dict[int, int]:
        """Count the rows by the number of starred attributes of their group."""
        # Every row has a group here, and all rows of a group have the stars of its pattern.
        stars = np.array([pattern.bit_count() for pattern in self._pattern_of_group], dtype=np.int64)
        rows = rows_by_code(stars[self.entries[:, 1]], len(self._sizes) + 1, self.entries[:, 2])
        return {number: int(count) for number, count in enumerate(rows) if count}

    def _codes_of(self, cells: NDArray[np.int32]) -> NDArray[np.int32]:
        """Collect the quasi-identifiers of cells of the table in a matrix, one line for each cell."""
        rows = self._table.classes.first_rows[cells]
        codes = np.empty((len(rows), len(self._sizes)), dtype=np.int32)
        for a, column in enumerate(self._table.quasi_identifiers):
            codes[:, a] = column.codes[rows]
        return codes

    def _project(self, stars: tuple[int, ...], groups: _Groups | None = None) -> tuple[Waiting, NDArray[np.int64]]:
        """Sort the waiting items by projection and value, and project the groups (-1 if a group does not fit)."""
        waiting, active = self._waiting, self._active
        weights, space = self._weights(stars)
        projections = np.empty(0, dtype=np.int64)
        pattern = sum(1 << a for a in stars)
        # Keys are mixed-radix numbers if these fit 62 bits.
        if space * self._radix < _KEY_LIMIT:
            keys = project(waiting.codes, active, weights, waiting.values, self._radix)
            if groups is not None:
                projections = project_groups(groups.codes, groups.pattern, pattern, weights)
        else:  # the projections do not fit one integer: number those in use
            codes = waiting.codes[active] if groups is None else np.concatenate([waiting.codes[active], groups.codes])
            kept = [(codes[:, a].astype(np.uint32), self._sizes[a]) for a in range(len(self._sizes)) if a not in stars]
            ranks = np.unique(mixed_radix_keys(kept, len(codes))[0], return_inverse=True)[1]
            keys, space = ranks[: len(active)] * self._radix + waiting.values[active], len(codes)
            if groups is not None:
                fits = (groups.pattern & ~pattern == 0) & (groups.pattern != pattern)
                projections = np.where(fits, ranks[len(active) :], -1)
        # Radix sort by projection and value; the kernels read runs.
        keys, items = sort_by_key(keys, active.copy(), (space * self._radix - 1).bit_length())
        return Waiting.of(keys, items, self._radix, left=waiting.left, table_cells=waiting.table_cells), projections

    def _weights(self, stars: tuple[int, ...]) -> tuple[NDArray[np.int64], int]:
        """Compute the weight of each attribute in a projection's key (0 if starred), and the number of keys."""
        weights = np.zeros(len(self._sizes), dtype=np.int64)
        space = 1
        for a, size in enumerate(self._sizes):
            # Beyond the limit the keys are not used: see `_project`.
            if a not in stars:
                weights[a] = min(space, _KEY_LIMIT)
                space *= size
        return weights, space

    def _record_groups(self, stars: tuple[int, ...], made: tuple[NDArray[np.int32], NDArray[np.int32], int]) -> None:
        """Record new groups of a pattern: the items that still wait, the entries, and the next free group number."""
        self._active, entries, next_group = made
        self._entries.append(entries)
        self._pattern_of_group.extend([sum(1 << a for a in stars)] * (next_group - self._next_group))
        self._next_group = next_group

    def _drop_served_items(self) -> None:
        """Drop the items without a waiting row, so that the next steps read the others from consecutive memory."""
        waiting, active = self._waiting, self._active
        self._waiting = _WaitingItems(
            codes=waiting.codes[active],
            values=waiting.values[active],
            left=waiting.left[active],
            table_cells=waiting.table_cells[active],
        )
        self._active = np.arange(len(active), dtype=np.int32)

    def _keep_largest_parts(self, level: int) -> None:
        """Run phase one of TP on the waiting items, for each pattern of `level` stars."""
        for stars in self._patterns:
            if len(stars) != level or len(self._active) == 0:
                continue
            waiting, _ = self._project(stars)
            self._record_groups(stars, keep_largest_parts(waiting, self._frequency, self._next_group))

    def _collect_groups(self, first: int = 0) -> _Groups:
        """Sort the entries of the groups from number `first` on into cells; the groups with the most stars come last.

        Entries of a cell come in the order of the classes, so that nothing depends on the order of the table. Their
        rows may be given away in place.
        """
        entries, cells = self.entries, len(self._places)
        before, entries = np.split(entries, [np.searchsorted(entries[:, 1], first)])
        entries = entries[entries[:, 2] > 0]
        keys = entries[:, 1].astype(np.int64) * cells + self._places[entries[:, 0]]
        order = np.arange(len(entries), dtype=np.int32)
        _, order = sort_by_key(keys, order, (max(self._next_group, 1) * cells - 1).bit_length())
        entries = entries[order]
        self._entries = [before, entries]
        # Runs of equal keys are the cells; the first entry of a group has its codes.
        keys = entries[:, 1].astype(np.int64) * self._radix + self._table.classes.cell_values[entries[:, 0]]
        entry_starts, values, starts = cell_runs(keys, self._radix)
        firsts = entry_starts[starts[:-1]]
        pattern = np.array(self._pattern_of_group, dtype=np.int64)[entries[firsts, 1]]
        cells_of_groups = GroupCells(
            keys=np.empty(0, dtype=np.int64),
            stars=np.bitwise_count(pattern).astype(np.int64),
            values=values,
            counts=np.add.reduceat(entries[:, 2], entry_starts[:-1], dtype=np.int32),
            starts=starts,
            sizes=np.add.reduceat(entries[:, 2], firsts, dtype=np.int64),
            entries=entries,
            entry_starts=entry_starts,
            last=entry_starts[1:] - np.int32(1),
        )
        return _Groups(codes=self._codes_of(entries[firsts, 0]), pattern=pattern, cells=cells_of_groups)

    def _complete_with_spare_rows(self, level: int) -> None:
        """Complete waiting rows with rows of groups that have the same number of stars and can lose them."""
        if len(self._active) == 0 or prod(self._sizes) * self._radix >= _KEY_LIMIT:
            return
        # Patterns are made in the order of their stars: groups of this level are the last ones.
        first = bisect_left(self._pattern_of_group, level, key=int.bit_count)
        groups = self._collect_groups(first).cells
        # Entries of groups that can lose at least one row.
        spare = spare_of_groups(groups.counts, groups.starts, *self._frequency)
        lengths = np.diff(groups.entry_starts[groups.starts])
        group = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        loose = np.flatnonzero(spare[group] > 0)
        if len(loose) == 0:
            return
        entries, group = groups.entries[loose], group[loose]
        values, codes = self._table.classes.cell_values[entries[:, 0]], self._codes_of(entries[:, 0])
        all_entries = np.arange(len(entries), dtype=np.int32)
        zeros = np.zeros(len(entries), dtype=np.int32)
        # Offer the rows for each pattern of the level; a row that moves is gone for the next pattern.
        for stars in self._patterns:
            if len(stars) != level or len(self._active) == 0:
                continue
            waiting, _ = self._project(stars)
            keys = project(codes, all_entries, self._weights(stars)[0], zeros, 1)
            given = Spare(keys=keys, values=values, entries=entries, groups=group, left=spare)
            self._record_groups(stars, complete_with_spare_rows(waiting, self._frequency, given, self._next_group))
        groups.entries[loose] = entries

    def _complete_with_donors(self, price: int) -> None:
        """Complete waiting rows with rows of any group, for at most `price` stars per waiting row."""
        if len(self._active) == 0:
            return
        groups = self._collect_groups()
        # The last pattern stars every attribute: every group fits it.
        all_attributes = tuple(range(len(self._sizes)))
        longest_chain = max(_SHORTEST_CHAIN, _DONOR_WORK // len(self._active))
        donating = np.unique(groups.pattern)
        for stars in [*self._patterns, all_attributes]:
            if len(self._active) == 0:
                break
            pattern = sum(1 << a for a in stars)
            if not (donating[donating != pattern] & ~pattern == 0).any():
                continue  # every group has a star outside this pattern
            waiting, projections = self._project(stars, groups)
            donors = groups.cells._replace(keys=projections)
            offer = Offer(stars=len(stars), price=price, longest_chain=longest_chain)
            made = complete_with_donors(waiting, self._frequency, donors, offer, self._next_group)
            self._record_groups(stars, made)

    def _complete_last(self) -> int:
        """Complete the last rows with rows of any group, most stars first, and renumber the groups without gaps."""
        phase = 1
        # Phases two and three, with the groups of the cascade as donors; the rows become one group of only stars.
        if len(self._active):
            groups = self._collect_groups().cells
            moved = rows_by_code(self._waiting.values, self._radix, self._waiting.left)
            keep = groups.counts.copy()
            phase = complete_residue(keep, groups.values, groups.starts, self._form, moved)
            # The first `keep` rows of each cell stay; the last ones move.
            stay = share_kept_rows(keep, groups.entries[:, 2], groups.entry_starts)
            last = [
                np.column_stack([cells, np.full(len(cells), self._next_group), rows]).astype(np.int32)
                for cells, rows in (
                    (groups.entries[:, 0], groups.entries[:, 2] - stay),
                    (self._waiting.table_cells, self._waiting.left),
                )
            ]
            groups.entries[:, 2] = stay
            all_attributes = tuple(range(len(self._sizes)))
            no_items = np.empty(0, dtype=np.int32)
            self._record_groups(all_attributes, (no_items, np.concatenate(last), self._next_group + 1))
        # Donors may have given all their rows: renumber the groups without the empty ones.
        entries = self.entries[self.entries[:, 2] > 0]
        used = np.bincount(entries[:, 1], minlength=self._next_group) > 0
        entries[:, 1] = (np.cumsum(used, dtype=np.int32) - np.int32(1))[entries[:, 1]]
        self._entries = [entries]
        self._pattern_of_group = [p for p, is_used in zip(self._pattern_of_group, used, strict=True) if is_used]
        self._next_group = int(used.sum())
        return phase


def entries_of_classes(
    classes: EquivalenceClasses, keep: NDArray[np.int32], *, rest: bool = False
) -> NDArray[np.int32]:
    """Make a group of the rows of each class that stay, numbered without gaps.

    Parameters
    ----------
    classes : EquivalenceClasses
    keep : int32 array of shape (cells,)
        Rows of each cell that stay in their class.
    rest : bool
        Whether the other rows are one group, the last one.

    Returns
    -------
    int32 array of shape (entries, 3)
        Cell, group and rows of each entry.
    """
    # Classes that keep no row have no number.
    starts = classes.class_starts
    number = np.cumsum(np.add.reduceat(keep, starts[:-1]) > 0) if len(keep) else keep
    of_cell = np.repeat(number - 1, np.diff(starts))
    parts = [np.column_stack([np.arange(len(keep)), of_cell, keep])]
    if rest:
        last = np.full(len(keep), int(number[-1]))
        parts.append(np.column_stack([np.arange(len(keep)), last, classes.cell_counts - keep]))
    entries = np.concatenate(parts).astype(np.int32)
    return entries[entries[:, 2] > 0]


def share_kept_rows(
    keep: NDArray[np.integer], counts: NDArray[np.int32], starts: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Distribute the kept rows of each run of cells or entries over its members, the first ones first."""
    totals = np.cumsum(counts, dtype=np.int64)
    firsts = starts[:-1]
    before = totals - counts - np.repeat(totals[firsts] - counts[firsts], np.diff(starts))
    shared: NDArray[np.int32] = np.clip(np.repeat(keep, np.diff(starts)) - before, 0, counts).astype(np.int32)
    return shared


def partition_of_entries(
    table: Table, entries: NDArray[np.int32], guarantee: Guarantee, details: dict[str, Any]
) -> Partition:
    """Make the partition of entries of the table's cells; that of the rows if the table has no counts.

    Parameters
    ----------
    table : Table
        If it has counts, each of its rows is a cell.
    entries : int32 array of shape (entries, 3)
        Cell, group and rows of each entry, in the order of the groups.
    guarantee, details
        See `Partition`.
    """
    classes, count = table.classes, int(entries[-1, 1]) + 1
    cells, groups, counts = entries[np.argsort(entries[:, 0], kind="stable")].T
    if table.counts is not None:
        # A cell may have come to a group in several entries.
        new = np.flatnonzero(np.diff(cells, prepend=-1).astype(bool) | np.diff(groups, prepend=-1).astype(bool))
        counts = np.add.reduceat(counts, new, dtype=np.int64)
        rows, groups = classes.first_rows[cells[new]], groups[new]
        return Partition(groups=groups, count=count, guarantee=guarantee, details=details, rows=rows, counts=counts)
    # Rows of a cell are interchangeable: the first ones are in the first of its groups.
    of_row = np.empty(table.rows, dtype=np.int32)
    of_row[classes.order] = np.repeat(groups, counts)
    return Partition(groups=of_row, count=count, guarantee=guarantee, details=details)


def starred_attributes(table: Table, keep: NDArray[np.int32]) -> int:
    """Count the quasi-identifiers that differ among the rows beyond `keep` of each cell: the stars of each, together.

    The rows are not empty.
    """
    rows = table.classes.first_rows[keep < table.classes.cell_counts]
    return sum(bool((column.codes[rows] != column.codes[rows[0]]).any()) for column in table.quasi_identifiers)


Patterns = list[tuple[int, ...]]


def best_cascade(problem: Problem, form: FrequencyForm, keep: NDArray[np.int32], orders: int) -> Cascade:
    """Run the cascade with several orders of the patterns, and return the run with the fewest stars.

    The first order is the cascade's own. Each further order moves one pattern of the best order so far to another place
    among the patterns with as many stars; the random numbers are the same for every table.

    Parameters
    ----------
    problem : Problem
    form : FrequencyForm
        The requirement.
    keep : int32 array of shape (cells,)
        Rows of each cell that stay in their class.
    orders : int
        Number of orders to try after the first.
    """
    random = np.random.default_rng(0)
    chosen = star_patterns([column.size for column in problem.table.quasi_identifiers])
    best: Cascade | None = None
    # Hill climbing: an order that is not worse becomes the start of the next change.
    for number in range(orders + 1):
        patterns = _move_pattern(chosen, random) if number else chosen
        # Each run starts from the end of phase one.
        progress = (lambda *_: None) if orders else problem.progress
        cascade = Cascade(table=problem.table, form=form, keep=keep, progress=progress, patterns=patterns)
        cascade.run()
        if best is None or cascade.stars() <= best.stars():
            best, chosen = cascade, patterns
        if orders:
            problem.progress("cascade", number, orders)
        # A single pattern has a single order.
        if len(chosen) < 2:
            break
    assert best is not None
    return best


def _move_pattern(patterns: Patterns, random: np.random.Generator) -> Patterns:
    """Move one random pattern to another place among the patterns with as many stars."""
    place = int(random.integers(len(patterns)))
    moved = patterns[place]
    # Patterns are sorted by their number of stars: a move must not leave its level.
    first = sum(len(pattern) < len(moved) for pattern in patterns)
    alike = sum(len(pattern) == len(moved) for pattern in patterns)
    changed = [*patterns[:place], *patterns[place + 1 :]]
    changed.insert(first + int(random.integers(alike)), moved)
    return changed
