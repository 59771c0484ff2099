"""The algorithms Fold (Theorem 7) and Spread (Theorem 9), and the simplified Spread of the paper's experiments.

References
----------
W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker, "On the approximability of geometric and geographic generalization
and the min-max bin covering problem", WADS 2009. doi:10.1007/978-3-642-03367-4_22, arXiv:0904.3756.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.grouping.labels.bin_covering_kernel import next_fit, spread_out


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
