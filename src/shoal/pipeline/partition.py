"""Partition the different rows of a table: divide them if memory asks for it, run the algorithm, and count entries.

An entry is so many rows of a cell in one group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.facts import Fact
from shoal.algorithms import Guarantee, Partition, populations_of
from shoal.algorithms.linked.linking import group_linked_rows
from shoal.errors import InfeasibleError
from shoal.pipeline.division import divided
from shoal.table.counts import rows_by_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal._core.progress import Clock
    from shoal.pipeline.division import Division, TablePart
    from shoal.pipeline.linked_rows import LinkedRows
    from shoal.pipeline.prepare import Prepared
    from shoal.pipeline.source import Source
    from shoal.request.request import Request
    from shoal.table import Table

__all__ = ["Partitioned", "partition"]

_SHOWN_ROWS = 20
"""Row numbers that a message lists; the error itself has them all."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Partitioned:
    """A prepared table with a partition of its entries."""

    prepared: Prepared
    cells: NDArray[np.int64]
    """The row of the prepared table that each entry is of."""
    counts: NDArray[np.int64]
    """How many rows of the input each entry stands for."""
    partition: Partition
    """The groups of the entries."""
    parts: int = 1
    """In how many parts the table was worked on."""


def partition(prepared: Prepared, source: Source, clock: Clock) -> Partitioned:
    """Partition a table with the algorithm of its request, in parts if memory asks for it.

    The rows of a cell are interchangeable: an algorithm sees each of them if there is room for all, and those of each
    part one after another if there is not. Populations are those of the whole table throughout.

    Parameters
    ----------
    prepared : Prepared
    source : Source
        Where the table comes from.
    clock : Clock
        Measures the step "partition".

    Raises
    ------
    InfeasibleError
        The algorithm finds no partition that satisfies the request.
    DataError
        The rows do not fit into the memory, not even in parts.
    """
    request, table, linked = prepared.request, prepared.asked, prepared.opened.linked
    with clock.step("partition"):
        if linked is not None:
            found = _partition_linked(prepared, linked, clock)
            return Partitioned(prepared=prepared, cells=np.arange(table.rows), counts=prepared.counts, partition=found)
        division = divided(table, request.requirement, request.chosen, source.budget, undivided=_undivided(request))
        entries = _Entries(table, division.aside)
        for number, part in enumerate(division.parts):
            if not division.whole:
                clock.progress("partition", number, len(division.parts))
            entries.add(*_solved(prepared, part, division, source, clock))
        cells, counts, found = entries.partition(division)
    return Partitioned(prepared=prepared, cells=cells, counts=counts, partition=found, parts=len(division.parts))


def _partition_linked(prepared: Prepared, linked: LinkedRows, clock: Clock) -> Partition:
    """Partition the published rows of persons so that bundles of persons publish the same rows.

    Parameters
    ----------
    prepared : Prepared
    linked : LinkedRows
        Whose the rows of its input are.
    clock : Clock
    """
    of_rows = linked.select(prepared.rows)
    problem = replace(prepared.problem(clock), table=replace(prepared.table, counts=None))
    found = group_linked_rows(problem, of_rows.persons, of_rows.positions, linked.strata, prepared.request.chosen)
    found.check(prepared.table.rows, len(prepared.table.quasi_identifiers))
    return found


def _undivided(request: Request) -> str | None:
    """Return why a request cannot be solved in parts; None where it can."""
    if not request.requirement.monotone or request.requirement.table_models:
        return "What is asked of the release as a whole cannot be asked of parts of it"
    if not request.chosen.capabilities.divisible:
        return f"{request.chosen.name} decides about all rows together"
    return None


