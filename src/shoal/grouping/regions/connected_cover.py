"""Optimal division of a small graph into connected parts of bounded weight, by set partitioning.

Every connected set of nodes whose weight is feasible and not above that of a known division becomes a column of a set
partitioning problem, so that connectivity needs no constraints. The smallest possible maximum is found by bisection. If
there are too many sets, the result is a lower bound only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.grouping.regions.connected_sets_kernel import connected_sets, lightest_set
from shoal.solver.highs import Program, Rows, solve

_MAX_SETS = 120_000
"""Largest number of columns of the set partitioning problem."""
_MAX_STEPS = 8_000_000
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
    lists = [place[neighbours[starts[node] : starts[node + 1]]] for node in order]
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in lists]))).astype(np.int64)
    return offsets, np.concatenate([np.empty(0, dtype=np.int32), *lists])


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
        starts, members, count, complete = connected_sets(offsets, targets, weights, k, limit, _MAX_SETS, _MAX_STEPS)
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
