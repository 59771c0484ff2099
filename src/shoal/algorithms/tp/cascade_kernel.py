# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The cascade: phase one of TP again and again on fewer and fewer attributes, as arithmetic on the residue's cells."""

from __future__ import annotations

import numpy as np

from shoal._compiling import kernel
from shoal.algorithms.tp.three_phase_kernel import largest_height

__all__ = ["keep_largest_parts", "project", "project_groups"]


@kernel
def project(codes, active, weights, values, radix):
    """Return the key of every active item: its codes weighted (0 for a starred attribute), then its sensitive value.

    `codes` has a row per item and a column per attribute.
    """
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
    """Return the projection of every group onto the kept attributes; -1 where it does not fit the pattern `stars`.

    A group fits when its own pattern of stars (`patterns`, as bits) is a proper part of it.
    """
    keys = np.full(patterns.size, -1, dtype=np.int64)
    for g in range(patterns.size):
        if patterns[g] & ~stars == 0 and patterns[g] != stars:
            key = np.int64(0)
            for a in range(weights.size):
                key += weights[a] * codes[g, a]
            keys[g] = key
    return keys


@kernel
def keep_largest_parts(keys, items, radix, left, taken, first_row, rows, groups, next_group, num, den, k):
    """Group the items by key, keep the largest acceptable part of each group, and number the groups.

    `keys` (sorted) are `projection * radix + value`; `items` are carried along. Item i has `left[i]` rows that wait,
    the next ones at `rows[first_row[i] + taken[i]]`; rows that are kept get their group's number in `groups`.
    Returns the items that still have rows, and the next free group number.
    """
    n = items.size
    cell_counts = np.empty(n, dtype=np.int32)
    cell_starts = np.empty(n + 1, dtype=np.int64)
    still = np.empty(n, dtype=np.int32)
    remaining = 0
    i = 0
    while i < n:
        projection = keys[i] // radix
        cells = np.int64(0)
        last = np.int64(-1)
        j = i
        while j < n and keys[j] < (projection + 1) * radix:
            if keys[j] != last:
                last = keys[j]
                cell_starts[cells] = j
                cell_counts[cells] = 0
                cells += 1
            cell_counts[cells - 1] += left[items[j]]
            j += 1
        cell_starts[cells] = j
        height = largest_height(cell_counts, np.int64(0), cells, num, den, k) if cells * den >= num else 0
        for c in range(cells):
            quota = height
            for p in range(cell_starts[c], cell_starts[c + 1]):
                item = items[p]
                take = min(quota, np.int64(left[item]))
                if take > 0:
                    begin = first_row[item] + taken[item]
                    for q in range(begin, begin + take):
                        groups[rows[q]] = next_group
                    taken[item] += take
                    left[item] -= take
                    quota -= take
                if left[item] > 0:
                    still[remaining] = item
                    remaining += 1
        if height > 0:
            next_group += 1
        i = j
    return still[:remaining].copy(), next_group
