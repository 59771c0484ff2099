# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Search for better connected parts: join and cut neighbouring parts again, or move nodes across a border.

Every part is connected before and after each step. The joined parts are cut along random spanning trees, the step of
samplers of voting districts make (DeFord, Duchin, Solomon 2021, "Recombination").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal._core.compiling import inlined, kernel, kernel_step
from shoal.solver.random_kernel import accept_move, draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Best",
    "Division",
    "Limits",
    "Search",
    "Tree",
    "WeightedGraph",
    "improve_parts",
    "random_tree",
    "reach",
]

_MOVE = 40
"""Percentage of steps that move a node; all other steps recombine."""
_THIRD = 25
"""Percentage of recombinations with a third part."""


class WeightedGraph(NamedTuple):
    """A graph whose nodes have weights."""

    offsets: NDArray[np.int64]
    """Start of the neighbours of each node in `targets`, shape (n + 1,)."""
    targets: NDArray[np.int32]
    """The neighbours of node v are `targets[offsets[v]:offsets[v + 1]]`."""
    weights: NDArray[np.int64]
    """Weights of the nodes, shape (n,)."""


class Division(NamedTuple):
    """A division of a graph into connected parts; there is room for as many as there are nodes."""

    parts: NDArray[np.int32]
    """Part of each node."""
    number: NDArray[np.int64]
    """Number of parts, as an array of one."""
    loads: NDArray[np.int64]
    """Weight of each part."""
    sizes: NDArray[np.int32]
    """Nodes of each part."""
    anchors: NDArray[np.int32]
    """One node of each part."""


class Best(NamedTuple):
    """The best division so far: by the largest load, then by the sum of squares."""

    parts: NDArray[np.int32]
    """Part of each node."""
    largest: NDArray[np.int64]
    """The weight of the largest part, as an array of one; 0 if there is no division yet."""
    squares: NDArray[np.float64]
    """The sum of the squares of all weights, as an array of one."""

    @classmethod
    def of(cls, parts: NDArray[np.int32]) -> Best:
        """Create a division to start from, without its loads."""
        return cls(parts=parts, largest=np.zeros(1, dtype=np.int64), squares=np.zeros(1))


class Limits(NamedTuple):
    """Constraints of a search for better parts."""

    k: int
    """Smallest weight of a part of the best division."""
    least: int
    """No step makes a part lighter than this; it may be below k at first."""
    most: int
    """Largest number of parts."""
    bound: int
    """While the largest part is heavier, every fourth step starts there."""


class Search(NamedTuple):
    """Scratch for breadth-first searches."""

    queue: NDArray[np.int32]
    """The nodes that the last search reached."""
    seen: NDArray[np.int64]
    """The number of the last search that saw each node."""
    stamp: NDArray[np.int64]
    """The number of the last search, as an array of one."""

    @classmethod
    def of(cls, n: int) -> Search:
        """Allocate the memory for a graph of n nodes."""
        return cls(np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.int64), np.zeros(1, dtype=np.int64))


class Tree(NamedTuple):
    """Scratch for random spanning trees of a part of the graph."""

    parent: NDArray[np.int32]
    """Parent of each node of the tree; -1 for the root."""
    order: NDArray[np.int32]
    """The nodes of the tree, parents first."""
    hanging: NDArray[np.int64]
    """The weight of the subtree of each node."""
    frontier: NDArray[np.int32]
    """Candidate nodes with the node that each would be attached to; shape (ends of edges + 1, 2)."""

    @classmethod
    def of(cls, n: int, ends: int) -> Tree:
        """Allocate the memory for a graph of n nodes with a number of ends of edges."""
        return cls(
            parent=np.empty(n, dtype=np.int32),
            order=np.empty(n, dtype=np.int32),
            hanging=np.empty(n, dtype=np.int64),
            frontier=np.empty((ends + 1, 2), dtype=np.int32),
        )


class _Pieces(NamedTuple):
    """Scratch for the pieces of a cut tree."""

    local: NDArray[np.int32]
    """Piece of each node."""
    heads: NDArray[np.int32]
    """The topmost node of each piece."""
    loads: NDArray[np.int64]
    """Weight of each piece."""
    sizes: NDArray[np.int32]
    """Nodes of each piece."""


@inlined
def _square(weight):
    # As a float: squares of loads may exceed 63 bits.
    return np.float64(weight) * np.float64(weight)


