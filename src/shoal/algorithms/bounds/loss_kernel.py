# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Radius of each row: its loss with the nearest rows that any acceptable group of it needs."""

from __future__ import annotations

from shoal._core.compiling import linear_kernel
from shoal.algorithms.common.whole_kernel import ZERO

__all__ = ["sum_radii"]


@linear_kernel
def sum_radii(queries, near, distances, unseen, starts, values, counts, changing, smallest, distinct, stamps):
    """Sum the lower bounds on the losses of rows, for any groups.

    The loss of a row is at least its loss together with any other row of its group, so at least its loss with the
    farthest of the nearest rows that could make the group acceptable. The loss of a row that must leave its class is at
    least its loss with the nearest row of another class.

    Parameters
    ----------
    queries : int64[m]
        The classes.
    near : int32[m, r]
        Classes near to each class, nearest first, then -1.
    distances : float64[m, r]
        Loss of each near class together with the class.
    unseen : float64[m]
        Lower bound on the loss with any class that is not among these although it is nearer.
    starts : int32[s + 1]
        First cell of each class.
    values, counts : int32[c]
        Sensitive value and rows of each cell.
    changing : int64[c]
        Rows of each cell that must leave their class.
    smallest, distinct : int
        Smallest numbers of rows and of sensitive values of an acceptable group.
    stamps : int64[v]
        Scratch, one for each sensitive value: -1.

    Returns
    -------
    float
    """
    total = 0.0
    # One class at a time; its own rows come first, at distance 0.
    for place in range(queries.size):
        q = queries[place]
        rows = ZERO
        different = ZERO
        radius = 0.0
        other = q
        i = ZERO
        # Add near classes until the rows could be an acceptable group; a stamp marks the values counted for the class.
        while True:
            for cell in range(starts[other], starts[other + 1]):
                rows += counts[cell]
                if stamps[values[cell]] != q:
                    stamps[values[cell]] = q
                    different += 1
            # Enough rows and values, or no further class is known: then the radius so far is the bound.
            if (rows >= smallest and different >= distinct) or i == near.shape[1] or near[place, i] < 0:
                break
            radius = min(distances[place, i], unseen[place])
            other = near[place, i]
            i += 1
        # Rows that must leave their class need at least the nearest other class.
        nearest = min(distances[place, 0], unseen[place])
        if near[place, 0] < 0:
            nearest = 0.0
        leaving = max(radius, nearest)
        # Weight the radii by the rows of the cells.
        for cell in range(starts[q], starts[q + 1]):
            total += changing[cell] * leaving + (counts[cell] - changing[cell]) * radius
    return total
