"""Opening of a table by the chosen engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.engines.choice import check_joinable, chosen_engine
from shoal.engines.memory import InMemory
from shoal.engines.pieces import InPieces
from shoal.pipeline.input import open_data
from shoal.pipeline.source import Source
from shoal.pipeline.two_tables import join_tables


def open_source(
    data: Any,
    *,
    engine: str,
    memory: int | str | None,
    reading: Mapping[str, Any],
    rows: Any = None,
    key: Sequence[str] = (),
) -> Source:
    """Open a table with the requested or default engine; see `shoal.anonymize` and `Request.reading`."""
    by = chosen_engine(engine, memory, data)
    if rows is not None:
        check_joinable(by, rows)
        # A replaced column is in one of the tables only, so it is cleaned after the join.
        plain = {**reading, "replace_values": None, "derive": None}
        joined = join_tables(open_data(data, **plain), open_data(rows, **plain), key)
        return InMemory(opened=joined.cleaned(reading["replace_values"], reading["derive"]))
    if by.streams:
        pieces = {name: one for name, one in reading.items() if name != "sheet"}
        return InPieces(table=by.open(data, **pieces), engine=by)
    return InMemory(opened=open_data(data, **reading))
