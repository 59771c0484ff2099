"""Packings of items into bins of at least k: the algorithms of the paper, and `best`, with lower bounds.

Items are in decreasing order.

`fold` (Theorem 7), `spread` (Theorem 9), `spread_simplified` (of the experiments) and `scheme` (Theorems 10 and 11) are
those of the paper. `best` goes beyond it. The number of bins starts at an upper bound. Items go, largest first, to the
lightest bin (Graham's rule). Then exchanges of one or two items, and exact divisions of two bins (subset sums), bring
the fullest and the lightest bin closer to the others, until the largest level meets a lower bound. If it does not, the
lower bound is sharpened, small instances are searched exhaustively, and fewer bins are tried.

References
----------
W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker, "On the approximability of geometric and geographic generalization
and the min-max bin covering problem", WADS 2009. doi:10.1007/978-3-642-03367-4_22, arXiv:0904.3756.
R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969. doi:10.1137/0117039
R. E. Korf, "Multi-way number partitioning", IJCAI 2009.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal._messages import Subject
from shoal.errors import InternalError, ParameterError
from shoal.grouping.base import GroupingBound
from shoal.grouping.labels.bin_covering_kernel import (
    balance,
    first_sum,
    greedy_completion,
    longest_first,
    next_fit,
    pairs_that_cover,
    search,
    spread_out,
)


def levels_of(sizes: NDArray[np.int64], bin_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute the level of each bin."""
    levels = np.zeros(int(bin_of.max()) + 1, dtype=np.int64)
    np.add.at(levels, bin_of, sizes)
    return levels


