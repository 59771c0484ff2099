"""Division of a connected graph: along a spanning tree of low degree, by recombination, and to the proven optimum.

The optimum is found by set partitioning: every connected set of nodes whose weight is feasible and not above that of a
known division becomes a column, so that connectivity needs no constraints. The smallest possible maximum is found by
bisection. If there are too many sets, the result is a lower bound only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.grouping.base import GroupingBound
from shoal.grouping.regions.connected_sets_kernel import connected_sets, lightest_set
from shoal.grouping.regions.graph import RegionGraph
from shoal.grouping.regions.recombination_kernel import Best, ConnectedParts, Limits, WeightedGraph, improve_parts
from shoal.grouping.regions.spanning_tree_kernel import (
    Graph,
    RootedTree,
    cut_tree,
    depth_first_tree,
    lower_degree,
    root_tree,
)
from shoal.solver.highs import Program, Rows, solve


def region_bound(graph: RegionGraph, weights: NDArray[np.int64], k: int) -> GroupingBound:
    """Compute a lower bound on the largest part of a connected graph with a total weight of at least k.

    Parameters
    ----------
    graph : RegionGraph
        A connected graph.
    weights : array of int64
        Weights of its nodes.
    k : int
        Smallest weight of a part.
    """
    total, largest = int(weights.sum()), int(weights.max())
    most = most_parts(weights, k)
    bounds = [
        GroupingBound(value=k, why="every class has at least k records"),
        GroupingBound(value=largest, why="the largest region cannot be divided"),
        GroupingBound(value=-(-total // most), why=f"there cannot be more than {most} classes of k records"),
        GroupingBound(
            value=_largest_with_dependents(graph, weights, k),
            why="a region cannot be parted from the neighbours that only it connects to k records",
        ),
    ]
    return max(bounds, key=lambda bound: bound.value)


def most_parts(weights: NDArray[np.int64], k: int) -> int:
    """Bound the number of parts: each has a node of weight k or more, or k records of the other nodes."""
    heavy = weights[weights >= k]
    return len(heavy) + (int(weights.sum()) - int(heavy.sum())) // k


def bound_of_counts(weights: NDArray[np.int64], k: int, bound: int) -> GroupingBound:
    """Strengthen a lower bound on the largest part by counting parts.

    If there are p parts, the largest part weighs at least total / p and at most total - (p - 1) k. A lower bound
    therefore excludes large numbers of parts.

    Parameters
    ----------
    weights : array of int64
        Weights of the nodes.
    k : int
        Smallest weight of a part.
    bound : int
        A lower bound on the largest part of any division.
    """
    total, most = int(weights.sum()), most_parts(weights, k)
    raised = -1
    while raised < bound:
        raised = bound
        most = min(most, (total - bound) // k + 1)
        bound = max(bound, -(-total // most))
    return GroupingBound(
        value=bound, why=f"there cannot be more than {most} classes: with more, none could weigh what one has to"
    )


def _largest_with_dependents(graph: RegionGraph, weights: NDArray[np.int64], k: int) -> int:
    """Compute the largest weight of a node and the components below k that its removal would leave."""
    starts, targets, _ = graph.adjacency
    near = [targets[starts[node] : starts[node + 1]].tolist() for node in range(graph.nodes)]
    heavy = weights.tolist()
    total = sum(heavy)
    # For each node: the weight of its subtree, and of the components that its removal would cut off.
    reached, lowest = [-1] * graph.nodes, [0] * graph.nodes
    subtree_weights, cut_off, dependents = list(heavy), [0] * graph.nodes, [0] * graph.nodes
    # Hopcroft and Tarjan's search for articulation points, with a stack of (node, parent, remaining neighbours).
    reached[0] = lowest[0] = 0
    count = 1
    stack = [(0, -1, iter(near[0]))]
    while stack:
        node, parent, rest = stack[-1]
        for other in rest:
            if reached[other] < 0:
                reached[other] = lowest[other] = count
                count += 1
                stack.append((other, node, iter(near[other])))
                break
            if other != parent:
                lowest[node] = min(lowest[node], reached[other])
        else:
            stack.pop()
            if parent >= 0:
                subtree_weights[parent] += subtree_weights[node]
                lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] >= reached[parent]:
                    cut_off[parent] += subtree_weights[node]
                    dependents[parent] += subtree_weights[node] if subtree_weights[node] < k else 0
    # A component below k cannot be a part of its own: it must join the node.
    best = 0
    for node in range(graph.nodes):
        beyond = total - heavy[node] - cut_off[node]
        best = max(best, heavy[node] + dependents[node] + (beyond if beyond < k else 0))
    return best


_PHASES = 64
"""Phases of the search for a tree of low degree between two progress reports."""
_STEPS_PER_NODE, _MIN_STEPS, _MAX_STEPS = 250, 2_000, 1_000_000
"""Number of random steps of a pass: per node, at least, and at most."""
_PASSES, _PASSES_IF_SMALL = 3, 24
"""Largest number of passes, in large graphs and in graphs of up to `_MAX_SMALL_NODES` nodes."""
_MAX_SMALL_NODES = 256
"""Largest number of nodes of a graph that counts as small."""
_NUMBERS_OF_PARTS = 4
"""Number of different numbers of parts to try, from the largest possible one downwards."""
_STEPS_PER_CALL = 50_000
"""Number of random steps between two progress reports."""
_HOT = 0.1
"""First temperature of a pass, as a share of the squared mean weight."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TreeCut:
    """Division of a connected graph along a spanning tree."""

    parts: NDArray[np.int32]
    """Part of each node."""
    degree: int
    """Degree of the tree, at most one above the smallest possible degree."""


