"""Bound what any release must lose, beside what this one loses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from shoal._core.progress import silent
from shoal._core.threads import start_in_thread
from shoal.algorithms import least_losses, loss_bound, lower_bound
from shoal.errors import InternalError

if TYPE_CHECKING:
    from shoal._core.progress import Clock
    from shoal.algorithms import LeastLosses, LossBound, LowerBound
    from shoal.pipeline.prepare import Prepared
    from shoal.pipeline.recoded import Recoded

__all__ = ["bounds", "least_losses_meanwhile"]


def least_losses_meanwhile(prepared: Prepared, clock: Clock) -> Callable[[], LeastLosses] | None:
    """Begin to look for what the rows of a table lose at least, beside its partition, which that does not depend on.

    Parameters
    ----------
    prepared : Prepared
        There is memory for both.
    clock : Clock
        It hears nothing of this work: that of the partition tells how far it is.

    Returns
    -------
    callable or None
        Waits for what is found; None where no bound asks for it.
    """
    if prepared.request.recoding == "suppression" or prepared.encoded.coarsened:
        return None
    problem = replace(prepared.problem(clock), progress=silent)
    _ = problem.table.classes  # else each thread would look for them
    return start_in_thread(partial(least_losses, problem))


def bounds(
    recoded: Recoded, clock: Clock, losses: Callable[[], LeastLosses] | None = None
) -> tuple[LowerBound, LossBound | None]:
    """Bound the cells that any release must recode, and its loss; None if the loss has no bound.

    Parameters
    ----------
    recoded : Recoded
    clock : Clock
        Measures the step "bound".
    losses : callable, optional
        Waits for what the rows lose at least, if that was begun to look for; see `least_losses_meanwhile`.
    """
    prepared, recoding, guarantee = recoded.prepared, recoded.recoding, recoded.partition.guarantee
    with clock.step("bound"):
        bound = lower_bound(prepared.asked, prepared.request.requirement, target=recoding.recoded_cells)
        bound = bound.sharpened(guarantee)
        if bound.stars > recoding.recoded_cells:
            raise InternalError("a lower bound exceeds what a release costs")
        # What coarsening lost is in the loss of the release, and depends on columns that the bound does not see.
        if prepared.encoded.coarsened:
            return bound, None
        return bound, loss_bound(prepared.problem(clock), bound, guarantee, found=losses)
