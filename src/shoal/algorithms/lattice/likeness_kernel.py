# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Selection of the most rows with a distribution like the table's: t-close by the equal distance.

A group with counts c(v) is t-close if D, the sum of max(0, c(v) n - T(v) |G|), is at most a |G| + b |G| // c. Of all
selections of N rows D is least if each value gets its share first, because D = n N - (sum of min(c(v) n, T(v) N)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined, kernel_step
from shoal.algorithms.common.whole_kernel import NO, YES, ZERO

__all__ = ["Likeness", "excess", "largest_like"]


class Likeness(NamedTuple):
    """A clause of t-closeness by the equal distance, see `shoal.models.RuleKind.CLOSE`, and a least size."""

    rows: int
    """Rows of the table: n."""
    totals: NDArray[np.int64]
    """Rows of the table with each sensitive value: T."""
    a: int
    b: int
    c: int
    smallest: int
    """Smallest size of a group."""


@inlined
def excess(counts, size, like):
    """Compute how far a group is from being close and large enough, in rows, 0.0 if it is both or has no rows."""
    # The excess D beyond the limit, then the missing rows.
    far = -(like.a * size + like.b * size // like.c)
    for v in range(like.totals.size):
        far += max(counts[v] * like.rows - like.totals[v] * size, 0)
    missing = like.smallest - size if 0 < size < like.smallest else 0
    return max(far, 0) / like.rows + missing


@inlined
def _may_be_like(counts, size, like):
    """Test whether fractions of rows could make a selection of a size close: a necessary condition."""
    # Monotone in the size, so that it can be bisected.
    covered = like.a * size + like.b * size // like.c + 1
    for v in range(like.totals.size):
        covered += min(counts[v] * like.rows, like.totals[v] * size)
    return covered >= like.rows * size


@kernel_step
def _select_rows(counts, size, like, selected):
    """Select rows of a given size with the least D; return whether they are close."""
    # The whole part of each share costs nothing.
    found = 0
    for v in range(like.totals.size):
        selected[v] = min(np.int64(counts[v]), like.totals[v] * size // like.rows)
        found += selected[v]
    while found < size:
        # First the rest of a share, once for each value; then the most frequent rows, evenly.
        best = -1
        most = np.int64(0)
        lacking = NO
        for v in range(like.totals.size):
            spare = counts[v] - selected[v]
            if spare <= 0:
                continue
            # A value below its share has the smallest marginal cost, by its remaining share.
            share = like.totals[v] * size - selected[v] * like.rows
            if share > 0:
                if not lacking or share > most:
                    best, most, lacking = v, share, YES
            elif not lacking and spare > most:
                best, most = v, np.int64(spare)
        selected[best] += 1
        found += 1
    # The selection is optimal: test it against the limit.
    far = ZERO
    for v in range(like.totals.size):
        far += max(selected[v] * like.rows - like.totals[v] * size, 0)
    return far <= like.a * size + like.b * size // like.c


@kernel_step
def largest_like(counts, like, selected):
    """Find the largest selection of rows that is close to the table.

    Parameters
    ----------
    counts : int32[m]
        Number of available rows with each value.
    like : Likeness
    selected : int64[m]
        Receives the number of selected rows with each value; undefined if there are too few.

    Returns
    -------
    int
        Number of selected rows, at least `like.smallest`; or 0.
    """
    # Bisect the necessary condition for an upper bound on the size.
    high = ZERO
    for v in range(like.totals.size):
        high += counts[v]
    low = ZERO
    while low < high:
        middle = (low + high + 1) // 2
        if _may_be_like(counts, middle, like):
            low = middle
        else:
            high = middle - 1
    # Then search downwards for a size that is possible with whole rows.
    while low >= max(like.smallest, 1):
        if _select_rows(counts, low, like, selected):
            return low
        low -= 1
    return ZERO
