"""Reading of a table as a release reads it: parsed, and with its coarsenings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal._core.progress import Progress

if TYPE_CHECKING:
    from shoal.pipeline.input import OpenedData
    from shoal.release.release import Release


_LAST: dict[str, OpenedData] = {}
"""The table that was opened last, by its files, their state, and how they are read: the next job often needs it."""

RELEASES: dict[str, Release] = {}
"""The releases of comparisons of this table, by what decides them: the one that is chosen can be written."""


def open_table(asked: Mapping[str, Any]) -> OpenedData:
    """Open the table of a request, or join its two tables; a file that has not changed is not read again."""
    from shoal.engines.open_source import open_source
    from shoal.request.request_fields import fields_in

    reading = {name: asked.get(name) for name in fields_in("reading", "cleaning")}
    tables: dict[str, Any] = {"rows": asked.get("rows"), "key": asked.get("key") or ()}
    try:
        files = [os.stat(one) for one in (asked["data"], asked.get("rows")) if one is not None]
    except (OSError, TypeError):  # a database, or a frame
        files = []
    state = [(one.st_mtime_ns, one.st_size, one.st_ino) for one in files]
    key = repr((asked["data"], tables, reading, state)) if files else ""
    if not key or key not in _LAST:
        source: Any = open_source(asked["data"], engine="memory", memory=None, reading=reading, **tables)
        _LAST.clear()
        RELEASES.clear()
        _LAST[key] = source.opened
    return _LAST[key]


def read_parsed(asked: Mapping[str, Any], progress: Progress) -> tuple[Any, list[str]]:
    """Read the table of a request with parsed dates and numbers; return it and its quasi-identifiers."""
    from shoal.pipeline.input import convert_text
    from shoal.table import roles

    progress("read", 0, 1)
    # Read the file, check the names of columns, then parse dates and numbers as a release does.
    opened = open_table(asked)
    schema = roles(asked["quasi_identifiers"], asked.get("sensitive"))
    schema.check_known(opened.frame.columns)
    forms = {name: asked.get(name) for name in ("dates", "decimal", "coarsen", "hierarchies")}
    return convert_text(opened, schema, None, **forms).frame, list(schema.quasi_identifiers)


def parse_other_columns(frame: Any, asked: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Parse the published columns that are not quasi-identifiers; those that can be read in two ways stay text."""
    from shoal.io import understand

    names = [*(asked.get("sensitive") or ()), *(asked.get("insensitive") or ())]
    dates = {name: form for name, form in (asked.get("dates") or {}).items() if name in names}
    return understand(frame, names, dates=dates, decimal=asked.get("decimal")).frame, names


def coarsen_parsed(frame: Any, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Coarsen the columns of a parsed table as a release does; return it before and after, and the coarsenings."""
    from shoal.hierarchy import coarsen_columns
    from shoal.pipeline.kept_rows import count_days_since_first
    from shoal.request.request import Request

    # Relative dates are counted first; the parsed dates have no written form any more.
    request = Request(**{name: value for name, value in asked.items() if name not in ("data", "rows", "key", "dates")})
    relative = frame
    for dates in request.since_first:
        relative = count_days_since_first(relative, dates, request)
    return relative, coarsen_columns(relative, request.coarsenings, names), request.coarsenings


def count_replaced_cells(asked: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Count the cells of the original table that each replacement changes."""
    from shoal.table import count_replaced

    return count_replaced(open_table({**asked, "replace_values": None}).frame, asked["replace_values"])
