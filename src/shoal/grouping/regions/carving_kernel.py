# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Connected parts of nearly equal weight, cut off one after the other, each within a narrow window of weights.

A random spanning tree of what is left is cut at the edge that leaves a side of about the right weight. Then the border
is softened: nodes that touch both sides are free to be on either, as long as the two sides hang together without them.
Every choice among the free nodes is a division into two connected sides, so that a sum of some of their weights is
looked for that brings the side into the window (Horowitz, Sahni 1974, in two halves).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal._compiling import kernel, kernel_step
from shoal.grouping.regions.recombination_kernel import random_tree
from shoal.solver.random_kernel import draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Places", "carve_parts"]

_FREE = 20
"""Free nodes of a border at most: 2**(_FREE / 2) sums in each half."""
_TOLL = 0.5
"""What all nodes of a side count at most, as a part of its weight: sides of few nodes leave more choice to the rest."""
_WANTED = 8
"""Parts that are found, of which the one is cut off that leaves most to choose from."""
_MANY_NODES: Any = np.int64(100)
"""What a node that is left is worth beside an edge that is left, seen from one of its ends: many nodes are left."""
_SHORT_BORDER: Any = np.int64(-6)
"""The same, where the border is to be short: a plane graph has less than three edges for each node. Which of the two
counts is drawn for each division: the first is better for few parts, the second for many."""
_NONE, _CUT_OFF, _LEFT, _EITHER = np.int8(0), np.int8(1), np.int8(2), np.int8(3)


class Places(NamedTuple):
    """A graph with weights, and room for the search."""

    offsets: NDArray[np.int64]
    """Where the neighbours of each node start in `targets`; one more than there are nodes."""
    targets: NDArray[np.int32]
    """Neighbours."""
    weights: NDArray[np.int64]
    """Weights of the nodes."""
    parent: NDArray[np.int32]
    order: NDArray[np.int32]
    queue: NDArray[np.int32]
    side: NDArray[np.int8]
    best: NDArray[np.int8]
    hanging: NDArray[np.int64]
    seen: NDArray[np.int64]
    """Zero before the first call, then the number of the search that saw each node."""
    frontier: NDArray[np.int32]
    stamp: NDArray[np.int64]
    """The number of the last search, as an array of one."""

    @classmethod
    def of(cls, offsets: Any, targets: Any, weights: Any) -> Places:
        """Return a graph with new room."""
        n = len(weights)
        return cls(
            offsets=offsets,
            targets=targets,
            weights=weights,
            parent=np.empty(n, dtype=np.int32),
            order=np.empty(n, dtype=np.int32),
            queue=np.empty(n, dtype=np.int32),
            side=np.zeros(n, dtype=np.int8),
            best=np.zeros(n, dtype=np.int8),
            hanging=np.empty(n, dtype=np.int64),
            seen=np.zeros(n, dtype=np.int64),
            frontier=np.empty((len(targets) + 1, 2), dtype=np.int32),
            stamp=np.zeros(1, dtype=np.int64),
        )


@kernel_step
def _cut(places, filled, middle, random):
    """Mark one side of the tree's edge that leaves about a given weight there, with few nodes."""
    total = np.int64(0)
    for i in range(filled):
        v = places.order[i]
        places.hanging[v] = places.weights[v]
        places.queue[v] = 1
        total += places.weights[v]
    toll = _TOLL * draw(random, np.int64(1024)) / 1024 * middle / filled
    head, least, below = -1, np.inf, True
    for i in range(filled - 1, 0, -1):
        v = places.order[i]
        weight, nodes = places.hanging[v], places.queue[v]
        places.hanging[places.parent[v]] += weight
        places.queue[places.parent[v]] += nodes
        value = abs(weight - middle) + toll * nodes
        if value < least:
            head, least, below = v, value, True
        value = abs(total - weight - middle) + toll * (filled - nodes)
        if value < least:
            head, least, below = v, value, False
    mine = _CUT_OFF if below else _LEFT
    others = _LEFT if below else _CUT_OFF
    for i in range(filled):
        v = places.order[i]
        if v == head:
            places.side[v] = mine
        elif i == 0:
            places.side[v] = others
        else:
            places.side[v] = places.side[places.parent[v]]


@kernel_step
def _touches(places, v, side, without):
    """Return a neighbour on a side other than one node, -1 where there is none."""
    for j in range(places.offsets[v], places.offsets[v + 1]):
        u = places.targets[j]
        if u != without and places.side[u] == side:
            return u
    return np.int32(-1)


@kernel_step
def _hangs_together(places, start, side, without, nodes):
    """Return whether so many nodes of a side are reached from one of them without passing through another node."""
    places.stamp[0] += 1
    stamp = places.stamp[0]
    places.queue[0] = start
    places.seen[start] = stamp
    filled = 1
    i = 0
    while i < filled:
        v = places.queue[i]
        i += 1
        for j in range(places.offsets[v], places.offsets[v + 1]):
            u = places.targets[j]
            if places.seen[u] != stamp and u != without and places.side[u] == side:
                places.seen[u] = stamp
                places.queue[filled] = u
                filled += 1
    return filled == nodes


