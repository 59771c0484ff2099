"""Division of a connected graph: along a spanning tree of low degree, by recombination, and to the proven optimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.grouping.regions.graph import RegionGraph
from shoal.grouping.regions.recombination_kernel import Best, ConnectedParts, Limits, WeightedGraph, improve_parts
from shoal.grouping.regions.region_bounds import bound_of_counts, most_parts
from shoal.grouping.regions.spanning_tree_kernel import (
    Graph,
    RootedTree,
    cut_tree,
    depth_first_tree,
    lower_degree,
    root_tree,
)

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
    linked = Graph(*graph.adjacency, left, right)
    # Find a tree of low degree; a negative degree means that the local search has ended.
    in_tree = np.zeros(len(left), dtype=np.bool_)
    depth_first_tree(linked, in_tree)
    degree = 1
    while degree > 0:
        progress("tree", 0, 1)
        degree = int(lower_degree(linked, in_tree, _PHASES))
    # Root the tree and cut it from the leaves up.
    tree = RootedTree.of(in_tree, graph.nodes)
    root_tree(linked, np.int32(0), tree)
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
    from shoal.grouping.regions.connected_cover import smallest_largest_part

    starts, targets, _ = graph.adjacency
    found = smallest_largest_part(
        starts, targets, weights, k=k, known=int(np.bincount(parts, weights=weights).max()), bound=bound,
        time_limit=time_limit, progress=progress,
    )  # fmt: skip
    # Counting parts may raise the bound further.
    counted = bound_of_counts(weights, k, found.bound)
    why = counted.why if counted.value > found.bound else found.why
    return parts if found.parts is None else found.parts, counted.value, why
