"""Groups as rows of an array: three type numbers in ascending order, -1 after the last of a pair or a single row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["entries", "in_type_order", "lists_by_type", "odd_in_cuts", "repeated", "rows_by_type", "singles"]


def singles(types: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return a group of one row for each type."""
    groups = np.full((len(types), 3), -1, dtype=np.int64)
    groups[:, 0] = types
    return groups


def in_type_order(groups: NDArray[np.int64], order: NDArray[np.intp]) -> NDArray[np.int64]:
    """Turn positions in an order into types, ascending within each group."""
    last = np.iinfo(np.int64).max
    types = np.sort(np.where(groups >= 0, order[groups], last), axis=1)
    return np.where(types == last, -1, types)


def entries(groups: NDArray[np.int64], types: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return group, type and number of rows for each type in each group."""
    group, _ = np.nonzero(groups >= 0)
    keys, times = np.unique(group * types + groups[groups >= 0], return_counts=True)
    return keys // types, keys % types, times.astype(np.float64)


def rows_by_type(groups: NDArray[np.int64], types: int) -> NDArray[np.int64]:
    """Return how many rows of each type some groups hold."""
    return np.bincount(groups[groups >= 0], minlength=types).astype(np.int64)


def repeated(groups: NDArray[np.int64], times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return each group as often as a solution of a program in whole numbers uses it."""
    return np.repeat(groups, np.rint(times).astype(np.int64), axis=0)


def odd_in_cuts(groups: NDArray[np.int64], cuts: list[NDArray[np.int64]], types: int) -> NDArray[np.bool_]:
    """Return for each group and cut whether an odd number of the group's rows lies in the cut's set."""
    odd = np.zeros((len(groups), len(cuts)), dtype=np.bool_)
    inside = np.zeros(types + 1, dtype=np.bool_)  # the last entry is for the -1 after a group's last type
    for place, members in enumerate(cuts):
        inside[members] = True
        odd[:, place] = np.logical_xor.reduce(inside[groups], axis=1)
        inside[members] = False
    return odd


def lists_by_type(
    cuts: list[NDArray[np.int64]], types: int, order: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cuts that each type lies in, as compressed rows in an order of the types."""
    inside = np.zeros((types, len(cuts)), dtype=np.bool_)
    for place, members in enumerate(cuts):
        inside[members, place] = True
    row, cut = np.nonzero(inside[order])
    starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(order)))))
    return starts.astype(np.int64), cut.astype(np.int64)
