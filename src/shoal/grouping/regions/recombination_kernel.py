# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Improve a partition of a graph into connected parts: merge and split neighbours, or move nodes across a border.

Every part is connected before and after each step. Merged parts are split along random spanning trees. This is the step
of the ReCom sampler of electoral districts (DeFord, Duchin, Solomon 2021, "Recombination").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined, kernel, kernel_step
from shoal.solver.random_kernel import accept_move, draw

__all__ = ["Best", "ConnectedParts", "Limits", "WeightedGraph", "improve_parts", "reach"]

_MOVE_PERCENT = 40
"""Percentage of steps that move a node; all other steps recombine parts."""
_THIRD_PART_PERCENT = 25
"""Percentage of recombinations with a third part."""


class WeightedGraph(NamedTuple):
    """A graph whose nodes have weights."""

    offsets: NDArray[np.int64]
    """Start of the neighbours of each node in `targets`, shape (n + 1,)."""
    targets: NDArray[np.int32]
    """The neighbours of node v are `targets[offsets[v]:offsets[v + 1]]`."""
    weights: NDArray[np.int64]
    """Weights of the nodes, shape (n,)."""


class ConnectedParts(NamedTuple):
    """A partition of a graph into connected parts; all arrays have room for as many parts as nodes."""

    parts: NDArray[np.int32]
    """Part of each node."""
    number: NDArray[np.int64]
    """Number of parts, as an array of one element."""
    loads: NDArray[np.int64]
    """Weight of each part."""
    sizes: NDArray[np.int32]
    """Number of nodes of each part."""
    anchors: NDArray[np.int32]
    """One node of each part."""


class Best(NamedTuple):
    """The best division so far: the one with the smallest largest load, then with the smallest sum of squares."""

    parts: NDArray[np.int32]
    """Part of each node."""
    largest: NDArray[np.int64]
    """Largest load, as an array of one element; 0 if there is no division yet."""
    squares: NDArray[np.float64]
    """Sum of the squares of all loads, as an array of one element."""

    @classmethod
    def of(cls, parts: NDArray[np.int32]) -> Best:
        """Create the record of the best division, with the given parts and without loads."""
        return cls(parts=parts, largest=np.zeros(1, dtype=np.int64), squares=np.zeros(1))


class Limits(NamedTuple):
    """Constraints of the search."""

    k: int
    """Smallest load of a part in a division that can become the best one."""
    least: int
    """Smallest load of a part that a step may leave; it may be below k in an early phase."""
    most: int
    """Largest number of parts."""
    bound: int
    """If the largest load exceeds this, every fourth step starts in the part that has it."""


class Search(NamedTuple):
    """Work arrays of breadth-first searches."""

    queue: NDArray[np.int32]
    """The nodes that the last search reached."""
    seen: NDArray[np.int64]
    """Number of the last search that reached each node."""
    stamp: NDArray[np.int64]
    """Number of the last search, as an array of one element."""

    @classmethod
    def of(cls, n: int) -> Search:
        """Allocate the memory for a graph of n nodes."""
        return cls(np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.int64), np.zeros(1, dtype=np.int64))


class Tree(NamedTuple):
    """Work arrays of random spanning trees."""

    parent: NDArray[np.int32]
    """Parent of each node of the tree; -1 for the root."""
    order: NDArray[np.int32]
    """The nodes of the tree, parents first."""
    subtree_weights: NDArray[np.int64]
    """The weight of the subtree of each node."""
    frontier: NDArray[np.int32]
    """Candidate nodes, each with the node that it would be attached to; shape (ends of edges + 1, 2)."""

    @classmethod
    def of(cls, n: int, ends: int) -> Tree:
        """Allocate the memory for a graph of n nodes with a number of ends of edges."""
        return cls(
            parent=np.empty(n, dtype=np.int32),
            order=np.empty(n, dtype=np.int32),
            subtree_weights=np.empty(n, dtype=np.int64),
            frontier=np.empty((ends + 1, 2), dtype=np.int32),
        )


class _Pieces(NamedTuple):
    """Work arrays for the pieces of a split tree."""

    local: NDArray[np.int32]
    """Piece of each node."""
    heads: NDArray[np.int32]
    """Root of each piece."""
    loads: NDArray[np.int64]
    """Weight of each piece."""
    sizes: NDArray[np.int32]
    """Nodes of each piece."""


@inlined
def _square(weight):
    """Square a load, as a float, because squares may exceed 63 bits."""
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
    """Grow a random spanning tree of up to three parts, starting at a node; return its number of nodes.

    Parameters
    ----------
    graph : WeightedGraph
    parts : int32 array
        Part of each node.
    p, q, r : int32
        The parts, connected together; they may be equal.
    start : int32
        A node of one of them.
    tree : Tree
        The result.
    search : Search
    random : uint64[1]
    """
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
def _split_in_two(tree, filled, weights, least, heads):
    """Split a tree at its most balanced edge, if both sides weigh at least `least`; return the number of pieces."""
    parent, order, subtree_weights = tree.parent, tree.order, tree.subtree_weights
    # Subtree weights are summed from the leaves up, because children follow their parents in the order.
    total = np.int64(0)
    for i in range(filled):
        subtree_weights[order[i]] = weights[order[i]]
        total += weights[order[i]]
    best = total
    heads[0] = order[0]
    # Each edge is one cut: the subtree against the rest.
    for i in range(filled - 1, 0, -1):
        v = order[i]
        side = subtree_weights[v]
        subtree_weights[parent[v]] += side
        larger = max(side, total - side)
        if larger < best and total - larger >= least:
            best = larger
            heads[1] = v
    return 1 if best == total else 2


