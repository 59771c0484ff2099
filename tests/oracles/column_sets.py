"""Sets of quasi-identifiers, by definition and by trying every choice of stars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

__all__ = ["fewest_stars", "is_safe"]

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
