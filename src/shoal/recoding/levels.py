"""Generalization levels of a column: the node of each value, from the value itself up to a star."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.hierarchy import Hierarchy
from shoal.recoding.penalty import set_penalty
from shoal.table import Column
from shoal.table.text import dictionary_text

STAR_LEVEL = int(np.iinfo(np.int32).max)
"""A level that denotes a star in every column, irrespective of its height."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Levels:
    """A column's hierarchy as arrays of codes, for algorithms that traverse it.

    Level 0 contains the values, the last level a star. A column without a hierarchy has only these two levels. A
    missing value has its own node at every level except the last, where it is a star like the other values.

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
    """Node of each code at each level, of shape (height + 1, values of the column), numbered from 0 at every level."""
    penalty: NDArray[np.float64]
    """Normalized certainty penalty of a cell that publishes the node; the same shape."""
    lowest: NDArray[np.int32]
    """Lowest level at which an ancestor of the code has the same name; the same shape. A cell at this level counts as
    that node if a short branch of the tree repeats a node."""
    hierarchical: bool
    """Whether the column has a hierarchy."""

    @property
    def height(self) -> int:
        """Number of steps from a value to a star."""
        return len(self.nodes) - 1

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of nodes on each level."""
        return np.asarray(self.nodes.max(axis=1), dtype=np.int64) + 1

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """Codes in depth-first order, in which the codes below a node are consecutive at every level."""
        return np.lexsort(self.nodes).astype(np.int32)

    @cached_property
    def places(self) -> NDArray[np.int32]:
        """Position of each code in `order`."""
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(places), dtype=np.int32)
        return places

    @classmethod
    def of(cls, column: Column, tree: Hierarchy | None = None) -> Levels:
        """Compute the levels of a column.

        Raises
        ------
        DataError
            If the hierarchy lacks values of the column.
        """
        if tree is None:
            # Without a hierarchy: the values, and a star.
            nodes = np.zeros((2, column.size), dtype=np.int32)
            nodes[0] = np.arange(column.size)
            penalty = np.zeros(nodes.shape)
            penalty[1] = 1.0
            lowest = np.repeat(np.arange(2, dtype=np.int32)[:, None], column.size, axis=1)
            return cls(nodes=nodes, penalty=penalty, lowest=lowest, hierarchical=False)
        # Nodes are numbered among the values that occur; absent branches vanish.
        positions = tree.positions(dictionary_text(column.dictionary).to_list(), column=column.name)
        present = positions >= 0
        values = int(present.sum())
        nodes = np.zeros((tree.height + 1, column.size), dtype=np.int32)
        penalty = np.zeros(nodes.shape)
        for level, of_value in enumerate(tree.levels[:, positions[present]]):
            of_node, sizes = np.unique(of_value, return_inverse=True, return_counts=True)[1:]
            # Number nodes by their first value, so that level 0 equals the codes.
            first = np.full(len(sizes), values)
            np.minimum.at(first, of_node, np.arange(values))
            nodes[level, present] = np.argsort(np.argsort(first))[of_node]
            nodes[level, ~present] = len(sizes)
            penalty[level, present] = 1.0 if _is_star(tree, level) else set_penalty(sizes[of_node], values)
        # The last level is a star for all values.
        nodes[-1], penalty[-1] = 0, 1.0
        return cls(nodes=nodes, penalty=penalty, lowest=lowest_levels(tree, positions), hierarchical=True)


def _is_star(tree: Hierarchy, level: int) -> bool:
    """Test if the only node of a level represents all values and is hence published as a star."""
    return level > 0 and len(tree.labels[level]) == 1


def lowest_levels(tree: Hierarchy, positions: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return, for each level and value, the lowest level at which its node has the same name."""
    lowest = np.repeat(np.arange(tree.height + 1, dtype=np.int32)[:, None], len(positions), axis=1)
    for level in range(1, tree.height):
        if _is_star(tree, level):
            lowest[level] = tree.height
            continue
        # A node with the name of its child is equivalent to the child.
        below, here = (np.array(tree.labels[up], dtype=object)[tree.levels[up, positions]] for up in (level - 1, level))
        same = np.asarray(below == here, dtype=np.bool_)
        lowest[level, same] = lowest[level - 1, same]
    lowest[:-1, positions < 0] = 0
    return lowest
