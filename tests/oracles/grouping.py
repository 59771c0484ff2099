"""Groupings of one attribute by definition: exhaustive search in plain Python, for a few items.

References
----------
W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker, "On the approximability of geometric and geographic generalization
and the min-max bin covering problem", WADS 2009. doi:10.1007/978-3-642-03367-4_22, arXiv:0904.3756.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["divisions", "smallest_largest_class", "smallest_largest_interval", "smallest_largest_rectangle"]

Point = tuple[float, float]


def divisions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    """Yield every way to divide items into classes.

    Examples
    --------
    >>> [classes for classes in divisions([0, 1])]
    [[[0, 1]], [[1], [0]]]
    """
    if not items:
        yield []
        return
    first, *others = items
    for classes in divisions(others):
        for at in range(len(classes)):
            yield [[first, *one] if at == place else list(one) for place, one in enumerate(classes)]
        yield [*classes, [first]]


def smallest_largest_class(sizes: Sequence[int], k: int) -> int | None:
    """Compute the smallest possible weight of the largest class, if each has at least k; None if there is no grouping.

    Examples
    --------
    >>> smallest_largest_class([5, 4, 3, 3, 2, 1], 9)
    9
    """
    costs = []
    for classes in divisions(range(len(sizes))):
        weights = [sum(sizes[item] for item in one) for one in classes]
        if min(weights) >= k:
            costs.append(max(weights))
    return min(costs, default=None)


def smallest_largest_interval(sizes: Sequence[int], k: int) -> int | None:
    """Compute the smallest largest class of consecutive items, by dynamic programming over all cuts.

    Examples
    --------
    >>> smallest_largest_interval([1, 5, 5, 1], 6)
    6
    >>> smallest_largest_interval([1, 5, 5, 1], 7)
    12
    """
    best: list[int | None] = [0]
    for end in range(1, len(sizes) + 1):
        options = []
        for start in range(end):
            weight, before = sum(sizes[start:end]), best[start]
            if weight >= k and before is not None:
                options.append(max(before, weight))
        best.append(min(options, default=None))
    return best[-1]


def smallest_largest_rectangle(points: Sequence[Point], weights: Sequence[int], k: int) -> int | None:
    """Compute the smallest largest class of points with disjoint bounding boxes."""
    costs = []
    for classes in divisions(range(len(points))):
        heavy = [sum(weights[item] for item in one) for one in classes]
        if min(heavy) >= k and _disjoint([[points[item] for item in one] for one in classes]):
            costs.append(max(heavy))
    return min(costs, default=None)


def _disjoint(classes: list[list[Point]]) -> bool:
    boxes = [[(min(c), max(c)) for c in zip(*one, strict=True)] for one in classes]
    return not any(
        all(low <= other_high and other_low <= high for (low, high), (other_low, other_high) in zip(a, b, strict=True))
        for at, a in enumerate(boxes)
        for b in boxes[:at]
    )
