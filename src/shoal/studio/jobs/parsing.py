"""Reading of a table as a release reads it: parsed, and with its coarsenings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal._core.progress import Progress

__all__ = ["coarsen_parsed", "read_parsed"]


def read_parsed(asked: Mapping[str, Any], progress: Progress) -> tuple[Any, list[str]]:
    """Read the table of a request with parsed dates and numbers; return it and its quasi-identifiers."""
    from shoal.pipeline.input import convert_text, open_data
    from shoal.request.request_fields import fields_in
    from shoal.table import roles

    progress("read", 0, 1)
    reading = {name: asked.get(name) for name in fields_in("reading", "cleaning")}
    # Read the file, check the names of columns, then parse dates and numbers as a release does.
    opened = open_data(asked["data"], **reading)
    schema = roles(asked["quasi_identifiers"], asked.get("sensitive"))
    schema.check_known(opened.frame.columns)
    forms = {name: asked.get(name) for name in ("dates", "decimal", "coarsen", "hierarchies")}
    return convert_text(opened, schema, None, **forms).frame, list(schema.quasi_identifiers)


def coarsen_parsed(frame: Any, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Coarsen the columns of a parsed table as a release does; return it before and after, and the coarsenings."""
    from shoal.hierarchy import coarsen_columns
    from shoal.pipeline.units import count_days_since_first
    from shoal.request.request import Request

    # Relative dates are counted first; the parsed dates have no written form any more.
    request = Request(**{name: value for name, value in asked.items() if name not in ("data", "dates")})
    relative = frame
    for dates in request.since_first:
        relative = count_days_since_first(relative, dates, request)
    return relative, coarsen_columns(relative, request.coarsenings, names), request.coarsenings
