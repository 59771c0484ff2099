"""The levels of a column: what each of its values becomes, step by step up to a star."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal.recoding.penalty import set_penalty
from shoal.table.text import dictionary_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.hierarchy import Hierarchy
    from shoal.table import Column

__all__ = ["STAR_LEVEL", "Levels", "lowest_levels"]

STAR_LEVEL = int(np.iinfo(np.int32).max)
"""A level that is a star in every column, whatever its height."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Levels:
    """A column's hierarchy as arrays of codes, for algorithms that climb it.

    Level 0 holds the values, the last level a star. A column without a hierarchy has these two. A missing value is a
    node of its own at every level but the last, where it is a star like the others.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.hierarchy import Hierarchy
    >>> from shoal.table import Schema, encode
    >>> frame = pl.DataFrame({"disease": ["flu", "cough", "ulcer", None]})
    >>> (column,) = encode(frame, Schema(quasi_identifiers=("disease",))).quasi_identifiers
    >>> tree = Hierarchy.from_rows([("flu", "lung", "*"), ("cough", "lung", "*"), ("ulcer", "stomach", "*")])
    >>> levels = Levels.of(column, tree)
    >>> levels.nodes.tolist()
    [[0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 0]]
    >>> levels.penalty.tolist()
    [[0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    """

    nodes: NDArray[np.int32]
    """Node of each code at each level, shape (height + 1, values of the column), numbered from 0 at every level."""
    penalty: NDArray[np.float64]
    """Normalized certainty penalty of a cell that publishes this node; the same shape."""
    lowest: NDArray[np.int32]
    """The lowest level at which a node of the same name stands above the code: what a cell at this level counts as,
    where a short branch of the tree repeats a node; the same shape."""
    hierarchical: bool
    """Whether the column has a hierarchy."""

    @property
    def height(self) -> int:
        """Number of steps from a value to a star."""
        return len(self.nodes) - 1

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of nodes of each level."""
        return np.asarray(self.nodes.max(axis=1), dtype=np.int64) + 1

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """The codes in an order in which those below a node stand side by side, at every level."""
        return np.lexsort(self.nodes).astype(np.int32)

    @cached_property
    def places(self) -> NDArray[np.int32]:
        """Where each code stands in `order`."""
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(places), dtype=np.int32)
        return places

    @classmethod
    def of(cls, column: Column, tree: Hierarchy | None = None) -> Levels:
        """Return the levels of a column.

        Raises
        ------
        DataError
            Where the hierarchy misses values of the column.
        """
        if tree is None:
            nodes = np.zeros((2, column.size), dtype=np.int32)
            nodes[0] = np.arange(column.size)
            penalty = np.zeros(nodes.shape)
            penalty[1] = 1.0
            lowest = np.repeat(np.arange(2, dtype=np.int32)[:, None], column.size, axis=1)
            return cls(nodes=nodes, penalty=penalty, lowest=lowest, hierarchical=False)
        positions = tree.positions(dictionary_text(column.dictionary).to_list(), column=column.name)
        present = positions >= 0
        values = int(present.sum())
        nodes = np.zeros((tree.height + 1, column.size), dtype=np.int32)
        penalty = np.zeros(nodes.shape)
        for level, of_value in enumerate(tree.levels[:, positions[present]]):
            told, sizes = np.unique(of_value, return_inverse=True, return_counts=True)[1:]
            # Numbered by their first values, so that level 0 is the codes themselves.
            first = np.full(len(sizes), values)
            np.minimum.at(first, told, np.arange(values))
            nodes[level, present] = np.argsort(np.argsort(first))[told]
            nodes[level, ~present] = len(sizes)
            penalty[level, present] = 1.0 if _is_star(tree, level) else set_penalty(sizes[told], values)
        nodes[-1], penalty[-1] = 0, 1.0
        return cls(nodes=nodes, penalty=penalty, lowest=lowest_levels(tree, positions), hierarchical=True)

    def __repr__(self) -> str:
        return f"Levels(values={self.nodes.shape[1]}, height={self.height})"


def _is_star(tree: Hierarchy, level: int) -> bool:
    """Return whether the only node of a level stands for all values: it is published as a star."""
    return level > 0 and len(tree.labels[level]) == 1


def lowest_levels(tree: Hierarchy, positions: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return for each level and value the lowest level at which its node has the same name, and reads the same."""
    lowest = np.repeat(np.arange(tree.height + 1, dtype=np.int32)[:, None], len(positions), axis=1)
    for level in range(1, tree.height):
        if _is_star(tree, level):
            lowest[level] = tree.height
            continue
        below, here = (np.array(tree.labels[up], dtype=object)[tree.levels[up, positions]] for up in (level - 1, level))
        same = np.asarray(below == here, dtype=np.bool_)
        lowest[level, same] = lowest[level - 1, same]
    lowest[:-1, positions < 0] = 0
    return lowest
