"""Which engine a table is anonymized with."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal._messages import Suggestion
from shoal.engines.sources import CountedTable, OnSpark, Streamed
from shoal.errors import ParameterError
from shoal.hierarchy.coarsening import check_coarsenings
from shoal.io import bytes_to_read, is_folder_of_parquet, is_spark_frame, scan_spark, scan_table
from shoal.pipeline.memory_budget import MemoryBudget, available_memory, bytes_of, in_words

if TYPE_CHECKING:
    from shoal.request.request import Request

__all__ = ["Engine", "chosen_engine", "streaming_obstacle"]

_log = logging.getLogger(__name__)

_TIMES = 4
"""Memory that a table takes while it is anonymized in memory, as a multiple of its own."""
_SHARE = 2
"""A table is taken to fit where it takes at most one part in so many of the machine's memory."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What a table is anonymized with, and within which memory."""

    name: str
    """One of `shoal.request.request.ENGINES` but "auto"."""
    budget: MemoryBudget
    of_frame: bool = False
    """Whether the table is a frame of Spark."""

    @property
    def streams(self) -> bool:
        """Whether the table is read in pieces, and never as a whole."""
        return self.name != "memory"

    def open(self, data: Any, *, delimiter: str | None = None, encoding: str | None = None) -> CountedTable:
        """Open a table that is read in pieces, without reading its rows.

        Parameters
        ----------
        data : path or frame
        delimiter, encoding : str, optional
            Of a CSV file.

        Raises
        ------
        UsageError
            Where it is none that this engine reads.
        """
        if self.name == "spark":
            return OnSpark(table=scan_spark(data))
        return Streamed(table=scan_table(data, delimiter=delimiter, encoding=encoding))

    def check(self, request: Request) -> None:
        """Check that the engine can do what is asked.

        Raises
        ------
        ParameterError
            Where it cannot; says what to do instead.
        """
        if not self.streams:
            return
        obstacle = streaming_obstacle(request, of_frame=self.of_frame)
        if self.name == "spark" and request.schema.insensitive:
            obstacle = _without_rows(of_frame=self.of_frame)
        if obstacle is not None:
            raise obstacle


def _without_rows(*, of_frame: bool) -> ParameterError:
    return ParameterError(
        "Spark publishes no insensitive columns: it works on rows as cells with counts. Drop them by naming them "
        "among ",
        Suggestion("direct_identifiers"),
        ", or read the table on this machine with ",
        Suggestion("engine", "stream", python="data.toArrow() in place of the frame" if of_frame else ""),
        ".",
    )


def streaming_obstacle(request: Request, *, of_frame: bool = False) -> ParameterError | None:
    """Return the error for what of a request cannot be done with cells and their counts; says what to do instead."""
    fetched = "data.toArrow() in place of the frame" if of_frame else ""
    whole = Suggestion("engine", "memory", python=fetched)
    if request.link:
        return ParameterError(
            "Rows are not linked where a table is read in pieces. Read it as a whole with ",
            whole,
            ".",
        )
    if request.keep_order:
        return ParameterError(
            "A table that is read in pieces does not keep its order. Leave that out, or read the table as a whole "
            "with ",
            whole,
            ".",
        )
    chosen = request.rows_per_person is not None
    if (request.schema.insensitive and (chosen or request.missing_person == "own")) or request.kept_rows != "random":
        return ParameterError(
            "Rows of a person are not chosen one by one if a table is read in pieces. Read it as a whole with ",
            whole,
            ".",
        )
    check_coarsenings(request.coarsenings, request.schema.quasi_identifiers)
    for key, coarsening in request.coarsenings.items():
        if not coarsening.streams:
            columns = key if isinstance(key, str) else ", ".join(key)
            return ParameterError(
                f"The coarsening of {columns} looks at how many rows have each value, which is not done where a "
                "table is read in pieces. Say the cuts or the classes yourself (shoal.Bins(cuts=...), a level of a "
                "hierarchy), or read the table as a whole with ",
                whole,
                ".",
            )
    if request.requirement.population is not None:
        return ParameterError(
            "Models that ask about a population are not served where a table is read in pieces. Read it as a whole "
            "with ",
            whole,
            ".",
        )
    without = [name for name in request.schema.quasi_identifiers if name not in request.trees]
    if request.climbs and without:
        return ParameterError(
            f"{request.chosen.name} needs a hierarchy for each quasi-identifier, and none is made where a table "
            f"is read in pieces. Give one for '{without[0]}' with ",
            Suggestion("hierarchies"),
            ", or read the table as a whole with ",
            whole,
            ".",
        )
    return None


def chosen_engine(engine: str, memory: int | str | None, data: Any) -> Engine:
    """Return the engine that was named, or the one for the size of a table.

    Parameters
    ----------
    engine : {"auto", "memory", "stream", "spark"}
    memory : int or str, optional
        What was allowed; half of the machine's by default.
    data : path or frame
        The table.

    Raises
    ------
    ParameterError
        Where the memory is none, or is given for an engine that has no limit, or the engine does not take such tables.
    """
    of_frame = is_spark_frame(data)
    if of_frame and engine in ("memory", "stream"):
        raise ParameterError(
            "A frame of Spark is worked on by Spark. Leave ",
            Suggestion("engine"),
            " out, or fetch the frame: data.toArrow() is a table that every engine takes.",
        )
    allowed = available_memory() // 2 if memory is None else bytes_of(memory)
    if engine == "memory" and memory is not None:
        raise ParameterError(
            "A table that is read as a whole takes as much memory as it needs. Leave ",
            Suggestion("memory"),
            " out, or read the table in pieces with ",
            Suggestion("engine", "stream"),
            ".",
        )
    name = "spark" if of_frame else engine
    if name == "auto":
        size = bytes_to_read(data) or 0
        room = available_memory() // _SHARE if memory is None else allowed
        fits = size * _TIMES <= room
        name = "memory" if fits and not is_folder_of_parquet(data) and memory is None else "stream"
        if not fits:
            _log.info("The table takes about %s: it is read in pieces.", in_words(size))
    # What is read as a whole takes what it needs.
    budget = MemoryBudget(1 << 62 if name == "memory" else max(allowed, 10**9))
    return Engine(name=name, budget=budget, of_frame=of_frame)