@kernel_step
def _split_in_several(tree, filled, weights, least, threshold, heads):
    """Split off subtrees of weight at least `threshold`, from the leaves up; return the number of pieces.

    The remaining piece keeps a weight of at least `least`.
    """
    parent, order, subtree_weights = tree.parent, tree.order, tree.subtree_weights
    left = np.int64(0)
    for i in range(filled):
        subtree_weights[order[i]] = weights[order[i]]
        left += weights[order[i]]
    heads[0] = order[0]
    count = 1
    # A subtree that is heavy enough is cut off and no longer counts for its ancestors.
    for i in range(filled - 1, 0, -1):
        v = order[i]
        if subtree_weights[v] >= threshold and left - subtree_weights[v] >= least:
            heads[count] = v
            count += 1
            left -= subtree_weights[v]
        else:
            subtree_weights[parent[v]] += subtree_weights[v]
    return count


@inlined
def _label(tree, filled, count, weights, pieces):
    """Compute the piece of each node of a split tree, and the weight and number of nodes of each piece."""
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
    """Remove a part that has no nodes left: the last part takes its number."""
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
    """Copy an array into another."""
    for i in range(source.size):
        target[i] = source[i]


@inlined
def _find_heaviest(loads, count):
    """Find the index of the largest load."""
    place = 0
    for p in range(1, count):
        if loads[p] > loads[place]:
            place = p
    return place


@inlined
def _min_load(loads, count):
    """Find the smallest load."""
    least = loads[0]
    for p in range(1, count):
        least = min(least, loads[p])
    return least


@kernel_step
def _move(graph, least, division, u, v, temperature, search, random):
    """Try to move node u to the part of its neighbour v; return the change of the sum of squares, or 0."""
    offsets, targets, weights = graph
    parts, _, loads, sizes, anchors = division
    p, q = parts[u], parts[v]
    # The cheap test comes first: the weights and the Metropolis rule.
    first, second = loads[p] - weights[u], loads[q] + weights[u]
    change = _square(first) + _square(second) - _square(loads[p]) - _square(loads[q])
    if first < least or not accept_move(change, temperature, random):
        return 0.0
    # Then connectivity: the rest of part p must be connected without u.
    near = np.int32(-1)
    neighbours_in_part = 0
    for j in range(offsets[u], offsets[u + 1]):
        if parts[targets[j]] == p:
            near = targets[j]
            neighbours_in_part += 1
    if near < 0:
        return 0.0
    if neighbours_in_part > 1 and reach(graph, parts, near, u, search) != sizes[p] - 1:
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
    """Try to merge the parts of two neighbouring nodes, or a third part as well, and split them along a random tree.

    Returns the change of the sum of squares; 0 if nothing was changed.
    """
    offsets, targets, weights = graph
    parts, numbers, loads, sizes, anchors = division
    least, heads = limits.least, pieces.heads
    # Merge two or three parts, or split a single one.
    p, q = parts[u], parts[v]
    r = q
    old = 1 if p == q else 2
    total = loads[p]
    before = _square(loads[p])
    if p != q:
        total += loads[q]
        before += _square(loads[q])
        x = targets[offsets[v] + draw(random, offsets[v + 1] - offsets[v])]
        if draw(random, np.int64(100)) < _THIRD_PART_PERCENT and parts[x] != p and parts[x] != q:
            r = parts[x]
            total += loads[r]
            before += _square(loads[r])
            old = 3
    # Split the tree into several pieces by a random threshold, or into two of similar weight.
    filled = random_tree(graph, parts, p, q, r, u, tree, search, random)
    max_pieces = total // least
    if old == 3 or (max_pieces > 2 and draw(random, np.int64(2)) == 0):
        wanted = 2 + (draw(random, max_pieces - 1) if max_pieces > 2 else 0)
        wanted = min(wanted, old + 1)
        room = total // wanted - least
        threshold = least + (draw(random, room + 1) if room > 0 else 0)
        cuts = _split_in_several(tree, filled, weights, least, threshold, heads)
    else:
        cuts = _split_in_two(tree, filled, weights, least, heads)
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
    division : ConnectedParts
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
    # Numba cannot call class methods, so the work arrays are allocated here.
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
    heaviest = _find_heaviest(loads, count[0])
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
        if kind < _MOVE_PERCENT and parts[u] != parts[v]:
            change = _move(graph, limits.least, division, u, v, temperature, search, random)
        else:
            change = _recombine(graph, limits, division, u, v, temperature, search, tree, pieces, random)
        if change == 0.0:
            continue
        # The step was made: update energy and maximum.
        energy += change
        heaviest = _find_heaviest(loads, count[0])
        largest = loads[heaviest]
        if largest > best.largest[0] or (largest == best.largest[0] and energy >= best.squares[0]):
            continue
        # A new best division must also satisfy k.
        if limits.least >= limits.k or _min_load(loads, count[0]) >= limits.k:
            _copy(parts, best.parts)
            best.largest[0] = largest
            best.squares[0] = energy