def cut_along_tree(graph: RegionGraph, weights: NDArray[np.int64], k: int, *, progress: Progress = silent) -> TreeCut:
    """Cut a connected graph with a total weight of at least k along a spanning tree of low degree.

    The tree is a depth-first search tree whose degree is reduced by the local search of Fuerer and Raghavachari.

    Parameters
    ----------
    graph : RegionGraph
        A connected graph.
    weights : array of int64
        Weights of its nodes.
    k : int
        Smallest weight of a part.
    progress : callable
        Called with ("tree", 0, 1) between phases.
    """
    left, right = (np.ascontiguousarray(graph.edges[:, side]) for side in (0, 1))
    joined = Graph(*graph.adjacency, left, right)
    # Find a tree of low degree; a negative degree means that the local search has ended.
    in_tree = np.zeros(len(left), dtype=np.bool_)
    depth_first_tree(joined, in_tree)
    degree = 1
    while degree > 0:
        progress("tree", 0, 1)
        degree = int(lower_degree(joined, in_tree, _PHASES))
    # Root the tree and cut it from the leaves up.
    tree = RootedTree.of(in_tree, graph.nodes)
    root_tree(joined, np.int32(0), tree)
    parts = np.empty(graph.nodes, dtype=np.int32)
    cut_tree(tree.parent, tree.order, weights, k, parts)
    return TreeCut(parts=parts, degree=-degree)


