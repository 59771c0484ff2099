"""Partition a table with the algorithm of its request, in parts if it does not fit into memory.

A *cell* is a distinct row of the encoded table, which represents one or more rows of the input (its count). An
algorithm may put rows of one cell into different groups. The result is a list of *entries*: a cell, a group, and the
number of rows of the cell that are in the group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.progress import Clock
from shoal.algorithms.base import Algorithm, Guarantee, Partition, Problem
from shoal.algorithms.bundles.linking import group_linked_rows
from shoal.algorithms.common.compiled import populations_of
from shoal.errors import InfeasibleError
from shoal.pipeline.division import Division, GroupChecker, TablePart, divide_table
from shoal.pipeline.input import BundledRows
from shoal.pipeline.kept_rows import number_rows_within_owners
from shoal.pipeline.limits import WITHIN_LIMITS, LevelLimits
from shoal.pipeline.own_values import give_own_values, needs_own_values
from shoal.pipeline.prepare import PreparedTable
from shoal.pipeline.source import Source
from shoal.request.request import Request
from shoal.table import Table
from shoal.table.counts import rows_by_code

_MAX_SHOWN_ROWS = 20
"""Largest number of row numbers in a message; the exception object has all of them."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PartitionedTable:
    """A prepared table and a partition of its rows into groups, as entries."""

    prepared: PreparedTable
    cells: NDArray[np.int64]
    """Index of the cell of each entry, a row of the prepared table."""
    counts: NDArray[np.int64]
    """Number of rows of the input that each entry represents."""
    partition: Partition
    """The group of each entry."""
    parts: int = 1
    """Number of parts that were solved separately."""


def partition(prepared: PreparedTable, source: Source, clock: Clock) -> PartitionedTable:
    """Partition a table with the algorithm of its request, in parts if it does not fit into memory.

    The rows of a cell are interchangeable. The algorithm works on all rows at once if they fit into memory, and
    otherwise on one part after another. The populations of the models are those of the whole table in both cases.

    Parameters
    ----------
    prepared : PreparedTable
    source : Source
        The source of the table.
    clock : Clock
        Measures the step "partition".

    Raises
    ------
    InfeasibleError
        If the algorithm finds no partition that satisfies the request.
    DataError
        If the rows do not fit into memory, not even in parts.
    """
    request, table, bundled = prepared.request, prepared.problem_table, prepared.opened.bundled
    with clock.step("partition"):
        # Bundles need an algorithm of their own. An algorithm that keeps equal rows together needs them only once.
        if bundled is not None or request.chosen.capabilities.keeps_classes:
            whole = _partition_cells if bundled is None else partial(_partition_bundled, bundled)
            found = whole(prepared, clock)
            return PartitionedTable(
                prepared=prepared, cells=np.arange(table.rows), counts=prepared.counts, partition=found
            )
        # All other tables are divided if necessary, and solved part by part.
        problem = prepared.problem(clock)
        limits = LevelLimits.of(problem, request.chosen)
        blocks = None if limits is None else limits.find_blocks(table)
        if limits is not None:
            problem = limits.raise_values(problem)
        counted = _counts_cells(problem, request.chosen)
        division = divide_table(
            table,
            request.requirement,
            request.chosen,
            source.budget,
            reason=_explain_indivisible(request),
            blocks=blocks,
            counted=counted,
        )
        entries = _EntryCollector(table, division.set_aside)
        for number, part in enumerate(division.parts):
            if not division.is_undivided:
                clock.progress("partition", number, len(division.parts))
            entries.add(*_solve_part(prepared, problem, part, division, source, counted=counted))
        if limits is None:
            cells, counts, found = entries.join(division)
        else:
            cells, counts, found = _keep_within_limits(entries, division, limits, prepared)
    return PartitionedTable(prepared=prepared, cells=cells, counts=counts, partition=found, parts=len(division.parts))


