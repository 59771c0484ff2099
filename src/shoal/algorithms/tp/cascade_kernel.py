# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The cascade: phase one of TP repeated on fewer and fewer attributes, as arithmetic on the residue's cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, inlined, kernel, kernel_step
from shoal.algorithms.tp.three_phase_kernel import largest_height
from shoal.table.sorting_kernel import cell_runs

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


__all__ = [
    "Frequency",
    "Waiting",
    "append_waiting",
    "count_left",
    "keep_largest_parts",
    "project",
    "project_groups",
    "serve",
]


class Frequency(NamedTuple):
    """Requirement for a group: no value has more than `den / num` of the rows, and there are at least `k` rows."""

    num: int
    den: int
    k: int


class Waiting(NamedTuple):
    """Items without a group, in the order of their projections and, within these, of their values.

    An item is a number of equal rows. Projection r has the cells `starts[r]:starts[r + 1]`, one for each value; cell c
    has the items at the places `cell_starts[c]:cell_starts[c + 1]`.
    """

    keys: Counts
    """`projection * radix + value` at each place."""
    items: Codes
    """The item at each place."""
    cell_starts: Codes
    values: Codes
    """The value of each cell."""
    starts: Codes
    radix: int
    left: Codes
    """Rows of each item that have no group yet."""
    table_cells: Codes
    """The cell of the table that each item is a part of."""

    @classmethod
    def of(cls, keys: Counts, items: Codes, radix: int, *, left: Codes, table_cells: Codes) -> Waiting:
        """Find the projections and cells of items in the order of their keys."""
        cell_starts, values, starts = cell_runs(keys, radix)
        return cls(keys, items, cell_starts, values, starts, radix, left, table_cells)


@kernel
def project(codes, active, weights, values, radix):
    """Compute the key of every active item: its weighted codes (weight 0 for a starred attribute), then its value.

    `codes` has a row per item and a column per attribute.
    """
    # A mixed-radix number: the projection is the high part, the sensitive value the low part.
    keys = np.empty(active.size, dtype=np.int64)
    for i in range(active.size):
        item = active[i]
        key = np.int64(0)
        for a in range(weights.size):
            key += weights[a] * codes[item, a]
        keys[i] = key * radix + values[item]
    return keys


@kernel
def project_groups(codes, patterns, stars, weights):
    """Compute the projection of every group onto the kept attributes; -1 if the group does not fit the pattern `stars`.

    A group fits if its own pattern of stars (`patterns`, as bits) is a proper subset of `stars`.
    """
    keys = np.empty(patterns.size, dtype=np.int64)
    for g in range(patterns.size):
        keys[g] = -1
        # Bit test: no star outside the pattern, and at least one star fewer.
        if patterns[g] & ~stars == 0 and patterns[g] != stars:
            key = np.int64(0)
            for a in range(weights.size):
                key += weights[a] * codes[g, a]
            keys[g] = key
    return keys


@allocating_step
def count_left(waiting):
    """Count the rows of each cell that have no group yet."""
    # An item may have given some of its rows to an earlier group: count what is left, not the items.
    counts = np.zeros(waiting.values.size, dtype=np.int32)
    for c in range(counts.size):
        for p in range(waiting.cell_starts[c], waiting.cell_starts[c + 1]):
            counts[c] += waiting.left[waiting.items[p]]
    return counts


@kernel_step
def serve(waiting, r, height, group, entries, used):
    """Assign at most `height` waiting rows of each value of a projection to a group.

    Each item that gives rows adds an entry: cell of the table, group and rows. Returns the new number of entries.
    """
    for c in range(waiting.starts[r], waiting.starts[r + 1]):
        # Several items may share a value: the quota is for the value.
        quota = height
        for p in range(waiting.cell_starts[c], waiting.cell_starts[c + 1]):
            item = waiting.items[p]
            take = min(quota, np.int64(waiting.left[item]))
            if take > 0:
                waiting.left[item] -= take
                quota -= take
                entries[used, 0] = waiting.table_cells[item]
                entries[used, 1] = group
                entries[used, 2] = take
                used += 1
    return used


@inlined
def append_waiting(waiting, r, unserved, remaining):
    """Append the items of a projection that still have rows; return the new number of appended items."""
    first, last = waiting.starts[r], waiting.starts[r + 1]
    for p in range(waiting.cell_starts[first], waiting.cell_starts[last]):
        if waiting.left[waiting.items[p]] > 0:
            unserved[remaining] = waiting.items[p]
            remaining += 1
    return remaining


@kernel
def keep_largest_parts(waiting, form, next_group):
    """Make the largest acceptable part of each projection a group, numbered from `next_group` on.

    Returns the items that still have rows, the entries of the groups, and the next free group number.
    """
    counts = count_left(waiting)
    unserved = np.empty(waiting.items.size, dtype=np.int32)
    # An item gives rows to one group at most.
    entries = np.empty((waiting.items.size, 3), dtype=np.int32)
    used = np.int64(0)
    # Every projection is one candidate for a group.
    remaining = np.int64(0)
    for r in range(waiting.starts.size - 1):
        first, last = np.int64(waiting.starts[r]), np.int64(waiting.starts[r + 1])
        # Fewer than l values can never be acceptable.
        if (last - first) * form.den >= form.num:
            height = largest_height(counts, first, last, form.num, form.den, form.k)
            if height > 0:
                used = serve(waiting, r, height, next_group, entries, used)
                next_group += 1
        # Rows above the height wait for the next pattern.
        remaining = append_waiting(waiting, r, unserved, remaining)
    return unserved[:remaining], entries[:used], next_group
