# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Connected parts of nearly equal weight, cut off one after the other, each within a narrow window of weights.

A random spanning tree of the rest is cut at the edge that leaves a side of about the right weight. Then the border is
softened: nodes that touch both sides are free to be on either, as long as the two sides are connected without them.
Every choice among the free nodes is a division into two connected sides, so that the search is for a sum of some of
their weights that brings the side into the window (Horowitz, Sahni 1974, in two halves).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal._core.compiling import allocating_step, kernel, kernel_step
from shoal.grouping.regions.recombination_kernel import Search, Tree, WeightedGraph, random_tree, reach
from shoal.solver.random_kernel import draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Places", "carve_parts"]

_FREE = 20
"""Largest number of free nodes of a border: 2**(_FREE / 2) sums in each half."""
_TOLL = 0.5
"""Largest penalty of all nodes of a side, as a part of its weight: sides of few nodes leave more choice to the rest."""
_WANTED = 8
"""Number of candidate parts, of which the one that leaves most choice is cut off."""
_MANY_NODES: Any = np.int64(100)
"""Value of a remaining node relative to a remaining end of an edge, if many nodes are to remain."""
_SHORT_BORDER: Any = np.int64(-6)
"""The same, if the border is to be short: a plane graph has less than three edges for each node. Each division draws
one of the two: the first is better for few parts, the second for many."""
_NONE, _CUT_OFF, _LEFT, _EITHER = np.int8(0), np.int8(1), np.int8(2), np.int8(3)


class Places(NamedTuple):
    """A graph with weights, and room for the search."""

    graph: WeightedGraph
    tree: Tree
    search: Search
    nodes: NDArray[np.int32]
    """Number of nodes in the subtree of each node."""
    side: NDArray[np.int8]
    """Side of each node: cut off, left, either, or not in the tree."""
    best: NDArray[np.int8]
    """The same in the best division of the rest."""
    free: NDArray[np.int32]
    """Nodes that may be on either side."""

    @classmethod
    def of(cls, offsets: Any, targets: Any, weights: Any) -> Places:
        """Create the scratch for a graph."""
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
    """The window of weights for the next part, and how to choose among candidates."""

    low: int
    high: int
    """Bounds on its weight."""
    wanted: int
    """Number of candidates to find before the best one is cut off."""
    node: int
    """Value of a remaining node relative to a remaining end of an edge."""


@kernel_step
def _cut(places, filled, middle, random):
    """Mark the two sides of the tree edge with about a given weight on one side, and few nodes there."""
    weights, nodes, side = places.graph.weights, places.nodes, places.side
    parent, order, subtree_weights = places.tree.parent, places.tree.order, places.tree.subtree_weights
    total = np.int64(0)
    # Weight and size of the subtrees start with the node itself.
    for i in range(filled):
        v = order[i]
        subtree_weights[v] = weights[v]
        nodes[v] = 1
        total += weights[v]
    # A random penalty on the number of nodes diversifies the cuts.
    toll = _TOLL * draw(random, np.int64(1024)) / 1024 * middle / filled
    head, least, below = -1, np.inf, True
    # Each edge offers two sides: the subtree, or the rest.
    for i in range(filled - 1, 0, -1):
        v = order[i]
        weight = subtree_weights[v]
        subtree_weights[parent[v]] += weight
        nodes[parent[v]] += nodes[v]
        value = abs(weight - middle) + toll * nodes[v]
        if value < least:
            head, least, below = v, value, True
        value = abs(total - weight - middle) + toll * (filled - nodes[v])
        if value < least:
            head, least, below = v, value, False
    mine = _CUT_OFF if below else _LEFT
    others = _LEFT if below else _CUT_OFF
    # Mark the sides from the root down.
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
    """Find a neighbour on a side, other than one node; -1 if there is none."""
    offsets, targets = places.graph.offsets, places.graph.targets
    for j in range(offsets[v], offsets[v + 1]):
        u = targets[j]
        if u != without and places.side[u] == side:
            return u
    return np.int32(-1)


