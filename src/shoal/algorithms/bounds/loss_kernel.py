# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""What each row must lose: as much as with the nearest rows without which no group of its own is acceptable."""

from __future__ import annotations

from shoal._compiling import kernel
from shoal.algorithms.common.whole_kernel import ZERO

__all__ = ["sum_radii"]


@kernel
def sum_radii(queries, near, distances, unseen, starts, values, counts, changing, smallest, distinct, stamps):
    """Sum up what the rows of classes lose at least, whatever groups they are in.

    A row loses at least what it loses together with any other row of its group, so at least what it loses with the
    farthest of the nearest rows that are enough: so many that the group may be acceptable. A row that must leave its
    class loses at least what it loses with the nearest row of another.

    Parameters
    ----------
    queries : int64[m]
        The classes.
    near : int32[m, r]
        Classes near to each, nearest first, and -1 where there are no more.
    distances : float64[m, r]
        What each loses together with the class.
    unseen : float64[m]
        The least that a class which is not among these, and nearer than they say, may lose with it.
    starts : int32[s + 1]
        First cell of each class.
    values, counts : int32[c]
        Sensitive value and rows of each cell.
    changing : int64[c]
        Rows of each cell that must leave their class.
    smallest, distinct : int
        Rows and sensitive values that an acceptable group has at least.
    stamps : int64[v]
        Scratch, one for each sensitive value: -1.

    Returns
    -------
    float
    """
    total = 0.0
    for place in range(queries.size):
        q = queries[place]
        rows = ZERO
        different = ZERO
        radius = 0.0
        other = q
        i = ZERO
        while True:
            for cell in range(starts[other], starts[other + 1]):
                rows += counts[cell]
                if stamps[values[cell]] != q:
                    stamps[values[cell]] = q
                    different += 1
            if (rows >= smallest and different >= distinct) or i == near.shape[1] or near[place, i] < 0:
                break
            radius = min(distances[place, i], unseen[place])
            other = near[place, i]
            i += 1
        nearest = min(distances[place, 0], unseen[place])
        if near[place, 0] < 0:
            nearest = 0.0
        leaving = max(radius, nearest)
        for cell in range(starts[q], starts[q + 1]):
            total += changing[cell] * leaving + (counts[cell] - changing[cell]) * radius
    return total
