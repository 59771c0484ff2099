"""Entry point `anonymize`: validate the request, prepare the table, run the pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from shoal._core.compiling.notices import listening
from shoal._core.progress import Clock, Progress, display_progress
from shoal.engines import open_source
from shoal.pipeline.run import STEPS, run
from shoal.request.keywords import request_of, takes_request

if TYPE_CHECKING:
    from shoal.release.release import Release
    from shoal.request.options import Options
    from shoal.request.request import Request

__all__ = ["anonymize"]


@takes_request()
def anonymize(
    data: Any,
    request: Request | None = None,
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[Options],
) -> Release:
    """Make a release of a table that satisfies the privacy models, in every group of rows or as a whole, and verify it.

    Parameters
    ----------
    data : frame or path
        A pandas, Polars or Arrow table (anything that narwhals takes), a PySpark DataFrame, or a path to CSV, Parquet,
        Arrow or a workbook (.xlsx, .ods), or a database URL with a table. One row per person. It is not changed.
    request : Request, optional
        What is requested, as a value. The keywords below are its fields; those that are given override it.
    **options
        The fields of `shoal.Request`.
    progress : callable or bool, optional
        Called with (step, done, total) now and then; True draws a line with the steps, in notebooks and terminals.

    Returns
    -------
    Release
        `release.data` is the same kind of table as `data`, or a lazy frame.

    Raises
    ------
    UsageError
        The call or the data is wrong; the message says what to change.
    InfeasibleError
        No release can satisfy the models; the message names the best that is feasible.
    ReleaseUnsafeError
        The release failed its verification. Please report it.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(people, quasi_identifiers=["age", "gender"], sensitive="income", l=2, seed=1)
    >>> release
    Release(rows=400, columns=3, algorithm='tp+', k=2, stars=32)
    """
    request = request_of(anonymize, request, options)
    _ = request.models  # invalid ones are refused before the table is read
    with display_progress(progress) as report, listening(clock := Clock(STEPS, report)):
        with clock.step("read"):
            # Open the table, and resolve the request against its columns.
            source = open_source(
                data,
                engine=request.engine,
                memory=request.memory,
                delimiter=request.delimiter,
                encoding=request.encoding,
                sheet=request.sheet,
            )
            request = request.resolve(source.columns)
        release = run(request, source, clock, dates=request.dates, decimal=request.decimal)
    if request.output is not None:
        release.save(request.output, **request.saving)
    return release
