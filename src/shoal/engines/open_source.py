"""Opening of a table by the chosen engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.engines.choice import check_joinable, chosen_engine
from shoal.engines.memory import InMemory
from shoal.engines.pieces import InPieces
from shoal.pipeline.input import open_data
from shoal.pipeline.two_tables import join_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.pipeline.source import Source

__all__ = ["open_source"]


def open_source(
    data: Any,
    *,
    engine: str,
    memory: int | str | None,
    delimiter: str | None,
    encoding: str | None,
    sheet: str | None,
    rows: Any = None,
    key: Sequence[str] = (),
) -> Source:
    """Open a table with the requested or default engine; the parameters are those of `shoal.anonymize`."""
    by = chosen_engine(engine, memory, data)
    if rows is not None:
        check_joinable(by, rows)
        reading = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}
        return InMemory(opened=join_tables(open_data(data, **reading), open_data(rows, **reading), key))
    if by.streams:
        return InPieces(table=by.open(data, delimiter=delimiter, encoding=encoding), engine=by)
    return InMemory(opened=open_data(data, delimiter=delimiter, encoding=encoding, sheet=sheet))
