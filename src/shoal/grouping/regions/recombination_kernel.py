# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Better connected parts: neighbouring parts are joined and cut again, nodes move across a border or trade places.

A graph is adjacency lists in one array (`targets[offsets[v]:offsets[v + 1]]`). `parts[v]` is the part of a node;
`loads`, `sizes` and `anchors` are the weight of each part, its number of nodes and one of them. Every part is connected
before and after each step. The joined parts are cut along random spanning trees, the step that
samplers of voting districts make (DeFord, Duchin, Solomon 2021, "Recombination").
"""

from __future__ import annotations

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step
from shoal.solver.random_kernel import draw, happens

__all__ = ["COUNT", "LARGEST", "STATE_SIZE", "improve_parts", "random_tree"]

COUNT, LARGEST, STAMP, STATE_SIZE = 0, 1, 2, 3
"""Places in `state`: the number of parts, the weight of the largest one in the best partition so far, and what marks
the nodes that a search has seen; how many places there are."""

_MOVE, _SWAP = 40, 50
"""Of a hundred steps, those below the first move a node, those below the second swap two; the others recombine."""
_THIRD = 25
"""Of a hundred recombinations, those with a third part."""


@inlined
def _square(weight):
    return np.float64(weight) * np.float64(weight)


@kernel_step
def _reach(offsets, targets, parts, start, without, queue, seen, stamp):
    """Return how many nodes of the part of `start` can be reached from it without passing through `without`."""
    part = parts[start]
    queue[0] = start
    seen[start] = stamp
    filled = 1
    i = 0
    while i < filled:
        v = queue[i]
        i += 1
        for j in range(offsets[v], offsets[v + 1]):
            u = targets[j]
            if seen[u] != stamp and u != without and parts[u] == part:
                seen[u] = stamp
                queue[filled] = u
                filled += 1
    return filled


@kernel_step
def random_tree(offsets, targets, parts, p, q, r, start, parent, order, frontier, seen, stamp, random):
    """Grow a random spanning tree of three parts (some the same), parents first in `order`; return how many nodes."""
    filled = 0
    waiting = np.int64(1)
    frontier[0, 0] = start
    frontier[0, 1] = -1
    while waiting > 0:
        pick = draw(random, waiting)
        v, above = frontier[pick, 0], frontier[pick, 1]
        waiting -= 1
        frontier[pick, 0], frontier[pick, 1] = frontier[waiting, 0], frontier[waiting, 1]
        if seen[v] == stamp:
            continue
        seen[v] = stamp
        parent[v] = above
        order[filled] = v
        filled += 1
        for j in range(offsets[v], offsets[v + 1]):
            u = targets[j]
            if seen[u] != stamp and (parts[u] == p or parts[u] == q or parts[u] == r):
                frontier[waiting, 0] = u
                frontier[waiting, 1] = v
                waiting += 1
    return filled


@kernel_step
def _cut_in_two(parent, order, filled, weights, k, hanging, heads):
    """Cut a tree at the edge that leaves the two most equal sides; return the number of heads, 1 if none is allowed."""
    total = np.int64(0)
    for i in range(filled):
        hanging[order[i]] = weights[order[i]]
        total += weights[order[i]]
    best = total
    heads[0] = order[0]
    for i in range(filled - 1, 0, -1):
        v = order[i]
        side = hanging[v]
        hanging[parent[v]] += side
        larger = max(side, total - side)
        if larger < best and total - larger >= k:
            best = larger
            heads[1] = v
    return 1 if best == total else 2


@kernel_step
def _cut_in_several(parent, order, filled, weights, k, threshold, hanging, heads):
    """Cut a tree from the leaves up wherever `threshold` hangs on an edge and k stays; return the number of heads."""
    left = np.int64(0)
    for i in range(filled):
        hanging[order[i]] = weights[order[i]]
        left += weights[order[i]]
    heads[0] = order[0]
    count = 1
    for i in range(filled - 1, 0, -1):
        v = order[i]
        if hanging[v] >= threshold and left - hanging[v] >= k:
            heads[count] = v
            count += 1
            left -= hanging[v]
        else:
            hanging[parent[v]] += hanging[v]
    return count


@inlined
def _label(parent, order, filled, heads, count, weights, local, loads, sizes):
    """Fill in the piece of each node of a cut tree, and each piece's weight and number of nodes."""
    for i in range(filled):
        local[order[i]] = -1
    for c in range(count):
        local[heads[c]] = c
        loads[c] = 0
        sizes[c] = 0
    for i in range(filled):
        v = order[i]
        if local[v] < 0:
            local[v] = local[parent[v]]
        loads[local[v]] += weights[v]
        sizes[local[v]] += 1