def recombine(
    graph: RegionGraph,
    weights: NDArray[np.int64],
    k: int,
    parts: NDArray[np.int32],
    *,
    bound: int,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> NDArray[np.int32]:
    """Reduce the largest part of a division by recombination, and then the sum of squared weights.

    Parameters
    ----------
    graph, weights, k
        As in `cut_along_tree`.
    parts : array of int32
        Division of the graph into connected parts of weight at least k, numbered 0, 1, ...
    bound : int
        Lower bound on the largest part of any division.
    rng : numpy.random.Generator
        Source of random trees.
    progress : callable
        Called with ("recombination", steps done, largest number of steps).

    Returns
    -------
    array of int32
        Part of each node; the largest part is never larger than before.
    """
    n = graph.nodes
    if int(weights.sum()) < 2 * k:
        return parts
    # Small graphs get more passes, because a pass is short.
    steps = min(max(_MIN_STEPS, _STEPS_PER_NODE * n), _MAX_STEPS)
    passes = _PASSES_IF_SMALL if n <= _MAX_SMALL_NODES else _PASSES
    search = _Search(graph, weights, k, parts, bound, rng)
    for turn in range(passes):
        if turn and search.largest <= bound:
            break
        # Every second pass allows parts that are too light for a while, which leads to divisions into another number
        # of parts: the largest possible number, or a few fewer.
        least = k if turn % 2 == 0 else max(1, k // 2)
        most = search.most - (turn // 2 % _NUMBERS_OF_PARTS if turn % 2 else 0)
        for done in search.run(steps, least=least, most=most):
            progress("recombination", turn * steps + done, passes * steps)
    progress("recombination", passes * steps, passes * steps)
    return search.best


class _Search:
    """State of a search by recombination."""

    def __init__(
        self,
        graph: RegionGraph,
        weights: NDArray[np.int64],
        k: int,
        parts: NDArray[np.int32],
        bound: int,
        rng: np.random.Generator,
    ) -> None:
        starts, targets, _ = graph.adjacency
        self._graph = WeightedGraph(starts, targets, weights)
        self._best = Best.of(parts.copy())
        self.k, self.bound = k, bound
        self.most = most_parts(weights, k)
        self._random = rng.integers(1, 1 << 63, size=1, dtype=np.uint64)

    @property
    def best(self) -> NDArray[np.int32]:
        """Part of each node in the best division so far."""
        return self._best.parts

    @property
    def largest(self) -> int:
        """Weight of the largest part of the best division so far."""
        return int(self._best.largest[0])

    def run(self, steps: int, *, least: int, most: int) -> Iterator[int]:
        """Run a pass from the best division with at most `most` parts; yield the number of steps done, now and then."""
        division = _division(self.best.copy(), self._graph.weights)
        limits = Limits(self.k, least, max(most, int(division.number[0])), self.bound)
        calls = -(-steps // _STEPS_PER_CALL)
        for call in range(calls):
            yield call * steps // calls
            hot, cold = (_HOT * (1 - (call + later) / calls) for later in (0, 1))
            improve_parts(self._graph, limits, division, self._best, self._random, steps // calls, hot, cold)


def _division(parts: NDArray[np.int32], weights: NDArray[np.int64]) -> ConnectedParts:
    """Build a division with the weight, the number of nodes and an anchor node of each part."""
    n = len(parts)
    loads, sizes, anchors = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    np.add.at(loads, parts, weights)
    np.add.at(sizes, parts, 1)
    anchors[parts] = np.arange(n, dtype=np.int32)
    return ConnectedParts(parts, np.array([parts.max() + 1], dtype=np.int64), loads, sizes, anchors)


def exact_parts(
    graph: RegionGraph,
    weights: NDArray[np.int64],
    k: int,
    parts: NDArray[np.int32],
    *,
    bound: int,
    time_limit: float,
    progress: Progress = silent,
) -> tuple[NDArray[np.int32], int, str]:
    """Find the best division, with a lower bound, by integer programs over all connected sets if there are few.

    Returns
    -------
    parts : array of int32
        Part of each node.
    bound : int
        Lower bound on the largest part of any division.
    why : str
        Proof of the bound in words.
    """
    starts, targets, _ = graph.adjacency
    found = smallest_largest_part(
        starts, targets, weights, k=k, known=int(np.bincount(parts, weights=weights).max()), bound=bound,
        time_limit=time_limit, progress=progress,
    )  # fmt: skip
    # Counting parts may raise the bound further.
    counted = bound_of_counts(weights, k, found.bound)
    why = counted.why if counted.value > found.bound else found.why
    return parts if found.parts is None else found.parts, counted.value, why


_MAX_SETS = 120_000
"""Largest number of columns of the set partitioning problem."""
_MAX_SET_STEPS = 8_000_000
"""Largest number of sets to enumerate: a few seconds."""
_HEAVIEST_NODES, _MAX_STEPS_PER_NODE = 10, 300_000
"""Number of heaviest nodes whose lightest possible part is computed for the lower bound, and of steps for each."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ConnectedCover:
    """The best division found, and a lower bound on all divisions."""

    parts: NDArray[np.int32] | None
    """Part of each node, if a better division than the known one was found; None otherwise."""
    bound: int
    """Lower bound on the largest part of any division."""
    why: str
    """Proof of the bound in words, or the reason why there is no better one."""


def smallest_largest_part(
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    weights: NDArray[np.int64],
    *,
    k: int,
    known: int,
    bound: int,
    time_limit: float = 60.0,
    progress: Progress = silent,
) -> ConnectedCover:
    """Find a division of a connected graph into connected parts of weight at least k that minimizes the largest part.

    Parameters
    ----------
    starts, neighbours : arrays
        Adjacency lists: `neighbours[starts[v]:starts[v + 1]]`.
    weights : array of int64
        Weights of the nodes.
    k : int
        Smallest weight of a part.
    known : int
        Largest part of a known division.
    bound : int
        Lower bound on the largest part of any division.
    time_limit : float
        Time limit in seconds.
    progress : callable

    Returns
    -------
    ConnectedCover
    """
    if known <= bound:
        return ConnectedCover(parts=None, bound=bound, why="the division known meets the bound")
    began = time.perf_counter()
    # A quick lower bound from the heaviest nodes.
    around = _bound_by_heaviest(starts, neighbours, weights, _least_weight(weights, k, known - 1), known)
    reason = ""
    if around > bound:
        bound, reason = around, "every connected class with one of the largest regions weighs as much"
        if bound == known:
            return ConnectedCover(parts=None, bound=bound, why=reason)
    # Enumerate the connected sets. They grow from their heaviest node, because light nodes are in many sets.
    order = np.argsort(-weights, kind="stable")
    offsets, targets = _renumber(starts, neighbours, order)
    sets = _Sets.of(offsets, targets, weights[order], _least_weight(weights, k, known - 1), known - 1)
    if sets is None:
        crowded = "there are too many connected sets to prove more"
        return ConnectedCover(parts=None, bound=bound, why=f"{reason}; {crowded}" if reason else crowded)
    best: NDArray[np.int32] | None = None
    # Bisection: the optimum is in [low, high].
    low, high = bound, known
    candidates = np.unique(sets.loads)
    while low < high:
        left = time_limit - (time.perf_counter() - began)
        # The largest part has the load of a set, so only these loads are tried.
        open_ones = candidates[(candidates >= low) & (candidates < high)]
        if len(open_ones) == 0:
            low = high
            break
        limit = int(open_ones[(len(open_ones) - 1) // 2])
        chosen = np.flatnonzero((sets.loads <= limit) & (sets.loads >= _least_weight(weights, k, limit)))
        found = solve(sets.program(chosen), time_limit=max(left, 0.0), step="exact", progress=progress)
        if found.values is not None:
            picked = chosen[found.values > 0.5]
            best = sets.parts(picked)
            high = int(sets.loads[picked].max())
        elif found.status == "infeasible":
            low = limit + 1
        else:
            break
    # Return to the original numbers of the nodes.
    parts = None
    if best is not None:
        parts = np.empty_like(best)
        parts[order] = best
    why = "integer programs over all connected sets of regions" if low > bound else "the bound was met"
    return ConnectedCover(parts=parts, bound=low, why=why if low == high else f"{why}, until time was up")


def _least_weight(weights: NDArray[np.int64], k: int, largest: int) -> int:
    """Compute the smallest weight of a part in a division without a part above `largest`.

    Every part has a node of weight k or more, or k records of the other nodes, which limits the number of parts. The
    weight that the other parts cannot hold is left for each part.
    """
    heavy = weights[weights >= k]
    total = int(weights.sum())
    most = len(heavy) + (total - int(heavy.sum())) // k
    return max(k, total - (most - 1) * largest)


def _bound_by_heaviest(
    starts: NDArray[np.int64], neighbours: NDArray[np.int32], weights: NDArray[np.int64], least: int, known: int
) -> int:
    """Compute a lower bound: the largest weight, over some heavy nodes, of the lightest part that contains the node.

    Parts weigh at least `least`; the bound is at most `known`.
    """
    heaviest = np.argsort(-weights, kind="stable")[:_HEAVIEST_NODES]
    return max(
        int(lightest_set(starts, neighbours, weights, node, least, known, _MAX_STEPS_PER_NODE)) for node in heaviest
    )


def _renumber(
    starts: NDArray[np.int64], neighbours: NDArray[np.int32], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Renumber the nodes of adjacency lists, so that node order[i] becomes node i."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    neighbours_of = [place[neighbours[starts[node] : starts[node + 1]]] for node in order]
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in neighbours_of]))).astype(np.int64)
    return offsets, np.concatenate([np.empty(0, dtype=np.int32), *neighbours_of])


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Sets:
    """Connected sets of nodes."""

    starts: NDArray[np.int64]
    """Start of each set in `members`."""
    members: NDArray[np.int32]
    """Nodes of the sets, set after set."""
    loads: NDArray[np.int64]
    """Weight of each set."""
    nodes: int
    """Number of nodes of the graph."""

    @classmethod
    def of(
        cls, offsets: NDArray[np.int64], targets: NDArray[np.int32], weights: NDArray[np.int64], k: int, limit: int
    ) -> _Sets | None:
        """Enumerate all connected sets with k <= load <= limit; None if there are too many."""
        starts, members, count, complete = connected_sets(
            offsets, targets, weights, k, limit, _MAX_SETS, _MAX_SET_STEPS
        )
        if not complete:
            return None
        starts, members = starts[: count + 1], members[: starts[count]]
        sums = np.concatenate(([0], np.cumsum(weights[members])))
        return cls(starts=starts, members=members, loads=sums[starts[1:]] - sums[starts[:-1]], nodes=len(weights))

    def program(self, chosen: NDArray[np.int64]) -> Program:
        """Build the set partitioning problem: choose sets so that every node is in exactly one of them."""
        # The entries of the constraint matrix: the nodes of the chosen sets.
        sizes = np.diff(self.starts)[chosen]
        column = np.repeat(np.arange(len(chosen)), sizes)
        first = np.repeat(self.starts[chosen] - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
        node = self.members[np.arange(len(column)) + first] if len(column) else self.members[:0]
        order = np.argsort(node, kind="stable")
        counts = np.bincount(node, minlength=self.nodes)
        return Program(
            costs=np.zeros(len(chosen)),
            integer=np.ones(len(chosen), dtype=np.bool_),
            lower=np.zeros(len(chosen)),
            upper=np.ones(len(chosen)),
            rows=Rows(
                starts=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
                columns=column[order],
                coefficients=np.ones(len(column)),
                lower=np.ones(self.nodes),
                upper=np.ones(self.nodes),
            ),
        )

    def parts(self, picked: NDArray[np.int64]) -> NDArray[np.int32]:
        """Compute the part of each node if the picked sets are the parts."""
        parts = np.full(self.nodes, -1, dtype=np.int32)
        for number, place in enumerate(picked):
            parts[self.members[self.starts[place] : self.starts[place + 1]]] = number
        return parts
