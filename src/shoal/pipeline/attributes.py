"""Coarsen sensitive and insensitive columns: they are published in that form, and models see no other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shoal._messages import Suggestion
from shoal.errors import ParameterError
from shoal.hierarchy import coarsen_columns
from shoal.pipeline.input import FinerColumns, OpenedData, convert_text
from shoal.pipeline.prepare import select_publishable_rows
from shoal.table import Schema

if TYPE_CHECKING:
    from shoal.request.request import Request

__all__ = ["coarsen_attributes"]


def coarsen_attributes(opened: OpenedData, request: Request) -> OpenedData:
    """Coarsen the sensitive and insensitive columns of an input, as requested; the result replaces the input.

    Only publishable rows determine the written form of a column and the frequencies of its values.

    Raises
    ------
    ParameterError
        If a coarsening shows values of records, needs persons, or concerns lists.
    """
    import polars as pl

    given = request.attribute_coarsenings
    names = [str(name) for name in given]
    for name, one in zip(names, given.values(), strict=True):
        # Ends of intervals are checked for quasi-identifiers only.
        if one.ends_at_values or one.per_person or name in (request.lists or {}):
            raise ParameterError(
                f"The coarsening of '{name}' needs a quasi-identifier without lists of values. Name cuts, steps or the "
                "level of a hierarchy instead, with ",
                Suggestion("coarsen"),
                ".",
            )
    # Dates and numbers are parsed, and text that takes no part stays as it is.
    _, rows = select_publishable_rows(opened, request.schema, request.missing_sensitive)
    dates = {name: form for name, form in (request.dates or {}).items() if name in given}
    schema = Schema(quasi_identifiers=tuple(names))
    parsed = convert_text(opened, schema, None, dates=dates, decimal=request.decimal, coarsen=given, rows=rows)
    finer = pl.DataFrame([parsed.frame[name] for name in names])
    coarser = coarsen_columns(finer[rows], given, names)
    # Rows that are not published stay without a value.
    places = pl.Series(range(len(rows)), dtype=pl.UInt32)
    at = pl.Series([None] * opened.frame.height, dtype=pl.UInt32).scatter(rows, places)
    columns = [coarser.frame[name].gather(at) for name in names]
    return replace(
        opened,
        frame=opened.frame.with_columns(columns),
        finer=FinerColumns(
            frame=finer,
            unconverted=pl.DataFrame([opened.frame[name] for name in names]),
            described=coarser.described,
            classes=coarser.classes,
        ),
    )
