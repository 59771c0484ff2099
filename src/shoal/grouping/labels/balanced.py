"""The solver behind `labels(method="best")`: balance as many bins as possible, and prove optimality if possible.

This goes beyond the paper. The number of bins starts at an upper bound. Items go, largest first, to the lightest bin
(Graham's rule). Then exchanges of one or two items, and exact divisions of two bins (subset sums), bring the fullest
and the lightest bin closer to the others, until the largest level meets a lower bound. If it does not, the lower bound
is sharpened, small instances are searched exhaustively, and fewer bins are tried.

References
----------
R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969. doi:10.1137/0117039
R. E. Korf, "Multi-way number partitioning", IJCAI 2009.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.base import GroupingBound
from shoal.grouping.labels.bin_bounds import bound_with_bins, cover_bound, most_bins, sharpen_bound
from shoal.grouping.labels.bin_covering_kernel import balance, longest_first, search
from shoal.grouping.labels.spread import fold, levels_of, spread

_MAX_WORK = 300_000_000
"""Number of operations of all exchanges: less than a second. A count makes the result independent of the clock."""
_MAX_TABLE = 1 << 20
"""Largest level of two bins that are divided exactly."""
_MAX_KICKS = 200
"""Largest number of random disturbances of a packing that misses its goal; each is followed by improvement."""
_MAX_ITEMS_TO_SEARCH = 80
"""Largest number of items for which packings are searched exhaustively."""
_MAX_NODES = 3_000_000
"""Largest number of nodes of the exhaustive search."""
_FIRST_TRIES = 12
"""Number of tries that reduce the number of bins by one each; later steps are larger."""


@dataclass(kw_only=True)
class Packing:
    """The best packing and the best lower bound so far."""

    bin_of: NDArray[np.int64]
    """Bin of each item."""
    cost: int
    """Largest level of a bin."""
    bound: GroupingBound
    """Lower bound on the largest level of any packing."""
    details: dict[str, Any] = field(default_factory=dict)
    """The method that found the packing."""

    @property
    def done(self) -> bool:
        """True if the packing is proven optimal."""
        return self.cost <= self.bound.value

    def offer(self, sizes: NDArray[np.int64], bin_of: NDArray[np.int64], found_by: str) -> None:
        """Keep a feasible packing if it is better."""
        cost = int(levels_of(sizes, bin_of).max())
        if cost < self.cost:
            self.bin_of, self.cost = bin_of.copy(), cost
            self.details = {"found_by": found_by}


def best(sizes: NDArray[np.int64], k: int, rng: np.random.Generator) -> Packing:
    """Find a packing whose fullest bin is as light as possible.

    Parameters
    ----------
    sizes : array of int64
        Sizes of the items in decreasing order; their total is at least k.
    k : int
        Smallest level of a bin.
    rng : numpy.random.Generator
        Source of random disturbances.
    """
    # Simple packings first.
    everything = np.zeros(len(sizes), dtype=np.int64)
    packing = Packing(bin_of=everything, cost=int(sizes.sum()), bound=cover_bound(sizes, k))
    packing.details = {"found_by": "a single class"}
    packing.offer(sizes, fold(sizes, np.arange(len(sizes)), k), "fold")
    packing.offer(sizes, spread(sizes, k)[0], "spread")
    _try_numbers_of_bins(sizes, k, rng, packing, kicks=0, work=_MAX_WORK // 3)
    # Sharpen the bound, search small instances exhaustively, then continue with disturbances.
    if not packing.done:
        packing.bound = sharpen_bound(sizes, k, packing.bound)
    if not packing.done and len(sizes) <= _MAX_ITEMS_TO_SEARCH:
        _search_exhaustively(sizes, k, packing)
    if not packing.done:
        _try_numbers_of_bins(sizes, k, rng, packing, kicks=_MAX_KICKS, work=_MAX_WORK)
    return packing


def _try_numbers_of_bins(
    sizes: NDArray[np.int64], k: int, rng: np.random.Generator, packing: Packing, *, kicks: int, work: int
) -> None:
    """Balance packings with fewer and fewer bins, as long as they may be better than the best packing."""
    bins = most_bins(sizes, k)
    tries = 0
    while bins >= 1 and not packing.done and work > 0:
        goal = max(packing.bound.value, bound_with_bins(sizes, bins).value)
        if goal >= packing.cost:
            break
        bin_of = np.empty(len(sizes), dtype=np.int64)
        levels = np.zeros(bins, dtype=np.int64)
        longest_first(sizes, levels, bin_of)
        # Each number of bins gets a quarter of the remaining work at most.
        share = work // 4 + 1
        counted = np.array([share])
        state = int(rng.integers(1 << 31)) if kicks else 0
        balance(sizes, bin_of, levels, k, goal, kicks, state, _MAX_TABLE, counted)
        work -= share - int(counted[0])
        if int(levels.min()) >= k:
            packing.offer(sizes, bin_of, f"balancing {bins} classes")
        tries += 1
        bins -= 1 if tries < _FIRST_TRIES else max(1, bins // 20)


def _search_exhaustively(sizes: NDArray[np.int64], k: int, packing: Packing) -> None:
    """Search for better packings exhaustively, until there is none or the search takes too long."""
    bin_of = np.empty(len(sizes), dtype=np.int64)
    while not packing.done:
        outcome = int(search(sizes, k, packing.cost - 1, _MAX_NODES, bin_of))
        if outcome == 1:
            packing.offer(sizes, bin_of, "search")
        else:
            if outcome == 0:
                packing.bound = GroupingBound(
                    value=packing.cost, why="all packings with less were searched: none exists"
                )
            return
