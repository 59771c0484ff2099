"""Dividing one connected graph: along a spanning tree of low degree, then by recombination, then to the optimum."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.grouping.regions.recombination_kernel import Best, Division, Limits, WeightedGraph, improve_parts
from shoal.grouping.regions.region_bounds import bound_of_counts, most_parts
from shoal.grouping.regions.spanning_tree_kernel import (
    Graph,
    RootedTree,
    cut_tree,
    depth_first_tree,
    lower_degree,
    root_tree,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.grouping.regions.graph import RegionGraph

__all__ = ["cut_along_tree", "exact_parts", "recombine"]

_PHASES = 64
"""Phases of the search for a tree of low degree between two looks at the keyboard."""
_STEPS_PER_NODE, _FEWEST, _MOST = 250, 2_000, 1_000_000
"""Random steps of one pass: so many for each node, at least so many, and at most so many."""
_PASSES, _PASSES_OF_SMALL = 3, 24
"""Passes at most while the lower bound is not met; graphs of up to `_SMALL` nodes get more."""
_SMALL = 256
_FEWER = 4
"""So many numbers of parts are tried, from the largest possible one downwards."""
_STEPS_PER_CALL = 50_000
_HOT = 0.1
"""The temperature that a pass begins with, in parts of the square of the mean weight."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TreeCut:
    """A connected graph cut along a spanning tree."""

    parts: NDArray[np.int32]
    """The part of each node."""
    degree: int
    """The degree of the tree; no spanning tree has a degree lower by more than one."""


def cut_along_tree(graph: RegionGraph, weights: NDArray[np.int64], k: int, *, progress: Progress = silent) -> TreeCut:
    """Cut a connected graph that weighs at least k along a spanning tree of low degree.

    The tree comes from a depth-first search, whose degree the local search of Fuerer and Raghavachari lowers.

    Parameters
    ----------
    graph : RegionGraph
        A connected graph.
    weights : array of int64
        Of its nodes.
    k : int
        What each part weighs at least.
    progress : callable
        Called with ("tree", 0, 1) between phases.
    """
    left, right = (np.ascontiguousarray(graph.edges[:, side]) for side in (0, 1))
    linked = Graph(*graph.adjacency, left, right)
    in_tree = np.zeros(len(left), dtype=np.bool_)
    depth_first_tree(linked, in_tree)
    degree = 1
    while degree > 0:
        progress("tree", 0, 1)
        degree = int(lower_degree(linked, in_tree, _PHASES))
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
    """Return parts whose largest one is no larger, and mostly smaller; then their sum of squares is.

    Parameters
    ----------
    graph, weights, k
        As in `cut_along_tree`.
    parts : array of int32
        A division of the graph into connected parts of weight at least k, numbered 0, 1, ...
    bound : int
        No division has a largest part below this.
    rng : numpy.random.Generator
    progress : callable
        Called with ("recombination", steps done, steps at most).
    """
    n = graph.nodes
    if int(weights.sum()) < 2 * k:
        return parts
    steps = min(max(_FEWEST, _STEPS_PER_NODE * n), _MOST)
    passes = _PASSES_OF_SMALL if n <= _SMALL else _PASSES
    search = _Search(graph, weights, k, parts, bound, rng)
    for turn in range(passes):
        if turn and search.largest <= bound:
            break
        # Every second pass lets parts be too light for a while, and so finds divisions into another number of them:
        # the most that there can be, or a few less.
        least = k if turn % 2 == 0 else max(1, k // 2)
        most = search.most - (turn // 2 % _FEWER if turn % 2 else 0)
        for done in search.run(steps, least=least, most=most):
            progress("recombination", turn * steps + done, passes * steps)
    progress("recombination", passes * steps, passes * steps)
    return search.best


class _Search:
    """The arrays of a search by recombination."""

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
        """The best parts so far."""
        return self._best.parts

    @property
    def largest(self) -> int:
        """The largest of the best parts."""
        return int(self._best.largest[0])

    def run(self, steps: int, *, least: int, most: int) -> Iterator[int]:
        """Make a pass from the best parts, with no more than `most`; tell how many steps are done now and then."""
        division = _division(self.best.copy(), self._graph.weights)
        limits = Limits(self.k, least, max(most, int(division.number[0])), self.bound)
        calls = -(-steps // _STEPS_PER_CALL)
        for call in range(calls):
            yield call * steps // calls
            hot, cold = (_HOT * (1 - (call + later) / calls) for later in (0, 1))
            improve_parts(self._graph, limits, division, self._best, self._random, steps // calls, hot, cold)


def _division(parts: NDArray[np.int32], weights: NDArray[np.int64]) -> Division:
    """Return a division with what its parts weigh, how many nodes they have, and one of these."""
    n = len(parts)
    loads, sizes, anchors = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    np.add.at(loads, parts, weights)
    np.add.at(sizes, parts, 1)
    anchors[parts] = np.arange(n, dtype=np.int32)
    return Division(parts, np.array([parts.max() + 1], dtype=np.int64), loads, sizes, anchors)


def exact_parts(
    graph: RegionGraph,
    weights: NDArray[np.int64],
    k: int,
    parts: NDArray[np.int32],
    *,
    bound: int,
    time_limit: float,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> tuple[NDArray[np.int32], int, str]:
    """Return the best parts, what is proven of all divisions, and how.

    Integer programs over all connected sets prove the optimum where these are few (`connected_cover`). Otherwise parts
    are carved that meet the lower bound (`carving`), or that leave few connected sets in which better ones could be.
    """
    from shoal.grouping.regions.carving import carve
    from shoal.grouping.regions.connected_cover import smallest_largest_part

    starts, targets, _ = graph.adjacency
    end = time.perf_counter() + time_limit
    why = ""
    for turn in range(2):
        known = _largest(parts, weights)
        found = smallest_largest_part(
            starts, targets, weights, k=k, known=known, bound=bound, progress=progress,
            time_limit=max(end - time.perf_counter(), 0.0),
        )  # fmt: skip
        if found.parts is not None:
            parts, known = found.parts, _largest(found.parts, weights)
        if found.bound > bound or not why:
            bound, why = found.bound, found.why
        counted = bound_of_counts(weights, k, bound)
        if counted.value > bound:
            bound, why = counted.value, counted.why
        if known <= bound or turn == 1:
            break
        carved = carve(
            starts, targets, weights, k=k, known=known, bound=bound, rng=rng, progress=progress,
            time_limit=max(end - time.perf_counter(), 0.0),
        )  # fmt: skip
        if carved is None:
            break
        parts = carved
    return parts, bound, why


def _largest(parts: NDArray[np.int32], weights: NDArray[np.int64]) -> int:
    return int(np.bincount(parts, weights=weights).max())
