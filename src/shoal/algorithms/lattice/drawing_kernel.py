# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Drawing of groups that are like the table from cells of the hierarchies, and lists of the cells that fit a class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined, kernel, kernel_step
from shoal.algorithms.common.hashing_kernel import EMPTY, slot_of, slots_for
from shoal.algorithms.lattice.likeness_kernel import largest_like

__all__ = ["LARGEST_KEY", "Climbing", "Histogram", "draw_groups", "list_fitting"]

LARGEST_KEY = np.int64((1 << 63) - 1)
"""Keys of cells are sums without their sign, because keys of hash tables are not negative."""


class Climbing(NamedTuple):
    """The classes of equal rows, and the nodes of their attributes at each level."""

    codes: NDArray[np.int32]
    """Codes of each class, shape (classes, d)."""
    offsets: NDArray[np.int64]
    """Start of an attribute's codes at a level in `marks` and `costs`, shape (d, levels)."""
    marks: NDArray[np.int64]
    """A random number for the node above each code: the sum over the attributes identifies a cell."""
    costs: NDArray[np.int64]
    """Loss of a row with each code in the attribute."""
    vectors: NDArray[np.int64]
    """Vectors of levels, shape (vectors, d)."""


class Histogram(NamedTuple):
    """Rows of each class by sensitive value: the cells of `EquivalenceClasses`."""

    starts: NDArray[np.int64]
    """Start of each class in `values` and `begins`; one more than there are classes."""
    values: NDArray[np.int32]
    begins: NDArray[np.int64]
    """Start of the rows with each value, in the canonical order; one more."""


@inlined
def _key(climbing, vector, row_class):
    """Compute the key of the cell of a class at a vector of levels: 63 random bits, almost surely unique."""
    # A sum of random numbers, so that the cell of a class takes d additions.
    key = np.int64(0)
    for c in range(climbing.codes.shape[1]):
        key += climbing.marks[climbing.offsets[c, climbing.vectors[vector, c]] + climbing.codes[row_class, c]]
    return key & LARGEST_KEY


@kernel_step
def _count_cells(climbing, vector, alive, count, histogram, left, cell_of, table, numbers, slots, found):
    """Count the rows left in each cell at a vector of levels; return the number of cells."""
    # Classes without rows left are no longer in `alive`.
    cells = 0
    for i in range(count):
        row_class = np.int64(alive[i])
        key = _key(climbing, vector, row_class)
        slot = slot_of(table, key)
        # A new cell: number it, and clear its histogram.
        if table[slot] == EMPTY:
            table[slot] = key
            numbers[slot] = cells
            slots[cells] = slot
            found[cells] = 0
            cells += 1
        cell = numbers[slot]
        cell_of[row_class] = cell
        # Add the rows of the class that are left, by value.
        for j in range(histogram.starts[row_class], histogram.starts[row_class + 1]):
            found[cell, histogram.values[j]] += left[j]
    return cells


