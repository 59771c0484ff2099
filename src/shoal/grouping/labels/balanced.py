"""The solver behind `labels(method="best")`: as many bins as there can be, balanced, improved, proven where possible.

Beyond the paper. The number of bins starts at an upper bound. Items go, largest first, to the lightest bin (Graham's
rule); then exchanges of one or two items, and exact divisions of two bins (subset sums), bring the fullest and the
lightest bin nearer to the others, until the largest level meets a lower bound. Where it does not, the lower bound is
sharpened, small instances are searched to the end, and less bins are tried.

References
----------
R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969. doi:10.1137/0117039
R. E. Korf, "Multi-way number partitioning", IJCAI 2009.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.grouping.base import GroupingBound
from shoal.grouping.labels.bin_bounds import bound_with_bins, cover_bound, most_bins, sharpened
from shoal.grouping.labels.bin_covering_kernel import balance, longest_first, search
from shoal.grouping.labels.spread import fold, levels_of, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["best"]

_WORK = 300_000_000
"""Operations of exchanging items, in all: less than a second. They are counted, so that the clock changes nothing."""
_TABLE = 1 << 20
"""The largest bins that are divided exactly."""
_KICKS = 200
"""How often a packing that misses its goal is disturbed and improved again, at most."""
_SEARCHED_ITEMS = 80
"""The largest instance that is searched to the end."""
_NODES = 3_000_000
"""Steps of such a search, in all."""
_TRIES = 12
"""Numbers of bins that are tried one by one; then the steps grow."""


@dataclass(kw_only=True)
class Packing:
    """The best packing so far, and the best bound."""

    bin_of: NDArray[np.int64]
    """The bin of each item."""
    cost: int
    """The largest level."""
    bound: GroupingBound
    """What no packing goes below."""
    details: dict[str, Any] = field(default_factory=dict)
    """How it was found."""

    @property
    def done(self) -> bool:
        """Whether nothing can be better."""
        return self.cost <= self.bound.value

    def offer(self, sizes: NDArray[np.int64], bin_of: NDArray[np.int64], found_by: str) -> None:
        """Take a feasible packing if it is better."""
        cost = int(levels_of(sizes, bin_of).max())
        if cost < self.cost:
            self.bin_of, self.cost = bin_of.copy(), cost
            self.details = {"found_by": found_by}


def best(sizes: NDArray[np.int64], k: int, rng: np.random.Generator) -> Packing:
    """Return a packing whose fullest bin is as light as we can make it.

    Parameters
    ----------
    sizes : array of int64
        In decreasing order; their total is at least k.
    k : int
        The least level of a bin.
    rng : numpy.random.Generator
        For disturbances of packings that nothing simple improves any more.
    """
    everything = np.zeros(len(sizes), dtype=np.int64)
    packing = Packing(bin_of=everything, cost=int(sizes.sum()), bound=cover_bound(sizes, k))
    packing.details = {"found_by": "a single class"}
    packing.offer(sizes, fold(sizes, np.arange(len(sizes)), k), "fold")
    packing.offer(sizes, spread(sizes, k)[0], "spread")
    _balanced(sizes, k, rng, packing, kicks=0, work=_WORK // 3)
    if not packing.done:
        packing.bound = sharpened(sizes, k, packing.bound)
    if not packing.done and len(sizes) <= _SEARCHED_ITEMS:
        _searched(sizes, k, packing)
    if not packing.done:
        _balanced(sizes, k, rng, packing, kicks=_KICKS, work=_WORK)
    return packing


def _balanced(
    sizes: NDArray[np.int64], k: int, rng: np.random.Generator, packing: Packing, *, kicks: int, work: int
) -> None:
    """Try numbers of bins from the largest down, as long as a packing with so many bins may be better."""
    bins = most_bins(sizes, k)
    tries = 0
    while bins >= 1 and not packing.done and work > 0:
        goal = max(packing.bound.value, bound_with_bins(sizes, bins).value)
        if goal >= packing.cost:
            break
        bin_of = np.empty(len(sizes), dtype=np.int64)
        levels = np.zeros(bins, dtype=np.int64)
        longest_first(sizes, levels, bin_of)
        # No number of bins takes what the others need.
        share = work // 4 + 1
        counted = np.array([share])
        state = int(rng.integers(1 << 31)) if kicks else 0
        balance(sizes, bin_of, levels, k, goal, kicks, state, _TABLE, counted)
        work -= share - int(counted[0])
        if int(levels.min()) >= k:
            packing.offer(sizes, bin_of, f"balancing {bins} classes")
        tries += 1
        bins -= 1 if tries < _TRIES else max(1, bins // 20)


def _searched(sizes: NDArray[np.int64], k: int, packing: Packing) -> None:
    """Search for better packings until there is none, or the search takes too long."""
    bin_of = np.empty(len(sizes), dtype=np.int64)
    while not packing.done:
        outcome = int(search(sizes, k, packing.cost - 1, _NODES, bin_of))
        if outcome == 1:
            packing.offer(sizes, bin_of, "search")
        else:
            if outcome == 0:
                packing.bound = GroupingBound(
                    value=packing.cost, why="all packings with less were searched: none exists"
                )
            return