def fold(sizes: NDArray[np.int64], order: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Run Fold: items of size k or more are alone, the others follow Next Fit, and a last bin below k is merged.

    The last bin is merged into the lightest bin; the paper leaves this choice open.
    """
    bin_of = np.empty(len(sizes), dtype=np.int64)
    bins, level = next_fit(sizes, order, k, bin_of)
    if level > 0:
        levels = levels_of(sizes, bin_of)
        bin_of[bin_of == bins - 1] = np.argmin(levels[:-1])
    return bin_of


def spread_simplified(sizes: NDArray[np.int64], order: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Run the algorithm of Section 5: Fold, but the items of a last bin below k are spread over all bins.

    In the same order, they go to the lightest bin as long as its level stays within the current maximum, and then to
    one bin after the other.
    """
    bin_of = np.empty(len(sizes), dtype=np.int64)
    bins, level = next_fit(sizes, order, k, bin_of)
    if level > 0:
        levels = levels_of(sizes, bin_of)[:-1]
        spread_out(sizes, order[bin_of[order] == bins - 1], levels, bin_of)
    return bin_of


def spread(sizes: NDArray[np.int64], k: int) -> tuple[NDArray[np.int64], str]:
    """Run Spread, whose fullest bin is at most 5/2 times as full as the optimum.

    Parameters
    ----------
    sizes : array of int64
        Sizes of the items in decreasing order; their total is at least k.
    k : int
        Smallest level of a bin.

    Returns
    -------
    bin_of : int64 array
        Bin of each item.
    case : str
        Case of the proof that applied.
    """
    order = np.arange(len(sizes))
    bin_of = np.empty(len(sizes), dtype=np.int64)
    bins, level = next_fit(sizes, order, k, bin_of)
    if level == 0:
        return bin_of, "every bin is full: less than 2 k, or a single item"
    # The last bin is too light: distinguish the cases of the proof by its largest item.
    last = np.flatnonzero(bin_of == bins - 1)
    levels = levels_of(sizes, bin_of)[:-1]
    oversize = np.flatnonzero(sizes >= k)
    large = np.flatnonzero((2 * sizes > k) & (sizes < k))
    largest_last = last[0]
    if 2 * int(sizes[largest_last]) <= k:
        case = _spread_small(sizes, k, bin_of, levels, last)
    elif bin_of[large[0]] == bins - 1:
        # Case 2, the first large item is in the last bin, so there is an oversize one before it (the total is >= k).
        bin_of[last] = bin_of[oversize[-1]]
        case = "2, with the first large item last: into the bin of an oversize item"
    elif int(sizes[large[0]]) + int(level) - int(sizes[largest_last]) >= k:
        bin_of[largest_last], bin_of[large[0]] = bin_of[large[0]], bins - 1
        case = "2.1: the first large item changes places with the last one"
    else:
        return fold(sizes, order, k), "2.2: as Fold, for the optimum is at least 6/5 k"
    # The proof uses Fold if the optimum is above 6/5 k. The optimum is unknown, so the better packing is taken.
    folded = fold(sizes, order, k)
    if levels_of(sizes, folded).max() < levels_of(sizes, bin_of).max():
        return folded, f"Fold was better than case {case}"
    return bin_of, f"case {case}"


def _spread_small(
    sizes: NDArray[np.int64], k: int, bin_of: NDArray[np.int64], levels: NDArray[np.int64], last: NDArray[np.int64]
) -> str:
    """Case 1: distribute a last bin of small items over others (in place)."""
    if len(levels) >= 3:
        # Any three bins are valid; the lightest bins give the better result.
        for part, into in zip(small_parts(sizes, last, k), np.argsort(levels, kind="stable")[:3], strict=True):
            bin_of[part] = into
        return "1: three parts of at most k/2 (Lemma 8)"
    # The paper omits the case of few bins. If there is one full bin, no packing has more than two bins, so a single bin
    # is at most twice the optimum. If there are two full bins, either an item of 2 k or more determines the largest
    # level up to an item of k/2; or the total W is below 5 k, the result is below (W + k/2) / 2 or 2 k, and the optimum
    # is at least W / floor(W / k).
    for i in last:
        into = int(np.argmin(levels))
        levels[into] += sizes[i]
        bin_of[i] = into
    return f"1, with {len(levels)} full bin(s): item after item into the lightest"


def small_parts(
    sizes: NDArray[np.int64], items: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Divide items of at most k/2 each, and k in total, into three parts of at most k/2 (Lemma 8).

    The first part ends before k/2 would be exceeded. The item that would exceed it is the second part, and the other
    items, which are less than k/2, are the third.

    Examples
    --------
    >>> [part.tolist() for part in small_parts(np.array([4, 3, 2, 1]), np.arange(4), 10)]
    [[0], [1], [2, 3]]
    """
    sums = np.cumsum(sizes[items])
    first = int(np.searchsorted(2 * sums, k, side="right"))
    return items[:first], items[first : first + 1], items[first + 1 :]


_MAX_TABLE = 1 << 26
"""Largest number of operations for a table of subset sums."""


def most_bins(sizes: NDArray[np.int64], k: int) -> int:
    """Compute an upper bound on the number of bins of a packing.

    The bound is the smallest of three: the part of an item beyond k helps no other bin; a bin without an item of size k
    needs two items; and a bin without a pair that reaches k needs three items.

    Parameters
    ----------
    sizes : array of int64
        Sizes of the items in decreasing order.
    k : int
        Smallest level of a bin.

    Examples
    --------
    >>> most_bins(np.array([9, 6, 6, 6, 6, 6]), 9)
    3
    """
    by_level = int(np.minimum(sizes, k).sum()) // k
    alone = int(np.count_nonzero(sizes >= k))
    rest = sizes[alone:]
    pairs = int(pairs_that_cover(rest, k))
    return max(1, min(by_level, alone + pairs + (len(rest) - 2 * pairs) // 3))


def bound_with_bins(sizes: NDArray[np.int64], bins: int) -> GroupingBound:
    """Compute a lower bound on the fullest bin of any packing into at most `bins` bins.

    The bound is the average level, or follows from the pigeonhole principle: some bin holds j + 1 of the j * bins + 1
    largest items.

    Parameters
    ----------
    sizes : array of int64
        Sizes of the items in decreasing order.
    bins : int
        Largest number of bins.
    """
    total = int(sizes.sum())
    best = GroupingBound(value=-(-total // bins), why=f"there cannot be more than {bins} classes")
    sums = np.concatenate([[0], np.cumsum(sizes)])
    # At least the smallest j + 1 of the j * bins + 1 largest items are together.
    j = np.arange(1, (len(sizes) - 1) // bins + 1)
    ends = j * bins + 1
    if len(j):
        crowded = sums[ends] - sums[ends - j - 1]
        at = int(np.argmax(crowded))
        if int(crowded[at]) > best.value:
            why = f"with {bins} classes, one holds {at + 2} of the {int(ends[at])} most frequent values"
            best = GroupingBound(value=int(crowded[at]), why=why)
    return best


def cover_bound(sizes: NDArray[np.int64], k: int) -> GroupingBound:
    """Compute the best lower bound that takes no longer than sorting.

    Parameters
    ----------
    sizes : array of int64
        Sizes of the items in decreasing order; their total is at least k.
    k : int
        Smallest level of a bin.
    """
    simple = [
        GroupingBound(value=k, why="every class has at least k records"),
        GroupingBound(value=int(sizes[0]), why="the most frequent value cannot be divided"),
        bound_with_bins(sizes, most_bins(sizes, k)),
    ]
    return max(simple, key=lambda bound: bound.value)


def sharpen_bound(sizes: NDArray[np.int64], k: int, bound: GroupingBound) -> GroupingBound:
    """Sharpen a bound by the possible sums of items, if the tables are not too large.

    No bin has a level between k and the smallest sum of items that is at least k, so this sum can replace k. Likewise,
    the largest level must be a sum of items.
    """
    for _ in range(8):
        if (bound.value + int(sizes[0])) * len(sizes) > _MAX_TABLE:
            return bound
        # A greedy bin ends below k plus the largest item, so this range contains a sum.
        least = int(first_sum(sizes, k, k + int(sizes[0])))
        better = max(bound, cover_bound(sizes, least), key=lambda one: one.value) if least > k else bound
        reached = int(first_sum(sizes, better.value, better.value + int(sizes[0])))
        if reached > better.value:
            better = GroupingBound(
                value=reached, why=f"{better.why}, and no values have {better.value} records together"
            )
        if better.value == bound.value:
            return bound
        bound, k = better, max(k, least)
    return bound


_MAX_WORK = 300_000_000
"""Number of operations of all exchanges: less than a second. A count makes the result independent of the clock."""
_MAX_BALANCING_TABLE = 1 << 20
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
        balance(sizes, bin_of, levels, k, goal, kicks, state, _MAX_BALANCING_TABLE, counted)
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


MAX_TYPES = 100_000
"""Largest number of packing types to try; larger instances are refused."""


def scheme(sizes: NDArray[np.int64], k: int, eps: Fraction, *, relaxed: bool) -> tuple[NDArray[np.int64], int]:
    """Try all types of packings, and complete each greedily.

    Parameters
    ----------
    sizes : array of int64
        Sizes of the items in decreasing order; their total is at least k.
    k : int
        Smallest level of a bin.
    eps : Fraction
        Precision.
    relaxed : bool
        If True, bins may be as light as (1 - eps) k (Theorem 11).

    Returns
    -------
    bin_of : int64 array
        Bin of each item in the best packing.
    tried : int
        Number of types tried.

    Raises
    ------
    ParameterError
        If there may be too many types.
    """
    easy = _optimum_of_giants(sizes, k)
    if easy is not None:
        return easy, 0
    reduced = _reduce_instance(sizes, k)
    # Theorem 11 is only sketched in the paper; with half the precision inside, both of its bounds hold.
    inner = eps / 2 if relaxed else eps
    least = -int(-(1 - eps) * k // 1) if relaxed else k
    large = int(np.count_nonzero([Fraction(int(size), k) >= inner for size in reduced]))
    rounded = [_round_down(Fraction(int(size), k), inner) for size in reduced[:large]]
    most = max(1, int(reduced.sum()) // k)
    expected = estimated_types(rounded, most)
    if expected > MAX_TYPES:
        raise ParameterError(
            Subject("labels", "method"),
            f" asks for a scheme that would try up to {expected:.3g} packings, above the limit of "
            f"{MAX_TYPES}: it is made for a dozen labels. Take a larger eps, or method='best'.",
        )
    # Complete each type with the small items, and keep the best packing.
    small = np.arange(large, len(sizes))
    best: tuple[int, NDArray[np.int64]] | None = None
    tried = 0
    for bins_of_large, bins in packing_types(rounded, most):
        tried += 1
        bin_of = np.empty(len(sizes), dtype=np.int64)
        bin_of[:large] = bins_of_large
        levels = np.zeros(bins, dtype=np.int64)
        np.add.at(levels, bin_of[:large], sizes[:large])
        _, largest, smallest = greedy_completion(sizes, small, levels, k, bin_of, not relaxed)
        if smallest >= least and (best is None or largest < best[0]):
            best = int(largest), bin_of
    if best is None:
        raise InternalError("no type of packing is feasible")
    return best[1], tried


def _optimum_of_giants(sizes: NDArray[np.int64], k: int) -> NDArray[np.int64] | None:
    """Find an optimal packing if the largest item alone determines the largest level; None otherwise."""
    oversize = int(np.count_nonzero(sizes >= k))
    if oversize == 0:
        return None
    largest, smallest_oversize = int(sizes[0]), int(sizes[oversize - 1])
    if int(sizes[oversize:].sum()) >= k:
        return fold(sizes, np.arange(len(sizes)), k) if largest >= 3 * k else None
    # Every bin has an oversize item: all others go with the smallest one.
    return np.minimum(np.arange(len(sizes)), oversize - 1) if largest - smallest_oversize >= k else None


def _reduce_instance(sizes: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Reduce an instance to one with the same types and an optimum of at most 3 k.

    If the items below k have less than k together, an optimal packing has one oversize item in each bin, and all
    oversize items can be reduced by the same amount.
    """
    oversize = int(np.count_nonzero(sizes >= k))
    reduced = sizes.copy()
    if oversize and int(sizes[oversize:].sum()) < k:
        reduced[:oversize] -= int(sizes[oversize - 1]) - k
    return reduced


def _round_down(size: Fraction, eps: Fraction) -> Fraction:
    """Round a size of at least eps down to a number eps * (1 + eps)**i."""
    step = eps
    while step * (1 + eps) <= size:
        step *= 1 + eps
    return step


def estimated_types(rounded: Sequence[Fraction], most: int) -> int:
    """Compute an upper bound on the number of types: partitions of the items into bins, and numbers of empty bins.

    Examples
    --------
    >>> estimated_types([Fraction(1), Fraction(1), Fraction(2)], 3)
    10
    """
    items = len(rounded)
    # Stirling numbers of the second kind: partitions of the items into exactly j parts.
    ways = [1] + [0] * items
    for done in range(items):
        ways = [0] + [ways[j - 1] + j * ways[j] for j in range(1, done + 2)] + [0] * (items - done - 1)
    return sum(count * (most - max(parts, 1) + 1) for parts, count in enumerate(ways) if parts <= most)


def packing_types(rounded: Sequence[Fraction], most: int) -> Iterator[tuple[list[int], int]]:
    """Yield every type: a bin for each large item, and the number of bins, including empty bins.

    Items with the same rounded size are interchangeable, and bins with the same contents as well, so equal divisions
    are yielded once. No level exceeds 3.
    """
    seen: set[tuple[tuple[Fraction, ...], ...]] = set()
    for bin_of in _divisions(list(rounded), [], [], most):
        used = max(bin_of, default=-1) + 1
        bins: list[list[Fraction]] = [[] for _ in range(used)]
        for item, at in enumerate(bin_of):
            bins[at].append(rounded[item])
        kind = tuple(sorted(tuple(one) for one in bins))
        if kind in seen:
            continue
        seen.add(kind)
        for count in range(max(used, 1), most + 1):
            yield bin_of, count


def _divisions(rounded: list[Fraction], bin_of: list[int], levels: list[Fraction], most: int) -> Iterator[list[int]]:
    """Yield all divisions of the items into at most `most` bins with levels of at most 3, by backtracking."""
    item = len(bin_of)
    if item == len(rounded):
        yield list(bin_of)
        return
    # Put the item into each bin with room, or open another bin.
    for at in range(len(levels) + 1):
        level = levels[at] if at < len(levels) else Fraction(0)
        if at == most or level + rounded[item] > 3:
            continue
        bin_of.append(at)
        if at < len(levels):
            levels[at] += rounded[item]
            yield from _divisions(rounded, bin_of, levels, most)
            levels[at] = level
        else:
            levels.append(rounded[item])
            yield from _divisions(rounded, bin_of, levels, most)
            levels.pop()
        bin_of.pop()
