"""Lower bounds: what any release with the same requirement must pay on this table.

A row *must change* when no acceptable group of identical rows can hold it: phase one of TP removes it (Xiao, Yi, Tao
2010, Lemma 5.8). Each such row costs a star, and TP's Corollary 5.10 counts the rows that they drag along. Beyond the
paper, rows are charged more than one star where no projection with one star can hold an acceptable group, and the
groups that they must share are priced by a dual program over the projections.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.bounds.stars_kernel import WEIGHT_UNIT, Items, bound_of_weights, raise_weights, viable_cells
from shoal.algorithms.tp.three_phase_kernel import phase_one
from shoal.models import FrequencyForm
from shoal.table.classes import mixed_radix_keys
from shoal.table.sorting_kernel import cell_runs, sort_by_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.base import Guarantee
    from shoal.models import Requirement
    from shoal.table import Table

__all__ = ["LowerBound", "lower_bound", "scale_of_cells"]

_DUAL_WORK = 4_000_000
"""Operations that the dual ascent may take unless told otherwise."""
_FEWEST_STEPS = 80
"""Fewer steps of the dual ascent do not get beyond where it starts."""
_MOST_STEPS = 400
"""Steps of the dual ascent beyond which the bound hardly rises, at the usual amount of work."""
_OVERDRAFT = 4
"""The ascent is left out where the fewest steps would take more than this multiple of the work."""
_PAIRS_WORK = 1_000_000
"""Operations up to which patterns of two stars have a family each."""
_TOLERANCE = 0.05
"""Families this near to the least price of an item (relatively) share it in a step of the ascent."""
_PAIRS_ATTRIBUTES = 20
"""Attributes up to which they have."""


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """What any release with the same requirement costs at least."""

    stars: int
    """Cells that cannot keep their value."""
    suppressed_tuples: int
    """Rows that cannot keep all their values."""
    why: str
    """What the bound on stars rests on, in words."""

    def sharpened(self, guarantee: Guarantee) -> LowerBound:
        """Return the bound, or what the run of the algorithm itself proved where that is more."""
        if guarantee.stars_bound is None or guarantee.stars_bound <= self.stars:
            return self
        assert guarantee.proof is not None
        return LowerBound(stars=guarantee.stars_bound, suppressed_tuples=self.suppressed_tuples, why=guarantee.proof)


@dataclass(frozen=True, kw_only=True)
class _Relaxation:
    """Conditions that every acceptable group meets: at least k rows, `distinct` values, and l * h <= rows."""

    k: int
    l: Fraction
    distinct: int

    @classmethod
    def of(cls, requirement: Requirement, rows: int) -> _Relaxation:
        k, l, distinct = 1, Fraction(1), 1
        for model in requirement.group_models:
            form = model.frequency_form()
            if form is not None:
                k, l = max(k, form[0]), max(l, form[1])
            distinct = max(distinct, model.necessary_distinct())
        l = FrequencyForm(k=k, l=l, sensitive=None).within(rows).l
        return cls(k=max(k, distinct, -(-l.numerator // l.denominator)), l=l, distinct=distinct)


def lower_bound(table: Table, requirement: Requirement, *, target: int, work: int = _DUAL_WORK) -> LowerBound:
    """Bound the cost of every release of a table from below.

    Parameters
    ----------
    table : Table
    requirement : Requirement
        It is feasible for the table.
    target : int
        Stars of a release that was found: the bound cannot exceed it, and stops there.
    work : int
        How many elementary operations the dual program may take; more make the bound tighter.

    Returns
    -------
    LowerBound
        Valid whatever `target` and `work` are: the dual is evaluated in integers.
    """
    relaxed = _Relaxation.of(requirement, table.people)
    classes = table.classes
    counts, starts = classes.cell_counts, classes.class_starts
    m = max(table.sensitive[0].size, 1) if table.sensitive else 1
    moved = np.zeros(m, dtype=np.int64)
    num, den = relaxed.l.numerator, relaxed.l.denominator
    keep = phase_one(counts, classes.cell_values, starts, num, den, relaxed.k, moved)
    if relaxed.distinct > 1:
        poor = np.repeat(np.diff(starts) < relaxed.distinct, np.diff(starts))
        np.add.at(moved, classes.cell_values[poor], keep[poor])
        keep[poor] = 0
    must_change = int(moved.sum())
    if must_change == 0:
        return LowerBound(stars=0, suppressed_tuples=0, why="every row can keep all its values")
    tuples, why = _fewest_tuples(relaxed, moved, keep, classes.class_sizes)
    if len(table.quasi_identifiers) < 2:
        return LowerBound(stars=tuples, suppressed_tuples=tuples, why=why)
    items = _items(table, relaxed, counts - keep)
    stars = _dual_bound(items, relaxed.l, target=target, work=work)
    if stars > tuples:
        why = "rows that no group of identical rows can hold, priced by the cheapest projections that could hold them"
    return LowerBound(stars=max(stars, tuples), suppressed_tuples=tuples, why=why)


def _fewest_tuples(
    relaxed: _Relaxation, moved: NDArray[np.int64], keep: NDArray[np.int32], sizes: NDArray[np.int64]
) -> tuple[int, str]:
    """Bound the rows that change, from the rows that must (Corollaries 5.9 and 5.10; Theorem 10 of Liang and Yuan)."""
    must_change = int(moved.sum())
    bounds = [(must_change, "residue after phase one: rows that no group of identical rows can hold")]
    along = -(-relaxed.l.numerator * int(moved.max()) // relaxed.l.denominator)
    bounds.append((along, "l times the pillar height of the residue after phase one"))
    bounds.append((relaxed.k, "a group with a changed row has at least k rows, and all of them change"))
    if relaxed.l == 1 and relaxed.distinct == 1:
        large = sizes[sizes >= relaxed.k]
        if must_change + int((large - relaxed.k).sum()) < relaxed.k and len(large):
            bounds.append(
                (must_change + int(large.min()), "small classes cannot be filled without giving up a whole large class")
            )
    return max(bounds, key=lambda bound: bound[0])


def _items(table: Table, relaxed: _Relaxation, changing: NDArray[np.int32]) -> Items:
    """Sort the items (cells with rows that must change, so many of each) into the projections of every pattern.

    Patterns with one star have a family each, those with two as well where that is not too much work; all others share
    one family, as if any rows could meet there.
    """
    classes = table.classes
    items = np.flatnonzero(changing)
    d = len(table.quasi_identifiers)
    representatives = classes.order[classes.cell_starts[:-1]]
    codes = [column.codes[representatives] for column in table.quasi_identifiers]
    patterns: list[tuple[int, ...]] = [(a,) for a in range(d)]
    if 2 < d <= _PAIRS_ATTRIBUTES and len(items) * d * d <= _PAIRS_WORK:
        patterns += combinations(range(d), 2)
    patterns.append(tuple(range(d)))
    m = max(table.sensitive[0].size, 1) if table.sensitive else 1
    cell_of = np.empty((len(items), len(patterns)), dtype=np.int32)
    pair_of = np.empty_like(cell_of)
    pair_starts: list[NDArray[np.int64]] = []
    cells = pairs = 0
    everything = np.arange(len(representatives), dtype=np.int32)
    counts = classes.cell_counts
    for f, stars in enumerate(patterns):
        columns = [(codes[a], table.quasi_identifiers[a].size) for a in range(d) if a not in stars]
        chosen = everything if len(stars) == 1 else items.astype(np.int32)
        keys, bits = mixed_radix_keys(
            [*((c[chosen], size) for c, size in columns), (classes.cell_values[chosen].astype(np.uint32), m)],
            len(chosen),
        )
        keys, sorted_cells = sort_by_key(keys, chosen.copy(), bits)
        pair, cell, starts = _runs_of(keys, sorted_cells, m, len(representatives))
        cell_of[:, f] = cell[items] + cells
        pair_of[:, f] = pair[items] + pairs
        if len(stars) == 1:
            viable = viable_cells(
                keys, sorted_cells, m, counts, relaxed.l.numerator, relaxed.l.denominator, relaxed.k, relaxed.distinct
            )
            cell_of[~viable[items], f] = -1
        pair_starts.append(starts[:-1] + pairs)
        cells += len(starts) - 1
        pairs += int(starts[-1])
    least = [len(stars) for stars in patterns]
    least[-1] = least[-2] + 1
    return Items(
        cell_of=cell_of,
        pair_of=pair_of,
        stars=np.array(least, dtype=np.int64),
        pair_starts=np.concatenate([*pair_starts, [pairs]]).astype(np.int64),
        rows=changing[items].astype(np.int64),
    )


def _runs_of(
    keys: NDArray[np.int64], sorted_cells: NDArray[np.int32], m: int, size: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return for each cell its run of equal keys and of equal projections, and where each projection's runs start."""
    run_starts, _, starts = cell_runs(keys, m)
    run = np.repeat(np.arange(len(run_starts) - 1, dtype=np.int32), np.diff(run_starts))
    projection = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    pair = np.zeros(size, dtype=np.int32)
    pair[sorted_cells] = run
    cell = np.zeros(size, dtype=np.int32)
    cell[sorted_cells] = projection[run]
    return pair, cell, starts.astype(np.int64)