def _partition_bundled(bundled: BundledRows, prepared: PreparedTable, clock: Clock) -> Partition:
    """Partition rows so that bundles of persons publish the same rows.

    A record with a list of values is a person with one row.

    Parameters
    ----------
    bundled : BundledRows
        The person of each row of the input, and the place of the row among those of the person.
    prepared : PreparedTable
    clock : Clock
    """
    problem = replace(prepared.problem(clock), table=replace(prepared.table, counts=None))
    found = group_linked_rows(
        problem,
        bundled.persons[prepared.rows],
        bundled.positions[prepared.rows],
        bundled.strata,
        prepared.request.chosen,
        ordered=bundled.ordered,
    )
    found.check(prepared.table)
    return replace(found, guarantee=Guarantee(promise=Fact("lists_of_values"))) if bundled.alone else found


def _partition_cells(prepared: PreparedTable, clock: Clock) -> Partition:
    """Partition the cells without their counts, with an algorithm that never separates equal rows."""
    problem = replace(prepared.problem(clock), table=replace(prepared.problem_table, counts=None))
    found = prepared.request.chosen.partition(problem)
    found.check(prepared.table)
    return found


def _counts_cells(problem: Problem, algorithm: Algorithm) -> bool:
    """Check whether the algorithm can work on the cells with their counts, which takes less time than single rows."""
    table = problem.table
    return (
        not table.has_unit_counts
        and not table.rows_may_differ
        and algorithm.works_on_counts(len(table.quasi_identifiers))
        and not needs_own_values(problem.requirement, algorithm)
        and len(table.classes.cell_values) == table.rows  # limits of levels may have made several equal
    )


def _explain_indivisible(request: Request) -> str | None:
    """Explain why a request cannot be solved in parts, or return None if it can."""
    if not request.requirement.monotone or request.requirement.table_models:
        return "A model of the release as a whole does not apply to parts of it"
    if not request.chosen.capabilities.divisible:
        return f"{request.chosen.name} decides about all rows together"
    return None


def _keep_within_limits(
    entries: _EntryCollector, division: Division, limits: LevelLimits, prepared: PreparedTable
) -> tuple[NDArray[np.int64], NDArray[np.int64], Partition]:
    """Join the entries of all parts and the rows without a part, and suppress what is outside of the limits."""
    rest, table = division.suppressed, prepared.problem_table
    if len(rest):
        groups = np.zeros(len(rest), dtype=np.int32)
        entries.add(rest, table.multiplicities[rest], Partition.of(groups, Guarantee(promise=WITHIN_LIMITS)))
    cells, counts, found = entries.join(division)
    suppressed = np.zeros(found.count, dtype=np.bool_)
    suppressed[-1] = len(rest) > 0
    checker = GroupChecker(table, prepared.request.requirement)
    found = limits.suppress_outside(found, suppressed, cells, counts, checker)
    # Entries in the order of the cells, which may be that of the input.
    order = np.argsort(cells, kind="stable")
    return cells[order], counts[order], replace(found, groups=found.groups[order])


