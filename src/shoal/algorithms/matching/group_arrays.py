"""Groups as rows of an array: three type numbers in ascending order, padded with -1 in a pair or a single row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def single_groups(types: NDArray[np.integer]) -> NDArray[np.int64]:
    """Make a group of one row for each type."""
    groups = np.full((len(types), 3), -1, dtype=np.int64)
    groups[:, 0] = types
    return groups


def sort_types(groups: NDArray[np.int64], order: NDArray[np.intp]) -> NDArray[np.int64]:
    """Convert positions in an order of the types to types, ascending within each group."""
    last = np.iinfo(np.int64).max
    types = np.sort(np.where(groups >= 0, order[groups], last), axis=1)
    return np.where(types == last, -1, types)


def count_entries(
    groups: NDArray[np.int64], types: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Count the rows of each type in each group; return groups, types and counts of the nonzero entries."""
    group, _ = np.nonzero(groups >= 0)
    keys, times = np.unique(group * types + groups[groups >= 0], return_counts=True)
    return keys // types, keys % types, times.astype(np.float64)


def count_rows_by_type(groups: NDArray[np.int64], types: int) -> NDArray[np.int64]:
    """Count the rows of each type in all groups."""
    return np.bincount(groups[groups >= 0], minlength=types).astype(np.int64)


def repeat_groups(groups: NDArray[np.int64], times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Repeat each group as often as an integer solution uses it."""
    return np.repeat(groups, np.rint(times).astype(np.int64), axis=0)


def mark_odd_groups(groups: NDArray[np.int64], cuts: list[NDArray[np.int64]], types: int) -> NDArray[np.bool_]:
    """Mark for each group and cut if an odd number of the group's rows lies in the cut, shape (groups, cuts)."""
    odd = np.zeros((len(groups), len(cuts)), dtype=np.bool_)
    inside = np.zeros(types + 1, dtype=np.bool_)  # the last entry is for the -1 after a group's last type
    for place, members in enumerate(cuts):
        inside[members] = True
        odd[:, place] = np.logical_xor.reduce(inside[groups], axis=1)
        inside[members] = False
    return odd


def list_cuts_by_type(
    cuts: list[NDArray[np.int64]], types: int, order: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the cuts that contain each type, as compressed sparse rows in an order of the types."""
    inside = np.zeros((types, len(cuts)), dtype=np.bool_)
    for place, members in enumerate(cuts):
        inside[members, place] = True
    row, cut = np.nonzero(inside[order])
    starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(order)))))
    return starts.astype(np.int64), cut.astype(np.int64)
