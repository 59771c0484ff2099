"""Dividing a small graph into connected parts of bounded weight, to the proven optimum.

Every connected set of nodes whose weight lies between the least and what is known to be possible becomes a column of a
set partitioning problem, so that connectivity needs no constraints; the smallest possible maximum is then found by
bisection. Where there are too many sets, the search says so.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.grouping.regions.connected_sets_kernel import connected_sets, lightest_set
from shoal.solver.highs import Program, Rows, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["smallest_largest_part"]

_MOST_SETS = 120_000
"""More columns than this are not given to the solver."""
_MOST_STEPS = 8_000_000
"""Sets that are looked at before the search is given up: a few seconds."""
_HEAVIEST, _STEPS_AROUND = 10, 300_000
"""So many of the heaviest nodes are asked for the lightest part that they can be in, with so many steps each."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ConnectedCover:
    """What is known of the best division of a graph."""

    parts: NDArray[np.int32] | None
    """The part of each node in a division that is better than the one known; None where none was found."""
    bound: int
    """No division has a largest part below this."""
    why: str
    """How that was proven, or what stood against it."""


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
    """Find the division of a connected graph into connected parts of weight at least k with the smallest largest part.

    Parameters
    ----------
    starts, neighbours : arrays
        Adjacency lists: `neighbours[starts[v]:starts[v + 1]]`.
    weights : array of int64
        Of the nodes.
    k : int
        What each part weighs at least.
    known : int
        The largest part of a division that is known.
    bound : int
        No division has a largest part below this.
    time_limit : float
        Seconds.
    progress : callable

    Returns
    -------
    ConnectedCover
    """
    if known <= bound:
        return ConnectedCover(parts=None, bound=bound, why="the division known meets the bound")
    began = time.perf_counter()
    around = _around_heaviest(starts, neighbours, weights, _least(weights, k, known - 1), known)
    reason = ""
    if around > bound:
        bound, reason = around, "every connected class with one of the largest regions weighs as much"
        if bound == known:
            return ConnectedCover(parts=None, bound=bound, why=reason)
    order = np.argsort(-weights, kind="stable")  # sets grow from their heaviest node: the light ones are in few sets
    offsets, targets = _renumbered(starts, neighbours, order)
    sets = _Sets.of(offsets, targets, weights[order], _least(weights, k, known - 1), known - 1)
    if sets is None:
        crowded = "there are too many connected sets to prove more"
        return ConnectedCover(parts=None, bound=bound, why=f"{reason}; {crowded}" if reason else crowded)
    best: NDArray[np.int32] | None = None
    low, high = bound, known  # the optimum is in [low, high]
    candidates = np.unique(sets.loads)
    while low < high:
        left = time_limit - (time.perf_counter() - began)
        # A largest part is the load of a set: between two of them nothing changes.
        open_ones = candidates[(candidates >= low) & (candidates < high)]
        if len(open_ones) == 0:
            low = high
            break
        limit = int(open_ones[(len(open_ones) - 1) // 2])
        chosen = np.flatnonzero((sets.loads <= limit) & (sets.loads >= _least(weights, k, limit)))
        found = solve(sets.program(chosen), time_limit=max(left, 0.0), step="exact", progress=progress)
        if found.values is not None:
            picked = chosen[found.values > 0.5]
            best = sets.parts(picked)
            high = int(sets.loads[picked].max())
        elif found.status == "infeasible":
            low = limit + 1
        else:
            break
    parts = None
    if best is not None:
        parts = np.empty_like(best)
        parts[order] = best
    why = "integer programs over all connected sets of regions" if low > bound else "the bound was met"
    return ConnectedCover(parts=parts, bound=low, why=why if low == high else f"{why}, until time was up")


def _least(weights: NDArray[np.int64], k: int, largest: int) -> int:
    """Return what each part weighs at least in a division without a part above `largest`.

    There are no more parts than nodes of weight k or more and groups of k records of the other nodes; what the others
    cannot hold is left for each one.
    """
    heavy = weights[weights >= k]
    total = int(weights.sum())
    most = len(heavy) + (total - int(heavy.sum())) // k
    return max(k, total - (most - 1) * largest)


def _around_heaviest(
    starts: NDArray[np.int64], neighbours: NDArray[np.int32], weights: NDArray[np.int64], least: int, known: int
) -> int:
    """Return the largest, over some heavy nodes, of the least weight of a connected part with that node.

    A part of a division that is better than the known one weighs at least `least`; `known` where there is none.
    """
    heaviest = np.argsort(-weights, kind="stable")[:_HEAVIEST]
    return max(int(lightest_set(starts, neighbours, weights, node, least, known, _STEPS_AROUND)) for node in heaviest)


def _renumbered(
    starts: NDArray[np.int64], neighbours: NDArray[np.int32], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return adjacency lists with node order[i] as node i."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    lists = [place[neighbours[starts[node] : starts[node + 1]]] for node in order]
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in lists]))).astype(np.int64)
    return offsets, np.concatenate([np.empty(0, dtype=np.int32), *lists])


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Sets:
    """Connected sets of nodes, each with its load."""

    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    loads: NDArray[np.int64]
    nodes: int

    @classmethod
    def of(
        cls, offsets: NDArray[np.int64], targets: NDArray[np.int32], weights: NDArray[np.int64], k: int, limit: int
    ) -> _Sets | None:
        """Return all connected sets with k <= load <= limit; None where there are too many."""
        starts, members, count, complete = connected_sets(offsets, targets, weights, k, limit, _MOST_SETS, _MOST_STEPS)
        if not complete:
            return None
        starts, members = starts[: count + 1], members[: starts[count]]
        sums = np.concatenate(([0], np.cumsum(weights[members])))
        return cls(starts=starts, members=members, loads=sums[starts[1:]] - sums[starts[:-1]], nodes=len(weights))

    def program(self, chosen: NDArray[np.int64]) -> Program:
        """Return the problem of choosing sets so that every node is in one of them."""
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
        """Return the part of each node where these sets are chosen."""
        parts = np.full(self.nodes, -1, dtype=np.int32)
        for number, place in enumerate(picked):
            parts[self.members[self.starts[place] : self.starts[place + 1]]] = number
        return parts
