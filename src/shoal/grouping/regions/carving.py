"""Connected parts of nearly equal weight: divisions in which the largest part is as small as their number allows.

Recombination comes within a percent of the smallest largest part where few heavy parts are asked for; the last percent
is a matter of sums of weights, which are looked for here part by part (see `carving_kernel`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.grouping.regions.carving_kernel import Places, carve_parts
from shoal.grouping.regions.region_bounds import most_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["carve"]

_WORK_PER_SECOND = 3_000_000
"""Nodes of random trees for each second of the time limit: half of what a quiet machine of 2024 draws, so that seconds
decide nothing on one that is not much slower."""
_QUICK, _SLICE = 2_000_000, 2_000_000
"""The same, for each target of the first round, and between two looks at the clock later on."""
_FEW_TRIES, _MANY_TRIES = 200, 10_000
"""Random trees for each part before a division is begun anew: where any progress will do, and for the least target."""
_CLOSER = 2
"""A target is so many times nearer to what cannot be undercut than the best division is."""


def carve(
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    weights: NDArray[np.int64],
    *,
    k: int,
    known: int,
    bound: int,
    time_limit: float,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> NDArray[np.int32] | None:
    """Look for a division of a connected graph whose largest part is smaller than a known one.

    Parameters
    ----------
    starts, neighbours : arrays
        Adjacency lists: `neighbours[starts[v]:starts[v + 1]]`.
    weights : array of int64
        Of the nodes.
    k : int
        What each part weighs at least.
    known : int
        The largest part of the best division that is known.
    bound : int
        No division has a largest part below this; the search ends where it is met.
    time_limit : float
        Seconds. They decide how much work is done; the clock only ends the search on a machine that is much slower.
    rng : numpy.random.Generator
    progress : callable
        Called with ("carving", work done, work at most).

    Returns
    -------
    parts : array of int32 or None
        The part of each node; None where nothing better was found.
    """
    places = Places.of(starts, neighbours, weights)
    search = _Search(places, k=k, known=known, time_limit=time_limit, rng=rng, progress=progress)
    total = int(weights.sum())
    # With more parts than this, none of them could weigh as much as the bound.
    counts = range(min(most_parts(weights, k), (total - bound) // k + 1), 1, -1)
    least = {count: max(bound, -(-total // count)) for count in counts if -(-total // count) < known}
    for count, target in least.items():
        while target < search.largest and search.run(count, search.closer(target), _FEW_TRIES, _QUICK):
            pass
    turn = 0
    while not search.ended and (open_ones := [count for count in least if least[count] < search.largest]):
        for count in open_ones:
            if least[count] >= search.largest:
                continue
            if turn % 2 == 0:
                search.run(count, least[count], _MANY_TRIES, _SLICE)
            else:
                aim = search.closer(least[count]) if turn % 4 == 1 else search.largest - 1
                search.run(count, aim, _FEW_TRIES, _SLICE)
        turn += 1
    return search.best


class _Search:
    """The best division so far, and the work that is left."""

    def __init__(
        self,
        places: Places,
        *,
        k: int,
        known: int,
        time_limit: float,
        rng: np.random.Generator,
        progress: Progress,
    ) -> None:
        self._places, self._k, self._progress = places, k, progress
        self._parts = np.empty(len(places.graph.weights), dtype=np.int32)
        self._random = rng.integers(1, 1 << 63, size=1, dtype=np.uint64)
        self._work = self._left = int(_WORK_PER_SECOND * time_limit)
        self._end = time.perf_counter() + time_limit
        self.best: NDArray[np.int32] | None = None
        self.largest = known

    @property
    def ended(self) -> bool:
        """Whether no work is left."""
        return self._left <= 0 or time.perf_counter() > self._end

    def closer(self, least: int) -> int:
        """Return a target between what cannot be undercut and the largest part so far."""
        return least + (self.largest - 1 - least) // _CLOSER

    def run(self, count: int, target: int, tries: int, most: int) -> bool:
        """Look for so many parts none of which is heavier than the target; return whether they were found."""
        self._progress("carving", self._work - self._left, self._work)
        if self.ended:
            return False
        given = min(most, self._left)
        work = np.array([given], dtype=np.int64)
        found = bool(carve_parts(self._places, self._parts, count, self._k, target, tries, work, self._random))
        self._left -= given - int(work[0])
        if found:
            self.best = self._parts.copy()
            self.largest = int(np.bincount(self.best, weights=self._places.graph.weights).max())
        return found