def _dual_bound(items: Items, l: Fraction, *, target: int, work: int) -> int:
    cells = len(items.pair_starts) - 1
    lam = np.ones(cells)
    beta = np.zeros(int(items.pair_starts[-1]))
    # Fewer steps than `_FEWEST_STEPS` do not get beyond where they start: spend more work on them, or none. On small
    # tables, where steps cost next to nothing, they are close to the best that can be had after some hundreds.
    size = items.cell_of.size
    steps = max(_FEWEST_STEPS, min(work // size, _MOST_STEPS * max(work // _DUAL_WORK, 1)))
    if l == 1 or steps * size > _OVERDRAFT * work:
        steps = 0
    scale = scale_of_cells(items) if steps else np.ones(cells)
    lam, beta = raise_weights(items, scale, float(l), lam, beta, float(target), steps, _TOLERANCE)
    lam, beta = (np.floor(weights * (WEIGHT_UNIT - 1)).astype(np.int64) for weights in (lam, beta))
    total = bound_of_weights(items, l.numerator, l.denominator, lam, beta)
    return int(-(-int(total) // WEIGHT_UNIT))


def scale_of_cells(items: Items) -> NDArray[np.float64]:
    """Return what the steps of each cell are divided by: the stars of the rows that it could hold, at least 1."""
    held = items.cell_of >= 0
    stars = (items.rows[:, None] * items.stars)[held]
    return np.maximum(np.bincount(items.cell_of[held], weights=stars, minlength=len(items.pair_starts) - 1), 1.0)