@kernel_step
def _soften(places, filled, free, random):
    """Free nodes of the border, in a random order; return how many, and the weight of the side without them."""
    sizes = np.zeros(4, dtype=np.int64)
    weight = np.int64(0)
    for i in range(filled):
        v = places.order[i]
        sizes[places.side[v]] += 1
        if places.side[v] == _CUT_OFF:
            weight += places.weights[v]
    count = 0
    begin = draw(random, filled)
    for i in range(filled):
        v = places.order[(begin + i) % filled]
        side = places.side[v]
        other = _LEFT if side == _CUT_OFF else _CUT_OFF
        near = _touches(places, v, side, v)
        if near < 0 or _touches(places, v, other, v) < 0:
            continue
        kept = True
        for j in range(places.offsets[v], places.offsets[v + 1]):
            u = places.targets[j]
            if places.side[u] == _EITHER and _touches(places, u, side, v) < 0:
                kept = False
                break
        if kept and _hangs_together(places, near, side, v, sizes[side] - 1):
            places.side[v] = _EITHER
            sizes[side] -= 1
            free[count] = v
            count += 1
            if side == _CUT_OFF:
                weight -= places.weights[v]
            if count == _FREE:
                break
    return count, weight


@kernel_step
def _sums(places, free, begin, end, sums):
    """Fill in the weights of all subsets of some free nodes: bit i stands for the node `begin + i`."""
    sums[0] = 0
    for i in range(end - begin):
        for subset in range(1 << i):
            sums[subset + (1 << i)] = sums[subset] + places.weights[free[begin + i]]
    return np.int64(1) << (end - begin)


@kernel_step
def _choose(places, free, count, low, high):
    """Return a subset of the free nodes with low <= weight <= high, as bits; -1 where there is none."""
    middle = count // 2
    first = np.empty(1 << middle, dtype=np.int64)
    second = np.empty(1 << (count - middle), dtype=np.int64)
    _sums(places, free, np.int64(0), middle, first)
    _sums(places, free, middle, count, second)
    rising, falling = np.argsort(first), np.argsort(second)
    place = falling.size - 1
    for i in range(rising.size):
        have = first[rising[i]]
        while place >= 0 and have + second[falling[place]] > high:
            place -= 1
        if place < 0:
            break
        if have + second[falling[place]] >= low:
            return rising[i] + (falling[place] << middle)
    return np.int64(-1)


@kernel_step
def _choice_left(places, filled, node):
    """Return how much there is to choose from in what is left: its edges, and its nodes at so much each."""
    value = np.int64(0)
    for i in range(filled):
        v = places.order[i]
        if places.side[v] == _LEFT:
            value += node
            for j in range(places.offsets[v], places.offsets[v + 1]):
                if places.side[places.targets[j]] == _LEFT:
                    value += 1
    return value


@kernel_step
def _carve(places, parts, rest, number, low, high, tries, wanted, node, work, free, random):
    """Cut a part off what is left, with a weight in a window; return its weight, -1 where none was found.

    Of so many that are found, the one is taken that leaves most to choose from: what is left stays easy to divide.
    """
    n = parts.size
    found, most, taken = 0, np.int64(0), np.int64(-1)
    for _ in range(tries):
        if work[0] <= 0:
            break
        start = draw(random, n)
        while parts[start] != rest:
            start = start + 1 if start + 1 < n else 0
        places.stamp[0] += 1
        filled = random_tree(
            places.offsets, places.targets, parts, rest, rest, rest, np.int32(start), places.parent, places.order,
            places.frontier, places.seen, places.stamp[0], random,
        )  # fmt: skip
        work[0] -= filled
        if filled < 2:
            break
        places.side[:] = _NONE
        _cut(places, filled, (low + high) / 2, random)
        count, weight = _soften(places, filled, free, random)
        chosen = _choose(places, free, count, low - weight, high - weight)
        if chosen < 0:
            continue
        for i in range(count):
            places.side[free[i]] = _LEFT
            if chosen >> i & 1:
                places.side[free[i]] = _CUT_OFF
                weight += places.weights[free[i]]
        choice = _choice_left(places, filled, node)
        if found == 0 or choice > most:
            most, taken = choice, weight
            places.best[:] = places.side
        found += 1
        if found == wanted:
            break
    if found > 0:
        for v in range(n):
            if parts[v] == rest and places.best[v] == _CUT_OFF:
                parts[v] = number
    return taken


@kernel
def carve_parts(places, parts, count, least, largest, tries, work, random):
    """Divide a connected graph into so many connected parts with weights within bounds.

    Parameters
    ----------
    places : Places
    parts : int32[n]
        Filled with the part of each node where a division was found; else with anything.
    count : int64
        How many parts; at least 2.
    least, largest : int64
        Bounds on the weight of each part.
    tries : int64
        Random trees for each part before the division is begun anew.
    work : int64[1]
        Nodes of random trees that may still be drawn; lowered by those that were.
    random : uint64[1]
        State of the random numbers, not 0.

    Returns
    -------
    found : bool
    """
    free = np.empty(_FREE, dtype=np.int32)
    rest = np.int32(count - 1)
    total = places.weights.sum()
    while work[0] > 0:
        parts[:] = rest
        left = total
        node = _MANY_NODES if draw(random, np.int64(2)) == 0 else _SHORT_BORDER
        done = 0
        while done < rest:
            after = rest - done  # parts that are still to be made of what is left then
            low = max(least, left - after * largest)
            high = min(largest, left - after * least)
            wanted = _WANTED if after > 1 else 1
            weight = _carve(places, parts, rest, np.int32(done), low, high, tries, wanted, node, work, free, random)
            if weight < 0:
                break
            left -= weight
            done += 1
        if done == rest:
            return True
    return False