def _solved(
    prepared: Prepared, part: TablePart, division: Division, source: Source, clock: Clock
) -> tuple[NDArray[np.int64], NDArray[np.int64], Partition]:
    """Let the algorithm partition the rows of a part; return the cell and the rows of each entry, with its groups."""
    of_row, rows = _rows_of(prepared, part, division)
    problem = replace(prepared.problem(clock), table=rows)
    try:
        found = prepared.request.chosen.partition(problem)
    except InfeasibleError as error:
        raise _with_row_numbers(error, prepared, of_row, source) from error
    found.check(rows.rows, len(rows.quasi_identifiers))
    # Rows of a cell in one group mostly stand together: they are counted as runs first.
    starts = np.ones(len(of_row), dtype=np.bool_)
    starts[1:] = (of_row[1:] != of_row[:-1]) | (found.groups[1:] != found.groups[:-1])
    begin = np.flatnonzero(starts)
    keys = of_row[begin].astype(np.int64) * found.count + found.groups[begin]
    keys, place = np.unique(keys, return_inverse=True)
    counts = rows_by_code(place, len(keys), np.diff(begin, append=len(of_row)))
    cells, groups = np.divmod(keys, found.count)
    return cells, counts, replace(found, groups=groups.astype(np.int32))


def _rows_of(prepared: Prepared, part: TablePart, division: Division) -> tuple[NDArray[np.integer], Table]:
    """Return the rows of a part as an algorithm sees them, each of which stands for itself, and the cell of each."""
    table = prepared.asked
    if division.whole and table.has_unit_counts:  # they are in an order that tells nothing already
        rows = replace(table, counts=None)
        rows.__dict__["classes"] = replace(table.classes, weights=None)
        return part.cells, rows
    if division.whole and not table.rows_may_differ:
        # The rows in the order of their cells, so that they are grouped already.
        of_row = np.repeat(table.classes.order, part.counts[table.classes.order])
        rows = table.entries(of_row, None)
        rows.__dict__["classes"] = table.classes.expand_counts()
        return of_row, rows
    of_row = np.repeat(part.cells, part.counts)
    if table.rows_may_differ:  # chance decides between rows that differ in what the algorithm does not see
        of_row = prepared.rng.permutation(of_row)
    rows = table.entries(of_row, None)
    if not division.whole:
        rows = replace(rows, totals=tuple(population.totals for population in populations_of(table)))
    return of_row, rows


def _with_row_numbers(
    error: InfeasibleError, prepared: Prepared, of_row: NDArray[np.integer], source: Source
) -> InfeasibleError:
    """Return the error with the numbers that its rows have in the input, the first ones in its message."""
    if error.rows is None:
        return error
    # The rows of each cell are numbered in the order in which they stand in the input.
    found = _row_numbers(prepared, source)
    if found is None:
        return InfeasibleError(error)
    begin = np.cumsum(prepared.counts) - prepared.counts
    order = np.argsort(of_row, kind="stable")
    place = np.empty(len(of_row), dtype=np.int64)
    place[order] = np.arange(len(of_row)) - np.searchsorted(of_row[order], of_row[order])
    numbers = np.sort(found[begin[of_row[error.rows]] + place[error.rows]])
    shown = ", ".join(map(str, numbers[:_SHOWN_ROWS].tolist())) + (", ..." if len(numbers) > _SHOWN_ROWS else "")
    return InfeasibleError(error, f" Numbers of these rows, counted from 0: {shown}.", rows=numbers)


def _row_numbers(prepared: Prepared, source: Source) -> NDArray[np.integer] | None:
    """Find the numbers in the input of the rows that each row of a table stands for; None if rows have no numbers."""
    if prepared.detailed is None:
        found: NDArray[np.integer] | None = source.row_numbers(prepared.opened, prepared.rows, prepared.counts)
        return found
    numbers = _row_numbers(prepared.detailed, source)
    if numbers is None:
        return None
    of_class = np.repeat(prepared.detailed.table.classes.of_rows, prepared.detailed.counts)
    return np.asarray(numbers[np.argsort(of_class, kind="stable")])


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
    code = "solved_in_parts_beside_large" if division.aside.any() else "solved_in_parts"
    return Guarantee(promise=Fact(code, count=parts))
