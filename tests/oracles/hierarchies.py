"""Slow oracles of recoding with hierarchies and of the losses that it is measured by, as their definitions read."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from fractions import Fraction
from typing import Any

__all__ = ["STAR", "common_ancestor", "leaves_below", "non_uniform_entropy", "precision"]

STAR = "*"
"""What a suppressed cell reads in these oracles."""

Path = Sequence[str]
"""A value and its ancestors, up to the root."""


def common_ancestor(paths: Sequence[Path | None], every: Collection[Path], least: int = 0) -> tuple[str | None, int]:
    """Return what a group publishes, and how many steps up that is.

    Parameters
    ----------
    paths : sequence of paths
        Those of the group's values; None where one is missing.
    every : collection of paths
        The whole hierarchy.
    least : int
        Lowest level that the group may publish; where its node repeats the name of one below, it counts as that one.
    """
    present = [path for path in paths if path is not None]
    height = len(next(iter(every))) - 1
    if least >= height:
        return STAR, height
    if not present:
        return None, 0
    if len(present) < len(paths):
        return STAR, height
    met = min(step for step in range(height + 1) if len({path[step] for path in present}) == 1)
    wanted = max(met, least)
    name = present[0][wanted]
    if wanted > 0 and all(path[wanted] == name for path in every):
        return STAR, height
    return name, min(step for step in range(met, wanted + 1) if present[0][step] == name)


def leaves_below(node: str, level: int, paths: Collection[Path]) -> set[str]:
    """Return the values that a node stands for, among those with the given paths."""
    return {path[0] for path in paths if path[level] == node}


def precision(steps: Sequence[Sequence[Fraction]]) -> Fraction:
    """Return one minus the mean share of its hierarchy that each cell went up (Sweeney 2002).

    Parameters
    ----------
    steps : sequence of sequences
        For every row and attribute: the steps up over the height of the hierarchy.
    """
    cells = [step for row in steps for step in row]
    return 1 - sum(cells, Fraction(0)) / len(cells) if cells else Fraction(1)


def non_uniform_entropy(values: Sequence[Hashable], covered: Sequence[Collection[Any]]) -> float:
    """Return the bits that a column lost over those that it would lose if every cell were a star.

    Parameters
    ----------
    values : sequence
        The original cells.
    covered : sequence of collections
        The values that each published cell stands for.
    """
    rows = len(values)

    def bits(value: Hashable, inside: Collection[Any]) -> float:
        return -math.log2(values.count(value) / sum(other in inside for other in values))

    lost = math.fsum(bits(value, inside) for value, inside in zip(values, covered, strict=True))
    most = math.fsum(-math.log2(values.count(value) / rows) for value in values)
    return lost / most if most else 0.0
