"""Which models of a request a release of a table can satisfy, found without encoding its quasi-identifiers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms.common.compiled import populations_of
from shoal.errors import InfeasibleError
from shoal.hierarchy import coarsen_columns, drop_coarsened_levels
from shoal.pipeline.goals import Goal, explain_goal
from shoal.pipeline.input import OpenedData, convert_text
from shoal.pipeline.kept_rows import keep_rows
from shoal.pipeline.population import load_population
from shoal.pipeline.prepare import coarsen_attributes
from shoal.recoding.ancestors import check_coverage
from shoal.request.request import Request
from shoal.table import Schema, encode


def find_goals(opened: OpenedData, request: Request) -> tuple[tuple[Goal, ...], pl.DataFrame]:
    """Determine which models of a request some release of a table satisfies.

    Parameters
    ----------
    opened : OpenedData
        The table, with its lists and dates as the request wants them.
    request : Request
        The request, resolved for the columns of the table.

    Returns
    -------
    goals : tuple of Goal
        One for each model; none if the models draw the rows.
    published : polars.DataFrame
        The rows that may be published, with coarser sensitive and insensitive columns.

    Raises
    ------
    UsageError
        If the data, or the population that models compare with, does not fit the request.
    """
    requirement, schema = request.requirement, request.schema
    opened = coarsen_attributes(opened, request) if request.attribute_coarsenings else opened
    try:
        opened = keep_rows(opened, request)
    except InfeasibleError as error:  # linked rows and lists are drawn here, which may be impossible
        return tuple(Goal(model=model, error=error) for model in requirement.models), opened.frame
    published, rows = opened.select_publishable(schema, request.missing_sensitive)
    _check_hierarchies(opened, request, rows)
    if requirement.sampling is not None:
        return (), published
    people = _count_people(opened, request, rows)
    # Only sensitive columns are encoded, in which numbers and dates are parsed if a model compares them.
    of_sensitive = Schema(quasi_identifiers=(), sensitive=schema.sensitive)
    dates = {name: form for name, form in (request.dates or {}).items() if name in schema.sensitive}
    dates = {name: form for name, form in dates.items() if name not in request.attribute_coarsenings}
    parsed = convert_text(opened, of_sensitive, requirement, dates=dates, decimal=request.decimal, rows=rows)
    sensitive = [parsed.frame[name][rows] for name in schema.sensitive]
    if not sensitive:  # models of sizes count the rows
        sensitive = [pl.repeat(0, len(rows), eager=True).alias("rows")]
        of_sensitive = Schema(quasi_identifiers=("rows",))
    table = encode(pl.DataFrame(sensitive), of_sensitive)
    table = replace(table, counts=opened.publishable_counts[rows], owners=opened.owners_of(rows))
    finer = None if opened.finer is None else opened.finer.frame[rows]
    goals = []
    for model in requirement.models:
        alone = replace(requirement, models=(model,))
        tables = populations_of(table.with_attributes(alone.attributes))
        refused = next(alone.find_infeasible(tables, people), None)
        goals.append(
            Goal(model=model, of=requirement.counting.state(model).get("of", ""))
            if refused is None
            else explain_goal(model, refused, alone, tables, request, finer)
        )
    return tuple(goals), published


def _check_hierarchies(opened: OpenedData, request: Request, rows: NDArray[np.int32]) -> None:
    """Check that hierarchies cover what coarsening makes of their columns; of others they are asked when they are read.

    Ends of intervals that a release widens are not known yet.
    """
    steps = {one: it for one, it in request.coarsenings.items() if one in request.trees and not it.ends_at_values}
    known = Schema(quasi_identifiers=tuple(name for name in request.schema.quasi_identifiers if name in steps))
    if known.quasi_identifiers:
        frame = _parse(opened, known, request, rows).frame[rows].select(known.quasi_identifiers)
        coarse = coarsen_columns(frame, steps, known.quasi_identifiers).frame
        for column in encode(coarse, known).quasi_identifiers:
            check_coverage(column, drop_coarsened_levels(request.trees[column.name], steps[column.name]))


def _parse(opened: OpenedData, known: Schema, request: Request, rows: NDArray[np.int32]) -> OpenedData:
    """Read the numbers and dates of quasi-identifiers as a release does."""
    dates = {name: form for name, form in (request.dates or {}).items() if name in known.quasi_identifiers}
    return convert_text(opened, known, None, dates=dates, decimal=request.decimal, hierarchies=request.trees, rows=rows)


def _count_people(opened: OpenedData, request: Request, rows: NDArray[np.int32]) -> int | None:
    """Count the population that models compare with, whose members include the rows to publish; None without one."""
    requirement, schema = request.requirement, request.schema
    if requirement.population is None:
        return None
    known = Schema(quasi_identifiers=schema.quasi_identifiers)
    opened = _parse(opened, known, request, rows)
    table = encode(pl.DataFrame([opened.frame[name][rows] for name in schema.quasi_identifiers]), known)
    # Whose the rows are is known, and is no column of the population.
    table = replace(table, schema=replace(known, kinds=schema.kinds), owners=opened.owners_of(rows))
    members = load_population(requirement, opened, table, request.coarsenings)
    return None if members is None else members.height