@inlined
def _remove_part(hole, offsets, targets, parts, loads, sizes, anchors, queue, seen, state):
    """Give the number of a part that is gone to the last one."""
    last = state[COUNT] - 1
    state[COUNT] = last
    if hole == last:
        return
    reached = _reach(offsets, targets, parts, np.int32(anchors[last]), np.int32(-1), queue, seen, state[STAMP])
    for i in range(reached):
        parts[queue[i]] = hole
    loads[hole], sizes[hole], anchors[hole] = loads[last], sizes[last], anchors[last]


@inlined
def _copy(source, target):
    for i in range(source.size):
        target[i] = source[i]


@inlined
def _largest(loads, count):
    place = 0
    for p in range(1, count):
        if loads[p] > loads[place]:
            place = p
    return place


@inlined
def _smallest(loads, count):
    least = loads[0]
    for p in range(1, count):
        least = min(least, loads[p])
    return least


@kernel_step
def _move(
    offsets, targets, weights, least, parts, loads, sizes, anchors, u, v, temperature, random, queue, seen, state
):
    """Try to move node u to the part of its neighbour v; return by how much the sum of squares changed."""
    p, q = parts[u], parts[v]
    first, second = loads[p] - weights[u], loads[q] + weights[u]
    change = _square(first) + _square(second) - _square(loads[p]) - _square(loads[q])
    if first < least or not happens(change, temperature, random):
        return 0.0
    near = np.int32(-1)
    several = 0
    for j in range(offsets[u], offsets[u + 1]):
        if parts[targets[j]] == p:
            near = targets[j]
            several += 1
    if near < 0:
        return 0.0
    state[STAMP] += 1
    if several > 1 and _reach(offsets, targets, parts, near, u, queue, seen, state[STAMP]) != sizes[p] - 1:
        return 0.0
    parts[u] = q
    sizes[p] -= 1
    sizes[q] += 1
    anchors[p] = near
    loads[p], loads[q] = first, second
    return change


@kernel_step
def _trade(
    offsets, targets, weights, least, parts, loads, sizes, anchors, u, v, temperature, random, queue, seen, state
):
    """Try to let neighbouring nodes of two parts trade places; return by how much the sum of squares changed."""
    p, q = parts[u], parts[v]
    given = weights[u] - weights[v]
    first, second = loads[p] - given, loads[q] + given
    change = _square(first) + _square(second) - _square(loads[p]) - _square(loads[q])
    if first < least or second < least or not happens(change, temperature, random):
        return 0.0
    parts[u], parts[v] = q, p
    for side in range(2):
        state[STAMP] += 1
        start, part = (v, p) if side == 0 else (u, q)
        if _reach(offsets, targets, parts, start, np.int32(-1), queue, seen, state[STAMP]) != sizes[part]:
            parts[u], parts[v] = p, q
            return 0.0
    anchors[p], anchors[q] = v, u
    loads[p], loads[q] = first, second
    return change


@kernel_step
def _recombine(
    offsets, targets, weights, least, most, parts, loads, sizes, anchors, u, v, temperature, random, queue, seen, state,
    parent, order, local, heads, hanging, new_loads, new_sizes, frontier,
):  # fmt: skip
    """Join the parts of two neighbouring nodes, perhaps a third one, and cut them again along a random tree.

    Returns by how much the sum of squares changed.
    """
    p, q = parts[u], parts[v]
    r = q
    old = 1 if p == q else 2
    total = loads[p]
    before = _square(loads[p])
    if p != q:
        total += loads[q]
        before += _square(loads[q])
        x = targets[offsets[v] + draw(random, offsets[v + 1] - offsets[v])]
        if draw(random, np.int64(100)) < _THIRD and parts[x] != p and parts[x] != q:
            r = parts[x]
            total += loads[r]
            before += _square(loads[r])
            old = 3
    state[STAMP] += 1
    filled = random_tree(
        offsets, targets, parts, p, q, r, u, parent, order, frontier, seen, state[STAMP], random
    )  # fmt: skip
    pieces = total // least
    if old == 3 or (pieces > 2 and draw(random, np.int64(2)) == 0):
        wanted = 2 + (draw(random, pieces - 1) if pieces > 2 else 0)
        wanted = min(wanted, old + 1)
        room = total // wanted - least
        threshold = least + (draw(random, room + 1) if room > 0 else 0)
        cuts = _cut_in_several(parent, order, filled, weights, least, threshold, hanging, heads)
    else:
        cuts = _cut_in_two(parent, order, filled, weights, least, hanging, heads)
    count = state[COUNT]
    if cuts > old and count + cuts - old > most:
        return 0.0
    _label(parent, order, filled, heads, cuts, weights, local, new_loads, new_sizes)
    change = -before
    for c in range(cuts):
        change += _square(new_loads[c])
    if not happens(change, temperature, random):
        return 0.0
    for c in range(cuts):
        number = np.int64(r)
        if c >= old:
            number = count + c - old
        elif c == 0:
            number = np.int64(p)
        elif c == 1:
            number = np.int64(q)
        loads[number], sizes[number], anchors[number] = new_loads[c], new_sizes[c], heads[c]
        heads[c] = number  # the head is known by now: its place takes the number of the piece
    for i in range(filled):
        parts[order[i]] = heads[local[order[i]]]
    state[COUNT] = count + max(cuts - old, 0)
    # Numbers that are free now, the higher one first, so that no hole is filled with another hole.
    first, second = np.int64(-1), np.int64(-1)
    if cuts < old:
        first = np.int64(q) if cuts == 1 else np.int64(r)
        if cuts == 1 and old == 3:
            second = np.int64(r)
    for turn in range(2):
        hole = max(first, second) if turn == 0 else min(first, second)
        if hole >= 0:
            state[STAMP] += 1
            _remove_part(hole, offsets, targets, parts, loads, sizes, anchors, queue, seen, state)
    return change