@kernel_step
def reach(graph, parts, start, without, search):
    """Count the nodes of the part of `start` that can be reached from it without passing through `without`.

    The nodes are left in `search.queue`.
    """
    # Breadth-first search; the stamp avoids clearing the marks.
    offsets, targets = graph.offsets, graph.targets
    queue, seen = search.queue, search.seen
    search.stamp[0] += 1
    stamp = search.stamp[0]
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
def random_tree(graph, parts, p, q, r, start, tree, search, random):
    """Grow a random spanning tree of three parts (some of them may be equal); return its number of nodes."""
    offsets, targets = graph.offsets, graph.targets
    parent, order, frontier, seen = tree.parent, tree.order, tree.frontier, search.seen
    search.stamp[0] += 1
    stamp = search.stamp[0]
    filled = 0
    waiting = np.int64(1)
    frontier[0, 0] = start
    frontier[0, 1] = -1
    # Draw the next node from the frontier; it may have been reached by another edge since.
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
        # Its neighbours in the three parts join the frontier.
        for j in range(offsets[v], offsets[v + 1]):
            u = targets[j]
            if seen[u] != stamp and (parts[u] == p or parts[u] == q or parts[u] == r):
                frontier[waiting, 0] = u
                frontier[waiting, 1] = v
                waiting += 1
    return filled


@kernel_step
def _cut_in_two(tree, filled, weights, k, heads):
    """Cut a tree at the edge with the most equal sides; return the number of heads, 1 if no cut is allowed."""
    parent, order, hanging = tree.parent, tree.order, tree.hanging
    # Subtree weights are summed from the leaves up, because children follow their parents in the order.
    total = np.int64(0)
    for i in range(filled):
        hanging[order[i]] = weights[order[i]]
        total += weights[order[i]]
    best = total
    heads[0] = order[0]
    # Each edge is one cut: the subtree against the rest.
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
def _cut_in_several(tree, filled, weights, k, threshold, heads):
    """Cut a tree from the leaves up at each subtree of weight `threshold`, if k remains; return the number of heads."""
    parent, order, hanging = tree.parent, tree.order, tree.hanging
    left = np.int64(0)
    for i in range(filled):
        hanging[order[i]] = weights[order[i]]
        left += weights[order[i]]
    heads[0] = order[0]
    count = 1
    # A subtree that is heavy enough is cut off and no longer counts for its ancestors.
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
def _label(tree, filled, count, weights, pieces):
    """Compute the piece of each node of a cut tree, and the weight and number of nodes of each piece."""
    parent, order = tree.parent, tree.order
    local, heads, loads, sizes = pieces
    # A head starts a piece; every other node belongs to the piece of its parent.
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
def _remove_part(hole, graph, division, search):
    """Give the number of a removed part to the last part."""
    parts, count, loads, sizes, anchors = division
    last = count[0] - 1
    count[0] = last
    if hole == last:
        return
    # Only the nodes of the last part need a new number.
    reached = reach(graph, parts, np.int32(anchors[last]), np.int32(-1), search)
    for i in range(reached):
        parts[search.queue[i]] = hole
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
def _move(graph, least, division, u, v, temperature, search, random):
    """Try to move node u to the part of its neighbour v; return the change of the sum of squares."""
    offsets, targets, weights = graph
    parts, _, loads, sizes, anchors = division
    p, q = parts[u], parts[v]
    # The cheap test comes first: the weights and the Metropolis rule.
    first, second = loads[p] - weights[u], loads[q] + weights[u]
    change = _square(first) + _square(second) - _square(loads[p]) - _square(loads[q])
    if first < least or not accept_move(change, temperature, random):
        return 0.0
    # Then connectivity: the rest of part p must hang together without u.
    near = np.int32(-1)
    several = 0
    for j in range(offsets[u], offsets[u + 1]):
        if parts[targets[j]] == p:
            near = targets[j]
            several += 1
    if near < 0:
        return 0.0
    if several > 1 and reach(graph, parts, near, u, search) != sizes[p] - 1:
        return 0.0
    # Accept the move.
    parts[u] = q
    sizes[p] -= 1
    sizes[q] += 1
    anchors[p] = near
    loads[p], loads[q] = first, second
    return change


