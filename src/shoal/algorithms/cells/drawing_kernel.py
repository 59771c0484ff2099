# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Drawing groups that are like the table from cells of the hierarchies, and listing which cells each class fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step
from shoal.algorithms.cells.likeness_kernel import largest_like
from shoal.algorithms.common.hashing_kernel import EMPTY, slot_of, slots_for

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["LARGEST_KEY", "Climbing", "Histogram", "draw_groups", "list_fitting"]

LARGEST_KEY = np.int64((1 << 63) - 1)
"""Keys of cells are sums whose sign is dropped: keys of hash tables are not negative."""


class Climbing(NamedTuple):
    """The classes of equal rows, and what each attribute of them becomes at each level."""

    codes: NDArray[np.int32]
    """Codes of each class, shape (classes, d)."""
    offsets: NDArray[np.int64]
    """Where an attribute's codes start at a level, shape (d, levels), in the two that follow."""
    marks: NDArray[np.int64]
    """A random number for the node above each code: the sum over attributes tells cells apart."""
    costs: NDArray[np.int64]
    """What a row with each code loses in the attribute."""
    vectors: NDArray[np.int64]
    """Vectors of levels, shape (vectors, d)."""


class Histogram(NamedTuple):
    """How many rows of each class have each sensitive value: the cells of `EquivalenceClasses`."""

    starts: NDArray[np.int64]
    """Where each class starts in the two that follow; one more than there are classes."""
    values: NDArray[np.int32]
    begins: NDArray[np.int64]
    """Where the rows with each start, in the canonical order; one more."""


@inlined
def _key(climbing, vector, one):
    """Return the number of the cell of a class at a vector of levels: with 63 random bits, hardly ever another's."""
    key = np.int64(0)
    for c in range(climbing.codes.shape[1]):
        key += climbing.marks[climbing.offsets[c, climbing.vectors[vector, c]] + climbing.codes[one, c]]
    return key & LARGEST_KEY


@kernel_step
def _count_cells(climbing, vector, alive, count, histogram, left, cell_of, table, numbers, slots, found):
    """Count what is left in each cell at a vector of levels; return how many cells there are."""
    cells = 0
    for i in range(count):
        one = np.int64(alive[i])
        key = _key(climbing, vector, one)
        slot = slot_of(table, key)
        if table[slot] == EMPTY:
            table[slot] = key
            numbers[slot] = cells
            slots[cells] = slot
            found[cells] = 0
            cells += 1
        cell = numbers[slot]
        cell_of[one] = cell
        for j in range(histogram.starts[one], histogram.starts[one + 1]):
            found[cell, histogram.values[j]] += left[j]
    return cells


@kernel
def draw_groups(climbing, histogram, like, group_of, group_keys, group_vectors):
    """Make at each vector of levels, one after another, of each cell the largest group that is like the table.

    Parameters
    ----------
    climbing, histogram : Climbing, Histogram
        The vectors in the order in which groups are drawn.
    like : Likeness
        What a group must be.
    group_of : int32[n]
        Receives the group of each row in the canonical order, or -1.
    group_keys : int64[n]
        Receives the key of the cell that each group follows.
    group_vectors : int64[n]
        Receives its vector.

    Returns
    -------
    int
        How many groups there are.
    """
    classes = climbing.codes.shape[0]
    values = like.totals.size
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
    for vector in range(climbing.vectors.shape[0]):
        cells = _count_cells(climbing, vector, alive, count, histogram, left, cell_of, table, numbers, slots, found)
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
        for cell in range(cells):
            table[slots[cell]] = EMPTY
        if groups > before:
            count = _hand_out(alive, count, histogram, left, cell_of, drawn, found, group_of)
    return groups


@kernel_step
def _hand_out(alive, count, histogram, left, cell_of, drawn, found, group_of):
    """Give the selected rows to their groups; return how many classes have rows left, which are kept in `alive`."""
    kept = 0
    for i in range(count):
        one = alive[i]
        cell = cell_of[one]
        rest = 0
        for j in range(histogram.starts[one], histogram.starts[one + 1]):
            if drawn[cell] >= 0:
                value = histogram.values[j]
                rows = min(left[j], found[cell, value])
                found[cell, value] -= rows
                for row in range(histogram.begins[j + 1] - left[j], histogram.begins[j + 1] - left[j] + rows):
                    group_of[row] = drawn[cell]
                left[j] -= rows
            rest += left[j]
        if rest > 0:
            alive[kept] = one
            kept += 1
    return kept


@kernel
def list_fitting(climbing, group_keys, starts, groups, costs):
    """List the groups that the rows of each class could follow, in the order of the vectors.

    Parameters
    ----------
    climbing : Climbing
        With the vectors that groups were drawn at.
    group_keys : int64[g]
        The cell of each group.
    starts : int64[classes + 1]
        Receives where each class starts in the two that follow.
    groups : int32[pairs] or int32[0]
        Receives the groups; empty where they shall only be counted.
    costs : int32[pairs] or int32[0]
        Receives what a row of the class loses there.

    Returns
    -------
    int
        How many pairs there are.
    """
    table = np.full(slots_for(group_keys.size), EMPTY, np.int64)
    numbers = np.empty(table.size, np.int32)
    for group in range(group_keys.size):
        slot = slot_of(table, group_keys[group])
        table[slot] = group_keys[group]
        numbers[slot] = group
    pairs = np.int64(0)
    for one in range(climbing.codes.shape[0]):
        starts[one] = pairs
        for vector in range(climbing.vectors.shape[0]):
            slot = slot_of(table, _key(climbing, vector, one))
            if table[slot] == EMPTY:
                continue
            if groups.size:
                cost = 0
                for c in range(climbing.codes.shape[1]):
                    cost += climbing.costs[climbing.offsets[c, climbing.vectors[vector, c]] + climbing.codes[one, c]]
                groups[pairs] = numbers[slot]
                costs[pairs] = cost
            pairs += 1
    starts[climbing.codes.shape[0]] = pairs
    return pairs
