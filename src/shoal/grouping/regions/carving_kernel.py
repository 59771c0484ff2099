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
from shoal.grouping.regions.recombination_kernel import Search, Tree, WeightedGraph, random_tree, reach
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

    graph: WeightedGraph
    tree: Tree
    search: Search
    nodes: NDArray[np.int32]
    """How many nodes of the tree hang on each, itself included."""
    side: NDArray[np.int8]
    """Of each node: cut off, left, either, or not in the tree."""
    best: NDArray[np.int8]
    """The same in the best division of what is left."""
    free: NDArray[np.int32]
    """The nodes that may be on either side."""

    @classmethod
    def of(cls, offsets: Any, targets: Any, weights: Any) -> Places:
        """Return a graph with new room."""
        n = len(weights)
        return cls(
            graph=WeightedGraph(offsets, targets, weights),
            tree=Tree.of(n, len(targets)),
            search=Search.of(n),
            nodes=np.empty(n, dtype=np.int32),
            side=np.zeros(n, dtype=np.int8),
            best=np.zeros(n, dtype=np.int8),
            free=np.empty(_FREE, dtype=np.int32),
        )


class _Aim(NamedTuple):
    """The part that is looked for."""

    low: int
    high: int
    """It weighs from `low` to `high`."""
    wanted: int
    """How many are found before the one is taken that leaves most to choose from."""
    node: int
    """What a node that is left is worth beside an edge that is left."""


@kernel_step
def _cut(places, filled, middle, random):
    """Mark one side of the tree's edge that leaves about a given weight there, with few nodes."""
    weights, nodes, side = places.graph.weights, places.nodes, places.side
    parent, order, hanging = places.tree.parent, places.tree.order, places.tree.hanging
    total = np.int64(0)
    for i in range(filled):
        v = order[i]
        hanging[v] = weights[v]
        nodes[v] = 1
        total += weights[v]
    toll = _TOLL * draw(random, np.int64(1024)) / 1024 * middle / filled
    head, least, below = -1, np.inf, True
    for i in range(filled - 1, 0, -1):
        v = order[i]
        weight = hanging[v]
        hanging[parent[v]] += weight
        nodes[parent[v]] += nodes[v]
        value = abs(weight - middle) + toll * nodes[v]
        if value < least:
            head, least, below = v, value, True
        value = abs(total - weight - middle) + toll * (filled - nodes[v])
        if value < least:
            head, least, below = v, value, False
    mine = _CUT_OFF if below else _LEFT
    others = _LEFT if below else _CUT_OFF
    for i in range(filled):
        v = order[i]
        if v == head:
            side[v] = mine
        elif i == 0:
            side[v] = others
        else:
            side[v] = side[parent[v]]


@kernel_step
def _touches(places, v, side, without):
    """Return a neighbour on a side other than one node, -1 where there is none."""
    offsets, targets = places.graph.offsets, places.graph.targets
    for j in range(offsets[v], offsets[v + 1]):
        u = targets[j]
        if u != without and places.side[u] == side:
            return u
    return np.int32(-1)


@kernel_step
def _soften(places, filled, random):
    """Free nodes of the border, in a random order; return how many, and the weight of the side without them."""
    offsets, targets, weights = places.graph
    order = places.tree.order
    sizes = np.zeros(4, dtype=np.int64)
    weight = np.int64(0)
    for i in range(filled):
        v = order[i]
        sizes[places.side[v]] += 1
        if places.side[v] == _CUT_OFF:
            weight += weights[v]
    count = 0
    begin = draw(random, filled)
    for i in range(filled):
        v = order[(begin + i) % filled]
        side = places.side[v]
        other = _LEFT if side == _CUT_OFF else _CUT_OFF
        near = _touches(places, v, side, v)
        if near < 0 or _touches(places, v, other, v) < 0:
            continue
        kept = True
        for j in range(offsets[v], offsets[v + 1]):
            u = targets[j]
            if places.side[u] == _EITHER and _touches(places, u, side, v) < 0:
                kept = False
                break
        if kept and reach(places.graph, places.side, near, v, places.search) == sizes[side] - 1:
            places.side[v] = _EITHER
            sizes[side] -= 1
            places.free[count] = v
            count += 1
            if side == _CUT_OFF:
                weight -= weights[v]
            if count == _FREE:
                break
    return count, weight


@kernel_step
def _sums(places, begin, end, sums):
    """Fill in the weights of all subsets of some free nodes: bit i stands for the node `begin + i`."""
    sums[0] = 0
    for i in range(end - begin):
        for subset in range(1 << i):
            sums[subset + (1 << i)] = sums[subset] + places.graph.weights[places.free[begin + i]]
    return np.int64(1) << (end - begin)


@kernel_step
def _choose(places, count, low, high):
    """Return a subset of the free nodes with low <= weight <= high, as bits; -1 where there is none."""
    middle = count // 2
    first = np.empty(1 << middle, dtype=np.int64)
    second = np.empty(1 << (count - middle), dtype=np.int64)
    _sums(places, np.int64(0), middle, first)
    _sums(places, middle, count, second)
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
    offsets, targets = places.graph.offsets, places.graph.targets
    value = np.int64(0)
    for i in range(filled):
        v = places.tree.order[i]
        if places.side[v] == _LEFT:
            value += node
            for j in range(offsets[v], offsets[v + 1]):
                if places.side[targets[j]] == _LEFT:
                    value += 1
    return value


@kernel_step
def _carve(places, parts, rest, number, aim, tries, work, random):
    """Cut a part off what is left, with a weight in a window; return its weight, -1 where none was found.

    Of so many that are found, the one is taken that leaves most to choose from: what is left stays easy to divide.
    """
    low, high = aim.low, aim.high
    n = parts.size
    found, most, taken = 0, np.int64(0), np.int64(-1)
    for _ in range(tries):
        if work[0] <= 0:
            break
        start = draw(random, n)
        while parts[start] != rest:
            start = start + 1 if start + 1 < n else 0
        filled = random_tree(places.graph, parts, rest, rest, rest, np.int32(start), places.tree, places.search, random)
        work[0] -= filled
        if filled < 2:
            break
        places.side[:] = _NONE
        _cut(places, filled, (low + high) / 2, random)
        count, weight = _soften(places, filled, random)
        chosen = _choose(places, count, low - weight, high - weight)
        if chosen < 0:
            continue
        for i in range(count):
            v = places.free[i]
            places.side[v] = _LEFT
            if chosen >> i & 1:
                places.side[v] = _CUT_OFF
                weight += places.graph.weights[v]
        choice = _choice_left(places, filled, aim.node)
        if found == 0 or choice > most:
            most, taken = choice, weight
            places.best[:] = places.side
        found += 1
        if found == aim.wanted:
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
    rest = np.int32(count - 1)
    total = places.graph.weights.sum()
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
            aim = _Aim(low, high, wanted, node)
            weight = _carve(places, parts, rest, np.int32(done), aim, tries, work, random)
            if weight < 0:
                break
            left -= weight
            done += 1
        if done == rest:
            return True
    return False
