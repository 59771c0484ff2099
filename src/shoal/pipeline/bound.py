"""Bound the loss of any release of the table, for comparison with the loss of this one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from shoal._core.facts import Fact
from shoal._core.progress import Clock, silent
from shoal._core.threads import start_in_thread
from shoal.algorithms.base import Problem
from shoal.algorithms.bounds import (
    LeastLosses,
    LossBound,
    LowerBound,
    least_losses,
    loss_bound,
    lower_bound,
    lower_bound_of_sets,
)
from shoal.algorithms.bounds.loss import loss_of_steps
from shoal.algorithms.bundles.bound import fewest_lost_cells, fewest_stars_of_bundles
from shoal.errors import InternalError
from shoal.pipeline.kept_rows import encode_values
from shoal.pipeline.prepare import PreparedTable
from shoal.pipeline.recoded import RecodedTable


def start_least_losses(prepared: PreparedTable, clock: Clock) -> Callable[[], LeastLosses] | None:
    """Start computing the least loss of each row in the background; it does not depend on the partition.

    Parameters
    ----------
    prepared : PreparedTable
        A table that fits into memory together with its partition.
    clock : Clock
        Not used for progress, because the partition reports its own.

    Returns
    -------
    callable or None
        Waits for the result. None if no bound needs it.
    """
    # Suppression has a bound of its own, and coarsened tables and sets of quasi-identifiers have none.
    request = prepared.request
    if request.recoding == "suppression" or prepared.encoded.coarsened or request.counting.sets:
        return None
    problem = replace(prepared.problem(clock), progress=silent)
    # Compute the classes now: otherwise each thread would.
    _ = problem.table.classes
    return start_in_thread(partial(least_losses, problem))


class ReleaseBounds(NamedTuple):
    """Lower bounds for any release of a table with the same requirement."""

    cells: LowerBound
    """Cells to recode."""
    loss: LossBound | None
    """Loss; None if it has no bound."""
    lost: int | None = None
    """Cells that no release of linked rows shows, whichever rows it leaves out; None if this has no bound."""


def start_bounds(
    recoded: RecodedTable, clock: Clock, losses: Callable[[], LeastLosses] | None = None, *, in_thread: bool
) -> Callable[[], ReleaseBounds]:
    """Start to bound the number of cells that any release must recode, its loss, and what linked rows lose.

    Parameters
    ----------
    recoded : RecodedTable
    clock : Clock
        Measures the step "bound": the time of waiting.
    losses : callable, optional
        Waits for the least losses if their computation was started (`start_least_losses`).
    in_thread : bool
        Whether the bounds are computed in the background; otherwise when they are needed, which takes less memory.

    Returns
    -------
    callable
        Waits for the bounds.
    """
    work = partial(_compute_bounds, recoded, replace(recoded.prepared.problem(clock), progress=silent), losses)
    found = start_in_thread(work) if in_thread else work

    def wait() -> ReleaseBounds:
        with clock.step("bound"):
            return found()

    return wait


def _compute_bounds(recoded: RecodedTable, problem: Problem, losses: Callable[[], LeastLosses] | None) -> ReleaseBounds:
    """Compute the bounds; see `start_bounds`."""
    prepared, recoding, guarantee = recoded.prepared, recoded.recoding, recoded.partition.guarantee
    requirement = prepared.request.requirement
    find_bound = lower_bound_of_sets if requirement.counting.sets else lower_bound
    bound = find_bound(prepared.problem_table, requirement, target=recoding.recoded_cells)
    bound = bound.sharpened(guarantee.stars_bound, guarantee.proof)
    lost = None
    bundled, whole = recoded.whole.opened.bundled, recoded.whole
    if bundled is not None and not bundled.alone:
        least = bundled.strata.limits.least
        persons = bundled.persons[whole.rows]
        stars = fewest_stars_of_bundles(whole.problem_table, persons, least)
        bound = bound.sharpened(stars, Fact("bundles"))
        # Coarsened cells are lost in part, which is not counted in cells.
        if not prepared.encoded.coarsened:
            rows = np.flatnonzero(bundled.persons >= 0)
            columns = encode_values(whole.opened.frame[rows], prepared.request.schema.quasi_identifiers)
            lost = fewest_lost_cells(columns, bundled.persons[rows], least, bundled.strata.fewest_left_out)
    if bound.stars > recoding.recoded_cells:
        raise InternalError("a lower bound exceeds what a release costs")
    # The loss of the release includes that of the coarsening, for which there is no bound. In sets, rows need not be
    # recoded together in all columns.
    if prepared.encoded.coarsened or (requirement.counting.sets and recoding.method == "generalization"):
        return ReleaseBounds(bound, None)
    loss = loss_bound(problem, bound, guarantee, found=losses)
    if bound.why == Fact("bundles"):
        # Persons that publish their rows together lose more cells than single rows do.
        loss = max(loss, loss_of_steps(problem, bound), key=lambda one: one.gcp)
    return ReleaseBounds(bound, loss, lost)
