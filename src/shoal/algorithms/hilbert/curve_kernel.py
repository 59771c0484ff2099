# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The Hilbert curve through a cube of any number of dimensions.

References
----------
.. [1] J. Skilling: Programming the Hilbert curve. AIP Conference Proceedings 707, pages 381-387, 2004.
   https://doi.org/10.1063/1.1751381
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import linear_kernel

__all__ = ["WORD_BITS", "hilbert_words"]

WORD_BITS = 60
"""Bits of a key in one word: words stay non-negative, and the grouping kernels can sort them."""


@linear_kernel
def hilbert_words(points: NDArray[np.int32], bits: int) -> NDArray[np.int64]:
    """Compute the place of each point on the Hilbert curve, as a number of `bits * d` bits split into words.

    Parameters
    ----------
    points : int32[n, d]
        Coordinates, 0 <= coordinate < 2**bits; d >= 1. Not changed.
    bits : int
        Bits of each coordinate, 1 <= bits <= 31.

    Returns
    -------
    int64[w, n]
        The most significant word first, `WORD_BITS` bits in each but the last, which has the remaining bits. Points
        sort along the curve in the order of their columns of words. Different points have different columns.
    """
    n, d = points.shape
    words = (bits * d + WORD_BITS - 1) // WORD_BITS
    keys = np.zeros((words, n), dtype=np.int64)
    # The coordinates of one point; Skilling's algorithm works on them in place.
    axes = np.empty(d, dtype=np.int64)
    for i in range(n):
        for j in range(d):
            axes[j] = points[i, j]
        # Skilling's inverse undo of excess work: exchange or invert the lower bits, level by level.
        for level in range(bits - 1, 0, -1):
            low = (1 << level) - 1
            for j in range(d):
                if (axes[j] >> level) & 1:
                    axes[0] ^= low
                else:
                    swapped = (axes[0] ^ axes[j]) & low
                    axes[0] ^= swapped
                    axes[j] ^= swapped
        # Gray encoding: each axis relative to the one before.
        for j in range(1, d):
            axes[j] ^= axes[j - 1]
        # The parity of the last axis flips all lower bits.
        flips = 0
        for level in range(bits - 1, 0, -1):
            if (axes[d - 1] >> level) & 1:
                flips ^= (1 << level) - 1
        # The transposed number: the bits of the axes, interleaved level by level.
        word = 0
        filled = 0
        key = np.int64(0)
        for level in range(bits - 1, -1, -1):
            for j in range(d):
                key = (key << 1) | (((axes[j] ^ flips) >> level) & 1)
                filled += 1
                if filled == WORD_BITS:
                    keys[word, i] = key
                    word += 1
                    filled = 0
                    key = np.int64(0)
        # The last word may be shorter.
        if filled > 0:
            keys[word, i] = key
    return keys