@kernel
def draw_groups(climbing, histogram, like, group_of, group_keys, group_vectors):
    """Draw at each vector of levels, one after another, the largest group like the table from each cell.

    Parameters
    ----------
    climbing, histogram : Climbing, Histogram
        The vectors in the order in which groups are drawn.
    like : Likeness
        Closeness required of a group.
    group_of : int32[n]
        Receives the group of each row in the canonical order, or -1.
    group_keys : int64[n]
        Receives the key of the cell that each group follows.
    group_vectors : int64[n]
        Receives the vector of that cell.

    Returns
    -------
    int
        Number of groups.
    """
    classes = climbing.codes.shape[0]
    values = like.totals.size
    # Scratch for the cells of one vector.
    table = np.full(slots_for(classes), EMPTY, np.int64)
    numbers = np.empty(table.size, np.int32)
    slots = np.empty(classes, np.int64)
    cell_of = np.empty(classes, np.int32)
    found = np.empty((classes, values), np.int32)
    selected = np.empty(values, np.int64)
    drawn = np.empty(classes, np.int32)
    left = np.diff(histogram.begins)
    alive = np.arange(classes, dtype=np.int32)
    count = classes
    groups = 0
    group_of[:] = -1
    # Greedy: vectors of little loss first, so that few rows are left for costly cells.
    for vector in range(climbing.vectors.shape[0]):
        cells = _count_cells(climbing, vector, alive, count, histogram, left, cell_of, table, numbers, slots, found)
        # Select rows in each cell; the selection replaces its histogram.
        before = groups
        for cell in range(cells):
            drawn[cell] = -1
            if largest_like(found[cell], like, selected) > 0:
                drawn[cell] = groups
                group_keys[groups] = table[slots[cell]]
                group_vectors[groups] = vector
                groups += 1
                for v in range(values):
                    found[cell, v] = selected[v]
        # Clear the hash table for the next vector.
        for cell in range(cells):
            table[slots[cell]] = EMPTY
        # Assign the rows, unless no cell had a group.
        if groups > before:
            count = _assign_rows(alive, count, histogram, left, cell_of, drawn, found, group_of)
    return groups


@kernel_step
def _assign_rows(alive, count, histogram, left, cell_of, drawn, found, group_of):
    """Assign the selected rows to their groups; return the number of classes with rows left, which stay in `alive`."""
    kept = 0
    for i in range(count):
        # Take rows of each value while the cell's selection needs them.
        row_class = alive[i]
        cell = cell_of[row_class]
        rest = 0
        for j in range(histogram.starts[row_class], histogram.starts[row_class + 1]):
            if drawn[cell] >= 0:
                value = histogram.values[j]
                rows = min(left[j], found[cell, value])
                found[cell, value] -= rows
                # The rows that are left stand at the end of the range of each value.
                for row in range(histogram.begins[j + 1] - left[j], histogram.begins[j + 1] - left[j] + rows):
                    group_of[row] = drawn[cell]
                left[j] -= rows
            rest += left[j]
        if rest > 0:
            alive[kept] = row_class
            kept += 1
    return kept


@kernel
def list_fitting(climbing, group_keys, starts, groups, costs):
    """List the groups that the rows of each class can follow, in the order of the vectors.

    Parameters
    ----------
    climbing : Climbing
        With the vectors that groups were drawn at.
    group_keys : int64[g]
        The cell of each group.
    starts : int64[classes + 1]
        Receives the start of each class in `groups` and `costs`.
    groups : int32[pairs] or int32[0]
        Receives the groups; empty if they are only to be counted.
    costs : int32[pairs] or int32[0]
        Receives the loss of a row of the class in each.

    Returns
    -------
    Number of pairs.
        How many pairs there are.
    """
    # Hash the cells of the groups.
    table = np.full(slots_for(group_keys.size), EMPTY, np.int64)
    numbers = np.empty(table.size, np.int32)
    for group in range(group_keys.size):
        slot = slot_of(table, group_keys[group])
        table[slot] = group_keys[group]
        numbers[slot] = group
    pairs = np.int64(0)
    # Look up each class at each vector; the first call counts, the second fills in.
    for row_class in range(climbing.codes.shape[0]):
        starts[row_class] = pairs
        for vector in range(climbing.vectors.shape[0]):
            slot = slot_of(table, _key(climbing, vector, row_class))
            if table[slot] == EMPTY:
                continue
            # The loss of a row in the cell, summed over the attributes.
            if groups.size:
                cost = 0
                for c in range(climbing.codes.shape[1]):
                    cost += climbing.costs[
                        climbing.offsets[c, climbing.vectors[vector, c]] + climbing.codes[row_class, c]
                    ]
                groups[pairs] = numbers[slot]
                costs[pairs] = cost
            pairs += 1
    starts[climbing.codes.shape[0]] = pairs
    return pairs
