"""Lower bounds on the stars and suppressed rows of any release of a table with the same requirement.

A row *must change* if no acceptable group of identical rows can hold it: phase one of TP removes it (Xiao, Yi, Tao
2010, Lemma 5.8). Each such row costs a star, and TP's Corollary 5.10 counts the additional rows that change with them.
Beyond the paper, rows are charged more than one star if no projection with one star can hold an acceptable group, and
the groups that they must share are priced by a dual program over the projections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal.algorithms.base import NOTHING_TO_CHANGE
from shoal.algorithms.bounds.column_sets_kernel import fewest_stars
from shoal.algorithms.bounds.stars_kernel import WEIGHT_UNIT, Items, bound_of_weights, raise_weights, viable_cells
from shoal.algorithms.tp.three_phase_kernel import phase_one
from shoal.models.requirement import FrequencyForm, Requirement
from shoal.recoding import rank
from shoal.table import Table
from shoal.table.classes import mixed_radix_keys
from shoal.table.counts import rows_by_code
from shoal.table.sorting_kernel import cell_runs, sort_by_key

_DUAL_WORK = 4_000_000
"""Default number of operations of the dual ascent, on tables of any size."""
_DUAL_WORK_PER_ROW = 40
"""Additional operations for each row of large tables."""
_FEWEST_STEPS = 80
"""Smallest number of steps of the dual ascent: fewer steps do not improve on the start."""
_MOST_STEPS = 400
"""Number of steps beyond which the bound hardly rises, at the usual amount of work."""
_OVERDRAFT = 4
"""The ascent is skipped if the smallest number of steps would take more than this multiple of the work."""
_LEVEL_WORK = 2_000_000
"""Largest product of cells and patterns for which the stars that each row needs are computed."""
_FEW_CELLS = 500
"""Number of cells below which the time of a pattern is constant."""
_PAIRS_WORK = 1_000_000
"""Largest number of operations for which patterns of two stars have a family each."""
_MOST_COMPANY = 1 << 14
"""Largest number of rows that a row is charged for, so that products of weights stay below 2**63."""
_TOLERANCE = 0.05
"""Families within this relative distance of the least price of an item share it in a step of the ascent."""
_PAIRS_ATTRIBUTES = 20
"""Largest number of attributes for which patterns of two stars have a family each."""


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """Lower bound on the cost of any release with the same requirement."""

    stars: int
    """Cells that cannot keep their value."""
    suppressed_tuples: int
    """Rows that cannot keep all their values."""
    why: Fact
    """Reason of the bound on stars."""

    def sharpened(self, stars: int | None, why: Fact | None) -> LowerBound:
        """Choose the larger of this bound and another bound on stars, such as that of an algorithm's run, if any."""
        if stars is None or stars <= self.stars:
            return self
        assert why is not None
        return LowerBound(stars=stars, suppressed_tuples=self.suppressed_tuples, why=why)