def _solve_part(
    prepared: PreparedTable, problem: Problem, part: TablePart, division: Division, source: Source, *, counted: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], Partition]:
    """Run the algorithm on a part; return the cell and the count of each entry, and the partition of the entries."""
    algorithm = prepared.request.chosen
    # Too few rows for two groups: limits may leave thousands of such parts.
    few = part.counts.sum() < 2 * prepared.request.requirement.least_size
    if few and not division.is_undivided and algorithm.capabilities.divisible:
        one = np.zeros(len(part.cells), dtype=np.int32)
        return part.cells, part.counts, Partition.of(one, Guarantee(promise=WITHIN_LIMITS))
    if counted:
        table = problem.table if division.is_undivided else _part_of(problem.table, part.cells, part.counts)
        found = _partition_with_weights(replace(problem, table=table), algorithm)
        found.check(table)
        if found.rows is None or found.counts is None:  # every cell is in one group
            return part.cells, part.counts, found
        return part.cells[found.rows], found.counts, replace(found, rows=None, counts=None)
    of_row, rows = _expand_rows(prepared, problem.table, part, division)
    problem = give_own_values(replace(problem, table=rows), algorithm)
    try:
        found = _partition_with_weights(problem, algorithm)
    except InfeasibleError as error:
        raise _add_row_numbers(error, prepared, of_row, source) from error
    found.check(rows)
    if np.all(of_row[1:] > of_row[:-1]):  # one row of each cell
        return of_row.astype(np.int64), np.ones(len(of_row), dtype=np.int64), found
    # Rows of one cell and group are usually adjacent: count runs first, then add up the runs of each entry.
    starts = np.ones(len(of_row), dtype=np.bool_)
    starts[1:] = (of_row[1:] != of_row[:-1]) | (found.groups[1:] != found.groups[:-1])
    begin = np.flatnonzero(starts)
    keys = of_row[begin].astype(np.int64) * found.count + found.groups[begin]
    keys, place = np.unique(keys, return_inverse=True)
    counts = rows_by_code(place, len(keys), np.diff(begin, append=len(of_row)))
    cells, groups = np.divmod(keys, found.count)
    return cells, counts, replace(found, groups=groups.astype(np.int32))


def _expand_rows(
    prepared: PreparedTable, table: Table, part: TablePart, division: Division
) -> tuple[NDArray[np.integer], Table]:
    """Expand a part to single rows; return the cell of each row, and the table of these rows."""
    # If each cell is one row, the order no longer depends on the input.
    if division.is_undivided and (table.has_unit_counts or not table.rows_may_differ):
        return table.single_rows()
    of_row = np.repeat(part.cells, part.counts)
    # Shuffle rows that differ only in columns that the algorithm does not see.
    if table.rows_may_differ:
        of_row = prepared.rng.permutation(of_row)
    return of_row, table.entries(of_row, None) if division.is_undivided else _part_of(table, of_row, None)


def _part_of(table: Table, rows: NDArray[np.integer], counts: NDArray[np.int64] | None) -> Table:
    """Select rows of a table as a part of it, whose frequencies are those of the whole table."""
    totals = tuple(population.totals for population in populations_of(table))
    return replace(table.entries(rows, counts), totals=totals)


def _add_row_numbers(
    error: InfeasibleError, prepared: PreparedTable, of_row: NDArray[np.integer], source: Source
) -> InfeasibleError:
    """Add the numbers that the error's rows have in the input; the first numbers become part of the message."""
    if error.rows is None:
        return error
    # Row numbers by cell, those of each cell in the order of the input.
    found = _find_row_numbers(prepared, source)
    if found is None:
        return InfeasibleError(error)
    begin = np.cumsum(prepared.counts) - prepared.counts
    # The place of each row among the rows of its cell selects one of these numbers.
    places = number_rows_within_owners(of_row)
    numbers = np.sort(found[begin[of_row[error.rows]] + places[error.rows]])
    shown = ", ".join(map(str, (numbers[:_MAX_SHOWN_ROWS] + 1).tolist())) + (
        ", ..." if len(numbers) > _MAX_SHOWN_ROWS else ""
    )
    return InfeasibleError(error, f" Numbers of these rows, counted from 1: {shown}.", rows=numbers)


def _find_row_numbers(prepared: PreparedTable, source: Source) -> NDArray[np.integer] | None:
    """Find the numbers of the input rows, in the order of the rows that represent them; None without numbers."""
    if prepared.detailed is None:
        found: NDArray[np.integer] | None = source.row_numbers(prepared.opened, prepared.rows, prepared.counts)
        return found
    # Columns that no model reads were dropped: each row here is a class of the detailed table.
    numbers = _find_row_numbers(prepared.detailed, source)
    if numbers is None:
        return None
    of_class = np.repeat(prepared.detailed.table.classes.of_rows, prepared.detailed.counts)
    return np.asarray(numbers[np.argsort(of_class, kind="stable")])


