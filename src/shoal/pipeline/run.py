"""Make a release of a table: the steps, in the order in which the data passes through them.

`anonymize`, `explore` and `apply` all run these steps; none reimplements them. Only the result of `verify_and_certify`
may be published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shoal._core.progress import Clock
from shoal.algorithms.bounds import LeastLosses
from shoal.pipeline.bound import start_bounds, start_least_losses
from shoal.pipeline.certify import certify_release
from shoal.pipeline.partition import partition
from shoal.pipeline.prepare import PreparedTable, interpret, prepare
from shoal.pipeline.recode import recode_groups
from shoal.pipeline.recoded import RecodedTable
from shoal.pipeline.source import Source
from shoal.pipeline.unread import drop_unread_columns, place_unread_columns
from shoal.pipeline.verify import verify_published
from shoal.release.release import Release
from shoal.request.request import Request

STEPS = ("read", "coarsen", "encode", "partition", "recode", "verify", "certify", "bound")
"""The steps of a release, by the names in progress reports and certificates."""


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
        The source of the table, with all columns of the request.
    clock : Clock
        Measures the steps (`STEPS`).
    dates, decimal
        See `shoal.anonymize`.

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
        # Count the distinct rows, and convert their text.
        source = source.serving(request)
        of_cells = source.of_cells(request)
        opened = interpret(source.count(of_cells), of_cells, dates=dates, decimal=decimal)
    prepared = prepare(opened, of_cells, clock)
    # The bound of the loss is computed in parallel if all rows are in memory.
    losses = start_least_losses(prepared, clock) if source.in_memory else None
    recoded = partition_and_recode(prepared, source, clock)
    release = verify_and_certify(recoded, source, clock, losses)
    # Columns that were not counted are added to the verified release.
    return source.place(release, recoded, request.schema, clock)


def partition_and_recode(prepared: PreparedTable, source: Source, clock: Clock) -> RecodedTable:
    """Partition a table with the algorithm of its request, and recode the groups.

    Parameters
    ----------
    prepared : PreparedTable
    source : Source
        The source of the table.
    clock : Clock
        Measures the steps "partition" and "recode".

    Raises
    ------
    InfeasibleError
        If the algorithm finds no partition that satisfies the request.
    """
    with clock.step("partition"):
        narrow = drop_unread_columns(prepared)
    # Partition without the columns that no model reads, then place them.
    recoded = recode_groups(partition(narrow, source, clock), clock)
    with clock.step("recode"):
        return place_unread_columns(recoded)


def verify_and_certify(
    recoded: RecodedTable, source: Source, clock: Clock, losses: Callable[[], LeastLosses] | None = None
) -> Release:
    """Verify the published cells of a recoded table, and certify its release.

    No other function creates a release.

    Parameters
    ----------
    recoded : RecodedTable
    source : Source
        The source of the table.
    clock : Clock
        Measures the steps "recode", "verify", "bound" and "certify".
    losses : callable, optional
        Waits for the least losses of the rows (`start_least_losses`).

    Raises
    ------
    ReleaseUnsafeError
        If the published cells do not satisfy the request.
    """
    # The bounds are computed while the cells are verified.
    bounds = start_bounds(recoded, clock, losses, in_thread=source.in_memory)
    return certify_release(recoded, verify_published(recoded, source, clock), bounds, source, clock)