@dataclass(frozen=True, kw_only=True)
class Relaxation:
    """Necessary conditions on acceptable groups: at least k rows, `distinct` values, and l * h <= rows."""

    k: int
    l: Fraction
    distinct: int

    @classmethod
    def of(cls, requirement: Requirement, rows: int) -> Relaxation:
        """Derive conditions that every acceptable group satisfies, in a table with a number of rows."""
        # The strictest condition of any model.
        k, l, distinct = 1, Fraction(1), 1
        for model in requirement.group_models:
            form = model.frequency_form() or (1, Fraction(1))
            k = max(k, model.least_rows())
            # The cells of a table are those of its first attribute; of another one only the rows of a group follow.
            if 0 in requirement.positions_of(model):
                l, distinct = max(l, form[1]), max(distinct, model.necessary_distinct())
        l = FrequencyForm(k=k, l=l, sensitive=None).within(rows).l
        return cls(k=max(k, distinct, -(-l.numerator // l.denominator)), l=l, distinct=distinct)


def lower_bound(table: Table, requirement: Requirement, *, target: int, work: int | None = None) -> LowerBound:
    """Bound the cost of every release of a table from below.

    Parameters
    ----------
    table : Table
    requirement : Requirement
        It is feasible for the table.
    target : int
        Stars of a known release: the bound cannot exceed it, and stops there.
    work : int, optional
        Number of elementary operations of the dual program; more operations make the bound tighter. By default it grows
        with the rows.

    Returns
    -------
    LowerBound
        Valid for any `target` and `work`: the dual is evaluated in integers.
    """
    # First the rows that must change, then the stars that they need.
    relaxed = Relaxation.of(requirement, table.people)
    classes = table.classes
    keep, moved = rows_that_can_stay(table, relaxed)
    must_change = int(moved.sum())
    if must_change == 0:
        return LowerBound(stars=0, suppressed_tuples=0, why=NOTHING_TO_CHANGE)
    tuples, why = _fewest_tuples(relaxed, moved, classes.class_sizes)
    if len(table.quasi_identifiers) < 2:
        return LowerBound(stars=tuples, suppressed_tuples=tuples, why=why)
    work = _usual_work(table) if work is None else work
    stars = _stars_of(table, relaxed, classes.cell_counts - keep, target=target, work=work)
    if stars > tuples:
        why = Fact("projections")
    return LowerBound(stars=max(stars, tuples), suppressed_tuples=tuples, why=why)


def _usual_work(table: Table) -> int:
    return max(_DUAL_WORK, _DUAL_WORK_PER_ROW * table.rows)


def rows_that_can_stay(table: Table, relaxed: Relaxation) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Count the rows of each cell that a group of identical rows can hold, and the rows of each value that none can."""
    classes = table.classes
    starts = classes.class_starts
    m = max(table.sensitive[0].size, 1) if table.sensitive else 1
    moved = np.zeros(m, dtype=np.int64)
    num, den = relaxed.l.numerator, relaxed.l.denominator
    keep: NDArray[np.int32]
    keep = phase_one(classes.cell_counts, classes.cell_values, starts, num, den, relaxed.k, moved)
    # Classes with too few values cannot keep any row.
    if relaxed.distinct > 1:
        poor = np.repeat(np.diff(starts) < relaxed.distinct, np.diff(starts))
        np.add.at(moved, classes.cell_values[poor], keep[poor])
        keep[poor] = 0
    return keep, moved


def _fewest_tuples(relaxed: Relaxation, moved: NDArray[np.int64], sizes: NDArray[np.int64]) -> tuple[int, Fact]:
    """Bound the rows that change by the rows that must (Corollaries 5.9 and 5.10; Theorem 10 of Liang and Yuan)."""
    must_change = int(moved.sum())
    bounds = [(must_change, Fact("residue"))]
    along = -(-relaxed.l.numerator * int(moved.max()) // relaxed.l.denominator)
    bounds.append((along, Fact("pillar")))
    bounds.append((relaxed.k, Fact("k_change")))
    if relaxed.l == 1 and relaxed.distinct == 1:
        large = sizes[sizes >= relaxed.k]
        if must_change + int((large - relaxed.k).sum()) < relaxed.k and len(large):
            bounds.append((must_change + int(large.min()), Fact("large_class_given_up")))
    return max(bounds, key=lambda bound: bound[0])


def _stars_of(table: Table, relaxed: Relaxation, changing: NDArray[np.int32], *, target: int, work: int) -> int:
    """Bound the stars of the rows that must change, given their number in each cell."""
    cells = _Cells.of(table, relaxed)
    items = np.flatnonzero(changing)
    level = cells.fewest_stars(items)
    d = len(cells.codes)
    # Families: each pattern of one star, of two stars if affordable, and one family for each larger number of stars.
    families = [_Family(starred=(a,), stars=1) for a in range(d)]
    if 2 < d <= _PAIRS_ATTRIBUTES and len(items) * d * d <= _PAIRS_WORK:
        families += [_Family(starred=pair, stars=2) for pair in combinations(range(d), 2)]
    families += [_Family(starred=tuple(range(d)), stars=stars) for stars in _rest(families[-1].stars, level)]
    # Fewer steps than `_FEWEST_STEPS` do not improve on the start: spend more work on them, or none. On small tables,
    # on which steps are cheap, some hundreds of them come close to the best bound.
    size = len(items) * len(families)
    usual = _usual_work(table)
    steps = max(_FEWEST_STEPS, min(work // size, _MOST_STEPS * max(work // usual, 1)))
    if steps * size > _OVERDRAFT * work:
        return _stars_without_sharing(cells, items, changing, level)
    if relaxed.l == 1:  # values do not matter: the initial weights are optimal
        steps = 0
    return _dual_bound(_items(cells, families, items, changing, level), relaxed.l, target=target, steps=steps)


@dataclass(frozen=True, kw_only=True)
class _Family:
    """Patterns of stars whose groups are priced by their projections."""

    starred: tuple[int, ...]
    """The starred attributes; all of them if projections are not distinguished."""
    stars: int
    """Number of stars of a row."""


def _rest(before: int, level: NDArray[np.int64]) -> range:
    """List the numbers of stars of the families after those with `before` stars.

    The last number also stands for all patterns of more stars.
    """
    return range(before + 1, max(before + 1, int(level.max(initial=0))) + 1)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Cells:
    """The cells of a table, and their projections under patterns of stars."""

    codes: list[NDArray[np.uint32]]
    """Codes of each quasi-identifier."""
    sizes: list[int]
    """Number of codes of each."""
    values: NDArray[np.uint32]
    """The sensitive value of each cell."""
    m: int
    counts: NDArray[np.int32]
    relaxed: Relaxation

    @classmethod
    def of(cls, table: Table, relaxed: Relaxation) -> _Cells:
        classes = table.classes
        representatives = classes.first_rows
        return cls(
            codes=[column.codes[representatives] for column in table.quasi_identifiers],
            sizes=[column.size for column in table.quasi_identifiers],
            values=classes.cell_values.astype(np.uint32),
            m=max(table.sensitive[0].size, 1) if table.sensitive else 1,
            counts=classes.cell_counts,
            relaxed=relaxed,
        )

    def projected(
        self, stars: tuple[int, ...], chosen: NDArray[np.int32] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Sort cells (all by default) by their keys under a pattern; return the keys and the cells.

        A key is the projection and the sensitive value; the projection is `key // m`.
        """
        # The sensitive value is the last digit of the key.
        kept = [a for a in range(len(self.codes)) if a not in stars]
        columns = [(self.codes[a], self.sizes[a]) for a in kept] + [(self.values, self.m)]
        if chosen is not None:
            columns = [(codes[chosen], size) for codes, size in columns]
        many = len(self.values) if chosen is None else len(chosen)
        keys, bits = mixed_radix_keys(columns, many)
        cells = np.arange(many, dtype=np.int32) if chosen is None else chosen.copy()
        keys, cells = sort_by_key(keys, cells, bits)
        return keys, cells

    def fewest_stars(self, items: NDArray[np.intp]) -> NDArray[np.int64]:
        """Compute for each given cell the fewest stars of a pattern whose projection can hold a group of it.

        The result is a lower bound: if there are too many patterns, only those of the fewest stars are tested, and on
        few cells those of the most stars, too: a row that none of them holds needs more.
        """
        d, n = len(self.codes), len(self.values)
        level = np.ones(len(items), dtype=np.int64)
        left, work = np.arange(len(items)), 0
        # Upwards from one star, while the patterns are affordable.
        for stars in range(1, d):
            work += max(n, _FEW_CELLS) * comb(d, stars)
            if work > _LEVEL_WORK or len(left) == 0:
                break
            left = left[~self._held(stars)[items[left]]]
            level[left] = stars + 1
        else:
            return level
        # Downwards from the most stars: a row not held there needs at least one more.
        work = 0
        for most in range(d - 1, stars - 1, -1):
            work += _FEW_CELLS * comb(d, most)
            if n >= _FEW_CELLS or work > _LEVEL_WORK or len(left) == 0:
                break
            held = self._held(most)[items[left]]
            level[left[~held]] = most + 1
            left = left[held]
        return level

    def _held(self, stars: int) -> NDArray[np.bool_]:
        """Test for each cell whether a pattern with a number of stars has a projection that can hold a group of it."""
        able = np.zeros(len(self.values), dtype=np.bool_)
        for pattern in combinations(range(len(self.codes)), stars):
            able |= self.viable(*self.projected(pattern))
        return able

    def viable(self, keys: NDArray[np.int64], cells: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Test for each cell whether its projection can hold a group; see `projected`."""
        l, k, distinct = self.relaxed.l, self.relaxed.k, self.relaxed.distinct
        able: NDArray[np.bool_] = viable_cells(
            keys, cells, self.m, self.counts, l.numerator, l.denominator, k, distinct
        )
        return able


def _stars_without_sharing(
    cells: _Cells, items: NDArray[np.intp], changing: NDArray[np.int32], level: NDArray[np.int64]
) -> int:
    """Charge each row its fewest possible stars, and its share of the smallest group with these stars.

    This is the value of the dual program before its first step if pairs of stars have no families of their own.
    """
    k, rows = cells.relaxed.k, changing[items].astype(np.int64)
    # Start with the families of two and more stars.
    least = np.full(len(items), np.iinfo(np.int64).max)
    rest = _rest(1, level)
    for stars in rest:
        able = (level <= stars) | (stars == rest[-1])
        least[able] = np.minimum(least[able], stars * _company(rows[able].sum(keepdims=True), k))
    # Then each pattern of one star, for the rows that it can hold.
    for a in range(len(cells.codes)):
        keys, sorted_cells = cells.projected((a,))
        held = cells.viable(keys, sorted_cells)[sorted_cells] & (changing[sorted_cells] > 0)
        keys, sorted_cells = keys[held], sorted_cells[held]
        number = np.cumsum(np.diff(keys // cells.m, prepend=-1) != 0) - 1
        together = np.bincount(number, weights=changing[sorted_cells]).astype(np.int64)
        charge = np.full(len(changing), least.max(initial=0), dtype=np.int64)
        charge[sorted_cells] = _company(together, k)[number]
        least = np.minimum(least, charge[items])
    return int(-(-int((rows * least).sum()) // WEIGHT_UNIT))


def _company(rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Compute the smallest number of rows in groups for each of `rows` that could be together."""
    company = WEIGHT_UNIT * min(k, _MOST_COMPANY) // np.maximum(rows, 1)
    return np.asarray(np.maximum(WEIGHT_UNIT, company), dtype=np.int64)


def _items(
    table: _Cells,
    families: list[_Family],
    items: NDArray[np.intp],
    changing: NDArray[np.int32],
    level: NDArray[np.int64],
) -> Items:
    """Sort the items (cells with rows that must change, with their numbers) into the projections of every family.

    Only projections and values of items are numbered.
    """
    cell_of = np.empty((len(items), len(families)), dtype=np.int32)
    pair_of = np.empty_like(cell_of)
    pair_starts: list[NDArray[np.int64]] = []
    cells = pairs = 0
    # Cells and pairs of all families share one numbering.
    for f, family in enumerate(families):
        if family.stars == 1:
            keys, sorted_cells = table.projected(family.starred)
            # Weights on cells without items would only reduce those of the others.
            held = (table.viable(keys, sorted_cells) & (changing > 0))[sorted_cells]
            keys, sorted_cells = keys[held], sorted_cells[held]
        else:
            able = items if f == len(families) - 1 else items[level <= family.stars]
            keys, sorted_cells = table.projected(family.starred, able.astype(np.int32))
        pair, cell, starts = _runs_of(keys, sorted_cells, table.m, len(changing))
        cell_of[:, f] = np.where(cell[items] >= 0, cell[items] + cells, -1)
        pair_of[:, f] = pair[items] + pairs
        pair_starts.append(starts[:-1] + pairs)
        cells += len(starts) - 1
        pairs += int(starts[-1])
    # Rows that each cell could hold, for the charge per row.
    held = cell_of >= 0
    rows = changing[items].astype(np.int64)
    together = np.bincount(cell_of[held], weights=np.repeat(rows, held.sum(axis=1)), minlength=cells)
    return Items(
        cell_of=cell_of,
        pair_of=pair_of,
        stars=np.array([family.stars for family in families], dtype=np.int64),
        pair_starts=np.concatenate([*pair_starts, [pairs]]).astype(np.int64),
        rows=rows,
        company=_company(together.astype(np.int64), table.relaxed.k),
    )


def _runs_of(
    keys: NDArray[np.int64], sorted_cells: NDArray[np.int32], m: int, size: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Find for each cell its run of equal keys and of equal projections, and the start of each projection's runs.

    A cell that is not among the sorted cells has the projection -1.
    """
    run_starts, _, starts = cell_runs(keys, m)
    run = np.repeat(np.arange(len(run_starts) - 1, dtype=np.int32), np.diff(run_starts))
    projection = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    pair = np.zeros(size, dtype=np.int32)
    pair[sorted_cells] = run
    cell = np.full(size, -1, dtype=np.int32)
    cell[sorted_cells] = projection[run]
    return pair, cell, starts.astype(np.int64)


def _dual_bound(items: Items, l: Fraction, *, target: int, steps: int) -> int:
    lam = np.ones(len(items.pair_starts) - 1)
    beta = np.zeros(int(items.pair_starts[-1]))
    # All weight on lam is the start: the price of a group of k rows.
    scale = scale_of_cells(items)
    if steps:
        lam, beta = raise_weights(items, scale, float(l), lam, beta, float(target), steps, _TOLERANCE)
    # Weights that were not raised are whole numbers; others are rounded down.
    unit = WEIGHT_UNIT - 1 if steps else WEIGHT_UNIT
    rounded = [np.floor(weights * unit).astype(np.int64) for weights in (lam, beta)]
    total = bound_of_weights(items, l.numerator, l.denominator, *rounded)
    return int(-(-int(total) // WEIGHT_UNIT))


def scale_of_cells(items: Items) -> NDArray[np.float64]:
    """Compute the divisor of each cell's steps: the stars of the rows that it could hold, at least 1."""
    held = items.cell_of >= 0
    stars = (items.rows[:, None] * items.stars)[held]
    return np.maximum(np.bincount(items.cell_of[held], weights=stars, minlength=len(items.pair_starts) - 1), 1.0)


_PLACES_PER_ROW = 8
"""Place values may have so many times more numbers than there are rows."""
_MAX_SETS_ALONE = 40
"""Largest number of sets whose own bounds are computed: each takes up to a second."""


def lower_bound_of_sets(table: Table, requirement: Requirement, *, target: int) -> LowerBound:
    """Bound the cost of every release in which each set of the requirement satisfies the models.

    A group of a release that shows the values of a set's columns is a part of the rows of the table with these values.
    If these are too few, each of them has a star in one of the columns. The fewest columns that hit all such sets of a
    row bound its stars, and the cells of different rows are disjoint, so the sum over the rows is a bound. The bound
    of a single set is one as well.

    Parameters
    ----------
    table, requirement
        As for `lower_bound`.
    target : int
        Stars of a known release: the bounds of single sets stop there.
    """
    place = {column.name: a for a, column in enumerate(table.quasi_identifiers)}
    # Sets with fewer columns first, so that the kernel drops the sets that contain them.
    sets = sorted(requirement.counting.sets, key=lambda one: len(one.columns))
    small = np.zeros((table.rows, len(sets)), dtype=np.bool_)
    for s, one in enumerate(sets):
        columns = [table.quasi_identifiers[place[name]] for name in one.columns]
        groups, count = _number_groups([(column.codes, column.size) for column in columns], table.rows)
        small[:, s] = rows_by_code(groups, count, table.counts)[groups] < requirement.of_set(one).least_size
    masks = np.array([sum(1 << place[name] for name in one.columns) for one in sets], dtype=np.int64)
    weights = table.multiplicities
    stars = int(weights @ fewest_stars(small, masks))
    best = LowerBound(stars=stars, suppressed_tuples=int(weights[small.any(axis=1)].sum()), why=Fact("hit_sets"))
    # Single sets, whose bounds count the rows that their groups of stars need.
    if len(sets) <= _MAX_SETS_ALONE:
        for one in sets:
            columns = [table.quasi_identifiers[place[name]] for name in one.columns]
            alone = replace(table, quasi_identifiers=tuple(columns))
            found = lower_bound(alone, requirement.of_set(one), target=target)
            best = replace(best, suppressed_tuples=max(best.suppressed_tuples, found.suppressed_tuples))
            if found.stars > best.stars:
                best = replace(best, stars=found.stars, why=Fact("largest_set"))
    return best if best.suppressed_tuples or best.stars else replace(best, why=NOTHING_TO_CHANGE)


def _number_groups(columns: Sequence[tuple[NDArray[Any], int]], rows: int) -> tuple[NDArray[np.int64], int]:
    """Group rows by their codes: by place values if these are few, which is quicker than sorting."""
    count = prod(size for _, size in columns)
    if count > _PLACES_PER_ROW * rows:
        return rank(columns, rows)
    groups = np.zeros(rows, dtype=np.int64)
    for codes, size in columns:
        groups *= size
        groups += codes
    return groups, count
