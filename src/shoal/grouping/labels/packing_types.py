"""The approximation schemes of Theorems 10 and 11, for tiny instances: try every type of packing of the large items.

References
----------
W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker, "On the approximability of geometric and geographic generalization
and the min-max bin covering problem", WADS 2009. doi:10.1007/978-3-642-03367-4_22, arXiv:0904.3756.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal._messages import Subject
from shoal.errors import InternalError, ParameterError
from shoal.grouping.labels.bin_covering_kernel import greedy_completion
from shoal.grouping.labels.spread import fold

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
