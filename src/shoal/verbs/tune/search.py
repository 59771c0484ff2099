"""The search through the lattice of settings, one step of a ladder for each column."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence

__all__ = ["Node", "lattice_search"]

Node = tuple[int, ...]
"""How far up each ladder a setting is; 0 leaves a column untouched."""


_MISSES = 2
"""Rungs in a row that bring nothing, after which the search leaves a ladder."""


def lattice_search(heights: Sequence[int], loss_of: Callable[[Node], float], *, patience: int) -> bool:
    """Look for the setting with the lowest loss, and return whether every setting was tried.

    First the untouched node, and from it along each ladder alone, until two rungs in a row bring nothing. From the best
    of these, coordinate descent: along one ladder after the other, the most promising one first, up and down from where
    it stands, until none improves. Then best-first: the neighbours (one rung up or down) of the best setting whose
    neighbours were not all tried, and so on, until `patience` settings in a row were no better than the best one.

    What is tried in which order depends on the losses alone. Nothing is known of how they behave: coarser may be
    better or worse.

    Parameters
    ----------
    heights : sequence of int
        The rungs of each ladder.
    loss_of : callable
        The loss of a setting, infinite where it cannot be published. Called once for each. An exception ends it all.
    patience : int
        How many settings in a row may bring nothing after the descent.
    """
    losses: dict[Node, float] = {}

    def tried(node: Node) -> float:
        if node not in losses:
            losses[node] = loss_of(node)
        return losses[node]

    start = (0,) * len(heights)
    tried(start)
    ladders = [at for at, height in enumerate(heights) if height]
    singles = {at: tried(_best_on_line(start, at, heights[at], tried)) for at in ladders}
    _descend(
        min(losses, key=lambda node: (losses[node], node)), sorted(ladders, key=singles.__getitem__), heights, tried
    )
    best, idle = min(losses.values()), 0
    waiting = [(loss, node) for node, loss in losses.items()]
    heapq.heapify(waiting)
    while waiting:
        _, node = heapq.heappop(waiting)
        for neighbour in _neighbours(node, heights):
            if neighbour in losses:
                continue
            if idle >= patience:
                return False
            loss = tried(neighbour)
            heapq.heappush(waiting, (loss, neighbour))
            best, idle = (loss, 0) if loss < best else (best, idle + 1)
    return len(losses) == math.prod(height + 1 for height in heights)


def _descend(node: Node, order: Sequence[int], heights: Sequence[int], tried: Callable[[Node], float]) -> None:
    """Move along one ladder after the other to its best rung, until none improves."""
    improved = True
    while improved:
        improved = False
        for at in order:
            best = _best_on_line(node, at, heights[at], tried)
            if tried(best) < tried(node):
                node, improved = best, True


def _best_on_line(node: Node, at: int, height: int, tried: Callable[[Node], float]) -> Node:
    """Return the best setting up and down one ladder, as far as it gets better; the given one where none is better."""
    best = node
    for rungs in (range(node[at] + 1, height + 1), range(node[at] - 1, -1, -1)):
        misses = 0
        for rung in rungs:
            other = _with(node, at, rung)
            better = tried(other) < tried(best)
            best, misses = (other, 0) if better else (best, misses + 1)
            if misses == _MISSES:
                break
    return best


def _with(node: Node, at: int, rung: int) -> Node:
    return (*node[:at], rung, *node[at + 1 :])


def _neighbours(node: Node, heights: Sequence[int]) -> Iterator[Node]:
    for at, height in enumerate(heights):
        for rung in (node[at] - 1, node[at] + 1):
            if 0 <= rung <= height:
                yield _with(node, at, rung)
