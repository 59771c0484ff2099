"""Slow oracles of recoding with hierarchies and of its losses, by their definitions."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from fractions import Fraction
from typing import Any

__all__ = ["STAR", "common_ancestor", "leaves_below", "node_penalty", "non_uniform_entropy", "precision"]

STAR = "*"
"""What a suppressed cell reads in these oracles."""

Path = Sequence[str]
"""A value and its ancestors, up to the root."""


def common_ancestor(paths: Sequence[Path | None], every: Collection[Path], least: int = 0) -> tuple[str | None, int]:
    """Find the node that a group publishes, and the number of steps up to it.

    Parameters
    ----------
    paths : sequence of paths
        Paths of the group's values; None for a missing value.
    every : collection of paths
        The whole hierarchy.
    least : int
        Lowest level that the group may publish. If its node repeats the name of a node below, it counts as that node.
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
    """List the values below a node, among those with the given paths."""
    return {path[0] for path in paths if path[level] == node}


def node_penalty(values: Sequence[str | None], paths: Collection[Path], domain: Collection[str | None]) -> Fraction:
    """Compute what each cell of a group loses: the other values of its node over the other values of the domain."""
    path_of = {path[0]: path for path in paths}
    name, level = common_ancestor([None if value is None else path_of[value] for value in values], paths)
    if name == STAR:
        return Fraction(1)
    below = leaves_below(str(name), level, paths) & set(domain) if level else {name}
    return Fraction(len(below) - 1, max(len(set(domain) - {None}) - 1, 1))


def precision(steps: Sequence[Sequence[Fraction]]) -> Fraction:
    """Compute the precision: one minus the mean relative height of all cells (Sweeney 2002).

    Parameters
    ----------
    steps : sequence of sequences
        Relative height of each cell: the steps up divided by the height of the hierarchy.
    """
    cells = [step for row in steps for step in row]
    return 1 - sum(cells, Fraction(0)) / len(cells) if cells else Fraction(1)


def non_uniform_entropy(values: Sequence[Hashable], covered: Sequence[Collection[Any]]) -> float:
    """Compute the lost bits of a column relative to those lost if every cell were a star.

    Parameters
    ----------
    values : sequence
        The original cells.
    covered : sequence of collections
        Values that each published cell covers.
    """
    rows = len(values)

    def bits(value: Hashable, inside: Collection[Any]) -> float:
        return -math.log2(values.count(value) / sum(other in inside for other in values))

    lost = math.fsum(bits(value, inside) for value, inside in zip(values, covered, strict=True))
    most = math.fsum(-math.log2(values.count(value) / rows) for value in values)
    return lost / most if most else 0.0
