"""Make a release of a table: the steps, in the order in which the data goes through them.

`anonymize`, `compare`, `tune`, `tradeoff` and `apply` all run these steps; none reimplements them. Only what `verified`
returns may be published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.pipeline.bound import bounds, least_losses_meanwhile
from shoal.pipeline.certify import certified
from shoal.pipeline.partition import partition
from shoal.pipeline.prepare import interpret, prepare
from shoal.pipeline.recode import recode_groups
from shoal.pipeline.unread import place_unread_columns, without_unread_columns
from shoal.pipeline.verify import verify_published

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shoal._core.progress import Clock
    from shoal.algorithms import LeastLosses
    from shoal.pipeline.prepare import Prepared
    from shoal.pipeline.recoded import Recoded
    from shoal.pipeline.source import Source
    from shoal.release.release import Release
    from shoal.request.request import Request

__all__ = ["STEPS", "partition_and_recode", "run", "verified"]

STEPS = ("read", "coarsen", "encode", "partition", "recode", "verify", "bound", "certify")
"""The steps of a release, as progress and certificates name them."""


def run(
    request: Request,
    source: Source,
    clock: Clock,
    *,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
) -> Release:
    """Make the requested release of a table, and verify it.

    Parameters
    ----------
    request : Request
    source : Source
        Where the table comes from; it has the columns of the request.
    clock : Clock
        Measures the steps (`STEPS`).
    dates, decimal
        As for `shoal.anonymize`.

    Raises
    ------
    UsageError
        If the data does not fit the request.
    InfeasibleError
        If no release can satisfy it.
    ReleaseUnsafeError
        If the release failed its verification.
    """
    with clock.step("read"):
        source = source.serving(request)
        of_cells = source.of_cells(request)
        opened = interpret(source.count(of_cells), of_cells, dates=dates, decimal=decimal)
    prepared = prepare(opened, of_cells, clock)
    losses = least_losses_meanwhile(prepared, clock) if source.in_memory else None
    recoded = partition_and_recode(prepared, source, clock)
    release = verified(recoded, source, clock, losses)
    return source.place(release, recoded, request.schema, clock)


def partition_and_recode(prepared: Prepared, source: Source, clock: Clock) -> Recoded:
    """Partition a table with the algorithm of its request, and recode the groups.

    Parameters
    ----------
    prepared : Prepared
    source : Source
        Where the table comes from.
    clock : Clock
        Measures the steps "partition" and "recode".

    Raises
    ------
    InfeasibleError
        If the algorithm finds no partition that satisfies the request.
    """
    with clock.step("partition"):
        narrow = without_unread_columns(prepared)
    recoded = recode_groups(partition(narrow, source, clock), clock)
    with clock.step("recode"):
        return place_unread_columns(recoded)


def verified(
    recoded: Recoded, source: Source, clock: Clock, losses: Callable[[], LeastLosses] | None = None
) -> Release:
    """Make the release of a recoded table: verify its published cells, and certify what they achieve.

    This is the only way to a release.

    Parameters
    ----------
    recoded : Recoded
    source : Source
        Where the table comes from.
    clock : Clock
        Measures the steps "recode", "verify", "bound" and "certify".
    losses : callable, optional
        Waits for what the rows lose at least; see `least_losses_meanwhile`.

    Raises
    ------
    ReleaseUnsafeError
        If the published cells do not satisfy the request.
    """
    found = verify_published(recoded, source, clock)
    return certified(recoded, found, bounds(recoded, clock, losses), source, clock)