@kernel_step
def _recombine(graph, limits, division, u, v, temperature, search, tree, pieces, random):
    """Join the parts of two neighbouring nodes, sometimes with a third part, and cut them again along a random tree.

    Returns the change of the sum of squares.
    """
    offsets, targets, weights = graph
    parts, numbers, loads, sizes, anchors = division
    least, heads = limits.least, pieces.heads
    # Up to three parts are joined.
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
    # Cut the tree in several pieces, by a random threshold, or in two equal ones.
    filled = random_tree(graph, parts, p, q, r, u, tree, search, random)
    able = total // least
    if old == 3 or (able > 2 and draw(random, np.int64(2)) == 0):
        wanted = 2 + (draw(random, able - 1) if able > 2 else 0)
        wanted = min(wanted, old + 1)
        room = total // wanted - least
        threshold = least + (draw(random, room + 1) if room > 0 else 0)
        cuts = _cut_in_several(tree, filled, weights, least, threshold, heads)
    else:
        cuts = _cut_in_two(tree, filled, weights, least, heads)
    # More pieces than parts need free numbers.
    count = numbers[0]
    if cuts > old and count + cuts - old > limits.most:
        return 0.0
    # Judge the pieces before the division is changed.
    _label(tree, filled, cuts, weights, pieces)
    change = -before
    for c in range(cuts):
        change += _square(pieces.loads[c])
    if not accept_move(change, temperature, random):
        return 0.0
    # The pieces take the numbers of the old parts, then new ones.
    for c in range(cuts):
        number = np.int64(r)
        if c >= old:
            number = count + c - old
        elif c == 0:
            number = np.int64(p)
        elif c == 1:
            number = np.int64(q)
        loads[number], sizes[number], anchors[number] = pieces.loads[c], pieces.sizes[c], heads[c]
        heads[c] = number  # the head is no longer needed: its place takes the number of the piece
    for i in range(filled):
        v = tree.order[i]
        parts[v] = heads[pieces.local[v]]
    numbers[0] = count + max(cuts - old, 0)
    # Numbers that are free now, the higher number first, so that no hole is filled with another hole.
    first, second = np.int64(-1), np.int64(-1)
    if cuts < old:
        first = np.int64(q) if cuts == 1 else np.int64(r)
        if cuts == 1 and old == 3:
            second = np.int64(r)
    for turn in range(2):
        hole = max(first, second) if turn == 0 else min(first, second)
        if hole >= 0:
            _remove_part(hole, graph, division, search)
    return change


@kernel
def improve_parts(graph, limits, division, best, random, steps, hot, cold):
    """Make random steps of simulated annealing, and keep the best division.

    Parameters
    ----------
    graph : WeightedGraph
    limits : Limits
    division : Division
        Current division of the search; changed.
    best : Best
        The best division within the limits; changed.
    random : uint64[1]
        State of the random numbers, not 0.
    steps : int64
    hot, cold : float64
        The temperature falls from one to the other, as a share of the square of the mean load; 0 accepts improvements
        only.
    """
    offsets, targets = graph.offsets, graph.targets
    parts, count, loads, _, anchors = division
    n = offsets.size - 1
    search = Search(np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.int64), np.zeros(1, dtype=np.int64))
    tree = Tree(
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.empty((targets.size + 1, 2), dtype=np.int32),
    )
    pieces = _Pieces(
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int32),
    )
    # Energy is the sum of squares; its minimum has equal loads.
    energy = 0.0
    total = 0.0
    for p in range(count[0]):
        energy += _square(loads[p])
        total += np.float64(loads[p])
    mean = total / count[0]
    heaviest = _largest(loads, count[0])
    # The start is the best division so far.
    if best.largest[0] == 0:
        _copy(parts, best.parts)
        best.largest[0] = loads[heaviest]
        best.squares[0] = energy
    # The temperature falls linearly.
    for step in range(steps):
        temperature = (hot + (cold - hot) * step / steps) * mean * mean
        u = np.int32(draw(random, n))
        # Every fourth step starts at the largest part, while it is above the bound.
        if step % 4 == 0 and loads[heaviest] > limits.bound:
            reached = reach(graph, parts, anchors[heaviest], np.int32(-1), search)
            u = search.queue[draw(random, reached)]
        if offsets[u] == offsets[u + 1]:
            continue
        v = targets[offsets[u] + draw(random, offsets[u + 1] - offsets[u])]
        # Within one part there is nothing to exchange; a part of sufficient weight can be cut in two.
        if parts[u] == parts[v] and (loads[parts[u]] < 2 * limits.least or step % 8 != 0):
            continue
        # Draw the kind of step.
        kind = draw(random, np.int64(100))
        if kind < _MOVE and parts[u] != parts[v]:
            change = _move(graph, limits.least, division, u, v, temperature, search, random)
        else:
            change = _recombine(graph, limits, division, u, v, temperature, search, tree, pieces, random)
        if change == 0.0:
            continue
        # The step was made: update energy and maximum.
        energy += change
        heaviest = _largest(loads, count[0])
        largest = loads[heaviest]
        if largest > best.largest[0] or (largest == best.largest[0] and energy >= best.squares[0]):
            continue
        # A new best division must also satisfy k.
        if limits.least >= limits.k or _smallest(loads, count[0]) >= limits.k:
            _copy(parts, best.parts)
            best.largest[0] = largest
            best.squares[0] = energy
