"""From cells with counts to a plan: how many rows of each cell are in which group, and what each group publishes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms import Guarantee, Partition, populations_of
from shoal.engines.parts import divided
from shoal.errors import InfeasibleError, InternalError
from shoal.recoding import recode
from shoal.stages import Recoded
from shoal.table.counts import rows_by_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal._progress import Clock
    from shoal.engines.choice import Engine
    from shoal.engines.parts import Division, TablePart
    from shoal.recoding import Recoding
    from shoal.stages import Prepared, Request
    from shoal.table import Table

__all__ = ["partition_cells"]


def partition_cells(prepared: Prepared, engine: Engine, clock: Clock) -> Recoded:
    """Partition cells with counts with the algorithm of their request, in parts where memory asks for it.

    The rows of a cell are interchangeable: an algorithm sees each of them where there is room for all, and of each part
    one after another where there is not. Populations are those of the whole table throughout.

    Parameters
    ----------
    prepared : Prepared
        Its table is cells with counts.
    engine : Engine
    clock : Clock
        Measures the steps "partition" and "recode".

    Returns
    -------
    Recoded
        Of entries: so many rows of a cell in one group.

    Raises
    ------
    InfeasibleError
        The algorithm finds no partition that satisfies the request.
    DataError
        The rows do not fit into the memory, not even in parts.
    """
    request, table, rows = prepared.request, prepared.table, prepared.table.counts
    if rows is None:
        raise InternalError("an engine was given rows in place of cells with counts")
    with clock.step("partition"):
        division = divided(table, request.requirement, request.algorithm, engine.budget, undivided=_undivided(request))
        entries = _Entries(table, division.aside)
        for number, part in enumerate(division.parts):
            clock.progress("partition", number, len(division.parts))
            entries.add(*_solved(prepared, part, division, clock))
        cells, counts, partition = entries.partition(division)
    with clock.step("recode"):
        recoding = recode(
            table.entries(cells, counts),
            partition.groups,
            partition.count,
            method=request.recoding,
            star=request.star,
            hierarchies=prepared.encoded.trees,
            least=partition.least,
            largest_set=request.largest_set,
        )
        sizes = rows_by_code(partition.groups, partition.count, counts)
        plan = _Plan(cells=cells, counts=counts, partition=partition, recoding=replace(recoding, sizes=sizes)).merged()
        if not np.array_equal(rows_by_code(plan.cells, table.rows, plan.counts), rows):
            raise InternalError("a plan has other rows than the table")
    facts = {"name": engine.name, "parts": len(division.parts), "cells": table.rows}
    if engine.streams:
        facts["memory"] = engine.budget.memory
    return Recoded(
        prepared=prepared.entries(plan.cells, plan.counts),
        partition=plan.partition,
        recoding=plan.recoding,
        whole=prepared,
        cells=plan.cells,
        engine=facts,
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Plan:
    """So many rows of a cell in one group, for each entry, and what the groups publish."""

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    partition: Partition
    recoding: Recoding

    def merged(self) -> _Plan:
        """Return the plan with groups that publish the same as one: readers cannot tell them apart.

        Algorithms that make small groups leave nearly as many entries as there are rows; few of them publish anything
        that others do not.
        """
        import polars as pl

        classes = self.recoding.classes
        keys = self.cells * np.int64(classes.count) + classes.of_group[self.partition.groups]
        # There are many entries and few keys: a table of these takes less memory than sorting those.
        summed = pl.DataFrame({"key": keys, "rows": self.counts}).group_by("key").agg(pl.col("rows").sum()).sort("key")
        cells, groups = np.divmod(summed["key"].to_numpy(), classes.count)
        counts = summed["rows"].to_numpy()
        chosen = classes.representatives
        columns = tuple(
            replace(
                column,
                group_codes=column.group_codes[chosen],
                kept=column.kept[chosen],
                stars=column.stars[chosen],
                penalty=column.penalty[chosen],
                levels=None if column.levels is None else column.levels[chosen],
            )
            for column in self.recoding.columns
        )
        recoding = replace(self.recoding, columns=columns, sizes=classes.sizes)
        if (recoding.stars, recoding.recoded_cells) != (self.recoding.stars, self.recoding.recoded_cells):
            return self  # cells that read alike lose different things: they stay apart
        partition = replace(self.partition, groups=groups.astype(np.int32), count=classes.count, least=None)
        return _Plan(cells=cells, counts=counts, partition=partition, recoding=recoding)


def _undivided(request: Request) -> str | None:
    """Return why a request cannot be solved in parts; None where it can."""
    if not request.requirement.monotone or request.requirement.table_models:
        return "What is asked of the release as a whole cannot be asked of parts of it"
    if not getattr(request.algorithm, "divisible", False):
        return f"{request.algorithm.name} decides about all rows together"
    return None


def _solved(
    prepared: Prepared, part: TablePart, division: Division, clock: Clock
) -> tuple[NDArray[np.int64], NDArray[np.int64], Partition]:
    """Let the algorithm partition the rows of a part; return the cell and the rows of each entry, with its groups."""
    request, table = prepared.request, prepared.table
    if division.whole and not table.told_apart:
        # The rows in the order of their cells, so that they are grouped already.
        of_row = np.repeat(table.classes.order, part.counts[table.classes.order])
        rows = table.entries(of_row, None)
        rows.__dict__["classes"] = table.classes.of_each_row()
    else:
        of_row = np.repeat(part.cells, part.counts)
        if table.told_apart:  # chance decides between rows that differ in what the algorithm does not see
            of_row = prepared.rng.permutation(of_row)
        rows = table.entries(of_row, None)
    if not division.whole:
        rows = replace(rows, totals=_totals(table))
    problem = replace(prepared.problem(clock), table=rows)
    try:
        partition = request.algorithm.partition(problem)
    except InfeasibleError as error:
        raise InfeasibleError(error) from None  # rows of cells have no numbers in the input
    partition.check(rows.rows, len(rows.quasi_identifiers))
    # Rows of a cell in one group mostly stand together: they are counted as runs first.
    starts = np.ones(len(of_row), dtype=np.bool_)
    starts[1:] = (of_row[1:] != of_row[:-1]) | (partition.groups[1:] != partition.groups[:-1])
    begin = np.flatnonzero(starts)
    keys = of_row[begin].astype(np.int64) * partition.count + partition.groups[begin]
    keys, place = np.unique(keys, return_inverse=True)
    counts = rows_by_code(place, len(keys), np.diff(begin, append=len(of_row)))
    cells, groups = np.divmod(keys, partition.count)
    return cells, counts, replace(partition, groups=groups.astype(np.int32))


def _totals(table: Table) -> tuple[NDArray[np.int64], ...]:
    return tuple(population.totals for population in populations_of(table))


class _Entries:
    """Entries of a plan, collected part by part: so many rows of a cell in one group."""

    def __init__(self, table: Table, aside: NDArray[np.int64]) -> None:
        self._attributes = len(table.quasi_identifiers)
        cells = np.flatnonzero(aside)
        self._cells, self._counts = [cells], [aside[cells]]
        self._groups: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        self._partitions: list[Partition] = []
        self._count = 0
        if len(cells):
            found, groups = np.unique(table.classes.of_rows[cells], return_inverse=True)
            self._groups, self._count = [groups.astype(np.int64)], len(found)
        self._aside = self._count

    def add(self, cells: NDArray[np.int64], counts: NDArray[np.int64], partition: Partition) -> None:
        """Add the entries of a part; the groups of its partition are those of the entries."""
        self._cells.append(cells)
        self._counts.append(counts)
        self._groups.append(partition.groups + np.int64(self._count))
        self._partitions.append(partition)
        self._count += partition.count

    def partition(self, division: Division) -> tuple[NDArray[np.int64], NDArray[np.int64], Partition]:
        """Return the cells and the rows of all entries, and one partition of them; they are not kept here."""
        groups = _joined(self._groups).astype(np.int32)
        if division.whole:
            (only,) = self._partitions
            whole = replace(only, groups=groups, count=self._count)
        else:
            whole = Partition(
                groups=groups,
                count=self._count,
                guarantee=_of_parts(division),
                facts={"groups_of_large_classes": self._aside},
                least=self._least(),
            )
        return _joined(self._cells), _joined(self._counts), whole

    def _least(self) -> NDArray[np.int32] | None:
        if all(one.least is None for one in self._partitions):
            return None
        nothing = [np.zeros((self._aside, self._attributes), dtype=np.int32)]
        return np.concatenate(
            nothing
            + [
                np.zeros((one.count, self._attributes), dtype=np.int32) if one.least is None else one.least
                for one in self._partitions
            ]
        )


def _joined(arrays: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return arrays one after another, and forget them: they may be as large as memory allows."""
    joined = np.concatenate(arrays)
    arrays.clear()
    return joined


def _of_parts(division: Division) -> Guarantee:
    parts = len(division.parts)
    aside = ", most rows of its large classes aside" if division.aside.any() else ""
    return Guarantee(
        text=f"The table was solved in {parts} part{'s' if parts > 1 else ''}{aside}: "
        "nothing is promised of the whole beyond the lower bound."
    )
