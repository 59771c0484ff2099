"""Carving: divisions into connected parts of nearly equal weight, whose largest part is close to the average.

If there are few heavy parts, recombination comes within one percent of the optimum. The last percent depends on sums of
weights, which carving searches part by part (see `carving_kernel`).
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
"""Nodes of random trees per second of the time limit: half of the rate of an idle machine of 2024, so that the clock
does not affect results unless a machine is much slower."""
_FIRST_WORK, _WORK_PER_TURN = 2_000_000, 2_000_000
"""Nodes of random trees for each target: in the first round, and in later rounds between two checks of the clock."""
_FEW_TRIES, _MANY_TRIES = 200, 10_000
"""Random trees per part before a division is started again: for intermediate targets, and for the smallest target."""
_CLOSER = 2
"""Factor by which a target is closer to the lower bound than the best division."""


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
    """Search for a division of a connected graph whose largest part is smaller than that of a known division.

    Parameters
    ----------
    starts, neighbours : arrays
        Adjacency lists: `neighbours[starts[v]:starts[v + 1]]`.
    weights : array of int64
        Weights of the nodes.
    k : int
        Smallest weight of a part.
    known : int
        Largest part of the best known division.
    bound : int
        Lower bound on the largest part; the search ends if it is attained.
    time_limit : float
        Time limit in seconds. It determines the amount of work; the clock ends the search only on much slower machines.
    rng : numpy.random.Generator
        Source of random trees.
    progress : callable
        Called with ("carving", work done, largest amount of work).

    Returns
    -------
    parts : array of int32 or None
        Part of each node; None if no better division was found.
    """
    places = Places.of(starts, neighbours, weights)
    search = _Search(places, k=k, known=known, time_limit=time_limit, rng=rng, progress=progress)
    total = int(weights.sum())
    # With more parts, no part could weigh as much as the bound. Each number of parts has its own smallest target.
    counts = range(min(most_parts(weights, k), (total - bound) // k + 1), 1, -1)
    least = {count: max(bound, -(-total // count)) for count in counts if -(-total // count) < known}
    # First approach the target of each number of parts in steps.
    for count, target in least.items():
        while target < search.largest and search.run(count, search.closer(target), _FEW_TRIES, _FIRST_WORK):
            pass
    # Then alternate between the smallest target and targets that are easier to attain.
    turn = 0
    while not search.ended and (open_ones := [count for count in least if least[count] < search.largest]):
        for count in open_ones:
            if least[count] >= search.largest:
                continue
            if turn % 2 == 0:
                search.run(count, least[count], _MANY_TRIES, _WORK_PER_TURN)
            else:
                aim = search.closer(least[count]) if turn % 4 == 1 else search.largest - 1
                search.run(count, aim, _FEW_TRIES, _WORK_PER_TURN)
        turn += 1
    return search.best


class _Search:
    """State of the search: the best division so far, and the remaining work."""

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
        # The work is limited by count, so that results do not depend on the speed of the machine unless time runs out.
        self._work = self._left = int(_WORK_PER_SECOND * time_limit)
        self._end = time.perf_counter() + time_limit
        self.best: NDArray[np.int32] | None = None
        self.largest = known

    @property
    def ended(self) -> bool:
        """True if the work or the time is used up."""
        return self._left <= 0 or time.perf_counter() > self._end

    def closer(self, least: int) -> int:
        """Compute a target between a lower bound and the largest part so far."""
        return least + (self.largest - 1 - least) // _CLOSER

    def run(self, count: int, target: int, tries: int, most: int) -> bool:
        """Search for `count` parts of at most the target weight; return True if they were found."""
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
