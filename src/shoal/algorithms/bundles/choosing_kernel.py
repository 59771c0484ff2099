# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Choose which rows of persons stay, so that no sensitive value is that of too many persons."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined, kernel, kernel_step
from shoal.algorithms.common.whole_kernel import NO, YES

__all__ = ["RowValues", "choose_rows"]

NO_ROW: int = -1
"""Excludes no row."""
UNREACHED = 1 << 30
"""Distance of a value from which no exchanges lead to a value with room."""


class RowValues(NamedTuple):
    """The rows of persons, and the sensitive values of each row."""

    starts: NDArray[np.int64]
    """First row of each person; one more than there are persons."""
    entries: NDArray[np.int64]
    """First entry of each row in `values`; one more than there are rows."""
    values: NDArray[np.int32]
    """Numbers of the values, row by row."""


@kernel
def choose_rows(members, rows, most, stays):
    """Exchange rows that stay with other rows of the same person until no value is that of too many persons.

    An exchange takes values from a person and gives it others. Values of too many persons are passed on along shortest
    paths of exchanges to values with room, as push-relabel algorithms send flow. If each row has one value, and the
    rows of each person have different ones, a choice is found if and only if there is one.

    Parameters
    ----------
    members : int64[m]
        The persons that share the limits.
    rows : RowValues
    most : int64[values]
        Largest number of persons that may have each value.
    stays : bool[rows]
        The rows that stay. It changes; equally many of each person stay before and after.

    Returns
    -------
    bool
        Whether no value is that of too many persons.
    """
    counts = np.zeros(most.size, dtype=np.int64)
    distances = np.empty(most.size, dtype=np.int64)
    # Count each value once for a person: with the first of its rows that has it.
    for person in members:
        for row in range(rows.starts[person], rows.starts[person + 1]):
            for e in range(rows.entries[row], rows.entries[row + 1]):
                if stays[row] and not _has(rows.starts[person], row, row, rows.values[e], rows, stays):
                    counts[rows.values[e]] += 1
    least, idle = UNREACHED, 0
    while True:
        # Stop if the excess has not decreased for as many rounds as any path is long.
        excess = np.maximum(counts - most, 0).sum()
        idle = 0 if excess < least else idle + 1
        least = min(least, excess)
        if excess == 0 or idle > most.size:
            return excess == 0
        # Distance of each value from those with room, in exchanges: Bellman-Ford.
        for v in range(most.size):
            distances[v] = 0 if counts[v] < most[v] else UNREACHED
        changed = True
        while changed:
            changed = False
            for person in members:
                if _visit(person, rows, most, stays, counts, distances, NO):
                    changed = True
        # Pass the excess on, one step nearer to room.
        changed = False
        for person in members:
            if _visit(person, rows, most, stays, counts, distances, YES):
                changed = True
        if not changed:
            return False


@kernel_step
def _visit(person, rows, most, stays, counts, distances, exchange):
    """Shorten distances by the exchanges of a person, or make those that pass on an excess; return whether any was."""
    begin, end = rows.starts[person], rows.starts[person + 1]
    changed = False
    for joining in range(begin, end):
        if stays[joining]:
            continue
        # The farthest of the values that the person gains.
        reach = 0
        for e in range(rows.entries[joining], rows.entries[joining + 1]):
            v = rows.values[e]
            if not _has(begin, end, NO_ROW, v, rows, stays):
                full = exchange and distances[v] == 0 and counts[v] >= most[v]
                reach = UNREACHED if full else max(reach, distances[v])
        if reach >= UNREACHED:
            continue
        for leaving in range(begin, end):
            if not stays[leaving]:
                continue
            # Values that the person loses have a path by way of those that it gains.
            useful = False
            for e in range(rows.entries[leaving], rows.entries[leaving + 1]):
                v = rows.values[e]
                nearer = distances[v] == reach + 1 and counts[v] > most[v] if exchange else distances[v] > reach + 1
                if nearer and _is_lost(begin, end, leaving, joining, v, rows, stays):
                    useful = True
                    distances[v] = reach + 1
            if useful:
                changed = True
            if useful and exchange:
                _exchange(begin, end, leaving, joining, rows, stays, counts)
                break
    return changed


@kernel_step
def _has(begin, end, leaving, value, rows, stays):
    """Test whether any of some rows stays and has a value; one row may be excluded."""
    for row in range(begin, end):
        if stays[row] and row != leaving and _holds(row, value, rows):
            return True
    return False


@inlined
def _holds(row, value, rows):
    """Test whether a row has a value."""
    for e in range(rows.entries[row], rows.entries[row + 1]):
        if rows.values[e] == value:
            return True
    return False


@inlined
def _is_lost(begin, end, leaving, joining, value, rows, stays):
    """Test whether a person has a value of a row no more if another row stays in its place."""
    return not _holds(joining, value, rows) and not _has(begin, end, leaving, value, rows, stays)


@kernel_step
def _exchange(begin, end, leaving, joining, rows, stays, counts):
    """Let a row of a person stay in the place of another one."""
    for e in range(rows.entries[leaving], rows.entries[leaving + 1]):
        if _is_lost(begin, end, leaving, joining, rows.values[e], rows, stays):
            counts[rows.values[e]] -= 1
    for e in range(rows.entries[joining], rows.entries[joining + 1]):
        if not _has(begin, end, NO_ROW, rows.values[e], rows, stays):
            counts[rows.values[e]] += 1
    stays[leaving], stays[joining] = False, True
