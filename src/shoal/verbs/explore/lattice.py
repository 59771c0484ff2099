"""Search in the lattice of settings, with one rung of a ladder per column."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence

Node = tuple[int, ...]
"""The rung of each ladder in a setting; 0 leaves a column untouched."""


_MISSES = 2
"""Consecutive rungs without improvement after which the search leaves a ladder."""


def lattice_search(heights: Sequence[int], loss_of: Callable[[Node], float], *, patience: int) -> bool:
    """Search for the setting with the lowest loss, and return True if all settings were tried.

    The search starts with the untouched node, then climbs each ladder alone until two consecutive rungs bring no
    improvement. From the best setting so far it continues with coordinate descent, one ladder after the other in the
    order of their best losses, up and down from the current rung, until none improves. Then it continues best-first
    with the neighbours (one rung up or down) of the best unexpanded setting, until `patience` consecutive settings
    bring no improvement.

    The order depends only on the losses. The loss need not be monotone: a coarser setting may be better or worse.

    Parameters
    ----------
    heights : sequence of int
        The number of rungs of each ladder.
    loss_of : callable
        The loss of a setting, infinite if it cannot be published. It is called once per setting. An exception ends the
        search.
    patience : int
        Consecutive settings without improvement allowed after the descent.
    """
    losses: dict[Node, float] = {}

    def tried(node: Node) -> float:
        if node not in losses:
            losses[node] = loss_of(node)
        return losses[node]

    # Climb each ladder alone from the untouched setting.
    start = (0,) * len(heights)
    tried(start)
    ladders = [at for at, height in enumerate(heights) if height]
    singles = {at: tried(_best_on_line(start, at, heights[at], tried)) for at in ladders}
    # Coordinate descent from the best setting of these.
    _descend(
        min(losses, key=lambda node: (losses[node], node)), sorted(ladders, key=singles.__getitem__), heights, tried
    )
    # Best-first search from all settings tried so far.
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
    """Move along one ladder after the other to its best rung, until no ladder improves."""
    improved = True
    while improved:
        improved = False
        for at in order:
            best = _best_on_line(node, at, heights[at], tried)
            if tried(best) < tried(node):
                node, improved = best, True


def _best_on_line(node: Node, at: int, height: int, tried: Callable[[Node], float]) -> Node:
    """Return the best setting up and down one ladder, or the given one if no other is better."""
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
