"""The range that each node of a hierarchy covers in the natural order of its values, independent of any table."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.hierarchy.tree import Hierarchy
from shoal.table.natural_order import natural_order


def rank_values(tree: Hierarchy) -> NDArray[np.int64]:
    """Rank the values of a hierarchy in their natural order; the missing value comes last.

    Examples
    --------
    >>> from shoal.hierarchy import Hierarchy
    >>> tree = Hierarchy.from_rows([("10", "*"), ("", "*"), ("9", "*")])
    >>> rank_values(tree).tolist()
    [1, 2, 0]
    """
    values = pl.Series(tree.values, dtype=pl.String)
    # The empty name denotes the missing value, which has no place in the order.
    named = (values != "").arg_true()
    ranks = np.full(len(values), len(named), dtype=np.int64)
    ranks[named.to_numpy()[natural_order(values.gather(named))]] = np.arange(len(named))
    return ranks


def reach(tree: Hierarchy, level: int, ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ranks of the first and the last value below each node of a level.

    Examples
    --------
    >>> from shoal.hierarchy import Hierarchy
    >>> tree = Hierarchy.from_rows([("ulcer", "stomach", "*"), ("flu", "lung", "*"), ("cough", "lung", "*")])
    >>> [places.tolist() for places in reach(tree, 1, rank_values(tree))]
    [[2, 0], [2, 1]]
    """
    nodes, values = len(tree.labels[level]), len(tree.values)
    first, last = np.full(nodes, values, dtype=np.int64), np.full(nodes, -1, dtype=np.int64)
    np.minimum.at(first, tree.levels[level], ranks)
    np.maximum.at(last, tree.levels[level], ranks)
    return first, last