@allocating_step
def _soften(places, filled, random):
    """Free nodes of the border, in a random order; return their number, and the weight of the side without them."""
    offsets, targets, weights = places.graph
    order = places.tree.order
    sizes = np.zeros(4, dtype=np.int64)
    weight = np.int64(0)
    # Nodes of each side, and the weight of the side to cut off.
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
        # A free node must touch both sides.
        near = _touches(places, v, side, v)
        if near < 0 or _touches(places, v, other, v) < 0:
            continue
        # Earlier free nodes must still touch this side without it.
        kept = True
        for j in range(offsets[v], offsets[v + 1]):
            u = targets[j]
            if places.side[u] == _EITHER and _touches(places, u, side, v) < 0:
                kept = False
                break
        # The side must stay connected without it.
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
    """Compute the weights of all subsets of free nodes: bit i stands for the node `begin + i`."""
    sums[0] = 0
    # Each node doubles the number of subsets.
    for i in range(end - begin):
        for subset in range(1 << i):
            sums[subset + (1 << i)] = sums[subset] + places.graph.weights[places.free[begin + i]]
    return np.int64(1) << (end - begin)


@allocating_step
def _choose(places, count, low, high):
    """Find a subset of the free nodes with low <= weight <= high, as bits; -1 if there is none."""
    # Meet in the middle: sort the sums of both halves, and move two pointers.
    middle = count // 2
    first = np.empty(1 << middle, dtype=np.int64)
    second = np.empty(1 << (count - middle), dtype=np.int64)
    _sums(places, np.int64(0), middle, first)
    _sums(places, middle, count, second)
    rising, falling = np.argsort(first), np.argsort(second)
    place = falling.size - 1
    # Larger sums of the first half need smaller sums of the second.
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
    """Compute the remaining choice: the edges within the rest, and a value for each of its nodes."""
    offsets, targets = places.graph.offsets, places.graph.targets
    value = np.int64(0)
    # Every edge counts from both ends.
    for i in range(filled):
        v = places.tree.order[i]
        if places.side[v] == _LEFT:
            value += node
            for j in range(offsets[v], offsets[v + 1]):
                if places.side[targets[j]] == _LEFT:
                    value += 1
    return value


@allocating_step
def _carve(places, parts, rest, number, aim, tries, work, random):
    """Cut a part with a weight in a window off the rest; return its weight, -1 if none was found.

    Among several candidates the one that leaves most choice is cut off, so that the rest stays easy to divide.
    """
    low, high = aim.low, aim.high
    n = parts.size
    found, most, taken = 0, np.int64(0), np.int64(-1)
    # Each try is a random spanning tree of the rest.
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
        # Cut, soften the border, and hit the window with the free nodes.
        places.side[:] = _NONE
        _cut(places, filled, (low + high) / 2, random)
        count, weight = _soften(places, filled, random)
        chosen = _choose(places, count, low - weight, high - weight)
        if chosen < 0:
            continue
        # Put the free nodes on their sides.
        for i in range(count):
            v = places.free[i]
            places.side[v] = _LEFT
            if chosen >> i & 1:
                places.side[v] = _CUT_OFF
                weight += places.graph.weights[v]
        # Keep the candidate with the most remaining choice.
        choice = _choice_left(places, filled, aim.node)
        if found == 0 or choice > most:
            most, taken = choice, weight
            places.best[:] = places.side
        found += 1
        if found == aim.wanted:
            break
    # Cut the best candidate off.
    if found > 0:
        for v in range(n):
            if parts[v] == rest and places.best[v] == _CUT_OFF:
                parts[v] = number
    return taken


@kernel
def carve_parts(places, parts, count, least, largest, tries, work, random):
    """Divide a connected graph into connected parts with weights within bounds.

    Parameters
    ----------
    places : Places
    parts : int32[n]
        Receives the part of each node if a division was found; otherwise arbitrary.
    count : int64
        Number of parts; at least 2.
    least, largest : int64
        Bounds on the weight of each part.
    tries : int64
        Random trees for each part before the division starts again.
    work : int64[1]
        Number of nodes of random trees that may still be drawn; lowered in place.
    random : uint64[1]
        State of the random numbers, not 0.

    Returns
    -------
    found : bool
    """
    rest = np.int32(count - 1)
    total = places.graph.weights.sum()
    # Each round is a division from scratch.
    while work[0] > 0:
        parts[:] = rest
        left = total
        node = _MANY_NODES if draw(random, np.int64(2)) == 0 else _SHORT_BORDER
        done = 0
        while done < rest:
            after = rest - done  # number of parts to be made of the rest afterwards
            # The window: the rest must remain divisible, too.
            low = max(least, left - after * largest)
            high = min(largest, left - after * least)
            wanted = _WANTED if after > 1 else 1
            aim = _Aim(low, high, wanted, node)
            weight = _carve(places, parts, rest, np.int32(done), aim, tries, work, random)
            if weight < 0:
                break
            left -= weight
            done += 1
        # All but the last part are cut off; the rest is the last part.
        if done == rest:
            return True
    return False
