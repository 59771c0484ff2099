"""Choice of the engine for a table."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal._messages import Suggestion
from shoal.engines.sources import CountedTable, OnSpark, Streamed
from shoal.errors import ParameterError
from shoal.hierarchy.coarsening import check_coarsenings
from shoal.io import bytes_to_read, check_column_names, is_folder_of_parquet, is_spark_frame, scan_spark, scan_table
from shoal.pipeline.memory_budget import MemoryBudget, available_memory, format_bytes, parse_bytes
from shoal.request.request import Request
from shoal.table import replace_values as replace_columns

_log = logging.getLogger(__name__)

_TIMES = 4
"""Estimated peak memory of anonymizing a table in memory, as a multiple of its size."""
_SHARE = 2
"""The in-memory engine is chosen if the estimate is at most this fraction (1 / 2) of the available memory."""
_LOOKED_AT = 1000
"""Number of rows whose values are compared with the names of the columns."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """An engine with its memory budget."""

    name: str
    """One of `shoal.request.request.ENGINES` except "auto"."""
    budget: MemoryBudget
    of_frame: bool = False
    """Whether the table is a Spark frame."""

    @property
    def streams(self) -> bool:
        """Whether the table is read in pieces, never as a whole."""
        return self.name != "memory"

    def open(
        self,
        data: Any,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        header_row: int | None = None,
        replace_values: Mapping[str, Mapping[str, str | None]] | None = None,
        derive: Mapping[str, str] | None = None,
    ) -> CountedTable:
        """Open a table to be read in pieces, without reading its rows.

        Parameters
        ----------
        data : path or frame
        delimiter, encoding, header_row
            Options of CSV files.
        replace_values : mapping, optional
            Values to replace before anything else.
        derive : mapping, optional
            Refused: the format of dates is detected in a whole column.

        Raises
        ------
        UsageError
            If the engine cannot read such a table.
        """
        if self.name == "spark":
            given = {
                "replace_values": replace_values,
                "header_row": header_row != 1 and header_row,
                "derive": derive,
            }
            for what in (name for name, one in given.items() if one):
                raise ParameterError("Spark reads tables as they are. Leave out ", Suggestion(what), ".")
            return _with_names(OnSpark(table=scan_spark(data)), data, header_row)
        if derive:
            raise ParameterError(
                "Columns are derived of tables in memory only. Choose ",
                Suggestion("engine", "memory"),
                ", or write the column into the table.",
            )
        found = scan_table(data, delimiter=delimiter, encoding=encoding, header_row=header_row)
        found = replace(found, at_once=self.budget.at_once)
        if replace_values:
            found = replace(found, lazy=replace_columns(found.lazy, replace_values))
        return _with_names(Streamed(table=found), data, header_row)

    def check(self, request: Request) -> None:
        """Check that the engine supports the request.

        Raises
        ------
        ParameterError
            If it does not; the message suggests an alternative.
        """
        if not self.streams:
            return
        # Spark has the limits of streaming, and does not publish insensitive columns.
        obstacle = streaming_obstacle(request, of_frame=self.of_frame)
        if self.name == "spark" and request.schema.insensitive:
            obstacle = _without_rows(of_frame=self.of_frame)
        if obstacle is not None:
            raise obstacle


def _with_names(table: CountedTable, data: Any, header_row: int | None) -> CountedTable:
    """Return a table whose names of columns do not read as values, by its first rows."""
    if header_row != 1:
        check_column_names(table.peek(_LOOKED_AT), header_row=header_row, in_file=isinstance(data, str | Path))
    return table


def _without_rows(*, of_frame: bool) -> ParameterError:
    return ParameterError(
        "Spark publishes no insensitive columns: it works on rows as cells with counts. Drop them by naming them "
        "among ",
        Suggestion("direct_identifiers"),
        ", or read the table on this machine with ",
        Suggestion("engine", "stream", python="data.toArrow() in place of the frame" if of_frame else ""),
        ".",
    )


def check_joinable(engine: Engine, rows: Any) -> None:
    """Check that an engine joins a table of persons with the table of their rows.

    Raises
    ------
    ParameterError
        If it reads tables in pieces.
    """
    of_frame = engine.of_frame or is_spark_frame(rows)
    if engine.streams or of_frame:
        raise ParameterError(
            "Two tables are not joined if they are read in pieces. Read them as a whole with ",
            Suggestion("engine", "memory", python="data.toArrow() in place of the frame" if of_frame else ""),
            ".",
        )


_NEED_ROWS = (
    (
        {"qi_sets", "knows"},
        (
            "Sets of quasi-identifiers need the whole table in memory: a cell may be in many sets. Read it as a whole "
            "with "
        ),
        ", or protect all quasi-identifiers together, which protects every set of them.",
    ),
    (
        {"link", "lists", "since_first", "coarse_attributes"},
        (
            "Rows are not linked, lists not split, days not counted and only quasi-identifiers coarsened if a table is "
            "read in pieces. Read it as a whole with "
        ),
        ".",
    ),
    (
        {"keep_order"},
        "A table that is read in pieces does not keep its order. Leave that out, or read the table as a whole with ",
        ".",
    ),
)
"""The features of requests that need the rows of a table one by one, and what a message says before and after how to
read it as a whole."""


def streaming_obstacle(request: Request, *, of_frame: bool = False) -> ParameterError | None:
    """Return an error that names an unsupported option and an alternative; None if cells with counts are enough."""
    fetched = "data.toArrow() in place of the frame" if of_frame else ""
    whole = Suggestion("engine", "memory", python=fetched)
    for features, why, instead in _NEED_ROWS:
        if not request.features.isdisjoint(features):
            return ParameterError(why, whole, instead)
    chosen = request.rows_per_person is not None
    if (request.schema.insensitive and (chosen or request.missing_person == "own")) or request.kept_rows != "random":
        return ParameterError(
            "Rows of a person are not chosen one by one if a table is read in pieces. Read it as a whole with ",
            whole,
            ".",
        )
    # Coarsenings that depend on the frequencies of values.
    check_coarsenings(request.coarsenings, request.schema.quasi_identifiers)
    for key, coarsening in request.coarsenings.items():
        # A sentence for the first such coarsening is enough.
        if not coarsening.streams:
            columns = key if isinstance(key, str) else ", ".join(key)
            return ParameterError(
                f"The coarsening of {columns} looks at how many rows have each value, which is not done where a "
                "table is read in pieces. Say the cuts or the classes yourself (shoal.Bins(cuts=...), a level of a "
                "hierarchy), or read the table as a whole with ",
                whole,
                ".",
            )
    # Models and algorithms that need more than cells.
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
    """Choose the requested engine or, for "auto", the one that suits the size of the table.

    Parameters
    ----------
    engine : {"auto", "memory", "stream", "spark"}
    memory : int or str, optional
        The memory limit; half of the available memory by default.
    data : path or frame
        The table.

    Raises
    ------
    ParameterError
        If `memory` is invalid or the engine has no memory limit, or if the engine does not support such a table.
    """
    of_frame = is_spark_frame(data)
    # Reject combinations that would ignore one of the arguments.
    if of_frame and engine in ("memory", "stream"):
        raise ParameterError(
            "A frame of Spark is worked on by Spark. Leave ",
            Suggestion("engine"),
            " out, or fetch the frame: data.toArrow() is a table that every engine takes.",
        )
    allowed = available_memory() // 2 if memory is None else parse_bytes(memory)
    if engine == "memory" and memory is not None:
        raise ParameterError(
            "A table that is read as a whole takes as much memory as it needs. Leave ",
            Suggestion("memory"),
            " out, or read the table in pieces with ",
            Suggestion("engine", "stream"),
            ".",
        )
    name = "spark" if of_frame else engine
    # An explicit limit can only be kept by streaming. Folders of Parquet files are streamed regardless of size.
    if name == "auto":
        size = bytes_to_read(data) or 0
        room = available_memory() // _SHARE if memory is None else allowed
        fits = size * _TIMES <= room
        name = "memory" if fits and not is_folder_of_parquet(data) and memory is None else "stream"
        if not fits:
            _log.info("The table takes about %s: it is read in pieces.", format_bytes(size))
    # The in-memory engine has no limit.
    budget = MemoryBudget(1 << 62 if name == "memory" else max(allowed, 10**9))
    return Engine(name=name, budget=budget, of_frame=of_frame)
