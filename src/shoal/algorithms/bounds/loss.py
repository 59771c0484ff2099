"""A lower bound on the loss of any recoding: a global certainty penalty that no release can undercut.

In an acceptable group every row is recoded together with enough others, and its loss is at least its loss with any
single one of them. So the loss of each row is at least its loss with the k-1st nearest row, and with the nearest rows
that contain enough sensitive values.

If all attributes have hierarchies, rows are also priced by the cells of the lattice that groups may publish, which
accounts for rows that share their neighbours: see `shoal.algorithms.lattice`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shoal._core.facts import Fact
from shoal.algorithms.base import Guarantee, Problem
from shoal.algorithms.bounds.loss_kernel import sum_radii
from shoal.algorithms.bounds.stars import LowerBound, Relaxation, rows_that_can_stay
from shoal.algorithms.lattice import LatticeCells, price, round_bound_down
from shoal.algorithms.local_search.loss_table import LossTable, RowClasses, near_classes

_WIDEST = 16
"""Largest number of near classes to find for each class."""
_STRETCHES = 25
"""Number of stretches of classes to visit for each near class."""
_WINDOW = 4
"""Classes at most this far away in the order are visited first: a larger window took longer and gained nothing."""
_FEWEST_STRETCHES = 8
"""Smallest number of stretches for one class; if even these are too many, some classes are skipped."""
_WORK = 10_000_000
"""Largest product of stretches and attributes for all classes."""
_WORK_OF_LISTING = 1_500_000
"""Number of classes to visit for the cells of the hierarchies."""
_WORK_OF_PRICES = 3_000_000
"""Number of pairs of class and cell to visit for prices: on Adult a quarter of a second, listing included."""


@dataclass(frozen=True, kw_only=True)
class LossBound:
    """Lower bound on the average loss of a cell in any release with the same requirement."""

    gcp: float
    """The least global certainty penalty, from 0 to 1."""
    why: Fact
    """Reason of the bound."""


@dataclass(frozen=True, kw_only=True)
class LeastLosses:
    """Lower bounds on the loss of a table's rows in any release, computed in two ways."""

    near: float
    """Sum over all rows of the loss with the nearest rows that a group needs."""
    everywhere: bool
    """Whether every row was searched as thoroughly as on small tables."""
    priced: float | None
    """Bound from the cells of the hierarchies; None if it was not requested, or does not exist."""


def least_losses(problem: Problem, *, prices: bool = True) -> LeastLosses:
    """Compute lower bounds on the loss of a table's rows by generalization; they do not depend on a partition.

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
    # The bound by near rows exists for every table, the bound by prices only with hierarchies.
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
    """Compute a lower bound on the loss of every release of a table.

    Parameters
    ----------
    problem : Problem
        A feasible problem. Its recoding counts: `recoding`, `hierarchies` and `largest_set`.
    stars : LowerBound
        The bound on recoded cells of the same table and requirement; under suppression each of them loses everything.
    guarantee : Guarantee, optional
        Guarantee of an algorithm's run. If it has a bound on the loss, cells are not priced again.
    found : callable, optional
        Returns earlier results for the same table, requirement and recoding; by default they are computed.

    Returns
    -------
    LossBound
        Valid for any amount of work: rows that were not searched count as little as they may lose.
    """
    # Trivial cases first: nothing changes, or every changed cell loses everything.
    table = problem.table
    cells = table.people * len(table.quasi_identifiers)
    if cells == 0 or stars.stars == 0:
        return LossBound(gcp=0.0, why=stars.why)
    if problem.recoding == "suppression":
        return LossBound(gcp=stars.stars / cells, why=stars.why)
    proven = guarantee.loss_bound if guarantee is not None else None
    losses = least_losses(problem, prices=proven is None) if found is None else found()
    why = Fact("nearest_rows" if losses.everywhere else "nearest_rows_by_budget")
    # The better of the two bounds, each lowered by the margin for rounding.
    least = max(round_bound_down(losses.near), 0.0) / cells
    priced = proven
    if proven is None and losses.priced is not None:
        priced = round_bound_down(losses.priced) / cells
    if priced is None or priced <= least:
        return LossBound(gcp=least, why=why)
    return LossBound(gcp=priced, why=Fact("priced_cells"))


def loss_of_steps(problem: Problem, stars: LowerBound) -> LossBound:
    """Compute a lower bound on the loss from one on recoded cells: each loses the smallest step of any attribute.

    Parameters
    ----------
    problem, stars
        As for `loss_bound`.
    """
    table = problem.table
    steps = LossTable.of(problem, table.classes.order[:1]).steps
    cells = table.people * len(table.quasi_identifiers)
    least = float(steps.min(initial=1.0)) * stars.stars
    return LossBound(gcp=max(round_bound_down(least), 0.0) / max(cells, 1), why=stars.why)


def _sum_of_radii(problem: Problem) -> tuple[float, bool]:
    """Sum the radii of all rows; return whether every row was searched as thoroughly as on small tables, too."""
    table, classes = problem.table, problem.table.classes
    relaxed = Relaxation.of(problem.requirement, table.people)
    keep, _ = rows_that_can_stay(table, relaxed)
    changing = (classes.cell_counts - keep).astype(np.int64)
    # One row represents each class.
    representatives = classes.first_rows[classes.class_starts[:-1]]
    losses = LossTable.of(problem, representatives)
    places = np.arange(classes.count + 1, dtype=np.int32)
    # Only classes with rows that must change are searched.
    searched = np.add.reduceat(changing, classes.class_starts[:-1]) > 0
    width = max(min(relaxed.k - 1, _WIDEST, classes.count - 1), 1)
    affordable = _WORK // max(int(np.count_nonzero(searched)) * losses.width, 1)
    stretches = min(_STRETCHES * width, max(affordable, _FEWEST_STRETCHES))
    # If even the smallest search is too expensive, skip classes evenly: a skipped class counts as 0.
    if affordable < _FEWEST_STRETCHES:
        every = -(-_FEWEST_STRETCHES // max(affordable, 1))
        left_out = np.flatnonzero(searched)
        searched[left_out[np.arange(len(left_out)) % every > 0]] = False
    near = near_classes(
        losses,
        RowClasses(begins=places, of_rows=places[:-1]),
        width,
        searched=searched,
        stretches=stretches,
        window=_WINDOW,
    )
    queries = np.flatnonzero(searched)
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
