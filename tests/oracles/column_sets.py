"""Sets of quasi-identifiers, by definition and by trying every choice of stars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

__all__ = ["fewest_stars", "is_safe", "least_loss_of_levels"]

STAR = object()
Rows = Sequence[Sequence[Hashable]]


def is_safe(rows: Rows, sets: Mapping[tuple[int, ...], int]) -> bool:
    """Check that each row shares its cells in the columns of every set with at least k - 1 others.

    Parameters
    ----------
    rows : sequence of sequences
        The published cells; only equal cells are equal.
    sets : mapping of tuple of int to int
        The k of each set of columns.
    """
    for columns, k in sets.items():
        groups = Counter(tuple(row[a] for a in columns) for row in rows)
        if min(groups.values()) < k:
            return False
    return True


def fewest_stars(rows: Rows, sets: Mapping[tuple[int, ...], int]) -> int:
    """Find the fewest stars with which a table is safe, by trying all choices of cells in the order of their number."""
    places = [(row, column) for row in range(len(rows)) for column in range(len(rows[0]))]
    for stars in range(len(places) + 1):
        for chosen in combinations(places, stars):
            published = [list(row) for row in rows]
            for row, column in chosen:
                published[row][column] = STAR
            if is_safe(published, sets):
                return stars
    raise AssertionError("not even stars alone are safe: the table has too few rows")


def least_loss_of_levels(
    rows: Rows, ways: Sequence[Mapping[Hashable, Sequence[str]]], sets: Mapping[tuple[int, ...], int]
) -> Fraction:
    """Find the least average loss of a cell over all levels of the columns and all choices of suppressed rows.

    The other rows are safe, and a suppressed row loses all its cells, whether or not there are enough of them.

    Parameters
    ----------
    rows : sequence of sequences
    ways : sequence of mapping
        For each column the values with their ancestors, the last of which is a star.
    sets : mapping of tuple of int to int
        The k of each set of columns.
    """
    best, cells = Fraction(1), len(rows) * len(ways)
    values = [{row[a] for row in rows} for a in range(len(ways))]
    for levels in product(*(range(len(next(iter(way.values())))) for way in ways)):
        shown = [[way[value][level] for value, way, level in zip(row, ways, levels, strict=True)] for row in rows]
        lost = [sum(_loss(row[a], ways[a], levels[a], values[a]) for a in range(len(ways))) for row in rows]
        # A set of stars alone has one group, of all rows.
        judged = {
            one: k for one, k in sets.items() if any(levels[a] < len(next(iter(ways[a].values()))) - 1 for a in one)
        }
        for size in range(len(rows) + 1):
            for kept in combinations(range(len(rows)), size):
                if not kept or is_safe([shown[row] for row in kept], judged):
                    loss = sum((lost[row] for row in kept), Fraction(0)) + len(ways) * (len(rows) - size)
                    best = min(best, Fraction(loss) / cells)
    return best


def _loss(value: Hashable, way: Mapping[Hashable, Sequence[str]], level: int, values: set[Hashable]) -> Fraction:
    """Compute the normalized certainty penalty of a node."""
    if level == len(way[value]) - 1:
        return Fraction(1)
    below = sum(way[other][level] == way[value][level] for other in values)
    return Fraction(below - 1, max(len(values) - 1, 1))
