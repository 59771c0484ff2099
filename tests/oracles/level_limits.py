"""Limits of levels by their definition: the cells that a value may be published as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

__all__ = ["allowed_cells", "fewest_suppressed_rows"]

Way = Sequence[str]
"""A value and its ancestors up to the root."""


def allowed_cells(way: Way, limit: tuple[int, int], *, stars_from: int) -> set[str]:
    """List the names of the allowed levels of a value; from level `stars_from` on, a cell is a star."""
    return {"*" if level >= stars_from else way[level] for level in range(limit[0], limit[1] + 1)}


def fewest_suppressed_rows(
    rows: Sequence[Sequence[str]], ways: Sequence[Mapping[str, Way]], limits: Sequence[tuple[int, int]], k: int
) -> int:
    """Count the rows that no release can show: fewer than k rows have their nodes at the highest allowed levels.

    If there are such rows, at least k rows are suppressed.
    """
    nodes = [tuple(way[value][high] for value, way, (_, high) in zip(row, ways, limits, strict=True)) for row in rows]
    sizes = Counter(nodes)
    lost = sum(sizes[node] < k for node in nodes)
    return max(lost, k) if lost else 0
