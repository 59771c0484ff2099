"""A lower bound on what any recoding loses: the global certainty penalty that no release can go below.

In an acceptable group every row is recoded together with enough others, and what it loses is at least what it loses
with any one of them alone. So each row loses at least what it loses with the k-1st nearest row, and with so many that
enough sensitive values are among them.

With hierarchies for all attributes, rows are also priced by the cells of the lattice that groups may publish, which
counts that rows share their neighbours: see `shoal.algorithms.cells`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.bounds.loss_kernel import sum_radii
from shoal.algorithms.bounds.stars import Relaxation, rows_that_can_stay
from shoal.algorithms.cells import LatticeCells, lowered, price
from shoal.algorithms.local_search.loss_table import LossTable
from shoal.algorithms.local_search.neighbourhood import RowClasses, near_classes

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal.algorithms.base import Guarantee, Problem
    from shoal.algorithms.bounds.stars import LowerBound

__all__ = ["LeastLosses", "LossBound", "least_losses", "loss_bound"]

_WIDEST = 16
"""Near classes of each class that are looked for, at most."""
_STRETCHES = 25
"""Stretches of classes that are looked at for each of them."""
_WINDOW = 4
"""Classes that stand so near in the order are looked at first: more of them take a third of the time, for nothing."""
_FEWEST_STRETCHES = 8
"""Stretches that are looked at for one class, at least; where even these are too many, some classes are left out."""
_WORK = 10_000_000
"""Stretches times attributes that are looked at for all classes."""
_WORK_OF_LISTING = 1_500_000
"""Classes that are looked at for the cells of the hierarchies."""
_WORK_OF_PRICES = 3_000_000
"""Pairs of a class and a cell that are looked at for prices: on Adult a quarter of a second, listing included."""


@dataclass(frozen=True, kw_only=True)
class LossBound:
    """What a cell of any release with the same requirement loses on average, at least."""

    gcp: float
    """The least global certainty penalty, from 0 to 1."""
    why: str
    """What it rests on, in words."""


@dataclass(frozen=True, kw_only=True)
class LeastLosses:
    """What the rows of a table lose in any release, at least, found in two ways."""

    near: float
    """The sum over all rows of what each loses with the nearest rows that its group needs."""
    everywhere: bool
    """Whether every row was looked at as thoroughly as on small tables."""
    priced: float | None
    """What the cells of the hierarchies prove; None where it was not asked for, or cannot be."""


def least_losses(problem: Problem, *, prices: bool = True) -> LeastLosses:
    """Look for what the rows of a table lose at least, by generalization: no partition need be known.

    Parameters
    ----------
    problem : Problem
        As in `loss_bound`.
    prices : bool, default True
        Whether to price rows by the cells of the hierarchies, too.

    Returns
    -------
    LeastLosses
    """
    total, everywhere = _sum_of_radii(problem)
    priced = None
    if prices:
        relaxed = Relaxation.of(problem.requirement, problem.table.people)
        listed = LatticeCells.of(problem, relaxed.k, work=_WORK_OF_LISTING)
        priced = None if listed is None else price(listed, work=_WORK_OF_PRICES).bound
    return LeastLosses(near=total, everywhere=everywhere, priced=priced)


def loss_bound(
    problem: Problem,
    stars: LowerBound,
    guarantee: Guarantee | None = None,
    *,
    found: Callable[[], LeastLosses] | None = None,
) -> LossBound:
    """Bound what every release of a table loses from below.

    Parameters
    ----------
    problem : Problem
        It is feasible. How the partition is recoded counts: `recoding`, `hierarchies` and `largest_set`.
    stars : LowerBound
        The bound on recoded cells of the same table and requirement; by suppression each of them loses all.
    guarantee : Guarantee, optional
        What the run of an algorithm proved. Where it proved a bound on the loss, cells are not priced again.
    found : callable, optional
        Returns what was found before of the same table, requirement and recoding; by default it is looked for.

    Returns
    -------
    LossBound
        Valid however much was looked at: what was not is taken to lose as little as it may.
    """
    table = problem.table
    cells = table.people * len(table.quasi_identifiers)
    if cells == 0 or stars.stars == 0:
        return LossBound(gcp=0.0, why=stars.why)
    if problem.recoding == "suppression":
        return LossBound(gcp=stars.stars / cells, why=stars.why)
    proven = guarantee.loss_bound if guarantee is not None else None
    losses = least_losses(problem, prices=proven is None) if found is None else found()
    why = "each row loses at least what it loses with the nearest rows that its group needs"
    if not losses.everywhere:
        why += ", as far as a budget of work allowed to look for these"
    least = max(lowered(losses.near), 0.0) / cells
    priced = proven
    if proven is None and losses.priced is not None:
        priced = lowered(losses.priced) / cells
    if priced is None or priced <= least:
        return LossBound(gcp=least, why=why)
    return LossBound(gcp=priced, why="rows are priced by the cells of the hierarchies that groups around them publish")


def _sum_of_radii(problem: Problem) -> tuple[float, bool]:
    """Return what all rows lose at least, and whether every row was looked at as thoroughly as on small tables."""
    table, classes = problem.table, problem.table.classes
    relaxed = Relaxation.of(problem.requirement, table.people)
    keep, _ = rows_that_can_stay(table, relaxed)
    changing = (classes.cell_counts - keep).astype(np.int64)
    # One row stands for each class.
    representatives = classes.first_rows[classes.class_starts[:-1]]
    losses = LossTable.of(problem, representatives)
    places = np.arange(classes.count + 1, dtype=np.int32)
    asking = np.add.reduceat(changing, classes.class_starts[:-1]) > 0
    width = max(min(relaxed.k - 1, _WIDEST, classes.count - 1), 1)
    affordable = _WORK // max(int(np.count_nonzero(asking)) * losses.width, 1)
    stretches = min(_STRETCHES * width, max(affordable, _FEWEST_STRETCHES))
    if affordable < _FEWEST_STRETCHES:
        every = -(-_FEWEST_STRETCHES // max(affordable, 1))
        left_out = np.flatnonzero(asking)
        asking[left_out[np.arange(len(left_out)) % every > 0]] = False
    near = near_classes(
        losses,
        RowClasses(begins=places, of_rows=places[:-1]),
        width,
        asking=asking,
        stretches=stretches,
        window=_WINDOW,
    )
    queries = np.flatnonzero(asking)
    values = classes.cell_values
    stamps = np.full(int(values.max(initial=0)) + 1, -1, dtype=np.int64)
    total = sum_radii(
        queries,
        near.classes[queries],
        near.losses[queries],
        near.unseen[queries],
        classes.class_starts,
        values,
        classes.cell_counts,
        changing,
        relaxed.k,
        relaxed.distinct,
        stamps,
    )
    return float(total), stretches == _STRETCHES * width