@kernel
def improve_parts(
    offsets, targets, weights, k, least, most, bound, parts, loads, sizes, anchors, best, state, record, random, steps,
    hot, cold,
):  # fmt: skip
    """Make random steps; keep the best partition in `best`: the smallest maximum, then the smallest sum of squares.

    The temperature falls from `hot` to `cold`, as shares of the square of the mean load; 0 goes downhill only. Where
    the largest part is above `bound`, every fourth step starts there. No step makes a part lighter than `least`, which
    may be below k for a while, or more than `most` parts; the best partition has parts of at least k.
    `state[LARGEST]` is 0 before the first call; `record[0]` is the sum of squares of the best partition.
    """
    n = offsets.size - 1
    parent = np.empty(n, dtype=np.int32)
    order = np.empty(n, dtype=np.int32)
    local = np.empty(n, dtype=np.int32)
    queue = np.empty(n, dtype=np.int32)
    heads = np.empty(n, dtype=np.int32)
    hanging = np.empty(n, dtype=np.int64)
    new_loads = np.empty(n, dtype=np.int64)
    new_sizes = np.empty(n, dtype=np.int32)
    frontier = np.empty((targets.size + 1, 2), dtype=np.int32)
    seen = np.zeros(n, dtype=np.int64)
    state[STAMP] = 0
    energy = 0.0
    total = 0.0
    for p in range(state[COUNT]):
        energy += _square(loads[p])
        total += np.float64(loads[p])
    mean = total / state[COUNT]
    heaviest = _largest(loads, state[COUNT])
    if state[LARGEST] == 0:
        _copy(parts, best)
        state[LARGEST] = loads[heaviest]
        record[0] = energy
    for step in range(steps):
        temperature = (hot + (cold - hot) * step / steps) * mean * mean
        u = np.int32(draw(random, n))
        if step % 4 == 0 and loads[heaviest] > bound:
            state[STAMP] += 1
            reached = _reach(
                offsets, targets, parts, anchors[heaviest], np.int32(-1), queue, seen, state[STAMP]
            )  # fmt: skip
            u = queue[draw(random, reached)]
        if offsets[u] == offsets[u + 1]:
            continue
        v = targets[offsets[u] + draw(random, offsets[u + 1] - offsets[u])]
        # Within one part there is nothing to exchange; a part that is heavy enough can be cut in two.
        if parts[u] == parts[v] and (loads[parts[u]] < 2 * least or step % 8 != 0):
            continue
        kind = draw(random, np.int64(100))
        if kind < _MOVE and parts[u] != parts[v]:
            change = _move(
                offsets, targets, weights, least, parts, loads, sizes, anchors, u, v, temperature, random, queue, seen,
                state,
            )  # fmt: skip
        elif kind < _SWAP and parts[u] != parts[v]:
            change = _trade(
                offsets, targets, weights, least, parts, loads, sizes, anchors, u, v, temperature, random, queue, seen,
                state,
            )  # fmt: skip
        else:
            change = _recombine(
                offsets, targets, weights, least, most, parts, loads, sizes, anchors, u, v, temperature, random, queue,
                seen, state, parent, order, local, heads, hanging, new_loads, new_sizes, frontier,
            )  # fmt: skip
        if change == 0.0:
            continue
        energy += change
        heaviest = _largest(loads, state[COUNT])
        largest = loads[heaviest]
        if largest > state[LARGEST] or (largest == state[LARGEST] and energy >= record[0]):
            continue
        if least >= k or _smallest(loads, state[COUNT]) >= k:
            _copy(parts, best)
            state[LARGEST] = largest
            record[0] = energy
