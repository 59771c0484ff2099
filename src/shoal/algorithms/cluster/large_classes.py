"""Large classes under k-anonymity alone: most of their rows stay together, and the search sees the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.base import Problem
from shoal.table.compressed import entries_of_rows

_MAX_SEARCHED_ROWS = 750_000
"""Number of rows that the search sees at most, if classes have as many as that above `_MIN_SEARCHED_GROUPS` times k."""
_MIN_SEARCHED_GROUPS = 4
"""Least rows of a large class that the search sees, as a multiple of k: all but k of them may join other groups. At
5,000,000 rows drawn from Adult (`python -m benchmarks rows`) the loss is the same to 0.05 % from 4 to 32 times k."""


@dataclass(frozen=True)
class SearchedRows:
    """The rows of a large table that a search sees; the others are rows of large classes."""

    problem: Problem
    """The problem with the rows to search."""
    rows: NDArray[np.int32]
    """Their numbers in the whole table."""
    class_of: NDArray[np.int64]
    """The class of each row of the whole table."""

    @classmethod
    def of(cls, problem: Problem) -> SearchedRows | None:
        """Choose the rows to search; None if these are all.

        The rows of a class that the search does not see are at least k: they are acceptable by themselves, and lose
        nothing.

        Parameters
        ----------
        problem : Problem
        """
        table, form = problem.table, problem.requirement.frequency_form()
        if form is None or form.l > 1 or table.sensitive or problem.requirement.table_models:
            return None
        classes = table.classes
        sizes = classes.class_sizes
        searched = _rows_to_search(sizes, form.k)
        if searched.sum() == table.rows:
            return None
        starts = classes.cell_starts[classes.class_starts][:-1]
        rows = classes.order[entries_of_rows(starts, starts + searched)]
        return cls(replace(problem, table=table.entries(rows, None)), rows, classes.of_rows)

    def complete(self, groups: NDArray[np.int32]) -> NDArray[np.int32]:
        """Extend the groups of the searched rows by a group for the other rows of each large class."""
        labels = self.class_of + int(groups.max(initial=-1)) + 1
        labels[self.rows] = groups
        # Number the groups without gaps.
        used = np.zeros(int(labels.max(initial=-1)) + 1, dtype=np.int32)
        used[labels] = 1
        return (np.cumsum(used, dtype=np.int32) - 1)[labels]

    def scale(self, details: dict[str, Any]) -> dict[str, Any]:
        """Convert losses of the searched rows to losses of the whole table."""
        share = len(self.rows) / len(self.class_of)
        return {key: value * share if isinstance(value, float) else value for key, value in details.items()}


def _rows_to_search(sizes: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Choose how many rows of each class to search: all, or as many of each large class as the limit allows."""
    low, high = _MIN_SEARCHED_GROUPS * k, int(sizes.max(initial=0))
    while low < high:
        most = (low + high + 1) // 2
        if int(np.minimum(sizes, most).sum()) <= _MAX_SEARCHED_ROWS:
            low = most
        else:
            high = most - 1
    # What is left of a class is acceptable by itself.
    return np.where(sizes >= low + k, low, sizes)
