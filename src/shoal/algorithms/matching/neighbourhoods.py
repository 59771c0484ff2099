"""Neighbourhoods of groups of a cover: groups whose rows cheap groups of a larger pool would mix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.matching.group_prices_kernel import UNIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Neighbourhoods"]

_MAX_REDUCED_COST = 2 * UNIT
"""Largest reduced cost of a group of the pool that connects its types."""


class Neighbourhoods:
    """Graph of row types: two types are adjacent if a group of small reduced cost contains both.

    Parameters
    ----------
    groups : int64 array of shape (groups, 3)
        The pool, in the form of `shoal.algorithms.matching.group_arrays`.
    reduced_costs : int64 array
        Reduced cost of each group of the pool.
    types : int
        Number of types.
    """

    def __init__(self, groups: NDArray[np.int64], reduced_costs: NDArray[np.int64], types: int) -> None:
        # The groups of the pool that hold each type, cheapest first.
        near = reduced_costs <= _MAX_REDUCED_COST
        order = np.argsort(reduced_costs[near], kind="stable")
        self._groups = groups[near][order]
        group, _ = np.nonzero(self._groups >= 0)
        members = self._groups[self._groups >= 0]
        by_type = np.argsort(members, kind="stable")
        self._columns = group[by_type]
        self._starts = np.searchsorted(members[by_type], np.arange(types + 1))

    def grow(
        self, cover: NDArray[np.int64], seed: int, rows: int, chance: np.random.Generator | None = None
    ) -> NDArray[np.intp]:
        """Select groups of a cover around one of them by breadth-first search, until they have `rows` rows.

        Parameters
        ----------
        cover : int64 array of shape (groups, 3)
        seed : int
            Position of the first group in `cover`.
        rows : int
            Number of rows to reach.
        chance : numpy.random.Generator, optional
            If given, each group of the pool is skipped with probability 1/2.

        Returns
        -------
        int array
            Positions of the selected groups in `cover`, ascending.
        """
        holders: dict[int, list[int]] = {}
        for place, group in enumerate(cover.tolist()):
            for t in group:
                holders.setdefault(t, []).append(place)
        chosen, queue, size = {seed}, [seed], 0
        for place in queue:  # grows during the iteration
            members = [t for t in cover[place].tolist() if t >= 0]
            size += len(members)
            if size >= rows:
                break
            for t in members:
                columns = self._columns[self._starts[t] : self._starts[t + 1]]
                if chance is not None:
                    columns = columns[chance.random(len(columns)) < 0.5]
                for column in columns.tolist():
                    for other in self._groups[column].tolist():
                        fresh = [holder for holder in holders.get(other, ()) if holder not in chosen]
                        if other >= 0 and fresh:
                            chosen.add(fresh[0])
                            queue.append(fresh[0])
        reached = queue[: queue.index(place) + 1]
        return np.sort(np.array(reached, dtype=np.intp))
