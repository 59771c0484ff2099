"""Entry point `anonymize`: validate the request, prepare the table, run the pipeline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from shoal._core.compiling.notices import listening
from shoal._core.progress import Clock, Progress, display_progress
from shoal._core.threads import start_in_thread
from shoal._messages import Suggestion
from shoal.engines.memory import InMemory
from shoal.engines.open_source import open_source
from shoal.errors import ParameterError
from shoal.findings import warn_caller
from shoal.io import check_free
from shoal.models import PrivacyModel
from shoal.pipeline.run import STEPS, run
from shoal.release.release import Release
from shoal.release.writer import refuse_warnings
from shoal.request.keywords import request_of, takes_request
from shoal.request.options import Options
from shoal.request.request import Request
from shoal.table.sorting_kernel import sort_by_key

if TYPE_CHECKING:
    from shoal.verbs.inspect import Inspection

_LARGE_FILE = 1 << 24
"""Bytes of a file from which loops are compiled, and reading takes long enough to load them in the background."""


@takes_request()
def anonymize(
    data: Any,
    request: Request | None = None,
    *,
    roles: Inspection | None = None,
    rows: Any = None,
    key: str | Sequence[str] | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[Options],
) -> Release:
    """Make a release of a table that satisfies the privacy models, in every group of rows or as a whole, and verify it.

    Parameters
    ----------
    data : frame or path
        A pandas, Polars or Arrow table (anything that narwhals takes), a PySpark DataFrame, or a path to CSV, Parquet,
        Arrow or a workbook (.xlsx, .ods), or a database URL with a table. It is not changed.
    request : Request, optional
        What is requested, as a value. The keywords below are its fields; those that are given override it.
    **options
        The fields of `shoal.Request`.
    roles : Inspection, optional
        The result of `shoal.inspect`: its proposals are the roles of all columns that no other keyword names, and the
        coarsenings and replacements of these columns, unless `coarsen` has another.
    rows : frame or path, optional
        A second table with the records of the persons of `data`, which has one record of each. It needs `key` and
        `link=True`, and is published as a second table, with the pseudonym of each person. `delimiter`, `encoding` and
        `sheet` hold for both. Persons without records are left out.
    key : str or sequence of str, optional
        The columns of both tables that identify a person; they are read and never published.
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

    Warns
    -----
    ReleaseWarning
        The release has `warnings`: the sentences that the command line prints, each with advice.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(people, quasi_identifiers=["age", "gender"], sensitive="income", l=2, seed=1)
    >>> release
    Release(rows=400, columns=3, algorithm='cluster', k=2, stars=0, warnings=1)
    """
    if roles is not None:
        from shoal.verbs.evaluate.evaluation import with_proposals

        options = cast("Options", with_proposals("anonymize", options, roles, request))
    named = (key,) if isinstance(key, str) else tuple(key or ())
    if named and options.get("person") is None and (request is None or request.person is None):
        options["person"] = named
    release = make_release(data, request_of(anonymize, request, options), rows=rows, key=named, progress=progress)
    warn_caller(release.warnings)
    return release


def make_release(
    data: Any,
    request: Request,
    *,
    rows: Any = None,
    key: tuple[str, ...] = (),
    progress: Progress | bool | None = None,
) -> Release:
    """Make a release, and save it if the request has an output, without raising its warnings; see `anonymize`."""
    _check_tables(request, rows, key)
    models = request.models  # invalid ones are refused before the table is read
    if request.output is not None:
        listed = [models] if isinstance(models, PrivacyModel) else models
        tables = [getattr(model, "population", None) for model in listed]
        reads = [data, rows, request.hierarchies, [table.path for table in tables if table is not None]]
        check_free(os.fspath(request.output), force=bool(request.saving.get("force")), reads=reads)
    with display_progress(progress) as report, listening(clock := Clock(STEPS, report)):
        _load_loops_in_background(data)
        with clock.step("read"):
            # Open the table, and resolve the request against its columns.
            source = open_source(
                data,
                engine=request.engine,
                memory=request.memory,
                reading=request.reading,
                rows=rows,
                key=key,
            )
            asked, request = request, request.resolve(source.columns)
        if asked.strict and isinstance(source, InMemory):
            _refuse_evaluated(source, asked)
        release = run(request, source, clock, dates=request.dates, decimal=request.decimal)
    if request.output is not None:
        release.save(request.output, **request.saving)
    return release


def _load_loops_in_background(data: Any) -> None:
    """Load numba and a compiled loop while a large file is read, because that takes .35 seconds."""
    if isinstance(data, str | os.PathLike) and os.path.isfile(data) and os.path.getsize(data) >= _LARGE_FILE:
        none = np.empty(0, dtype=np.int64)
        start_in_thread(lambda: sort_by_key.dispatcher(none, none.astype(np.int32), 0))


def _refuse_evaluated(source: InMemory, request: Request) -> None:
    """Refuse a strict request if its evaluation warns; what a release alone shows is refused when it is saved."""
    from shoal.verbs.evaluate.evaluation import evaluate_survey, survey_opened

    found = evaluate_survey(survey_opened(source.opened, request), source.opened, request)
    if all(goal.feasible for goal in found.goals):
        refuse_warnings(found.warnings, "request")


def _check_tables(request: Request, rows: Any, key: tuple[str, ...]) -> None:
    """Check that a request can be made of two tables, if there are two.

    Raises
    ------
    ParameterError
        If one of `rows` and `key` is missing, rows are not linked, or another column identifies persons.
    """
    if rows is None and not key:
        return
    if rows is None or not key:
        raise ParameterError("Two tables need both ", Suggestion("rows"), " and ", Suggestion("key"), ".")
    if request.schema.kinds != (key,):
        raise ParameterError(
            "The key of two tables identifies persons. Leave out ",
            Suggestion("person"),
            " and ",
            Suggestion("units"),
            ".",
        )
    if not request.link:
        raise ParameterError(
            "Two tables are published with linked records, because pseudonyms connect them. Add ",
            Suggestion("link", True),
            ", or join the tables and publish one.",
        )