class _EntryCollector:
    """Collects the entries of all parts; group numbers continue from part to part."""

    def __init__(self, table: Table, set_aside: NDArray[np.int64]) -> None:
        self._attributes = len(table.quasi_identifiers)
        # The rows that are set aside come first: one group for each of their classes.
        cells = np.flatnonzero(set_aside)
        self._cells, self._counts = [cells], [set_aside[cells]]
        self._groups: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        self._partitions: list[Partition] = []
        self._count = 0
        if len(cells):
            found, groups = np.unique(table.classes.of_rows[cells], return_inverse=True)
            self._groups, self._count = [groups.astype(np.int64)], len(found)
        self._groups_set_aside = self._count

    def add(self, cells: NDArray[np.int64], counts: NDArray[np.int64], partition: Partition) -> None:
        """Add the entries of a part and their partition."""
        self._cells.append(cells)
        self._counts.append(counts)
        self._groups.append(partition.groups + np.int64(self._count))
        self._partitions.append(partition)
        self._count += partition.count

    def join(self, division: Division) -> tuple[NDArray[np.int64], NDArray[np.int64], Partition]:
        """Return the cells and counts of all entries, and the partition of them; the collected arrays are released."""
        groups = _concatenate_and_clear(self._groups).astype(np.int32)
        # A single partition keeps its guarantee. Several have a common one, which states the number of parts.
        if division.is_undivided:
            (only,) = self._partitions
            whole = replace(only, groups=groups, count=self._count)
        else:
            whole = Partition(
                groups=groups,
                count=self._count,
                guarantee=_make_guarantee(division),
                facts={"groups_of_large_classes": self._groups_set_aside},
                least=self._join_least(),
            )
        return _concatenate_and_clear(self._cells), _concatenate_and_clear(self._counts), whole

    def _join_least(self) -> NDArray[np.int32] | None:
        """Join the least levels of the groups of all parts; None if no part has any."""
        if all(one.least is None for one in self._partitions):
            return None
        zeros = [np.zeros((self._groups_set_aside, self._attributes), dtype=np.int32)]
        return np.concatenate(
            zeros
            + [
                np.zeros((one.count, self._attributes), dtype=np.int32) if one.least is None else one.least
                for one in self._partitions
            ]
        )


def _concatenate_and_clear(arrays: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Concatenate arrays and clear the list, because the arrays may take most of the memory."""
    joined = np.concatenate(arrays)
    arrays.clear()
    return joined


def _make_guarantee(division: Division) -> Guarantee:
    """Make the guarantee of a partition that was solved in parts."""
    parts = len(division.parts)
    code = "solved_in_parts_beside_large" if division.set_aside.any() else "solved_in_parts"
    return Guarantee(promise=Fact(code, count=parts))


def _partition_with_weights(problem: Problem, algorithm: Algorithm) -> Partition:
    """Run an algorithm on a problem; weights that it does not serve itself are served by repeated columns.

    A column with weight 2 is given twice if the others have weight 1, so that a sum over columns counts it twice.
    Groups are sets of rows, so the partition needs no conversion.
    """
    capabilities, copies = algorithm.capabilities, problem.preferences.copies
    if not problem.preferences.weights or capabilities.weights or not capabilities.sums_columns or copies is None:
        return algorithm.partition(problem)
    columns = zip(problem.table.quasi_identifiers, copies, strict=True)
    repeated = tuple(column for column, times in columns for _ in range(times))
    found = algorithm.partition(replace(problem, table=replace(problem.table, quasi_identifiers=repeated)))
    # Ratios and bounds of the run are those of the weighted loss.
    return replace(found, guarantee=Guarantee(promise=Fact("weighted_copies")))
