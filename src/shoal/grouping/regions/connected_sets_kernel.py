# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Enumeration of the connected sets of nodes of a small graph with a weight between two bounds."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import inlined, kernel, kernel_step

__all__ = ["connected_sets", "lightest_set"]

_MEMBERS_PER_SET = 24
"""Expected average number of members of a set; if there are more, the sets count as too many."""


@inlined
def _divides(weight, low, high):
    """Test whether a weight is a sum of numbers between `low` and `high` (of none if it is 0)."""
    # The fewest parts that the weight needs must not exceed it at the lower bound.
    return -(-weight // high) * low <= weight


@kernel_step
def _leaves_divisible(offsets, targets, weights, inside, low, high, queue, seen, stamp):
    """Test whether every remaining component can be divided into parts within the bounds, by weight alone."""
    # Find the components by breadth-first search.
    for start in range(inside.size):
        if inside[start] or seen[start] == stamp:
            continue
        seen[start] = stamp
        queue[0] = start
        filled = 1
        weight = np.int64(0)
        i = 0
        while i < filled:
            v = queue[i]
            i += 1
            weight += weights[v]
            for j in range(offsets[v], offsets[v + 1]):
                u = targets[j]
                if not inside[u] and seen[u] != stamp:
                    seen[u] = stamp
                    queue[filled] = u
                    filled += 1
        # A component that cannot be divided rules the set out.
        if weight < low or not _divides(weight, low, high):
            return False
    return True


@kernel
def connected_sets(offsets, targets, weights, low, high, most_sets, most_steps):
    """Enumerate the connected sets with low <= weight <= high whose complement might be divided into such sets, too.

    Sets grow from their smallest node, each in one way only (Wernicke 2006, "ESU"). Returns the start of each set in
    `members`, the members, the number of sets, and whether the enumeration is complete: at most `most_sets` sets are
    kept, and at most `most_steps` steps are made.
    """
    n = offsets.size - 1
    starts = np.zeros(most_sets + 1, dtype=np.int64)
    members = np.empty(_MEMBERS_PER_SET * most_sets + n, dtype=np.int32)
    count = 0
    # The state of the recursion, by depth: candidates, chosen node and weight.
    waiting = np.empty((n + 1, n), dtype=np.int32)
    length = np.zeros(n + 1, dtype=np.int64)
    chosen = np.empty(n + 1, dtype=np.int32)
    weight = np.zeros(n + 1, dtype=np.int64)
    near = np.zeros(n, dtype=np.int32)
    inside = np.zeros(n, dtype=np.bool_)
    queue = np.empty(n, dtype=np.int32)
    seen = np.zeros(n, dtype=np.int64)
    stamp = np.int64(0)
    steps = np.int64(0)
    # Each set is found from its smallest node.
    for root in range(n):
        depth = 0
        waiting[0, 0] = root
        length[0] = 1
        near[root] += 1
        while depth >= 0:
            if length[depth] == 0:
                depth -= 1
                if depth >= 0:
                    # Backtrack: remove the node that was chosen at this depth.
                    v = chosen[depth]
                    inside[v] = False
                    for j in range(offsets[v], offsets[v + 1]):
                        near[targets[j]] -= 1
                continue
            # The budget of steps bounds the time.
            steps += 1
            if steps > most_steps:
                return starts, members, count, False
            length[depth] -= 1
            v = waiting[depth, length[depth]]
            # Heavier sets cannot be extended: weights are positive.
            total = weights[v] + (weight[depth - 1] if depth > 0 else np.int64(0))
            if total > high:
                continue
            chosen[depth] = v
            weight[depth] = total
            inside[v] = True
            if total >= low:
                # A set within the bounds is kept if the rest might be divisible.
                stamp += 1
                if _leaves_divisible(offsets, targets, weights, inside, low, high, queue, seen, stamp):
                    if count == most_sets or starts[count] + depth >= members.size:
                        return starts, members, count, False
                    for d in range(depth + 1):
                        members[starts[count] + d] = chosen[d]
                    starts[count + 1] = starts[count] + depth + 1
                    count += 1
            # Candidates of the next depth: the remaining ones, and neighbours that no earlier node was adjacent to.
            filled = length[depth]
            for i in range(filled):
                waiting[depth + 1, i] = waiting[depth, i]
            for j in range(offsets[v], offsets[v + 1]):
                u = targets[j]
                if u > root and near[u] == 0:
                    waiting[depth + 1, filled] = u
                    filled += 1
                near[u] += 1
            length[depth + 1] = filled
            depth += 1
        near[root] -= 1
    return starts, members, count, True


@kernel
def lightest_set(offsets, targets, weights, root, low, high, most_steps):
    """Find the smallest weight of at least `low` of a connected set with the node `root`; -1 if it was not found.

    Only weights below `high` are searched: `high` is the answer if there are none. Sets grow as in `connected_sets`,
    until they are heavy enough.
    """
    n = offsets.size - 1
    waiting = np.empty((n + 1, n), dtype=np.int32)
    length = np.zeros(n + 1, dtype=np.int64)
    chosen = np.empty(n + 1, dtype=np.int32)
    weight = np.zeros(n + 1, dtype=np.int64)
    near = np.zeros(n, dtype=np.int32)
    near[root] = 1
    # Branch and bound: only lighter sets than the best are extended.
    best = np.int64(high)
    steps = np.int64(0)
    depth = 0
    waiting[0, 0] = root
    length[0] = 1
    while depth >= 0 and best > low:
        if length[depth] == 0:
            depth -= 1
            if depth >= 0:
                # Backtrack.
                v = chosen[depth]
                for j in range(offsets[v], offsets[v + 1]):
                    near[targets[j]] -= 1
            continue
        steps += 1
        if steps > most_steps:
            return np.int64(-1)
        length[depth] -= 1
        v = waiting[depth, length[depth]]
        total = weights[v] + (weight[depth - 1] if depth > 0 else np.int64(0))
        if total >= best:
            continue
        # Heavy enough: a candidate, and no reason to extend.
        if total >= low:
            best = total
            continue
        chosen[depth] = v
        weight[depth] = total
        # Candidates of the next depth, as in `connected_sets`.
        filled = length[depth]
        for i in range(filled):
            waiting[depth + 1, i] = waiting[depth, i]
        for j in range(offsets[v], offsets[v + 1]):
            u = targets[j]
            if near[u] == 0:
                waiting[depth + 1, filled] = u
                filled += 1
            near[u] += 1
        length[depth + 1] = filled
        depth += 1
    return best
