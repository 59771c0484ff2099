"""The cheapest cover of rows by pairs and triples, by exhaustive search."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from itertools import combinations

__all__ = ["allowed_groups", "cheapest_cover"]

GroupPrice = Callable[[frozenset[int]], int | None]
"""What each row of a group costs whose rows differ in some attributes (by position); None where that is forbidden."""


def allowed_groups(
    rows: Sequence[Sequence[Hashable]], values: Sequence[Hashable] | None, price: GroupPrice
) -> dict[tuple[int, ...], int]:
    """Compute the cost of every allowed pair and triple of rows.

    Parameters
    ----------
    rows : sequence of sequences
        Attributes of each row.
    values : sequence, optional
        If given, rows of a group must have different values.
    price : callable
        See `GroupPrice`.
    """
    costs = {}
    for size in (2, 3):
        for group in combinations(range(len(rows)), size):
            if values is not None and len({values[row] for row in group}) < size:
                continue
            columns = zip(*(rows[row] for row in group), strict=True)
            each = price(frozenset(place for place, column in enumerate(columns) if len(set(column)) > 1))
            if each is not None:
                costs[group] = size * each
    return costs


def cheapest_cover(
    rows: Sequence[Sequence[Hashable]],
    values: Sequence[Hashable] | None,
    price: GroupPrice,
) -> int | None:
    """Compute the lowest cost of covering every row once by pairs and triples; None if there is no cover.

    All groups of the first remaining row are tried, and each set of rows is solved once: for at most about 14 rows.
    """
    costs = allowed_groups(rows, values, price)
    by_first: dict[int, list[tuple[frozenset[int], int]]] = {}
    for group, cost in costs.items():
        by_first.setdefault(group[0], []).append((frozenset(group), cost))

    @cache
    def best(left: frozenset[int]) -> int | None:
        if not left:
            return 0
        found = None
        for group, cost in by_first.get(min(left), ()):
            if group <= left:
                rest = best(left - group)
                if rest is not None and (found is None or rest + cost < found):
                    found = rest + cost
        return found

    return best(frozenset(range(len(rows))))
