"""Bound the loss of any release of the table, for comparison with the loss of this one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from shoal._core.progress import silent
from shoal._core.threads import start_in_thread
from shoal.algorithms import least_losses, loss_bound, lower_bound, lower_bound_of_sets
from shoal.errors import InternalError

if TYPE_CHECKING:
    from shoal._core.progress import Clock
    from shoal.algorithms import LeastLosses, LossBound, LowerBound
    from shoal.pipeline.prepare import PreparedTable
    from shoal.pipeline.recoded import RecodedTable

__all__ = ["compute_bounds", "start_least_losses"]


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
    # Suppression has a bound of its own, and coarsened tables have none.
    if prepared.request.recoding == "suppression" or prepared.encoded.coarsened:
        return None
    problem = replace(prepared.problem(clock), progress=silent)
    # Compute the classes now: otherwise each thread would.
    _ = problem.table.classes
    return start_in_thread(partial(least_losses, problem))


def compute_bounds(
    recoded: RecodedTable, clock: Clock, losses: Callable[[], LeastLosses] | None = None
) -> tuple[LowerBound, LossBound | None]:
    """Bound the number of cells that any release must recode, and its loss; None if the loss has no bound.

    Parameters
    ----------
    recoded : RecodedTable
    clock : Clock
        Measures the step "bound".
    losses : callable, optional
        Waits for the least losses if their computation was started (`start_least_losses`).
    """
    prepared, recoding, guarantee = recoded.prepared, recoded.recoding, recoded.partition.guarantee
    with clock.step("bound"):
        requirement = prepared.request.requirement
        find_bound = lower_bound_of_sets if requirement.sets else lower_bound
        bound = find_bound(prepared.problem_table, requirement, target=recoding.recoded_cells)
        bound = bound.sharpened(guarantee)
        if bound.stars > recoding.recoded_cells:
            raise InternalError("a lower bound exceeds what a release costs")
        # The loss of the release includes that of the coarsening, for which there is no bound.
        if prepared.encoded.coarsened:
            return bound, None
        return bound, loss_bound(prepared.problem(clock), bound, guarantee, found=losses)
